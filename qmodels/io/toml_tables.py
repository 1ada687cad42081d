"""TOML files read strictly: tables declared by their keys, types and ranges, every fault named."""

from __future__ import annotations

import os
import reprlib
import select
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from phasefit.checks import suggestion
from qmodels.errors import ModelError, ScenarioError, reason_of
from qmodels.io.files import _without_waiting
from qmodels.io.toml_text import MAX_BYTES, key_in_words, tables_of_text
from qmodels.words import cut

MOST_SHOWN = 20  #: findings of one file

#: Shows a value, however large, by some of it.
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlist = _SHORT.maxdict = 60

Built = TypeVar("Built")

Seconds = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(gt=0, lt=1)]


class Table(BaseModel):
    """Strict: no unknown keys, no text for a number, nothing that is not finite."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    #: Groups of keys that say one thing in different ways: one that is set replaces the others.
    instead: ClassVar[tuple[tuple[str, ...], ...]] = ()
    #: Further keys that one takes with it when it is set: what they say belongs to another.
    replaces: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    #: Keys under which a file may have what belongs to others, both dotted.
    short: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def written_out(cls, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Tables as they are declared, without the short forms that a file may use."""
        return tables


@dataclass(frozen=True)
class ChosenTable:
    """Marks a list of tables whose keys depend on what is in them, for the hints of errors."""

    choose: Callable[[Any], type[Table]]  #: the declared table of one that was read
    explain: Callable[[Any, str], str]  #: what to say of a key that it lacks; "" for nothing


File = TypeVar("File", bound=Table)


def unchecked_tables(source: Path) -> dict[str, Any]:
    """Read a TOML file as it stands; ScenarioError if it is none."""
    try:
        raw = _read_most(source)
    except OSError as error:
        fail(source, "file", f"cannot be read: {reason_of(error)}")
    if len(raw) > MAX_BYTES:
        fail(source, "file", f"more than the {MAX_BYTES:,} bytes that a scenario may have")
    return tables_of_text(source, raw)


def _read_most(source: Path) -> bytes:
    """Read a file or a pipe, and no more of it than tells that it is too large.

    A pipe that nobody has opened to write is empty: waiting for somebody might never end.
    """
    found = b""
    with open(source, "rb", buffering=0, opener=_without_waiting) as stream:
        while len(found) <= MAX_BYTES:
            more = stream.read(MAX_BYTES + 1 - len(found))
            if more is None:  # there is a writer, but nothing yet
                select.select([stream], [], [])
            elif more:
                found += more
            else:
                break
        if not found and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
            fail(source, "file", "is a pipe into which nobody writes")
    return found


def checked_tables(source: Path, file: type[File], tables: Mapping[str, Any]) -> File:
    """Check tables that were read from `source` or put together; ScenarioError lists every fault."""
    try:
        return file.model_validate(tables)
    except RecursionError:
        fail(source, "file", "is nested too deeply")
    except ValidationError as error:
        found = list(islice(_findings(file, tables, error), MOST_SHOWN))
        raise ScenarioError(str(source), found, error.error_count() - len(found)) from None


def _findings(
    file: type[Table], tables: Mapping[str, Any], error: ValidationError
) -> Iterator[tuple[str, str]]:
    for item in error.errors(include_url=False, include_context=False):
        key = key_in_words(item["loc"])
        if item["type"] == "missing":
            yield key, "this key is missing; add it"
        elif item["type"] == "extra_forbidden":
            name = str(item["loc"][-1])
            known, explained = _known_keys(file, tables, item["loc"][:-1], name)
            yield key, explained or f"unknown key; {suggestion(name, known, 'known here:')}"
        else:
            shown = cut(_SHORT.repr(item["input"]), 60)
            yield key, f"{item['msg'][0].lower()}{item['msg'][1:]}, got {shown}"


def _known_keys(
    file: type[Table], tables: Any, where: tuple[int | str, ...], name: str
) -> tuple[list[str], str]:
    """Keys of the table at `where`, by walking the declared tables; what is said of `name`."""
    table, mark, held = _walked(file, tables, where)
    return list(table.model_fields), "" if mark is None else mark.explain(held, name)


def declared_at(file: type[Table], tables: Any, way: Sequence[str]) -> type[Table] | None:
    """The declared table at a dotted key; None where the tables hold no way there."""
    try:
        return _walked(file, tables, [int(part) if part.isdigit() else part for part in way])[0]
    except (KeyError, IndexError, TypeError, ModelError):
        return None


def _walked(
    file: type[Table], tables: Any, where: Sequence[int | str]
) -> tuple[type[Table], ChosenTable | None, Any]:
    """The declared table at `where`, the mark by which it was chosen, and what was read there."""
    table: Any = file
    chosen: ChosenTable | None = None
    by: ChosenTable | None = None
    for part in where:
        if isinstance(part, int):
            # a single table may stand where a list of them could
            tables = tables[part] if isinstance(tables, list) else tables
            if chosen is not None:
                table, by, chosen = chosen.choose(tables), chosen, None
            continue
        tables = tables[part]
        if part not in table.model_fields:
            continue
        field, by = table.model_fields[part], None
        chosen = next((mark for mark in field.metadata if isinstance(mark, ChosenTable)), None)
        table = next(tables_in(field.annotation), table)
    return table, by, tables


def tables_in(annotation: Any) -> Iterator[type[Table]]:
    """Declared tables that a type speaks of."""
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from tables_in(inner)


def fail(source: Path, key: str, text: str) -> NoReturn:
    """Raise ScenarioError for one key."""
    raise ScenarioError(str(source), [(key, text)])


def at_key(source: Path, key: str, build: Callable[..., Built], *args: Any, **kwargs: Any) -> Built:
    """Call `build`; a ModelError comes out naming the key that caused it."""
    try:
        return build(*args, **kwargs)
    except ScenarioError:
        raise
    except ModelError as error:
        raise ScenarioError(str(source), [(key, str(error))]) from None
