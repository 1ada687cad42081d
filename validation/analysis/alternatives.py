"""Alternatives that met the same jobs: which is best, and which cannot be told from it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import one_of
from phasefit.records import Record, Result, aligned
from qmodels.errors import ModelError
from validation.analysis.comparison import Comparison, compare, ratios
from validation.analysis.estimates import Estimate, estimate, plus_minus

if TYPE_CHECKING:
    import pandas as pd

Values = Mapping[str, Sequence[float] | Array]


class Quantity(NamedTuple):
    """Something that every replication gives a number of."""

    unit: str = "1"  #: "1" of a share or a ratio
    smaller_is_better: bool = True


class Replicated(Protocol):
    """Whatever keeps its quantities replication by replication, such as a simulation."""

    @property
    def values(self) -> Values:
        """Values of each replication, (n,), by quantity."""

    @property
    def confidence(self) -> float:
        """Coverage of its intervals."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Replications(Record):
    """What independent replications gave.

    Examples
    --------
    >>> runs = Replications(values={"response": (9.0, 10.0, 11.0)})
    >>> print(runs["response"])
    10 ± 2.5 (95%, n=3)
    """

    values: Values = field(repr=False)  #: of each replication, by quantity
    confidence: float = 0.95  #: coverage of the intervals

    @property
    def replications(self) -> int:
        """How many there are."""
        return len(next(iter(self.values.values())))

    def __getitem__(self, quantity: str) -> Estimate:
        """Return the estimate of a quantity."""
        one_of("quantity", quantity, self.values)
        return estimate(self.values[quantity], confidence=self.confidence)

    def record(self) -> dict[str, Any]:
        """Return every quantity as an estimate."""
        return {name: self[name] for name in self.values}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each replication."""
        import pandas as pd

        return pd.DataFrame(dict(self.values)).rename_axis("replication").reset_index()


Name = TypeVar("Name", bound=Hashable)
Run = TypeVar("Run", bound=Replicated)


@dataclass(frozen=True, eq=False)
class Alternatives(Result, Generic[Name, Run]):
    """Alternatives that met the same random numbers, replication by replication.

    Attributes
    ----------
    runs : mapping
        By name, or whatever else tells alternatives apart, what each gave: its `values` by
        quantity, replication by replication, and the `confidence` of intervals.
    quantities : mapping of str to Quantity
        Units and which direction is better; of what is not named less is better. The first decides
        where no other is asked for.

    Examples
    --------
    >>> runs = {
    ...     "one queue": Replications(values={"response": (9.0, 10.1, 11.0)}),
    ...     "two queues": Replications(values={"response": (10.0, 11.0, 12.0)}),
    ... }
    >>> found = Alternatives(runs, {"response": Quantity("s")})
    >>> found.best(), found.leaders()
    ('one queue', ('one queue',))
    >>> print(found.compare("two queues", "one queue"))
    +0.967 ± 0.14: worse
    """

    kind: ClassVar[str] = "alternative"  #: what one of them is called
    shown: ClassVar[tuple[str, ...]] = ()  #: further quantities in `table`

    runs: Mapping[Name, Run]
    quantities: Mapping[str, Quantity] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.runs:
            raise ModelError(f"give at least one {self.kind} to compare")

    @classmethod
    def of_values(cls, values: Mapping[Name, Values], **fields: Any) -> Self:
        """Return alternatives of which nothing else is known than their values by quantity.

        Parameters
        ----------
        values : mapping
            By alternative and quantity, (n,) each.
        **fields : object
            Further fields of the class.
        """
        runs: Any = {name: Replications(values=each) for name, each in values.items()}
        return cls(runs, **fields)

    def values(self, name: Name, quantity: str | None = None) -> Array:
        """Return a quantity of every replication of an alternative, (n,).

        Raises
        ------
        ModelError
            If there is no such alternative or quantity.
        """
        if name not in self.runs:
            known = ", ".join(map(text_of, self.runs))
            raise ModelError(f"no {self.kind} here is called {text_of(name)!r:.60}; there are {known}")
        values = self.runs[name].values
        return np.asarray(values[one_of("quantity", self._asked(quantity), values)], dtype=float)

    def estimate(self, name: Name, quantity: str | None = None) -> Estimate:
        """Return the mean of a quantity with its interval."""
        return estimate(self.values(name, quantity), confidence=self.runs[name].confidence)

    def mean_of(self, name: Name, quantity: str | None = None) -> float:
        """Return the mean of a quantity; ModelError where it is no number."""
        values = self.values(name, quantity)
        mean = float(values.mean() if values.size > 1 else values[0])
        if not math.isfinite(mean):
            asked = self._asked(quantity)
            raise ModelError(f"{asked} of {text_of(name)} is not a finite number in every replication")
        return mean

    def paired(self, name: Name, to: Name, quantity: str | None = None) -> tuple[Array, Array]:
        """Return a quantity of two alternatives, for the replications that both have."""
        ours, theirs = self.values(name, quantity), self.values(to, quantity)
        n = min(ours.size, theirs.size)
        return ours[:n], theirs[:n]

    def compare(
        self, name: Name, to: Name, quantity: str | None = None, *, relative: bool = False
    ) -> Comparison:
        """Compare a quantity under `name` with that under `to`, replication by replication.

        Parameters
        ----------
        name, to
            Two of the alternatives.
        quantity : str, optional
            By default the one that decides.
        relative : bool
            Give the difference as a fraction of the mean under `to`.

        Returns
        -------
        Comparison
            "better" and "worse" are meant of `name`.

        Raises
        ------
        ModelError
            If there is no such alternative or quantity.
        """
        return compare(
            *self.paired(name, to, quantity),
            confidence=self.runs[name].confidence,
            smaller_is_better=self._less_is_better(quantity),
            relative=relative,
        )

    def difference(self, name: Name, to: Name, quantity: str | None = None) -> Estimate:
        """Return the mean of a quantity under `name` less that under `to`; see `compare`."""
        return self.compare(name, to, quantity).difference

    def ratio(self, name: Name, to: Name, quantity: str | None = None) -> Estimate:
        """Return the mean of a quantity under `name` over that under `to`; see `ratios`."""
        return estimate(ratios(*self.paired(name, to, quantity)), confidence=self.runs[name].confidence)

    def row(self, name: Name, quantities: Mapping[str, str]) -> dict[str, float]:
        """Return means and half-widths of an alternative as columns of a table.

        Parameters
        ----------
        name
            One of the alternatives.
        quantities : mapping of str to str
            What comes behind the name of a column, such as "_s", by quantity.
        """
        found: dict[str, float] = {}
        for quantity, unit in quantities.items():
            known = self.estimate(name, quantity)
            found |= {f"{quantity}{unit}": known.mean, f"{quantity}_half_width{unit}": known.half_width}
        return found

    def ranked(self, quantity: str | None = None) -> list[Name]:
        """Return the alternatives by their mean, the best first."""
        sign = 1.0 if self._less_is_better(quantity) else -1.0
        return sorted(self.runs, key=lambda name: sign * self.mean_of(name, quantity))

    def best(self, quantity: str | None = None) -> Name:
        """Return the alternative with the best mean of a quantity, the first of equals.

        It need not be better than the next beyond noise; see `leaders`.
        """
        return self.ranked(quantity)[0]

    def leaders(self, quantity: str | None = None) -> tuple[Name, ...]:
        """Return the best and those whose difference from it is undecided, by their mean."""
        order = self.ranked(quantity)
        return tuple(name for name in order if self.compare(name, order[0], quantity).verdict == "undecided")

    def verdict(self, name: Name, quantity: str | None = None) -> str:
        """Return how an alternative stands against the best.

        Returns
        -------
        str
            "worse" or "undecided"; "best" of the best itself where all others are worse.
        """
        if self.leaders(quantity) == (name,):
            return "best"
        return self.compare(name, self.best(quantity), quantity).verdict

    def to_frame(self, quantity: str | None = None) -> pd.DataFrame:
        """Return one row for each alternative: means, and the paired difference to the best.

        See `verdict` for the column of that name.
        """
        import pandas as pd

        asked, best = self._asked(quantity), self.best(quantity)
        rows = []
        for name, run in self.runs.items():
            gap = self.difference(name, best, quantity)
            rows.append(
                {self.kind: text_of(name)}
                | {key: self.mean_of(name, key) for key in run.values}
                | {
                    f"{asked}_half_width": self.estimate(name, quantity).half_width,
                    "difference": gap.mean,
                    "difference_half_width": 0.0 if name == best else gap.half_width,
                    "verdict": self.verdict(name, quantity),
                }
            )
        return pd.DataFrame(rows)

    def table(self, quantity: str | None = None) -> str:
        """Return a line for each alternative, the best first, and whether that leads beyond noise."""
        order, asked = self.ranked(quantity), self._asked(quantity)
        best, rows = order[0], []
        for name in order:
            gap = self.compare(name, best, quantity)
            against = f"{gap.mean:+.4g}{plus_minus(gap.half_width)} {gap.verdict}"
            rows.append({"": text_of(name)} | self._columns(name, asked))
            rows[-1][f"{asked} - {text_of(best)}"] = "" if name == best else against
        cells = [[*rows[0]], *([*row.values()] for row in rows)]
        lines = [*aligned(cells, left=(0, len(cells[0]) - 1)), *self._notes(asked)]
        ties = [text_of(name) for name in self.leaders(quantity) if name != best]
        if ties:
            lines.append(f"undecided: {text_of(best)} cannot be told from {', '.join(ties)}")
        return "\n".join(lines)

    def plot(self, ax: Any = None, *, quantity: str | None = None) -> Any:
        """Draw a quantity of every alternative, the best on top, on matplotlib Axes.

        Two intervals each: of the mean, thin, and of the paired difference to the best, thick.
        The second says whether two of them differ, for they met the same jobs.
        """
        from validation.analysis.plotting import comparison

        order, asked = self.ranked(quantity), self._asked(quantity)
        unit, named = self.unit(asked), asked.replace("_", " ")
        return comparison(
            {text_of(name): self.estimate(name, quantity) for name in order},
            {text_of(name): self.difference(name, order[0], quantity) for name in order},
            best=text_of(order[0]),
            quantity=named if unit in ("1", named) else f"{named} [{unit}]",
            ax=ax,
        )

    def unit(self, quantity: str) -> str:
        """Return the unit of a quantity, "1" where it has none."""
        return self.quantities.get(quantity, Quantity()).unit

    def _asked(self, quantity: str | None) -> str:
        """Return the quantity that is asked for, by default the one that decides."""
        if quantity is not None:
            return quantity
        return next(iter(self.quantities or next(iter(self.runs.values())).values))

    def _less_is_better(self, quantity: str | None) -> bool:
        return self.quantities.get(self._asked(quantity), Quantity()).smaller_is_better

    def _columns(self, name: Name, quantity: str) -> dict[str, str]:
        """Return what a line of the table says of an alternative, by the head of its column."""
        columns = (quantity, *(key for key in self.shown if key != quantity))
        return {key: f"{self.mean_of(name, key):.5g}" for key in columns}

    def _notes(self, quantity: str) -> list[str]:
        """Return what stands under the table."""
        return []


def text_of(name: object) -> str:
    """Return the name of an alternative as a table has it: the label of what has one.

    Parameters
    ----------
    name : object
        The key of an alternative.
    """
    label = getattr(name, "label", name)
    return label if isinstance(label, str) else str(name)
