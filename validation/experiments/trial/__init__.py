"""The trial of the models: predictions against the simulated mesh, which no paper has."""

from validation.experiments.base import Experiment
from validation.experiments.trial.campaign import EXPERIMENT, WHOLE_GRID

#: One campaign over cells of three machines, and the whole grid.
EXPERIMENTS: tuple[Experiment, ...] = (EXPERIMENT, WHOLE_GRID)
