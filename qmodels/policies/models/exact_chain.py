"""Space sharing without approximation: every running job in a stage of a burst, disks shared."""

from __future__ import annotations

from typing import Final

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy, System, Workload
from qmodels.policies.models.arrangement import arranged
from qmodels.policies.models.disk_counts import count_states, running_on_disks
from qmodels.policies.models.job_stages import JobStages, count_stages, job_stages, routes
from qmodels.policies.models.policy_queue import RunningChain, check_blocks

#: States of all levels up to which disk partitions are told apart by their order.
MOST_ORDERED: Final = 10_000


def exact_running(
    policy: AbstractPolicy, system: System, workload: Workload, memory: float | None
) -> tuple[RunningChain, bool, str]:
    """Chain of the stages of all running jobs; whether nothing is approximate; what is special.

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
    frame = arranged(policy, system, whole=True)
    io, cpu = burst_laws(workload, 'model="exact"')
    if system.disk_discipline != "ps" and not frame.private:
        raise ModelError(
            f'model="exact" needs processor sharing at the disks; for disk_discipline = '
            f'"{system.disk_discipline}" use model="decomposition", or simulate'
        )

    def stages(kind: int, jobs: int, running: int) -> JobStages:
        p = frame.processors(kind, running)
        return job_stages(routes(workload.program, p, frame.disks), io, cpu)

    order = count_stages(routes(workload.program, 1.0, 1.0), io, cpu)
    places, told = frame.places(shared=True, forgetful=False), []
    if len(places.rooms) > 1 and sum(count_states(places, order)) > MOST_ORDERED:
        places = frame.places(shared=True, forgetful=True)
        told.append("among disk partitions with equally many jobs one is picked at random")
    if not frame.whole:
        told.append("disk partitions taken at their mean size")
    check_blocks(
        f"the chain of {frame.most} jobs of {order} stages on {len(places.rooms)} disk partitions",
        count_states(places, order),
        workload.arrivals,
        memory,
        'use model="decomposition" or "speed-scaled", laws of lower order or fewer phases',
    )
    return running_on_disks(places, stages), not told, "; ".join(told)


def burst_laws(workload: Workload, who: str) -> tuple[PhaseType, PhaseType]:
    """Laws of the bursts of I/O and computation; ModelError if the workload has none."""
    io, cpu = workload.io_bursts, workload.cpu_bursts
    if io is None or cpu is None:
        raise ModelError(
            f"{who} follows the bursts of a job, whose laws this workload does not tell; give "
            f"Workload(program, io_bursts=..., cpu_bursts=...) instead of demand"
        )
    return io, cpu
