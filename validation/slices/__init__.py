"""Jobs that ask a pod of blocks for slices: played, and exact where that can be."""

from validation.slices.losses import SliceAvailability, SliceLosses, slice_availability, slice_losses
from validation.slices.pod import MIXES, Pod, SliceMix
from validation.slices.queue import SliceQueue, slice_queue
from validation.slices.results import ShapeResult, SliceSimulation
from validation.slices.simulator import simulate_slices

__all__ = [
    "MIXES",
    "Pod",
    "ShapeResult",
    "SliceAvailability",
    "SliceLosses",
    "SliceMix",
    "SliceQueue",
    "SliceSimulation",
    "simulate_slices",
    "slice_availability",
    "slice_losses",
    "slice_queue",
]
