"""The model of a mix of jobs: counted by class, each as fast as in the closed network of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.networks.occupancy import Occupancies
from qmodels.networks.sizes import occupancy_counts
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.bursts_in_service import affordable, drawn, served
from qmodels.policies.models.crowding import Disks
from qmodels.policies.models.demand import simpler_laws
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.models.shared_disk import sharing_throughput
from qmodels.policies.models.stage_counts import Counts, StagedJobs
from qmodels.policies.models.time_sharing_loads import VARIABLE, two_branches
from qmodels.policies.system import Arrangement, Workload
from qmodels.programs import AbstractProgram
from qmodels.programs.model import parts

Array = NDArray[np.float64]

#: States with all partitions taken, and of all levels, up to which jobs are counted by class.
MOST_STATES: Final = 500
_ALL_STATES: Final = 12_000
#: Ways in which jobs of the classes may be together on a disk partition.
_MOST_CONTENTS: Final = 1000
#: A law of demand may be put more simply where a job's second moment changes by less.
_NEAR: Final = 0.2
#: Shares of I/O in a job's time, and capacities, that differ by less are one.
_SAME: Final = 1e-9


@MODELS.register
class JobClasses(AbstractModel):
    """In a stage of its demand, as fast as its program is beside the others on its disks."""

    name = "job-classes"
    rank = 26
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: unlike programs, or unlike bursts in turn at disks."""
        at, workload = case.arrangement, case.workload
        in_turn = _in_turn(case)
        if case.given or (at.private and not case.approximation):
            return False
        if not (_unlike(case) or (in_turn and (workload.demand.scv > VARIABLE or _several(workload)))):
            return False
        return _counted(case) is not None

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
        check_blocks(
            f"the chain of {counted.arrangement.max_running} jobs of {counted.order} stages",
            counted.sizes.tolist(),
            case.workload.arrivals,
            case.memory,
            "use a demand law of lower order or fewer partitions",
        )
        saturated = counted.running(None)
        said = [*counted.disks.simplifications, *counted.reduced]
        if case.approximation:
            said.append("programs that do not scale alike, each at the mean speed of its jobs")
        # disks that are shared carry as much of a mix as of mean jobs; the chain may say a little more
        shared = not counted.in_turn and saturated.capacity >= case.capacity * (1.0 - _SAME)
        most = case.capacity if shared else saturated.capacity
        at_rate = counted.running if counted.disks.depends_on_arrivals else None
        return BuiltModel(self, saturated, False, most, tuple(said), at_rate=at_rate)


def _several(workload: Workload) -> bool:
    """Return whether jobs are of several programs."""
    return workload.mix == "each" and len(parts(workload.program)) > 1


def _in_turn(case: Case) -> bool:
    """Return whether jobs take turns at the disks that they share."""
    return case.system.disk_discipline != "ps" and not case.arrangement.private


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
    """Jobs of one program, or of one branch of its demand."""

    weight: float  #: probability that a job is of it
    program: AbstractProgram
    law: PhaseType  #: of a job's time, in units of a mean job of the class
    size: float  #: mean time over that of a mean job of the program

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
        return
    for simpler, said in simpler_laws(law):
        if abs(simpler.moment(2) / law.moment(2) - 1.0) <= _NEAR:
            yield simpler, (said,) if said else ()


def _counted(case: Case) -> _CountedJobs | None:
    """Return the jobs of a case by class; None where they cannot be counted."""
    workload = case.workload
    if workload.has_bursts or workload.mix == "mean" or len(set(case.arrangement.sizes or ())) > 1:
        return None
    in_turn = _in_turn(case)
    for law, said in _laws(workload, in_turn=in_turn):
        found = _CountedJobs(case, _classes(workload, law, by_size=in_turn), said, in_turn=in_turn)
        if found.fits:
            return found
    return None


class _CountedJobs:
    """The running jobs of a case by class."""

    def __init__(
        self, case: Case, classes: list[JobClass], reduced: tuple[str, ...], *, in_turn: bool
    ) -> None:
        self.arrangement: Arrangement = case.arrangement.at_mean_sizes()
        self.workload, self.classes, self.reduced, self.in_turn = case.workload, classes, reduced, in_turn
        self.order = sum(each.law.order for each in classes)
        self.disks = Disks(self.arrangement, case.workload)

    @property
    def sizes(self) -> Array:
        """States with 0..c jobs running."""
        return occupancy_counts(self.arrangement.max_running, self.order)

    @property
    def fits(self) -> bool:
        """Whether the states are few enough, and the ways in which jobs may be together."""
        s, most = len(self.classes), max(self.disks.rooms.rooms)
        full = self.sizes[-1] * self.workload.arrivals.order
        if full > MOST_STATES or sum(self.sizes) > _ALL_STATES or comb(most + s, s) > _MOST_CONTENTS:
            return False
        return not self.in_turn or affordable(most, s)

    def times(self, k: int) -> Array:
        """Return mean I/O and computation of the classes while k jobs run, (2, S)."""
        p, d = self.arrangement.mean_processors(max(k, 1)), self.arrangement.disks
        return np.array([each.times(p, d) for each in self.classes]).T

    def throughput(self, contents: Counts, k: int) -> Array:
        """Return jobs per second of each class at a disk partition, by who is on it, (E, S)."""
        io, cpu = self.times(k)
        if not self.in_turn or io.min() == 0.0:
            return sharing_throughput(contents, io, cpu)
        phases = np.array([max(1.0, float(each.program.mean_phases)) for each in self.classes])
        away = np.maximum(cpu / phases, 1e-9 * io.max())
        means = tuple((io / phases).tolist()), tuple(away.tolist())
        return np.array([served(tuple(jobs), *means, True).always / io for jobs in contents.tolist()])

    def running(self, arrival_rate: float | None) -> RunningChain:
        """Return the chain of the running jobs at an arrival rate, or while jobs always wait."""
        arrangement, c, kinds = self.arrangement, self.arrangement.max_running, len(self.classes)
        lying = self.disks.crowding(arrival_rate)
        ways = Occupancies.of(c, self.order)
        running = np.repeat(np.arange(c + 1), np.diff(ways.starts))
        kind = np.repeat(np.arange(kinds), [each.law.order for each in self.classes])
        counts = np.stack([ways.counts[:, kind == r].sum(axis=1) for r in range(kinds)], axis=1)
        counts = np.asarray(counts, dtype=np.int64)
        most = max(max(crowd, default=0) for level in lying.crowds for crowd in level)
        contents = np.asarray(Occupancies.of(most, kinds).counts[1:], dtype=np.int64)
        different, place = np.unique(counts, axis=0, return_inverse=True)
        chance, place = drawn(different, contents), place.ravel()
        done, rates = np.zeros(counts.shape), {}
        for k in range(1, c + 1):
            number = np.zeros(most + 1)  # of disk partitions, by the jobs on them
            for crowd, probability in zip(lying.crowds[k], lying.probabilities[k], strict=True):
                np.add.at(number, list(crowd), probability)
            p = arrangement.mean_processors(k)
            if p not in rates:
                rates[p] = self.throughput(contents, k)
            rows = np.flatnonzero(running == k)
            done[rows] = (chance[place[rows]] * number[contents.sum(axis=1)]) @ rates[p]
        staged = self._staged(ways, (done / np.maximum(counts, 1))[:, kind])
        times = np.array([self.times(k) for k in range(c + 1)])
        p_of = np.array([arrangement.mean_processors(max(k, 1)) for k in range(c + 1)])
        moving = (done * times[running, 0]).sum(axis=1) * arrangement.disks
        computing = (done * times[running, 1]).sum(axis=1) * p_of[running]
        return RunningChain(staged.centre(), computing, moving, staged=staged)

    def _staged(self, ways: Occupancies, speeds: Array) -> StagedJobs:
        """Return the jobs by the stages of all classes' laws."""
        laws, levels = [each.law for each in self.classes], (self.arrangement.max_running + 1,)
        alpha = np.concatenate([each.weight * each.law.alpha for each in self.classes])
        exits = np.concatenate([law.exit for law in laws])
        jumps = np.asarray(block_diag([law.jumps for law in laws]).toarray())
        return StagedJobs(
            ways,
            np.broadcast_to(alpha, (*levels, self.order)),
            np.broadcast_to(jumps, (*levels, self.order, self.order)),
            np.broadcast_to(exits, (*levels, self.order)),
            speeds,
        )
