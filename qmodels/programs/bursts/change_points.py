"""Change points in a sequence of phases: runs of similar phases, or of similar sets of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError

MOST_VALUES = 5000
SCATTER = 0.1  #: how far, relatively, like phases are expected to lie apart

_SPREAD = 2.0  # of the means of different runs; logarithms, so a factor of 7
_WEIGHT = 1.0  # of the expected scatter, in pairs of values


class Run(NamedTuple):
    """Consecutive values that repeat: `repeat` times `period` of them, from `first` on."""

    first: int  #: place of the first value
    period: int  #: values that repeat
    repeat: int  #: how often they are gone through


def find_runs(values: Array, *, longest_period: int = 4, scatter: float = SCATTER) -> list[Run]:
    """Find the runs within which a sequence repeats itself, but for scatter.

    Parameters
    ----------
    values : (n, c) ndarray
        c logarithms for each of n phases.
    longest_period : int
        Largest number of phases in a set that repeats, at least 1.
    scatter : float
        Expected standard deviation of like values, > 0.

    Returns
    -------
    runs : list of Run
        They follow each other from 0 to n; a run with a period beyond one repeats at least twice.

    Raises
    ------
    ModelError
        If there are more than `MOST_VALUES` values.

    Notes
    -----
    The most probable partition, found exactly by dynamic programming over the last change [1]_
    in O(n^2 `longest_period`) time. In a run of period k the j-th of every k values is normal
    with a mean of its own, and all k share a variance, which is unknown: its prior is inverse
    gamma (shape 1, scale `scatter` squared), the means are normal around the median of all values
    with a variance larger by (2 / `scatter`) squared. Both are integrated out, so a run with more
    means than it needs is less probable by itself [2]_. A change has the prior probability 1/n,
    every period the same.

    References
    ----------
    .. [1] B. Jackson et al., "An algorithm for optimal partitioning of data on an interval",
       *IEEE Signal Processing Letters* 12 (2005) 105-108.
    .. [2] P. Fearnhead, "Exact and efficient Bayesian inference for multiple changepoint
       problems", *Statistics and Computing* 16 (2006) 203-213.

    Examples
    --------
    >>> find_runs(np.log([[1.0], [1.1], [1.0], [7.0], [2.0], [7.1], [2.0]]), longest_period=2)
    [Run(first=0, period=1, repeat=3), Run(first=3, period=2, repeat=2)]
    """
    n, components = values.shape
    if n > MOST_VALUES:
        raise ModelError(f"{n} phases are more than {MOST_VALUES}; take a larger gap")
    centred = values - np.median(values, axis=0)
    squares = np.vstack([np.zeros(components), np.cumsum(centred**2, axis=0)])
    sums = [_strided_sums(centred, k) for k in range(1, longest_period + 1)]
    shapes = np.array([math.lgamma(_WEIGHT + 0.5 * length) for length in range(n + 1)])
    prior = (scatter / _SPREAD) ** 2  # how many values the prior of a mean counts for
    change = math.log(n) + math.log(longest_period)
    best, come_from = np.zeros(n + 1), [(0, 1)] * (n + 1)
    for t in range(1, n + 1):
        best[t] = math.inf
        for k in range(1, min(longest_period, t) + 1):
            s = np.arange(t - (k if k == 1 else 2 * k), -1, -k)
            if not s.size:
                continue
            cost = best[s] + change
            fits = _explained_squares(sums[k - 1], k, s, t, prior)
            repeats = (t - s) / k + prior
            for c in range(components):
                left = squares[t, c] - squares[s, c] - fits[c]
                cost += _cost(left, k * np.log(repeats / prior), t - s, shapes, scatter)
            at = int(np.argmin(cost))
            if cost[at] < best[t]:
                best[t], come_from[t] = cost[at], (int(s[at]), k)
    runs, end = [], n
    while end > 0:
        first, k = come_from[end]
        runs.append(Run(first, k, (end - first) // k))
        end = first
    return runs[::-1]


def _strided_sums(values: Array, k: int) -> Array:
    """Cumulative sums of every k-th value (n + k, c); entry i + k ends with value i."""
    total = np.vstack([np.zeros((k, values.shape[1])), values])
    for first in range(k):
        total[first::k] = np.cumsum(total[first::k], axis=0)
    return total


def _explained_squares(sums: Array, k: int, s: NDArray[np.intp], t: int, prior: float) -> Array:
    """Squares explained by the k means of the values from s to t (c, len(s))."""
    explained = sum((sums[t - 1 - j + k] - sums[s - 1 - j + k]) ** 2 for j in range(k))
    return np.asarray(explained).T / ((t - s) / k + prior)


def _cost(left: Array, means: Array, length: NDArray[np.intp], shapes: Array, scatter: float) -> Array:
    """Minus the logarithm of the probability density of the values, means and variance gone."""
    scale = scatter**2 + 0.5 * np.maximum(left, 0.0)
    return np.asarray(
        0.5 * length * math.log(2.0 * math.pi)
        + 0.5 * means
        + (_WEIGHT + 0.5 * length) * np.log(scale)
        - _WEIGHT * math.log(scatter**2)
        - shapes[length]
        + shapes[0]
    )
