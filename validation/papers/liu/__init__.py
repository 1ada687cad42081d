"""Experiments of Liu, Hsu and Wu: how the tree strategies' tolerances and rivals fare."""

from validation.papers.base import Experiment
from validation.papers.liu.choices import EXPERIMENT as _CHOICES
from validation.papers.liu.conclusions import EXPERIMENT as _CONCLUSIONS
from validation.papers.liu.fig3 import EXPERIMENT as _FIG3
from validation.papers.liu.fig4 import EXPERIMENT as _FIG4
from validation.papers.liu.fig5 import EXPERIMENT as _FIG5
from validation.papers.liu.fig6 import EXPERIMENT as _FIG6

#: In the order of the paper; the last asks what our own choices decide.
EXPERIMENTS: tuple[Experiment, ...] = (_FIG3, _FIG4, _FIG5, _FIG6, _CONCLUSIONS, _CHOICES)
