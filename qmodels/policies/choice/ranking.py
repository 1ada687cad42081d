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
from qmodels.policies.methods import error_in_short

#: What a row may be; those that are ranked first.
BEST, TIE, SLOWER, UNDECIDED, EXCEEDS, SATURATED, UNKNOWN = (
    "best",
    "tie",
    "slower",
    "undecided",
    "exceeds a limit",
    "saturated",
    "not computed",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedPolicy(Record):
    """A candidate with what was predicted of it."""

    policy: AbstractPolicy
    #: "best", "tie", "slower", "undecided", "exceeds a limit", "saturated" or "not computed"
    status: str
    value: float  #: of the objective; NaN where there is none
    error: float  #: relative error stated of the objective; infinite where none is known
    quantities: Mapping[str, float]  #: objective, limited quantities and means, by name
    capacity: float  #: largest stable arrival rate, jobs per second; NaN where not computed
    method: str  #: "exact" or "approximate"; "" where nothing was predicted
    note: str = ""  #: which limit is exceeded or is nearer than the error, or why not computed
    least: float = nan  #: what the objective is no less than, however far off its prediction is
    doubtful: bool = False  #: whether it is so near to a capacity in doubt that it may have none

    @property
    def label(self) -> str:
        """As the paper writes it."""
        return self.policy.label

    @property
    def error_in_words(self) -> str:
        """The error that is stated of the objective, in short; see `error_in_short`."""
        return error_in_short(self.method, self.error)

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
    in_doubt = [row for row in found if row.status == SLOWER and row.doubtful]
    sure = [row for row in found if row.status == SLOWER and not row.doubtful]
    fit = sorted(sure, key=lambda row: row.value)
    # Near capacity jobs take longer than predicted, not less: one predicted above all that the
    # best may be is slower, one predicted below may be anything.
    reach = _reach(fit[0], fit) if fit else inf
    undecided = [replace(row, status=UNDECIDED if row.value <= reach else SLOWER) for row in in_doubt]
    fit = sorted([*fit, *(r for r in undecided if r.status == SLOWER)], key=lambda row: row.value)
    rest = sorted(
        [
            *(row for row in found if row.status != SLOWER),
            *(row for row in undecided if row.status == UNDECIDED),
        ],
        key=lambda row: (
            (UNDECIDED, EXCEEDS, SATURATED, UNKNOWN).index(row.status),
            row.value if row.status in (UNDECIDED, EXCEEDS) else -row.capacity if row.capacity > 0 else inf,
        ),
    )
    if not fit:
        return (*left, *rest)
    least = fit[0].value
    equals = [row for row in fit if row.value <= least * (1.0 + ROUNDING)]
    best = min(equals, key=lambda row: row.policy.simplicity)
    reach = _reach(best, fit)
    others = [
        replace(row, status=TIE if not row.doubtful and _at_least(row) <= reach else SLOWER)
        for row in fit
        if row is not best
    ]
    others.sort(key=lambda row: (row.status != TIE, row.value))
    return (replace(best, status=BEST), *others, *left, *rest)


def _reach(first: RankedPolicy, rows: Sequence[RankedPolicy]) -> float:
    """What the least value of the rows is at most, that of the `first` one where it is known."""
    return _at_most(first) if first.error < inf else min(map(_at_most, rows))


def _at_most(row: RankedPolicy) -> float:
    return row.value * (1.0 + row.error) if row.value > 0.0 else row.value


def _at_least(row: RankedPolicy) -> float:
    if row.error < inf:
        return row.value * (1.0 - row.error)
    return 0.0 if isnan(row.least) else row.least


def overlap(row: RankedPolicy, best: RankedPolicy) -> bool:
    """Whether a predicted value could be as small as the best one, each within its error."""
    return _at_least(row) <= _at_most(best)
