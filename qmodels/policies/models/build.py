"""From a policy, a machine and a workload to a queue that is solved, by the model that suits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.markov import solve_qbd
from qmodels.policies.base import AbstractPolicy, RunningJobs, running_jobs, work_bound
from qmodels.policies.labels import as_policy
from qmodels.policies.models.base import (
    AUTO,
    MODELS,
    AbstractModel,
    BuiltModel,
    Case,
    SolvedQueue,
    model_name,
)
from qmodels.policies.models.described import arrivals_at
from qmodels.policies.models.frozen_speeds import frozen_chain
from qmodels.policies.models.overhead import sizes_with_overhead, with_overhead
from qmodels.policies.models.policy_queue import PolicyQueue, RunningChain, check_blocks
from qmodels.policies.speed_table import SpeedTable
from qmodels.policies.system import Arrangement, System, Workload

#: A capacity is beyond the bound only where it is more than rounding.
_NOISE: Final = 1.0 + 1e-9
#: Part of a capacity that a rate must stay below for its answer to be more than rounding.
_BELOW: Final = 1.0 - 1e-12


def built_model(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: str = AUTO,
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
    name = model_name(model)
    jobs = running_jobs(policy, system, workload)
    if running is None:
        chosen, few = _chosen(policy, system, workload, name, jobs)
        return (_built_small if few else _built)(policy, system, workload, chosen, memory, jobs)
    case = Case(policy, system, workload, _at_given_speeds(jobs, policy, system, running), memory, given=True)
    # Other models would go on with speeds of their own.
    usable = {each.name: each for each in _suiting(case) if each.takes_speeds}
    if name not in (AUTO, *usable):
        raise ModelError(
            f"running gives speeds of whole jobs, which only model="
            f"{' and '.join(map(repr, usable))} can take; got {name!r}"
        )
    chosen = next(iter(usable.values())) if name == AUTO else usable[name]
    built = _built(policy, system, workload, chosen, memory, case.jobs, True)
    if running.frozen is None:
        return built
    return _with_arrangements(built, running.factors, policy.label, workload, memory)


def _suiting(case: Case) -> Iterator[AbstractModel]:
    """Yield the models that suit a case, the nearest to the policy first."""
    for each in MODELS.values():
        model = each()
        if model.follows(case.policy, case.arrangement, case.workload) and model.suits(case):
            yield model


def _asked(name: str, case: Case) -> AbstractModel:
    """Return the model of a name, or for "auto" the first that suits."""
    if name == AUTO:
        return next(_suiting(case))
    model = MODELS.made(name)
    if not model.follows(case.policy, case.arrangement, case.workload):
        raise ModelError(f'{case.policy.label} has no chain of this kind; use model="speed-scaled"')
    return model


@lru_cache(maxsize=2048)  # asked for at every load
def _chosen(
    policy: AbstractPolicy, system: System, workload: Workload, name: str, jobs: RunningJobs
) -> tuple[AbstractModel, bool]:
    """Return the model to build for a name, and whether it is sure to have few states."""
    case = Case(policy, system, workload, jobs)
    model = _asked(name, case).substitute(case)
    return model, model.by_demand and case.has_few_states


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
    jobs: RunningJobs, policy: AbstractPolicy, system: System, running: SpeedTable
) -> RunningJobs:
    """The running jobs with other speeds; ModelError where these can mean nothing."""
    if policy.arrangement(system).unequal_sizes:
        raise ModelError(f"{policy.label} has jobs of several speeds; running gives one for all that run")
    if running.max_running != jobs.throughput.size:
        raise ModelError(
            f"running has speeds of 1 to {running.max_running} jobs, and under {policy.label} "
            f"1 to {jobs.throughput.size} run; give one for each"
        )
    # What a job asks of processors and disks is the same at any speed (utilisation law).
    ratio = running.throughput / jobs.throughput
    return RunningJobs(running.throughput, jobs.processors_busy * ratio, jobs.disks_busy * ratio, exact=False)


def capacity(policy: AbstractPolicy | str, system: System, workload: Workload, *, model: str = AUTO) -> float:
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
    .. [1] Rosti et al. 1998, secs. 3.3-3.5.
    .. [2] Baskett et al. 1975.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> round(capacity(SpaceSharing(1, 1), System(16, 16), work), 6)
    0.015385
    """
    name, policy = model_name(model), as_policy(policy)
    case = Case(policy, system, workload, running_jobs(policy, system, workload))
    if _asked(name, case).carries_all:
        return case.capacity
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
    if arrival_rate >= built.capacity * _BELOW:
        raise _unstable(policy, system, workload, arrival_rate, built.capacity)
    arrivals = arrivals_at(workload, arrival_rate / built.capacity)
    try:
        queue = PolicyQueue(arrivals.scale(1.0 / arrival_rate), built.running_at(arrival_rate))
        chain = solve_qbd(queue.chain())
    except UnstableError as error:  # jobs lie a little worse at this rate than while some always wait
        raise _unstable(policy, system, workload, arrival_rate, error.capacity) from None
    return SolvedQueue(policy=policy, system=system, workload=workload, queue=queue, chain=chain, built=built)


def _unstable(
    policy: AbstractPolicy, system: System, workload: Workload, arrival_rate: float, most: float
) -> UnstableError:
    """The error that names the largest stable load of a policy."""
    bound = work_bound(system, workload.program)
    load, largest = arrival_rate / bound, most / bound
    return UnstableError(policy.label, arrival_rate, most, load=load, largest_load=largest)


def _build(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    model: AbstractModel,
    memory: float | None,
    jobs: RunningJobs,
    given: bool = False,
) -> BuiltModel:
    """Build; `given` says that the speeds of `jobs` are not the policy's own."""
    case = Case(policy, system, workload, jobs, memory, given)
    built, overheads = model.build(case), case.arrangement.overheads
    if model.placement not in (None, case.arrangement.placement) and not case.arrangement.places_alike:
        start = "jobs taken to start where the fewest are at the disk"
        built = replace(built, exact=False, simplifications=(*built.simplifications, start))
    if built.at_rate is not None and not built.exact:
        # the occupancy is solved with Poisson arrivals and no pauses, the queue with the true ones
        said = [*built.simplifications]
        if workload.arrivals.order > 1 and not built.arrivals_followed:
            said.append("who is on which partition found as with Poisson arrivals of the same rate")
        if overheads:
            said.append("who is on which disk found as if dividing took no time")
        built = replace(built, simplifications=tuple(said))
    if not given and not built.exact:
        built = _within_bound(built, system, workload)
    return _with_overheads(built, policy.label, case.arrangement, workload, memory) if overheads else built


def _within_bound(built: BuiltModel, system: System, workload: Workload) -> BuiltModel:
    """The model, of no more capacity than any policy has, where that bound can be had."""
    try:
        most = work_bound(system, workload.program)
    except MemoryBudgetError:  # too many allotments to be compared
        return built
    return replace(built, capacity=most) if built.capacity > most * _NOISE else built


# One model is kept for the next arrival rate, and one for a policy that takes turns with it. What
# is kept of a model is at most an eighth of the memory that solving it was allowed: two dense
# blocks of the sixteen that `queue_memory` counts. By default that is an eighth of the machine's
# memory for both.
_built = lru_cache(maxsize=2)(_build)
# Of small models, two dense blocks of at most 200 states each, as many are kept as a comparison of
# all policies of a machine builds at each load: at most 80 MB.
_built_small = lru_cache(maxsize=128)(_build)


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
