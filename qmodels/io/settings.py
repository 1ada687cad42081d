"""Values laid over the tables of a file before they are checked: ``machine.disks = 64``."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from phasefit.checks import nearest, suggestion
from qmodels.errors import ModelError, ScenarioError
from qmodels.io.toml_tables import Table, checked_tables, declared_at, tables_in
from qmodels.io.toml_text import tables_of_text
from qmodels.words import cut

File = TypeVar("File", bound=Table)

_KEY = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+|\[\d+\])*", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
#: What a value begins with that can only be TOML, so that a slip in it is no text.
_ONLY_TOML = ('"', "'", "[", "{")


def parse_settings(words: Iterable[str] | None) -> dict[str, Any]:
    """Read words such as ``machine.disks=64`` into keys and values.

    Parameters
    ----------
    words : iterable of str or None
        Each a dotted key, ``=`` and a value, see `parse_value`. ``policy[0]`` is ``policy.0``.

    Returns
    -------
    dict
        Values by key, in the order given.

    Raises
    ------
    ModelError
        If a word is no setting, or a key is there twice.

    Examples
    --------
    >>> parse_settings(["machine.disks=64", "study.loads=[0.1, 0.5]", "policy[0].kind=DP"])
    {'machine.disks': 64, 'study.loads': [0.1, 0.5], 'policy.0.kind': 'DP'}
    """
    found: dict[str, Any] = {}
    for word in words or ():
        key, equals, text = word.partition("=")
        key = key.strip(" ")
        if not equals or not _KEY.fullmatch(key):
            raise ModelError(f"{word!r:.60} sets nothing; write key=value: machine.disks=64")
        key = dotted(key)
        if key in found:
            raise ModelError(f"{key} is set twice; set it once")
        found[key] = parse_value(text, key)
    return found


def parse_value(text: str, key: str = "value") -> Any:
    """Read a value as a TOML file would hold it; what is no TOML is a number or a plain text.

    Raises
    ------
    ModelError
        If there is nothing, or a text, list or table that does not end well.

    Examples
    --------
    >>> [parse_value(text) for text in ("64", "0.5", ".5", "true", "fcfs", "[1, 2]", "20GB/s")]
    [64, 0.5, 0.5, True, 'fcfs', [1, 2], '20GB/s']
    """
    text = text.strip(" ")
    try:
        found = tables_of_text(Path(key), f"value = {text}".encode())
    except (ScenarioError, UnicodeEncodeError):
        found = {}
    if list(found) == ["value"]:
        return found["value"]
    if _NUMBER.fullmatch(text):
        return float(text)
    if not text or text.startswith(_ONLY_TOML) or not text.isprintable():
        raise ModelError(
            f"{key}: {text[:60]!r} is no value; write one as in a TOML file, such as 64, "
            f"[0.1, 0.5] or {{scv = 2.0}}, in quotation marks where the shell needs them"
        )
    return text


def dotted(key: str) -> str:
    """A key with the places in its lists between dots: ``policy.0.kind`` for ``policy[0].kind``."""
    return re.sub(r"\[(\d+)\]", r".\1", key)


def both(options: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a command and settings together; ModelError for a key that is in both."""
    for key in options:
        if key in settings:
            raise ModelError(f"{key} is given by an option and by --set; give it once")
    return {**options, **settings}


def placed(file: type[Table], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by the keys that are declared, where a file may be shorter (`Table.short`)."""

    def place(name: str) -> str:
        for short, full in file.short.items():
            if (rest := dotted(name).removeprefix(short)) == "" or rest.startswith("."):
                return full + rest
        return name

    return {place(name): value for name, value in settings.items()}


def laid_over(file: type[Table], tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Tables with settings in place of what they hold; a copy, not checked.

    Parameters
    ----------
    file : type
        The declared tables. Keys in which one thing can be said in several ways (`Table.instead`)
        replace each other; those that are set together are all kept, and refused by the check.
    tables : mapping
        As `tomllib` reads them.
    settings : mapping
        Values by dotted key; in a list of tables the place counts from 0.

    Raises
    ------
    ModelError
        If a key leads nowhere.

    Examples
    --------
    >>> from qmodels.io._scenario_file import ScenarioFile
    >>> laid_over(ScenarioFile, {"machine": {"processors": 8, "disks": 8}}, {"machine.disks": 16})
    {'machine': {'processors': 8, 'disks': 16}}
    >>> laid_over(ScenarioFile, {"demand": {"alpha": [1.0], "T": [[-1.0]]}}, {"demand.scv": 4.0})
    {'demand': {'scv': 4.0}}
    """
    found = copy.deepcopy(dict(file.written_out(tables)))
    settings = placed(file, settings)
    for name in settings:
        _drop_others(file, found, name, settings)
    for name, value in settings.items():
        *way, last = dotted(name).split(".")
        place = found
        if (way or [last])[0] not in file.model_fields:
            raise ModelError(_unknown(file, name))
        for part in way:
            place = (
                place[_index(name, part, place)] if isinstance(place, list) else (place.setdefault(part, {}))
            )
            if not isinstance(place, (dict, list)):
                raise ModelError(f"{name}: {part} is a value, not a table; see the file's keys")
        if isinstance(place, list):
            place[_index(name, last, place)] = value
        else:
            place[last] = value
    return found


def checked_with(
    source: Path, file: type[File], tables: Mapping[str, Any], settings: Mapping[str, Any]
) -> File:
    """Tables with settings over them, checked as a file would be; errors say what was set."""
    settings = placed(file, settings)
    with naming(settings):
        return checked_tables(source, file, laid_over(file, tables, settings))


@contextmanager
def naming(settings: Mapping[str, Any]) -> Iterator[None]:
    """Let errors at keys that were set say so: the file does not hold what they complain of."""
    try:
        yield
    except ScenarioError as error:
        if not settings:
            raise
        problems = [
            (key, f"{text} (set here, not in the file)" if _is_set(key, settings) else text)
            for key, text in error.problems
        ]
        raise ScenarioError(error.file, problems, error.more) from None


def told(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[str, ...]:
    """What was set, a line each, with what the file holds there.

    Examples
    --------
    >>> told({"machine": {"disks": 32}}, {"machine.disks": 64, "seed": 3})
    ('machine.disks = 64 (32 in the file)', 'seed = 3 (nothing in the file)')
    """
    return tuple(
        f"{name} = {_short(value)} ({_held(tables, name)} in the file)" for name, value in settings.items()
    )


def value_at(tables: Any, name: str) -> Any:
    """What tables hold at a dotted key; None for nothing."""
    for part in dotted(name).split("."):
        if isinstance(tables, list) and part.isdigit() and int(part) < len(tables):
            tables = tables[int(part)]
        elif isinstance(tables, Mapping) and part in tables:
            tables = tables[part]
        else:
            return None
    return tables


def _held(tables: Mapping[str, Any], name: str) -> str:
    held = value_at(tables, name)
    return "nothing" if held is None else _short(held)


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return cut(value if isinstance(value, str) else repr(value), 60)


def _is_set(key: str, settings: Mapping[str, Any]) -> bool:
    parts = dotted(key).split(".")
    return any(dotted(name).split(".") == parts[: name.count(".") + 1] for name in settings)


def _drop_others(file: type[Table], tables: dict[str, Any], name: str, settings: Mapping[str, Any]) -> None:
    """Take out what a setting says in another way, unless that is set too."""
    *way, last = dotted(name).split(".")
    held = value_at(tables, ".".join(way)) if way else tables
    declared = declared_at(file, tables, way)
    if declared is None or not isinstance(held, dict):
        return
    own = [group for group in declared.instead if last in group]
    others = [key for group in declared.instead if own and group not in own for key in group]
    for key in (*others, *declared.replaces.get(last, ())):
        if ".".join([*way, key]) not in settings:
            held.pop(key, None)


def _index(name: str, part: str, listed: list[Any]) -> int:
    if not part.isascii() or not part.isdigit() or int(part) >= len(listed):
        raise ModelError(f"{name}: {part} is none of the {len(listed)} tables there; number them from 0")
    return int(part)


def _unknown(file: type[Table], name: str) -> str:
    """What is said of a key whose first part is unknown: the keys that end like it are offered."""
    last = dotted(name).split(".")[-1]
    paths = dict(_paths(file))
    near = nearest(last, list(dict.fromkeys(paths.values())))
    meant = [path for path, end in paths.items() if near and end == near[0]]
    if meant:
        return f"{name}: unknown key; did you mean {' or '.join(meant[:3])}?"
    return f"{name}: unknown key; {suggestion(name, file.model_fields, 'known here:')}"


def _paths(file: type[Table], above: str = "", deep: int = 0) -> Iterator[tuple[str, str]]:
    """Dotted keys of the declared tables with their last parts."""
    for key, field in file.model_fields.items():
        listed = "list[" in str(field.annotation) and any(tables_in(field.annotation))
        yield f"{above}{key}", key
        for table in tables_in(field.annotation):
            if table is not Table and deep < 4:
                yield from _paths(table, f"{above}{key}.{'0.' if listed else ''}", deep + 1)
