"""Policies that may be recommended, and how far their predictions are to be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy, System, Workload
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.space_sharing import SpaceSharing
from qmodels.policies.time_sharing import TimeSharing

#: Relative error of an approximate time: with shared disks; and of time sharing up to a demand of
#: scv 2 and above. See docs/explanation/policies.md.
SHARED_DISKS, TIME_SHARED, TIME_SHARED_VARIABLE = 0.05, 0.25, 0.35
_MODERATE: Final = 2.0
#: Numbers this near are one number.
ROUNDING: Final = 1e-9


def default_candidates(
    system: System, *, multiprogramming: Sequence[int] = (2,)
) -> tuple[AbstractPolicy, ...]:
    """All SP, DP and TS whose numbers of partitions are powers of two and fit the machine.

    Parameters
    ----------
    system : System
    multiprogramming : sequence of int
        Levels M of time sharing, each at least 2; M = 1 is space sharing.

    Returns
    -------
    tuple of policies
        Static space sharing first, then dynamic partitioning, then time sharing.

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
    >>> len(found), found[0].label, found[-1].label
    (66, 'SP(1,1)', 'TS(16,32;M=2)')
    """
    if not isinstance(system, System):
        raise ModelError(f"system must be of type System, got {system!r:.60}")
    if isinstance(multiprogramming, (str, bytes)) or not isinstance(multiprogramming, Sequence):
        raise ModelError(
            f"multiprogramming must be levels such as (2, 3), got {multiprogramming!r}"
        )
    levels = [whole_number("multiprogramming", m, least=2) for m in multiprogramming]
    pairs, disks = (
        [2**i for i in range(most.bit_length()) if 2**i <= most]
        for most in (system.max_processor_partitions, system.max_disk_partitions)
    )
    return (
        *(SpaceSharing(k, d) for d in disks for k in pairs),
        *(DynamicPartitioning(d) for d in disks),
        *(TimeSharing(k, d, m) for m in levels for d in disks for k in pairs),
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
    if method == "exact":
        return ROUNDING
    if not isinstance(policy, TimeSharing) or policy.multiprogramming == 1:
        return SHARED_DISKS
    return TIME_SHARED if workload.demand.scv <= _MODERATE + 1e-9 else TIME_SHARED_VARIABLE


def simplest_first(policy: AbstractPolicy) -> tuple[int, ...]:
    """Order among policies that do equally well."""
    kinds: tuple[type[AbstractPolicy], ...] = (SpaceSharing, DynamicPartitioning, TimeSharing)
    kind = next((i for i, each in enumerate(kinds) if isinstance(policy, each)), len(kinds))
    sizes = ("multiprogramming", "processor_partitions", "disk_partitions")
    return (kind, *(int(getattr(policy, name, 1)) for name in sizes))
