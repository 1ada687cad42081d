"""What a job asks for, how it scales over processors and disks, and how to learn that from runs."""

from __future__ import annotations

from qmodels.programs.laws import parse_law
from qmodels.programs.model import AbstractProgram, Geometric, Program, Signature, WorkloadMix
from qmodels.programs.phases import Burst, Phase, WorkingSet
from qmodels.programs.scaling import FittedComponent, FittedProgram, fit_runs
from qmodels.programs.speedup import SpeedupSurface, mean_of_ratios, speedup_surface

__all__ = [
    "AbstractProgram",
    "Burst",
    "FittedComponent",
    "FittedProgram",
    "Geometric",
    "Phase",
    "Program",
    "Signature",
    "SpeedupSurface",
    "WorkingSet",
    "WorkloadMix",
    "fit_runs",
    "mean_of_ratios",
    "parse_law",
    "speedup_surface",
]
