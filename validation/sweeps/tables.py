"""Tables of a scenario with some of their values changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qmodels.errors import ModelError
from validation.sweeps.plain import from_text, to_text


def text_of(settings: tuple[tuple[str, Any], ...]) -> str:
    """Settings as one text, by which what was built of them is kept."""
    return to_text(settings)


def changed(tables: str, settings: str) -> dict[str, Any]:
    """Tables, a text from `plain.to_text`, with settings in place of what they hold.

    Raises
    ------
    ModelError
        If a setting leads nowhere.

    Examples
    --------
    >>> changed('{"machine": {"disks": 8}}', text_of((("machine.disks", 16),)))
    {'machine': {'disks': 16}}
    """
    found: dict[str, Any] = from_text(tables)
    for name, value in from_text(settings):
        *way, last = name.split(".")
        place: Any = found
        for part in way:
            if isinstance(place, list):
                place = place[_index(name, part, place)]
            else:
                place = place.setdefault(part, {})
            if not isinstance(place, (dict, list)):
                raise ModelError(f"{name}: {part} is a value, not a table; see the scenario's keys")
        if isinstance(place, list):
            place[_index(name, last, place)] = value
        else:
            place[last] = value
    return found


def _index(name: str, part: str, listed: list[Any]) -> int:
    if not part.isascii() or not part.isdigit() or int(part) >= len(listed):
        raise ModelError(
            f"{name}: {part} is none of the {len(listed)} tables there; number them from 0"
        )
    return int(part)


def files_named(tables: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Paths that tables name, of files that are there."""
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from files_named(value, folder)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Mapping):
                    yield from files_named(each, folder)
        elif key == "path" and isinstance(value, str) and (folder / value).is_file():
            yield value
