"""What is varied: axes over keys of a scenario, today's value among their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from phasefit.checks import real_number, suggestion
from qmodels.errors import ModelError
from qmodels.io.scenario import Scenario
from qmodels.io.settings import dotted, value_at

#: Short names of keys that are asked for most, and what they are called on a page.
SHORT: Final[Mapping[str, str]] = {
    "processors": "machine.processors",
    "disks": "machine.disks",
    "scv": "demand.scv",
}
LOAD, POLICY = "load", "policy"
#: Tables that tell what was measured, on the machine that there was.
_MEASURED: Final = ("log", "runs")
_MOST_VALUES: Final = 64


@dataclass(frozen=True)
class Axis:
    """One thing that is varied besides the load and the policy."""

    name: str  #: such as "disks"
    key: str  #: such as "machine.disks"
    values: tuple[Any, ...]  #: rising where they are numbers
    today: int | None  #: the place of the scenario's own value; None where it has none

    def settings(self, place: int, scenario: Scenario) -> dict[str, Any]:
        """What is set in the scenario's tables for one of the values; nothing for its own."""
        if place == self.today:
            return {}
        found = {self.key: self.values[place]}
        if self.key == "demand.scv":
            # A law fitted to a log has other jobs in it than a law that is given: what a job of
            # several programs is must not change with how variable jobs are.
            found["demand.mix"] = scenario.mix
        return found


def axes_of(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> tuple[Axis, ...]:
    """Axes of all keys but the load and the policy, the scenario's own values among theirs.

    Raises
    ------
    ModelError
        If a key cannot be varied, or two are the same.
    """
    found: list[Axis] = []
    for name, values in over.items():
        if name in (LOAD, POLICY):
            continue
        key = SHORT.get(name, dotted(name))
        table = key.partition(".")[0]
        if table in _MEASURED:
            raise ModelError(
                f"{name}: what was measured stays as it is; vary machine, demand, arrivals or "
                f"program, as in {', '.join(SHORT)}"
            )
        if "." not in key:
            raise ModelError(f"{name}: no such key; {suggestion(name, [*SHORT, LOAD, POLICY])}")
        if any(axis.key == key for axis in found):
            raise ModelError(f"{name}: is there twice")
        short = next((s for s, full in SHORT.items() if full == key), name)
        found.append(_axis(scenario, short, key, values))
    return tuple(found)


def listed_values(name: str, given: Any) -> list[Any]:
    """Return the values of what is varied, one at least; a single one may stand by itself.

    Parameters
    ----------
    name : str
        For the message.
    given : object
        A value, or several.

    Raises
    ------
    ModelError
        If there is none.
    """
    listed = [given] if isinstance(given, (str, int, float)) else list(given)
    if not listed:
        raise ModelError(f"{name} has no values; give one at least")
    return listed


def _axis(scenario: Scenario, name: str, key: str, values: Sequence[Any]) -> Axis:
    listed = listed_values(name, values)
    own = _own(scenario, key)
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in listed)
    if numbers and any(not isfinite(float(v)) for v in listed):
        raise ModelError(f"{name}: values must be finite, got {listed!r:.60}")
    if own is not None and isinstance(own, (int, float)) == numbers and own not in listed:
        listed.append(own)
    listed = list(dict.fromkeys(listed))
    if len(listed) > _MOST_VALUES:
        raise ModelError(f"{name} has {len(listed)} values; at most {_MOST_VALUES}")
    if numbers:
        listed.sort()
    return Axis(name, key, tuple(listed), listed.index(own) if own in listed else None)


def _own(scenario: Scenario, key: str) -> Any:
    """The scenario's own value of a key, also where its file does not say it."""
    if key == "demand.scv":
        if scenario.burst_laws is not None:
            raise ModelError(
                "scv: the jobs' bursts have laws of their own; vary bursts.io.scv or bursts.cpu.scv"
            )
        return round(float(scenario.demand.scv), 9)
    if key == "arrivals.scv":
        return round(float(scenario.arrivals.scv), 9)
    table, _, field = key.partition(".")
    if table == "machine" and hasattr(scenario.system, field):
        return getattr(scenario.system, field)
    held = value_at(scenario.tables, key)
    return held if isinstance(held, (str, int, float)) else None


def loads_of(scenario: Scenario, over: Mapping[str, Sequence[Any]]) -> tuple[float, ...]:
    """Loads asked for, or those of the scenario; rising."""
    given = listed_values("load", over.get(LOAD, scenario.loads))
    return tuple(sorted({real_number("load", value, above=0.0) for value in given}))


def prices_of(axes: Sequence[Axis], prices: Mapping[str, float] | None) -> dict[str, float]:
    """Prices of one unit, by the name of the axis.

    Raises
    ------
    ModelError
        If a price is no positive number, or of something that is not varied in numbers.
    """
    known = {axis.name: axis for axis in axes}
    found = {}
    for name, price in (prices or {}).items():
        short = next((s for s, full in SHORT.items() if full == dotted(name)), name)
        axis = known.get(short)
        if axis is None:
            hint = suggestion(name, known, "varied are") if known else "nothing is varied"
            raise ModelError(f"price of {name}: it is not varied; {hint}")
        if axis.today is None or not all(isinstance(v, (int, float)) for v in axis.values):
            raise ModelError(f"price of {name}: only what is counted has a price for each")
        found[short] = real_number(f"price of {name}", price, above=0.0)
    return found
