"""Options of a command line laid over the tables of a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from qmodels.io.toml_tables import Table

File = TypeVar("File", bound="Table")


def overlaid(
    spec: File, given: Mapping[str, Mapping[str, Any]], *, instead: Collection[str] = ()
) -> File:
    """`spec` with what was given in its place, checked as a file would be.

    Parameters
    ----------
    spec : Table
        A file that was read, or an empty one.
    given : mapping
        Options by the table that they belong to, "" for the top; None for one not given.
    instead : collection of str
        Keys of which one that is given replaces all others of its table.
    """
    from qmodels.io.toml_tables import checked_tables  # heavy: not before a command runs

    tables = spec.model_dump(exclude_unset=True)
    for table, options in given.items():
        kept = {key: value for key, value in options.items() if value is not None}
        if table == "":
            tables |= kept
        elif kept:
            below = tables.setdefault(table, {})
            if set(instead) & set(kept):
                for key in instead:
                    below.pop(key, None)
            below |= kept
    return checked_tables(Path("options"), type(spec), tables)
