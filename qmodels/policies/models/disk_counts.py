"""Running jobs by the disk partition that each of them works on, and by their stages.

A state lists for every disk partition how many of its jobs are in each stage. Disk partitions
that serve equally many processor partitions are alike: with jobs of the same number on several,
a start at random among them lets their order be forgotten, which is what makes large counts fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import OnPartitions, RunningChain
from qmodels.policies.models.state_search import explored
from qmodels.policies.system import Arrangement

DiskState = tuple[int, ...]  # jobs of a disk partition in each stage, class after class
State = tuple[DiskState, ...]


@dataclass(frozen=True)
class DiskPartitions:
    """Disk partitions of a chain, what they are made of and who may start there.

    Their processor partitions come in classes of one size, larger ones first.
    """

    slots: tuple[tuple[int, ...], ...]  #: jobs that each disk partition takes, class by class
    max_running: int  #: jobs that run altogether
    processors: Callable[[int, int], float]  #: of a job of a class, with k jobs running
    disks: float  #: disks of a partition
    shared: bool  #: jobs in an I/O stage share their disk; else the stages are slow already
    lumped: bool  #: whether the order of like disk partitions is left out of the states
    sizes: tuple[float, ...] = ()  #: disks of each, where they are not equally many

    @classmethod
    def of(
        cls, arrangement: Arrangement, *, shared: bool, lumped: bool, pooled: bool = False
    ) -> DiskPartitions:
        """Those of an arrangement; all in one if that makes no difference, or if `pooled`."""
        slots = arrangement.slots
        if pooled or arrangement.private:
            together = np.sum(slots, axis=0).tolist()
            slots = (tuple(min(n, arrangement.max_running) for n in together),)
        return cls(
            slots,
            arrangement.max_running,
            arrangement.processors,
            arrangement.disks,
            shared and not arrangement.private,
            lumped,
        )

    @property
    def groups(self) -> list[slice]:
        """Disk partitions next to each other that are alike."""
        ends = [0]
        sizes = self.sizes or (self.disks,) * len(self.slots)
        for n, (a, b) in enumerate(pairwise(zip(self.slots, sizes, strict=True)), start=1):
            if a != b or not self.lumped:
                ends.append(n)
        ends.append(len(self.slots))
        return [slice(a, b) for a, b in pairwise(ends)]


#: Stages of a job of a class, while y jobs hold its disk partition and k run altogether.
Stages = Callable[[int, int, int], JobStages]


def count_states(on_disks: DiskPartitions, order: int) -> list[float]:
    """States with 0..c jobs running, at most, for jobs of `order` stages."""
    levels = np.zeros(on_disks.max_running + 1)
    levels[0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for group in on_disks.groups:
            slots, alike = on_disks.slots[group.start], group.stop - group.start
            most = min(sum(slots), on_disks.max_running)
            states = _ways(slots, order, most)
            levels = np.nan_to_num(filled(levels, states, alike), nan=np.inf)
    return [float(x) for x in levels]


def _ways(slots: Sequence[int], order: int, most: int) -> list[float]:
    """Ways to place 0..most jobs in the stages of classes with so many slots; inf if too many."""
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    for room in slots:
        one = occupancy_counts(most, order)
        one[room + 1 :] = 0.0
        ways = np.nan_to_num(np.convolve(ways, one)[: most + 1], nan=np.inf)
    return [float(x) for x in ways]


def filled(levels: Array, states: list[float], alike: int) -> Array:
    """Ways once `alike` more disk partitions of so many states each have been filled, unordered."""
    most = levels.size - 1
    found = np.zeros((alike + 1, most + 1))
    found[0] = levels
    for jobs, ways in enumerate(states):
        after = np.zeros_like(found)
        for taken in range(alike + 1):
            # `taken` of the disk partitions hold this number of jobs
            pick = 1.0
            for i in range(taken):
                pick *= (ways + i) / (i + 1)
            shift = taken * jobs
            if shift <= most:
                after[taken:, shift:] += pick * found[: alike + 1 - taken, : most + 1 - shift]
        found = after
    return np.asarray(found[alike])


class Paces(Protocol):
    """How fast the jobs of a disk partition get on beside each other."""

    def speeds(self, at: int, here: DiskState, running: int) -> Sequence[float]:
        """Return the speed of a job in each stage, by the disk partition and its jobs by stage."""
        ...

    def busy(self, at: int, here: DiskState, running: int) -> tuple[float, float]:
        """Return the processors that compute and the disks that transfer."""
        ...


def running_on_disks(
    on_disks: DiskPartitions, stages: Stages, paces: Paces | None = None, demand: PhaseType | None = None
) -> RunningChain:
    """Return the chain of the running jobs by disk partition and stage.

    Where `paces` are given, all that a job does goes on at its speed beside the others. Where stages
    are those of a `demand`, the chain tells who runs where.
    """
    builder = _Builder(on_disks, stages, paces)
    empty = tuple((0,) * (len(slots) * builder.order) for slots in on_disks.slots)
    where = None if demand is None else partial(builder.on_partitions, demand)
    return explored(empty, on_disks.max_running, builder.moves, builder.busy, where)


class _Builder:
    """Moves of the running jobs, remembered for each disk partition."""

    def __init__(self, on_disks: DiskPartitions, stages: Stages, paces: Paces | None = None) -> None:
        self.on_disks, self.stages = on_disks, cache(stages)
        self.paces = paces
        self.order = stages(0, 1, 1).order
        self.classes = len(on_disks.slots[0])
        self.groups = on_disks.groups
        self.group_of = [g for g in self.groups for _ in range(g.stop - g.start)]
        self.within = cache(self._within)
        self.jobs = cache(sum)

    def moves(self, state: State, k: int) -> list[tuple[int, State, float]]:
        """Level, state and rate of what may happen; for a start (k + 1), its probability."""
        result = []
        for at, here in enumerate(state):
            if self.jobs(here):
                for ended, other, rate in self.within(here, k, self.like(at)):
                    result.append((k - ended, self.put(state, at, other), rate))
        if k < self.on_disks.max_running:
            for at, kind, chance in self.start(state):
                job = self.stages(kind, self.jobs(state[at]) + 1, k + 1)
                for a in np.flatnonzero(job.alpha).tolist():
                    grown = _with(state[at], kind * self.order + a, 1)
                    result.append((k + 1, self.put(state, at, grown), chance * float(job.alpha[a])))
        return result

    def like(self, at: int) -> int:
        """Return the first disk partition that is like this one; 0 where all jobs have one speed."""
        return self.group_of[at].start if self.paces else 0

    def put(self, state: State, at: int, here: DiskState) -> State:
        """The state with one disk partition changed."""
        changed = (*state[:at], here, *state[at + 1 :])
        group = self.group_of[at]
        if group.stop - group.start == 1:
            return changed
        return (*changed[: group.start], *sorted(changed[group]), *changed[group.stop :])

    def on_partitions(self, demand: PhaseType, states: list[State]) -> OnPartitions:
        """Who runs on each kind of partition in each state, and chances of the kind of the next start."""
        held, starts, work = np.zeros((3, len(states), len(self.groups), self.classes))
        group_at = [self.groups.index(group) for group in self.group_of]
        leaving = float(demand.exit.sum())
        for n, state in enumerate(states):
            k = sum(map(self.jobs, state))
            for at, here in enumerate(state):
                speeds = 1.0 if self.paces is None else self.paces.speeds(self.like(at), here, k)
                of_class = np.reshape([here, np.multiply(here, speeds)], (2, self.classes, self.order))
                jobs, paced = of_class.sum(axis=2)
                held[n, group_at[at]] += jobs
                for kind in np.flatnonzero(jobs).tolist():
                    exits = self.stages(kind, self.jobs(here), k).exits
                    work[n, group_at[at], kind] += paced[kind] * float(exits.sum()) / leaving
            if k < self.on_disks.max_running:
                for at, kind, chance in self.start(state):
                    starts[n, group_at[at], kind] += chance
        return OnPartitions(demand, *(each.reshape(len(states), -1) for each in (held, starts, work)))

    def start(self, state: State) -> list[tuple[int, int, float]]:
        """Disk partition, class and probability of the next start."""
        best, fewest = None, 0
        for at, here in enumerate(state):
            jobs = self.jobs(here)
            if sum(self.on_disks.slots[at]) > jobs and (best is None or jobs < fewest):
                best, fewest = at, jobs
        assert best is not None
        group = self.group_of[best]
        among = [at for at in range(group.start, group.stop) if self.jobs(state[at]) == fewest]
        chosen = []
        for at in among:
            taken = np.array(state[at]).reshape(self.classes, self.order).sum(axis=1)
            free = np.asarray(self.on_disks.slots[at]) - taken
            chosen.append((at, int(np.argmax(free > 0)), 1.0 / len(among)))
        return chosen

    def _within(self, here: DiskState, k: int, like: int) -> list[tuple[int, DiskState, float]]:
        """Jobs that end (0 or 1), other state and rate of what happens at a disk partition."""
        result, jobs = [], self.jobs(here)
        moving = self._transferring(here, k)
        speeds = None if self.paces is None else self.paces.speeds(like, here, k)
        for at in np.flatnonzero(here).tolist():
            kind, a = divmod(at, self.order)
            job = self.stages(kind, jobs, k)
            speed = here[at] / (moving if self.on_disks.shared and job.transfers[a] else 1)
            if speeds is not None:
                speed *= speeds[at]
            for b in np.flatnonzero(job.jumps[a]).tolist():
                if b != a:
                    other = _with(_with(here, at, -1), kind * self.order + b, 1)
                    result.append((0, other, speed * float(job.jumps[a, b])))
            if job.exits[a] > 0.0:
                result.append((1, _with(here, at, -1), speed * float(job.exits[a])))
        return result

    def _transferring(self, here: DiskState, k: int) -> int:
        """Jobs of a disk partition in an I/O stage."""
        jobs = max(self.jobs(here), 1)
        return sum(
            number
            for at, number in enumerate(here)
            if number and self.stages(at // self.order, jobs, k).transfers[at % self.order]
        )

    def busy(self, state: State, k: int) -> tuple[float, float]:
        """Processors that compute and disks that transfer."""
        processors = disks = 0.0
        if self.paces is not None:
            work = [self.paces.busy(self.like(at), here, k) for at, here in enumerate(state)]
            return sum(p for p, _ in work), sum(d for _, d in work)
        for here in state:
            jobs = self.jobs(here)
            for at in np.flatnonzero(here).tolist():
                kind, a = divmod(at, self.order)
                job = self.stages(kind, jobs, k)
                computing = job.processor_share if job.transfers[a] else 1.0
                processors += here[at] * computing * self.on_disks.processors(kind, k)
                if job.transfers[a] and not self.on_disks.shared:
                    disks += here[at] * job.disk_share * self.on_disks.disks
            if self.on_disks.shared and jobs and self._transferring(here, k):
                disks += self.on_disks.disks
        return processors, disks


def _with(here: DiskState, at: int, more: int) -> DiskState:
    return (*here[:at], here[at] + more, *here[at + 1 :])
