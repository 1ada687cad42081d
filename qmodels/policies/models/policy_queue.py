"""The queue in front of the running jobs, whatever these are made of: built, checked, solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array

from phasefit import MAP, PhaseType
from phasefit.arrays import Array
from qmodels.markov import QBD, solve_chain
from qmodels.memory import MOST_SECONDS, check_memory, check_seconds, memory_limit
from qmodels.networks.many_server import arrival_process, dense_block, queue_chain
from qmodels.networks.occupancy import Centre
from qmodels.networks.sizes import queue_memory, queue_seconds
from qmodels.policies.models.stage_counts import StagedJobs


@dataclass(frozen=True, eq=False)
class OnPartitions:
    """Jobs of one law of demand by the kind of their partition, on which they stay: its size and disk."""

    demand: PhaseType
    held: Array  #: (states, kinds) jobs that run on partitions of each kind
    starts: Array  #: (states, kinds) probability that the next start is on one of each; 0 where all are taken
    work: Array  #: (states, kinds) mean jobs per second that those there get done, of their demand


@dataclass(frozen=True, eq=False)
class Behind:
    """Behind whom a job starts where jobs get on one after the other."""

    law: PhaseType  #: seconds of a job alone
    #: (states, M, stages) probability that a start finds so many jobs there, the first in this stage; of
    #: none, that it begins in this one
    ahead: Array


@dataclass(frozen=True, eq=False)
class RunningChain:
    """What the running jobs do, 0..c of them, as a chain whose levels count them.

    Nothing in it depends on how jobs arrive.
    """

    centre: Centre  #: rates among the stages, of completions, and where a start leads
    processors_busy: Array  #: (states,) processors in a computation burst
    disks_busy: Array  #: (states,) disks transferring
    #: (n_c, n_c) rates of completions after which a waiting job starts at once; by default what
    #: `centre` says of a completion and then of a start
    replacements: csr_array | None = None
    #: law of a job's demand and the speeds of 1..c running jobs, where all run at one speed
    at_one_speed: tuple[PhaseType, Array] | None = None
    staged: StagedJobs | None = None  #: the jobs by stage, where `centre` is the chain of these
    on_partitions: OnPartitions | None = None  #: who runs where, where partitions are unlike
    behind: Behind | None = None  #: whom a job waits for, where jobs get on one after the other

    @property
    def demand(self) -> PhaseType | None:
        """Law of a job's demand, where the chain tells all of them by its stages alone."""
        if self.on_partitions is not None:
            return self.on_partitions.demand
        return None if self.at_one_speed is None else self.at_one_speed[0]

    @property
    def max_running(self) -> int:
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
        c, centre = self.max_running, self.centre
        full, fewer = centre.slice(c), centre.slice(c - 1)
        inner = dense_block(centre.local, full, full)
        if self.replacements is not None:
            return inner, np.asarray(self.replacements.toarray())
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

    def paced(self, part: float, alone: int = 0) -> RunningChain:
        """The chain with so many times the capacity, of which k of c jobs have the k/c-th power.

        So many that run alone get on as they do.
        """
        centre, c, staged = self.centre, self.max_running, self.staged
        more = np.maximum(np.arange(c + 1) - alone, 0)
        pace = np.repeat(part ** (more / max(c - alone, 1)), self.sizes)
        if staged is not None:
            staged = replace(staged, speeds=staged.speeds * pace[:, None])
            centre = staged.centre()
        else:
            faster = diags_array(pace)
            local, leave = csr_array(faster @ centre.local), csr_array(faster @ centre.leave)
            centre = replace(centre, local=local, leave=leave)
        return RunningChain(centre, self.processors_busy * pace, self.disks_busy * pace, staged=staged)

    def by_level(self, values: Array) -> list[Array]:
        """Split what is known of each state by the number of jobs running."""
        return np.split(values, self.centre.starts[1:-1])


@dataclass(frozen=True, eq=False)
class PolicyQueue:
    """Jobs arrive one by one, at most c of them run, the rest wait in order of arrival."""

    arrivals: PhaseType | MAP  #: time between arrivals, seconds, or how they come
    running: RunningChain

    @property
    def arrival_rate(self) -> float:
        """Jobs per second that arrive."""
        return 1.0 / self.arrivals.mean

    @cached_property
    def process(self) -> MAP:
        """The arrivals as a process, renewal where `arrivals` is a law."""
        return arrival_process(self.arrivals)

    @property
    def busy(self) -> tuple[Array, Array]:
        """See `RunningChain.busy`."""
        return self.running.busy

    def chain(self) -> QBD:
        """Rates of the queue: the level counts jobs, a phase is an arrival stage and a state of
        the running jobs.
        """  # noqa: D205
        return queue_chain(self.process, self.running.centre, self.busy[1])


def check_blocks(
    what: str, sizes: Sequence[float], arrivals: PhaseType | MAP, memory: float | None, fix: str
) -> None:
    """MemoryBudgetError if a queue with so many running states at each level would not do.

    It would not fit in memory, or, where that is not given, take longer than is begun unasked.
    """
    states = np.asarray(sizes, dtype=float) * arrivals.order
    blocks, seconds = f"{what}, blocks of {states[-1]:.6g} states,", queue_seconds(states)
    if memory is None and seconds > MOST_SECONDS:
        # all levels by one factor, so that the cubes that it takes do
        fewer = float(states[-1]) * (MOST_SECONDS / seconds) ** (1.0 / 3.0)
        fix += f" (some {_rounded(fewer):,} states would do)"
    check_memory(blocks, queue_memory(states), memory_limit(memory), fix)
    check_seconds(blocks, seconds, memory, fix)


def _rounded(number: float) -> int:
    """The first two digits of a number, rounded down."""
    unit: int = 10 ** max(0, len(str(int(number))) - 2)
    return int(number) // unit * unit
