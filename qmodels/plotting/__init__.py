"""Figures of programs, runs, traces and policies: Axes in, Axes out, nothing shown.

The lowest part of the package: it knows what to draw by its attributes and imports nothing above,
so that a result can draw itself.
"""

from qmodels.plotting.comparison import changes
from qmodels.plotting.maps import policy_map
from qmodels.plotting.programs import execution_diagram, signature
from qmodels.plotting.responses import response_curves
from qmodels.plotting.runs import fitted_times
from qmodels.plotting.surfaces import surface_3d, surface_heatmap
from qmodels.plotting.traces import gap_sensitivity, trace_diagram
from qmodels.plotting.worth import allotment_path, efficiency_contours

__all__ = [
    "allotment_path",
    "changes",
    "efficiency_contours",
    "execution_diagram",
    "fitted_times",
    "gap_sensitivity",
    "policy_map",
    "response_curves",
    "signature",
    "surface_3d",
    "surface_heatmap",
    "trace_diagram",
]
