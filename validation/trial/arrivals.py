"""When jobs come to the trial's machine: at given times, or while there is room for them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Arrivals:
    """Jobs that come at given times."""

    def __init__(self, times: Array) -> None:
        self._times = np.ceil(times).tolist()
        self._next = 0

    def soonest(self, now: int, running: int, changed: bool) -> float:
        """When the next job comes."""
        return self._times[self._next] if self._next < len(self._times) else math.inf

    def take(self) -> None:
        """The next job has come."""
        self._next += 1


class LossArrivals:
    """Jobs that come at a rate for each number of running jobs, 0 to c; at 0 none comes."""

    def __init__(self, rates: Array, rng: np.random.Generator) -> None:
        self._rates, self._rng, self._at = rates, rng, math.inf
        self._drawn = False

    def soonest(self, now: int, running: int, changed: bool) -> float:
        """When the next job comes; drawn anew, memoryless as it is, whenever the rate changes."""
        if changed or not self._drawn:
            self._drawn = True
            rate = float(self._rates[running])
            self._at = now + math.ceil(self._rng.exponential(1.0 / rate)) if rate else math.inf
        return self._at

    def take(self) -> None:
        """The next job has come."""
        self._drawn = False
