"""The model of a mix of jobs: counted by class, each as fast as in the closed network of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, reduce
from math import comb
from typing import Final, Literal, NamedTuple

import numpy as np

from phasefit import PhaseType, convolve
from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.occupancy import Occupancies
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.bursts_in_service import affordable, drawn, served
from qmodels.policies.models.crowding import Disks
from qmodels.policies.models.demand import is_near, simpler_laws
from qmodels.policies.models.larger_partitions import mean_sizes
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.shared_disk import sharing_throughput
from qmodels.policies.models.sized_jobs import ALIKE, alternating, two_sizes
from qmodels.policies.models.stage_counts import Counts, FollowedStages, StagedJobs
from qmodels.policies.models.time_sharing_loads import VARIABLE, two_branches
from qmodels.policies.system import Arrangement, Workload
from qmodels.programs import AbstractProgram, Program
from qmodels.programs.model import parts

#: States with all partitions taken, and of all levels, up to which jobs are counted by class.
MOST_STATES: Final = 500
_ALL_STATES: Final = 12_000
#: Phases of the demand of the one job that is followed, at most.
_MOST_OWN: Final = 16
#: Ways in which jobs of the classes may be together on a disk partition.
_MOST_CONTENTS: Final = 1000
#: Transfers that are so many times longer than the mean hold up those behind them.
_LONG: Final = 1.2
#: A demand so variable that in which working set a large job is matters to those behind it.
_BLOCKING: Final = 5.0
#: Shares of I/O in a job's time, and capacities, that differ by less are one.
_SAME: Final = 1e-9
#: Part of the longest transfer that stands for a burst that a class does not have.
_NONE: Final = 1e-9


@MODELS.register
class JobClasses(AbstractModel):
    """In a stage of its demand, as fast as its program is beside the others on its disks."""

    name = "job-classes"
    rank = 26
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: unlike programs, or unlike bursts in turn at disks."""
        return needs_classes(case) and _counted(case) is not None

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If bursts have laws of their own, partitions are of several sizes, or there are too
            many jobs and classes.

        Notes
        -----
        Given how many jobs of each class run, those on a disk partition are taken as drawn from
        them, and get on as in the closed network of their classes: in product form where they
        share the disk, else as in `bursts_in_service`. Exact in the mean of many bursts with one disk
        partition that jobs share.
        """
        counted = _counted(case)
        if counted is None:
            raise ModelError(
                f'model="{self.name}" counts few jobs of few classes on partitions of one size; use '
                f'model="speed-scaled", or simulate'
            )
        case.check_stages(counted.order)
        saturated = counted.running(None)
        # disks that are shared carry as much of a mix as of mean jobs; the chain may say a little more
        shared = not counted.in_turn and saturated.capacity >= case.capacity * (1.0 - _SAME)
        most = case.capacity if shared else saturated.capacity
        depends = counted.disks.depends_on_arrivals or counted.unequal
        at_rate = counted.running if depends else None
        said = (*counted.disks.simplifications, *counted.simplifications)
        return BuiltModel(self, saturated, False, most, said, at_rate=at_rate)


def needs_classes(case: Case) -> bool:
    """Return whether the jobs of a case get on unlike each other on their disks."""
    at, workload = case.arrangement, case.workload
    if case.given or (at.private and not case.approximation):
        return False
    return _unlike(case) or (at.disks_in_turn and (workload.demand.scv > VARIABLE or _several(workload)))


def _several(workload: Workload) -> bool:
    """Return whether jobs are of several programs."""
    return workload.mix == "each" and len(parts(workload.program)) > 1


def _unlike(case: Case) -> bool:
    """Return whether the programs of a mix share their disks unlike each other."""
    if not _several(case.workload):
        return False
    p, d = case.policy.allotment(case.system)
    times = [
        (float(each.mean_io(p, d)), float(each.mean_cpu(p, d))) for _, each in parts(case.workload.program)
    ]
    shares = [io / (io + cpu) for io, cpu in times]
    return max(shares) - min(shares) > _SAME or bool(case.approximation)


@dataclass(frozen=True)
class JobClass:
    """Jobs of one program, or of one branch of its demand, or these in one of their working sets."""

    weight: float  #: probability that a job is of it, at one time or another
    program: AbstractProgram
    law: PhaseType  #: of a job's time, in units of a mean job of the class
    size: float  #: mean time over that of a mean job of the program
    first: bool = True  #: whether a job begins in it
    last: bool = True  #: whether it ends there; else it goes on in the next class of a list

    @property
    def phases(self) -> float:
        """Bursts of each kind of a job."""
        return _phases(self.program)

    def times(self, p: float, d: float) -> tuple[float, float]:
        """Return mean I/O and mean computation of a job alone on p processors and d disks."""
        return (
            self.size * float(self.program.mean_io(p, d)),
            self.size * float(self.program.mean_cpu(p, d)),
        )


def _classes(workload: Workload, law: PhaseType, *, by_size: bool) -> list[JobClass]:
    """Return the programs of a workload, each cut into the branches of its demand if `by_size`."""
    branches = [(1.0, 1.0)]
    if by_size and law.order > 1 and not law.jumps.any():
        branches = [(a, 1.0 / x) for a, x in zip(law.alpha.tolist(), law.exit.tolist(), strict=True) if a]
        law = PhaseType.exponential(mean=1.0)
    return [
        JobClass(weight * share, program, law, size)
        for weight, program in parts(workload.program)
        for share, size in branches
    ]


def _laws(workload: Workload, *, in_turn: bool) -> Iterator[tuple[PhaseType, tuple[str, ...]]]:
    """Yield the law of demand, then ever simpler ones that are near to it, and what each leaves out."""
    law = workload.demand
    if in_turn and law.scv > VARIABLE and (law.order != 2 or law.jumps.any()):
        law = two_branches(law)
        yield law, (f"a demand matched by two branches, scv {law.scv:.3g}",)
    else:
        yield law, ()
    for simpler, said in simpler_laws(law):
        if simpler.order < law.order and is_near(simpler, law):
            yield simpler, (said,)
    exponential = PhaseType.exponential(mean=1.0)
    if law.order > 1 and is_near(exponential, law):
        yield exponential, (f"a demand of scv {law.scv:.3g} taken as exponential",)


@lru_cache(maxsize=1)  # several models choose among the same, one after the other
def counted_jobs(case: Case) -> tuple[CountedJobs, ...]:
    """Return the jobs of a case by class, ever fewer of these; nothing where they cannot be counted."""
    return tuple(_ever_fewer(case))


def _ever_fewer(case: Case) -> Iterator[CountedJobs]:
    workload = case.workload
    if workload.has_bursts or workload.mix == "mean" or case.arrangement.unequal_sizes:
        return
    in_turn = case.arrangement.disks_in_turn
    for law, said in _laws(workload, in_turn=in_turn):
        classes = _classes(workload, law, by_size=in_turn)
        # of less variable demands the small jobs count, which are not cut by working set
        cuts = [_sized(case, law, by_set=True)] if in_turn and law.scv > _BLOCKING else []
        cuts += [_sized(case, law, by_set=False)] if in_turn else []
        for cut in (*cuts, classes):
            long = _long(case, cut) if in_turn else []
            for number in range(len(long), 0 if cut is not classes else -1, -1):
                yield CountedJobs(case, cut, said, in_turn=in_turn, long=long[:number])


def _sized(case: Case, law: PhaseType, *, by_set: bool) -> list[JobClass]:
    """Return the programs cut by size so that bursts one by one make up the law; none where they cannot.

    Jobs of a size whose transfers hold up others are cut by working set too, if `by_set`.
    """
    at, found = case.policy.allotment(case.system), []
    mixed = parts(case.workload.program)
    mean = sum(w * float(x.mean_io(*at)) for w, x in mixed) / sum(w * float(x.mean_phases) for w, x in mixed)
    for weight, program in mixed:
        sets = _sets(program) if by_set else [program]
        alone = reduce(
            convolve,
            [alternating(float(x.mean_io(*at)), float(x.mean_cpu(*at)), _phases(x), 1).law() for x in sets],
        )
        second, third = (alone.moment(k) / alone.mean**k for k in (2, 3))
        if second > law.moment(2) * (1.0 + ALIKE):
            return []
        if law.scv > _BLOCKING:
            # Bursts of a class vary more than its jobs' times, so no sizes keep the moments of both:
            # where single ones matter as much these are halfway between.
            second, third = np.sqrt(2.0 * second), np.sqrt(6.0 * third)
        for share, size in two_sizes(law.moment(2) / second, law.moment(3) / third):
            bursts = [size * float(x.mean_io(*at)) / _phases(x) for x in sets]
            own = sets if max(bursts) > _LONG * mean else [program]
            for n, x in enumerate(own):
                ends = n == 0, n == len(own) - 1
                found.append(JobClass(weight * share, x, PhaseType.exponential(mean=1.0), size, *ends))
    return found if not by_set or not all(x.first for x in found) else []


def _sets(program: AbstractProgram) -> list[AbstractProgram]:
    """Return the working sets of a program that goes through them once, as programs of their own."""
    if not isinstance(program, Program) or program.phase_count is not None:
        return [program]
    return [Program([each]) for each in program.working_sets]


def _phases(program: AbstractProgram) -> float:
    return max(1.0, float(program.mean_phases))


def _counted(case: Case) -> CountedJobs | None:
    """Return the jobs of a case by class; None where they are too many."""
    return next((found for found in counted_jobs(case) if found.fits), None)


def _long(case: Case, classes: list[JobClass]) -> list[int]:
    """Return the classes whose transfers are so long that others wait for them, the longest first."""
    if not classes:
        return []
    at = case.policy.allotment(case.system)
    phases = np.array([each.phases for each in classes])
    bursts = np.array([each.times(*at)[0] for each in classes]) / phases
    mean = np.average(bursts, weights=phases * [each.weight for each in classes])
    long = [r for r, each in enumerate(classes) if bursts[r] > _LONG * mean and each.law.order == 1]
    return sorted(long, key=lambda r: -bursts[r])


class _Kind(NamedTuple):
    """Jobs that are counted together: of a class, all of them or those in one of their bursts."""

    of: int  #: which class
    part: Literal["whole", "transfer", "computation"]


class CountedJobs:
    """The running jobs of a case by class."""

    def __init__(
        self,
        case: Case,
        classes: list[JobClass],
        reduced: tuple[str, ...],
        *,
        in_turn: bool,
        long: list[int],
    ) -> None:
        self.arrangement: Arrangement = case.arrangement.at_mean_sizes()
        self.workload, self.classes, self.in_turn = case.workload, classes, in_turn
        #: what is not followed, () for nothing
        self.simplifications = reduced
        if case.approximation:
            said = "programs that do not scale alike, each at the mean speed of its jobs"
            self.simplifications += (said,)
        self.kinds: list[_Kind] = []
        for r in range(len(classes)):
            if r in long:
                self.kinds += [_Kind(r, "transfer"), _Kind(r, "computation")]
            else:
                self.kinds.append(_Kind(r, "whole"))
        #: stages of each kind, and where a job of these begins, goes on and ends
        self.stages = [classes[x.of].law.order for x in self.kinds]
        self.order = sum(self.stages)
        self.alpha, self.jumps, self.exits = self._routes(classes)
        self.disks = Disks(self.arrangement, case.workload)
        self.as_it_is = case.arrangement
        # asked for again and again, by the processors of a job
        self.times, self.pieces, self.ended = cache(self._times), cache(self._pieces), cache(self._ended)

    def _routes(self, classes: list[JobClass]) -> tuple[Array, Array, Array]:
        """Return where a job begins, goes on and ends, in units of the ends of its kind."""
        starts = np.cumsum([0, *(classes[x.of].law.order for x in self.kinds)]).tolist()
        order = starts[-1]
        alpha, exits, jumps = np.zeros(order), np.zeros(order), np.zeros((order, order))
        for (r, part), here in zip(self.kinds, map(slice, starts[:-1], starts[1:]), strict=True):
            each = classes[r]
            if part != "computation" and each.first:
                alpha[here] = each.weight * each.law.alpha
            if part == "transfer":
                jumps[here.start, here.stop] = 1.0
                continue
            ends = each.law.exit
            if part == "whole":
                jumps[here, here] = each.law.jumps
            else:
                jumps[here.start, here.start - 1] = 1.0 - 1.0 / each.phases
                ends = ends / each.phases
            if each.last:
                exits[here] = ends
            else:
                jumps[here, here.stop] += ends
        return alpha, jumps, exits

    @property
    def _nearer(self) -> FollowedStages | None:
        """A job that keeps its demand, or a law near to it, where the others have a simpler one."""
        demand, few, kinds = self.workload.demand, self.classes[0].law.order, len(self.kinds)
        laws = [law for law, _ in simpler_laws(demand) if few < law.order <= _MOST_OWN]
        whole = all(kind.part == "whole" for kind in self.kinds) and all(x.size == 1.0 for x in self.classes)
        if not laws or not whole:  # jobs that are cut by size have no law of the demand
            return None
        routes = self._at_levels(*self._routes([replace(each, law=laws[0]) for each in self.classes]))
        like = few * np.arange(kinds * laws[0].order) // laws[0].order
        return FollowedStages(routes[0], routes[1], routes[2], like)

    @property
    def sizes(self) -> Array:
        """States with 0..c jobs running."""
        return occupancy_counts(self.arrangement.max_running, self.order)

    @property
    def fits(self) -> bool:
        """Whether the states are few enough, and the ways in which jobs may be together."""
        full = self.sizes[-1] * self.workload.arrivals.order
        return full <= MOST_STATES and sum(self.sizes) <= _ALL_STATES and self.affordable

    @property
    def affordable(self) -> bool:
        """Whether the ways in which jobs may be together on a disk partition are few enough."""
        s, most = len(self.kinds), self.most
        if comb(most + s, s) > _MOST_CONTENTS:
            return False
        return not self.in_turn or affordable(most, len(self.classes))

    @property
    def unequal(self) -> bool:
        """Whether some partitions are larger than others, which a job has by how many run."""
        return len(set(self.as_it_is.partition_sizes)) > 1 and not self.as_it_is.repartitioned

    def _times(self, p: float) -> Array:
        """Return mean I/O and computation of the classes on p processors, (2, S)."""
        return np.array([each.times(p, self.arrangement.disks) for each in self.classes]).T

    def _pieces(self, p: float) -> Array:
        """Return mean I/O and computation of what ends of each kind on p processors, (2, kinds)."""
        found = self.times(p)[:, [x.of for x in self.kinds]]
        for at, (r, part) in enumerate(self.kinds):
            if part != "whole":
                found[:, at] /= self.classes[r].phases
                found[0 if part == "computation" else 1, at] = 0.0
        return found

    @property
    def most(self) -> int:
        """Jobs on a disk partition at most."""
        return min(max(self.disks.rooms.rooms), self.arrangement.max_running)

    @cached_property
    def contents(self) -> Counts:
        """Who may be on a disk partition: jobs of each kind, (E, kinds), without nobody."""
        return np.asarray(Occupancies.of(self.most, len(self.kinds)).counts[1:], dtype=np.int64)

    def _ended(self, p: float) -> Array:
        """Return what ends of each kind per second, by the contents of a disk partition, (E, kinds).

        Each job has p processors.
        """
        io, cpu = self.times(p)
        if not self.in_turn or io.max() == 0.0:
            return sharing_throughput(self.contents, io, cpu)
        phases = np.array([each.phases for each in self.classes])
        least = _NONE * io.max()  # of what a class does not do, for the network to have a rate
        bursts, away = (np.maximum(time / phases, least) for time in (io, cpu))
        return np.array([self._in_turn(jobs, bursts, away) for jobs in self.contents.tolist()])

    def _in_turn(self, jobs: list[int], bursts: Array, away: Array) -> Array:
        """Return the same where disks serve in turn, by the jobs of each kind.

        The counts of those at the disk are as likely as in the closed network of these jobs, given
        how many of the long ones are there.
        """
        by_class, there = [0] * len(self.classes), {}
        for number, (r, part) in zip(jobs, self.kinds, strict=True):
            by_class[r] += number
            if part == "transfer":
                there[r] = number
        found = served(tuple(by_class), tuple(bursts.tolist()), tuple(away.tolist()), True)
        serving = found.always
        if there:
            such = [d for d in found.given if all(d[r] == n for r, n in there.items())]
            none = 0.0 if any(there.values()) else max(1.0 - sum(found.there.values()), 0.0)
            total = none + sum(found.there[d] for d in such)
            serving = sum((found.there[d] * found.given[d] for d in such), np.zeros(len(by_class)))
            serving = serving / total if total > 0.0 else serving
        ended = []
        for number, (r, part) in zip(jobs, self.kinds, strict=True):
            pace = number / away[r] if part == "computation" else serving[r] / bursts[r]
            ended.append(pace / (self.classes[r].phases if part == "whole" else 1.0))
        return np.array(ended)

    def running(self, arrival_rate: float | None) -> RunningChain:
        """Return the chain of the running jobs at an arrival rate, or while jobs always wait."""
        c, kinds = self.arrangement.max_running, len(self.kinds)
        processors = mean_sizes(self.as_it_is, self.workload.program, arrival_rate)
        lying = self.disks.crowding(arrival_rate)
        ways = Occupancies.of(c, self.order)
        running = np.repeat(np.arange(c + 1), np.diff(ways.starts))
        kind = np.repeat(np.arange(kinds), self.stages)
        counts = np.stack([ways.counts[:, kind == r].sum(axis=1) for r in range(kinds)], axis=1)
        counts = np.asarray(counts, dtype=np.int64)
        most, contents = self.most, self.contents
        different, place = np.unique(counts, axis=0, return_inverse=True)
        chance, place = drawn(different, contents), place.ravel()
        ended = np.zeros(counts.shape)
        for k in range(1, c + 1):
            number = np.zeros(most + 1)  # of disk partitions, by the jobs on them
            for crowd, probability in zip(lying.crowds[k], lying.probabilities[k], strict=True):
                np.add.at(number, list(crowd), probability)
            rows = np.flatnonzero(running == k)
            lying_so = chance[place[rows]] * number[contents.sum(axis=1)]
            ended[rows] = lying_so @ self.ended(float(processors[k]))
        staged = self._staged(ways, (ended / np.maximum(counts, 1))[:, kind])
        pieces = np.array([self.pieces(p) for p in processors.tolist()])
        moving = (ended * pieces[running, 0]).sum(axis=1) * self.arrangement.disks
        computing = (ended * pieces[running, 1]).sum(axis=1) * processors[running]
        return RunningChain(staged.centre(), computing, moving, staged=staged)

    def _staged(self, ways: Occupancies, speeds: Array) -> StagedJobs:
        """Return the jobs by the stages of all kinds."""
        routes = self._at_levels(self.alpha, self.jumps, self.exits)
        return StagedJobs(ways, routes[0], routes[1], routes[2], speeds, self._nearer)

    def _at_levels(self, *routes: Array) -> list[Array]:
        """Return the same for 0..c running jobs."""
        return [np.broadcast_to(x, (self.arrangement.max_running + 1, *x.shape)) for x in routes]
