"""Candidates with what was predicted of them, put in order: best, ties, slower, the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan, nan
from typing import Any

from phasefit.checks import real_number
from phasefit.records import Record
from qmodels.policies.base import AbstractPolicy
from qmodels.policies.choice.candidates import ROUNDING

#: What a row may be; those that are ranked first.
BEST, TIE, SLOWER, UNDECIDED, EXCEEDS, SATURATED, UNKNOWN = (
    "best", "tie", "slower", "undecided", "exceeds a limit", "saturated", "not computed",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedPolicy(Record):
    """A candidate with what was predicted of it."""

    policy: AbstractPolicy
    #: "best", "tie", "slower", "undecided", "exceeds a limit", "saturated" or "not computed"
    status: str
    value: float  #: of the objective; NaN where there is none
    #: relative error within which the predicted times are to be trusted; infinite for none
    error: float
    quantities: Mapping[str, float]  #: objective, limited quantities and means, by name
    capacity: float  #: largest stable arrival rate, jobs per second; NaN where not computed
    method: str  #: "exact" or "approximate"; "" where nothing was predicted
    note: str = ""  #: which limit is exceeded or is nearer than the error, or why not computed
    #: what the objective is no less than, where it was not computed for that; else NaN
    least: float = nan

    @property
    def label(self) -> str:
        """As the paper writes it."""
        return self.policy.label

    def record(self) -> dict[str, Any]:
        """What was predicted; None for what is not known or, of an error, cannot be stated."""

        def known(value: float) -> float | None:
            return real_number("value", value) if isfinite(value) else None

        return {
            "policy": self.label,
            "status": self.status,
            "method": self.method,
            "error": known(self.error),
            "capacity": known(self.capacity),
            **{name: known(value) for name, value in self.quantities.items()},
            "at_least": known(self.least),
            "note": self.note,
        }


def ranked(found: Sequence[RankedPolicy]) -> tuple[RankedPolicy, ...]:
    """The rows in order, the best one and what ties with it marked.

    Slower ones whose value was not computed come after those that have one, by `least`.
    """
    left = sorted(
        (row for row in found if row.status == SLOWER and isnan(row.value)),
        key=lambda row: row.least,
    )
    found = [row for row in found if row.status != SLOWER or not isnan(row.value)]
    in_doubt = [row for row in found if row.status == SLOWER and row.error == inf]
    sure = [row for row in found if row.status == SLOWER and row.error < inf]
    fit = sorted(sure, key=lambda row: row.value)
    # Near capacity jobs take longer than predicted, not less: one predicted above all that the
    # best may be is slower, one predicted below may be anything.
    reach = fit[0].value * (1.0 + fit[0].error) if fit else inf
    undecided = [
        replace(row, status=UNDECIDED if row.value <= reach else SLOWER) for row in in_doubt
    ]
    fit = sorted([*fit, *(r for r in undecided if r.status == SLOWER)], key=lambda row: row.value)
    rest = sorted(
        [
            *(row for row in found if row.status != SLOWER),
            *(row for row in undecided if row.status == UNDECIDED),
        ],
        key=lambda row: (
            (UNDECIDED, EXCEEDS, SATURATED, UNKNOWN).index(row.status),
            row.value
            if row.status in (UNDECIDED, EXCEEDS)
            else -row.capacity
            if row.capacity > 0
            else inf,
        ),
    )
    if not fit:
        return (*left, *rest)
    least = fit[0].value
    equals = [row for row in fit if row.value <= least * (1.0 + ROUNDING)]
    best = min(equals, key=lambda row: row.policy.simplicity)
    first, *others = [best, *(row for row in fit if row is not best)]
    return (
        replace(first, status=BEST),
        *(
            replace(row, status=TIE if overlap(row, best) else SLOWER)
            for row in _ties_first(others, best)
        ),
        *left,
        *rest,
    )


def _ties_first(rows: Sequence[RankedPolicy], best: RankedPolicy) -> list[RankedPolicy]:
    return sorted(rows, key=lambda row: (not overlap(row, best), row.value))


def overlap(row: RankedPolicy, best: RankedPolicy) -> bool:
    """Whether a predicted value could be as small as the best one, each within its error."""
    return row.error < inf and row.value * (1.0 - row.error) <= best.value * (1.0 + best.error)
