"""What is asked of a policy: a quantity to minimise and limits on others, as short texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from phasefit.records import Record
from qmodels.errors import ModelError

_MEANS: Final = {
    "mean_response": ("mean response", "s"),
    "mean_wait": ("mean wait", "s"),
    "mean_jobs": ("mean number of jobs", ""),
    "processor_utilisation": ("processor utilisation", ""),
    "disk_utilisation": ("disk utilisation", ""),
}
_SHORT: Final = {"mean": "mean_response", "wait": "mean_wait", "jobs": "mean_jobs"}
_PERCENTILE: Final = re.compile(r"(wait_)?p([0-9]{1,2}(?:\.[0-9]{1,6})?)", re.ASCII)
_CONSTRAINT: Final = re.compile(
    r"\s*([a-z_][a-z0-9_.]*)\s*(<=|<)\s*"
    r"((?:[0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?)\s*",
    re.ASCII,
)
_KNOWN: Final = f"{', '.join(_MEANS)}, p95, wait_p95"
_MOST_TEXT: Final = 500


@dataclass(frozen=True)
class Quantity(Record):
    """A number that a policy has under a workload: a mean, a utilisation or a percentile.

    Examples
    --------
    >>> Quantity.read("p95_s").label
    '95th percentile of the response'
    """

    name: str  #: a field of `Prediction`, or such as "p95" and "wait_p99.9"
    label: str  #: in words
    unit: str  #: "s" or ""
    share: float | None = None  #: of the percentile, such as 0.95
    of_wait: bool = False  #: whether the percentile is one of the wait

    def shown(self, value: float) -> str:
        """A value in four digits, with the unit."""
        return f"{value:.4g} {self.unit}".rstrip()

    @property
    def costly(self) -> bool:
        """Whether it asks for the law of the response, which takes longer than all the means."""
        return self.share is not None and not self.of_wait

    @classmethod
    def read(cls, text: str) -> Quantity:
        """Quantity of a name; ``_s`` at its end says seconds and may be left out.

        Raises
        ------
        ModelError
            If there is none of that name.
        """
        if not isinstance(text, str):
            raise ModelError(f"a quantity must be a name, got {text!r:.60}; known: {_KNOWN}")
        bare = text.strip(" ")
        seconds = bare.endswith("_s")
        bare = bare.removesuffix("_s")
        bare = _SHORT.get(bare, bare)
        found = None
        if bare in _MEANS:
            label, unit = _MEANS[bare]
            found = cls(bare, label, unit)
        elif match := _PERCENTILE.fullmatch(bare):
            percent = float(match[2])
            if 0.0 < percent < 100.0:
                of = "wait" if match[1] else "response"
                label = f"{percent:g}{_ordinal(percent)} percentile of the {of}"
                name = f"{match[1] or ''}p{percent:g}"
                found = cls(name, label, "s", percent / 100.0, bool(match[1]))
        if found is None or (seconds and found.unit != "s"):
            raise ModelError(f"no quantity {text[:60]!r}; known: {_KNOWN} (other percentiles too)")
        return found


@dataclass(frozen=True)
class Constraint(Record):
    """An upper limit on a quantity.

    Examples
    --------
    >>> limit, = Constraint.read("p95_s < 600")
    >>> limit.holds(599.0), limit.holds(600.0), str(limit)
    (True, False, 'p95 < 600 s')
    """

    quantity: Quantity
    limit: float
    strict: bool = True

    @classmethod
    def read(cls, text: str | Sequence[str] | None) -> tuple[Constraint, ...]:
        """Limits written as ``p95_s < 600``, several with commas between or in a sequence.

        Raises
        ------
        ModelError
            If a text is not such a limit; it is matched against a pattern, never run.
        """
        if text is None:
            return ()
        if not isinstance(text, str):
            if not isinstance(text, Sequence) or not all(isinstance(each, str) for each in text):
                raise ModelError(f'a constraint must be such as "p95_s < 600", got {text!r:.60}')
            return tuple(limit for each in text for limit in cls.read(each))
        if len(text) > _MOST_TEXT:
            raise ModelError(f"a constraint of {len(text)} characters; at most {_MOST_TEXT}")
        return tuple(cls._one(part) for part in text.split(","))

    @classmethod
    def _one(cls, text: str) -> Constraint:
        match = _CONSTRAINT.fullmatch(text)
        if match is None:
            raise ModelError(
                f"constraint {text[:60]!r} is not a quantity, < or <=, and a number; "
                f"write such as p95_s < 600"
            )
        limit = float(match[3])
        if not 0.0 < limit < float("inf"):
            raise ModelError(f"constraint {text[:60]!r}: the limit must be above 0 and finite")
        return cls(Quantity.read(match[1]), limit, match[2] == "<")

    def holds(self, value: float) -> bool:
        """Whether a value keeps the limit."""
        return value < self.limit or (value == self.limit and not self.strict)

    def __str__(self) -> str:
        relation = "<" if self.strict else "<="
        return f"{self.quantity.name} {relation} {self.limit:g} {self.quantity.unit}".rstrip()


def objective_of(text: str) -> Quantity:
    """Quantity to be made small; ModelError for one that a policy should not minimise."""
    found = Quantity.read(text)
    if found.unit != "s" and found.name != "mean_jobs":
        raise ModelError(
            f"objective {text[:60]!r} is no time; minimise mean_response, mean_wait, p95 or such, "
            f"and put a utilisation into a constraint"
        )
    return found


def _ordinal(percent: float) -> str:
    whole = int(percent)
    if whole != percent or 10 < whole < 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th")
