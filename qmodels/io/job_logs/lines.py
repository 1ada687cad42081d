"""Text of a job log line by line, never more of it in memory than a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qmodels.errors import TraceFormatError
from qmodels.io._swf_parse import _chunks as blocks
from qmodels.io.line_ends import check_ends
from qmodels.io.swf import MAX_BYTES

MAX_LINE = 1_000_000  #: bytes
_HEAD = 1 << 20  # bytes that show of which format a file is
_MOST_REJECTED = 1000  # records, if they are more than those that were read


class Lines:
    """The lines of a file and their numbers, from 1; those taken last can be put back.

    Parameters
    ----------
    file : str
        Plain or gzip, by content.
    max_bytes : int, optional
        Largest size of the text, unpacked.

    Attributes
    ----------
    number : int
        Of the line that was taken last; 0 before the first.

    Notes
    -----
    What is not UTF-8 is replaced: names of jobs and users come in any encoding, and what is read
    as a number or a time is ASCII. A line ends with a newline, or carriage returns and a newline;
    any other sign is part of it, whatever other programs take it for.
    """

    def __init__(self, file: str, max_bytes: int | None = None) -> None:
        self.file, self.number = file, 0
        self._source = self._read(file, MAX_BYTES if max_bytes is None else max_bytes)
        self._back: deque[str] = deque()
        self._ends_within = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else next(self._source)
        self.number += 1
        return line

    def put_back(self, lines: list[str]) -> None:
        """Let these lines, taken last and in this order, come again."""
        self._back.extendleft(reversed(lines))
        self.number -= len(lines)

    def fault(self, what: str, field: str | None = None, *, line: int | None = None) -> Exception:
        """The error for the line taken last, or for `line`."""
        at = self.number if line is None else line
        if at == self._ends_within:
            what += " (the file ends within this line: is it cut short?)"
        return TraceFormatError(self.file, what, line=at, field=field)

    def value(self, field: str, text: str, how: Callable[[str], Any], *, line: int | None = None) -> Any:
        """What `how` makes of the text of a field; its ValueError becomes the error of `fault`."""
        try:
            return how(text)
        except ValueError as error:
            raise self.fault(f"{text[:40]!a}: {error}", field, line=line) from None

    def _read(self, file: str, max_bytes: int) -> Iterator[str]:
        rest, count = b"", 0
        for chunk in blocks(file, max_bytes):
            if not count and not rest:
                check_ends(file, chunk)
            text, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                block = _decoded(text, count == 0)
                count += len(block)
                yield from block
            if len(rest) > MAX_LINE:
                what = f"the line is longer than {MAX_LINE:,} bytes; this is no job log, or damaged"
                raise TraceFormatError(file, what, line=count + 1)
        if rest:
            self._ends_within = count + 1
            yield from _decoded(rest, count == 0)


def _decoded(text: bytes, first: bool) -> list[str]:
    lines = text.decode("utf-8-sig" if first else "utf-8", errors="replace").split("\n")
    return [line.rstrip("\r") if line.endswith("\r") else line for line in lines]


class Rejected:
    """Records that are left out for how they look, and the lines of the first of them.

    Parameters
    ----------
    lines : Lines
    what : str
        The beginning of the sentence on them.
    advice : str
        What is said of them where they are more than the others.
    """

    def __init__(self, lines: Lines, what: str, advice: str) -> None:
        self._lines, self._what, self._advice = lines, what, advice
        self.count = 0
        self._first: list[int] = []

    def add(self, count: int = 1) -> None:
        """Leave out records at the line taken last."""
        self.count += count
        if count and len(self._first) < 5:
            self._first.append(self._lines.number)

    def are_too_many(self, read: int) -> bool:
        """Whether so many were rejected that the rest of the file can be spared."""
        return self.count > max(read, _MOST_REJECTED)

    def check(self, read: int) -> None:
        """TraceFormatError where they are more than the `read` others."""
        if self.count > read:
            what = f"{self._advice} ({self.count:,} of {self.count + read:,})"
            raise self._lines.fault(what, line=self._first[0])

    def notes(self) -> list[str]:
        """A sentence on them, or none."""
        if not self.count:
            return []
        where = ", ".join(map(str, self._first))
        more = ", ..." if self.count > len(self._first) else ""
        return [f"{self._what}, left out: {self.count:,} (line {where}{more})."]


def first_line(lines: Iterable[str]) -> str:
    """Return the first line that is not blank; "" for none."""
    return next((line for line in lines if line.strip()), "")


def beginning(file: str) -> list[str]:
    """The first whole lines of a file: enough to see of which format it is.

    Raises
    ------
    TraceFormatError
        If it cannot be read, or is text of two bytes for a character.
    """
    start = next(iter(blocks(file, 1 << 62)), b"")[:_HEAD]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise TraceFormatError(file, "is UTF-16 text; save it as UTF-8", line=1)
    check_ends(file, start)
    lines = _decoded(start, True)
    return lines[:-1] if len(lines) > 1 else lines
