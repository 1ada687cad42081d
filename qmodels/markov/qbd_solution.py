"""The stationary law of a quasi-birth-death chain: probabilities, means, moments, tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, read_only
from phasefit.checks import in_range, real_vector, shaped, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.markov.reduction import Levels
from qmodels.words import named_values

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class QBDSolution(Result):
    """Steady state of a `QBD`: the levels up to b one by one, the rest geometric.

    Notes
    -----
    Sums over all levels above b use (I - R)^-1 without forming I - R: the row sums of its
    time-reversed counterpart are known, ``theta (I - R) = drift * h`` with theta the stationary
    phase and h the time spent at the lowest level so far. The drift, downward minus upward, is the
    only difference taken; it is what limits the accuracy close to saturation.

    Examples
    --------
    >>> from qmodels.markov import QBD, solve_qbd
    >>> one = np.ones((1, 1))
    >>> solution = solve_qbd(QBD(up=[0.5 * one], local=[0 * one], down=[one]))
    >>> solution.pmf([0, 1, 2]).round(12)
    array([0.5  , 0.25 , 0.125])
    >>> round(solution.moment(2), 12), round(solution.sf(9), 12)
    (3.0, 0.0009765625)
    """

    drawing = Drawing("level", "probability")

    boundary: tuple[Array, ...]  #: pi_0 .. pi_b, one vector per level
    levels: Levels  #: the homogeneous levels from b on
    states: int  #: phases of the levels 0 .. b
    residual: float  #: sum of what flows in but not out, over all that flows, levels 0 .. b + 1
    method: str  #: "exact (matrix-geometric)": nothing is cut off
    seconds: float  #: time the solution took

    @property
    def drift_ratio(self) -> float:
        """Mean upward over mean downward drift of the homogeneous levels: the utilisation."""
        return self.levels.upward / self.levels.downward

    @property
    def steps(self) -> int:
        """Doubling steps taken."""
        return self.levels.steps

    @property
    def error_bound(self) -> float:
        """Relative error to expect of a mean: 20 u / (1 - drift ratio)."""
        return float(20 * np.finfo(float).eps * self.levels.downward / self.levels.drift)

    @cached_property
    def rate(self) -> Array:
        """R, (n, n), with pi_{k+1} = pi_k @ R for k >= b."""
        return read_only(np.asarray(self.levels.spread @ self.levels.climb))

    @cached_property
    def first_passage(self) -> Array:
        """G, (n, n): phase in which the next lower level is entered, from each phase."""
        return read_only(self.levels.first_passage())

    @cached_property
    def tail(self) -> Array:
        """Total probability of the levels from b on, by phase."""
        return read_only(self.levels.total(self.boundary[-1]))

    def mean_level(self) -> float:
        """Return the mean level: the mean number of jobs, when levels count jobs."""
        return self.mean_of(np.arange(len(self.boundary))) + self.mean_excess()

    def mean_excess(self) -> float:
        """Return the mean number of levels above b: the mean queue, when b jobs are served at once."""
        return float(self.levels.beyond(self.tail).sum())

    def mean_of(self, values: Sequence[float] | NDArray[np.generic]) -> float:
        """Return the mean of a quantity that depends on the level.

        Parameters
        ----------
        values : (b + 1,) array_like
            Value in each of the levels 0 to b; the last one holds beyond.

        Raises
        ------
        ModelError
            If there is another number of values.
        """
        masses = [*self._masses[:-1], float(self.tail.sum())]
        by_level = real_vector("values", values)
        if by_level.size != len(masses):
            raise ModelError(f"give {len(masses)} values, one per level 0..b, not {by_level.size}")
        return math.fsum(m * v for m, v in zip(masses, by_level.tolist(), strict=True))

    def moment(self, k: int) -> float:
        """Return the raw moment E[level^k].

        Parameters
        ----------
        k : int
            Order of the moment, 0 to 100.

        Raises
        ------
        ModelError
            If `k` is not a whole number from 0 to 100, or the moment is too large for a float.
        """
        k = whole_number("k", k, least=0, most=100)
        b = len(self.boundary) - 1
        beyond = self._binomial_moments(k)
        try:
            # powers of the excess from its binomial moments, powers of the level from those
            excess = [
                math.fsum(float(s * math.factorial(j)) * beyond[j] for j, s in enumerate(row))
                for row in _stirling(k)
            ]
            terms = [float(n**k) * mass for n, mass in enumerate(self._masses[:-1])]
            terms += [float(math.comb(k, i) * b ** (k - i)) * excess[i] for i in range(k + 1)]
            total = math.fsum(terms)
        except OverflowError:
            total = math.inf
        return in_range(f"moment {k} of the level", total, 0)

    def level(self, k: int) -> Array:
        """Return the probability of each phase of level k, (n,).

        Parameters
        ----------
        k : int
            Level, not negative.

        Raises
        ------
        ModelError
            If `k` is no such number.
        """
        k = whole_number("k", k, least=0)
        b = len(self.boundary) - 1
        if k <= b:
            return self.boundary[k]
        jumps = self.levels.up_from(self.boundary[-1])
        return np.asarray(self.levels.ahead(jumps, k - b - 1) @ self.levels.climb)

    def pmf(self, levels: ArrayLike) -> Any:
        """Return P(level = k).

        Parameters
        ----------
        levels : array_like of int
            Levels, not negative, any shape.

        Raises
        ------
        ModelError
            If one is no such number.
        """
        once = self.levels.climb.sum(axis=1)
        return self._by_level(levels, self._masses, once)

    def sf(self, levels: ArrayLike) -> Any:
        """Return P(level > k), with relative accuracy.

        Parameters
        ----------
        levels : array_like of int
            Levels, not negative, any shape.

        Raises
        ------
        ModelError
            If one is no such number.
        """
        above = float(self.levels.beyond(self.boundary[-1]).sum())
        exceed = np.cumsum([above, *self._masses[:0:-1]])[::-1]
        once = self.levels.climb.sum(axis=1)
        return self._by_level(levels, exceed.tolist(), self.levels.ratio @ self.levels.summed(once))

    def decay_rate(self) -> float:
        """Return the factor by which each of the high levels is rarer than the one before."""
        return self.levels.perron[0]

    def tail_constant(self) -> float:
        """Return the limit of P(level = k) / decay_rate()**(k - b) for high levels k.

        Zero if the chain cannot rise above level b.
        """
        decay, left, right = self.levels.perron
        if decay == 0.0:
            return 0.0
        jumps = self.levels.up_from(self.boundary[-1])
        once = self.levels.climb.sum(axis=1)
        return float((jumps @ right) * (left @ once) / ((left @ right) * decay))

    def table(self) -> str:
        """Return name and value of the main quantities as text, one to a line."""
        return named_values(self.record(), {}, width=14)

    def to_frame(self) -> pd.DataFrame:
        """Return one row with a column per quantity."""
        return data_frame([self.record()])

    def drawn(self) -> pd.DataFrame:
        """Return the probability of each level, to where one in a thousand is left or level 200."""
        levels = np.arange(201)
        shown = int(np.count_nonzero(np.asarray(self.sf(levels)) > 1e-3)) + 1
        return data_frame({"level": levels[:shown], "probability": self.pmf(levels[:shown])})

    def record(self) -> dict[str, Any]:
        """Return means, rates and accuracy; `pmf` has the probabilities."""
        return {
            "mean_level": self.mean_level(),
            "mean_excess": self.mean_excess(),
            "drift_ratio": self.drift_ratio,
            "decay_rate": self.decay_rate(),
            **self._by_name("method", "error_bound", "residual", "states", "steps", "seconds"),
        }

    @cached_property
    def _masses(self) -> list[float]:
        return [float(pi.sum()) for pi in self.boundary]

    def _binomial_moments(self, k: int) -> list[float]:
        """Sums over j of binomial(j, i) P(level = b + j), for i = 0..k."""
        here = self.tail
        sums = [float(here.sum())]
        for _ in range(k):
            here = self.levels.beyond(here)
            sums.append(float(here.sum()))
        return sums

    def _by_level(self, levels: ArrayLike, near: Sequence[float], weight: Array) -> Any:
        """Take ``near[k]`` up to level b, and beyond it `weight` of the jumps up."""
        wanted = _whole_numbers(levels)
        result = np.empty(wanted.shape)
        b = len(self.boundary) - 1
        close = wanted <= b
        result[close] = np.asarray(near)[wanted[close].astype(np.intp)]
        jumps, reached = self.levels.up_from(self.boundary[-1]), b + 1
        for k in np.unique(wanted[~close]).tolist():
            jumps, reached = self.levels.ahead(jumps, k - reached), k
            result[wanted == k] = jumps @ weight
        return shaped(result)


def _stirling(k: int) -> list[list[int]]:
    """Ways to split i things into j parts: rows i = 0..k of j = 0..i."""
    rows = [[1]]
    for i in range(1, k + 1):
        last = rows[-1]
        rows.append([0, *(j * last[j] + last[j - 1] for j in range(1, i)), 1])
    return rows


def _whole_numbers(levels: ArrayLike) -> NDArray[np.int64]:
    try:
        numbers = np.asarray(levels)
    except ValueError as error:
        raise ModelError(f"levels must be whole numbers: {error}") from None
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise ModelError(f"levels must be whole numbers, got {levels!r:.60}")
    if numbers.size and (numbers.min() < 0 or numbers.max() > 2**62):
        raise ModelError(f"levels must be in 0..2**62, got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)
