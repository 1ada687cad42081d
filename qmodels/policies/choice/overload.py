"""Jobs that no policy can carry: which resource stands in the way, and how many of it would do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError, UnstableError
from qmodels.policies.base import AbstractPolicy, work_bounds
from qmodels.policies.choice.candidates import ROUNDING
from qmodels.policies.models.build import capacity
from qmodels.policies.system import System, Workload

if TYPE_CHECKING:
    import pandas as pd

#: Part of its capacity at which a policy is to carry the jobs on a machine that "would do".
RESERVE: Final = 0.9
#: Part of the largest capacity at which policies are ranked where none carries what was asked for.
POSSIBLE: Final = 0.75
#: Times as many processors or disks as are needed at least, that are tried at most.
_MOST_TIMES: Final = 3
#: Part of the machine's bound that policies reach where it is not they that limit.
_REACHED: Final = 0.9
_TRIED = 3  # policies whose capacity on a larger machine is looked at


@dataclass(frozen=True, kw_only=True, eq=False)
class Overload(Result):
    """Jobs that no policy can carry, what limits them, and what would do."""

    drawing = Drawing("resource", "part of the jobs that it carries")

    arrival_rate: float  #: jobs per second that come
    load: float  #: the same over the rate that no policy can exceed (`work_bound`)
    policy: AbstractPolicy  #: that carries most
    policies: int  #: of how many
    capacity: float  #: jobs per second that it carries
    largest_load: float  #: the same as a load
    machine: Mapping[str, int]  #: its processors and disks
    #: Part of the jobs that the processors, and the disks, could carry under that policy if the
    #: others were no limit.
    carried: Mapping[str, float]
    limits: tuple[str, ...]  #: those of which this is less than all; none where the policies limit
    #: How many of those at least, whatever the policy.
    needed: Mapping[str, int]
    #: Processors and disks with which one of the policies would carry the jobs at nine tenths of
    #: its capacity; None where the policies limit, on a larger machine too.
    enough: Mapping[str, int] | None

    @property
    def possible_load(self) -> float:
        """A load that the best policy can carry with something to spare, two digits of it."""
        return float(f"{POSSIBLE * self.largest_load:.2g}")

    @property
    def sentence(self) -> str:
        """What stands in the way and what would do, in words."""
        said = cannot_carry(self.policy.label, self.policies, self.largest_load, self.load, self.limits)
        parts = [f"{said}."]
        if not self.limits:
            parts.append("Neither processors nor disks would be too few: other policies may carry more.")
        for name in self.limits:
            carry = _counted(self.machine[name], name, carry=True)
            parts.append(f"{carry} {100 * self.carried[name]:.3g} % of the jobs.")
        if self.enough is not None:
            more = [name for name in self.machine if self.enough[name] > self.machine[name]]
            would = " and ".join(_counted(self.enough[name], name) for name in more)
            parts.append(f"{would} would do.")
        elif self.needed:
            least = " and ".join(_counted(count, name) for name, count in self.needed.items())
            parts.append(f"At least {least} are needed, and policies that make more of them.")
        return " ".join(parts)

    def table(self) -> str:
        """The sentence."""
        return self.sentence

    def to_frame(self) -> pd.DataFrame:
        """A row for processors and one for disks."""
        names = list(self.carried)
        return data_frame(
            {
                "resource": names,
                "count": [self.machine[name] for name in names],
                "carried": [self.carried[name] for name in names],
                "enough": [(self.enough or {}).get(name, math.nan) for name in names],
            }
        )

    def drawn(self) -> pd.DataFrame:
        """What each carries."""
        return self.to_frame().rename(columns={"carried": "part of the jobs that it carries"})

    def record(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sentence": self.sentence,
            "arrival_rate": self.arrival_rate,
            "load": self.load,
            "policy": self.policy.label,
            "policies": self.policies,
            "capacity": self.capacity,
            "largest_load": self.largest_load,
            "machine": dict(self.machine),
            "carried": dict(self.carried),
            "limits": list(self.limits),
            "needed": dict(self.needed),
            "enough": None if self.enough is None else dict(self.enough),
            "possible_load": self.possible_load,
        }


def overload(
    system: System,
    workload: Workload,
    *,
    arrival_rate: float,
    policies: Sequence[AbstractPolicy],
    model: str = "auto",
) -> Overload:
    """Say what limits jobs that none of these policies can carry, and what would do.

    Parameters
    ----------
    system, workload
        As for `predict`.
    arrival_rate : float
        Jobs per second.
    policies : sequence of policies
        At least one; none may carry that rate.
    model : str
        As for `predict`.

    Returns
    -------
    Overload

    Raises
    ------
    ModelError
        If one of the policies carries the jobs, or the arguments make no model.

    Notes
    -----
    A resource limits if, under the policy that carries most, its bound (`work_bounds`) times the
    part of the machine's bound that the policy reaches is less than the arrival rate. How many
    would do is tried: the three policies that carry most are put on machines with more of what
    limits, the programs being what they are on this one.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> jobs = Workload(Program([Phase(io=16.0, cpu=16.0)]))
    >>> found = overload(System(64, 4), jobs, arrival_rate=0.3, policies=[SpaceSharing(8, 4)])
    >>> print(found.sentence)
    No policy can carry these jobs: SP(8,4) manages load 0.9931, they need 1.2; the disks limit. 4
    disks carry 82.8 % of the jobs. 6 disks would do.
    """
    carries = {each: capacity(each, system, workload, model=model) for each in policies}
    if not carries:
        raise ModelError("there are no policies; give at least one")
    best = max(carries, key=carries.__getitem__)
    if not carries[best] < arrival_rate:
        raise ModelError(f"{best.label} carries these jobs: there is no overload")
    bounds = work_bounds(system, workload.program)
    bound = min(bounds.values())
    reached = carries[best] / bound
    carried = {name: reached * most / arrival_rate for name, most in bounds.items()}
    limits = limiting(bounds, carries[best], arrival_rate)
    first = sorted(carries, key=carries.__getitem__, reverse=True)[:_TRIED]
    return Overload(
        arrival_rate=arrival_rate,
        load=arrival_rate / bound,
        policy=best,
        policies=len(carries),
        capacity=carries[best],
        largest_load=reached,
        machine=counts_of(system),
        carried=carried,
        limits=limits,
        needed=_by_bounds(system, workload, arrival_rate),
        enough=_enough(system, workload, arrival_rate / RESERVE, first, limits, model),
    )


def unstable_under_all(
    capacities: Mapping[AbstractPolicy, float], rate: float, bounds: Mapping[str, float]
) -> UnstableError:
    """What to raise where no policy asked for can carry a rate: what the best manages, what limits.

    `capacities` are the largest stable rates, `bounds` those of `work_bounds`, jobs per second.
    """
    best = max(capacities, key=capacities.__getitem__)
    bound, most = min(bounds.values()), capacities[best]
    loads: dict[str, Any] = {"load": rate / bound, "largest_load": most / bound}
    said = None
    if len(capacities) > 1:
        said = cannot_carry(
            best.label, len(capacities), most / bound, rate / bound, limiting(bounds, most, rate)
        )
    return UnstableError(best.label, rate, most, message=said, **loads)


def cannot_carry(best: str, policies: int, carries: float, load: float, limits: Sequence[str]) -> str:
    """The clause that says so, without a full stop."""
    of = f"the best of {policies:,}, {best}," if policies > 1 else best
    what = f"the {' and the '.join(limits)} limit" if limits else "the policies limit"
    return f"No policy can carry these jobs: {of} manages load {carries:.4g}, they need {load:.4g}; {what}"


def limiting(bounds: Mapping[str, float], most: float, rate: float) -> tuple[str, ...]:
    """The resources that are too few for a rate where a policy carries `most`, the fewest first.

    None where the machine could carry the rate and only the policy cannot.
    """
    bound = min(bounds.values())
    short = {name: each for name, each in bounds.items() if each * most / bound <= rate}
    if most < _REACHED * bound and rate < bound:
        return ()
    return tuple(sorted(short, key=short.__getitem__))


def _enough(
    system: System,
    workload: Workload,
    rate: float,
    policies: Sequence[AbstractPolicy],
    limits: Sequence[str],
    model: str,
) -> Mapping[str, int] | None:
    """Processors and disks with which one of the policies carries a rate, few to spare."""
    if not limits:
        return None

    def carries(of: System) -> bool:
        return any(capacity(each, of, workload, model=model) >= rate for each in policies)

    more: dict[str, Any] = _by_bounds(system, workload, rate)
    found = least = replace(system, **more)
    try:
        while not carries(found):
            for name in limits:
                count = getattr(found, name)
                found = replace(found, **{name: count + max(count // 16, 1)})
                if count > _MOST_TIMES * getattr(least, name):
                    return None
        for name in limits:  # the least of each that does
            low, high = getattr(least, name), getattr(found, name)
            while low < high:
                middle = (low + high) // 2
                if carries(replace(found, **{name: middle})):
                    high = middle
                else:
                    low = middle + 1
            found = replace(found, **{name: high})
    except ModelError:  # a machine too large to be compared
        return None
    return counts_of(found)


def _by_bounds(system: System, workload: Workload, rate: float) -> dict[str, int]:
    """As much more of each as its bound is below a rate."""
    bounds = work_bounds(system, workload.program)
    return {
        name: math.ceil(getattr(system, name) * rate / each * (1.0 - ROUNDING))
        for name, each in bounds.items()
        if each < rate
    }


def _counted(count: int, name: str, *, carry: bool = False) -> str:
    one = name.removesuffix("s")
    if count == 1:
        return f"1 {one}{' carries' if carry else ''}"
    return f"{count:,} {name}{' carry' if carry else ''}"


def counts_of(system: System) -> dict[str, int]:
    """Its processors and disks, by name."""
    return {"processors": system.processors, "disks": system.disks}
