"""Rows of a comma-separated table with a header, one at a time."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from qmodels.errors import TraceFormatError
from qmodels.io.job_logs.lines import Lines


class Rows:
    """The rows of a table behind its header.

    Parameters
    ----------
    lines : Lines
    delimiter : str

    Attributes
    ----------
    header : list of str
    """

    def __init__(self, lines: Lines, delimiter: str) -> None:
        self._lines = lines
        self._reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
        self.header: list[str] = next(self._read(), [])
        for name, count in Counter(self.header).items():
            if count > 1 and name:
                raise lines.fault("is the name of two columns", name[:40])

    def __iter__(self) -> Iterator[list[str]]:
        width = len(self.header)
        for fields in self._read():
            if len(fields) != width:
                raise self._lines.fault(f"{len(fields)} fields where the header has {width}")
            yield fields

    def _read(self) -> Iterator[list[str]]:
        while True:
            try:
                fields = next(self._reader, None)
            except csv.Error as error:
                raise self._lines.fault(f"is not CSV: {error}") from None
            if fields is None:
                return
            fields = [field.strip() for field in fields]
            if any(fields):
                yield fields

    def read(self, name: str, text: str, how: Callable[[str], Any]) -> Any:
        """What `how` makes of a field; a ValueError names the line and the field."""
        return self._lines.value(name, text, how)


def find_columns(header: Sequence[str]) -> dict[str, int]:
    """Where each column stands."""
    return {name: i for i, name in enumerate(header)}


def delimiter_of(file: str, header: str, names: Sequence[str]) -> str:
    """The sign that parts a header into these names: a comma, a semicolon, a tab or a bar."""
    best = max(",;\t|", key=lambda sign: sum(n in _cells(header, sign) for n in names))
    if not header.strip():
        raise TraceFormatError(file, "holds no jobs: it is empty")
    return best


def _cells(header: str, sign: str) -> set[str]:
    return {cell.strip().strip('"') for cell in header.split(sign)}
