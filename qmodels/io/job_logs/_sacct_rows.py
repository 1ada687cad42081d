"""Rows of sacct out of lines: a bar or a newline may be part of a field, and nothing is quoted."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from qmodels.io.job_logs.lines import Lines, Rejected

#: Columns that hold what users write.
FREE_TEXT = frozenset(
    {
        "jobname",
        "submitline",
        "comment",
        "workdir",
        "admincomment",
        "systemcomment",
        "extra",
        "stdin",
        "stdout",
        "stderr",
        "reason",
        "constraints",
        "container",
    }
)

#: A time between two bars, which no text holds: it is that of a row which was cut short.
_STAMP = re.compile(r"[|\n][0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?=[|\n])")
_MOST_LINES = 200  # of one row: a here-document in a command line
_MOST_WAYS = 300  # to share bars out among columns of free text
_MOST_SURPLUS = 60  # bars in free text of one row


class Odd(Exception):
    """A field that does not hold what its column says."""

    def __init__(self, field: str, text: str, what: str) -> None:
        super().__init__(f"{field}: {text[:40]!r} {what}")
        self.field, self.what = field.strip()[:40], f"{text[:40]!a} {what}"


class Rows:
    """The rows of a file, each as what `values` makes of its fields.

    Parameters
    ----------
    lines : Lines
        Behind the header.
    width : int
        Fields of a row.
    free : list of int
        Columns of free text.
    values : callable
        Reads the fields of a row; raises Odd where one is not what its column says.
    check : callable
        Whether all fields of known kinds are sound, those that are not used too.
    begins : callable
        The first fields that a row may have which begins at the end of a field, behind one that
        was cut short there; the second argument is what the line is read as otherwise.
    sign : str
        What parts the fields.

    Notes
    -----
    A line with as many fields as there are columns is a row. Else the fields that are too many are
    given to the column of free text with which all others are sound; if there are too few, the
    lines that follow are joined to it. Where that can be done in two ways that are read
    differently, or in none, the row is left out and counted, with its line. One of the ways is
    that a row was cut short and the next one stands on its line.
    """

    def __init__(
        self,
        lines: Lines,
        width: int,
        free: Sequence[int],
        values: Callable[[Sequence[str]], Any],
        check: Callable[[Sequence[str]], bool],
        begins: Callable[[str, Any], Sequence[str]],
        sign: str = "|",
    ) -> None:
        self._lines, self._width, self._free, self._sign = lines, width, list(free), sign
        self._values, self._check, self._begins = values, check, begins
        self.mended = self.continued = 0
        self.rejected = Rejected(
            lines,
            "Rows whose fields cannot be told apart",
            f"has not the {width} fields of the other rows or of the header, like most rows; is "
            f"the file whole, and written with --parsable2?",
        )

    def __iter__(self) -> Iterator[Any]:
        width, read, sign = self._width, self._values, self._sign
        count = 0
        for line in self._lines:
            fields = line.split(sign)
            if len(fields) == width:
                try:
                    found = read(fields)
                except Odd as odd:
                    found = self._mended(line, count > 0, odd)
            elif not line.strip():
                continue
            else:
                found = self._mended(line, count > 0, None)
            if found is not None:
                count += 1
                yield found
            elif self.rejected.are_too_many(count):
                break
        self.rejected.check(count)

    def _mended(self, line: str, began: bool, odd: Odd | None) -> Any:
        """The row that begins with this line and the lines after it; None where there is none."""
        fields, taken = line.split(self._sign), [line]
        if began and self._goes_on(fields, odd):
            self.continued += 1  # of the free text that ends the row before
            return None
        found, clear = self._placed(fields)
        most = self._width + _MOST_SURPLUS
        while found is None and clear and len(taken) < _MOST_LINES and len(fields) <= most:
            following = next(self._lines, None)
            if following is None:
                break
            taken.append(following)
            if self._is_row(following):
                break
            fields = [*fields[:-1], *"\n".join([fields[-1], following]).split(self._sign)]
            found, clear = self._placed(fields)
        if found is not None:
            self.mended += 1
            return found
        self._lines.put_back(taken[1:])
        if odd is not None:
            raise self._lines.fault(f"{odd.what}", odd.field)
        self.rejected.add()
        return None

    def _placed(self, fields: list[str]) -> tuple[Any, bool]:
        """What a row of too many fields is read as, and whether that is clear."""
        surplus = len(fields) - self._width
        if surplus < 0:
            return None, True
        readings: list[Any] = []
        for value in self._readings(fields):
            if value not in readings:
                readings.append(value)
        if len(readings) == 1 and surplus:
            readings += itertools.islice(self._others(fields, readings[0]), 1)
        if len(readings) > 1:
            return None, False
        return (readings[0], True) if readings else (None, True)

    def _readings(self, fields: list[str]) -> Iterator[Any]:
        """What fields are read as with those that are too many in each column of free text."""
        for shares in self._ways(len(fields) - self._width):
            row = _merged(fields, dict(zip(self._free, shares, strict=False)), self._sign)
            if len(row) != self._width or not self._check(row) or self._swallowed(row):
                continue
            try:
                yield self._values(row)
            except Odd:
                continue

    def _others(self, fields: list[str], known: Any) -> Iterator[Any]:
        """What is read otherwise if a row was cut short and the next one begins in its line."""
        for at in range(1, len(fields) - self._width + 1):
            for first in self._begins(fields[at], known):
                for value in self._readings([first, *fields[at + 1 :]]):
                    if value != known:
                        yield value

    def _swallowed(self, row: list[str]) -> bool:
        """Whether a field holds what is none of its own: a line end, or in free text a time."""
        return any(
            _STAMP.search(field.replace(self._sign, "|")) if at in self._free else "\n" in field
            for at, field in enumerate(row)
        )

    def _ways(self, surplus: int) -> Iterator[tuple[int, ...]]:
        """How many fields more each column of free text may hold; to one alone at first."""
        if surplus == 0:
            yield ()
            return
        columns = len(self._free)
        for column in range(columns):
            yield tuple(surplus * (column == k) for k in range(columns))
        if columns > 1:
            cuts = itertools.combinations(range(surplus + columns - 1), columns - 1)
            for cut in itertools.islice(cuts, _MOST_WAYS):
                ends = [-1, *cut, surplus + columns - 1]
                shares = tuple(b - a - 1 for a, b in itertools.pairwise(ends))
                if max(shares) < surplus:
                    yield shares

    def _is_row(self, line: str) -> bool:
        """Whether a line is a row by itself."""
        fields = line.split(self._sign)
        if len(fields) < self._width:
            return False
        found, clear = self._placed(fields)
        return found is not None or not clear

    def _goes_on(self, fields: list[str], odd: Odd | None) -> bool:
        """Whether a line belongs to the free text that ends the row before it.

        It does if it does not begin like a row: its first fields, up to the first of free text,
        are not sound. Where all behind them is, they were damaged, and the line is a row.
        """
        if not self._free or self._free[-1] != self._width - 1 or not self._free[0]:
            return False
        before = self._free[0]
        padded = [*fields[:before], *[""] * (self._width - min(before, len(fields)))]
        if fields[0] and self._check(padded):
            return False
        return odd is None or not self._check([*[""] * before, *fields[before:]])

    def notes(self) -> list[str]:
        """Sentences on what was mended and what was left out."""
        found = []
        if self.mended:
            found.append(
                f"Rows with a bar or a newline within a field, put together: {self.mended:,}; let "
                f"sacct print free text (JobName, SubmitLine) last or not at all."
            )
        if self.continued:
            found.append(f"Lines that go on with the text that ends a row: {self.continued:,}.")
        return found + self.rejected.notes()


def _merged(fields: list[str], shares: dict[int, int], sign: str) -> list[str]:
    """The fields with so many more of them given to these columns."""
    row: list[str] = []
    at = 0
    while at < len(fields):
        more = shares.get(len(row), 0)
        row.append(sign.join(fields[at : at + more + 1]))
        at += more + 1
    return row
