"""Experiments of Mache, Lo and Garg, IPDPS 2000, by table, figure or statement."""

from validation.papers.base import Experiment
from validation.papers.mache import layouts, load, readings, sdsc

EXPERIMENTS: tuple[Experiment, ...] = (
    *readings.EXPERIMENTS,
    *layouts.EXPERIMENTS,
    load.EXPERIMENT,
    sdsc.EXPERIMENT,
)

__all__ = ["EXPERIMENTS"]
