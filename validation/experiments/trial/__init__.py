"""The trial of the models: predictions against the simulated mesh, which no paper has."""

from validation.experiments.base import Experiment
from validation.experiments.trial.campaign import EXPERIMENT

#: One campaign over cells of three machines.
EXPERIMENTS: tuple[Experiment, ...] = (EXPERIMENT,)
