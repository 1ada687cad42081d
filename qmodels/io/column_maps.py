"""Maps from what is wanted to the columns of a table that somebody else has written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from phasefit.checks import suggestion
from qmodels.errors import ModelError, TraceFormatError


def checked_map(given: object, keys: Sequence[str], example: str) -> dict[str, str]:
    """Return a map of columns.

    Parameters
    ----------
    given : mapping or None
        From keys to names of columns; None is an empty one.
    keys : sequence of str
        What may be wanted.
    example : str
        Of such a map, for the message.

    Raises
    ------
    ModelError
        Unless its keys are known and its values are names.

    Examples
    --------
    >>> checked_map({"p": "nprocs"}, ("p", "d"), "p = 'nprocs'")
    {'p': 'nprocs'}
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ModelError(f"columns must be a map such as {example}; got {given!r:.60}")
    for key, name in given.items():
        if key not in keys:
            raise ModelError(f"columns: unknown key {key!r:.40}; {suggestion(key, keys)}")
        if not isinstance(name, str) or not name:
            raise ModelError(f"columns.{key} must be the name of a column, got {name!r:.40}")
    return dict(given)


def delimiter_of(header: str, names: Sequence[str]) -> str:
    r"""Return the sign that parts a header into these names: a comma, semicolon, tab or bar.

    Examples
    --------
    >>> delimiter_of("p;d;walltime, s", ("p", "d"))
    ';'
    """
    return max(",;\t|", key=lambda sign: sum(name in _cells(header, sign) for name in names))


def csv_rows(file: str, text: str, names: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with its line in the file; the first that is not blank tells the sign.

    Raises
    ------
    TraceFormatError
        If the text is not CSV.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(first, names), strict=True)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise TraceFormatError(file, f"is not CSV: {error}", line=reader.line_num) from None


def wrong_column(names: Sequence[str], needed: Sequence[str], optional: Sequence[str]) -> str:
    """Say what is wrong with the columns that a header names; "" for nothing.

    Examples
    --------
    >>> wrong_column(["p", "d", "p"], ("p", "d"), ()), wrong_column(["p"], ("p", "d"), ())
    ('the column p is there 2 times', 'the column d is missing; needed are p, d')
    """
    known = (*needed, *optional)
    for name in names:
        if name not in known:
            return f"unknown column {name[:40]!r}; {suggestion(name, known)}"
        if names.count(name) > 1:
            return f"the column {name} is there {names.count(name)} times"
    missing = [name for name in needed if name not in names]
    return f"the column {missing[0]} is missing; needed are {', '.join(needed)}" if missing else ""


def name_column(file: str, name: str, known: Sequence[str]) -> TraceFormatError:
    """Return the error for a column that is not there."""
    return TraceFormatError(
        file,
        f"has no column {name!r:.60}; {suggestion(name, known[:200], 'it has')}",
        line=1,
        field=name,
    )


def _cells(header: str, sign: str) -> set[str]:
    return {cell.strip().strip('"') for cell in header.split(sign)}
