"""The exact model: every running job in a stage of a burst, on the disk partition where it is."""

from __future__ import annotations

from typing import Final

import numpy as np

from qmodels.errors import ModelError
from qmodels.networks.sizes import queue_seconds
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.disk_counts import DiskPartitions, count_states, running_on_disks
from qmodels.policies.models.job_stages import (
    JobStages,
    burst_laws,
    check_disks_shared,
    count_stages,
    job_stages,
    routes,
)
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.speed_scaled import SpeedScaled
from qmodels.policies.models.time_sharing_chain import time_sharing_running, time_sharing_states

#: States, and seconds of solving, up to which the chain is taken unasked where jobs take turns.
_FEW, _QUICK = 3000, 1.0
#: States of all levels up to which disk partitions are told apart by their order.
MOST_ORDERED: Final = 10_000


@MODELS.register
class Exact(AbstractModel):
    """In a stage of a burst, on disks that are shared by processor sharing, job by job."""

    name = "exact"
    rank = 10
    followed_by = ("time-sharing",)

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: turns of bursts with laws of their own, where the chain is small."""
        at = case.arrangement
        turns = at.placement == "idle-first" and at.cpu_discipline == "fcfs" and at.multiprogramming > 1
        if case.given or not (turns and case.workload.has_bursts):
            return False
        try:
            sizes = time_sharing_states(at, case.workload)
        except ModelError:
            return False
        states = np.array(sizes) * case.workload.arrivals.order
        return sum(sizes) <= _FEW and queue_seconds(states) <= _QUICK

    def substitute(self, case: Case) -> AbstractModel:
        """See `AbstractModel.substitute`: where nothing about it is approximate, the same chain."""
        return self if case.workload.has_bursts or not case.speeds_exact else SpeedScaled()

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`."""
        arrangement = case.arrangement
        left_out: tuple[str, ...] = ()
        if arrangement.placement == "idle-first":
            running = time_sharing_running(case.policy.label, arrangement, case.workload, case.memory)
        else:
            running, left_out = _by_place(case)
        turns = arrangement.multiprogramming > 1 and arrangement.cpu_discipline == "fcfs"
        return BuiltModel(self, running, not left_out, running.capacity, left_out, turns=turns)


def _by_place(case: Case) -> tuple[RunningChain, tuple[str, ...]]:
    """Return the chain of the stages of all running jobs, and what it leaves out.

    Raises
    ------
    ModelError
        If the disks are not shared by processor sharing.
    MemoryBudgetError
        If the queue in front of it would not fit; nothing has been allocated then.

    Notes
    -----
    Disk partitions are told apart by their order, which decides between those with equally many
    jobs, up to `MOST_ORDERED` states. Beyond, a start among several picks one at random, so that
    their order can be forgotten. That is another rule than the policy's, hence approximate, if
    only by a tenth of a per cent on the cases tried.
    """
    arrangement, workload = case.arrangement, case.workload
    io, cpu = burst_laws(workload, "exact")
    check_disks_shared(arrangement, "exact")

    def stages(size_class: int, jobs: int, running: int) -> JobStages:
        p = arrangement.processors(size_class, running)
        return job_stages(routes(workload.program, p, arrangement.disks), io, cpu)

    order = count_stages(routes(workload.program, 1.0, 1.0), io, cpu)
    on_disks = DiskPartitions.of(arrangement, shared=True, lumped=False)
    simplifications = []
    if len(on_disks.slots) > 1 and sum(count_states(on_disks, order)) > MOST_ORDERED:
        on_disks = DiskPartitions.of(arrangement, shared=True, lumped=True)
        simplifications.append("among disk partitions with equally many jobs one is picked at random")
    if not arrangement.whole_disks:
        simplifications.append("disk partitions taken at their mean size")
    case.check_size(
        f"the chain of {arrangement.max_running} jobs of {order} stages on {len(on_disks.slots)} "
        f"disk partitions",
        count_states(on_disks, order),
        'use model="decomposition" or "speed-scaled", laws of lower order, fewer phases or '
        "phase_count = Geometric(mean)",
    )
    return running_on_disks(on_disks, stages), tuple(simplifications)
