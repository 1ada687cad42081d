"""Time sharing without approximation, for small cases: who computes, who waits, who transfers."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.policies.models.job_stages import JobStages, burst_laws, count_stages, job_stages, routes
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.models.state_search import explored
from qmodels.policies.system import Arrangement, Workload


class Held(NamedTuple):
    """Jobs of a processor partition, each by its stage."""

    moving: tuple[int, ...]  #: in an I/O burst, in no particular order: sorted
    computing: tuple[int, ...]  #: in a computation burst, by arrival where they take turns


State = tuple[Held, ...]


def time_sharing_running(
    label: str, arrangement: Arrangement, workload: Workload, memory: float | None
) -> RunningChain:
    """Return the chain of the stages of all running jobs, with the placement of the paper's four cases.

    Raises
    ------
    ModelError
        If disks are not shared by processor sharing, or turns cannot be told apart.
    MemoryBudgetError
        If the queue in front of it would not fit; nothing has been allocated then.
    """
    io, cpu = burst_laws(workload, "exact")
    rules = _Rules(arrangement, workload, io, cpu)
    max_running = arrangement.max_running
    check_blocks(
        f"the chain of {label}",
        rules.count_states(max_running),
        workload.arrivals,
        memory,
        'use model="speed-scaled", laws of lower order, or simulate',
    )
    empty = (Held((), ()),) * arrangement.processor_partitions
    return explored(empty, max_running, rules.moves, rules.busy)


def time_sharing_states(arrangement: Arrangement, workload: Workload) -> list[float]:
    """Return the states of that chain with 0, 1, ... jobs running; ModelError as there."""
    rules = _Rules(arrangement, workload, *burst_laws(workload, "exact"))
    return rules.count_states(arrangement.max_running)


class _Rules:
    """What may happen on a machine under time sharing."""

    def __init__(
        self,
        arrangement: Arrangement,
        workload: Workload,
        io: PhaseType,
        cpu: PhaseType,
    ) -> None:
        used, discipline = arrangement.used_disk_partitions, arrangement.system.disk_discipline
        self.multiprogramming = arrangement.multiprogramming
        self.max_running = arrangement.max_running
        self.in_turn = arrangement.cpu_discipline == "fcfs"
        self.processors = arrangement.partition_sizes
        self.disks, self.disk_of = arrangement.disk_sizes, arrangement.disk_of
        partitions = arrangement.processor_partitions
        self.on_disk = [range(disk, partitions, used) for disk in range(used)]

        @cache
        def stages(p: float, d: float) -> JobStages:
            return job_stages(routes(workload.program, p, d), io, cpu)

        self.jobs = [
            stages(p, self.disks[disk]) for p, disk in zip(self.processors, self.disk_of, strict=True)
        ]
        given = routes(workload.program, 1.0, 1.0)
        self.order = count_stages(given, io, cpu)
        sharing = any(len(on) > 1 for on in self.on_disk) or self.multiprogramming > 1
        if discipline != "ps" and sharing:
            raise ModelError(
                f'model="exact" needs processor sharing at the disks, not "{discipline}"; simulate instead'
            )
        skips = any((route.io == 0.0).any() for route in given)
        if self.in_turn and self.multiprogramming > 1 and skips:
            raise ModelError(
                "a phase without I/O follows a computation burst by another, and the chain cannot "
                'tell whose turn it is then; use cpu_discipline="ps", or simulate'
            )

    def count_states(self, max_running: int) -> list[float]:
        """States with 0..max_running jobs running."""
        moving = int(self.jobs[0].transfers.sum())
        computing = self.order - moving
        held = np.zeros(self.multiprogramming + 1)
        for i in range(held.size):
            for j in range(held.size - i):
                queue = float(computing) ** j if self.in_turn else _multisets(computing, j)
                held[i + j] += _multisets(moving, i) * queue
        levels = np.ones(1)
        with np.errstate(over="ignore"):
            for _ in self.disk_of:
                levels = np.convolve(levels, held)[: max_running + 1]
        return [float(x) for x in levels]

    def moves(self, state: State, k: int) -> list[tuple[int, State, float]]:
        """Jobs afterwards, state and rate of what may happen; of a start, its probability."""
        result = []
        for partitions in self.on_disk:
            sharers = sum(len(state[at].moving) for at in partitions)
            for at in partitions:
                here, job = state[at], self.jobs[at]
                for i, a in enumerate(here.moving):
                    rest = Held((*here.moving[:i], *here.moving[i + 1 :]), here.computing)
                    result += self._out(state, k, at, rest, a, 1.0 / sharers, None)
                served = here.computing[:1] if self.in_turn else here.computing
                for i, a in enumerate(served):
                    rest = Held(here.moving, (*here.computing[:i], *here.computing[i + 1 :]))
                    result += self._out(state, k, at, rest, a, 1.0 / len(served), i)
        if k < self.max_running:
            at = self.place(state)
            job = self.jobs[at]
            for a in np.flatnonzero(job.alpha).tolist():
                entered = self._joined(state[at], a, job)
                result.append((k + 1, _put(state, at, entered), float(job.alpha[a])))
        return result

    def place(self, state: State) -> int:
        """Processor partition of the next start: both idle, one idle, any with room."""

        def rank(at: int) -> tuple[int, int, int]:
            here, sharing = state[at], self.on_disk[self.disk_of[at]]
            transferring = any(state[other].moving for other in sharing)
            held = len(here.moving) + len(here.computing)
            return bool(here.computing) + transferring, held, at

        free = [
            at
            for at, here in enumerate(state)
            if len(here.moving) + len(here.computing) < self.multiprogramming
        ]
        return min(free, key=rank)

    def busy(self, state: State, k: int) -> tuple[float, float]:
        """Processors that compute and disks that transfer."""
        processors = sum(p for p, here in zip(self.processors, state, strict=True) if here.computing)
        disks = sum(
            d
            for d, partitions in zip(self.disks, self.on_disk, strict=True)
            if any(state[at].moving for at in partitions)
        )
        return float(processors), float(disks)

    def _out(
        self, state: State, k: int, at: int, rest: Held, a: int, speed: float, turn: int | None
    ) -> list[tuple[int, State, float]]:
        """What may happen to a job in stage a; `rest` are the others of its partition."""
        job, result = self.jobs[at], []
        for b in np.flatnonzero(job.jumps[a]).tolist():
            if job.transfers[a] == job.transfers[b] and turn is not None:
                # the same burst goes on, where it was in the order of turns
                order = (*rest.computing[:turn], b, *rest.computing[turn:])
                after = Held(rest.moving, order if self.in_turn else tuple(sorted(order)))
            else:
                after = self._joined(rest, b, job)
            if after != state[at]:
                result.append((k, _put(state, at, after), speed * float(job.jumps[a, b])))
        if job.exits[a] > 0.0:
            result.append((k - 1, _put(state, at, rest), speed * float(job.exits[a])))
        return result

    def _joined(self, here: Held, a: int, job: JobStages) -> Held:
        """The partition with one job more, which begins stage a."""
        if job.transfers[a]:
            return Held(tuple(sorted((*here.moving, a))), here.computing)
        queue = (*here.computing, a)
        return Held(here.moving, queue if self.in_turn else tuple(sorted(queue)))


def _put(state: State, at: int, held: Held) -> State:
    return (*state[:at], held, *state[at + 1 :])


def _multisets(kinds: int, size: int) -> float:
    """Ways to choose so many out of so many kinds, repetitions allowed."""
    ways = 1.0
    for i in range(size):
        ways *= (kinds + i) / (i + 1)
    return ways
