"""The strict parser of Standard Workload Format text: bytes in, a table and a header out.

A block of lines is read by a compiled loop; where that meets a number that it cannot round, by
numpy, and only where this fails too line by line, to say which field of which line is at fault. The
file is never held in memory as a whole, and of its rows only the columns that are asked for.
"""

from __future__ import annotations

import codecs
import datetime
import gzip
import io
import re
import zlib
import zoneinfo
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import TraceFormatError
from qmodels.io._kernels import read_rows
from qmodels.io.files import open_regular
from qmodels.io.line_ends import check_ends, other_end

Header = Mapping[str, str | list[str]]

FIELDS = (
    "job",
    "submit",
    "wait",
    "run",
    "processors",
    "cpu_time",
    "memory",
    "requested_processors",
    "requested_time",
    "requested_memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding_job",
    "think_time",
)
#: The fields that are whole numbers; the others are times and memory.
WHOLE = frozenset(name for name in FIELDS if not name.endswith(("submit", "wait", "run", "time", "memory")))
LARGEST = 2.0**53  #: from here on a float no longer tells neighbouring whole numbers apart
MAX_LINE = 4096  #: bytes
#: Most comments that are kept: a header has tens of lines, and memory is to be bounded.
MAX_COMMENTS, MAX_COMMENT_BYTES = 100_000, 4_000_000

_BLOCK = 1 << 20
_IS_WHOLE = np.array([name in WHOLE for name in FIELDS])
_ALPHABET = b"0123456789+-.eE \t\r\n"
_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_KEY = re.compile(r"[ ]{0,2}([A-Za-z][A-Za-z0-9_.-]{0,63})[ ]*:(?!//)(.*)")
_LEADING = re.compile(r"[ ]*([+-]?[0-9]{1,15})(?![0-9.eE])")
_PACKED = {b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"PK\x03\x04": "zip", b"\x1f\x9d": "compress"}


@dataclass(frozen=True, eq=False)
class RawLog:
    """The rows of a log in the order of the file, and the text of its comments."""

    columns: dict[str, NDArray[Any]]  #: (n,) each; int64 in `WHOLE`, else float64
    comments: list[str]  #: without the semicolon
    cut: bool  #: the last line has no newline
    swallowed: int  #: comments that end in a row, as where a line end was lost


class _Fault(Exception):
    """What is wrong on which line; `parse` adds the file."""

    def __init__(self, what: str, line: int, field: str | None = None) -> None:
        self.what, self.line, self.field = what, line, field


class _Columns:
    """Columns that grow as blocks of rows come in; room that is not used takes no memory."""

    def __init__(self, names: Collection[str]) -> None:
        self._size = 0
        self._place = {name: i for i, name in enumerate(FIELDS) if name in names}
        self._columns: dict[str, NDArray[Any]] = {
            name: np.empty(0, np.int64 if name in WHOLE else np.float64) for name in self._place
        }

    def add(self, rows: NDArray[np.float64]) -> None:
        """Append (k, 18) rows."""
        size = self._size + len(rows)
        for name, column in self._columns.items():
            if size > column.size:  # in place: the pages are moved, not copied
                column.resize(max(size, 3 * column.size // 2, 4096), refcheck=False)
            column[self._size : size] = rows[:, self._place[name]]
        self._size = size

    def taken(self) -> dict[str, NDArray[Any]]:
        """The columns, cut to what they hold; nothing may be added afterwards."""
        for column in self._columns.values():
            column.resize(self._size, refcheck=False)
        return self._columns


def parse(file: str, max_bytes: int, names: Collection[str] = FIELDS) -> RawLog:
    """Read columns of a plain or gzip log of at most `max_bytes` (decompressed)."""
    columns = _Columns(names)
    comments: list[bytes] = []
    line, rest, ends_here, spoken = 1, b"", "", 0
    try:
        for chunk in _chunks(file, max_bytes):
            if line == 1 and not rest:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
                check_ends(file, chunk)
            text, newline, rest = (rest + chunk).rpartition(b"\n")
            before = len(comments)
            columns.add(_block(text + newline, comments, line))
            spoken += sum(map(len, comments[before:]))
            if len(comments) > MAX_COMMENTS or spoken > MAX_COMMENT_BYTES:
                raise _Fault(
                    f"more than {MAX_COMMENTS:,} comment lines or {MAX_COMMENT_BYTES:,} bytes of "
                    f"them; this is not a job log, or drop its comments",
                    line + text.count(b"\n"),
                )
            line += text.count(b"\n") + len(newline)
            if len(rest) > MAX_LINE:
                raise _too_long(line)
        if rest:
            ends_here = " (the file ends within this line: is it cut short?)"
            columns.add(_block(rest + b"\n", comments, line))
    except _Fault as fault:
        what = fault.what + ends_here
        raise TraceFormatError(file, what, line=fault.line, field=fault.field) from None
    swallowed = sum(map(_ends_in_a_row, comments))
    texts = [_text(comment) for comment in comments]
    return RawLog(columns.taken(), texts, bool(rest), swallowed)


def parse_header(comments: list[str]) -> dict[str, str | list[str]]:
    """`Key: value` comments as a dict; a key that comes more than once holds a list.

    A comment without a key continues the value above it.
    """
    found: dict[str, list[list[str]]] = {}
    last: list[str] | None = None
    for comment in comments:
        if match := _KEY.fullmatch(comment):
            last = [match[2].strip()]
            found.setdefault(match[1], []).append(last)
        elif not comment.strip():
            last = None
        elif last is not None:
            last.append(comment.strip())
    values = {key: [" ".join(parts) for parts in lines] for key, lines in found.items()}
    return {key: lines[0] if len(lines) == 1 else lines for key, lines in values.items()}


def whole(header: Header, key: str) -> int | None:
    """Whole number of at most 15 digits that is the value of a header line, or starts it."""
    text = header.get(key)
    match = _LEADING.match(text[0] if isinstance(text, list) else text or "")
    return int(match[1]) if match else None


def count(header: Header, key: str) -> int | None:
    """Positive number at the start of a header line, as in ``400 (48 interactive, 352 batch)``."""
    number = whole(header, key)
    return number if number is not None and number > 0 else None


def timezone(header: Header) -> datetime.tzinfo:
    """Zone by name, else by its offset in seconds, else UTC."""
    return _named_zone(header) or _offset_zone(header) or datetime.UTC


def header_problems(header: Header) -> list[str]:
    """Sentences on the header lines whose value cannot be used."""
    bad = [key for key in ("MaxProcs", "MaxNodes") if key in header and not count(header, key)]
    bad += [
        key
        for key in ("UnixStartTime", "MaxRecords", "MaxJobs")
        if key in header and whole(header, key) is None
    ]
    bad += ["TimeZoneString"] if "TimeZoneString" in header and not _named_zone(header) else []
    bad += ["TimeZone"] if "TimeZone" in header and not _offset_zone(header) else []
    return [f"The header line {key}: {str(header[key])[:60]!r} is not usable." for key in bad]


def _named_zone(header: Header) -> datetime.tzinfo | None:
    name = header.get("TimeZoneString")
    try:
        return zoneinfo.ZoneInfo(name) if isinstance(name, str) and name else None
    except (KeyError, ValueError, OSError):  # unknown, a path that leaves the folder, a folder
        return None


def _offset_zone(header: Header) -> datetime.tzinfo | None:
    seconds = whole(header, "TimeZone")
    if seconds is None or abs(seconds) >= 86_400:
        return None
    return datetime.timezone(datetime.timedelta(seconds=seconds))


def one_line(text: str) -> str:
    """`text` with a blank for whatever does not print: newlines, escapes, lone surrogates."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def is_key(text: str) -> bool:
    """Whether a header line of this key is read back as such."""
    match = _KEY.fullmatch(f"{text}:")
    return match is not None and match[1] == text


def _chunks(file: str, max_bytes: int) -> Iterator[bytes]:
    total = 0
    with open_regular(file, what="a job log") as raw:
        try:
            start = raw.read(6)
            raw.seek(0)
            for magic, name in _PACKED.items():
                if start.startswith(magic):
                    raise TraceFormatError(file, f"is packed with {name}; unpack it or use gzip")
            stream = gzip.GzipFile(fileobj=raw) if start.startswith(b"\x1f\x8b") else raw
            while chunk := stream.read(_BLOCK):
                total += len(chunk)
                if total > max_bytes:
                    what = (
                        f"the text is longer than max_bytes = {max_bytes:,}; raise it to read on "
                        f"(--max-bytes of a command)"
                    )
                    raise TraceFormatError(file, what)
                yield chunk
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            what = f"the gzip data are damaged after {total:,} bytes of text: {error}"
            raise TraceFormatError(file, what) from error
        except OSError as error:
            raise TraceFormatError.unreadable(file, error) from error


def _block(text: bytes, comments: list[bytes], line: int) -> NDArray[np.float64]:
    """Read the rows of whole lines; append their comments to `comments`."""
    parted = _without_comments(text)
    rows = None if parted is None else _fast(text, parted[0])
    if parted is None or rows is None:
        return _slow(text, comments, line)
    comments += parted[1]
    return rows


def _without_comments(text: bytes) -> tuple[bytes, list[bytes]] | None:
    """Part rows from comments; None where a semicolon stands among numbers."""
    pieces, comments, at = [], [], 0
    while (semicolon := text.find(b";", at)) >= 0:
        start = max(text.rfind(b"\n", at, semicolon) + 1, at)
        if text[start:semicolon].strip(b" \t"):
            return None
        end = text.find(b"\n", semicolon) + 1
        pieces.append(text[at:start])
        comments.append(text[semicolon + 1 : end])
        at = end
    return b"".join(pieces) + text[at:], comments


def _fast(text: bytes, data: bytes) -> NDArray[np.float64] | None:
    """Read the rows, or give None where anything at all is unusual."""
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    if ends.size and np.diff(ends, prepend=-1).max() > MAX_LINE + 1:
        return None
    rows = np.empty((data.count(b"\n"), len(FIELDS)))
    count = read_rows(np.frombuffer(data, np.uint8), _IS_WHOLE, rows)
    return _rounded(data) if count < 0 else rows[:count]


def _rounded(data: bytes) -> NDArray[np.float64] | None:
    """Read rows that hold numbers of many digits, or give None where a number is unusual."""
    if data.translate(None, _ALPHABET):
        return None
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\r" in data:
        return None
    try:
        rows = np.loadtxt(io.BytesIO(data), comments=None, ndmin=2, encoding="latin-1")
    except ValueError:
        return None
    if rows.shape[1] != len(FIELDS) or not np.abs(rows).max() < LARGEST:
        return None
    whole = rows[:, _IS_WHOLE]
    return rows if (whole == np.floor(whole)).all() else None


def _slow(text: bytes, comments: list[bytes], line: int) -> NDArray[np.float64]:
    """Read the same rows a line at a time; stop at the first field that is wrong."""
    rows = []
    for number, content in enumerate(text.split(b"\n")[:-1], line):
        if len(content) > MAX_LINE:
            raise _too_long(number)
        fields = content.removesuffix(b"\r").replace(b"\t", b" ").split(b" ")
        fields = [field for field in fields if field]
        if fields and fields[0].startswith(b";"):
            comments.append(content.partition(b";")[2])
        elif fields:
            rows.append(_row(fields, number))
    return np.array(rows, dtype=float).reshape(-1, len(FIELDS))


def _row(fields: list[bytes], line: int) -> list[float]:
    row = []
    for name, field in zip(FIELDS, fields, strict=False):
        if not _NUMBER.fullmatch(field):
            shown = ascii(field[:32].decode("latin-1"))
            what = f"{shown} is not a plain decimal number; write -1 for what is not known"
            raise _Fault(what, line, name)
        row.append(value := float(field))
        if not abs(value) < LARGEST:
            what = f"{field[:32].decode()} is too large; the limit is 2^53, about 9.007e15"
            raise _Fault(what, line, name)
        if name in WHOLE and not value.is_integer():
            what = f"{field[:32].decode()} must be a whole number"
            raise _Fault(what, line, name)
    if len(fields) < len(FIELDS):
        what = f"is missing: the line has {len(fields)} fields of {len(FIELDS)}"
        raise _Fault(what, line, FIELDS[len(fields)])
    if len(fields) > len(FIELDS):
        what = f"the line has {len(fields)} fields; the format has {len(FIELDS)}"
        raise _Fault(what, line)
    return row


def _too_long(line: int) -> _Fault:
    what = f"the line is longer than {MAX_LINE:,} bytes; this is not a job log, or it is damaged"
    return _Fault(what, line)


def _ends_in_a_row(comment: bytes) -> bool:
    """Whether a row stands behind text, or a sign that may have been a line end.

    A row that somebody took out by a semicolon is a comment by itself.
    """
    if not comment.rstrip()[-1:].isdigit():
        return False
    words = comment.translate(None, b"\0").split()[-len(FIELDS) - 1 :]
    if len(words) < len(FIELDS) or not all(map(_NUMBER.fullmatch, words[1 - len(FIELDS) :])):
        return False
    alone = len(words) == len(FIELDS) and _NUMBER.fullmatch(words[0])
    return not alone or other_end(comment.decode("utf-8", "replace").rstrip("\r\n")) is not None


def _text(comment: bytes) -> str:
    try:
        text = comment.decode("utf-8")
    except UnicodeDecodeError:
        text = comment.decode("latin-1")
    return one_line(text.rstrip())
