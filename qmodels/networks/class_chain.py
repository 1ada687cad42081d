"""Exact chain of a small closed network of several classes, found state by state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.errors import MemoryBudgetError
from qmodels.markov import solve_chain

#: A job in progress: its class and its stage.
Job = tuple[int, int]
#: What is at the disk: the jobs in service and the classes that wait, in order.
Disk = tuple[tuple[Job, ...], tuple[int, ...]]
State = tuple[Disk, tuple[Job, ...]]


@dataclass(frozen=True, eq=False)
class ClassLaw:
    """Steady state of the chain, class by class."""

    flow: Array  #: jobs through the disk per second, (classes,)
    at_disk: Array  #: mean number at the disk, (classes,)
    pmf: Array  #: law of the number at the disk, all classes together
    method: str  #: name of the solver
    error: float  #: relative error to expect
    states: int  #: number of states of the chain


def class_chain(
    classes: Sequence[tuple[int, PhaseType, PhaseType]],
    discipline: str,
    servers: int,
    max_states: int,
    memory: float,
) -> ClassLaw:
    """Solve the chain of several classes of jobs.

    Parameters
    ----------
    classes : sequence of (int, PhaseType, PhaseType)
        Population, delay and disk law of each class.
    discipline : str
        As in `ClosedNetwork`.
    servers : int
        Servers of the disk.
    max_states : int
        States beyond which it is given up.
    memory : float
        Bytes that the solution may take.

    Returns
    -------
    ClassLaw
        Throughput and mean of each class, and the law of the number at the disk.

    Raises
    ------
    MemoryBudgetError
        If the states are too many.
    """
    rules = _Rules([(delay, disk) for _, delay, disk in classes], discipline, servers)
    jobs = [
        (c, int(np.flatnonzero(delay.alpha)[0]))
        for c, (population, delay, _) in enumerate(classes)
        for _ in range(population)
    ]
    first: State = (((), ()), tuple(sorted(jobs)))
    index, order = {first: 0}, [first]
    rows, columns, rates = [], [], []
    for i, state in enumerate(order):  # grows as new states are seen
        for rate, after in rules.moves(state):
            j = index.setdefault(after, len(order))
            if j == len(order):
                if j >= max_states:
                    raise MemoryBudgetError(
                        f"the chain of {len(jobs)} jobs of {len(classes)} classes has more than "
                        f"{max_states} states; take fewer jobs or phases, raise max_states, or "
                        f'use "ps", which has a product form'
                    )
                order.append(after)
            if i != j:
                rows.append(i)
                columns.append(j)
                rates.append(rate)
    n = len(order)
    matrix = coo_array((rates, (rows, columns)), shape=(n, n)).tocsr()
    solved = solve_chain(matrix, memory=memory)
    pi = np.asarray(solved.probabilities)
    flow, at_disk = np.zeros((2, len(classes)))
    pmf = np.zeros(len(jobs) + 1)
    for p, ((served, waiting), away) in zip(pi.tolist(), order, strict=True):
        pmf[len(served) + len(waiting)] += p
        for c in [*(job[0] for job in served), *waiting]:
            at_disk[c] += p
        for c, a in away:
            flow[c] += p * float(classes[c][1].exit[a])
    return ClassLaw(flow, at_disk, pmf, solved.method, float(solved.error_estimate), n)


class _Rules:
    """Moves of the network, one job at a time."""

    def __init__(self, laws: Sequence[tuple[PhaseType, PhaseType]], discipline: str, servers: int) -> None:
        self._laws, self._servers = laws, servers
        self._starts = [
            tuple([(a, float(p)) for a, p in enumerate(law.alpha) if p > 0.0] for law in pair)
            for pair in laws
        ]
        join: dict[str, Callable[[Disk, int], Iterator[tuple[float, Disk]]]] = {
            "ps": self._join_all,
            "fcfs": self._join_queue,
            "siro": self._join_queue,
            "lcfs-pr": self._join_top,
        }
        self._join, self._discipline = join[discipline], discipline

    def moves(self, state: State) -> Iterator[tuple[float, State]]:
        disk, away = state
        for k, (c, a) in enumerate(away):
            law, others = self._laws[c][0], away[:k] + away[k + 1 :]
            for b in np.flatnonzero(law.jumps[a]).tolist():
                yield float(law.jumps[a, b]), (disk, _sorted((*others, (c, b))))
            if law.exit[a] > 0.0:
                for p, joined in self._join(disk, c):
                    yield float(law.exit[a]) * p, (joined, others)
        served, waiting = disk
        for k, (c, a) in enumerate(served):
            speed, law = self._speed(served, k), self._laws[c][1]
            if speed == 0.0:
                continue
            for b in np.flatnonzero(law.jumps[a]).tolist():
                moved = self._in_order((*served[:k], (c, b), *served[k + 1 :]))
                yield speed * float(law.jumps[a, b]), ((moved, waiting), away)
            if law.exit[a] > 0.0:
                rate = speed * float(law.exit[a])
                for p, left in self._next((served[:k] + served[k + 1 :], waiting)):
                    for b, q in self._starts[c][0]:
                        yield rate * p * q, (left, _sorted((*away, (c, b))))

    def _speed(self, served: tuple[Job, ...], k: int) -> float:
        if self._discipline == "ps":
            return min(len(served), self._servers) / len(served)
        if self._discipline == "lcfs-pr":
            return 1.0 if k == len(served) - 1 else 0.0
        return 1.0

    def _in_order(self, served: tuple[Job, ...]) -> tuple[Job, ...]:
        """Return jobs in a fixed order, but in a stack, where their own matters."""
        return served if self._discipline == "lcfs-pr" else _sorted(served)

    def _join_all(self, disk: Disk, c: int) -> Iterator[tuple[float, Disk]]:
        for b, p in self._starts[c][1]:
            yield p, (_sorted((*disk[0], (c, b))), ())

    def _join_top(self, disk: Disk, c: int) -> Iterator[tuple[float, Disk]]:
        for b, p in self._starts[c][1]:
            yield p, ((*disk[0], (c, b)), ())

    def _join_queue(self, disk: Disk, c: int) -> Iterator[tuple[float, Disk]]:
        served, waiting = disk
        if len(served) < self._servers:
            yield from self._join_all(disk, c)
        elif self._discipline == "siro":
            yield 1.0, (served, tuple(sorted((*waiting, c))))
        else:
            yield 1.0, (served, (*waiting, c))

    def _next(self, disk: Disk) -> Iterator[tuple[float, Disk]]:
        """Yield who is served after a departure, each with its probability."""
        served, waiting = disk
        if not waiting:
            yield 1.0, disk
            return
        places = range(len(waiting)) if self._discipline == "siro" else range(1)
        for k in places:
            c, others = waiting[k], waiting[:k] + waiting[k + 1 :]
            for b, p in self._starts[c][1]:
                yield p / len(places), (_sorted((*served, (c, b))), others)


def _sorted(jobs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(jobs))
