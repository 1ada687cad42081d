"""States of a chain after a given time, by uniformisation."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil, floor, log, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from phasefit import absorption
from phasefit.absorption import Chain
from phasefit.arrays import Array, read_only
from phasefit.checks import probability_vector, real_array, real_number
from phasefit.records import Drawing, Result
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError
from qmodels.markov.chain import solve_chain
from qmodels.markov.sparse_rates import checked_rates, inflow
from qmodels.memory import check_memory, memory_limit

if TYPE_CHECKING:
    import pandas as pd


_EPS: Final = float(np.finfo(float).eps)
#: Largest chain whose short step is squared as a dense matrix, so that no horizon is too long.
_DENSE: Final = 200
#: Jumps after which the chain is compared with its steady state.
_LONG: Final = 2000.0
#: Jumps that are followed one by one at most.
_MOST: Final = 5e6


@dataclass(frozen=True, eq=False)
class TransientSolution(Result):
    """Probabilities of the states of a chain at given times."""

    drawing = Drawing("time", "probability", by="state")

    times: Array  #: as asked, (m,)
    probabilities: Array  #: (m, n)
    error_bound: float  #: largest sum over the states of absolute errors at any of the times
    method: str  #: what was done
    steps: int  #: times that all rates were read; 0 where matrices were squared
    settled: float  #: time from which the steady state was taken for the state; inf if never
    seconds: float  #: time that the solution took

    def mean_of(self, values: ArrayLike) -> Array:
        """Return the mean at each time, (m,), of a quantity that depends on the state.

        Parameters
        ----------
        values : (n,) array_like
            Value in each state.

        Raises
        ------
        ModelError
            If there is another number of values.
        """
        by_state = real_array("values", values)
        if by_state.shape != self.probabilities.shape[1:]:
            raise ModelError(f"give one value for each of {self.probabilities.shape[1]} states")
        return np.asarray(self.probabilities @ by_state)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per time, one column per state."""
        import pandas as pd

        index = pd.Index(self.times, name="time")
        return pd.DataFrame(self.probabilities, index=index)

    def drawn(self) -> pd.DataFrame:
        """Return a row for each time and state, the most probable states first."""
        import pandas as pd

        order = np.argsort(-self.probabilities.max(axis=0))[:10]
        return pd.concat(
            pd.DataFrame({"time": self.times, "state": f"state {i}", "probability": self.probabilities[:, i]})
            for i in order
        )


def transient(
    rates: ArrayLike | csr_array,
    initial: ArrayLike,
    times: ArrayLike,
    *,
    tol: float = 1e-12,
    memory: float | None = None,
) -> TransientSolution:
    """Return the probability of each state at each of `times`.

    Parameters
    ----------
    rates : (n, n) array_like or sparse array
        Rate from state i to state j, per unit time. Rates only: the diagonal is derived.
    initial : (n,) array_like
        Probability of each state at time zero.
    times : (m,) array_like
        In the unit of time of the rates, >= 0, in any order.
    tol : float
        Sum over the states of the error that leaving out terms may cause.
    memory : float, optional
        Bytes that may be taken beside `rates`; by default half of the machine's.

    Returns
    -------
    TransientSolution
        Probabilities (m, n) and a bound of their error.

    Raises
    ------
    ModelError
        If a rate, a probability or a time is negative or not finite, or shapes differ.
    MemoryBudgetError
        If the solution would not fit; nothing has been allocated then.
    ConvergenceError
        If a large chain neither comes to rest nor reaches the horizon in five million jumps.

    Notes
    -----
    Uniformisation [1]_: a mixture of the probabilities after 0, 1, 2, ... jumps, all terms
    non-negative, with Poisson weights that are left out on the left and on the right once they
    sum to less than `tol`. Up to 200 states the matrix of a short step is squared instead where
    the horizon is long. For larger chains the distance to the steady state cannot grow, so that
    once it is below `tol` the steady state holds from there on.

    References
    ----------
    .. [1] Jensen 1953.

    Examples
    --------
    A machine that breaks once a day and takes two hours to mend, one hour after it broke:

    >>> after = transient([[0, 1 / 24], [1 / 2, 0]], initial=[0, 1], times=[0.0, 1.0])
    >>> after.probabilities.round(4)
    array([[0.    , 1.    ],
           [0.3861, 0.6139]])
    """
    tol = real_number("tol", tol, above=0.0)
    limit = memory_limit(memory)
    started = time.perf_counter()
    checked = checked_rates(rates)
    n = checked.shape[0]
    start = probability_vector("initial", initial)
    when = real_array("times", times)
    if start.size != n:
        raise ModelError(f"initial must have {n} entries, one for each state, got {start.size}")
    if when.ndim != 1 or when.size == 0 or when.min() < 0.0:
        raise ModelError(f"times must be a non-empty vector of numbers >= 0, got {times!r:.80}")
    needed = 8.0 * n * (when.size + 12.0) + 12.0 * checked.nnz
    check_memory(f"{n} states at {when.size} times", needed, limit, "ask for fewer times")
    if n <= _DENSE:
        solution, bound = _dense_probabilities(checked, start, when), 1e-12
        how, steps, settled = "uniformisation and squaring", 0, float("inf")
    else:
        solution, bound, steps, settled = _sparse_probabilities(checked, start, when, tol, limit)
        how = "uniformisation"
        if settled < when.max():
            how += " and steady state"
    seconds = time.perf_counter() - started
    return TransientSolution(read_only(when), read_only(solution), bound, how, steps, settled, seconds)


def _dense_probabilities(rates: csr_array, start: Array, times: Array) -> Array:
    """Probabilities by the chain that phase-type laws are evaluated with, without an end."""
    n = start.size
    probabilities = np.zeros((times.size, n))
    jumps = rates.toarray()
    if not jumps[start > 0.0].any():  # nothing moves
        probabilities[:] = start
        return probabilities
    chain = Chain.reachable(start, jumps, np.zeros(n), 0.0)
    in_chain_units = np.ldexp(times, chain.exponent)
    phases, shift, _ = absorption.transient(chain, in_chain_units)
    probabilities[:, chain.phases] = absorption.scaled(phases, shift[:, None])
    return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))


def _sparse_probabilities(
    rates: csr_array, start: Array, times: Array, tol: float, limit: float
) -> tuple[Array, float, int, float]:
    """Probabilities, error bound, steps taken and time from which the steady state holds."""
    out = np.asarray(rates.sum(axis=1))
    fastest = float(out.max())
    probabilities = np.empty((times.size, start.size))
    if fastest == 0.0:
        probabilities[:] = start
        return probabilities, 0.0, 0, float("inf")
    jumps = times * fastest
    into = inflow(rates)
    step = csr_array((into.data / fastest, into.indices, into.indptr), shape=into.shape)
    stay = 1.0 - out / fastest
    windows = [_poisson_window(mean, tol) for mean in jumps]
    last = max(first + weights.size for first, weights in windows)
    rest = _steady_state(rates, limit, tol) if jumps.max() > _LONG else None
    if rest is None and last > _MOST:
        raise ConvergenceError("uniformisation", int(_MOST), 1.0, start)
    probabilities[:] = 0.0
    now, settled = start.copy(), last
    for k in range(last):
        for i, (first, weights) in enumerate(windows):
            if first <= k < first + weights.size:
                probabilities[i] += weights[k - first] * now
        if rest is not None and k % 64 == 0 and np.abs(now - rest[0]).sum() <= tol + rest[1]:
            settled = k
            break
        if k >= _MOST:
            raise ConvergenceError("uniformisation", k, float(np.abs(now - start).sum()), now)
        now = step @ now + stay * now
    for i, (first, weights) in enumerate(windows):
        beyond = float(weights[max(0, settled + 1 - first) :].sum())
        if beyond > 0.0 and rest is not None and settled < last:
            probabilities[i] += beyond * rest[0]
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    rounding = 4.0 * _EPS * min(last, settled + 1)
    bound = 2.0 * tol + rounding + (2.0 * rest[1] if rest is not None and settled < last else 0.0)
    return probabilities, bound, min(last, settled + 1), settled / fastest if settled < last else np.inf


def _poisson_window(mean: float, tol: float) -> tuple[int, Array]:
    """First number of jumps that counts and the Poisson weights from there on, of sum one.

    The weights follow from the one of the mode by multiplication [B. L. Fox, P. W. Glynn,
    "Computing Poisson probabilities", *Commun. ACM* 31 (1988) 440-445].
    """
    mode, reach = floor(mean), ceil(40.0 + 9.0 * sqrt(mean) - log(min(tol, 1.0)))
    if mode - reach > _MOST:  # never come to: millions of weights would be for nothing
        return mode - reach, np.ones(1)
    rising = np.cumprod(mean / np.arange(mode + 1.0, mode + 1.0 + reach))
    falling = np.cumprod(np.arange(mode, max(0, mode - reach), -1.0) / mean) if mode else rising[:0]
    weights = np.concatenate([falling[::-1], [1.0], rising])
    kept = np.flatnonzero(weights > 1e-3 * tol / weights.size * weights.sum())
    low, high = int(kept[0]), int(kept[-1]) + 1
    return mode - falling.size + low, weights[low:high] / weights[low:high].sum()


def _steady_state(rates: csr_array, limit: float, tol: float) -> tuple[Array, float] | None:
    """Stationary distribution and bound of its error, if there is one and it is known."""
    try:
        solution = solve_chain(rates, memory=limit, tol=min(tol, 1e-12))
    except (ModelError, ConvergenceError, MemoryBudgetError):
        return None
    error = solution.error_estimate
    return (solution.probabilities, error) if error < 1e-6 else None
