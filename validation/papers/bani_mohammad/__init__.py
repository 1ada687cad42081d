"""Experiments of Bani-Mohammad and others, LNCS 4742 (2007): one file for each figure or table."""

from validation.papers.bani_mohammad.fig2 import EXPERIMENT as _FIG2
from validation.papers.bani_mohammad.fig3 import EXPERIMENT as _FIG3
from validation.papers.bani_mohammad.fig4 import EXPERIMENT as _FIG4
from validation.papers.bani_mohammad.fig5 import EXPERIMENT as _FIG5
from validation.papers.bani_mohammad.fig67 import EXPERIMENT as _FIG67
from validation.papers.bani_mohammad.messages import EXPERIMENTS as _MESSAGES
from validation.papers.bani_mohammad.table1 import EXPERIMENT as _TABLE1
from validation.papers.base import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (_TABLE1, _FIG2, _FIG3, _FIG4, _FIG5, _FIG67, *_MESSAGES)

__all__ = ["EXPERIMENTS"]
