"""Jobs of several classes that share a disk: what each class completes beside the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array


def sharing_throughput(contents: NDArray[np.int64], io: Array, cpu: Array) -> Array:
    """Return jobs per second of each class, by who shares the disk.

    Parameters
    ----------
    contents : (E, S) ndarray
        Jobs of each class; with every row, all rows of one job fewer.
    io, cpu : (S,) ndarray
        Mean transfer and mean computation of a job alone, in seconds.

    Returns
    -------
    (E, S) ndarray

    Notes
    -----
    ``R_r(n) = I_r (1 + Q(n - e_r))``, mean value analysis [1]_; whatever the laws of the bursts.

    References
    ----------
    .. [1] Reiser and Lavenberg 1980.

    Examples
    --------
    >>> sharing_throughput(np.array([[1, 0], [0, 1], [1, 1]]), np.ones(2), np.array([1.0, 3.0])).round(4)
    array([[0.5   , 0.    ],
           [0.    , 0.25  ],
           [0.4444, 0.2222]])
    """
    place = {tuple(n): row for row, n in enumerate(contents.tolist())}
    found, queue = np.zeros(contents.shape), np.zeros(len(contents))
    for n in sorted(place, key=sum):
        row = place[n]
        for r, jobs in enumerate(n):
            if jobs:
                before = place.get((*n[:r], jobs - 1, *n[r + 1 :]))
                stay = io[r] * (1.0 + (0.0 if before is None else queue[before]))
                found[row, r] = jobs / (cpu[r] + stay)
                queue[row] += found[row, r] * stay
    return found
