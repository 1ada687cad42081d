"""Times until a chain reaches certain states, and which of them it reaches first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from phasefit.arrays import Array, Indices, read_only
from phasefit.checks import one_of, probability_vector, whole_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ConvergenceError, ModelError
from qmodels.markov.elimination import factor
from qmodels.markov.sparse_rates import checked_rates, inflow
from qmodels.markov.sweeps import _kernels
from qmodels.markov.sweeps.system import Sweeps
from qmodels.memory import check_memory, memory_limit

if TYPE_CHECKING:
    import pandas as pd


METHODS: Final = ("auto", "gth", "iterative")
_EPS: Final = float(np.finfo(float).eps)
#: Largest number of states that "auto" eliminates as one dense matrix.
_DENSE: Final = 1500
#: Rounds of the Krylov method and its sweeps in between; rounds without progress at the end.
_ROUNDS, _BETWEEN, _PATIENCE = 400, 5, 4


@dataclass(frozen=True, eq=False)
class AbsorptionSolution(Result):
    """Times to reach the targets of a chain, and which of them is reached first."""

    drawing = Drawing("state", "moment 1", labels=("state", "mean time"))

    moments: Array  #: k-th raw moment of the time from each state, unit of time^k, (K, n)
    probabilities: Array  #: that a target is reached first, by state and target, (n, m)
    targets: Indices  #: (m,)
    method: str  #: "gth" or "iterative"
    error_bound: float  #: largest relative error of a moment
    states: int  #: number of states of the chain
    seconds: float  #: time that the solution took

    @property
    def mean(self) -> Array:
        """Mean time to reach the targets from each state, (n,)."""
        return np.asarray(self.moments[0])

    def moment(self, k: int, initial: ArrayLike) -> float:
        """Return the k-th raw moment of the time for a chain with given probabilities of its first state.

        Parameters
        ----------
        k : int
            Order of the moment, from one up to the number that was asked for.
        initial : (n,) array_like
            Probability of each state at the start.

        Raises
        ------
        ModelError
            If `initial` has another length, or the moment was not asked for.
        """
        k = whole_number("k", k, least=1)
        if k > len(self.moments):
            raise ModelError(f"only {len(self.moments)} moments were asked for, not {k}")
        start = probability_vector("initial", initial)
        if start.size != self.states:
            raise ModelError(f"initial must have {self.states} entries, got {start.size}")
        return float(start @ self.moments[k - 1])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per state: moments of the time and the chance of each target."""
        columns = {f"moment {k + 1}": row for k, row in enumerate(self.moments)}
        columns |= {f"reaches {t}": p for t, p in zip(self.targets, self.probabilities.T, strict=True)}
        return data_frame(columns)

    def drawn(self) -> pd.DataFrame:
        """Return the table of `to_frame` with the states as a column."""
        return self.to_frame().rename_axis("state").reset_index()


def solve_absorption(
    rates: ArrayLike | csr_array,
    targets: int | Sequence[int],
    *,
    moments: int = 2,
    method: str = "auto",
    memory: float | None = None,
) -> AbsorptionSolution:
    """Return the moments of the time until a chain first reaches `targets`, and which it reaches.

    Parameters
    ----------
    rates : (n, n) array_like or sparse array
        Rate from state i to state j, per unit time. Rates only: the diagonal is derived. What
        leads out of a target is not read.
    targets : int or sequence of int
        States at which the clock stops.
    moments : int
        How many raw moments of the time are wanted.
    method : {"auto", "gth", "iterative"}
        "gth" eliminates in a dense matrix; "auto" does so up to 1,500 states.
    memory : float, optional
        Bytes that may be taken beside `rates`; by default half of the machine's.

    Returns
    -------
    AbsorptionSolution
        Moments and chances for every state to start from.

    Raises
    ------
    ModelError
        If a rate is negative or not finite, a target is no state, or some state never reaches
        the targets.
    MemoryBudgetError
        If the solution would not fit; nothing has been allocated then.
    ConvergenceError
        If the iteration did not come to rest.

    Notes
    -----
    The k-th moments m_k solve ``D m_k = k m_{k-1} + Q m_k`` with D the total rates out and Q
    the rates between states that are no target: an M-matrix whose row sums, the rates into the
    targets, are given, so that elimination does not subtract [1]_. Of an iterate m the
    iteration knows ``|D m - Q m - b| <= e b``, whence a relative error of at most e, because the
    inverse is non-negative.

    References
    ----------
    .. [1] Alfa et al. 2002.

    Examples
    --------
    Two disks, each failing once in 1000 h and mended in 10 h; mean time until both are down:

    >>> raid = solve_absorption([[0, 0.002, 0], [0.1, 0, 0.001], [0, 0, 0]], targets=2)
    >>> raid.mean.round(3)
    array([51500., 51000.,     0.])
    """
    one_of("method", method, METHODS)
    count = whole_number("moments", moments, least=1)
    limit = memory_limit(memory)
    started = time.perf_counter()
    checked = checked_rates(rates)
    n = checked.shape[0]
    goal = _checked_targets(targets, n)
    inside = np.setdiff1d(np.arange(n), goal)
    needed = 8.0 * n * (count + goal.size + 14.0) + 24.0 * checked.nnz
    dense = method == "gth" or (method == "auto" and inside.size <= _DENSE)
    if dense:
        needed += 24.0 * float(inside.size) ** 2
    check_memory(f"{n} states with {goal.size} targets", needed, limit)
    _check_reached(checked, goal)
    times, chances = np.zeros((count, n)), np.zeros((n, goal.size))
    chances[goal, np.arange(goal.size)] = 1.0
    error = 0.0
    if inside.size:
        between = csr_array(checked[inside][:, inside])
        exits = csr_array(checked[inside][:, goal])
        solve = _solved_by_elimination if dense else _solved_by_sweeps
        times[:, inside], chances[inside], error = solve(between, exits, count)
    for array in (times, chances, goal):
        read_only(array)
    name = "gth" if dense else "iterative"
    return AbsorptionSolution(times, chances, goal, name, error, n, time.perf_counter() - started)


def _solved_by_elimination(between: csr_array, exits: csr_array, count: int) -> tuple[Array, Array, float]:
    n = between.shape[0]
    factors = factor(between.toarray(), np.asarray(exits.sum(axis=1)))
    moments, m = [], np.ones(n)
    for k in range(1, count + 1):
        m = factors.solve(k * m)
        moments.append(m)
    return np.array(moments), factors.solve(exits.toarray()), 4.0 * n * count * _EPS


def _solved_by_sweeps(between: csr_array, exits: csr_array, count: int) -> tuple[Array, Array, float]:
    rows = between.copy()
    rows.sort_indices()
    out = np.asarray(between.sum(axis=1)) + np.asarray(exits.sum(axis=1))
    moments, error, m = [], 0.0, np.ones(out.size)
    for k in range(1, count + 1):
        m, last = _solution_and_bound(Sweeps.of(rows, out, k * m))
        error += last
        moments.append(m)
    if exits.shape[1] == 1:
        return np.array(moments), np.ones((out.size, 1)), error
    chances = np.empty(exits.shape)
    for j in range(exits.shape[1]):
        right = exits[:, [j]].toarray()[:, 0]
        chances[:, j], last = _solution_and_bound(Sweeps.of(rows, out, right), moments[0])
        error = max(error, last)
    return np.array(moments), chances / chances.sum(axis=1, keepdims=True), error


def _solution_and_bound(system: Sweeps, time_left: Array | None = None) -> tuple[Array, float]:
    """Solution of the equations and a bound of its relative error.

    Where some right sides are zero, `time_left`, the mean times to absorption, turns the
    largest residual into a bound of the absolute error.
    """
    right = system.right
    x = right / system.out if time_left is None else np.full(right.size, 0.5)
    best, idle = np.inf, 0
    solution = x
    for _ in range(_ROUNDS):
        step, _ = system.krylov(np.maximum(x, 1e-290), 1e-3, 600)
        better = x + step.change
        if np.isfinite(better).all() and better.min() >= 0.0:
            x = better
        system.sweep(x, _BETWEEN)
        bound = _residual_bound(system, x, time_left)
        idle = 0 if bound < 0.7 * best else idle + 1
        if bound < best:
            best, solution = bound, x.copy()
        if best < 4e-15 or (idle >= _PATIENCE and best < 1e-8):
            return solution, best + 2.0 * _EPS
    raise ConvergenceError("times to absorption", _ROUNDS, best, solution)


def _residual_bound(system: Sweeps, x: Array, time_left: Array | None) -> float:
    matrix = csr_array(
        (system.rates, system.indices, system.indptr), shape=(system.out.size, system.out.size)
    )
    gap = np.abs(system.right + matrix @ x - system.out * x)
    # the flows themselves are rounded, and what that hides counts as well
    hidden = 2.0 * _EPS * system.out * x
    if time_left is None:
        return float(((gap + hidden) / system.right).max())
    return float((gap + hidden).max() * time_left.max())


def _check_reached(rates: csr_array, goal: Indices) -> None:
    """ModelError if the targets are out of reach from some state."""
    into = inflow(rates)
    seen = np.zeros(rates.shape[0], dtype=np.bool_)
    seen[goal] = True
    _kernels.reach(into.indptr, into.indices, seen, np.empty(seen.size, dtype=np.intp))
    if not seen.all():
        raise ModelError(
            f"state {int(seen.argmin())} never reaches the targets: the time is infinite; leave "
            f"the state out, or add a target that it reaches"
        )


def _checked_targets(targets: Any, n: int) -> Indices:
    target_list = targets if isinstance(targets, (Sequence, np.ndarray)) else [targets]
    chosen = [whole_number("targets", target, least=0) for target in target_list]
    if not chosen or len(set(chosen)) < len(chosen) or max(chosen) >= n:
        raise ModelError(
            f"targets must be different states from 0 to {n - 1}, at least one; got {targets!r:.60}"
        )
    return np.array(chosen, dtype=np.intp)
