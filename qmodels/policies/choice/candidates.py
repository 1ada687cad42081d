"""Policies that may be recommended, and how far their predictions are to be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Final

from phasefit.checks import whole_number
from qmodels.errors import MemoryBudgetError, ModelError, UnstableError
from qmodels.policies.base import POLICIES, AbstractPolicy
from qmodels.policies.labels import as_policy
from qmodels.policies.models.build import demand_law
from qmodels.policies.models.recorded_errors import MOST_BUSY
from qmodels.policies.system import System, Workload
from qmodels.programs.model import parts

#: Numbers this near are one number.
ROUNDING: Final = 1e-9
#: Fraction of the capacity and scv of the demand from which stated errors do not hold, and what
#: is stated then of policies whose capacity is not in doubt; see docs/explanation/policies.md.
NEAR_CAPACITY, VARIABLE, NEAR_CAPACITY_ERROR = 0.9, 2.0, 0.25
#: The same fraction where the capacity is in doubt and the scv is above `VARIABLE`.
NEAR_DOUBTFUL_CAPACITY: Final = 0.8
#: What is stated of jobs of several programs whose shares of I/O may differ: they wait for disks
#: and for processors unequally, and the model gives all of them one speed.
MIXED_ERROR: Final = 0.15

#: Jobs that may divide a machine whose policies are compared.
_MOST_PARTITIONS: Final = 1024
#: Jobs at once of a policy that is proposed: the time grows with their cube, to minutes beyond.
MOST_JOBS: Final = 200


def default_candidates(
    system: System, *, multiprogramming: Sequence[int] = (2,)
) -> tuple[AbstractPolicy, ...]:
    """What every kind of policy proposes for a machine.

    SP, DP and TS propose all powers of two of partitions that fit the machine; further kinds
    that have been registered propose what they say. Policies that run more than 200 jobs at a
    time are not among them (see `too_many_jobs`), for all of them would take minutes: name
    those that come into question.

    Parameters
    ----------
    system : System
    multiprogramming : sequence of int
        Levels M of time sharing, each at least 2; M = 1 is space sharing.

    Returns
    -------
    tuple of policies
        Static space sharing first, then dynamic partitioning, then time sharing, then others.

    Raises
    ------
    ModelError
        If a level is not a whole number >= 2.
    MemoryBudgetError
        If more than 1,024 jobs can divide the processors.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, sec. 4.

    Examples
    --------
    >>> found = default_candidates(System(processors=128, disks=32, min_processors=8))
    >>> [policy.label for policy in found[:3]]
    ['SP(1,1)', 'SP(2,1)', 'SP(4,1)']
    >>> {kind: sum(each.name == kind for each in found) for kind in ("SP", "DP", "TS")}
    {'SP': 30, 'DP': 6, 'TS': 30}
    """
    if not isinstance(system, System):
        raise ModelError(f"system must be of type System, got {system!r:.60}")
    if isinstance(multiprogramming, (str, bytes)) or not isinstance(multiprogramming, Sequence):
        raise ModelError(
            f"multiprogramming must be levels such as (2, 3), got {multiprogramming!r}"
        )
    levels = [whole_number("multiprogramming", m, least=2) for m in multiprogramming]
    if system.max_processor_partitions > _MOST_PARTITIONS:
        raise MemoryBudgetError(
            f"the policies of a machine that {system.max_processor_partitions:,} jobs can divide "
            f"are too many and too large to be compared; give it a min_processors of at least "
            f"{-(-system.processors // _MOST_PARTITIONS):,}, or name candidates (a scenario's own "
            f"policies with --listed)"
        )
    return tuple(policy for policy in _proposed(system, levels) if _runs(policy, system))


def too_many_jobs(
    system: System, *, multiprogramming: Sequence[int] = (2,)
) -> tuple[AbstractPolicy, ...]:
    """What `default_candidates` leaves out: policies of more than 200 jobs at a time."""
    return tuple(
        policy for policy in _proposed(system, multiprogramming) if not _runs(policy, system)
    )


def _proposed(system: System, levels: Sequence[int]) -> Iterator[AbstractPolicy]:
    for kind in POLICIES.values():
        yield from kind.candidates(system, multiprogramming=levels)


def _runs(policy: AbstractPolicy, system: System) -> bool:
    return policy.arrangement(system).max_running <= MOST_JOBS


def checked_candidates(
    system: System, candidates: Sequence[AbstractPolicy | str] | None
) -> tuple[AbstractPolicy, ...]:
    """The candidates or those of their labels, each once; ModelError for one that does not fit."""
    if candidates is None:
        return default_candidates(system)
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Sequence):
        raise ModelError(f"candidates must be a sequence of policies, got {candidates!r:.60}")
    if not candidates:
        raise ModelError("there are no candidates; give at least one policy, or None for all")
    policies = [as_policy(candidate) for candidate in candidates]
    for policy in policies:
        if not isinstance(policy, AbstractPolicy):
            raise ModelError(f"each candidate must be a policy, got {policy!r:.60}")
        policy.check(system)
    return tuple(dict.fromkeys(policies))


def unstable_under_all(
    capacities: Mapping[AbstractPolicy, float], rate: float, bound: float
) -> UnstableError:
    """What to raise where no policy asked for can carry a rate: names the one that carries most.

    `capacities` are the largest stable rates, `bound` is the rate of load 1, jobs per second.
    """
    most = max(capacities, key=capacities.__getitem__)
    name = most.label
    if len(capacities) > 1:
        name += f", which of all {len(capacities)} policies carries most"
    return UnstableError(
        name, rate, capacities[most], load=rate / bound, largest_load=capacities[most] / bound
    )


def stated_error(
    policy: AbstractPolicy,
    method: str,
    workload: Workload,
    *,
    system: System | None = None,
    utilisation: float = 0.0,
    recorded: float | None = None,
) -> float:
    """Relative error within which a predicted time is to be trusted; infinite for none.

    Parameters
    ----------
    policy, method, workload
        What was predicted, and whether "exact" or "approximate".
    system : System, optional
        The machine, on which the programs of a mix differ; without it `workload.demand` stands
        for the variability of all jobs.
    utilisation : float
        Arrival rate over the policy's capacity. From 90 % on, times of variable demands (scv 2
        and more) are off by more than elsewhere, and if the capacity itself is in doubt no
        error can be stated, above scv 2 from 80 % on.
    recorded : float, optional
        Error that was recorded of points like this one, see `Prediction.recorded_error`; it goes
        before the policy's own up to the loads that were recorded.
    """
    if method == "exact":
        return ROUNDING
    doubtful = policy.capacity_error(workload) > 0.0
    several = workload.mix == "each" and len(parts(workload.program)) > 1
    if system is not None and (workload.has_bursts or workload.mix == "each"):
        # the workload with the one law of demand that it amounts to
        demand = demand_law(policy, system, workload)[0]
        workload = Workload(workload.program, demand, workload.arrivals, mix="mean")
    error = policy.stated_error(workload)
    if several:
        error = max(error, MIXED_ERROR)
    scv = workload.demand.scv
    if recorded is not None:
        if utilisation <= MOST_BUSY:
            return max(recorded, MIXED_ERROR if several else 0.0)
        return inf if doubtful and scv >= VARIABLE else max(error, recorded, NEAR_CAPACITY_ERROR)
    near = NEAR_DOUBTFUL_CAPACITY if doubtful and scv > VARIABLE * (1.0 + 1e-6) else NEAR_CAPACITY
    if utilisation < near or scv < VARIABLE * (1.0 - 1e-6):
        return error
    return inf if doubtful else max(error, NEAR_CAPACITY_ERROR)
