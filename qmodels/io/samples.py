"""One column of numbers out of a job log, a CSV file or a list in a text file."""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import nearest, one_of
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io.files import file_name, opened
from qmodels.io.line_ends import other_end

#: Columns of a job log, and what `JobLog` calls them.
SERIES = {
    "interarrival": "interarrivals",
    "runtime": "runtimes",
    "work": "work",
    "size": "sizes",
}
MAX_BYTES = 500_000_000
#: Empty lines and comments of a table: a packed file of nothing else is soon told from one.
MAX_IDLE = 100_000

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_HEAD = 1_000_000  # bytes that show whether a file is a job log
_BLOCK = 4_000_000


def read_samples(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    status: str | None = None,
    max_bytes: int | None = None,
    **log: Any,
) -> tuple[Array, str, tuple[str, ...]]:
    r"""Read one series of numbers, in the order of the file.

    Parameters
    ----------
    path : path_like
        A job log of any format of `read_jobs`, known by its content or by the name ``.swf``,
        ``.swf.gz``; or text with a number per line; or CSV with a header. Plain or gzip. Lines
        that start with ``#`` are passed over in text.
    column : str, optional
        Of a job log: interarrival [s], runtime [s], work [processor-seconds] or size
        [processors]. Of a CSV file: a name of its header; not needed where there is one column.
    status : str, optional
        Of a job log: keep the jobs that ended so, as in `read_jobs`.
    max_bytes : int, optional
        Largest size of the text, unpacked; by default that of `read_jobs` for a job log and 500 MB
        for a table, which takes several times as much memory.
    **log
        Further options of `read_jobs`; one that is not None makes the file a job log. A table of
        jobs, in CSV, is also taken for one where `column` is a quantity of job logs and no name
        in its header.

    Returns
    -------
    samples : (n,) ndarray
    name : str
        The column that was read.
    remarks : tuple of str
        What was noticed while reading.

    Raises
    ------
    TraceFormatError
        If the file cannot be read or a value is not a finite number; names line and field.
    ModelError
        If `column` or `status` does not go with the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "waits.csv"
    ...     _ = file.write_text("job,wait\n1,2.5\n2,4\n")
    ...     read_samples(file, column="wait")
    (array([2.5, 4. ]), 'wait', ())
    """
    file = file_name(path)
    for name, given in (("column", column), ("status", status)):
        if given is not None and not isinstance(given, str):
            raise ModelError(f"{name} must be text, got {given!r:.60}")
    log = {name: given for name, given in log.items() if given is not None}
    if not log and file.lower().endswith((".swf", ".swf.gz")):
        log["format"] = "swf"
    if log or _is_log(_head(file), column):
        return _of_log(file, column, status, max_bytes, log)
    if status is not None:
        raise ModelError(f"{file} is not a job log, so its jobs have no status; leave it out")
    return *_of_table(file, _numbered(file, max_bytes or MAX_BYTES), column), ()


def _head(file: str) -> list[str]:
    """The first whole lines of text: enough to see what the file holds."""
    with opened(file, what="a table or a job log") as source:
        lines = _decoded(source.read(_HEAD))
    return lines[:-1] if len(lines) > 1 else lines


def _numbered(file: str, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Lines of text that are neither empty nor comments, with their numbers, one at a time."""
    at = idle = 0
    for lines in _blocks(file, max_bytes):
        for line in _decoded(lines):
            at += 1
            text = line.lstrip()
            if text and not text.startswith("#"):
                yield at, line
                continue
            idle += 1
            if idle > MAX_IDLE:
                raise TraceFormatError(
                    file,
                    f"more than {MAX_IDLE:,} lines are empty or comments; leave them out",
                    line=at,
                )


def _blocks(file: str, max_bytes: int) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time, without the last newline of each block."""
    total = 0
    rest: list[bytes] = []
    with opened(file, what="a table or a job log") as source:
        while block := source.read(_BLOCK):
            total += len(block)
            if total > max_bytes:
                raise TraceFormatError(
                    file,
                    f"has more than max_bytes = {max_bytes:,} bytes of text; select from it, or "
                    f"raise max_bytes (--max-bytes of a command)",
                )
            lines, newline, begun = block.rpartition(b"\n")
            if newline:
                yield b"".join([*rest, lines])
                rest = []
            rest.append(begun)
    yield b"".join(rest)


def _decoded(content: bytes) -> list[str]:
    return content.decode("utf-8-sig", errors="replace").split("\n")


def _is_log(lines: list[str], column: str | None) -> bool:
    """Whether a text that begins so is a job log; a table is one only where it must be."""
    from qmodels.io.job_logs import known_by

    found = known_by(lines)
    if found is None or not found.is_table:
        return found is not None
    header = next((line for line in lines if line.strip()), "")
    return column in SERIES and column not in {cell.strip() for cell in header.split(",")}


def _of_log(
    file: str, column: str | None, status: str | None, max_bytes: int | None, choice: dict[str, Any]
) -> tuple[Array, str, tuple[str, ...]]:
    from qmodels.io.job_logs import read_jobs

    if column is None:
        raise ModelError(f"column of a job log must be one of {', '.join(SERIES)}")
    one_of("column of a job log", column, SERIES)
    log = read_jobs(file, status=status, max_bytes=max_bytes, keep=(), **choice)
    samples = np.array(getattr(log, SERIES[column]), dtype=float)
    if not samples.size:
        raise ModelError(f"{file}: the jobs selected hold no {column}")
    return samples, column, log.warnings


def _of_table(file: str, numbered: Iterator[tuple[int, str]], column: str | None) -> tuple[Array, str]:
    at, line = next(numbered, (0, ""))
    if not at:
        raise TraceFormatError(file, "holds no numbers")
    if (sign := other_end(line.strip())) is not None:
        what = f"has {sign} where a line should end; put newlines there"
        raise TraceFormatError(file, what, line=at)
    first = _cells(file, at, line)
    if all(map(_looks_numeric, first)):
        if len(first) > 1:
            raise TraceFormatError(file, f"has {len(first)} columns without names; give them names", line=at)
        if column is not None:
            raise ModelError(
                f"{file} has no header, so no column {column!r:.60}; leave column out, or put "
                f"the name into the first line"
            )
        names, name, field = first, "value", 0
        values = array("d", [_number(file, at, name, first[0])])
    else:
        names, name = first, _chosen(file, first, column)
        field, values = names.index(name), array("d")
    for at, line in numbered:
        cells = _cells(file, at, line)
        if len(cells) != len(names):
            raise TraceFormatError(file, f"has {len(cells)} fields, not {len(names)}", line=at)
        values.append(_number(file, at, name, cells[field]))
    if not values:
        raise TraceFormatError(file, "holds a header, but no numbers")
    return np.array(values), name


def _cells(file: str, at: int, line: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(",")]
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise TraceFormatError(file, f"is not CSV: {error}", line=at) from error


def _chosen(file: str, names: list[str], column: str | None) -> str:
    """Give the column asked for, or the only one."""
    if column is None:
        if len(names) == 1:
            return names[0]
        raise ModelError(f"{file} has columns {', '.join(names[:20])[:400]}; choose one by column")
    if names.count(column) == 1:
        return column
    if column in names:
        raise ModelError(f"{file} has {names.count(column)} columns {column!r:.60}; rename one")
    near = nearest(column, names)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise ModelError(f"{file} has no column {column!r:.60}{hint}; it has {', '.join(names[:20])[:400]}")


def _looks_numeric(cell: str) -> bool:
    """Whether a cell is a number, or one that is not finite or not plain, and so no name."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(file: str, at: int, name: str, cell: str) -> float:
    value = float(cell) if len(cell) < 400 and _NUMBER.fullmatch(cell) else np.nan
    if not np.isfinite(value):
        raise TraceFormatError(file, f"{cell!r:.60} is not a finite number", line=at, field=name)
    return value
