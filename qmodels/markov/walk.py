"""The steps of an absorbing chain one by one, and times of its end by Poisson mixtures of them."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, inf, log, sqrt
from threading import Lock
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from phasefit.arrays import Array
from qmodels.markov import _kernels
from qmodels.markov.sweeps import _kernels as _sweeps

Sparse: TypeAlias = tuple[NDArray[np.integer], NDArray[np.integer], Array]

#: Evaluations between two sides after which a root is looked for by halves.
_PATIENCE: Final = 30
#: Poisson probability that is left out of what declines from step to step.
_LOST: Final = 1e-17


class Walk:
    """Masses that stay, end and have ended after each step of the uniformised chain.

    The probabilities after 0, 1, 2, ... steps are computed once, as far as they are asked for, and
    weighed by Poisson probabilities for each time; nothing is subtracted [1]_.

    Parameters
    ----------
    start : (n,) ndarray
        Probability of each state to begin with.
    into : tuple of ndarray
        Rates from state to state, per second, by the state that they lead to and without a
        diagonal: indptr, indices and data of a `scipy.sparse.csc_array`.
    ends : (n,) ndarray
        Rate at which the time ends from each state, per second.
    gone : float
        Probability of having ended before the first step.

    References
    ----------
    .. [1] Jensen 1953.

    Examples
    --------
    Two seconds on average, exponential:

    >>> walk = Walk(np.ones(1), entries_by_target(np.zeros((1, 1))), np.array([0.5]))
    >>> round(walk.survival(3.0), 12) == round(exp(-1.5), 12)
    True
    """

    def __init__(self, start: Array, into: Sparse, ends: Array, gone: float = 0.0) -> None:
        _, sources, rates = into
        pivots = np.bincount(sources, rates, start.size) + ends
        self.speed = float(pivots.max())
        #: multiplications of a step
        self.cost = int(rates.size + start.size)
        self._into = (*into, 1.0 / self.speed)
        self._stay, self._out = 1.0 - pivots / self.speed, ends / self.speed
        self._now, self._room = np.array(start, dtype=float), np.empty(start.size)
        self._gone = gone
        self._guard = Lock()  # the kernel lets other threads run
        self.count = 0  #: number of entries known
        self.alive, self.leaving, self.absorbed = np.zeros((3, 0))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_guard"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._guard = Lock()

    def until(self, share: float, most: int) -> int | None:
        """Return the number of steps after which no more than a share is alive; None if `most` do not do.

        Parameters
        ----------
        share : float
            Share of the start.
        most : int
            Largest number of steps.
        """
        seen, far = 0, 64
        while seen < most:
            self.extend(min(far, most))
            under = np.flatnonzero(self.alive[seen : self.count] <= share)
            if under.size:
                return seen + int(under[0])
            seen, far = self.count, far + far // 4
        return None

    def extend(self, count: int) -> None:
        """Make the first `count` entries known.

        Parameters
        ----------
        count : int
            Number of entries.
        """
        if count > self.count:
            with self._guard:
                self._extend(count)

    def _extend(self, count: int) -> None:
        first = self.count
        if count <= first:  # another thread was here before
            return
        room = self.alive.size
        if count > room:
            grown = np.zeros((3, max(count, 2 * room)))
            grown[:, :room] = self.alive, self.leaving, self.absorbed
            self.alive, self.leaving, self.absorbed = grown
        _kernels.walk(
            *self._into,
            self._stay,
            self._out,
            self._now,
            self._room,
            self.alive,
            self.leaving,
            first,
            count,
        )
        ended = self._gone + np.cumsum(self.leaving[first:count])
        self.absorbed[first] = self._gone
        self.absorbed[first + 1 : count] = ended[:-1]
        self._gone = float(ended[-1])
        self.count = count

    def survival(self, t: float) -> float:
        """Return P(X > t).

        Parameters
        ----------
        t : float
            Seconds.
        """
        return self.survival_and_density(t)[0]

    def survival_and_density(self, t: float) -> tuple[float, float]:
        """Return P(X > t), and about the density there, per second.

        Ever fewer are alive: what is left out is the least part of the first, but it may be more
        of the second.

        Parameters
        ----------
        t : float
            Seconds.
        """
        weights = _poisson(t * self.speed)
        beyond = np.cumsum(weights[::-1])
        weights = weights[: weights.size - int(np.searchsorted(beyond, _LOST))]
        self.extend(weights.size)
        left = min(float(weights @ self.alive[: weights.size]), 1.0)
        return left, float(weights @ self.leaving[: weights.size]) * self.speed

    def distribution_and_density(self, t: float) -> tuple[float, float]:
        """Return P(X <= t) and the density there, per second.

        Parameters
        ----------
        t : float
            Seconds.
        """
        weights = _poisson(t * self.speed)
        self.extend(weights.size)
        ended = min(float(weights @ self.absorbed[: weights.size]), 1.0)
        return ended, float(weights @ self.leaving[: weights.size]) * self.speed


def entries_by_target(rates: Array) -> Sparse:
    """Return rates by the state that they lead to: indptr, indices and data.

    Parameters
    ----------
    rates : (n, n) ndarray
        Rates.
    """
    targets, sources = np.nonzero(rates.T)
    ends = np.zeros(len(rates) + 1, dtype=np.int32)
    np.cumsum(np.bincount(targets, minlength=len(rates)), out=ends[1:])
    return ends, sources.astype(np.int32), rates[sources, targets]


def steps_asked_for(mean: float) -> float:
    """Return about how many entries a Poisson mixture needs.

    Parameters
    ----------
    mean : float
        Mean of the Poisson law.
    """
    return mean + 12.0 * sqrt(mean) + 100.0


def _poisson(mean: float) -> Array:
    """Poisson probabilities of 0, 1, ... until far beyond the mean, outward from the mode."""
    count, mode = ceil(steps_asked_for(mean)), int(mean)
    up = mean / np.arange(mode + 1, count)
    down = np.arange(mode, 0, -1) / mean if mode else np.zeros(0)
    weights = np.concatenate([np.cumprod(down)[::-1], [1.0], np.cumprod(up)])
    return np.asarray(weights / weights.sum())


def quantile(
    low: float,
    high: float,
    before: Callable[[float], tuple[float, float]],
    after: Callable[[float], tuple[float, float]],
    near: float,
) -> float:
    """Return the time not exceeded with probability `low` = 1 - `high`, solved for in the smaller one.

    Parameters
    ----------
    low, high : float
        Above zero.
    before, after : callable
        P(X <= t) or P(X > t), and the density at t or about that.
    near : float
        Where to look first.

    Notes
    -----
    Newton's method on the logarithms of the probability and of the time, in which a tail is nearly
    straight, never beyond what is known to be on the other side. It goes up in short strides: the
    steps of a chain must be known as far as it goes.
    """

    def excess(at: float) -> tuple[float, float]:
        t = exp(at)
        chance, density = before(t) if low < high else after(t)
        value = log(max(chance, 1e-300) / low) if low < high else log(high / max(chance, 1e-300))
        return value, t * density / max(chance, 1e-300)

    x, least, most, between = log(near), -inf, inf, 0
    while True:
        value, slope = excess(x)
        if value == 0.0:
            return exp(x)
        least, most = (x, most) if value < 0.0 else (least, x)
        stride = -value / slope if slope > 0.0 else -inf if value > 0.0 else inf
        if abs(value) <= 1e-15 or abs(stride) <= 1e-15 * max(1.0, abs(x)):
            return exp(min(max(x + min(max(stride, -1e-9), 1e-9), least), most))
        to = x + min(max(stride, -1.0), 0.25)
        between += most - least < inf
        if not least < to < most or between > _PATIENCE:
            to = 0.5 * (least + most)
            if not least < to < most:
                return exp(x)
        x = to


def reaches_end(into: csc_array, ends: Array) -> bool:
    """Return whether a chain can end from every state.

    Parameters
    ----------
    into : (n, n) sparse array
        Rates by the state that they lead to.
    ends : (n,) ndarray
        Rate at which the time ends from each state.
    """
    seen = ends > 0.0
    _sweeps.reach(into.indptr, into.indices, seen, np.empty(seen.size, dtype=np.intp))
    return bool(seen.all())
