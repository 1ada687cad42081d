"""Experiments of Liu, Hsu and Wu: how the tree strategies' tolerances and rivals fare."""

from validation.papers.base import Experiment
from validation.papers.liu import choices, rivals, tolerances

#: In the order of the paper; the last asks what our own choices decide.
EXPERIMENTS: tuple[Experiment, ...] = (
    *tolerances.EXPERIMENTS,
    *rivals.EXPERIMENTS,
    choices.EXPERIMENT,
)
