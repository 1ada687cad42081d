"""Files of studies that compare: what all of them say alike, and how they are read."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeVar

from pydantic import Field, model_validator

from qmodels.io.settings import checked_with, value_at
from qmodels.io.toml_tables import Table, at_key, fail, unchecked_tables


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Made = TypeVar("Made", bound=_Named)


class StudyTable(Table):
    """Amount of computing; a file adds what competes."""

    seed: Annotated[int, Field(ge=0)] = 0  #: root of all random numbers
    replications: Annotated[int, Field(ge=1, le=10_000)] = 10  #: behind each interval


class StudyFile(Table):
    """The whole file; each kind of study adds its own tables.

    A key of `short` stands for the one beside it, such as ``seed = 1`` before the tables.
    """

    short: ClassVar[Mapping[str, str]] = {"seed": "study.seed"}

    study: StudyTable = StudyTable()  #: what competes, and how much to compute

    @classmethod
    def read(cls, source: Path, settings: Mapping[str, Any] | None = None) -> Self:
        """Read a TOML file, with values in place of what it holds; ScenarioError lists every fault.

        Parameters
        ----------
        source : Path
            The file.
        settings : mapping, optional
            By dotted key; see `qmodels.io.settings`.
        """
        return checked_with(source, cls, unchecked_tables(source), settings or {})

    @model_validator(mode="before")
    @classmethod
    def _long_forms(cls, tables: Any) -> Any:
        """Write short forms as what they stand for; refuse both at once."""
        if not isinstance(tables, Mapping):
            return tables
        for short, full in cls.short.items():
            if value_at(tables, short) is not None and value_at(tables, full) is not None:
                raise ValueError(f"{short} and {full} say the same; drop one")
        return cls.written_out(tables)

    @classmethod
    def written_out(cls, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `Table.written_out`: keys of `short` go where they belong."""
        found = dict(tables)
        for short, full in cls.short.items():
            *way, last = short.split(".")
            table, key = full.split(".")
            inner = found if not way else found.get(way[0])
            place = found.get(table, {})
            if (
                isinstance(inner, Mapping)
                and last in inner
                and isinstance(place, Mapping)
                and key not in place
            ):
                found[table] = {**place, key: copy.deepcopy(inner[last])}
                rest = {name: value for name, value in inner.items() if name != last}
                found = found | {way[0]: rest} if way else rest
        return found


def made_once(
    source: Path, key: str, what: str, names: Sequence[str], make: Callable[[str], Made]
) -> tuple[Made, ...]:
    """Make what competes, by its names; ScenarioError for what cannot be made, or is there twice.

    Parameters
    ----------
    source : Path
        To be named in errors.
    key : str
        Under which the names stand.
    what : str
        What each is, for errors.
    names : sequence of str
        As the file has them.
    make : callable
        Makes one; it has a name of its own.

    Returns
    -------
    tuple
        What was made, in the order of the names.

    Raises
    ------
    ScenarioError
        With the key and the place of the name.
    """
    made: dict[str, Made] = {}
    for i, name in enumerate(names):
        place = f"{key}[{i}]"
        try:
            one = at_key(source, place, make, name)
        except TypeError as error:
            fail(source, place, f"cannot be made without arguments: {error}")
        if one.name in made:
            fail(source, place, f"{what} {one.name} is there twice; drop one")
        made[one.name] = one
    return tuple(made.values())
