"""The speed-scaled model: every running job goes on at the speed that so many have in equilibrium."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from phasefit import PhaseType
from qmodels.networks.sizes import check_queue
from qmodels.policies.base import groups_at_work
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import chain_at_one_speed
from qmodels.policies.models.disk_counts import DiskPartitions, count_states, running_on_disks
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.time_sharing_loads import TAKEN_AS_SHARED
from qmodels.policies.system import spread


@MODELS.register
class SpeedScaled(AbstractModel):
    """In a stage of its demand, at the speed that so many jobs have in equilibrium."""

    name = "speed-scaled"
    rank = 50
    takes_speeds = True
    by_demand = True
    carries_all = True

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: where no other does."""
        return True

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`."""
        arrangement, (demand, reduced) = case.arrangement, case.demand
        simplifications = (*case.approximation, *reduced)
        if arrangement.unequal_sizes:
            running, exact = _by_size(case, demand), arrangement.private and arrangement.whole_disks
            capacity = running.capacity
        else:
            running, exact = _at_one_speed(case, demand), case.jobs.exact
            capacity = case.capacity
        built = BuiltModel(self, running, exact and not simplifications, capacity, simplifications)
        if not arrangement.disks_in_turn:
            return built
        return replace(built, simplifications=(*simplifications, TAKEN_AS_SHARED))


def _at_one_speed(case: Case, demand: PhaseType) -> RunningChain:
    """Return the chain of jobs that all get on at the same speed."""
    jobs = case.jobs
    order = case.workload.arrivals.order
    check_queue("demand", jobs.throughput.size, demand.order, order, case.memory)
    rows = zip(jobs.throughput, jobs.processors_busy, jobs.disks_busy, strict=True)
    return chain_at_one_speed(demand, [(0.0, 0.0, 0.0), *rows])


def _by_size(case: Case, demand: PhaseType) -> RunningChain:
    """Return the chain of jobs on static partitions of unequal size, the largest free one taken first.

    A job's speed is that of its partition with k jobs spread evenly over the disk partitions, all
    on partitions of that size.
    """
    arrangement, program = case.arrangement, case.workload.program
    on_disks = DiskPartitions.of(arrangement, shared=False, lumped=True, pooled=True)
    used = arrangement.used_disk_partitions
    case.check_size(
        f"{arrangement.max_running} jobs on partitions of {len(on_disks.slots[0])} sizes with a "
        f"demand of order {demand.order}",
        count_states(on_disks, demand.order),
        "use a demand law of lower order or fewer sizes",
    )
    # every stage counts as transferring, so that the shares below say how busy it keeps both
    transfers = np.ones(demand.order, dtype=np.bool_)

    @cache
    def stages(size_class: int, jobs: int, running: int) -> JobStages:
        k, p = max(running, 1), arrangement.processors(size_class, running)
        jobs_by_disk = [[1] * y for y in spread(k, used)]
        throughput, computing, moving = groups_at_work(jobs_by_disk, program, p, arrangement.disks)
        speed = throughput / k
        return JobStages(
            demand.alpha,
            demand.jumps * speed,
            demand.exit * speed,
            transfers,
            disk_share=moving / (k * arrangement.disks),
            processor_share=computing / (k * p),
        )

    return running_on_disks(on_disks, stages, demand=demand)
