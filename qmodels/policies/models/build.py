"""From a policy, a machine and a workload to a queue that is solved, by one of the models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType, match_moments
from phasefit.checks import named
from qmodels.errors import InfeasibleMomentsError, ModelError, UnstableError
from qmodels.markov import solve_qbd
from qmodels.memory import MOST_SECONDS
from qmodels.networks.occupancy import sharing_centre
from qmodels.networks.sizes import check_queue, occupancy_counts, queue_seconds
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    running_jobs,
    work_bound,
)
from qmodels.policies.labels import as_policy
from qmodels.policies.models.crowding import crowded_running, follows_crowding
from qmodels.policies.models.decomposition import decomposed_running
from qmodels.policies.models.exact_chain import exact_running
from qmodels.policies.models.frozen_speeds import frozen_chain
from qmodels.policies.models.job_stages import MOST_STAGES, count_stages, job_stages, routes
from qmodels.policies.models.mixes import (
    allotments,
    machine_allotments,
    mixed_demand,
    scale_alike,
)
from qmodels.policies.models.overhead import sizes_with_overhead, with_overhead
from qmodels.policies.models.policy_queue import (
    BuiltModel,
    PolicyQueue,
    RunningChain,
    SolvedQueue,
    check_blocks,
)
from qmodels.policies.models.time_shared import TAKEN_AS_SHARED, time_shared_running
from qmodels.policies.models.time_sharing_chain import time_sharing_running
from qmodels.policies.models.unequal import unequal_running
from qmodels.policies.speed_table import SpeedTable
from qmodels.policies.system import Arrangement, System, Workload
from qmodels.programs.model import parts

Array = NDArray[np.float64]

MODELS: Final = ("auto", "speed-scaled", "decomposition", "crowding", "time-sharing", "exact")
#: States with all partitions taken up to which a law of demand is kept as it is.
_KEPT: Final = 800
#: States with all partitions taken up to which a model is small.
_FEW: Final = 200


def built_model(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str = "auto",
    memory: float | None = None,
    running: SpeedTable | None = None,
) -> BuiltModel:
    """The running jobs of a policy by one of the models, built once for all arrival rates.

    A table of speeds takes the place of those that the policy's own model gives them.

    Raises
    ------
    MemoryBudgetError
        If the chain would not fit in memory.
    ModelError
        If the arguments make no model, or this model cannot follow the policy.
    """
    model = named("model", model, MODELS)
    jobs = running_jobs(policy, system, workload)
    arrangement = policy.arrangement(system)
    if running is None:
        few = _few_states(policy, arrangement, workload, model, jobs)
        return (_built_small if few else _built)(policy, system, workload, model, memory, jobs)
    # Other models would go on with speeds of their own.
    usable = ["speed-scaled"]
    if "time-sharing" in policy.models and arrangement.multiprogramming > 1:
        usable.insert(0, "time-sharing")
    if model not in ("auto", *usable):
        raise ModelError(
            f"running gives speeds of whole jobs, which only model="
            f"{' and '.join(map(repr, usable))} can take; got {model!r}"
        )
    jobs = _at_given_speeds(jobs, policy, arrangement, running)
    name = usable[0] if model == "auto" else model
    built = _built(policy, system, workload, name, memory, jobs, True)
    if running.frozen is None:
        return built
    return _with_arrangements(built, running.factors, policy.label, workload, memory)


def _with_arrangements(
    built: BuiltModel, factors: Array, label: str, workload: Workload, memory: float | None
) -> BuiltModel:
    """The model with several speeds of a full machine, that of the slowest as its capacity."""
    sizes = [float(n) for n in built.running.sizes]
    check_blocks(
        f"the chain of {label} with {np.unique(factors).size} arrangements",
        [*sizes[:-1], sizes[-1] * np.unique(factors).size],
        workload.arrivals,
        memory,
        "use fewer arrangements, or a demand law of lower order",
    )
    capacity = built.capacity * float(factors.min())
    return replace(_changed(built, lambda chain: frozen_chain(chain, factors)), capacity=capacity)


def _changed(built: BuiltModel, change: Callable[[RunningChain], RunningChain]) -> BuiltModel:
    """The model with its running jobs changed, at every arrival rate."""
    at_rate = built.at_rate
    return replace(
        built,
        running=change(built.running),
        at_rate=None if at_rate is None else lambda rate: change(at_rate(rate)),
    )


def _at_given_speeds(
    jobs: RunningJobs, policy: AbstractPolicy, arrangement: Arrangement, running: SpeedTable
) -> RunningJobs:
    """The running jobs with other speeds; ModelError where these can mean nothing."""
    if len(set(arrangement.sizes or ())) > 1:
        raise ModelError(f"{policy.label} has jobs of several speeds; running gives one for all that run")
    if running.max_running != jobs.throughput.size:
        raise ModelError(
            f"running has speeds of 1 to {running.max_running} jobs, and under {policy.label} "
            f"1 to {jobs.throughput.size} run; give one for each"
        )
    # What a job asks of processors and disks is the same at any speed (utilisation law).
    ratio = running.throughput / jobs.throughput
    return RunningJobs(running.throughput, jobs.processors_busy * ratio, jobs.disks_busy * ratio, exact=False)


def capacity(
    policy: AbstractPolicy | str, system: System, workload: Workload, *, model: str = "auto"
) -> float:
    """Largest stable arrival rate of a policy, in jobs per second.

    Parameters
    ----------
    policy, system, workload, model
        As for `qmodels.predict`, which states the same capacity and refuses loads from it on.

    Returns
    -------
    float
        Jobs per second.

    Raises
    ------
    ModelError
        If the policy's partitions do not fit the machine, or the arguments make no model.

    Notes
    -----
    Jobs that share disks carry as much as the closed network of all of them in product form.
    Under time sharing with turns the sizes of jobs matter too; simulated machines with jobs
    always waiting carried as much to within the policy's `capacity_error`.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program behavior
       and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, secs. 3.3-3.5.
    .. [2] F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, "Open, closed, and mixed networks
       of queues with different classes of customers", *J. ACM* 22 (1975) 248-260.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> round(capacity(SpaceSharing(1, 1), System(16, 16), work), 6)
    0.015385
    """
    model, policy = named("model", model, MODELS), as_policy(policy)
    jobs = running_jobs(policy, system, workload)
    arrangement = policy.arrangement(system)
    name = _chosen(policy, arrangement, workload, jobs.exact) if model == "auto" else model
    if name in ("speed-scaled", "crowding"):
        return float(jobs.throughput[-1])
    return built_model(policy, system, workload, name).capacity


def solved_queue(
    built: BuiltModel,
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    arrival_rate: float,
) -> SolvedQueue:
    """Steady state of the queue in front of a model at an arrival rate, in jobs per second.

    Raises
    ------
    UnstableError
        If the rate is at or beyond the policy's capacity; names the largest stable load.
    """
    if arrival_rate >= built.capacity:
        bound = work_bound(system, workload.program)
        raise UnstableError(
            policy.label,
            arrival_rate,
            built.capacity,
            load=arrival_rate / bound,
            largest_load=built.capacity / bound,
        )
    queue = PolicyQueue(workload.arrivals.scale(1.0 / arrival_rate), built.running_at(arrival_rate))
    return SolvedQueue(
        policy=policy,
        system=system,
        workload=workload,
        queue=queue,
        chain=solve_qbd(queue.chain()),
        built=built,
    )


@lru_cache(maxsize=2048)  # of truth values, asked for at every load
def _few_states(
    policy: AbstractPolicy,
    arrangement: Arrangement,
    workload: Workload,
    model: str,
    jobs: RunningJobs,
) -> bool:
    """Whether a model is sure to have few states with all partitions taken."""
    if workload.has_bursts or arrangement.overheads or len(set(arrangement.sizes or ())) > 1:
        return False
    name = model
    if model == "auto":
        approximation = _mixed_approximately(arrangement, workload)
        name = _chosen(policy, arrangement, workload, jobs.exact and not approximation)
    if name not in ("speed-scaled", "time-sharing") or name not in policy.models:
        return False
    order = max(2, demand_law(policy, arrangement.system, workload)[0].order)
    return bool(occupancy_counts(jobs.throughput.size, order)[-1] <= _FEW)


def _build(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str,
    memory: float | None,
    jobs: RunningJobs,
    given: bool = False,
) -> BuiltModel:
    """Build; `given` says that the speeds of `jobs` are not the policy's own."""
    arrangement = policy.arrangement(system)
    approximation = _mixed_approximately(arrangement, workload)
    name = model
    if model == "auto":
        name = _chosen(policy, arrangement, workload, jobs.exact and not approximation)
    if name == "exact" and not workload.has_bursts and jobs.exact and not approximation:
        name = "speed-scaled"  # the same chain, and nothing about it is approximate
    if name not in policy.models:
        raise ModelError(f'{policy.label} has no chain of this kind; use model="speed-scaled"')
    if name == "exact" and arrangement.placement == "idle-first":
        built = time_sharing_running(policy.label, arrangement, workload, memory)
    elif name == "exact":
        built = exact_running(arrangement, workload, memory)
    elif name == "crowding":
        built = crowded_running(arrangement, policy.allotment(system), workload, memory)
    elif name == "decomposition":
        built = decomposed_running(arrangement, policy.allotment(system), workload, memory)
    else:
        demand, reduced = demand_law(policy, system, workload)
        simplifications = (*approximation, *reduced)
        if name == "time-sharing":
            if not reduced:  # a law that was given may be too large as well
                demand, reduced = _reduced(demand, policy, system, workload)
            built = time_shared_running(
                policy.label,
                arrangement,
                workload,
                demand,
                (*approximation, *reduced),
                memory,
                given=jobs.throughput if given else None,
            )
        elif len(set(arrangement.sizes or ())) > 1:
            built = unequal_running(arrangement, workload, demand, simplifications, memory)
        else:
            built = _at_one_speed(jobs, workload, demand, simplifications, memory)
    left_out = _left_out(built, arrangement, workload)
    built = replace(built, simplifications=(*built.simplifications, *left_out))
    if not arrangement.overheads:
        return built
    return _with_overheads(built, policy.label, arrangement, workload, memory)


# One model is kept for the next arrival rate, and one for a policy that takes turns with it. What
# is kept of a model is at most an eighth of the memory that solving it was allowed: two dense
# blocks of the sixteen that `queue_memory` counts. By default that is an eighth of the machine's
# memory for both.
_built = lru_cache(maxsize=2)(_build)
# Of small models, two dense blocks of at most 200 states each, as many are kept as a comparison of
# all policies of a machine builds at each load: at most 80 MB.
_built_small = lru_cache(maxsize=128)(_build)


def _left_out(built: BuiltModel, arrangement: Arrangement, workload: Workload) -> tuple[str, ...]:
    """What the model leaves out whatever its size, in words; () for nothing."""
    said = []
    turns = arrangement.system.disk_discipline != "ps"
    if built.name == "speed-scaled" and turns and not arrangement.private:
        said.append(TAKEN_AS_SHARED)
    if built.at_rate is not None and not built.exact:
        # the occupancy is solved with Poisson arrivals and no pauses, the queue with the true ones
        if workload.arrivals.order > 1:
            said.append("who is on which partition found as with Poisson arrivals of the same rate")
        if arrangement.overheads:
            said.append("who is on which disk found as if dividing took no time")
    return tuple(said)


def _at_one_speed(
    jobs: RunningJobs,
    workload: Workload,
    demand: PhaseType,
    simplifications: tuple[str, ...],
    memory: float | None,
) -> BuiltModel:
    """The speed-scaled model of jobs that all get on at the same speed."""
    max_running, m = jobs.throughput.size, demand.order
    check_queue("demand", max_running, m, workload.arrivals.order, memory)
    centre = sharing_centre(demand, max_running, np.concatenate([[0.0], jobs.speeds]))
    sizes = np.diff(centre.starts)
    running = RunningChain(
        centre,
        np.repeat([0.0, *jobs.processors_busy], sizes),
        np.repeat([0.0, *jobs.disks_busy], sizes),
        at_one_speed=(demand, jobs.speeds),
    )
    exact = jobs.exact and not simplifications
    capacity = float(jobs.throughput[-1])
    return BuiltModel(running, "speed-scaled", exact, capacity, simplifications)


def _with_overheads(
    built: BuiltModel,
    label: str,
    arrangement: Arrangement,
    workload: Workload,
    memory: float | None,
) -> BuiltModel:
    """The model with the time that dividing the processors takes.

    Its capacity is the same, since nothing is divided while jobs always wait.
    """
    laws = arrangement.overheads
    check_blocks(
        f"the chain of {label} with overheads of up to {max(x.order for x in laws)} phases",
        sizes_with_overhead([float(n) for n in built.running.sizes], laws),
        workload.arrivals,
        memory,
        "use an overhead or demand law of lower order",
    )
    return _changed(built, lambda chain: with_overhead(chain, laws))


def _chosen(policy: AbstractPolicy, arrangement: Arrangement, workload: Workload, exact: bool) -> str:
    """The model that "auto" takes; `exact` says whether the speed-scaled one is."""
    if "crowding" in policy.models and not exact and follows_crowding(arrangement, workload):
        return "crowding"
    if "time-sharing" in policy.models and arrangement.multiprogramming > 1:
        return "time-sharing"
    return "speed-scaled"


def demand_law(
    policy: AbstractPolicy, system: System, workload: Workload
) -> tuple[PhaseType, tuple[str, ...]]:
    """Law of a job's demand, of mean one, for the speed-scaled model; and how it was simplified.

    Of jobs that are each one of several programs, or whose bursts have laws of their own, it is
    the law of a job's whole time on the allotment it has with all partitions taken and no disk
    shared.
    """
    io, cpu = workload.io_bursts, workload.cpu_bursts
    p, d = policy.allotment(system)
    if io is None or cpu is None:
        full = mixed_demand(workload, p, d)
        if full is workload.demand:
            return full, ()
        return _reduced(full, policy, system, workload)
    given = routes(workload.program, p, d)
    order = count_stages(given, io, cpu)
    if order > MOST_STAGES:
        raise ModelError(
            f"a job of {order} stages has no law that could be handled; use fewer phases or "
            f"phase_count = Geometric(mean)"
        )
    full = job_stages(given, io, cpu).law()
    return _reduced(full.scale(1.0 / full.mean), policy, system, workload)


def _reduced(
    full: PhaseType, policy: AbstractPolicy, system: System, workload: Workload
) -> tuple[PhaseType, tuple[str, ...]]:
    """The law, or the nearest of the simpler ones whose chain is not too large."""
    max_running = running_jobs(policy, system, workload).throughput.size
    for law, simplification in _simpler(full):
        sizes = workload.arrivals.order * occupancy_counts(max_running, law.order)
        if sizes[-1] <= _KEPT and queue_seconds(sizes) <= MOST_SECONDS:
            return law, (simplification,) if simplification else ()
    simplification = f"a demand of scv {full.scv:.3g} taken as exponential"
    return PhaseType.exponential(mean=1.0), (simplification,)


def _mixed_approximately(arrangement: Arrangement, workload: Workload) -> tuple[str, ...]:
    """What is approximate about one law of demand for the jobs of a mix; () for nothing.

    One law is right if the programs' times keep their proportions wherever a job may run. Where
    disks are shared the model is approximate anyway, and the proportions are those of jobs alone.
    """
    program, points = workload.program, allotments(arrangement)
    if workload.has_bursts:
        # the law of the sum of a job's bursts changes with their proportions, in a mix or not
        if len(points) == 1 or scale_alike(program, points, by_burst=True):
            return ()
        return ("the law of a job's whole time taken from its mean allotment",)
    if len(parts(program)) == 1:
        return ()
    if workload.mix == "mean":
        points = [*points, *machine_allotments(arrangement.system)]
    if scale_alike(program, points, by_burst=False):
        return ()
    if workload.mix == "mean":
        return ("every job is the mean of the programs, which do not scale alike",)
    return ("the programs, which do not scale alike, compared on the mean allotment",)


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
            f"a demand of scv {full.scv:.3g} taken as Erlang of {phases} phases, scv {1 / phases:.3g}",
        )
