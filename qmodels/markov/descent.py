"""Time that a chain takes to come down many levels that are alike: its mean, and its law by a transform."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from phasefit.arrays import Array
from phasefit.checks import probabilities, real_array, shaped
from phasefit.records import Record
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov.inversion import Complex, CosineSeries, tail_of
from qmodels.markov.qbd import QBD
from qmodels.markov.sparse_rates import as_dense
from qmodels.memory import MOST_SECONDS

#: What may be left of the reduction, places of a transform for a probability, and work in a second.
_CONVERGED, _PLACES, _FLOPS = 1e-15, 31, 3e9
#: Means over standard deviations, squared, from which on a law is smooth; what a gamma law has left at
#: the ends of a window, and how many times as far the window goes.
_SMOOTH, _REST, _FURTHER = 8.0, 1e-9, 1.5
#: Part of a standard deviation, and of itself, to which a percentile is found.
_NEAR: Final = 1e-6
#: Nearest to one that a percentile is asked for: errors of probabilities are some 1e-9.
_MOST: Final = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class Descent(Record):
    """Time that a chain takes from one of its high levels down to a lower one.

    Parameters
    ----------
    chain : QBD
        Its last blocks are those of all levels passed.
    start : (n,) array_like
        Probability of each phase at the beginning.
    levels : int
        How far down, at least one.
    first_passage : (n, n) array_like
        Probability of the phase in which the next lower level is entered, from each phase.

    Raises
    ------
    MemoryBudgetError
        If one probability would take longer than about half a minute.

    Notes
    -----
    Mean and standard deviation are solved for. The law is the inverse of a transform,
    ``v G(s)^n 1`` with G(s) by logarithmic reduction [1]_ and n the levels.

    References
    ----------
    .. [1] Latouche and Ramaswami 1993.
    """

    chain: QBD = field(repr=False)
    start: ArrayLike = field(repr=False)
    levels: int
    first_passage: ArrayLike = field(repr=False)
    mean: float = field(init=False)  #: in the unit of time of the rates
    std: float = field(init=False)  #: its standard deviation
    _up: Array = field(init=False, repr=False)
    _down: Array = field(init=False, repr=False)
    _inside: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        up, local, down = (as_dense(each[-1]) for each in (self.chain.up, self.chain.local, self.chain.down))
        local = local - np.diag(np.diagonal(local))
        out = up.sum(axis=1) + local.sum(axis=1) + down.sum(axis=1)
        seconds = (_PLACES + 1) * len(out) ** 3 * (400.0 + 12.0 * math.log2(self.levels)) / _FLOPS
        if seconds > MOST_SECONDS:
            raise MemoryBudgetError(
                f"a probability of a backlog before {len(out):,} states a level would take some "
                f"{seconds:,.0f} s of computing; use a demand law of lower order"
            )
        for name, value in (("_up", up), ("_down", down), ("_inside", np.diag(out) - local)):
            object.__setattr__(self, name, value)
        mean, variance = self._mean_and_variance(np.asarray(self.first_passage))
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", math.sqrt(variance))

    def _mean_and_variance(self, returns: Array) -> tuple[float, float]:
        """Of the time, level by level, with what the time so far says of the phase."""
        once = np.linalg.solve(self._inside - self._up @ returns, np.hstack([returns, self._up]))
        timed, again = np.hsplit(once, 2)  # E[time of a level; phase at its end], and times passed twice
        back = returns
        while (more := again @ timed @ back).max() > _CONVERGED * timed.max():
            timed, again, back = timed + more, again @ again, back @ back
        first = timed.sum(axis=1)
        second = 2.0 * np.linalg.solve(
            self._inside - self._up @ returns - self._up, first + self._up @ (timed @ first)
        )
        mean = variance = 0.0
        phase, before = np.asarray(self.start, dtype=float), np.zeros(len(returns))
        for left in range(self.levels, 0, -1):
            time = float(phase @ first)
            spread = float(phase @ second) - time**2 + 2.0 * float(before @ first)
            after = before @ returns + phase @ timed - time * (phase @ returns)
            if np.allclose(after, before, rtol=_CONVERGED, atol=_CONVERGED * time) and np.allclose(
                phase @ returns, phase, rtol=_CONVERGED, atol=0.0
            ):  # all further levels are like this one
                return mean + left * time, variance + left * spread
            mean, variance = mean + time, variance + spread
            phase, before = phase @ returns, after
        return mean, variance

    def transform(self, s: Complex) -> Complex:
        """Return E[exp(-s T)] for all s at once.

        Parameters
        ----------
        s : (n,) ndarray of complex
            With a real part that is not negative.
        """
        same = np.eye(len(self._inside))
        rise, fall = (
            np.linalg.solve(self._inside + s[:, None, None] * same, block) for block in (self._up, self._down)
        )
        returns, reach = fall, rise  # of all numbers at once
        while np.abs(reach).max() > _CONVERGED:
            left = same - rise @ fall - fall @ rise
            rise, fall = np.linalg.solve(left, rise @ rise), np.linalg.solve(left, fall @ fall)
            returns = returns + reach @ fall
            reach = reach @ rise
        start = np.asarray(self.start, dtype=float)
        return np.asarray((start @ np.linalg.matrix_power(returns, self.levels)).sum(axis=-1))

    def cdf(self, x: ArrayLike) -> Any:
        """Return the probability that it is down within `x`.

        Parameters
        ----------
        x : array_like
            In the unit of time of the rates.

        Raises
        ------
        ModelError
            If a time is NaN.
        """
        times = real_array("x", x, infinite=True)
        inside = (times > 0.0) & (times < math.inf)
        values = np.where(times > 0.0, 1.0, 0.0)
        values[inside] = [self._down_within(t)[0] for t in times[inside].tolist()]
        return shaped(values)

    @cached_property
    def _series(self) -> CosineSeries | None:
        """The law at all times from one set of places; None where it is not smooth enough."""
        shape = (self.mean / self.std) ** 2
        if shape < _SMOOTH:
            return None
        # where a gamma law of the same moments has next to nothing, and further to be safe
        low, high = (self.mean * float(gammaincinv(shape, q)) / shape for q in (_REST, 1.0 - _REST))
        series = CosineSeries(
            self.transform,
            max(0.0, self.mean - _FURTHER * (self.mean - low)),
            self.mean + _FURTHER * (high - self.mean),
        )
        return series if series.converged else None

    def _down_within(self, t: float) -> tuple[float, float]:
        """P(T <= t) and the density there."""
        series = self._series
        if series is None:
            tail, density = tail_of(self.transform, t)
            return 1.0 - tail, density
        if not series.low < t < series.low + series.width:
            return (0.0 if t <= series.low else 1.0), 0.0
        return series.distribution_and_density(t)

    def percentile(self, q: ArrayLike) -> Any:
        """Return the time within which it is down with probability `q`, such as 0.95.

        Parameters
        ----------
        q : array_like
            In [0, 1).

        Raises
        ------
        ModelError
            If `q` is not, or too near one.
        """
        share = probabilities("q", q)
        if share.size and share.max() > _MOST:
            raise ModelError(f"q must be at most {_MOST}, got {share.max():.12g}")
        return shaped(np.array([self._within(q) for q in share.ravel().tolist()]).reshape(share.shape))

    def _within(self, q: float) -> float:
        """Return the percentile of one share."""
        if q == 0.0:
            return 0.0
        shape, low, high = (self.mean / self.std) ** 2, 0.0, math.inf
        # a gamma law of the same moments, which may have next to all at zero
        x = max(self.mean * float(gammaincinv(shape, q)) / shape, _NEAR * self.std)
        while True:  # Newton's method between what is known to be on either side
            below, density = self._down_within(x)
            low, high = (x, high) if below < q else (low, x)
            step = (q - below) / density if density > 0.0 else math.inf
            near = _NEAR * min(self.std, max(x, _NEAR * self.std))
            if abs(step) <= near or high - low <= near:
                return x + step if low <= x + step <= high else x
            if low < x + step < min(high, x + 2.0 * self.std):
                x += step
            else:
                x = 0.5 * (low + high) if high < math.inf else x + self.std
