"""Compiled kernels of slices: where one goes, and the event loop of a pod and its queue."""

from validation.allocation.searches import largest_free_box
from validation.slices._kernels.events import EASY, FCFS, FIRST_FIT, LOSS, Jobs, Queue, Tally, play
from validation.slices._kernels.placing import (
    ALIGNED,
    ANY,
    BEST,
    CURVE,
    FIRST,
    ROOMIEST,
    RUNS,
    Held,
    Place,
    finds,
    listed,
)

__all__ = [
    "ALIGNED",
    "ANY",
    "BEST",
    "CURVE",
    "EASY",
    "FCFS",
    "FIRST",
    "FIRST_FIT",
    "LOSS",
    "ROOMIEST",
    "RUNS",
    "Held",
    "Jobs",
    "Place",
    "Queue",
    "Tally",
    "finds",
    "largest_free_box",
    "listed",
    "play",
]
