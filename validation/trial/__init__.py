"""The trial of the models: predictions held against simulation."""

from validation.trial.agreement import Agreement, crossvalidate

__all__ = ["Agreement", "crossvalidate"]
