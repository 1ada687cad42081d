"""Job-level simulation of SP, DP and TS: the twin of `qmodels.policies`."""

from validation.sharing.simulator import Simulation, simulate

__all__ = ["Simulation", "simulate"]
