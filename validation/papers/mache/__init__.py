"""Experiments of Mache, Lo and Garg, IPDPS 2000: one file for each table, figure or statement."""

from validation.papers.base import Experiment
from validation.papers.mache.fig9 import EXPERIMENT as _FIG9
from validation.papers.mache.fig10 import EXPERIMENT as _FIG10
from validation.papers.mache.load import EXPERIMENT as _LOAD
from validation.papers.mache.readings import EXPERIMENTS as _TABLE2
from validation.papers.mache.sdsc import EXPERIMENT as _SDSC

EXPERIMENTS: tuple[Experiment, ...] = (*_TABLE2, _FIG9, _FIG10, _LOAD, _SDSC)

__all__ = ["EXPERIMENTS"]
