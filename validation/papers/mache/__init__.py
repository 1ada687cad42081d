"""Experiments of Mache, Lo and Garg, IPDPS 2000: tables, figures and statements."""

from validation.papers.base import Experiment
from validation.papers.mache.figures import BALANCE, DISPERSAL
from validation.papers.mache.load import EXPERIMENT as _LOAD
from validation.papers.mache.readings import EXPERIMENTS as _TABLE2
from validation.papers.mache.sdsc import EXPERIMENT as _SDSC

EXPERIMENTS: tuple[Experiment, ...] = (*_TABLE2, DISPERSAL, BALANCE, _LOAD, _SDSC)

__all__ = ["EXPERIMENTS"]
