"""A job's demand as one law: exact where that is a law, else the nearest that can be followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from phasefit import PhaseType, match_moments
from phasefit.arrays import Array
from qmodels.errors import InfeasibleMomentsError, ModelError
from qmodels.memory import MOST_SECONDS, memory_limit
from qmodels.networks.sizes import most_that, occupancy_counts, queue_memory, queue_seconds
from qmodels.policies.base import AbstractPolicy, running_jobs
from qmodels.policies.models.disk_counts import DiskPartitions, count_states
from qmodels.policies.models.job_stages import MOST_STAGES, count_stages, job_stages, routes
from qmodels.policies.models.mixes import allotments, machine_allotments, mixed_demand, scale_alike
from qmodels.policies.system import Arrangement, System, Workload
from qmodels.programs.model import parts

#: States with all partitions taken up to which a law of demand is kept as it is.
_KEPT: Final = 800
#: Seconds that the chain of a law far from the demand may take.
_QUICK: Final = 3.0
#: A law of demand may be put more simply where a job's second moment changes by less.
_NEAR: Final = 0.2


def demand_law(
    policy: AbstractPolicy, system: System, workload: Workload, memory: float | None = None
) -> tuple[PhaseType, tuple[str, ...]]:
    """Law of a job's demand, of mean one, for the speed-scaled model; and how it was simplified.

    The law of a workload is kept as long as its chain can be solved at all, or where `memory` was
    given, or nothing simpler will do. Of jobs that are each one of several programs, or whose
    bursts have laws of their own, it is the law of a job's whole time on the allotment it has with
    all partitions taken and no disk shared.
    """
    full = time_alone(workload, *policy.allotment(system))
    if full is None:
        raise ModelError(
            f"a job of more than {MOST_STAGES} stages has no law that could be handled; use fewer phases "
            f"or phase_count = Geometric(mean)"
        )
    if full is workload.demand:
        states = _states(policy, system, workload)
        sizes = states(full.order)
        solved = queue_seconds(sizes) <= MOST_SECONDS and queue_memory(sizes) <= memory_limit()
        return (full, ()) if memory is not None or solved else _nearest(full, states)
    return reduced_law(full, policy, system, workload)


def _states(policy: AbstractPolicy, system: System, workload: Workload) -> Callable[[int], Array]:
    """Return what tells the states with 0..c jobs running from the phases of their demand."""
    arrangement, stages = policy.arrangement(system), workload.arrivals.order
    if arrangement.unequal_sizes:  # also by the size of their partition
        kinds = DiskPartitions.of(arrangement, shared=False, lumped=True, pooled=True)
        return lambda phases: stages * np.array(count_states(kinds, phases))
    jobs = running_jobs(policy, system, workload).throughput.size
    return lambda phases: stages * occupancy_counts(jobs, phases)


def _fits(sizes: Array) -> bool:
    return bool(sizes[-1] <= _KEPT and queue_seconds(sizes) <= MOST_SECONDS)


def _nearest(full: PhaseType, states: Callable[[int], Array]) -> tuple[PhaseType, tuple[str, ...]]:
    """Return the nearest simpler law whose chain is small; the law itself where none will do.

    A regular demand may be taken to be more variable than it is by any amount, so that jobs wait longer;
    others by little.
    """

    def fits(phases: int) -> bool:
        return _fits(states(phases))

    most = most_that(fits, full.order)
    for law, said in (*matched(full), *erlang(full, most)):
        if law.order <= most and is_near(law, full):
            return law, (said,)
    if full.scv >= 1.0 or most == 0:
        return full, ()
    quick = most_that(lambda phases: queue_seconds(states(phases)) <= _QUICK, most)
    law, said = next(erlang(full, quick), _exponential(full))
    return law, (said,)


def _exponential(full: PhaseType) -> tuple[PhaseType, str]:
    return PhaseType.exponential(mean=1.0), f"a demand of scv {full.scv:.3g} taken as exponential"


def time_alone(workload: Workload, p: float, d: float) -> PhaseType | None:
    """Law of a job's whole time on p processors and d disks, of mean one; None for too many stages."""
    io, cpu = workload.io_bursts, workload.cpu_bursts
    if io is None or cpu is None:
        return mixed_demand(workload, p, d)
    given = routes(workload.program, p, d)
    if count_stages(given, io, cpu) > MOST_STAGES:
        return None
    full = job_stages(given, io, cpu).law()
    return full.scale(1.0 / full.mean)


def reduced_law(
    full: PhaseType, policy: AbstractPolicy, system: System, workload: Workload
) -> tuple[PhaseType, tuple[str, ...]]:
    """The law, or the nearest of the simpler ones whose chain is not too large."""
    states = _states(policy, system, workload)
    for law, simplification in simpler_laws(full):
        if _fits(states(law.order)):
            return law, (simplification,) if simplification else ()
    law, simplification = _exponential(full)
    return law, (simplification,)


def mixed_approximately(arrangement: Arrangement, workload: Workload) -> tuple[str, ...]:
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


def is_near(law: PhaseType, full: PhaseType) -> bool:
    """Return whether a law of demand may stand for another."""
    return abs(law.moment(2) / full.moment(2) - 1.0) <= _NEAR


def simpler_laws(full: PhaseType) -> Iterator[tuple[PhaseType, str]]:
    """Yield the law, then ever simpler ones, and what each leaves out."""
    yield full, ""
    yield from matched(full)
    for phases in range(min(full.order, int(1.0 / full.scv)), 1, -1):
        yield from erlang(full, phases)


def matched(full: PhaseType) -> Iterator[tuple[PhaseType, str]]:
    """Yield laws of the first moments of a law, and what each leaves out."""
    moments = [full.moment(k) for k in (1, 2, 3)]
    for count in (3, 2):
        try:
            yield (
                match_moments(*moments[:count]),
                f"a demand of order {full.order} matched in {count} moments",
            )
        except InfeasibleMomentsError:
            continue


def erlang(full: PhaseType, most: int) -> Iterator[tuple[PhaseType, str]]:
    """Yield the Erlang law of at most so many phases that is next to a law, where it has several."""
    phases = min(most, full.order, int(1.0 / full.scv))
    if phases > 1:
        yield (
            PhaseType.erlang(phases=phases, mean=1.0),
            f"a demand of scv {full.scv:.3g} taken as Erlang of {phases} phases, scv {1 / phases:.3g}",
        )
