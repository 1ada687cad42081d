"""Scaling laws learnt from a few measured runs: averaged over laws, with honest intervals."""

from qmodels.programs.scaling.fit import fit_runs
from qmodels.programs.scaling.fitted import FittedComponent, FittedProgram
from qmodels.programs.scaling.forecast import Forecast
from qmodels.programs.scaling.next_run import NextRun
from qmodels.programs.scaling.terms import PROCESSORS_PER_DISK

__all__ = [
    "PROCESSORS_PER_DISK",
    "FittedComponent",
    "FittedProgram",
    "Forecast",
    "NextRun",
    "fit_runs",
]
