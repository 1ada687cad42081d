"""Demands of a job, their scaling over processors and disks, and their laws learnt from runs."""

from __future__ import annotations

from qmodels.programs.allotments import (
    AllotmentPath,
    MarginalValue,
    PricedAllotment,
    allotment_path,
    best_allotment,
    marginal_value,
)
from qmodels.programs.bursts import (
    Bursts,
    CommonPhases,
    FoundWorkingSets,
    GapSensitivity,
    TracedProgram,
    TracePhases,
    common_phases,
    find_bursts,
    find_phases,
    find_working_sets,
    gap_sensitivity,
    phase_of_totals,
    to_program,
)
from qmodels.programs.comparison import Change, Comparison, Limit, compare_runs
from qmodels.programs.growth import parse_growth
from qmodels.programs.laws import parse_law
from qmodels.programs.model import AbstractProgram, Geometric, Program, Signature, WorkloadMix
from qmodels.programs.phases import Burst, Phase, WorkingSet
from qmodels.programs.profiles import PROFILES, profile, reference_mix
from qmodels.programs.random_laws import RandomLaw
from qmodels.programs.scaling import FittedComponent, FittedProgram, fit_runs
from qmodels.programs.speedup import SpeedupSurface, mean_of_ratios, speedup_surface
from qmodels.programs.traces import IOTotals, RunOrigin, StorageTargets, Trace

__all__ = [
    "PROFILES",
    "AbstractProgram",
    "AllotmentPath",
    "Burst",
    "Bursts",
    "Change",
    "CommonPhases",
    "Comparison",
    "FittedComponent",
    "FittedProgram",
    "FoundWorkingSets",
    "GapSensitivity",
    "Geometric",
    "IOTotals",
    "Limit",
    "MarginalValue",
    "Phase",
    "PricedAllotment",
    "Program",
    "RandomLaw",
    "RunOrigin",
    "Signature",
    "SpeedupSurface",
    "StorageTargets",
    "Trace",
    "TracePhases",
    "TracedProgram",
    "WorkingSet",
    "WorkloadMix",
    "allotment_path",
    "best_allotment",
    "common_phases",
    "compare_runs",
    "find_bursts",
    "find_phases",
    "find_working_sets",
    "fit_runs",
    "gap_sensitivity",
    "marginal_value",
    "mean_of_ratios",
    "parse_growth",
    "parse_law",
    "phase_of_totals",
    "profile",
    "reference_mix",
    "speedup_surface",
    "to_program",
]
