"""Programs that share a storage, burst by burst: what `qmodels.storage` is held against."""

from validation.storage.simulator import (
    Neighbours,
    SharingSimulation,
    simulate_closed,
    simulate_start,
)

__all__ = ["Neighbours", "SharingSimulation", "simulate_closed", "simulate_start"]
