"""Rows of a comma-separated table with a header, one at a time."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from qmodels.io.job_logs.lines import Lines
from qmodels.io.line_ends import other_end


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
        self._lines, self._delimiter = lines, delimiter
        self.header: list[str] = []
        self._reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
        self.header = next(self._read(), [])
        for name in self.header:
            if (sign := other_end(name)) is not None:
                raise lines.fault(f"holds {sign}: is its line end lost?", name[:40])
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
            before = self._lines.number
            try:
                fields = next(self._reader, None)
            except csv.Error as error:
                what = f"is not CSV: {error}"
                if "new-line character" in str(error):
                    what = "holds a carriage return that ends no line, outside of quotes"
                raise self._lines.fault(what) from None
            if fields is None:
                return
            if self._lines.number > before + 1:
                self._check_text(fields)
            fields = [field.strip() for field in fields]
            if any(fields):
                yield fields

    def _check_text(self, fields: list[str]) -> None:
        """Refuse text in quotes that swallowed a row: its end was lost, and other quotes met."""
        signs = len(self.header) - 1
        for line in (line for field in fields for line in field.split("\n")[1:]):
            if 0 < signs == line.count(self._delimiter):
                what = f"text in quotes holds a row, {line[:40]!a}; is a quote not closed?"
                raise self._lines.fault(what)

    def read(self, name: str, text: str, how: Callable[[str], Any]) -> Any:
        """What `how` makes of a field; a ValueError names the line and the field."""
        return self._lines.value(name, text, how)


def find_columns(header: Sequence[str]) -> dict[str, int]:
    """Where each column stands."""
    return {name: i for i, name in enumerate(header)}
