"""Bursts, phases and working sets of one traced run, and the program that they make."""

from qmodels.programs.bursts.checkpoints import FoundCheckpoints, find_checkpoints
from qmodels.programs.bursts.common import CommonPhases, common_phases
from qmodels.programs.bursts.detection import Bursts, find_bursts
from qmodels.programs.bursts.phases import TracePhases, find_phases, phase_of_totals
from qmodels.programs.bursts.sensitivity import GapSensitivity, gap_sensitivity
from qmodels.programs.bursts.working_sets import (
    FoundWorkingSets,
    TracedProgram,
    find_working_sets,
    to_program,
)

__all__ = [
    "Bursts",
    "CommonPhases",
    "FoundCheckpoints",
    "FoundWorkingSets",
    "GapSensitivity",
    "TracePhases",
    "TracedProgram",
    "common_phases",
    "find_bursts",
    "find_checkpoints",
    "find_phases",
    "find_working_sets",
    "gap_sensitivity",
    "phase_of_totals",
    "to_program",
]
