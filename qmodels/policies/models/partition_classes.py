"""The model of unlike jobs on several processor partitions in turns: who is on which partition."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.sizes import occupancy_counts, queue_seconds
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.bursts_in_service import InService, chain_size, served
from qmodels.policies.models.disk_counts import filled
from qmodels.policies.models.merged_classes import Classes, MeanClass, merged
from qmodels.policies.models.partition_occupancy import disk_slowness
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.models.sized_jobs import (
    SizedClass,
    burst_stages,
    most_rounds,
    sized_classes,
    transfers_little,
)
from qmodels.policies.models.state_search import explored
from qmodels.policies.models.time_sharing import TimeSharingModel, at_played_capacity
from qmodels.policies.models.time_sharing_loads import NO_MORE, TAKEN_AS_SHARED, VARIABLE
from qmodels.policies.system import Arrangement, Workload
from qmodels.programs.model import parts

#: Jobs of one partition by class, or by round of each class.
Held = tuple[int, ...]
State = tuple[Held, ...]

#: States of a level, times the stages of arrivals, and of all levels, that are followed.
MOST_STATES: Final = 4100
_ALL_STATES: Final = 12_000
#: Seconds that finding the states and solving the queue may take, about; for each partition of a state.
_SECONDS: Final = 1.0
_FINDING: Final = 2e-5
#: States of the turns of one partition, and of all that it may hold.
_MOST_IN_TURN: Final = 300
#: Demands of one program on several partitions that vary more decide by who is behind a large job.
_VERY_VARIABLE: Final = 3.0
#: Room for jobs on one partition with which is begun where it has more than can be followed, and ended.
_MOST_ROOMS, _LEAST_ROOMS = 24, 12
#: Slowness of a disk, in logarithms, at which turns are looked at; between them they are joined.
_STEP: Final = 0.5
#: Bursts that are so many times longer than the mean are remembered while they are computed.
_LONG: Final = 1.2
#: A transfer that is so small a part of a job's computation takes no time that could be seen.
_NEVER_AWAY: Final = 1e-6
#: A part of the time below which no time remains between one long burst and the next, and the least
#: that is reckoned with: less is rounding.
_HARDLY_EVER: Final = 1e-9
_LEAST: Final = 1e-12
#: Part of a capacity that rounding may make of it.
_ROUNDING: Final = 1e-9


@MODELS.register
class PartitionClasses(AbstractModel):
    """On its partition, of its class, as fast as those beside it let it in turns."""

    name = "partition-classes"
    rank = 27
    placement = "idle-first"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: jobs of several classes in turns, few enough to be followed."""
        workload = case.workload
        if case.given:
            return False
        if workload.io_bursts is not None and workload.cpu_bursts is not None:
            unlike = max(workload.cpu_bursts.scv, workload.io_bursts.scv) > VARIABLE
        else:
            # regular jobs carry more than bursts without memory would, and where mixes share a disk, what a
            # full machine completes is not known well enough
            mixed = len(parts(workload.program)) > 1
            apart = mixed or case.arrangement.processor_partitions == 1
            unlike = workload.demand.scv > (VARIABLE if apart else _VERY_VARIABLE)
            unlike = unlike and (not mixed or _hardly_shared(case))
        return unlike and _followed(case) is not None

    def family(self, *, turns: bool) -> str:
        """See `AbstractModel.family`: of the same systems, by another model."""
        return "time-sharing, turns" if turns else "time-sharing, shared"

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If jobs do not take turns, are too regular for classes of exponential bursts, or there
            are too many of them to be followed.

        Notes
        -----
        A state lists the jobs of every processor partition by class, like partitions not told
        apart, so that who is behind a large job stays known. The jobs of a partition get on as in
        the closed network of them, see `bursts_in_service`, at a disk as slow as the other partitions
        on it make it, by who computes there, see `disk_slowness`. Bursts with laws of their own are drawn
        one by one. What the partitions ask of a shared disk may be some per cent more than it can
        do: k of c running jobs are then slowed to the k/c-th power of what the capacity of
        `time_sharing.TimeSharingModel` asks for.
        """
        followed = _followed(case)
        if followed is None:
            raise ModelError(
                f'model="{self.name}" follows few jobs in turns of classes that are not too regular; '
                f'use model="time-sharing", or simulate'
            )
        check_blocks(
            f"the chain of {case.policy.label} with jobs of {followed.order} stages",
            followed.sizes,
            case.workload.arrivals,
            case.memory,
            'use fewer partitions, or model="time-sharing"',
        )
        running, said = followed.running(), followed.simplifications
        most = followed.arrangement.multiprogramming
        if most < case.arrangement.multiprogramming:
            said = (*said, NO_MORE.format(most))
        if len(followed.partitions) == 1:
            running = at_played_capacity(case, running)
        if followed.shared:
            part = TimeSharingModel().build(case).capacity / running.capacity
            if part < 1.0 - _ROUNDING:
                running = running.paced(part)
                said = (*said, "jobs slowed to the capacity of partitions that only count theirs")
        return BuiltModel(self, running, False, running.capacity, said, turns=True)


class _Followed:
    """The running jobs of a case by partition and class; or by partition alone, with bursts drawn."""

    def __init__(
        self, arrangement: Arrangement, workload: Workload, classes: Classes, remembers: bool
    ) -> None:
        self.arrangement, self.workload, self.classes = arrangement, workload, classes
        self.remembers, self.shared = remembers, _shared(arrangement, workload)
        #: class of each stage, a part of a job's bursts after which the next one follows
        self.kind = np.repeat(np.arange(len(classes)), [x[0].rounds for x in classes])
        self.partitions = arrangement.partition_sizes
        self.order = self.kind.size
        self.turns = {p: _Turns(self, p) for p in set(self.partitions)}
        #: classes of bursts that are long enough for who computes to be remembered
        self.long = self.turns[max(self.partitions)].long
        ends = [n for n, (a, b) in enumerate(pairwise(self.partitions), start=1) if a != b]
        self.groups = [slice(a, b) for a, b in pairwise([0, *ends, len(self.partitions)])]

    @property
    def sizes(self) -> list[float]:
        """States with 0..c jobs running, at most."""
        most = self.arrangement.multiprogramming
        all_ways = occupancy_counts(most, self.order)
        ways = all_ways.copy()
        for r in self.long:
            without = 0 if self.turns[self.partitions[0]].drawn else self.order - int((self.kind == r).sum())
            ways[1:] += all_ways[1:]
            if without:
                ways[1:] -= occupancy_counts(most, without)[1:]
        levels = np.zeros(self.arrangement.max_running + 1)
        levels[0] = 1.0
        for group in self.groups:
            levels = filled(levels, ways.tolist(), group.stop - group.start)
        return [float(x) for x in levels]

    @property
    def fits(self) -> bool:
        """Whether the states are few enough, and those of the turns of one partition."""
        m, s = self.arrangement.multiprogramming, len(self.classes)
        even = tuple(m // s + (r < m % s) for r in range(s))
        if chain_size(even) > _MOST_IN_TURN:
            return False
        counts, order = self.sizes, self.workload.arrivals.order
        if max(counts) * order > MOST_STATES or sum(counts) > _ALL_STATES:
            return False
        finding = _FINDING * sum(counts) * len(self.partitions)
        return finding + queue_seconds(np.multiply(counts, order)) <= _SECONDS

    @property
    def simplifications(self) -> tuple[str, ...]:
        """What is not followed; () for nothing."""
        at, said = self.arrangement, []
        if 1 < at.used_disk_partitions < at.processor_partitions:
            said.append("disk partitions taken as evenly loaded")
        if not at.whole_disks:
            said.append("disk partitions taken at their mean size")
        if at.system.disk_discipline != "ps":
            said.append(TAKEN_AS_SHARED)
        if not self.remembers:
            said.append("who computes drawn anew at every burst")
        return tuple(said)

    def running(self) -> RunningChain:
        """Return the chain of the running jobs."""
        moves = _Moves(self)
        empty = ((0,) * (self.order + 1),) * len(self.partitions)
        return explored(empty, self.arrangement.max_running, moves, moves.busy)


class _Moves:
    """What may happen to the jobs of a state."""

    def __init__(self, followed: _Followed) -> None:
        self.followed, at = followed, followed.arrangement
        self.at, self.most = at, at.multiprogramming
        self.partitions, self.kind, self.turns = followed.partitions, followed.kind, followed.turns
        self.groups, self.long = followed.groups, followed.long
        self.slow, self.within, self.law = cache(self._slow), cache(self._within), cache(self._law)
        #: whether jobs of a class leave the processors between two long bursts
        some = self.turns[self.partitions[0]]
        self.away = [
            r not in some.long or io > _NEVER_AWAY * cpu
            for r, (io, cpu) in enumerate(zip(some.io.tolist(), some.cpu.tolist(), strict=False))
        ]
        self.last: list[bool] = np.append(self.kind[1:] != self.kind[:-1], True).tolist()
        self.starts = [
            (int(np.flatnonzero(self.kind == r)[0]), sum(x.weight for x in each))
            for r, each in enumerate(followed.classes)
        ]

    def __call__(self, state: State, k: int) -> list[tuple[int, State, float]]:
        """Jobs afterwards, state and rate of what may happen; of a start, its probability."""
        found, jobs = [], [sum(held[:-1]) for held in state]
        slow = self._disks(state)
        for group in self.groups:
            for at in range(group.start, group.stop):
                if jobs[at]:
                    for gone, other, rate in self.within(state[at], slow[state[at]], self.partitions[at]):
                        found.append((k - gone, self._put(state, group, at, other), rate))
        if k < self.at.max_running:
            fewest = min(jobs)
            group = next(g for g in self.groups if fewest in jobs[g])
            among = [at for at in range(group.start, group.stop) if jobs[at] == fewest]
            for at in among:
                for stage, weight in self.starts:
                    other = self._settled(_with(state[at], stage, 1))
                    found.append((k + 1, self._put(state, group, at, other), weight / len(among)))
        return found

    def busy(self, state: State, k: int) -> tuple[float, float]:
        """Processors that compute and disks that transfer."""
        slow = self._disks(state)
        processors = disks = 0.0
        for held, p in zip(state, self.partitions, strict=True):
            if any(held):
                paces = self.turns[p].at(self._by_class(held), slow[held])
                computing, moving = float(paces.computing[held[-1]]), float(paces.moving[held[-1]])
                processors, disks = processors + p * computing, disks + self.at.disks * moving
        return processors, disks

    def _disks(self, state: State) -> dict[Held, float]:
        """How many times slower than alone its disk is to each partition, by what it holds."""
        if not self.followed.shared:
            return dict.fromkeys(state, 1.0)
        laws = [self.law(held, p) for held, p in zip(state, self.partitions, strict=True)]
        slow = self.slow(tuple(sorted(laws, key=lambda law: (len(law), law), reverse=True)))
        return {held: slow[law] for held, law in zip(state, laws, strict=True)}

    def _law(self, held: Held, p: float) -> tuple[float, ...]:
        return self.turns[p].at_disk(self._by_class(held), held[-1])

    def _slow(self, laws: tuple[tuple[float, ...], ...]) -> dict[tuple[float, ...], float]:
        """By the law of the jobs at it, in the mean over the partitions that have one law."""
        found: dict[tuple[float, ...], list[float]] = {}
        for disk in range(self.at.used_disk_partitions):
            for law, slow in disk_slowness(laws[disk :: self.at.used_disk_partitions]).items():
                found.setdefault(law, []).append(slow)
        return {law: float(np.exp(np.mean(np.log(each)))) for law, each in found.items()}

    def _within(self, held: Held, slow: float, p: float) -> list[tuple[int, Held, float]]:
        """Jobs that end (0 or 1), what the partition holds then, and the rate."""
        found: list[tuple[int, Held, float]] = []
        by_class, mode = self._by_class(held), held[-1]
        turns = self.turns[p].at(by_class, slow)
        if mode == 0:
            for r, rate in enumerate(turns.rounds.tolist()):
                for after, chance in enumerate(turns.next[r].tolist()):
                    found += [
                        (gone, self._settled((*other[:-1], after)), rate * chance * share)
                        for gone, other, share in self._ended(held, r)
                    ]
            for g, rate in enumerate(turns.begun.tolist(), start=1):
                if rate > 0.0:
                    found.append((0, (*held[:-1], g), rate))
            return [each for each in found if each[2] > 0.0]
        g = mode - 1
        of = 0 if self.turns[p].drawn is not None else self.long[g]
        leaves = 1.0 / float(self.turns[p].on[of])
        for after, chance in enumerate(turns.following[g].tolist()):
            if chance <= 0.0:
                continue
            rate = chance * turns.ends[g]
            goes_on = self._settled((*held[:-1], after))
            if goes_on != held and leaves < 1.0:
                found.append((0, goes_on, rate * (1.0 - leaves)))
            for gone, other, share in self._ended(held, of):
                found.append((gone, self._settled((*other[:-1], after)), rate * leaves * share))
        return found

    def _ended(self, held: Held, r: int) -> list[tuple[int, Held, float]]:
        """What a round of a job of a class that ends may be: of which stage, with which probability."""
        here = [stage for stage in np.flatnonzero(self.kind == r).tolist() if held[stage]]
        total, found = sum(held[stage] for stage in here), []
        for stage in here:
            other = _with(held, stage, -1)
            if not self.last[stage]:
                other = _with(other, stage + 1, 1)
            found.append((int(self.last[stage]), other, held[stage] / total))
        return found

    def _settled(self, held: Held) -> Held:
        """The partition with what computes changed where that cannot be so."""
        if not self.long or self.followed.turns[self.partitions[0]].drawn is not None:
            return held if any(held[:-1]) else (*held[:-1], 0)
        by_class, mode = self._by_class(held), held[-1]
        if mode and not by_class[self.long[mode - 1]]:
            mode = 0
        if (
            mode == 0
            and any(by_class)
            and not any(n for n, away in zip(by_class, self.away, strict=True) if away)
        ):
            # nobody is ever at a disk: one of these long bursts is always computed
            mode = 1 + next(g for g, r in enumerate(self.long) if by_class[r])
        return (*held[:-1], mode)

    def _by_class(self, held: Held) -> Held:
        return tuple(np.bincount(self.kind, held[:-1], len(self.followed.classes)).astype(int).tolist())

    def _put(self, state: State, group: slice, at: int, held: Held) -> State:
        changed = [*state]
        changed[at] = held
        changed[group] = sorted(changed[group], reverse=True)
        return tuple(changed)


class _Paces(NamedTuple):
    """What may happen on one partition, in units of its own time."""

    rounds: Array  #: (S,) rounds of a class that end, while no long burst is computed
    next: Array  #: (S, 1 + L) what follows the end of such a round: no long burst, or one of each class
    begun: Array  #: (L,) long bursts of a class that are begun otherwise, while none is computed
    following: Array  #: (L, 1 + L) what follows a long burst: none, or one of each class
    ends: Array  #: (L,) rates at which long bursts end
    computing: Array  #: (1 + L,) part of the time that the processors compute, by the long burst there
    moving: Array  #: (1 + L,) part of the time that the disk serves it, likewise


class _Turns:
    """What turns make of the jobs of one partition, by how slow its disk is."""

    def __init__(self, followed: _Followed, p: float) -> None:
        d, workload, classes = followed.arrangement.disks, followed.workload, followed.classes
        self.drawn: tuple[float, ...] | None = None
        means = [MeanClass.of(each, workload, p, d) for each in classes]
        phases, whole_cpu = np.array([x.phases for x in means]), np.array([x.cpu for x in means])
        self.whole_io = np.array([x.io for x in means])
        self.rounds = np.array([each[0].rounds for each in classes])
        #: bursts of a class after which one of its jobs leaves its round
        self.on = phases / self.rounds
        self.io, self.cpu = self.whole_io / phases, whole_cpu / phases
        weights = np.array([x.weight for x in means]) * phases
        if workload.has_bursts:
            table = burst_stages(workload, p, d, 1)
            assert table is not None
            assert table.drawn is not None
            self.drawn, self.cpu, weights = tuple(table.drawn.tolist()), table.cpu, table.drawn
        mean = float(self.cpu @ weights / weights.sum())
        remembers = followed.remembers and self.cpu.size > 1
        self.long = np.flatnonzero(self.cpu > _LONG * mean).tolist() if remembers else []
        #: bursts of computation of each class, hardly any for none
        self.bursts = np.maximum(self.cpu, 1e-9 * max(self.cpu.max(), self.io.max()))
        self.at_node = cache(self._at_node)

    def served(self, jobs: Held, node: int) -> InService:
        """Return who computes, at a disk so many steps slower than alone."""
        away = np.maximum(self.io, 1e-9 * self.bursts.max()) * np.exp(_STEP * node)
        return served(jobs, tuple(self.bursts.tolist()), tuple(away.tolist()), False, self.drawn)

    def at_disk(self, jobs: Held, computing: int) -> tuple[float, ...]:
        """Return how likely 0, 1, ... jobs are at a disk of their own while this long burst is computed."""
        n, turns = sum(jobs), self.served(jobs, 0)
        there, law = np.zeros(self.cpu.size, dtype=np.bool_), np.zeros(n + 1)
        there[self.long] = True
        there = ~there if computing == 0 else np.arange(there.size) == self.long[computing - 1]
        for waiting, each in turns.given.items():
            law[n - sum(waiting)] += turns.there[waiting] * float(each[there].sum())
        if computing == 0:
            law[n] += max(1.0 - sum(turns.there.values()), 0.0)
        if law.sum() < _HARDLY_EVER:
            law[0] = 1.0
        return tuple(np.round(law / law.sum(), 9).tolist())

    def _at_node(self, jobs: Held, node: int) -> _Paces:
        bursts = self.bursts
        if self.io.max() == 0.0:
            n = np.array(jobs, dtype=float)
            always = bursts * n / float(bursts @ n)
            others = np.maximum(n[None] - np.eye(n.size), 0.0)
            after = (always / bursts)[:, None] * others / max(n.sum() - 1.0, 1.0)
            if n.sum() == 1.0:
                after = np.diag(always / bursts)
            idle = 0.0
        else:
            turns = self.served(jobs, node)
            always, after = turns.always, turns.after
            idle = max(1.0 - float(always.sum()), 0.0)
        done, long = always / bursts, self.long
        short = np.ones(done.size, dtype=np.bool_)
        short[long] = False
        between = idle + float(always[short].sum())  # no long burst is computed
        none = max(between, _LEAST)
        ends, into = np.where(short, done, 0.0), np.where(short[:, None], after, 0.0)[:, long]
        if self.drawn is not None:
            ends, into = ends.sum(keepdims=True), into.sum(axis=0, keepdims=True)
        rounds = ends / self.on / none
        # of whole jobs, as often as these end, so that work is conserved
        transfer = self.whole_io / self.on / self.rounds
        of_long = transfer[[0] * len(long) if self.drawn is not None else long]
        moving = np.append(ends @ transfer / none, of_long / bursts[long])
        computing = np.append(always[short].sum() / none, np.ones(len(long)))
        nearest = into / np.maximum(ends, 1e-300)[:, None]
        nearest = np.concatenate([1.0 - nearest.sum(axis=1, keepdims=True), nearest], axis=1)
        inside = after[np.ix_(long, long)]
        each = np.maximum(done[long], 1e-300)[:, None]
        following = np.concatenate([1.0 - inside.sum(axis=1, keepdims=True) / each, inside / each], axis=1)
        begun = done[long] - inside.sum(axis=0) - (into / self.on[:, None]).sum(axis=0)
        begun = np.maximum(begun, done[long] * 1e-6 if between < _HARDLY_EVER else 0.0) / none
        return _Paces(
            rounds,
            np.maximum(nearest, 0.0),
            begun,
            np.maximum(following, 0.0),
            1.0 / bursts[long],
            computing,
            moving,
        )

    def at(self, jobs: Held, slow: float) -> _Paces:
        """Return what may happen, at a disk so many times slower than alone."""
        place = np.log(slow) / _STEP
        low = int(place)
        first, share = self.at_node(jobs, low), place - low
        if share == 0.0:
            return first
        second = self.at_node(jobs, low + 1)
        return _Paces(*((1.0 - share) * a + share * b for a, b in zip(first, second, strict=True)))


def _with(held: Held, at: int, more: int) -> Held:
    return (*held[:at], held[at] + more, *held[at + 1 :])


def _shared(at: Arrangement, workload: Workload) -> bool:
    """Whether several partitions meet at a disk."""
    p = at.system.processors / at.processor_partitions
    fewer = at.used_disk_partitions < at.processor_partitions
    return fewer and float(workload.program.mean_io(p, at.disks)) > 0.0


def _hardly_shared(case: Case) -> bool:
    """Whether partitions have disks of their own, or jobs transfer little."""
    at, workload = case.arrangement, case.workload
    allotment = case.policy.allotment(case.system)
    return not _shared(at, workload) or transfers_little(workload.program, *allotment)


def _followed(case: Case) -> _Followed | None:
    """Return the jobs of a case by partition and class; None where they cannot be followed."""
    workload, at = case.workload, case.arrangement
    p, d = case.policy.allotment(case.system)
    if workload.mix == "mean" or at.cpu_discipline != "fcfs" or at.multiprogramming == 1:
        return None
    if float(workload.program.mean_cpu(p, d)) == 0.0:
        return None
    # who computes, if it cannot be remembered: nothing but turns, and laws of bursts, need it
    forgetful = not workload.has_bursts and float(workload.program.mean_io(p, d)) > 0.0
    for rooms, remembers in _ways(at):
        if remembers or forgetful:
            for classes in _choices(workload, p, d, rooms.multiprogramming):
                found = _Followed(rooms, workload, classes, remembers)
                if found.fits:
                    return found
    return None


def _ways(at: Arrangement) -> Iterator[tuple[Arrangement, bool]]:
    """Yield how many jobs partitions have room for, and whether who computes is remembered; nearest first.

    Where a cap lets fewer jobs run than there is room for, they are spread, so that room for their even
    number is nearly enough, and memory matters more. One partition has room for ever fewer jobs, which are
    still as good as any number.
    """
    yield at, True
    even = -(-at.max_running // at.processor_partitions)
    if at.processor_partitions > 1:
        for most in range(at.multiprogramming - 1, even - 1, -1):
            yield at.with_room_for(most), True
    yield at, False
    if at.processor_partitions == 1:
        for most in range(min(at.multiprogramming, _MOST_ROOMS + 1) - 1, _LEAST_ROOMS - 1, -1):
            yield at.with_room_for(most), True
            yield at.with_room_for(most), False


def _choices(workload: Workload, p: float, d: float, jobs: int) -> Iterator[Classes]:
    """Yield classes of jobs, so many of them on a partition, the most telling first."""
    if workload.has_bursts:
        if burst_stages(workload, p, d, 1) is not None:
            phases = max(1.0, float(workload.program.mean_phases))
            for rounds in range(most_rounds(workload, p, d), 0, -1):
                yield ((SizedClass(1.0, 0, 1.0, rounds, phases),),)
        return
    for rounds in range(most_rounds(workload, p, d), 0, -1):
        classes = sized_classes(workload, p, d, rounds, turns=jobs)
        if classes is None:
            return
        yield tuple((x,) for x in classes)
        # two rounds of fewer classes tell more than one round of all
        if rounds <= 2 and len({x.rounds for x in classes}) == 1:
            yield from merged(classes, workload, p, d)
