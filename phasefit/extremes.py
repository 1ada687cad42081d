"""The smallest or largest of many variables, kept as its parts where the chain would explode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import boolean, check_fields, probabilities, shaped, whole_number
from phasefit.errors import ModelError
from phasefit.phase_type import PhaseType
from phasefit.records import Law
from phasefit.sampling import RandomState, dimensions, generator

#: Longest mean times to an end beyond which nothing is left of a moment.
_FURTHEST = 1024.0


@dataclass(frozen=True, eq=False)
class Extreme(Law):
    """Law of the smallest or the largest of independent phase-type variables.

    `phasefit.minimum` and `phasefit.maximum` build one chain, whose order is the product of the
    orders. This keeps the laws apart: functions of time are products of theirs, moments are
    integrals, and nothing grows.

    Parameters
    ----------
    laws : sequence of PhaseType
        At least one.
    largest : bool
        Whether the largest counts; else the smallest.

    Raises
    ------
    ModelError
        If `laws` is empty or holds something else.

    Examples
    --------
    A job on 64 processors ends when its slowest part does:

    >>> part = PhaseType.erlang(phases=4, mean=10.0)
    >>> whole = Extreme([part] * 64, largest=True)
    >>> round(whole.mean, 3)
    25.479
    """

    laws: Sequence[PhaseType]
    largest: bool

    def __post_init__(self) -> None:
        laws = tuple(self.laws) if isinstance(self.laws, (list, tuple)) else ()
        if not laws or not all(isinstance(law, PhaseType) for law in laws):
            raise ModelError(f"laws must be a list of PhaseType, got {self.laws!r:.80}")
        check_fields(self, boolean, "largest")
        object.__setattr__(self, "laws", laws)

    @property
    def order(self) -> int:
        """Phases that the chain would have."""
        if self.largest:
            return prod(law.order + 1 for law in self.laws) - 1
        return prod(law.order for law in self.laws)

    def sf(self, x: ArrayLike) -> Any:
        """Return P(X > x), with relative accuracy in the tail.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.
        """
        tails = self._values_and_counts("sf", x)
        return shaped(_complement(tails) if self.largest else _product(tails))

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x), with relative accuracy near zero.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.
        """
        heads = self._values_and_counts("cdf", x)
        return shaped(_product(heads) if self.largest else _complement(heads))

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at `x`, per second.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.
        """
        others = self._values_and_counts("cdf" if self.largest else "sf", x)
        densities = self._values_and_counts("pdf", x)
        total = np.zeros(np.shape(x))
        for i, ((value, count), (density, _)) in enumerate(zip(others, densities, strict=True)):
            rest = [*others[:i], (value, count - 1), *others[i + 1 :]]
            total = total + count * density * _product(rest)
        return shaped(total)

    def ppf(self, q: ArrayLike) -> Any:
        """Return the time, seconds, not exceeded with probability `q`.

        Parameters
        ----------
        q : array_like
            Probabilities, any shape.

        Raises
        ------
        ModelError
            If one is not in [0, 1].
        """
        chance = probabilities("q", q)
        result = np.empty(chance.shape)
        for index, level in np.ndenumerate(chance):
            result[index] = self._quantile(float(level))
        return shaped(result)

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, Var[X] / E[X]^2."""
        return self.moment(2) / self.mean**2 - 1.0

    def moment(self, k: int) -> float:
        """Return the raw moment E[X^k], the integral of k x^(k - 1) P(X > x), to 1e-10 relative.

        Parameters
        ----------
        k : int
            Order of the moment, not negative.
        """
        k = whole_number("k", k, least=0)
        if k == 0:
            return 1.0
        fast = 1.0 / sum(float(-law.T.diagonal().min()) for law in self.laws)
        slow = max(float(np.ldexp(law._mean[1].max(), -law._chain.exponent)) for law in self.laws)
        middle = float(self.ppf(0.5)) or slow
        first, last = 2.0 * np.log2([fast / middle, _FURTHEST * slow / middle])
        halves = np.arange(np.floor(first), np.ceil(last) + 1.0)  # of the powers of two
        edges = np.concatenate([[0.0], middle * 2.0 ** (0.5 * halves)])
        points, weights = np.polynomial.legendre.leggauss(16)
        half, centre = np.diff(edges)[:, None] / 2.0, (edges[1:] + edges[:-1])[:, None] / 2.0
        x = centre + half * points
        return float(np.sum(half * weights * k * x ** (k - 1) * self.sf(x)))

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: RandomState = None) -> Any:
        """Draw values (seconds), with the arguments of the laws of scipy.stats.

        Parameters
        ----------
        size : int or tuple of ints, optional
            Shape of the result; by default one float.
        random_state : None, int, numpy Generator or RandomState
            Where randomness comes from; None takes fresh entropy.

        Returns
        -------
        float or ndarray
            Values in seconds, in the shape `size`.
        """
        rng, shape = generator("random_state", random_state), dimensions(size)
        drawn = [np.asarray(law.rvs(size=shape, random_state=rng)) for law in self.laws]
        return shaped(reduce(np.maximum if self.largest else np.minimum, drawn))

    def _values_and_counts(self, name: str, x: ArrayLike) -> list[tuple[Array, int]]:
        """Return the function `name` at `x` of each different law, and how often that law occurs."""
        counts: dict[int, int] = {}
        for law in self.laws:
            counts[id(law)] = counts.get(id(law), 0) + 1
        laws = {id(law): law for law in self.laws}
        return [(np.asarray(getattr(law, name)(x)), counts[i]) for i, law in laws.items()]

    def _quantile(self, level: float) -> float:
        from scipy.optimize import brentq  # of no use to most who import this, and slow

        if level <= float(self.cdf(0.0)):
            return 0.0
        if level == 1.0:
            return inf
        upper = level > 0.5
        goal = np.log(1.0 - level if upper else level)

        def excess(log_x: float) -> float:
            x = float(np.exp(log_x))
            with np.errstate(divide="ignore"):
                return float(goal - np.log(self.sf(x)) if upper else np.log(self.cdf(x)) - goal)

        low = high = float(np.log(max(law.mean for law in self.laws)))
        while excess(low) > 0:
            low -= 1.0
        while excess(high) < 0:
            high += 1.0
        return float(np.exp(brentq(excess, low, high, xtol=1e-14)))


def _product(parts: list[tuple[Array, int]]) -> Array:
    return np.asarray(reduce(np.multiply, [part**count for part, count in parts]))


def _complement(parts: list[tuple[Array, int]]) -> Array:
    """1 - prod(1 - part), without losing small parts."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(sum(count * np.log1p(-part) for part, count in parts)))
