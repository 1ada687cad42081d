"""Speed-scaled jobs on static partitions of unequal size, the largest free one taken first."""

from __future__ import annotations

from functools import cache

import numpy as np

from phasefit import PhaseType
from qmodels.policies.base import System, Workload, groups_at_work, spread
from qmodels.policies.models.arrangement import arranged
from qmodels.policies.models.disk_counts import count_states, running_on_disks
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.policy_queue import RunningChain, check_blocks
from qmodels.policies.space_sharing import SpaceSharing


def unequal_running(
    policy: SpaceSharing,
    system: System,
    workload: Workload,
    demand: PhaseType,
    memory: float | None,
) -> tuple[RunningChain, bool]:
    """Chain of the running jobs by size of partition and stage of demand; whether it is exact.

    A job's speed is that of its partition with k jobs spread evenly over the disk partitions, all
    on partitions of that size.
    """
    frame = arranged(policy, system, whole=True)
    places = frame.places(shared=False, forgetful=True, pooled=True)
    disks = len(frame.rooms)
    check_blocks(
        f"{frame.most} jobs on partitions of {len(places.rooms[0])} sizes with a demand of order "
        f"{demand.order}",
        count_states(places, demand.order),
        workload.arrivals,
        memory,
        "use a demand law of lower order or fewer sizes",
    )
    still = np.ones(demand.order, dtype=np.bool_)

    @cache
    def stages(kind: int, jobs: int, running: int) -> JobStages:
        k, p = max(running, 1), frame.processors(kind, running)
        held = [[1] * y for y in spread(k, disks)]
        throughput, computing, moving = groups_at_work(held, workload.program, p, frame.disks)
        speed = throughput / k
        return JobStages(
            demand.alpha,
            demand.jumps * speed,
            demand.exit * speed,
            still,
            disk_share=moving / (k * frame.disks),
            processor_share=computing / (k * p),
        )

    return running_on_disks(places, stages), frame.private and frame.whole
