"""What `qmodels share --beside` finds: I/O times of jobs beside production, by group of like jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from qmodels.storage import ProductionLaw
from qmodels.words import in_words

#: Groups that are printed; JSON has all.
_SHOWN: Final = 12
LEVELS: Final = (0.1, 0.5, 0.9)


@dataclass(frozen=True, eq=False)
class ProductionAnswer:
    """Quantiles of every group, by history alone and at the loads that were asked for."""

    law: ProductionLaw
    at: Mapping[str, float]

    def record(self) -> dict[str, Any]:
        """Return what JSON has."""
        return {
            "loads": self.law.loads,
            "at": dict(self.at),
            "groups": [
                {
                    "group": name,
                    "runs": group.runs,
                    "history": self._quantiles(name, None),
                    "at_load": self._quantiles(name, self.at) if self.at else None,
                    "usual_load": dict(zip(self.law.loads, group.centre.tolist(), strict=True)),
                    "covered": group.covered,
                }
                for name, group in self.law.groups.items()
            ],
        }

    def _quantiles(self, name: str, at: Mapping[str, float] | None) -> dict[str, float]:
        found = self.law.quantiles(name, LEVELS, at=at).tolist()
        return {f"p{100 * q:.0f}": x for q, x in zip(LEVELS, found, strict=True)}

    def lines(self) -> list[str]:
        """Return a sentence for each group, those with most runs first."""
        groups = sorted(self.law.groups.values(), key=lambda one: -one.runs)
        lines = []
        for one in groups[:_SHOWN]:
            _, middle, high = self._quantiles(one.name, None).values()
            line = (
                f"{one.name}: {in_words(middle)} in the median, {in_words(high, like=middle)} one time in ten"
            )
            if self.at:
                low, now, late = self._quantiles(one.name, self.at).values()
                loads = ", ".join(f"{name} {value:g}" for name, value in self.at.items())
                line += (
                    f"; at {loads} {in_words(now, like=middle)} "
                    f"({in_words(low, like=middle)} to {in_words(late, like=middle)} eight times in ten)"
                )
            if np.isfinite(one.covered):
                line += f". {one.covered:.0%} of its last quarter lay between 10 and 90 % (80 % wanted)"
            lines.append(f"- {line}.")
        if len(groups) > _SHOWN:
            lines.append(f"{len(groups) - _SHOWN} more groups with --json")
        return lines
