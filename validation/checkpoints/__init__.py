"""Jobs that save their state to one storage, event by event."""

from validation.checkpoints.results import CheckpointSimulation, ClassResult
from validation.checkpoints.simulator import simulate_checkpoints

__all__ = ["CheckpointSimulation", "ClassResult", "simulate_checkpoints"]
