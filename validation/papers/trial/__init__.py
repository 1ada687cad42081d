"""The trial of the models: predictions against the simulated mesh, which no paper has."""

from validation.papers.base import Experiment
from validation.papers.trial.campaign import EXPERIMENT, GRIDS

#: One campaign over cells of three machines, and the whole grid of each.
EXPERIMENTS: tuple[Experiment, ...] = (EXPERIMENT, *GRIDS)
