"""Job-level simulation of SP, DP and TS: the twin of `qmodels.policies`."""

from validation.sharing.candidates import PolicyComparison, simulate_candidates
from validation.sharing.results import Simulation
from validation.sharing.simulator import simulate

__all__ = ["PolicyComparison", "Simulation", "simulate", "simulate_candidates"]
