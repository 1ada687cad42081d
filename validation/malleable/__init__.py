"""Policies that may move processors among jobs at any moment: simulated, and formulas of some."""

from validation.malleable.base import MALLEABLE, AbstractMalleable, InSystem, register
from validation.malleable.jobs import Jobs, random_jobs
from validation.malleable.policies import all_entered
from validation.malleable.simulator import MalleableRun, simulate_jobs

all_entered()

__all__ = [
    "MALLEABLE",
    "AbstractMalleable",
    "InSystem",
    "Jobs",
    "MalleableRun",
    "random_jobs",
    "register",
    "simulate_jobs",
]
