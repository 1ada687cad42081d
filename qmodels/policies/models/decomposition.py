"""The paper's decomposition: jobs pass through bursts, those of I/O as long as in equilibrium.

With y jobs at a disk partition an I/O burst takes as long as in the closed network of y jobs that
alternate between their processors and that disk; when y changes, a job keeps its stage and goes
on at the rates for the new y.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from phasefit import PhaseType, match_moments
from phasefit.arrays import Array
from qmodels.errors import InfeasibleMomentsError
from qmodels.networks import ClosedNetwork
from qmodels.networks.sizes import tagged_size
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.disk_counts import (
    DiskPartitions,
    Stages,
    count_states,
    running_on_disks,
)
from qmodels.policies.models.job_stages import (
    MOST_STAGES,
    JobStages,
    Route,
    averaged,
    burst_laws,
    count_stages,
    job_stages,
    routes,
)
from qmodels.policies.system import Arrangement, spread
from qmodels.programs import AbstractProgram

#: States with all partitions taken, up to which nothing is simplified.
MOST_STATES: Final = 800
#: States of all levels, found one by one.
_SEARCHED: Final = 30_000
#: States of the chain of a tagged job, up to which the second moment of its sojourn is asked for.
_TAGGED: Final = 20_000


@dataclass(frozen=True, eq=False)
class JobShape:
    """How a job is laid out in stages, and what that leaves out."""

    routes: Callable[[float, float], list[Route]]  #: phases on p processors and d disks
    io: PhaseType  #: law of an I/O burst, of mean one
    cpu: PhaseType  #: law of a computation burst, of mean one
    simplification: str = ""  #: what is left out or put more simply; "" for nothing

    @property
    def order(self) -> int:
        """Stages of a job."""
        return count_stages(self.routes(1.0, 1.0), self.io, self.cpu)


@MODELS.register
class Decomposition(AbstractModel):
    """In a stage of a burst; those of I/O last as long as in the closed network of the disk's jobs."""

    name = "decomposition"
    rank = 40
    needs_bursts = True
    placement = "fewest-at-disk"

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If the workload has no laws of bursts.
        MemoryBudgetError
            If even the simplest form of the queue would not fit; nothing has been allocated then.

        Notes
        -----
        The sojourn of an I/O burst is matched in two moments by a Coxian law of two stages, whose
        stages correspond for all y, as long as every squared coefficient of variation is at least
        1/2; else, or where that would be too large, in its mean by the law of the burst slowed down.
        Jobs are told apart by disk partition if there is room for it; else they are spread evenly.
        Last, bursts are merged and laws simplified, such that the variability of a job's demand stays
        as near as it can.
        """
        arrangement, workload = case.arrangement.at_mean_sizes(), case.workload
        allotment = case.policy.allotment(case.system)
        io, cpu = burst_laws(workload, "decomposition")
        full = JobShape(lambda p, d: routes(workload.program, p, d), io, cpu)
        slowed = Slowdowns(workload.program, arrangement, io, cpu)
        fits = _fitting(workload.arrivals.order)

        def finished(on_disks: DiskPartitions, stages: Stages, order: int, *simplified: str) -> BuiltModel:
            case.check_size(
                f"the chain of {arrangement.max_running} jobs of {order} stages",
                count_states(on_disks, order),
                "use laws of lower order or fewer partitions",
            )
            running = running_on_disks(on_disks, stages)
            simplifications = tuple(filter(None, simplified))
            exact = not simplifications and arrangement.private and arrangement.sizes_hold
            return BuiltModel(self, running, exact, running.capacity, simplifications)

        apart = DiskPartitions.of(arrangement, shared=False, lumped=True)
        pooled = DiskPartitions.of(arrangement, shared=False, lumped=True, pooled=True)
        forms = [(apart, False, "")]
        if not arrangement.private and len(apart.slots) > 1:
            forms.append((pooled, True, "jobs spread evenly over the disk partitions"))
        # first nothing is left out, then the disk partitions, then the second moment
        if full.order <= MOST_STAGES:
            for on_disks, spread_evenly, left_out in forms:
                for moments in slowed.moments:
                    order = full.order if moments == 1 else _with_two_stages(full)
                    if fits(on_disks, order):
                        stages = slowed.stages(full, moments, spread_evenly)
                        fit = slowed.simplification(moments)
                        return finished(on_disks, stages, order, left_out, fit)
        # then the job itself: its bursts merged, or its whole time as one law
        shape, law, simpler = simpler_job(full, workload.program, allotment, pooled, fits)
        lost = (forms[-1][2], slowed.simplification(1), simpler)
        if law is None:
            return finished(pooled, slowed.stages(shape, 1, not arrangement.private), shape.order, *lost)
        return finished(pooled, slowed.whole_jobs(law), law.order, *lost)


class Slowdowns:
    """What sharing a disk partition does to I/O bursts, from the closed network of y jobs."""

    def __init__(
        self,
        program: AbstractProgram,
        arrangement: Arrangement,
        io: PhaseType,
        cpu: PhaseType,
    ) -> None:
        self.program, self.arrangement = program, arrangement
        self.io, self.cpu = io, cpu
        self.discipline = arrangement.system.disk_discipline
        self.by_ratio = cache(self._by_ratio)

    @property
    def moments(self) -> tuple[int, ...]:
        """Numbers of moments of the sojourn that can be matched, the best first."""
        if self.arrangement.private:
            return (1,)
        most = -(-self.arrangement.max_running // len(self.arrangement.slots))
        size = tagged_size(self.io, self.cpu, most, self.discipline, 1)[0]
        if size > _TAGGED:
            return (1,)
        needed = [
            (y, k)
            for k in range(1, self.arrangement.max_running + 1)
            for y in range(1, min(k, most) + 1)
            if k == self.arrangement.max_running or self.arrangement.repartitioned
        ]
        return (2, 1) if min(self.of(y, k)[1] for y, k in needed) >= 0.5 else (1,)

    def simplification(self, moments: int) -> str:
        """What the fit of the sojourns leaves out; "" for nothing."""
        if moments == 2 or self.arrangement.private:
            return ""
        return "sojourns at the disk matched in their mean only"

    def of(self, jobs: int, running: int) -> tuple[float, float]:
        """Mean sojourn over mean transfer, and scv of the sojourn, with so many jobs there."""
        p = self.arrangement.mean_processors(running)
        io = float(self.program.mean_io(p, self.arrangement.disks))
        cpu = float(self.program.mean_cpu(p, self.arrangement.disks))
        if io == 0.0 or jobs == 1:
            return 1.0, self.io.scv
        return self.by_ratio(jobs, cpu / io)

    def mean_of(self, jobs: int, running: int) -> float:
        """Mean sojourn over mean transfer."""
        return self.of(jobs, running)[0]

    def _by_ratio(self, jobs: int, ratio: float) -> tuple[float, float]:
        """The same by the ratio of computation to transfer, which is all that matters."""
        if ratio == 0.0:
            return float(jobs), self.io.scv
        found = ClosedNetwork(
            jobs, delay=self.cpu.scale(ratio), disk=self.io, discipline=self.discipline
        ).solve()
        if tagged_size(self.io, self.cpu, jobs, self.discipline, 1)[0] > _TAGGED:
            return found.mean_sojourn, self.io.scv
        return found.mean_sojourn, found.sojourn.scv

    def stages(self, shape: JobShape, moments: int, spread_evenly: bool) -> Stages:
        """Stages of a job by the number of jobs at its disk partition, or of all jobs."""

        @cache
        def laws(size_class: int, jobs: int, running: int) -> JobStages:
            return self._stages(shape, moments, size_class, jobs, running)

        def mixed(size_class: int, jobs: int, running: int) -> JobStages:
            held = [y for y in spread(max(jobs, 1), len(self.arrangement.slots)) if y > 0]
            shares = {y: y * held.count(y) / sum(held) for y in set(held)}
            jobs_there = [laws(size_class, y, running) for y in shares]
            weights = np.array(list(shares.values()))
            return JobStages(
                weights @ np.array([job.alpha for job in jobs_there]),
                np.tensordot(weights, np.array([job.jumps for job in jobs_there]), 1),
                weights @ np.array([job.exits for job in jobs_there]),
                jobs_there[0].transfers,
                float(weights @ [job.disk_share for job in jobs_there]),
            )

        if spread_evenly:
            return mixed
        if self.arrangement.private:
            return lambda size_class, jobs, running: laws(size_class, 1, running)
        return lambda size_class, jobs, running: laws(size_class, max(jobs, 1), max(running, 1))

    def whole_jobs(self, law: PhaseType) -> Stages:
        """Stages of a job whose whole time has this law, of mean one, times its mean time."""
        arrangement, program = self.arrangement, self.program
        both = np.ones(law.order, dtype=np.bool_)

        @cache
        def stages(size_class: int, jobs: int, running: int) -> JobStages:
            p, d = arrangement.processors(size_class, running), arrangement.disks
            io, cpu = float(program.mean_io(p, d)), float(program.mean_cpu(p, d))
            held = [1]
            if not arrangement.private:
                held = [y for y in spread(max(running, 1), len(arrangement.slots)) if y > 0]
            speed = sum(y / (cpu + io * self.mean_of(y, running)) for y in held) / sum(held)
            return JobStages(
                law.alpha,
                law.jumps * speed,
                law.exit * speed,
                both,
                disk_share=io * speed,
                processor_share=cpu * speed,
            )

        return stages

    def _stages(self, shape: JobShape, moments: int, size_class: int, jobs: int, running: int) -> JobStages:
        slow, scv = self.of(jobs, running)
        law = shape.io if moments == 1 else _coxian(scv)
        p, d = self.arrangement.processors(size_class, running), self.arrangement.disks
        phases = [Route(r.weight, r.io * slow, r.cpu, r.go_on, r.follows) for r in shape.routes(p, d)]
        return job_stages(phases, law, shape.cpu, disk_share=1.0 / slow)


def _coxian(scv: float) -> PhaseType:
    """Coxian law of two stages, mean one and this squared coefficient of variation, >= 1/2."""
    on = min(1.0, 0.5 / scv)
    return PhaseType.from_rates([1.0, 0.0], [[0.0, 2.0 * on], [0.0, 0.0]], [2.0 - 2.0 * on, 2.0 * on])


def _with_two_stages(shape: JobShape) -> int:
    return count_stages(shape.routes(1.0, 1.0), PhaseType.erlang(phases=2, mean=1.0), shape.cpu)


def _fitting(arrival_stages: int) -> Callable[[DiskPartitions, int], bool]:
    def fits(on_disks: DiskPartitions, order: int) -> bool:
        sizes = count_states(on_disks, order)
        return sizes[-1] * arrival_stages <= MOST_STATES and sum(sizes) <= _SEARCHED

    return fits


def simpler_job(
    full: JobShape,
    program: AbstractProgram,
    allotment: tuple[float, float],
    on_disks: DiskPartitions,
    fits: Callable[[DiskPartitions, int], bool],
) -> tuple[JobShape, PhaseType | None, str]:
    """Return a job that fits, its bursts merged or its whole time as one law, and what that leaves out.

    Parameters
    ----------
    full, program, allotment, on_disks, fits
        As for `nearest_shape`.

    Returns
    -------
    shape : JobShape
        The job.
    law : PhaseType or None
        Of its whole time; None where it keeps its stages.
    simplification : str
        What is left out, in words.
    """
    shape, scv = nearest_shape(full, program, allotment, on_disks, fits)
    wanted = scv_of_shape(full, allotment)
    law, whole_scv = whole_law(wanted, on_disks, fits)
    # stages of their own for I/O are worth more than the last tenth of the variability
    if abs(scv - wanted) <= max(0.1 * wanted, abs(whole_scv - wanted)):
        return shape, None, f"{shape.simplification} (scv of a job alone {scv:.3g} instead of {wanted:.3g})"
    return shape, law, f"a job's whole time, scv {wanted:.3g}, taken as one law of scv {whole_scv:.3g}"


def nearest_shape(
    full: JobShape,
    program: AbstractProgram,
    allotment: tuple[float, float],
    on_disks: DiskPartitions,
    fits: Callable[[DiskPartitions, int], bool],
) -> tuple[JobShape, float]:
    """Of the simpler shapes that fit, the one whose demand varies most nearly as much; its scv."""
    wanted = scv_of_shape(full, allotment)
    best = JobShape(
        lambda p, d: averaged(program, p, d, 1),
        PhaseType.exponential(mean=1.0),
        PhaseType.exponential(mean=1.0),
        "bursts merged into one exponential burst of I/O and one of computation",
    )
    nearest = abs(scv_of_shape(best, allotment) - wanted)
    for shape in _simpler(full, program):
        if fits(on_disks, shape.order):
            apart = abs(scv_of_shape(shape, allotment) - wanted)
            if apart < nearest * (1.0 - 1e-9):
                best, nearest = shape, apart
    return best, scv_of_shape(best, allotment)


def whole_law(
    scv: float, on_disks: DiskPartitions, fits: Callable[[DiskPartitions, int], bool]
) -> tuple[PhaseType, float]:
    """Law of mean one with this scv, or one as near to it as fits, and the scv it has."""
    if scv >= 0.5 and fits(on_disks, 2):
        return _coxian(scv), scv
    phases = 1
    while phases < round(1.0 / scv) and fits(on_disks, phases + 1):
        phases += 1
    return PhaseType.erlang(phases=phases, mean=1.0), 1.0 / phases


def _simpler(full: JobShape, program: AbstractProgram) -> Iterator[JobShape]:
    """Shapes with merged phases and simpler laws of the bursts."""
    most = max(1, min(int(program.mean_phases + 0.5), 40))
    counts: list[int | None] = [*range(1, most + 1)]
    if program.mean_phases > 1.0:
        counts.append(None)
    for count in counts:

        def phases(p: float, d: float, count: int | None = count) -> list[Route]:
            return averaged(program, p, d, count)

        merged = "a geometric number of" if count is None else f"{count}"
        for io, io_simplified in _simpler_laws(full.io):
            for cpu, cpu_simplified in _simpler_laws(full.cpu):
                simplified = [f"bursts merged into {merged} equal phases"]
                simplified += [
                    f"{who} {how}"
                    for who, how in (("I/O", io_simplified), ("computation", cpu_simplified))
                    if how
                ]
                yield JobShape(phases, io, cpu, ", ".join(simplified))


def _simpler_laws(law: PhaseType) -> Iterator[tuple[PhaseType, str]]:
    yield law, ""
    if law.order > 1:
        try:
            two = match_moments(law.moment(1), law.moment(2))
        except InfeasibleMomentsError:
            two = law
        if two.order < law.order:
            yield two, "bursts matched in two moments"
        yield PhaseType.exponential(mean=1.0), "bursts taken as exponential"


def scv_of_shape(shape: JobShape, allotment: tuple[float, float]) -> float:
    """Squared coefficient of variation of a job's time alone."""
    if shape.order <= MOST_STAGES // 4:
        return float(job_stages(shape.routes(*allotment), shape.io, shape.cpu).law().scv)
    laws = (shape.io, shape.cpu)
    first, second = np.sum([_moments(r, *laws) for r in shape.routes(*allotment)], axis=0)
    return float(second / first**2 - 1.0)


def _moments(route: Route, io: PhaseType, cpu: PhaseType) -> tuple[float, float]:
    """First two moments of a program's whole time, times its weight, without its stages.

    From phase n on they follow from those from the next phase on, which after the last listed
    phase are those from the first: both are linear in these, hence known from two tries.
    """
    mean = route.io + route.cpu
    square = mean**2 + route.io**2 * io.scv + route.cpu**2 * cpu.scv

    def first_from(start: float) -> Array:
        found = np.empty(mean.size + 1)
        found[-1] = start
        for n in range(mean.size - 1, -1, -1):
            found[n] = mean[n] + route.go_on[n] * found[n + 1]
        return found

    def closed(tries: Sequence[float]) -> float:
        return tries[0] / (1.0 - (tries[1] - tries[0]))

    first = closed([float(first_from(x)[0]) for x in (0.0, 1.0)])
    after = first_from(first)[1:]

    def second_from(start: float) -> float:
        for n in range(mean.size - 1, -1, -1):
            start = square[n] + route.go_on[n] * (2.0 * mean[n] * after[n] + start)
        return float(start)

    second = closed([second_from(x) for x in (0.0, 1.0)])
    return route.weight * first, route.weight * second
