"""Runs of one burst, repeats on the same allotment taken together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Runs of one burst, repeats on the same allotment taken together."""

    p: Array
    d: Array
    log_time: Array  #: mean of the logarithms
    count: Array  #: runs on each allotment
    within: float  #: sum of squares of the repeats about their means
    runs: int

    def only(self, kept: NDArray[np.intp]) -> Pooled:
        """The same of these allotments; what repeats scatter, as that of all in proportion."""
        runs = int(self.count[kept].sum())
        free = self.runs - self.p.size
        share = (runs - kept.size) / free if free else 0.0
        return Pooled(
            self.p[kept],
            self.d[kept],
            self.log_time[kept],
            self.count[kept],
            self.within * share,
            runs,
        )


def pooled(p: Array, d: Array, seconds: Array) -> Pooled:
    """Take the repeats on each allotment together."""
    cells, place = np.unique(np.stack([p, d]), axis=1, return_inverse=True)
    place = place.ravel()
    count = np.bincount(place).astype(float)
    log_y = np.log(seconds)
    mean = np.bincount(place, weights=log_y) / count
    within = float(np.sum((log_y - mean[place]) ** 2))
    return Pooled(cells[0], cells[1], mean, count, within, p.size)
