"""Points of a sweep: plain data that says all that a result hangs on, and a key made of it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from qmodels.errors import ModelError
from validation.analysis.estimates import Estimate, Stopping, estimate
from validation.sweeps.plain import digest, from_text, to_text
from validation.sweeps.run import Task

#: Points that one sweep may have.
MOST_POINTS: Final = 1_000_000


@dataclass(frozen=True)
class Point:
    """One combination of settings, of which replications are computed.

    Examples
    --------
    >>> one = Point(kind="predict", tables="{}", settings=(("load", 0.5),), seed=0, version="1")
    >>> two = Point(kind="predict", tables="{}", settings=(("load", 0.6),), seed=0, version="1")
    >>> one.key(0) == one.key(0), len({one.key(0), one.key(1), two.key(0)})
    (True, 3)
    """

    kind: str  #: what is computed: the name of a `Kind`
    tables: str  #: of the scenario, from `plain.to_text`
    settings: tuple[tuple[str, Any], ...]  #: what differs from them, by name
    seed: int  #: root of all randomness
    version: str  #: of what computes, see `validation.sweeps.version`
    inputs: tuple[tuple[str, str], ...] = ()  #: files that the scenario names, with their hashes
    file: str = field(default="scenario.toml", compare=False)  #: beside which these lie; not in the key

    def key(self, replication: int) -> str:
        """Return the key of one replication: of the canonical form of all that it hangs on.

        Parameters
        ----------
        replication : int
            Its number.
        """
        common = _common_settings(self.kind, self.tables, self.inputs, self.seed, self.version)
        return digest([common, dict(self.settings), replication])

    def __getitem__(self, name: str) -> Any:
        """One of the settings, or None."""
        return dict(self.settings).get(name)


@lru_cache(maxsize=64)  # of short texts; the arguments are shared by all points of a sweep
def _common_settings(*parts: Any) -> str:
    return digest(list(parts))


@dataclass(frozen=True)
class Kind:
    """Kind of computation at a point.

    Of ``run_one(point, replication)`` the result is a dictionary from names to numbers, texts or
    None. The same point and replication give the same bits in any process.
    """

    name: str  #: in files and journals
    function: str  #: where ``run_one`` is: "module:function"
    main: str  #: the quantity whose precision counts
    at_least: int  #: replications where a precision is asked for
    random: bool = True  #: whether replications differ

    def run_one(self) -> Callable[[Point, int], Mapping[str, Any]]:
        """Return the function that computes one replication."""
        module, _, name = self.function.partition(":")
        function: Callable[[Point, int], Mapping[str, Any]] = getattr(import_module(module), name)
        return function


@dataclass(frozen=True)
class Effort:
    """Number of replications of every point."""

    replications: int = 1  #: of every point, at least
    precision: float | None = None  #: instead: until the main quantity is known so well
    at_most: int = 1000  #: replications of a point, with a precision
    confidence: float = 0.95  #: of the half-widths


def combinations(axes: Mapping[str, Sequence[Any]]) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Yield the settings of all points, the last axis fastest.

    Parameters
    ----------
    axes : mapping
        Name of each setting to its values.

    Yields
    ------
    tuple of (str, object)
        Settings of a point.

    Raises
    ------
    ModelError
        If there are none, or too many.

    Examples
    --------
    >>> list(combinations({"load": [0.5], "policy": ["DP(1)", "DP(2)"]}))
    [(('load', 0.5), ('policy', 'DP(1)')), (('load', 0.5), ('policy', 'DP(2)'))]
    """
    count = 1
    for name, values in axes.items():
        if not values:
            raise ModelError(f"{name} has no values; give one at least")
        count *= len(values)
    if count > MOST_POINTS:
        raise ModelError(f"a sweep of {count:,} points; at most {MOST_POINTS:,}")
    for values in itertools.product(*axes.values()):
        yield tuple(zip(axes, values, strict=True))


class PointTable:
    """The points of a sweep with the replications of each: tasks out, results in.

    The number of replications of a point hangs on its own results only, so that it does not
    depend on who computed them, or in which order.

    Parameters
    ----------
    kind : Kind
        What is computed.
    points : sequence of Point
        Where.
    effort : Effort
        How many replications.
    """

    def __init__(self, kind: Kind, points: Sequence[Point], effort: Effort) -> None:
        self.kind, self.points, self.effort = kind, points, effort
        self.values: list[dict[int, Mapping[str, Any]]] = [{} for _ in points]
        self._rules: list[Stopping | None] = [None for _ in points]
        self._wanted = [effort.replications if kind.random else 1 for _ in points]
        self._place = {}
        if kind.random and effort.precision is not None:
            for place in range(len(points)):
                rule = Stopping(
                    precision=effort.precision,
                    confidence=effort.confidence,
                    at_least=kind.at_least,
                    at_most=max(effort.at_most, kind.at_least),
                )
                self._rules[place], self._wanted[place] = rule, rule.wanted
        self._function = kind.run_one()
        self._total = sum(self._wanted)
        for place, point in enumerate(points):
            self._place[id(point)] = place

    def first(self) -> Iterator[Task]:
        """Yield every point's first replications."""
        for place in range(len(self.points)):
            for replication in range(self._wanted[place]):
                yield self._task(place, replication)

    def after(self, task: Task, value: str) -> Sequence[Task]:
        """Take a result, and ask for more replications where the rule does.

        Parameters
        ----------
        task : Task
            That was done.
        value : str
            Its result.

        Returns
        -------
        sequence of Task
            To be done beside those that were asked for before.
        """
        place = self._place[id(task.point)]
        held = self.values[place]
        held[task.replication] = from_text(value)
        rule = self._rules[place]
        if rule is None or len(held) < self._wanted[place] or rule.met:
            return ()
        seen: list[Any] = [held[r].get(self.kind.main) for r in range(rule.wanted)]
        if any(each is None for each in seen) or not rule.look(seen):
            return ()
        before, self._wanted[place] = self._wanted[place], rule.wanted
        self._total += rule.wanted - before
        # the widest intervals first
        return [self._task(place, r, rule.width) for r in range(before, rule.wanted)]

    def total(self) -> int:
        """Return the replications of all points, as far as they are asked for."""
        return self._total

    def unfinished(self) -> int:
        """Return the number of points with fewer replications than are wanted."""
        return sum(len(held) < n for held, n in zip(self.values, self._wanted, strict=True))

    def _task(self, place: int, replication: int, priority: float = float("inf")) -> Task:
        point = self.points[place]
        return Task(point.key(replication), self._function, point, replication, priority)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each point: settings and quantities, with half-widths if they are random."""
        return [self._row(place) for place in range(len(self.points))]

    def _row(self, place: int) -> dict[str, Any]:
        held = self.values[place]
        row: dict[str, Any] = dict(self.points[place].settings)
        # only replications without a gap before them: which others are there is chance
        count = next((r for r in itertools.count() if r not in held), 0)
        count = min(count, self._wanted[place])
        runs = [held[r] for r in range(count)]
        if not self.kind.random:
            return row | (dict(runs[0]) if runs else {"status": "not done"})
        row["status"] = "not done" if not runs else "ok"
        for name in dict.fromkeys(name for run in runs for name in run):
            seen: list[Any] = [run.get(name) for run in runs]
            if all(isinstance(each, (int, float)) for each in seen):
                interval: Estimate = estimate(seen, confidence=self.effort.confidence)
                row[name] = interval.mean
                row[f"{name}_half_width"] = interval.half_width
            else:
                row[name] = next((each for each in seen if each is not None), None)
        row["replications"] = count
        rule = self._rules[place]
        if rule is not None:
            row["precise"] = rule.met
        return row

    def runs(self) -> list[dict[str, Any]]:
        """Return a row for each replication of each point."""
        return [
            dict(point.settings) | {"replication": r} | dict(self.values[place][r])
            for place, point in enumerate(self.points)
            for r in sorted(self.values[place])
        ]


def settings_text(point: Point, apart: Collection[str] = ()) -> str:
    """Return settings as a journal keeps them, and what was built of them is kept by.

    Parameters
    ----------
    point : Point
        Whose settings.
    apart : collection of str
        Names of those that are left out.
    """
    return to_text(tuple(pair for pair in point.settings if pair[0] not in apart))


def file_hash(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Parameters
    ----------
    file : Path
        The file.

    Raises
    ------
    ModelError
        If it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror})") from None
