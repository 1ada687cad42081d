"""Speed-scaled jobs on static partitions of unequal size, the largest free one taken first."""

from __future__ import annotations

from functools import cache

import numpy as np

from phasefit import PhaseType
from qmodels.policies.base import groups_at_work
from qmodels.policies.models.disk_counts import DiskPartitions, count_states, running_on_disks
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.system import Arrangement, Workload, spread


def unequal_running(
    arrangement: Arrangement,
    workload: Workload,
    demand: PhaseType,
    memory: float | None,
) -> tuple[RunningChain, bool]:
    """Return the chain of the running jobs by size of partition and stage of demand, and if it is exact.

    A job's speed is that of its partition with k jobs spread evenly over the disk partitions, all
    on partitions of that size.
    """
    on_disks = DiskPartitions.of(arrangement, shared=False, lumped=True, pooled=True)
    used = arrangement.used_disk_partitions
    check_blocks(
        f"{arrangement.max_running} jobs on partitions of {len(on_disks.slots[0])} sizes with a "
        f"demand of order {demand.order}",
        count_states(on_disks, demand.order),
        workload.arrivals,
        memory,
        "use a demand law of lower order or fewer sizes",
    )
    # every stage counts as transferring, so that the shares below say how busy it keeps both
    transfers = np.ones(demand.order, dtype=np.bool_)

    @cache
    def stages(size_class: int, jobs: int, running: int) -> JobStages:
        k, p = max(running, 1), arrangement.processors(size_class, running)
        jobs_by_disk = [[1] * y for y in spread(k, used)]
        throughput, computing, moving = groups_at_work(jobs_by_disk, workload.program, p, arrangement.disks)
        speed = throughput / k
        return JobStages(
            demand.alpha,
            demand.jumps * speed,
            demand.exit * speed,
            transfers,
            disk_share=moving / (k * arrangement.disks),
            processor_share=computing / (k * p),
        )

    return running_on_disks(on_disks, stages), arrangement.private and arrangement.whole_disks
