"""Comparison of the models with simulation."""

from validation.trial.agreement import Agreement, crossvalidate

__all__ = ["Agreement", "crossvalidate"]
