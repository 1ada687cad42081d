"""Tables of a scenario: of what they are, and files that they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def of_strategies(tables: Mapping[str, Any]) -> bool:
    """Return whether the tables are those of a comparison of strategies, and not of policies.

    Parameters
    ----------
    tables : mapping
        Tables of a sweep's file.

    Examples
    --------
    >>> of_strategies({"mesh": {"rows": 4}}), of_strategies({"policy": [], "machine": {}})
    (True, False)
    """
    return not {"program", "runs", "policy"} & set(tables)


def files_named(tables: Mapping[str, Any], folder: Path) -> Iterator[str]:
    """Yield the paths that tables name, of files that are there.

    Parameters
    ----------
    tables : mapping
        Tables of a sweep's file.
    folder : Path
        That relative paths start from.

    Yields
    ------
    str
        A path, as it is named.
    """
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from files_named(value, folder)
        elif isinstance(value, list):
            for each in value:
                if isinstance(each, Mapping):
                    yield from files_named(each, folder)
        elif key == "path" and isinstance(value, str) and (folder / value).is_file():
            yield value
