"""The crowding chain: jobs in stages of bursts, transfers as fast as disks are at work.

All running jobs are counted by their stage, whatever disk partition they are on. How many disk
partitions serve those that transfer follows from how the jobs crowd on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import Final

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.occupancy import Occupancies, sharing_centre
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.decomposition import (
    JobShape,
    simpler_job,
)
from qmodels.policies.models.disk_counts import DiskPartitions
from qmodels.policies.models.disk_crowding import Crowding, DiskRooms, completions, crowding
from qmodels.policies.models.job_stages import JobStages, burst_laws, check_disks_shared, job_stages, routes
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.stage_counts import StagedJobs
from qmodels.policies.system import Arrangement, Workload

#: Ways in which jobs may lie on the disk partitions, up to which their law is computed.
MOST_CROWDS: Final = 6000
#: States with all partitions taken up to which nothing is simplified, and of all levels.
LARGEST_LEVEL: Final = 800
_ALL_LEVELS: Final = 30_000


@MODELS.register
class CrowdingModel(AbstractModel):
    """In a stage of a burst; those that transfer get on as fast as disk partitions are at work."""

    name = "crowding"
    rank = 20
    needs_bursts = True
    carries_all = True
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: bursts, PS disks, one size, where speeds are not exact."""
        at = case.arrangement
        return (
            case.workload.has_bursts
            and not at.disks_in_turn
            and not at.unequal_sizes
            and (at.whole_disks or not at.repartitioned)  # which disks jobs are on matters more
            and not case.speeds_exact
        )

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If the workload has no laws of bursts, disks are not shared by processor sharing, or
            partitions are of several sizes.
        MemoryBudgetError
            If even the simplest form of the queue would not fit; nothing has been allocated then.

        Notes
        -----
        With n of k jobs transferring, a job in a stage of I/O goes on at B(n, k) / n, with B the mean
        number of disk partitions at work; see `disk_crowding`. Exact with one disk partition, which is
        at work whenever somebody transfers, and where no two jobs share one.
        """
        arrangement, workload = case.arrangement, case.workload
        allotment = case.policy.allotment(case.system)
        io, cpu = burst_laws(workload, "crowding")
        check_disks_shared(arrangement, "crowding")
        if arrangement.unequal_sizes:
            raise ModelError(
                'model="crowding" knows partitions of one size only; use model="speed-scaled", '
                '"exact", or simulate'
            )
        arrangement = arrangement.at_mean_sizes()
        c, said = arrangement.max_running, []
        shape = JobShape(lambda p, d: routes(workload.program, p, d), io, cpu)

        def fits(_: DiskPartitions | None, order: int) -> bool:
            full, every = comb(c + order - 1, order - 1), comb(c + order, order)
            return full * workload.arrivals.order <= LARGEST_LEVEL and every <= _ALL_LEVELS

        law = None
        if not fits(None, shape.order):
            pooled = DiskPartitions.of(arrangement, shared=False, lumped=True, pooled=True)
            shape, law, simplification = simpler_job(shape, workload.program, allotment, pooled, fits)
            said.append(simplification)
        case.check_stages(shape.order, "use laws of lower order or fewer partitions")
        machine = Disks(arrangement, workload)
        said += machine.simplifications
        stages = _stages_by_running(arrangement, shape) if law is None else []

        def made(arrival_rate: float | None) -> RunningChain:
            if law is not None:
                return machine.at_one_speed(law, arrival_rate)
            return running_by_stage(arrangement, stages, machine.at_work(arrival_rate))

        saturated = made(None)
        alone = arrangement.private or len(arrangement.slots) == 1
        exact = alone and arrangement.sizes_hold and not said
        return BuiltModel(
            self,
            saturated,
            exact,
            saturated.capacity,
            tuple(said),
            at_rate=made if machine.depends_on_arrivals else None,
        )


class Disks:
    """How the disk partitions of an arrangement crowd at an arrival rate."""

    def __init__(self, arrangement: Arrangement, workload: Workload) -> None:
        self.arrangement, self.program = arrangement, workload.program
        rooms = tuple(sorted((sum(slots) for slots in arrangement.slots), reverse=True))
        self.rooms = DiskRooms(rooms, arrangement.max_running)
        self.even = self.rooms.count() > MOST_CROWDS
        self.depends_on_arrivals = not (arrangement.private or len(rooms) == 1 or self.even)

    @property
    def simplifications(self) -> tuple[str, ...]:
        """What is not followed; () for nothing."""
        said = []
        if self.even:
            said.append("jobs spread evenly over the disk partitions")
        if not self.arrangement.sizes_hold:
            said.append("partitions taken at their mean size")
        return tuple(said)

    def rates(self, k: int) -> Array:
        """See `disk_crowding.Completions`."""
        p, d = self.arrangement.mean_processors(k), self.arrangement.disks
        cpu, io = float(self.program.mean_cpu(p, d)), float(self.program.mean_io(p, d))
        return completions(cpu, io, max(self.rooms.rooms))

    def crowding(self, arrival_rate: float | None) -> Crowding:
        """How the running jobs lie on the disk partitions."""
        if self.even:
            return Crowding.even(self.rooms)
        return crowding(self.rooms, self.rates, arrival_rate)

    def at_work(self, arrival_rate: float | None) -> list[Array]:
        """B(n, k), see `Crowding.at_work`."""
        if self.arrangement.private:
            return [np.arange(k + 1.0) for k in range(self.rooms.max_running + 1)]
        return self.crowding(arrival_rate).at_work()

    def at_one_speed(self, law: PhaseType, arrival_rate: float | None) -> RunningChain:
        """Chain of jobs whose whole time has one law, each at the mean speed of k jobs."""
        c, arrangement, found = self.rooms.max_running, self.arrangement, [(0.0, 0.0, 0.0)]
        lying = self.crowding(arrival_rate)
        for k in range(1, c + 1):
            p, d = arrangement.mean_processors(k), arrangement.disks
            rate = lying.together(k, self.rates(k))
            cpu, io = float(self.program.mean_cpu(p, d)), float(self.program.mean_io(p, d))
            found.append((rate, rate * cpu * p, rate * io * d))
        return chain_at_one_speed(law, found)


def chain_at_one_speed(law: PhaseType, rows: Sequence[tuple[float, float, float]]) -> RunningChain:
    """Return the chain of jobs whose whole time has one law, each at the mean speed of k jobs.

    Of each k = 0, 1, ... are given the jobs completed per second, the processors that compute and the
    disks that transfer.
    """
    c = len(rows) - 1
    rates, processors, disks = np.array(rows).T
    speeds = rates / np.maximum(np.arange(c + 1), 1)
    centre = sharing_centre(law, c, speeds)
    sizes = np.diff(centre.starts)
    return RunningChain(
        centre,
        np.repeat(processors, sizes),
        np.repeat(disks, sizes),
        at_one_speed=(law, speeds[1:]),
    )


def _stages_by_running(arrangement: Arrangement, shape: JobShape) -> list[JobStages]:
    """Stages of a job with 0..c running; the processors of a job may depend on how many do."""

    @cache
    def stages(p: float) -> JobStages:
        return job_stages(shape.routes(p, arrangement.disks), shape.io, shape.cpu)

    found = [stages(arrangement.mean_processors(max(k, 1))) for k in range(arrangement.max_running + 1)]
    if len({job.order for job in found}) > 1:
        raise ModelError(
            "a burst that takes no time on some numbers of processors and some time on others "
            'cannot be followed; use model="speed-scaled", or simulate'
        )
    return found


def running_by_stage(arrangement: Arrangement, stages: list[JobStages], at_work: list[Array]) -> RunningChain:
    """Return the chain of jobs by stage, where n transfers of k jobs get on at ``at_work[k][n] / n``."""
    c, order, transfers = arrangement.max_running, stages[0].order, stages[0].transfers
    ways = Occupancies.of(c, order)
    jobs = np.repeat(np.arange(c + 1), np.diff(ways.starts))
    moving = ways.counts[:, transfers].sum(axis=1)
    table = np.zeros((c + 1, c + 1))
    for k, row in enumerate(at_work):
        table[k, : k + 1] = row
    work = table[jobs, moving]
    speeds = np.ones((jobs.size, order))
    speeds[:, transfers] = (work / np.maximum(moving, 1))[:, None]
    staged = StagedJobs.of(ways, stages, speeds)
    processors = np.array([arrangement.mean_processors(max(k, 1)) for k in range(c + 1)])
    computing = (jobs - moving) * processors[jobs]
    return RunningChain(staged.centre(), computing, work * arrangement.disks, staged=staged)
