"""Stationary distributions of chains of any size, with the error to expect."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from phasefit.arrays import Array, Indices, read_only
from phasefit.checks import one_of, real_number, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError
from qmodels.markov.block_tridiagonal import eliminate_levels, plan_levels
from qmodels.markov.elimination import balance
from qmodels.markov.sparse_rates import (
    checked_levels,
    checked_rates,
    inflow,
    levels_by_distance,
    recurrent_states,
)
from qmodels.markov.sweeps.stationary import Iteration
from qmodels.memory import check_memory, memory_limit

if TYPE_CHECKING:
    import pandas as pd


METHODS: Final = ("auto", "gth", "direct", "iterative")
_EPS: Final = float(np.finfo(float).eps)
#: Largest chain that "auto" eliminates as one dense matrix.
_DENSE: Final = 500
#: States up to which neighbouring levels are eliminated together.
_TOGETHER: Final = 64
#: Multiplications that "auto" spends on an elimination when the iteration did not do.
_WORK: Final = 2e11
#: Bytes for a rate that is stored: the value and an index of four bytes.
_RATE: Final = 12.0
#: Vectors over the states that an iteration holds at its peak.
_VECTORS: Final = 16.0


@dataclass(frozen=True, eq=False)
class ChainSolution(Result):
    """Stationary distribution of a chain, how it was found and how far to trust it."""

    drawing = Drawing("state", "probability")

    probabilities: Array  #: long-run fraction of time in each state, (n,)
    method: str  #: "gth", "direct" or "iterative", with what was particular
    residual: float  #: sum of absolute (flow in - flow out) of the states over the sum of the flows
    error_estimate: float  #: largest relative error of a probability to expect; 1: none is known
    states: int  #: number of states of the chain
    sweeps: int  #: times the iteration read all rates; 0 for an elimination
    seconds: float  #: time that the solution took

    def table(self) -> str:
        """Return method, error and cost of the solution, as lines of text."""
        rows = [(name, f"{value}") for name, value in self._record().items()]
        return "\n".join(f"{name:<16}{value}" for name, value in rows)

    def to_frame(self) -> pd.DataFrame:
        """Return one row: method, residual, error estimate, states, sweeps and seconds."""
        return data_frame([self._record()])

    def drawn(self) -> pd.DataFrame:
        """Return the probability of each state."""
        return data_frame({"state": range(self.states), "probability": self.probabilities})

    def _record(self) -> dict[str, object]:
        return {
            "method": self.method,
            "residual": float(f"{self.residual:.3g}"),
            "error_estimate": float(f"{self.error_estimate:.3g}"),
            "states": self.states,
            "sweeps": self.sweeps,
            "seconds": float(f"{self.seconds:.3g}"),
        }


def solve_chain(
    rates: ArrayLike | csr_array,
    *,
    method: str = "auto",
    levels: ArrayLike | None = None,
    tol: float = 1e-12,
    memory: float | None = None,
    max_sweeps: int = 50_000,
) -> ChainSolution:
    """Return the stationary distribution of a chain with one recurrent class, small or large.

    Parameters
    ----------
    rates : (n, n) array_like or sparse array
        Rate from state i to state j, per unit time. Rates only: the diagonal is derived. The
        iteration reads them by the state that they lead to, so that it makes no copy of a
        `scipy.sparse.csc_array`.
    method : {"auto", "gth", "direct", "iterative"}
        "gth" eliminates state by state in a dense matrix: O(n^3) time, 24 n^2 bytes. "direct"
        eliminates level by level, see `solve_block_tridiagonal`. "iterative" sweeps over the
        rates: memory and, per sweep, time proportional to their number. "auto" takes "gth" up
        to 500 states and the iteration above; where that cannot vouch for `tol`, an
        elimination if there is time and memory for it.
    levels : (n,) array_like of int, optional
        Level of each state, 0, 1, 2, ...: a transition changes it by at most one. "direct"
        finds levels by itself if none are given; the iteration uses given ones.
    tol : float
        Largest relative error of a probability that the iteration aims for. It stops earlier
        where rounding has the last word; `error_estimate` tells.
    memory : float, optional
        Bytes that may be taken beside `rates`; by default half of the machine's.
    max_sweeps : int
        Times the iteration may read all rates.

    Returns
    -------
    ChainSolution
        Look at `error_estimate`: an iteration cannot resolve groups of states that are hardly
        connected, and says so there.

    Raises
    ------
    ModelError
        If a rate is negative or not finite, there are several recurrent classes, or a
        transition jumps over a level.
    MemoryBudgetError
        If the solution would not fit; nothing has been allocated then.
    ConvergenceError
        If `max_sweeps` did not do; it carries the last iterate.

    Notes
    -----
    The iteration is Gauss-Seidel, forward and backward [1]_, with a Krylov method between the
    sweeps [2]_; the sweeps have the last word and do not subtract. Its error is estimated from
    the last change of an entry times the sum of the series in which an error, put in on
    purpose, is seen to die out. Eliminations are after Grassmann, Taksar & Heyman: relative
    errors grow with the number of states only and are put at 4 n u, u = 2.2e-16.

    References
    ----------
    .. [1] W. J. Stewart, *Introduction to the Numerical Solution of Markov Chains*, Princeton
       University Press 1994, ch. 3.
    .. [2] van der Vorst 1992.

    Examples
    --------
    A machine that breaks once a day and takes two hours to mend (rates per hour):

    >>> found = solve_chain([[0, 1 / 24], [1 / 2, 0]])
    >>> found.probabilities.round(4), found.method
    (array([0.9231, 0.0769]), 'gth')
    """
    one_of("method", method, METHODS)
    tol = real_number("tol", tol, above=0.0)
    most = whole_number("max_sweeps", max_sweeps, least=1)
    limit = memory_limit(memory)
    started = time.perf_counter()
    flows = _Flows.of(rates)
    n = flows.states
    level = None if levels is None else checked_levels(levels, n)
    inside = flows.recurrent()
    if inside.size < n:
        flows = _Flows(csr_array(flows.rates[inside][:, inside]))
        level = None if level is None else _renumbered_levels(level[inside])
    pi, how, error, sweeps = _solve(flows, method, level, tol, limit, most)
    residual = flows.residual(pi)
    if inside.size < n:
        part, pi = pi, np.zeros(n)
        pi[inside] = part
    return ChainSolution(read_only(pi), how, residual, error, n, sweeps, time.perf_counter() - started)


@dataclass(frozen=True, eq=False)
class _Flows:
    """Rates, stored by the state that they leave or, turned, by the one that they lead to."""

    stored: csr_array  #: (n, n), nothing on the diagonal
    turned: bool = False

    @classmethod
    def of(cls, rates: ArrayLike | csr_array) -> _Flows:
        """Those that are given, checked, in the order in which they are stored."""
        if issparse(rates) and rates.format == "csc":  # type: ignore[union-attr]
            with suppress(ModelError):  # to be raised again below, source and target in order
                return cls(checked_rates(csr_array(rates.T)), True)  # type: ignore[union-attr]
        return cls(checked_rates(rates))

    @property
    def states(self) -> int:
        return int(self.stored.shape[0])

    @property
    def rates(self) -> csr_array:
        """By the state that they leave."""
        return csr_array(self.stored.T) if self.turned else self.stored

    def inflow(self) -> csr_array:
        """By the state that they lead to: row j holds what flows into state j."""
        if self.turned:
            return self.stored
        into = inflow(self.stored)
        return csr_array((into.data, into.indices, into.indptr), shape=into.shape)

    def out(self) -> Array:
        """Sum of the rates out of each state."""
        if not self.turned:
            return np.asarray(self.stored.sum(axis=1))
        weights: Array = self.stored.data
        return np.asarray(np.bincount(self.stored.indices, weights, self.states), dtype=float)

    def recurrent(self) -> Indices:
        """States of the only class that the chain cannot leave."""
        if self.turned and connected_components(self.stored, connection="strong")[0] == 1:
            return np.arange(self.states)
        return recurrent_states(self.rates)

    def residual(self, pi: Array) -> float:
        """Sum of absolute (flow in - flow out) over the sum of the flows."""
        out = pi * self.out()
        flow = float(out.sum())
        into = self.stored @ pi if self.turned else pi @ self.stored
        return float(np.abs(into - out).sum()) / flow if flow > 0.0 else 0.0


def _solve(
    flows: _Flows, method: str, levels: Indices | None, tol: float, limit: float, most: int
) -> tuple[Array, str, float, int]:
    """Probabilities, method, estimated error and sweeps for an irreducible chain."""
    n, count = flows.states, flows.stored.nnz
    if method == "gth" or (method == "auto" and n <= _DENSE):
        return _solved_by_gth(flows.rates, limit)
    if method == "direct":
        return _solved_by_levels(flows.rates, levels, limit)
    needed = estimate_bytes(n, count)
    check_memory(f"the iteration on {n} states and {count} rates", needed, limit)
    try:
        solution = Iteration(flows.inflow(), flows.out(), levels).solve(tol, most)
    except ConvergenceError:
        exact = _elimination(flows.rates, levels, limit) if method == "auto" else None
        if exact is None:
            raise
        return exact
    if method == "auto" and solution.error > max(tol, 1e-9):
        exact = _elimination(flows.rates, levels, limit)
        if exact is not None and exact[2] < solution.error:
            return exact
    return solution.pi, "iterative", solution.error, solution.sweeps


def _elimination(
    rates: csr_array, levels: Indices | None, limit: float
) -> tuple[Array, str, float, int] | None:
    """Solution by elimination, if there is time and memory for it."""
    try:
        return _solved_by_levels(rates, levels, limit, _WORK)
    except MemoryBudgetError:
        return None


def _solved_by_gth(rates: csr_array, limit: float) -> tuple[Array, str, float, int]:
    n = rates.shape[0]
    check_memory(f"the dense matrix of {n} states", estimate_bytes(n, 0, method="gth"), limit)
    return balance(rates.toarray()), "gth", 4.0 * n * _EPS, 0


def _solved_by_levels(
    rates: csr_array, levels: Indices | None, limit: float, work: float = np.inf
) -> tuple[Array, str, float, int]:
    level = levels if levels is not None else levels_by_distance(rates)
    order = np.argsort(level, kind="stable")
    level = level[order]
    if not (np.diff(order) == 1).all():
        rates = csr_array(rates[order][:, order])
    source, target = np.repeat(level, np.diff(rates.indptr)), level[rates.indices]
    far = np.flatnonzero(np.abs(source - target) > 1)
    if far.size:
        i = int(np.searchsorted(rates.indptr, far[0], side="right")) - 1
        raise ModelError(
            f"levels: a transition from state {int(order[i])}, of level {int(level[i])}, jumps over a level"
        )
    count = int(level[-1]) + 1
    level = _merged_levels(level)
    edges = np.concatenate([[0], np.cumsum(np.bincount(level))]).tolist()
    sizes = [high - low for low, high in pairwise(edges)]
    rises, falls = (_leading_states(rates, level, step) for step in (1, -1))
    plan = plan_levels(sizes, rises[:-1], falls[1:], "auto")
    if plan.work > work:
        raise MemoryBudgetError(f"the elimination would take {plan.work:.3g} multiplications")
    check_memory(
        f"the elimination of {count} levels, in blocks of up to {max(sizes)} states,",
        plan.bytes,
        limit,
        'take method="iterative" or raise memory',
    )
    ends = [slice(low, high) for low, high in pairwise(edges)]
    parts = eliminate_levels(
        [csr_array(rates[low, high]) for low, high in pairwise(ends)],
        [csr_array(rates[here, here]) for here in ends],
        [csr_array(rates[high, low]) for low, high in pairwise(ends)],
        plan.direction,
    )
    pi = np.empty(order.size)
    pi[order] = np.concatenate(parts)
    origin = "found" if levels is None else "given"
    return pi, f"direct ({count} levels {origin})", 4.0 * order.size * _EPS, 0


def _merged_levels(level: Indices) -> Indices:
    """Levels, in order, with neighbours put together while they are small."""
    sizes = np.bincount(level)
    merged, size = np.zeros(sizes.size, dtype=np.intp), int(sizes[0])
    for k in range(1, sizes.size):
        size += int(sizes[k])
        merged[k] = merged[k - 1]
        if size > _TOGETHER:
            merged[k], size = merged[k - 1] + 1, int(sizes[k])
    return np.asarray(merged[level])


def _leading_states(rates: csr_array, level: Indices, step: int) -> list[int]:
    """Number of states of each level from which a transition leads `step` levels away."""
    jumps = level[rates.indices] - np.repeat(level, np.diff(rates.indptr))
    rows = np.searchsorted(rates.indptr, np.flatnonzero(jumps == step), side="right") - 1
    return [int(n) for n in np.bincount(level[np.unique(rows)], minlength=int(level[-1]) + 1)]


def _renumbered_levels(levels: Indices) -> Indices:
    """Levels without those that have no state left; the class is connected, so they are last."""
    return np.asarray(levels - levels.min(), dtype=np.intp)


def estimate_bytes(states: int, transitions: int, *, method: str = "iterative") -> float:
    """Return the bytes that `solve_chain` takes beside the rates it is given, at its peak.

    Parameters
    ----------
    states, transitions : int
        Size of the chain and number of its rates above zero.
    method : {"iterative", "gth"}
        What a "direct" solution takes depends on the levels; see `solve_block_tridiagonal`.

    Returns
    -------
    float
        Within a factor of two of what is measured from ten thousand states on.

    Raises
    ------
    ModelError
        If a number is negative or the method is another one.

    Examples
    --------
    A chain of 1.2 million states and 14 million rates:

    >>> print(f"{estimate_bytes(1_200_000, 14_000_000) / 1e9:.2f} GB")
    0.32 GB
    """
    n = whole_number("states", states, least=0)
    rates = whole_number("transitions", transitions, least=0)
    if method == "iterative":
        return _RATE * rates + 8.0 * _VECTORS * n
    if method == "gth":
        return 24.0 * float(n) * n + 24.0 * rates
    raise ModelError(f'method must be "iterative" or "gth", got {method!r:.60}')
