"""The loads that a study speaks of, and which policies are named there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from qmodels.policies import AbstractPolicy
from qmodels.policies.choice.ranking import BEST, RankedPolicy
from qmodels.policies.choice.recommendation import Recommendation

#: Fraction of a policy's capacity above which its time is no headline: there one per cent more
#: load adds a fifth or more to it, and no load is known to one per cent.
HEADLINE: float = 0.95


class Sweep(Protocol):
    """What is spoken of: a `Study`, once its policies are predicted."""

    @property
    def loads(self) -> tuple[float, ...]:
        """Of the sweep, rising."""

    @property
    def log_load(self) -> float | None:
        """Load of the log's own arrivals."""

    def recommendation(self, load: float) -> Recommendation:
        """All policies ranked at a load."""


@dataclass(frozen=True, eq=False)
class Headline:
    """All policies at a load that is spoken of; the first is named, alone or with its ties."""

    name: str  #: such as "light load"
    found: Recommendation

    @property
    def load(self) -> float:
        """Load of the sweep."""
        return self.found.load

    @property
    def named(self) -> AbstractPolicy:
        """The policy with the least predicted time."""
        return self.found.rows[0].policy


def headlines(study: Sweep) -> tuple[list[Headline], Mapping[float, Recommendation]]:
    """What is spoken of, by rising load; and the loads at which no policy can be recommended."""
    found = {load: study.recommendation(load) for load in study.loads}
    left = {load: each for load, each in found.items() if _too_near(each)}
    names = _names(study.log_load, [load for load in found if load not in left])
    return [Headline(name, found[load]) for load, name in sorted(names.items())], left


def near_saturation(row: RankedPolicy, rate: float) -> str:
    """What is said of a time close to the policy's capacity; "" elsewhere."""
    fraction = rate / row.capacity
    return f"at {fraction:.1%} of what it can carry" if fraction > HEADLINE else ""


def _names(own: float | None, fit: list[float]) -> dict[float, str]:
    """The loads that are spoken of, and what each is called."""
    if not fit:
        return {}
    chosen = {fit[0]: "light load"}
    if len(fit) > 1:
        chosen[fit[-1]] = "heavy load"
        middle = min(fit, key=lambda x: abs(x - (fit[0] + fit[-1]) / 2))
        chosen.setdefault(middle, "medium load")
    if own is not None and own in fit:
        chosen[own] = "the log's own load"
    return chosen


def _too_near(found: Recommendation) -> bool:
    best = found.rows[0]
    return best.status != BEST or bool(near_saturation(best, found.arrival_rate))
