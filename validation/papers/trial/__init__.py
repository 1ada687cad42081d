"""The trial of the models: predictions against the simulated mesh, which no paper has."""

from validation.papers.base import Experiment
from validation.papers.trial.campaign import EXPERIMENT, GRIDS
from validation.papers.trial.comparison import acceptance, compare_predictions

#: One campaign over cells of three machines, and the whole grid of each.
EXPERIMENTS: tuple[Experiment, ...] = (EXPERIMENT, *GRIDS)

__all__ = ["EXPERIMENTS", "acceptance", "compare_predictions"]
