"""The queue under every policy: c jobs run at a common speed that depends on how many run."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit import PhaseType
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.markov import QBD

Array = NDArray[np.float64]


def speed_scaled_queue(
    arrivals: PhaseType, demand: PhaseType, speeds: ArrayLike, *, memory_budget: float = 2e9
) -> QBD:
    """Queue in which each of k running jobs proceeds at ``speeds[k - 1]``.

    Parameters
    ----------
    arrivals : PhaseType
        Time between arrivals, in seconds, without an atom at zero.
    demand : PhaseType
        Work of a job, without an atom at zero; at speed v its rates are multiplied by v.
    speeds : (c,) array_like
        Work done per second on each job while k = 1..c jobs run; with more in the system the
        rest wait in order of arrival.
    memory_budget : float
        Bytes that the blocks may take.

    Returns
    -------
    QBD
        The level counts jobs; a phase is an arrival stage and how many running jobs are in each
        stage of their demand.

    Raises
    ------
    ModelError
        If a law has an atom at zero or a speed is not positive.
    MemoryBudgetError
        If the blocks would not fit; nothing has been allocated then.

    References
    ----------
    .. [1] M. S. Squillante, "Matrix-analytic methods in stochastic parallel-server scheduling
       models", in *Advances in Matrix-Analytic Methods for Stochastic Models*, 1998.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> queue = speed_scaled_queue(one.scale(2.0), one, [1.0, 0.8])
    >>> [block.shape for block in queue.local]
    [(1, 1), (1, 1), (1, 1)]
    """
    for name, law in (("arrivals", arrivals), ("demand", demand)):
        if law.alpha.sum() < 1.0 - 1e-12:
            raise ModelError(
                f"{name}: {1.0 - law.alpha.sum():.3g} of the law lies at zero; "
                f"take the law of the positive values"
            )
    v = np.asarray(speeds, dtype=float)
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all() or v.min() <= 0:
        raise ModelError(f"speeds must be positive and finite, one for each k = 1..c; got {v}")
    c, m = v.size, demand.order
    _check_memory(arrivals.order, c, m, memory_budget)

    same_arrival = np.eye(arrivals.order)
    arrive = np.outer(arrivals.exit, arrivals.alpha)
    arrival_stage = arrivals.T - np.diag(np.diag(arrivals.T))
    up: list[Array] = []
    local: list[Array] = []
    down: list[Array] = []
    for k in range(c + 1):
        states: Array = np.eye(comb(k + m - 1, m - 1))
        speed = v[k - 1] if k else 0.0
        local.append(
            np.kron(arrival_stage, states) + speed * np.kron(same_arrival, _moves(demand, k))
        )
        up.append(np.asarray(np.kron(arrive, _starts(demand, k) if k < c else states)))
    for k in range(1, c + 1):
        down.append(v[k - 1] * np.kron(same_arrival, _completions(demand, k)))
    next_starts: Array = _completions(demand, c) @ _starts(demand, c - 1)
    down.append(v[c - 1] * np.kron(same_arrival, next_starts))
    return QBD(up, local, down)


def _check_memory(arrival_order: int, c: int, m: int, budget: float) -> None:
    """Three blocks for each level, and about ten of the largest while solving."""
    sizes = [arrival_order * comb(k + m - 1, m - 1) for k in range(c + 1)]
    needed = 8.0 * (3 * sum(n * n for n in sizes) + 10 * sizes[-1] ** 2)
    if needed > budget:
        raise MemoryBudgetError(
            f"{c} running jobs with a demand of order {m} and arrivals of order {arrival_order} "
            f"need blocks of {sizes[-1]} states, {needed / 1e9:.3g} GB in all, more than the "
            f"budget of {budget / 1e9:.3g} GB; use a demand law of lower order (one with scv >= 1 "
            f"has order 2) or fewer partitions"
        )


@lru_cache(maxsize=512)
def _occupancies(k: int, m: int) -> tuple[tuple[int, ...], ...]:
    """All ways to place k jobs in m stages, in a fixed order."""
    bars = combinations(range(k + m - 1), m - 1)
    return tuple(
        tuple(b - a - 1 for a, b in zip((-1, *bar), (*bar, k + m - 1), strict=True)) for bar in bars
    )


@lru_cache(maxsize=512)
def _index(k: int, m: int) -> dict[tuple[int, ...], int]:
    return {occupancy: i for i, occupancy in enumerate(_occupancies(k, m))}


@lru_cache(maxsize=512)
def _changes(k: int, m: int) -> tuple[NDArray[np.intp], ...]:
    """Stage changes among k jobs: from state, to state, jobs in the stage, stage, new stage."""
    rows = []
    for i, occupancy in enumerate(_occupancies(k, m)):
        for a in range(m):
            for b in range(m):
                if occupancy[a] and a != b:
                    moved = list(occupancy)
                    moved[a] -= 1
                    moved[b] += 1
                    rows.append((i, _index(k, m)[tuple(moved)], occupancy[a], a, b))
    table = np.array(rows, dtype=np.intp).reshape(-1, 5)
    return tuple(table.T)


@lru_cache(maxsize=512)
def _losses(k: int, m: int) -> tuple[NDArray[np.intp], ...]:
    """One of k jobs leaves: from state, to state of k - 1 jobs, jobs in the stage, stage."""
    rows = []
    for i, occupancy in enumerate(_occupancies(k, m)):
        for a in range(m):
            if occupancy[a]:
                left = list(occupancy)
                left[a] -= 1
                rows.append((i, _index(k - 1, m)[tuple(left)], occupancy[a], a))
    table = np.array(rows, dtype=np.intp).reshape(-1, 4)
    return tuple(table.T)


def _moves(demand: PhaseType, k: int) -> Array:
    n = comb(k + demand.order - 1, demand.order - 1)
    rates = np.zeros((n, n))
    i, j, count, a, b = _changes(k, demand.order)
    rates[i, j] = count * demand.T[a, b]
    return rates


def _completions(demand: PhaseType, k: int) -> Array:
    m = demand.order
    rates = np.zeros((comb(k + m - 1, m - 1), comb(k + m - 2, m - 1)))
    i, j, count, a = _losses(k, m)
    rates[i, j] = count * demand.exit[a]
    return rates


def _starts(demand: PhaseType, k: int) -> Array:
    """Probabilities of the state of k + 1 jobs when one starts beside k; a loss read backward."""
    m = demand.order
    chances = np.zeros((comb(k + m - 1, m - 1), comb(k + m, m - 1)))
    j, i, _, a = _losses(k + 1, m)
    chances[i, j] = demand.alpha[a]
    return chances
