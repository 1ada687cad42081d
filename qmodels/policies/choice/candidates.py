"""Policies that may be recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from phasefit.checks import whole_number
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.policies.base import POLICIES, AbstractPolicy
from qmodels.policies.labels import as_policy
from qmodels.policies.system import System

#: Numbers this near are one number.
ROUNDING: Final = 1e-9
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
    .. [1] Rosti et al. 1998, sec. 4.

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
        raise ModelError(f"multiprogramming must be levels such as (2, 3), got {multiprogramming!r}")
    levels = [whole_number("multiprogramming", m, least=2) for m in multiprogramming]
    if system.max_processor_partitions > _MOST_PARTITIONS:
        raise MemoryBudgetError(
            f"the policies of a machine that {system.max_processor_partitions:,} jobs can divide "
            f"are too many and too large to be compared; give it a min_processors of at least "
            f"{-(-system.processors // _MOST_PARTITIONS):,}, or name candidates (a scenario's own "
            f"policies with --listed)"
        )
    return tuple(policy for policy in _proposed(system, levels) if runs_few(policy, system))


def too_many_jobs(system: System, *, multiprogramming: Sequence[int] = (2,)) -> tuple[AbstractPolicy, ...]:
    """What `default_candidates` leaves out: policies of more than 200 jobs at a time."""
    return tuple(policy for policy in _proposed(system, multiprogramming) if not runs_few(policy, system))


def _proposed(system: System, levels: Sequence[int]) -> Iterator[AbstractPolicy]:
    for kind in POLICIES.values():
        yield from kind.candidates(system, multiprogramming=levels)


def runs_few(policy: AbstractPolicy, system: System) -> bool:
    """Whether a policy runs at most 200 jobs at a time, so that it can be compared in seconds."""
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
