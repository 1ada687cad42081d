"""The queue in front of the running jobs, whatever these are made of: built, checked, solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from phasefit import PhaseType
from qmodels.markov import QBD, QBDSolution, solve_chain
from qmodels.memory import check_memory, memory_limit
from qmodels.networks.many_server import MEMORY
from qmodels.networks.occupancy import Centre
from qmodels.policies.base import AbstractPolicy, System, Workload

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RunningChain:
    """What the running jobs do, 0..c of them, as a chain whose levels count them.

    Nothing in it depends on how jobs arrive.
    """

    centre: Centre  #: rates among the stages, of completions, and where a start leads
    processors_busy: Array  #: (states,) processors in a computation burst
    disks_busy: Array  #: (states,) disks transferring
    #: (n_c, n_c) completions after which a waiting job starts; by default one, then the other
    taken_over: csr_array | None = None
    #: law of a job's demand and the speeds of 1..c running jobs, where all run at one speed
    at_one_speed: tuple[PhaseType, Array] | None = None

    @property
    def most(self) -> int:
        """c, the most jobs that run."""
        return int(self.centre.starts.size - 2)

    @property
    def sizes(self) -> list[int]:
        """States with 0..c jobs running."""
        return [int(n) for n in np.diff(self.centre.starts)]

    @cached_property
    def busy(self) -> tuple[Array, Array]:
        """Rates among the states with c jobs running, without a completion and with one.

        A completion is followed at once by the start of a job that waits.
        """
        c, centre = self.most, self.centre
        full, fewer = centre.slice(c), centre.slice(c - 1)
        inner = _dense(centre.local, full, full)
        if self.taken_over is not None:
            return inner, np.asarray(self.taken_over.toarray())
        follow = csr_array(centre.leave[full, fewer]) @ csr_array(centre.enter[fewer, full])
        return inner, np.asarray(follow.toarray())

    @cached_property
    def capacity(self) -> float:
        """Completions per second while there is always a job waiting."""
        inner, followed = self.busy
        if len(inner) == 1:
            return float(followed.sum())
        pi = solve_chain(csr_array(inner + followed)).probabilities
        return float(pi @ followed.sum(axis=1))

    def by_level(self, values: Array) -> list[Array]:
        """Split what is known of each state by the number of jobs running."""
        return np.split(values, self.centre.starts[1:-1])


@dataclass(frozen=True, eq=False)
class PolicyQueue:
    """Jobs arrive one by one, at most c of them run, the rest wait in order of arrival."""

    arrivals: PhaseType  #: time between arrivals, seconds
    running: RunningChain

    @property
    def arrival_rate(self) -> float:
        """Jobs per second that arrive."""
        return 1.0 / self.arrivals.mean

    @property
    def busy(self) -> tuple[Array, Array]:
        """See `RunningChain.busy`."""
        return self.running.busy

    def chain(self) -> QBD:
        """Rates of the queue: the level counts jobs, a phase is an arrival stage and a state of
        the running jobs.
        """  # noqa: D205
        running, c = self.running, self.running.most
        centre, stages = running.centre, self.arrivals.order
        arrive = np.outer(self.arrivals.exit, self.arrivals.alpha)
        same: Array = np.eye(stages)
        here = [centre.slice(k) for k in range(c + 1)]
        up: list[Array] = []
        local: list[Array] = []
        down: list[Array] = []
        for k in range(c + 1):
            states: Array = np.eye(centre.size(k))
            local.append(
                _kron(self.arrivals.jumps, states)
                + _kron(same, _dense(centre.local, here[k], here[k]))
            )
            starts = _dense(centre.enter, here[k], here[k + 1]) if k < c else states
            up.append(_kron(arrive, starts))
        for k in range(1, c + 1):
            down.append(_kron(same, _dense(centre.leave, here[k], here[k - 1])))
        down.append(_kron(same, self.busy[1]))
        return QBD(up, local, down)


@dataclass(frozen=True, eq=False)
class SolvedQueue:
    """Steady state of a policy's queue, and which model of the policy it is the queue of."""

    policy: AbstractPolicy
    system: System
    workload: Workload
    queue: PolicyQueue
    chain: QBDSolution  #: the level counts jobs
    model: str  #: "speed-scaled", "decomposition" or "exact"
    exact: bool  #: whether the model is that of the policy without approximation
    reduction: str  #: what was left out of the model to keep it small; "" for nothing

    def mean_of_states(self, values: ArrayLike) -> float:
        """Mean of a quantity given for each state of the running jobs, (states,)."""
        given = np.asarray(values, dtype=float)
        stages = self.queue.arrivals.order
        levels = self.queue.running.by_level(given)
        laws = [*self.chain.boundary[:-1], self.chain.tail]
        return float(
            sum(
                pi.reshape(stages, -1).sum(axis=0) @ value
                for pi, value in zip(laws, levels, strict=True)
            )
        )


def check_blocks(
    what: str, sizes: Sequence[float], arrivals: PhaseType, memory: float | None, fix: str
) -> None:
    """MemoryBudgetError if a queue with so many running states at each level would not fit."""
    states = np.asarray(sizes, dtype=float) * arrivals.order
    with np.errstate(over="ignore"):
        needed = 8.0 * (MEMORY[0] * float((states**2).sum()) + MEMORY[1] * float(states[-1]) ** 2)
    check_memory(
        f"{what}, blocks of {states[-1]:.6g} states,",
        needed,
        memory_limit(memory),
        fix,
    )


def _dense(matrix: csr_array, rows: slice, columns: slice) -> Array:
    """Dense part of a sparse matrix, none of whose entries in these rows lies elsewhere."""
    dense = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
    ends = matrix.indptr[rows.start : rows.stop + 1]
    row = np.repeat(np.arange(len(dense)), np.diff(ends))
    held = slice(int(ends[0]), int(ends[-1]))
    dense[row, matrix.indices[held] - columns.start] = matrix.data[held]
    return dense


def _kron(a: Array, b: Array) -> Array:
    return np.asarray(np.kron(a, b), dtype=np.float64)
