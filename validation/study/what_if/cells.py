"""Points of a grid: curves of policies, the machines they are of, and all policies compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qmodels.policies import AbstractPolicy, System
from qmodels.policies.choice.ranking import BEST, SATURATED, RankedPolicy


@dataclass(frozen=True, eq=False)
class Curve:
    """One policy on one machine over the load."""

    policy: AbstractPolicy
    capacity: float  #: jobs per second; NaN where it could not be computed
    rows: tuple[RankedPolicy, ...]  #: a row for each load, not compared with others
    ends: tuple[RankedPolicy, ...]  #: at `ENDS` of the capacity, where it bends most


@dataclass(frozen=True, eq=False)
class Machine:
    """One combination of the values of all axes: a machine and the jobs on it."""

    place: tuple[int, ...]  #: of each axis' value
    setting: Mapping[str, Any]  #: value by name of the axis
    system: System | None  #: None where there is no such machine
    curves: tuple[Curve, ...]
    misfits: tuple[str, ...]  #: labels of policies that do not fit it
    refused: str = ""  #: why there is no such machine


@dataclass(frozen=True, eq=False)
class Cell:
    """One machine at one load: all policies compared."""

    machine: Machine
    load: float
    money: float | None  #: what it costs beyond today's machine; None without prices
    rows: tuple[RankedPolicy, ...]  #: best first, as in a `Recommendation`; empty for no machine

    @property
    def best(self) -> RankedPolicy | None:
        """The best policy's row; None where none can carry the load or is to be trusted."""
        return self.rows[0] if self.rows and self.rows[0].status == BEST else None

    @property
    def why_none(self) -> str:
        """Why there is no best policy; "" where there is one."""
        if self.best is not None:
            return ""
        if self.machine.refused:
            return self.machine.refused
        if not self.rows:
            return f"no policy fits: {', '.join(self.machine.misfits)}"
        if all(row.status == SATURATED for row in self.rows):
            most = max(self.rows, key=lambda row: row.capacity)
            return f"no policy carries the load; {most.label} carries most"
        return f"{self.rows[0].label} is {self.rows[0].status}: {self.rows[0].note}"
