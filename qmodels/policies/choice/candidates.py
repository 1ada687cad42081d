"""Policies that may be recommended, and how far their predictions are to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from qmodels.policies.base import POLICIES, AbstractPolicy
from qmodels.policies.system import System, Workload

#: Numbers this near are one number.
ROUNDING: Final = 1e-9


def default_candidates(
    system: System, *, multiprogramming: Sequence[int] = (2,)
) -> tuple[AbstractPolicy, ...]:
    """What every kind of policy proposes for a machine.

    SP, DP and TS propose all powers of two of partitions that fit the machine; further kinds
    that have been registered propose what they say.

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
    return tuple(
        policy
        for kind in POLICIES.values()
        for policy in kind.candidates(system, multiprogramming=levels)
    )


def checked_candidates(
    system: System, candidates: Sequence[AbstractPolicy] | None
) -> tuple[AbstractPolicy, ...]:
    """The candidates, each once; ModelError unless each is a policy that fits the machine."""
    if candidates is None:
        return default_candidates(system)
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Sequence):
        raise ModelError(f"candidates must be a sequence of policies, got {candidates!r:.60}")
    if not candidates:
        raise ModelError("there are no candidates; give at least one policy, or None for all")
    for policy in candidates:
        if not isinstance(policy, AbstractPolicy):
            raise ModelError(f"each candidate must be a policy, got {policy!r:.60}")
        policy.check(system)
    return tuple(dict.fromkeys(candidates))


def stated_error(policy: AbstractPolicy, method: str, workload: Workload) -> float:
    """Relative error within which a predicted time is to be trusted."""
    return ROUNDING if method == "exact" else policy.stated_error(workload)
