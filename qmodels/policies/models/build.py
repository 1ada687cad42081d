"""From a policy, a machine and a workload to a queue that is solved, by one of the models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import comb
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType, match_moments
from phasefit.checks import one_of
from qmodels.errors import InfeasibleMomentsError, ModelError, UnstableError
from qmodels.markov import solve_qbd
from qmodels.networks.occupancy import sharing_centre
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    Workload,
    running_jobs,
    work_bound,
)
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.models.decomposition import decomposed_running
from qmodels.policies.models.exact_chain import exact_running
from qmodels.policies.models.job_stages import MOST_STAGES, count_stages, job_stages, routes
from qmodels.policies.models.overhead import sizes_with_overhead, with_overhead
from qmodels.policies.models.policy_queue import (
    PolicyQueue,
    RunningChain,
    SolvedQueue,
    check_blocks,
)
from qmodels.policies.models.time_sharing_chain import time_sharing_running
from qmodels.policies.models.unequal import unequal_running
from qmodels.policies.space_sharing import SpaceSharing
from qmodels.policies.time_sharing import TimeSharing

Array = NDArray[np.float64]

MODELS: Final = ("auto", "speed-scaled", "decomposition", "exact")
#: States with all partitions taken up to which a law of demand is kept as it is.
_KEPT: Final = 800


@dataclass(frozen=True, eq=False)
class Built:
    """A model of a policy, before any job arrives."""

    running: RunningChain
    model: str  #: "speed-scaled", "decomposition" or "exact"
    exact: bool  #: whether it is the policy without approximation
    reduction: str  #: what was left out of the model to keep it small; "" for nothing
    capacity: float  #: jobs per second while jobs always wait


def solved_queue(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    arrival_rate: float,
    model: str = "auto",
    *,
    memory: float | None = None,
) -> SolvedQueue:
    """Steady state of a policy's queue at an arrival rate, in jobs per second.

    Raises
    ------
    UnstableError
        If the rate is at or beyond the policy's capacity; names the largest stable load.
    MemoryBudgetError
        If the chain would not fit in memory.
    ModelError
        If the arguments make no model.
    """
    built = built_model(policy, system, workload, model, memory)
    if arrival_rate >= built.capacity:
        bound = work_bound(system, workload.program)
        raise UnstableError(
            policy.label,
            arrival_rate,
            built.capacity,
            load=arrival_rate / bound,
            largest_load=built.capacity / bound,
        )
    queue = PolicyQueue(workload.arrivals.scale(1.0 / arrival_rate), built.running)
    return SolvedQueue(
        policy=policy,
        system=system,
        workload=workload,
        queue=queue,
        chain=solve_qbd(queue.chain()),
        model=built.model,
        exact=built.exact,
        reduction=built.reduction,
    )


def built_model(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str = "auto",
    memory: float | None = None,
) -> Built:
    """The running jobs of a policy by one of the models, built once for all arrival rates."""
    one_of("model", model, MODELS)
    alone = running_jobs(policy, system, workload)
    return _built(policy, system, workload, model, memory, alone)


@lru_cache(maxsize=32)
def _built(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str,
    memory: float | None,
    alone: RunningJobs,
) -> Built:
    if model == "exact" and not workload.has_bursts and alone.exact:
        return _speed_scaled(policy, system, workload, memory, alone)
    if model == "exact":
        if isinstance(policy, TimeSharing):
            running = time_sharing_running(policy, system, workload, memory)
            exact, left_out = True, ""
        else:
            running, exact, left_out = exact_running(policy, system, workload, memory)
        return _finished(policy, system, workload, memory, running, model, exact, left_out)
    if model == "decomposition":
        running, exact, left_out = decomposed_running(policy, system, workload, memory)
        return _finished(policy, system, workload, memory, running, model, exact, left_out)
    return _speed_scaled(policy, system, workload, memory, alone)


def _speed_scaled(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    memory: float | None,
    alone: RunningJobs,
) -> Built:
    most = alone.throughput.size
    demand, left_out = demand_law(policy, system, workload)
    if isinstance(policy, SpaceSharing) and len(set(policy.sizes or ())) > 1:
        running, exact = unequal_running(policy, system, workload, demand, memory)
        return Built(running, "speed-scaled", exact and not left_out, left_out, running.capacity)
    m = demand.order
    check_blocks(
        f"{most} running jobs with a demand of order {m} and arrivals of order "
        f"{workload.arrivals.order}",
        [float(comb(k + m - 1, m - 1)) for k in range(most + 1)],
        workload.arrivals,
        memory,
        "use a service or demand law of lower order (one with scv >= 1 has order 2), or fewer "
        "servers or partitions",
    )
    centre = sharing_centre(demand, most, np.concatenate([[0.0], alone.speeds]))
    sizes = np.diff(centre.starts)
    running = RunningChain(
        centre,
        np.repeat([0.0, *alone.processors_busy], sizes),
        np.repeat([0.0, *alone.disks_busy], sizes),
        at_one_speed=(demand, alone.speeds),
    )
    built = _finished(
        policy, system, workload, memory, running, "speed-scaled",
        alone.exact and not left_out, left_out,
    )  # fmt: skip
    return Built(built.running, built.model, built.exact, left_out, float(alone.throughput[-1]))


def _finished(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    memory: float | None,
    running: RunningChain,
    model: str,
    exact: bool,
    left_out: str,
) -> Built:
    """The model with the overhead of dynamic partitioning, if there is one."""
    capacity = running.capacity if model != "speed-scaled" else 0.0
    if isinstance(policy, DynamicPartitioning) and policy.overhead is not None:
        laws = policy.overheads(system)
        check_blocks(
            f"the chain of {policy.label} with overheads of up to {max(x.order for x in laws)} "
            f"phases",
            sizes_with_overhead([float(n) for n in running.sizes], laws),
            workload.arrivals,
            memory,
            "use an overhead or demand law of lower order",
        )
        running = with_overhead(running, laws)
    return Built(running, model, exact, left_out, capacity)


def demand_law(policy: AbstractPolicy, system: System, workload: Workload) -> tuple[PhaseType, str]:
    """Law of a job's demand, of mean one, for the speed-scaled model; and how it was simplified.

    Where bursts have laws of their own it is the law of a job's whole time on the allotment it
    has with all partitions taken and no disk shared.
    """
    io, cpu = workload.io_bursts, workload.cpu_bursts
    if io is None or cpu is None:
        return workload.demand, ""
    most = running_jobs(policy, system, workload).throughput.size
    p, d = policy.allotment(system)
    given = routes(workload.program, p, d)
    order = count_stages(given, io, cpu)
    if order > MOST_STAGES:
        raise ModelError(
            f"a job of {order} stages has no law that could be handled; use fewer phases or "
            f"phase_count = Geometric(mean)"
        )
    full = job_stages(given, io, cpu).law()
    full = full.scale(1.0 / full.mean)
    for law, how in _simpler(full):
        m = law.order
        if comb(most + m - 1, m - 1) * workload.arrivals.order <= _KEPT:
            return law, how
    return PhaseType.exponential(mean=1.0), f"a demand of scv {full.scv:.3g} taken as exponential"


def _simpler(full: PhaseType) -> Iterator[tuple[PhaseType, str]]:
    """The law, then ever simpler ones."""
    yield full, ""
    moments = [full.moment(k) for k in (1, 2, 3)]
    for count in (3, 2):
        try:
            yield (
                match_moments(*moments[:count]),
                f"a demand of order {full.order} matched in {count} moments",
            )
        except InfeasibleMomentsError:
            continue
    for phases in range(min(full.order, int(1.0 / full.scv)), 1, -1):
        yield (
            PhaseType.erlang(phases=phases, mean=1.0),
            f"a demand of scv {full.scv:.3g} taken as Erlang of {phases} phases, "
            f"scv {1 / phases:.3g}",
        )
