"""Law of the time until a large sparse chain is absorbed: here the sojourn of a job at the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import factorial, inf, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array

from phasefit import PhaseType, absorption
from phasefit.arrays import Array, read_only
from phasefit.checks import (
    ROUNDING,
    at_times,
    in_range,
    moment_order,
    probabilities,
    real_vector,
    shaped,
)
from phasefit.records import Law
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov.sweeps.m_matrix import MMatrix
from qmodels.markov.walk import Walk, quantile, reaches_end, steps_asked_for

#: Up to this order the moments come from a dense elimination without subtractions.
_DENSE: Final = 400
#: Up to this order times too long for steps of the chain are left to the dense law.
_SQUARED: Final = 1500
#: Multiplications that the steps of the uniformised chain may take.
_AFFORDABLE: Final = 2e10


@dataclass(frozen=True, eq=False, repr=False)
class SojournLaw(Law):
    """Phase-type law whose chain is too large for a matrix; every question is answered sparsely.

    Parameters
    ----------
    start : (n,) ndarray
        Probability of each state to begin with; sums to one.
    rates : (n, n) csr_array
        Rates from state to state, per second; the diagonal is derived.
    ends : (n,) ndarray
        Rate at which the time ends from each state, per second.

    Notes
    -----
    Moments: the chain backward, by elimination without subtractions up to order 400, beyond it by
    an iteration that stops at a bound of its error. For the M-matrix -T and a right side b > 0,
    the solution lies within ``max |residual / b|`` of x, relatively and in every state, which is
    what `error_bound` adds up. Functions of time: uniformisation [1]_. The probabilities of being
    alive after 0, 1, 2, ... steps are computed once, as far as they are asked for, and weighed by
    Poisson probabilities for each time; nothing is subtracted, so both tails keep their digits.

    References
    ----------
    .. [1] Jensen 1953.

    Examples
    --------
    >>> from qmodels.networks import ClosedNetwork
    >>> one = PhaseType.exponential(mean=1.0)
    >>> law = ClosedNetwork(2, delay=one.scale(2.0), disk=one).solve().sojourn
    >>> round(law.mean, 8), round(law.moment(2), 8), round(law.ppf(0.9), 6)
    (1.33333333, 3.73333333, 3.141523)
    """

    start: Array
    rates: csr_array
    ends: Array

    def __post_init__(self) -> None:
        start, ends = real_vector("start", self.start), real_vector("ends", self.ends)
        try:
            rates = csr_array(self.rates, dtype=float)
        except (TypeError, ValueError) as error:
            raise ModelError(f"rates must be a square sparse matrix: {error}") from None
        if rates.shape != (start.size, start.size) or ends.size != start.size:
            raise ModelError(
                f"start has {start.size} states; rates of shape {rates.shape} and {ends.size} "
                f"ends do not go with it"
            )
        if start.min() < 0.0 or abs(start.sum() - 1.0) > ROUNDING:
            raise ModelError(f"start must be probabilities, got the sum {start.sum():.12g}")
        least = min(ends.min(), rates.data.min(initial=0.0))
        if least < 0.0 or not np.isfinite(rates.data).all() or rates.diagonal().any():
            raise ModelError("rates and ends must be >= 0 and finite, the diagonal zero: derived")
        # backward from where it can end
        for name, value in (("start", start), ("rates", rates), ("ends", ends)):
            object.__setattr__(self, name, value)
        if not reaches_end(self._rates_by_target, ends):
            raise ModelError("some state cannot reach the end; give it, or where it leads, an end")
        for array in (start, ends, rates.data):
            read_only(array)

    def record(self) -> dict[str, Any]:
        """Order and moments, in seconds; the chain is too large to be told."""
        return {"unit": "s"} | self._by_name("order", "mean", "std", "scv", "error_bound")

    def __repr__(self) -> str:
        return f"SojournLaw(order={self.order}, mean={self.mean:.6g}, scv={self.scv:.6g})"

    @property
    def order(self) -> int:
        """Number of states."""
        return int(self.start.size)

    @cached_property
    def _pivots(self) -> Array:
        """Total rate out of each state."""
        return np.asarray(self.rates.sum(axis=1)).ravel() + self.ends

    # Moments

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.moment(1)

    @property
    def var(self) -> float:
        """Variance in seconds^2."""
        return self.scv * self.mean**2

    @property
    def std(self) -> float:
        """Standard deviation in seconds."""
        return sqrt(self.scv) * self.mean

    @property
    def scv(self) -> float:
        """Squared coefficient of variation, Var[X] / E[X]^2."""
        return self.moment(2) / self.mean / self.mean - 1.0

    @property
    def error_bound(self) -> float:
        """Bound of the relative error of the mean; that of moment k is k times as large."""
        self._backward.extend(1)
        return max(self._backward.bounds)

    def moment(self, k: int) -> float:
        """Return the raw moment E[X^k] in seconds^k.

        Parameters
        ----------
        k : int
            Order of the moment, 0 to 150.

        Raises
        ------
        ModelError
            If `k` is not a whole number from 0 to 150, or the moment is out of the range of a
            float.
        ConvergenceError
            If no iteration came to rest.
        """
        k = moment_order(k)
        if k == 0:
            return 1.0
        self._backward.extend(k)
        share, exponent = self._backward.shares[k - 1], self._backward.exponents[k - 1]
        return in_range(f"moment {k}", share * float(factorial(k)), exponent)

    @cached_property
    def _backward(self) -> _Backward:
        return _Backward(self)

    # Functions of time

    def sf(self, x: ArrayLike) -> Any:
        """Return P(X > x).

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        MemoryBudgetError
            If a law of many states would be followed over too many steps.
        """
        return self._evaluate(x, 1.0, 0.0, lambda t: self._survival(t)[0])

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x).

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        MemoryBudgetError
            If a law of many states would be followed over too many steps.
        """
        return self._evaluate(x, 0.0, 1.0, lambda t: self._distribution(t)[0])

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density at `x`, per second.

        Parameters
        ----------
        x : array_like
            Times, seconds, any shape.

        Raises
        ------
        ModelError
            If a time is NaN.
        MemoryBudgetError
            If a law of many states would be followed over too many steps.
        """
        return self._evaluate(x, 0.0, 0.0, lambda t: self._distribution(t)[1])

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
        MemoryBudgetError
            If a law of many states would be followed over too many steps.
        """
        chance = probabilities("q", q)
        times = [self._quantile(p, 1.0 - p) for p in chance.ravel().tolist()]
        return shaped(np.array(times).reshape(chance.shape))

    def isf(self, q: ArrayLike) -> Any:
        """Return the time, seconds, exceeded with probability `q`.

        Parameters
        ----------
        q : array_like
            Probabilities, any shape.

        Raises
        ------
        ModelError
            If one is not in [0, 1].
        MemoryBudgetError
            If a law of many states would be followed over too many steps.
        """
        chance = probabilities("q", q)
        times = [self._quantile(1.0 - p, p) for p in chance.ravel().tolist()]
        return shaped(np.array(times).reshape(chance.shape))

    def work_until(self, t: float) -> float:
        """Return how many multiplications probabilities of times up to t take, about.

        Parameters
        ----------
        t : float
            Seconds.
        """
        return steps_asked_for(t * self._walk.speed) * self._walk.cost

    def to_phase_type(self) -> PhaseType:
        """Return the same law as a dense `PhaseType`.

        Raises
        ------
        MemoryBudgetError
            If its order exceeds 4000.
        """
        if self.order > 4000:
            raise MemoryBudgetError(
                f"a dense law of order {self.order} would take {8e-9 * self.order**2:.3g} GB; "
                f"match its moments instead: flow_equivalent(sojourn, moments=3)"
            )
        return PhaseType.from_rates(self.start, self.rates.toarray(), self.ends)

    def _quantile(self, low: float, high: float) -> float:
        """Time not exceeded with probability `low` = 1 - `high`, solved for in the smaller one."""
        if low <= 0.0 or high <= 0.0:
            return 0.0 if low <= 0.0 else inf
        return quantile(low, high, self._distribution, self._survival, self._first_guess(high))

    def _first_guess(self, high: float) -> float:
        """Return a first guess of the time exceeded with probability `high`.

        From the steps after which no more are alive, which its probability asks for anyway. From
        the mean only where the dense law may be quicker than the steps.
        """
        walk = self._walk
        part = 1.0 if self.order > _SQUARED else 10.0 if self.order > _DENSE else 200.0
        count = walk.until(high, int(_AFFORDABLE / walk.cost / part))
        if count is not None:
            return max(count, 1) / walk.speed
        if self.order > _SQUARED:
            raise self._too_long(walk.count)
        return self.mean

    def _evaluate(self, x: ArrayLike, before: float, at_last: float, value: Callable[[float], float]) -> Any:
        return at_times(x, before, at_last, lambda times: [value(t) for t in times.tolist()])

    def _survival(self, t: float) -> tuple[float, float]:
        """P(X > t), and about the density."""
        if self._few_steps(t):
            return self._walk.survival_and_density(t)
        return float(self._dense.sf(t)), float(self._dense.pdf(t))

    def _distribution(self, t: float) -> tuple[float, float]:
        """P(X <= t) and the density."""
        if self._few_steps(t):
            return self._walk.distribution_and_density(t)
        return float(self._dense.cdf(t)), float(self._dense.pdf(t))

    def _few_steps(self, t: float) -> bool:
        """Return whether the steps that t asks for are not too many; MemoryBudgetError if nothing does."""
        walk = self._walk
        mean = t * walk.speed
        if (mean + 100.0) * walk.cost > _AFFORDABLE and self.order <= _SQUARED:
            return False
        if steps_asked_for(mean) * walk.cost > _AFFORDABLE:
            raise self._too_long(min(steps_asked_for(mean), 1e16))
        return True

    def _too_long(self, steps: float) -> MemoryBudgetError:
        """Return the error for a time that asks for more than can be afforded."""
        return MemoryBudgetError(
            f"{self.order:,} states would be followed over more than {steps:,.0f} steps, which is too long; "
            f"ask for a shorter time or a lower percentile, use a model of fewer states, or simulate"
        )

    @cached_property
    def _rates_by_target(self) -> csc_array:
        """The rates by the state that they lead to."""
        return self.rates.tocsc()

    @cached_property
    def _walk(self) -> Walk:
        into = self._rates_by_target
        return Walk(self.start, (into.indptr, into.indices, into.data), self.ends)

    @cached_property
    def _dense(self) -> PhaseType:
        return self.to_phase_type()


class _Backward:
    """Powers of (-T)^-1 applied to ones, each scaled by a power of two."""

    def __init__(self, law: SojournLaw) -> None:
        self._law = law
        self._vector = np.ones(law.order)
        self.shares: list[float] = []
        self.exponents: list[int] = []
        self.bounds: list[float] = []
        self._factors: tuple[Array, Array, Array] | None = None

    def extend(self, count: int) -> None:
        """Make the first `count` powers known."""
        law = self._law
        while len(self.shares) < count:
            before = self.exponents[-1] if self.exponents else 0
            x, bound = self._solution_and_bound(self._vector)
            shift = int(np.frexp(x.max())[1])
            self._vector = np.ldexp(x, -shift)
            self.shares.append(float(law.start @ self._vector))
            self.exponents.append(before + shift)
            self.bounds.append(bound)

    @cached_property
    def _matrix(self) -> MMatrix:
        return MMatrix(self._law.rates, self._law._pivots)

    def _solution_and_bound(self, right: Array) -> tuple[Array, float]:
        """Solution of -T x = right and a bound of its relative error in every entry."""
        law = self._law
        if law.order <= _DENSE:
            if self._factors is None:
                self._factors = absorption.eliminate(law.rates.toarray(), law.ends)
            rounding = 4.0 * law.order * float(np.finfo(float).eps)
            return absorption.solve(self._factors, right), rounding
        return self._matrix.solve(right)
