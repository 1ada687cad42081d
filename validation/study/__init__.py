"""From a scenario to predictions, their check by simulation, and one report."""

from validation.study.checks import Check
from validation.study.run import Point, Study, run_study

__all__ = ["Check", "Point", "Study", "run_study"]
