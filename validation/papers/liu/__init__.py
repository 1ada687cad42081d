"""Experiments of Liu, Hsu and Wu: how the tree strategies' tolerances and rivals fare."""

from validation.papers.base import Experiment
from validation.papers.liu.choices import EXPERIMENT as _CHOICES
from validation.papers.liu.figures import FIGURES as _FIGURES

#: In the order of the paper; the last asks what our own choices decide.
EXPERIMENTS: tuple[Experiment, ...] = (*_FIGURES, _CHOICES)
