"""Time sharing: what the partitions hold, what turns make of it, and the queue in front.

Three steps, each from the one before. The occupancy says how many processor partitions hold how
many jobs, and how fast these get on if computation bursts were exponential or shared. A partition
under turns says what sizes that persist make of that, and who of its jobs gets on how fast. The
queue counts the running jobs by the branch of the law of demand that their sizes come from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Final

import numpy as np

from phasefit import MAP, PhaseType, match_moments
from phasefit.arrays import Array, read_only
from qmodels.errors import InfeasibleMomentsError
from qmodels.networks.occupancy import Occupancies, sharing_centre
from qmodels.networks.product_form import log_factorials
from qmodels.networks.sizes import queue_seconds
from qmodels.policies.models._kernels import draw_classes
from qmodels.policies.models.described import choice_of
from qmodels.policies.models.even_loads import even_rates
from qmodels.policies.models.given_speeds import level_factors
from qmodels.policies.models.larger_partitions import on_each_kind
from qmodels.policies.models.merged_classes import MeanClass
from qmodels.policies.models.partition_occupancy import (
    MOST_AT_DISK,
    Held,
    Occupancy,
    PartitionLoads,
    PartitionRooms,
    Rates,
    partition_rates,
)
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.sized_jobs import LITTLE
from qmodels.policies.models.stage_counts import StagedJobs
from qmodels.policies.models.turns import (
    MOST_BY_CLASS,
    computation_of_rate,
    mixed_speeds,
    partition_classes,
    played_gain,
    private_computing,
    ratio_of_computing,
)
from qmodels.policies.models.unlike_programs import part_left, two_programs
from qmodels.policies.system import Arrangement, Workload, spread

#: What is said of disks in order of arrival or at random whose jobs are taken to share them.
TAKEN_AS_SHARED: Final = "disks taken as shared, though their bursts take turns"
#: What is said of partitions with room for more jobs than are followed.
NO_MORE: Final = "no more than {} jobs taken on a partition"
#: States of the occupancy up to which it is followed with disk partitions, and without, where all may be
#: taken: eight jobs on each of eight processor partitions are 12,870.
MOST_OCCUPANCIES: Final = 6000
MOST_ALIKE: Final = 13_000
#: A demand that varies hardly more than an exponential one has one class.
VARIABLE: Final = 1.02
#: Part of the capacity in product form at which the occupancy is first looked at, at most.
_WITHIN: Final = 0.995
#: Running jobs up to which two classes of them are told apart.
MOST_APART: Final = 160
#: Part of what partitions with room for fewer jobs carry at which it is looked how jobs lie on them, at most.
_NEARLY: Final = 0.98
#: Seconds that the occupancy may take beside the stages of arrivals, about.
_SECONDS: Final = 0.4
#: Ways in which partitions of several kinds may be taken, at most, for these to be told apart.
_MOST_TAKEN: Final = 2000
#: Ratios beyond which one of the two centres might as well not be there.
_FAR: Final = 1e12


def two_branches(law: PhaseType) -> PhaseType:
    """The hyperexponential law of two branches with the first three moments, or two, of a law."""
    first, second, third = (law.moment(k) for k in (1, 2, 3))
    try:
        found = match_moments(first, second, third)
        if found.order == 2 and not found.jumps.any():
            return found.scale(1.0 / found.mean)
    except InfeasibleMomentsError:
        pass
    return match_moments(first, second)


@dataclass(frozen=True, eq=False)
class Partitions:
    """What the processor partitions do, after turns have been reckoned with."""

    loads: PartitionLoads
    ratio: Array  #: (c + 1, M + 1) transfer over computation, as slow as the disk is
    #: (c + 1, M + 1) what turns leave of the throughput, at most one, times what the partitions that
    #: are taken give where these are of several sizes
    loss: Array
    cpu: Array  #: (c + 1, M + 1) computation of a job with which the loads were found
    arrival_rate: float | None  #: jobs per second with which they were; None: only k = c is meant

    @property
    def saturated(self) -> bool:
        """Whether only k = c is meant."""
        return self.arrival_rate is None

    @property
    def work(self) -> Array:
        """Mean jobs per second of all partitions with 0..c jobs running, (c + 1,)."""
        return np.asarray((self.loads.number * self.loads.rate * self.loss).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Machine:
    """A machine under time sharing and what a mean job needs on one of its partitions."""

    arrangement: Arrangement
    cpu: float  #: seconds of computation of a mean job
    io: float  #: seconds of transfer of a mean job alone
    phases: float  #: bursts of computation of a job
    scv: float  #: of the jobs' demand
    persistent: bool  #: whether a job's bursts are all of one size
    sharing: str  #: disk discipline
    #: processor partitions of each kind, by their processors and the disks of their own, larger ones first,
    #: and how much faster than on the mean one a job alone is there
    unlike: tuple[tuple[int, float], ...] = ()
    #: the two programs of a mix, or what is nearest to two
    programs: tuple[MeanClass, ...] = ()
    #: how jobs arrive, in units of their mean, where the occupancy is followed with it; None: Poisson
    arrivals: PhaseType | MAP | None = None

    @classmethod
    def of(cls, arrangement: Arrangement, workload: Workload, scv: float) -> Machine:
        """Read what the model needs."""
        p = arrangement.system.processors / arrangement.processor_partitions
        d, program = arrangement.disks, workload.program
        cpu, io = float(program.mean_cpu(p, d)), float(program.mean_io(p, d))
        phases = max(1.0, float(program.mean_phases))
        discipline = arrangement.system.disk_discipline
        whole = replace(arrangement, whole=True)
        disks = [d] * arrangement.processor_partitions  # those of its own, if it has them, else mean ones
        if arrangement.used_disk_partitions == arrangement.processor_partitions:
            disks = list(arrangement.disk_sizes)
        kinds = Counter(zip(whole.partition_sizes, disks, strict=True))
        alone = {kind: float(program.mean_time(*kind)) for kind in kinds}
        unlike = tuple((kinds[kind], (cpu + io) / time) for kind, time in alone.items() if time)
        made = cls(
            arrangement,
            cpu,
            io,
            phases,
            scv,
            not workload.has_bursts,
            discipline,
            unlike if len(unlike) > 1 else (),
            two_programs(workload, p, d),
        )
        if workload.arrivals.scv <= 1.0 or choice_of(workload) is not None:
            return made
        return replace(made, arrivals=workload.arrivals)

    @property
    def turns(self) -> bool:
        """Whether computation bursts take turns."""
        return self.arrangement.cpu_discipline == "fcfs" and self.cpu > 0.0

    @property
    def sizes(self) -> tuple[int, ...]:
        """Processor partitions of each disk partition, larger numbers first."""
        used = self.arrangement.used_disk_partitions
        return tuple(spread(self.arrangement.processor_partitions, used))

    @property
    def rooms(self) -> PartitionRooms:
        """Who works on which disk partition."""
        arrangement = self.arrangement
        return PartitionRooms(self.sizes, arrangement.multiprogramming, arrangement.max_running)

    @property
    def level_of_detail(self) -> int:
        """0: occupancy of every disk partition; 1: disks evenly loaded; 2: partitions too."""
        if _told_apart(self.rooms):
            return 0
        capped = self.arrangement.max_running < sum(self.sizes) * self.arrangement.multiprogramming
        return 1 if self.alike.count() <= (MOST_OCCUPANCIES if capped else MOST_ALIKE) else 2

    @property
    def alike(self) -> PartitionRooms:
        """The processor partitions as if all worked on one disk partition."""
        return replace(self.rooms, sizes=(self.arrangement.processor_partitions,))

    @cached_property
    def followed(self) -> tuple[PartitionRooms, PhaseType | MAP | None] | None:
        """Rooms whose jobs are followed, and with which arrivals, None: Poisson; no rooms where none can be.

        How few jobs lie is the same whether there is room for more or not. So where partitions have room for
        more jobs than can be followed, they have room for fewer. That disk partitions are told apart
        matters more than for how many, unless jobs transfer little.
        """
        level = self.level_of_detail
        by_disk = level == 0 or self.io > LITTLE * (self.io + self.cpu)
        rooms = [(self.rooms, level == 0)] if by_disk else []
        for arrivals in dict.fromkeys((self.arrivals, None)):
            order = 1 if arrivals is None else arrivals.order
            for base, in_full in (*rooms, (self.alike, level <= 1)):
                for fewer in _for_ever_fewer(base, order, in_full=in_full):
                    if _soon(fewer, order):
                        return fewer, arrivals
        return None

    @property
    def simplifications(self) -> tuple[str, ...]:
        """What is not followed; () for nothing."""
        said = []
        if self.level_of_detail > 0:
            said.append("disk partitions taken as evenly loaded")
        if self.level_of_detail > 1:
            said.append("jobs spread evenly over processor partitions that are nearly full")
        if not self.arrangement.sizes_hold:
            said.append("partitions taken at their mean size while several jobs are on one")
        if self.sharing != "ps":
            said.append(TAKEN_AS_SHARED)
        if self.turns and not self.persistent:
            said.append("computation bursts taken as exponential where they take turns")
        return tuple(said)

    @property
    def plain(self) -> Array:
        """Computation of a job by k and j, (c + 1, M + 1), before turns are reckoned with."""
        arrangement = self.arrangement
        return np.full((arrangement.max_running + 1, arrangement.multiprogramming + 1), self.cpu)

    @cached_property
    def plain_capacity(self) -> float:
        """Jobs per second with all partitions taken, in product form."""
        loads = self.plain_loads(None)
        return float(loads.number[-1] @ loads.rate[-1])

    def plain_loads(self, arrival_rate: float | None) -> PartitionLoads:
        """Occupancy and rates before turns are reckoned with; they do not depend on the demand."""
        return _plain_loads(self.arrangement, self.cpu, self.io, arrival_rate, self.arrivals)

    def partitions(self, arrival_rate: float | None) -> Partitions:
        """Solve the occupancy, and again with what turns gain."""
        c, most = self.arrangement.max_running, self.arrangement.multiprogramming
        plain = self.plain.copy()
        within = arrival_rate
        if arrival_rate is not None:
            # with what turns gain a machine may carry more than it would without
            within = min(arrival_rate, _WITHIN * self.plain_capacity)
        loads = self.plain_loads(within)
        jobs = np.broadcast_to(np.arange(most + 1), plain.shape)
        ratio = np.full(plain.shape, self.io / self.cpu if self.cpu > 0.0 else _FAR)
        known = (loads.rate > 0.0) & (jobs > 0)
        if max(self.sizes) > 1 and self.cpu > 0.0:
            ratio[known] = ratio_of_computing(jobs[known], self.cpu * loads.rate[known])
        ratio = np.clip(ratio, 1.0 / _FAR, _FAR)
        gain = np.ones(plain.shape)
        if self.turns and self.persistent and self.io > 0.0:
            several = known & (jobs > 1)
            gain[several] = played_gain(self.scv, self.phases, jobs[several], ratio[several])
        more = gain > 1.0 + 1e-9
        if more.any():
            turned = gain[more] * private_computing(jobs[more], ratio[more]) / self.cpu
            plain[more] = computation_of_rate(jobs[more], ratio[more] * self.cpu, turned)
            loads, within = self.loads(plain, arrival_rate), arrival_rate
        loss = np.minimum(gain, 1.0)
        if loss[c, most] < 1.0 and c == most * self.arrangement.processor_partitions:
            folded = self._folded(most, gain[c, most], ratio[c, most], loads.rate[c, most])
            share = (
                1.0
                if arrival_rate is None
                else arrival_rate / (folded * self._mixed[most] * loads.number[c, most] * loads.rate[c, most])
            )
            loss[c, most] = self._full_loss(loss[c, most], folded, min(share, 1.0))
        loss = loss * self._mixed
        if self.unlike:
            loss = loss * self._on_taken(arrival_rate)[:, None]
        return Partitions(loads, ratio, loss, plain, within)

    def _on_taken(self, arrival_rate: float | None) -> Array:
        """How much faster jobs are than on mean partitions, while k of these are taken, (c + 1,).

        While several share one, all are taken to be mean.
        """
        counts, faster = (np.array(each) for each in zip(*self.unlike, strict=True))
        partitions, most = int(counts.sum()), self.arrangement.max_running
        found = np.ones(most + 1)
        least = 1 if arrival_rate is not None else most  # of jobs that always wait, as many as run
        taken = np.arange(least, min(partitions - 1, most) + 1)
        if taken.size and np.prod(counts + 1.0) <= _MOST_TAKEN:
            within = min(partitions, most)
            alone = np.repeat(faster[:, None], within + 1, axis=1) / (self.cpu + self.io)
            on = on_each_kind(counts.tolist(), alone, arrival_rate, within)
            found[taken] = on[taken] @ faster / taken
        return found

    @cached_property
    def _mixed(self) -> Array:
        """What turns of unlike programs leave of the throughput of partitions of j jobs, (M + 1,)."""
        most = self.arrangement.multiprogramming
        found = np.ones(most + 1)
        if not (self.programs and self.turns and self.persistent and self.io > 0.0):
            return found
        for j in range(2, min(most, MOST_BY_CLASS) + 1):
            rate = self._all_of(j, [self.cpu] * (j + 1))
            ratio = self.io / self.cpu
            if self.sizes[0] > 1:
                ratio = float(np.clip(ratio_of_computing(j, self.cpu * rate), 1.0 / _FAR, _FAR))
            left = part_left(self.programs, j, ratio)
            left = self._folded(j, left, ratio, rate) if self.sizes[0] > 1 and left < 1.0 else left
            found[j:] = left  # of more jobs as of these
        return found

    def _all_of(self, jobs: int, cpu: list[float]) -> float:
        """Jobs per second of a partition in the mean while each of them has so many."""
        full = [self._at_disk((jobs,) * size, cpu)[jobs] * size for size in self.sizes]
        return sum(full) / self.arrangement.processor_partitions

    def _folded(self, jobs: int, gain: float, ratio: float, rate: float) -> float:
        """What turns leave of the throughput of partitions that all have so many jobs.

        Jobs that wait at the processors are not at the disk, so that a shared disk makes up for a
        part of what is lost. Folded into the time at the processors the loss gives the capacity
        of simulated machines to within 1 %.
        """
        turned = gain * float(private_computing(jobs, ratio)) / self.cpu
        cpu = [float(computation_of_rate(jobs, ratio * self.cpu, turned))] * (jobs + 1)
        return min(self._all_of(jobs, cpu) / rate, 1.0)

    def _full_loss(self, loss: float, folded: float, load: float) -> float:
        """What turns leave of the throughput of full partitions at a load of the capacity.

        Next to the capacity it is what is left while jobs always wait. Elsewhere jobs behind a
        long one wait for as long as it lasts, whatever the disk does, and the loss counts whole.
        What lies between is not known; a power of the load joins both ends, with a weight that
        lets no load below the capacity become unstable.
        """
        if folded <= loss:
            return loss
        room = 2.0 * (folded - loss) / folded
        weight = max(load ** (2 * self.arrangement.multiprogramming), 1.0 - (1.0 - load) / room)
        return loss + min(weight, 1.0) * (folded - loss)

    def loads(self, cpu: Array, arrival_rate: float | None, pace: Array | None = None) -> PartitionLoads:
        """Occupancy and rates of the partitions for these computations by k and j.

        With `pace`, (M + 1,), a partition of j jobs is so many times as fast while none waits.
        """
        rows = [row.tolist() for row in cpu]
        first = [rows.index(row) for row in rows]  # levels with the same times share results
        plain = [self.cpu] * len(rows[0])

        def paced(rates: dict[int, float], k: int) -> dict[int, float]:
            if pace is None or k == self.arrangement.max_running:
                return rates
            return {j: rate * float(pace[j]) for j, rate in rates.items()}

        @cache
        def apart(held: Held, like: int) -> dict[int, float]:
            if rows[like] != plain:
                return partition_rates(held, self.io, rows[like])
            return _plain_rates(held, self.io, self.cpu, len(plain))

        @cache
        def shared(held: Held, like: int) -> dict[int, float]:
            return self._at_disk(held, rows[like])

        @cache
        def even() -> list[dict[int, float]]:
            return even_rates(
                rows,
                first,
                shared,
                io=self.io,
                disk_partitions=len(self.sizes),
                processor_partitions=self.arrangement.processor_partitions,
            )

        def rates(rooms: PartitionRooms) -> Rates:
            if rooms.sizes == self.sizes and _told_apart(rooms):
                return lambda held, k: paced(apart(held, first[k]), k)
            most = rooms.multiprogramming
            return lambda held, k: {j: x for j, x in paced(even()[k], k).items() if j <= most}

        if arrival_rate is None:
            if self.level_of_detail > 1:
                return self._spread(even())
            rooms = (self.rooms, self.alike)[self.level_of_detail]
            return _occupancy(rooms).solved(rates(rooms), None)
        if self.followed is None:
            return self._spread(even())
        rooms, arrivals = self.followed
        if rooms.multiprogramming == self.arrangement.multiprogramming:
            return _occupancy(rooms).solved(rates(rooms), arrival_rate, arrivals)
        fewer = _below_capacity(rooms, rates(rooms), arrival_rate, arrivals)
        return fewer.among(self._spread(even()))

    def _at_disk(self, held: Held, cpu: list[float]) -> dict[int, float]:
        """As `partition_rates`; with too many jobs for it, the disk or the processors limit."""
        if sum(held) <= MOST_AT_DISK:
            return partition_rates(held, self.io, cpu)
        total = min(1.0 / self.io if self.io else np.inf, sum(1.0 / cpu[j] for j in held))
        return {j: min(total / len(held), 1.0 / cpu[j]) for j in set(held)}

    def _spread(self, rates: list[dict[int, float]]) -> PartitionLoads:
        """Loads where jobs are spread evenly over the processor partitions."""
        c, most = self.arrangement.max_running, self.arrangement.multiprogramming
        number, rate = np.zeros((c + 1, most + 1)), np.zeros((c + 1, most + 1))
        for k in range(c + 1):
            jobs = spread(k, self.arrangement.processor_partitions)
            for j in set(jobs):
                number[k, j] = jobs.count(j)
                rate[k, j] = rates[k][j] if j else 0.0
        return PartitionLoads(number, rate, np.zeros(number.shape), 1.0, number, followed=False)


def _below_capacity(
    rooms: PartitionRooms, rates: Rates, arrival_rate: float, arrivals: PhaseType | MAP | None
) -> PartitionLoads:
    """Loads of partitions with room for fewer jobs than there is, at no more than nearly what these carry."""
    occupancy, c = _occupancy(rooms), rooms.max_running
    saturated = occupancy.solved(rates, None)
    most = _NEARLY * float(saturated.number[c] @ saturated.rate[c])
    return occupancy.solved(rates, min(arrival_rate, most), arrivals)


def _for_ever_fewer(rooms: PartitionRooms, order: int, *, in_full: bool) -> Iterator[PartitionRooms]:
    """Yield rooms that can be followed beside so many stages of arrivals, with ever less room."""
    for most in range(rooms.multiprogramming, 1, -1):
        running = min(rooms.max_running, most * sum(rooms.sizes))
        fewer = replace(rooms, multiprogramming=most, max_running=running)
        if _told_apart(fewer, order) or (in_full and fewer == rooms):
            yield fewer


def _told_apart(rooms: PartitionRooms, order: int = 1) -> bool:
    """Whether states are few, beside so many stages of arrivals, and those of a disk within the floats."""
    few = rooms.count() * order <= MOST_OCCUPANCIES
    return few and rooms.sizes[0] * rooms.multiprogramming <= MOST_AT_DISK


def _soon(rooms: PartitionRooms, order: int) -> bool:
    """Whether the occupancy is solved soon beside so many stages of arrivals."""
    return order == 1 or queue_seconds(order * np.array(_occupancy(rooms).sizes)) <= _SECONDS


# Some thousand small tuples and numbers each, at most some 3 MB; as many as a comparison of all
# policies of a machine looks at, load after load.
@lru_cache(maxsize=64)
def _occupancy(rooms: PartitionRooms) -> Occupancy:
    return Occupancy(rooms)


# They hang on no arrival rate and no law of demand, so a sweep of loads or a map of policies finds
# them once only; some 500 bytes each.
@lru_cache(maxsize=16_384)
def _plain_rates(held: Held, io: float, cpu: float, numbers: int) -> dict[int, float]:
    """Rates of what a disk partition holds, before turns are reckoned with."""
    return partition_rates(held, io, [cpu] * numbers)


# A map of policies asks for the same ones again for every law of demand; some 20 kB each.
@lru_cache(maxsize=512)
def _plain_loads(
    arrangement: Arrangement,
    cpu: float,
    io: float,
    arrival_rate: float | None,
    arrivals: PhaseType | MAP | None,
) -> PartitionLoads:
    """Loads of exponential jobs that share all they use, at an arrival rate or always waiting."""
    machine = Machine(
        arrangement, cpu, io, phases=1.0, scv=1.0, persistent=False, sharing="ps", arrivals=arrivals
    )
    found = machine.loads(machine.plain, arrival_rate)
    for each in (found.number, found.rate, found.onto, found.seen):
        read_only(each)
    return found


def all_alike(machine: Machine, demand: PhaseType, step: Partitions, given: Array | None) -> RunningChain:
    """All of k running jobs at one speed."""
    c = machine.arrangement.max_running
    work = step.work
    if given is not None:
        work = np.concatenate([[0.0], given])
    speeds = work / np.maximum(np.arange(c + 1), 1)
    centre = sharing_centre(demand, c, speeds)
    busy = _busy(machine, np.repeat(work, np.diff(centre.starts)))
    return RunningChain(centre, *busy, at_one_speed=(demand, speeds[1:]))


def _busy(machine: Machine, work: Array) -> tuple[Array, Array]:
    """Processors and disks that so many mean jobs' work per second keeps busy."""
    arrangement = machine.arrangement
    p = arrangement.system.processors / arrangement.processor_partitions
    return work * machine.cpu * p, work * machine.io * arrangement.disks


def speeds_by_branch(demand: PhaseType, step: Partitions) -> list[tuple[Array, Array, Array]]:
    """Return what `mixed_speeds` says of 1..M jobs of the two branches of a demand on a partition."""
    alpha, (first, second) = float(demand.alpha[0]), (1.0 / demand.exit).tolist()
    return [mixed_speeds(j, alpha, (first, second), step.ratio[:, j]) for j in range(1, step.ratio.shape[1])]


def by_branch(
    machine: Machine,
    demand: PhaseType,
    mixed: list[tuple[Array, Array, Array]],
    step: Partitions,
    given: Array | None,
) -> RunningChain:
    """Jobs of two classes, the branches of their demand, by the counts of both; see `speeds_by_branch`."""
    arrangement, loads = machine.arrangement, step.loads
    c, most = arrangement.max_running, arrangement.multiprogramming
    alpha = float(demand.alpha[0])
    means = (float(1.0 / demand.exit[0]), float(1.0 / demand.exit[1]))
    # (c + 1, M + 1, M + 1, 2): work per second of a job of each class, by k, j and the first class
    speeds = np.zeros((c + 1, most + 1, most + 1, 2))
    composed = None
    for j, (own, fresh, law) in enumerate(mixed, start=1):
        throughput = loads.rate[:, j] * step.loss[:, j] / fresh
        speeds[:, j, : j + 1] = own * throughput[:, None, None]
        composed = law[-1]
    ways = Occupancies.of(c, 2)
    ones, twos = ways.counts[:, 0].astype(int), ways.counts[:, 1].astype(int)
    law = np.zeros((most + 1, most + 1))
    if step.saturated:
        law[most] = composed
    else:
        ends = np.einsum("kj,kjas->jas", loads.levels, speeds) / np.array(means)
        law = partition_classes(loads.starts, loads.replaced, ends, alpha)
    mixes = np.zeros((most + 1, most + 1))  # logarithm of the mixes' probabilities over binomial
    if arrangement.processor_partitions > 1 and loads.followed:
        mixes = _mixes(law)
    chosen = _drawn(loads.number, mixes, ones, twos)
    jobs = np.arange(most + 1)
    of_class = np.stack([np.broadcast_to(jobs, (most + 1,) * 2), jobs[:, None] - jobs], axis=-1)
    own = speeds[ones + twos] * np.maximum(of_class, 0)
    done = np.einsum("qja,qjas->qs", chosen, own)
    each = done / np.maximum(np.stack([ones, twos], axis=1), 1)
    begin, end = (np.broadcast_to(x, (c + 1, 2)) for x in (demand.alpha, demand.exit))
    staged = StagedJobs(ways, begin, np.zeros((c + 1, 2, 2)), end, each)
    if given is not None:
        faster = level_factors(staged.centre(), done.sum(axis=1), given)[staged.running]
        staged = replace(staged, speeds=staged.speeds * faster[:, None])
        done = done * faster[:, None]
    return RunningChain(staged.centre(), *_busy(machine, done.sum(axis=1)), staged=staged)


def _mixes(law: Array) -> Array:
    """How much likelier each mix of classes is on a partition than if classes were drawn."""
    most = len(law) - 1
    jobs = np.arange(most + 1)
    first = float((law * jobs).sum() / max((law * jobs[:, None]).sum(), 1e-300))
    found = np.zeros(law.shape)
    log = log_factorials(most)
    for j in range(1, most + 1):
        a = np.arange(j + 1)
        total = law[j].sum()
        if total <= 0.0 or not 0.0 < first < 1.0:
            continue
        binomial = log[j] - log[a] - log[j - a] + a * np.log(first) + (j - a) * np.log1p(-first)
        found[j, : j + 1] = np.log(np.maximum(law[j, : j + 1] / total, 1e-300)) - binomial
    return found


def _drawn(number: Array, mixes: Array, ones: Array, twos: Array) -> Array:
    """Mean number of partitions with j jobs of which a are of the first class, (states, j, a).

    Hypergeometric weights times those of the mixes, tilted such that the jobs of the first class
    on all partitions are as many as there are.
    """
    most = number.shape[1] - 1
    found = np.zeros((ones.size, most + 1, most + 1))
    log = log_factorials(max(most, int((ones + twos).max())))
    draw_classes(np.array(number), mixes, ones, twos, np.array(log), found)
    return found
