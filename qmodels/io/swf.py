"""Job logs in the Standard Workload Format: read strictly, select, write."""

from __future__ import annotations

import datetime
import gzip
import operator
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from phasefit.checks import one_of
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._swf_log import STATUS, JobLog, checked_columns, read_log
from qmodels.io._swf_parse import (
    FIELDS,
    LARGEST,
    MAX_LINE,
    Header,
    header_problems,
    is_key,
    one_line,
    parse,
    parse_header,
    timezone,
    whole,
)
from qmodels.io.files import file_name
from qmodels.whole_files import write_whole

__all__ = ["JobLog", "read_swf", "write_swf"]

MAX_BYTES = 2 * 1024**3  #: of text that is read unless more is allowed
_PARTIAL = (2, 3, 4)  # a burst of a job that was swapped out
#: What is looked at on the way: to tell bursts and jobs apart, for the load, for the warnings.
_LOOKED_AT = frozenset({"job", "submit", "wait", "run", "processors", "requested_processors", "status"})

Columns = dict[str, NDArray[Any]]


def read_swf(
    path: str | os.PathLike[str],
    *,
    partition: int | Iterable[int] | None = None,
    status: int | str | Iterable[int | str] | None = None,
    start: datetime.datetime | str | None = None,
    end: datetime.datetime | str | None = None,
    user: int | Iterable[int] | None = None,
    max_bytes: int = MAX_BYTES,
    columns: Iterable[str] | None = None,
) -> JobLog:
    """Read a job log in the Standard Workload Format, plain or gzip.

    Parameters
    ----------
    path : path_like
        The file; gzip is recognised by its content.
    partition, user : int or iterable of int, optional
        Keep the jobs of these partitions, of these users.
    status : {"completed", "failed", "cancelled"}, int or iterable of these, optional
        Keep the jobs that ended so (1, 0, 5).
    start, end : datetime or str, optional
        Keep the jobs with start <= time of submission < end; ISO strings such as
        ``"1996-10-01 00:00"`` will do. Without a time zone of its own, a time is in the log's.
    max_bytes : int, default 2 GiB
        Largest size of the text, after decompression.
    columns : iterable of str, optional
        Columns that are wanted beside job, submit, run, processors and requested_processors; by
        default all. The others are -1 (not known) and take no memory: of ten million jobs every
        column takes 80 MB.

    Returns
    -------
    JobLog
        The selected jobs, sorted by time of submission; jobs submitted together keep the file's
        order.

    Raises
    ------
    TraceFormatError
        If the file cannot be read, is damaged, or breaks the format; names line and field.
    ModelError
        If an argument is out of its range, or no job is selected.

    Notes
    -----
    The format is that of [1]_, version 2.2; its pitfalls are told in [2]_. Left out, and counted
    in `warnings`: rows without a time of submission, and rows for single bursts of a swapped job
    (status 2, 3, 4) where the job has a row of its own, unless `status` asks for them.

    References
    ----------
    .. [1] S. J. Chapin et al., "Benchmarks and standards for the evaluation of parallel job
       schedulers", *Job Scheduling Strategies for Parallel Processing*, LNCS 1659 (1999).
    .. [2] D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads
       Archive", *J. Parallel Distrib. Comput.* 74 (2014) 2967-2982.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "three-jobs.swf"
    ...     jobs = {"submit": [0, 60, 180], "run": [30, 20, 40], "processors": [4, 8, 2]}
    ...     write_swf(file, jobs, header={"MaxProcs": 16})
    ...     log = read_swf(file)
    >>> log.interarrivals, log.work, log.max_procs
    (array([ 60., 120.]), array([120., 160.,  80.]), 16)
    """
    file = file_name(path)
    wanted = {
        "partition": _codes("partition", partition),
        "user": _codes("user", user),
        "status": _codes("status", status, STATUS),
    }
    most = _codes("max_bytes", max_bytes) or (0,)
    if len(most) != 1 or most[0] < 1:
        raise ModelError(f"max_bytes must be a whole number of at least 1, got {max_bytes!r}")
    names = frozenset(FIELDS) if columns is None else _names(columns)
    asked = {name for name in wanted if wanted[name]}
    raw = parse(file, most[0], names | asked | _LOOKED_AT)
    header = parse_header(raw.comments)
    rows, count = raw.columns, raw.columns["submit"].size
    if not count:
        raise TraceFormatError(file, "holds no jobs")
    notes = header_problems(header)
    if raw.swallowed:
        notes.append(f"Comments that end in a row, which is not read; is a line end lost? {raw.swallowed:,}.")
    promised = whole(header, "MaxRecords" if "MaxRecords" in header else "MaxJobs")
    if promised is not None and promised != count:
        notes.append(f"The header promises {promised:,} records; the file holds {count:,}.")
    if raw.cut:
        notes.append("The last line has no newline; if the file was cut, its think_time is wrong.")
    _keep_arrivals(file, rows, wanted["status"], notes)
    _keep_selected(file, rows, header, wanted, start, end)
    return read_log(Path(file), rows, header, notes, names)


def write_swf(
    path: str | os.PathLike[str],
    jobs: pd.DataFrame | Mapping[str, ArrayLike],
    *,
    header: Mapping[str, object] | None = None,
) -> None:
    """Write a job log that `read_swf` reads back as it was, in order of submission.

    Parameters
    ----------
    path : path_like
        The file; compressed if its name ends in ``.gz``. It appears whole or not at all.
    jobs : pandas.DataFrame or mapping
        Columns (n,) named as in `JobLog`; `submit` [s] must be there, `job` is counted from 1 and
        the others are -1 (not known) where they are missing. `size` and `work` are not written.
    header : mapping, optional
        Header lines: text or numbers, or a list of them for a key that comes more than once.
        Newlines and other characters that do not print become blanks.

    Raises
    ------
    ModelError
        If a column is unknown, not of one length, or holds a value that the format cannot; if a
        header line cannot be read back; if the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = f"{folder}/two-jobs.swf.gz"
    ...     write_swf(file, {"submit": [0, 2.5], "run": [10, 20], "processors": [1, 2]})
    ...     read_swf(file).jobs["submit"].tolist()
    [0.0, 2.5]
    """
    file = Path(file_name(path))
    columns = checked_columns(jobs)
    order = np.argsort(columns["submit"], kind="stable")
    texts = [_texts(columns[name][order]) for name in FIELDS]
    lines = _header_lines({} if header is None else header)
    lines += map(" ".join, zip(*texts, strict=True))
    content = "".join(f"{line}\n" for line in lines).encode()
    if file.name.endswith(".gz"):
        content = gzip.compress(content, 6, mtime=0)
    write_whole(file, content)


def numbered_apart(jobs: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Jobs each under a number of its own, and how many were given a new one.

    The first of those that share a number keeps it; the others, elements of an array or later runs
    of a job, get numbers from behind the largest. Bursts of one swapped job share theirs by right.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job": [7, 7, 9], "status": 1, "submit": [0, 5, 8]})
    >>> numbered_apart(jobs)[0]["job"].tolist()
    [7, 10, 9]
    """
    again = jobs["job"].duplicated().to_numpy() & ~np.isin(jobs["status"], _PARTIAL)
    count = int(np.count_nonzero(again))
    if not count:
        return jobs, 0
    numbers = jobs["job"].to_numpy(copy=True)
    first = int(numbers.max()) + 1
    if first + count >= LARGEST:
        numbers = np.arange(1, numbers.size + 1)
    else:
        numbers[again] = np.arange(first, first + count)
    return jobs.assign(job=numbers), count


def _keep(rows: Columns, which: NDArray[np.bool_]) -> None:
    """Leave out the other rows: a column at a time, so that there is one column twice."""
    if not which.all():
        for name in rows:
            rows[name] = rows[name][which]


def _keep_arrivals(file: str, rows: Columns, states: tuple[int, ...] | None, notes: list[str]) -> None:
    """Leave jobs with a time of submission, sorted by it; add notes on what was wrong."""
    burst = np.isin(rows["status"], _PARTIAL) if states is None else np.zeros(1, dtype=bool)
    if burst.any():
        burst &= np.isin(rows["job"], rows["job"][~burst])
        if burst.any():
            notes.append(
                f"Rows for single bursts of swapped jobs that have a row of their own, left out: "
                f"{burst.sum():,}."
            )
        _keep(rows, ~burst)
    known = rows["submit"] >= 0
    if not known.any():
        raise TraceFormatError(file, "no job has a time of submission", field="submit")
    if not known.all():
        notes.append(f"Rows without a time of submission, left out: {(~known).sum():,}.")
    _keep(rows, known)
    falls = np.count_nonzero(np.diff(rows["submit"]) < 0)
    if falls:
        notes.append(f"Rows submitted before the row above them, now sorted: {falls:,}.")
        order = np.argsort(rows["submit"], kind="stable")
        for name in rows:
            rows[name] = rows[name][order]


def _keep_selected(
    file: str,
    rows: Columns,
    header: Header,
    wanted: dict[str, tuple[int, ...] | None],
    start: datetime.datetime | str | None,
    end: datetime.datetime | str | None,
) -> None:
    """Leave the rows that meet every criterion given; at least one."""
    submit = rows["submit"]
    keep: dict[str, NDArray[np.bool_]] = {}
    for name, codes in wanted.items():
        if codes is None:
            continue
        there = np.unique(rows[name]).tolist()
        absent = sorted(set(codes) - set(there))
        if absent and name != "status":
            these = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
            raise ModelError(f"{file}: {name} {absent[0]} is not in the log; it has {these}")
        keep[f"{name} {', '.join(map(str, codes))}"] = np.isin(rows[name], codes)
    first, last = (_moment(file, header, *given) for given in (("start", start), ("end", end)))
    if first is not None and last is not None and not first < last:
        raise ModelError(f"start must lie before end, got {start} and {end}")
    if first is not None:
        keep[f"start {start}"] = submit >= first
    if last is not None:
        keep[f"end {end}"] = submit < last
    chosen = np.ones(submit.size, dtype=bool)
    for which in keep.values():
        chosen &= which
    if not chosen.any():
        each = ", ".join(f"{name} has {which.sum():,}" for name, which in keep.items())
        raise ModelError(f"{file}: none of {submit.size:,} jobs meets all of: {each}")
    _keep(rows, chosen)


def _names(columns: Iterable[str]) -> frozenset[str]:
    """Columns to be kept, checked."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ModelError(f"columns must be a list of names, got {columns!r:.60}")
    return frozenset(one_of("columns", name, FIELDS) for name in columns)


def _moment(file: str, header: Header, name: str, given: datetime.datetime | str | None) -> float | None:
    """Turn a date into seconds on the log's clock."""
    if given is None:
        return None
    when = given
    try:
        if isinstance(when, str):
            when = datetime.datetime.fromisoformat(when)
        if when.tzinfo is None:
            when = when.replace(tzinfo=timezone(header))
        seconds = when.timestamp()
    except (AttributeError, ValueError, OverflowError) as error:
        shown = repr(given) if isinstance(given, str) else type(given).__name__
        raise ModelError(
            f"{name} must be a datetime or an ISO date such as '1996-10-01 00:00', got {shown}"
        ) from error
    zero = whole(header, "UnixStartTime")
    if zero is None:
        raise ModelError(
            f"{file}: its header has no usable UnixStartTime, so jobs cannot be chosen by date; "
            f"leave out start and end"
        )
    return seconds - zero


def _codes(name: str, given: object, words: Mapping[str, int] | None = None) -> tuple[int, ...] | None:
    """Whole numbers from one or several; words stand for some of them."""
    if given is None:
        return None
    try:
        several = [given] if isinstance(given, str | bytes) else list(given)  # type: ignore[call-overload]
    except TypeError:
        several = [given]
    codes = []
    for code in several:
        value: Any = words.get(code, code) if words and isinstance(code, str) else code
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            codes.append(operator.index(value))
        except TypeError:
            hint = f", or one of {', '.join(words)}" if words else ""
            raise ModelError(f"{name} must be a whole number{hint}; got {code!r:.60}") from None
        if abs(codes[-1]) >= 2**63:
            raise ModelError(f"{name} must be a whole number of at most 64 bits")
    if not codes:
        raise ModelError(f"{name} is an empty list; give at least one value, or leave it out")
    return tuple(codes)


def _texts(x: NDArray[Any]) -> list[str]:
    """Shortest texts that are read back as the same numbers."""
    if (x == np.floor(x)).all():
        return [str(value) for value in x.astype(np.int64).tolist()]
    return [str(int(value)) if value.is_integer() else repr(value) for value in x.tolist()]


def _header_lines(header: Mapping[str, object]) -> list[str]:
    if not isinstance(header, Mapping):
        raise ModelError(f"header must be a mapping of keys to text, got {header!r:.60}")
    lines = []
    for key, values in header.items():
        if not isinstance(key, str) or not is_key(key):
            raise ModelError(f"header key {key!r:.60} must be a letter, then letters or digits")
        for value in values if isinstance(values, list | tuple) else [values]:
            huge = isinstance(value, int) and abs(value) >= 2**63
            if huge or not isinstance(value, str | int | float):
                kind = type(value).__name__ if not huge else "a whole number beyond 64 bits"
                raise ModelError(f"header {key} must be text, a number or a list; got {kind}")
            text = one_line(str(value)).strip()
            lines.append(f"; {key}: {text}".rstrip())
            if len(lines[-1].encode()) > MAX_LINE:
                raise ModelError(f"header {key} does not fit a line of {MAX_LINE:,} bytes; split it")
    return lines
