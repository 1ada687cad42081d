"""Traces of one run, whatever tool wrote them: Darshan logs, trace events, plain tables."""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from phasefit.checks import whole_number
from qmodels.errors import ModelError, TraceFormatError
from qmodels.io._trace_events import read_events
from qmodels.io._trace_text import beginning, lines
from qmodels.io.column_maps import wrong_column
from qmodels.io.darshan import POSIX, is_darshan, read_darshan
from qmodels.io.event_kinds import EventKinds
from qmodels.io.files import file_name
from qmodels.programs.quantities import LARGEST, positive
from qmodels.programs.traces import KINDS, SHORTEST, UNKNOWN, Trace, process_count
from qmodels.words import cut

COLUMNS = ("rank", "start", "end", "kind")
OPTIONAL = "bytes"

_WHOLE = re.compile(r"[0-9]{1,9}", re.ASCII)
_BYTES = re.compile(r"-1|[0-9]{1,18}", re.ASCII)
_DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
EVENT_FILES = (".pfw", ".pfw.gz", ".json", ".json.gz")
#: A table that begins so many seconds after the program has the times of a clock.
_EPOCH = 1e9


def read_trace(
    path: str | os.PathLike[str],
    *,
    processes: int | None = None,
    duration: float | None = None,
    max_bytes: int | None = None,
    events: Mapping[str, str] | None = None,
    module: str = POSIX,
) -> Trace:
    r"""Read when the processes of a run did I/O, from a file of any known kind.

    Parameters
    ----------
    path : path_like
        A Darshan log (see `read_darshan`, which takes more options); trace events in JSON, one
        per line or in a list, as DFTracer (``.pfw``) and Chrome's tracing write them, or a folder
        of such files, which are the processes of one run; or a CSV table with the header
        ``rank,start,end,kind`` and optionally ``bytes``, in any order.
        `rank` counts from 0, `start` and `end` are seconds, `kind` is ``read``, ``write``,
        ``io`` or ``compute``, `bytes` is -1 or empty where not known. Text may be packed with
        gzip.
    processes : int, optional
        Processes of the run, where the file does not tell: a table or trace events show only
        those with an entry, and are taken to show all.
    duration : float, optional
        Wall time of the run in seconds, where the file does not tell: by default the run ends
        with the last entry.
    max_bytes : int, optional
        Largest size of the text, unpacked; by default 500 MB, and 100 MB of a JSON text that has
        its events in one list over several lines, which is held in memory. For a Darshan log see
        the memory of `read_darshan`.
    events : mapping of str to str, optional
        Of trace events, what counts as what besides the rules below: from ``CATEGORY:NAME``, a
        category or a name, ``*`` for any letters, to a kind or ``none``, such as
        ``{"train:step": "compute"}``.
    module : str
        Layer of a Darshan log, as in `read_darshan`.

    Returns
    -------
    trace : Trace

    Raises
    ------
    TraceFormatError
        If the file cannot be read, or is none of these, or is damaged; names line and field.
    ModelError
        If `processes` or `duration` does not go with the file.

    Notes
    -----
    Of trace events, those with a length (``"ph": "X"``, or ``"B"`` and ``"E"`` of one thread)
    count: category POSIX or STDIO as I/O, reads and writes by their name and all else on files as
    ``io``; category or name ``compute``, and names that end in ``.compute`` like DLIO's
    ``TorchFramework.compute``, as computation. Others, which lie around those or within them, are
    counted in a warning. `ts` and `dur` are microseconds, as numbers or texts, the run starts with
    the first event, and processes are ranked by their numbers, those of two hosts apart where an
    event has a ``hhash``. Files of several processes may be joined end to end. A list need not be
    closed, and lines torn at the end, as a killed run leaves them, are left out with a warning.

    Numbers are plain decimal ASCII: ``1_000``, ``1,5``, ``nan`` and digits of other scripts are
    refused rather than guessed at.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "run.csv"
    ...     _ = file.write_text("rank,start,end,kind\n0,0,1.5,read\n1,8,9.5,write\n")
    ...     read_trace(file, duration=12.0).end
    array([1.5, 9.5])
    """
    file = file_name(path)
    if duration is not None:
        duration = positive("duration", duration, least=SHORTEST, most=LARGEST)
    if processes is not None:
        processes = process_count(processes)
    if max_bytes is not None:
        max_bytes = whole_number("max_bytes", max_bytes, least=1)
    kinds = EventKinds(events)
    if os.path.isdir(file):
        return _read_folder(file, kinds, processes, duration, max_bytes)
    start = beginning(file, 16, unpacked=False)
    if is_darshan(start) or file.lower().endswith(".darshan"):
        if processes is not None or duration is not None:
            raise ModelError(f"{file} is a Darshan log, which tells processes and duration itself")
        return read_darshan(file, module=module)
    try:
        if _holds_events(file):
            return read_events([file], kinds, processes, duration, max_bytes)
        return _read_table(file, processes, duration, max_bytes)
    except TraceFormatError:
        raise
    except ModelError as error:
        raise TraceFormatError(file, str(error)) from None


def _read_folder(
    folder: str,
    kinds: EventKinds,
    processes: int | None,
    duration: float | None,
    max_bytes: int | None,
) -> Trace:
    """Read the trace events of one run, a file for each of its processes."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise TraceFormatError.unreadable(folder, error) from None
    there = set(names)
    files = [
        os.path.join(folder, name)
        for name in names
        # A file that lies beside its packed form is one file.
        if name.lower().endswith(EVENT_FILES) and name.removesuffix(".gz") not in there - {name}
    ]
    if not files:
        what = f"has no file of trace events ({', '.join(EVENT_FILES)}), of which it could be a run"
        raise TraceFormatError(folder, what)
    try:
        return read_events(files, kinds, processes, duration, max_bytes, source=folder)
    except TraceFormatError:
        raise
    except ModelError as error:
        raise TraceFormatError(folder, str(error)) from None


def _holds_events(file: str) -> bool:
    if file.lower().endswith(EVENT_FILES):
        return True
    start = beginning(file, 1000).decode("utf-8-sig", errors="replace").lstrip()
    return start.startswith(("[", "{"))


def _read_table(file: str, processes: int | None, duration: float | None, max_bytes: int | None) -> Trace:
    rank, kind, moved = array("q"), array("b"), array("q")
    start, end = array("d"), array("d")
    for row in _rows(file, max_bytes):
        rank.append(row[0])
        start.append(row[1])
        end.append(row[2])
        kind.append(row[3])
        moved.append(row[4])
    if not rank:
        raise TraceFormatError(file, "has a header but no entry")
    last = max(end)
    if min(start) >= _EPOCH:
        what = f"begins at {min(start):.10g} s, by a clock; start and end are seconds since the program began"
        raise TraceFormatError(file, f"{what}, so take the time of its start off them", field="start")
    if last < SHORTEST and duration is None:
        raise TraceFormatError(file, "covers no time; give the duration of the run")
    return Trace(
        np.array(rank, dtype=np.int64),
        np.array(start),
        np.array(end),
        np.array(KINDS)[np.array(kind, dtype=np.int64)],
        processes=max(rank) + 1 if processes is None else processes,
        duration=last if duration is None else duration,
        bytes=np.array(moved, dtype=np.int64),
        source=file,
    )


def _rows(file: str, max_bytes: int | None) -> Iterator[tuple[int, float, float, int, int]]:
    header: list[str] | None = None
    for line, text in lines(file, max_bytes):
        try:
            fields = next(csv.reader([text], strict=True))
        except csv.Error as error:
            raise TraceFormatError(file, f"is not CSV: {error}", line=line) from None
        fields = [field.strip(" ") for field in fields]
        if header is None:
            header = fields
            if what := wrong_column(header, COLUMNS, (OPTIONAL,)):
                raise TraceFormatError(file, what, line=line)
            continue
        if len(fields) != len(header):
            what = f"{len(fields)} fields where the header has {len(header)}"
            raise TraceFormatError(file, what, line=line)
        yield _entry(file, line, dict(zip(header, fields, strict=True)))
    if header is None:
        raise TraceFormatError(file, f"is empty; begin with the line {','.join(COLUMNS)}")


def _entry(file: str, line: int, fields: dict[str, str]) -> tuple[int, float, float, int, int]:
    def refuse(field: str, what: str) -> TraceFormatError:
        return TraceFormatError(file, f"{what}, got {cut(fields[field], 40)!r}", line=line, field=field)

    def seconds(field: str) -> float:
        text = fields[field]
        value = float(text) if _DECIMAL.fullmatch(text) else LARGEST * 2
        if value > LARGEST:
            raise refuse(field, f"must be a decimal number of seconds from 0 to {LARGEST:g}")
        return value

    if not _WHOLE.fullmatch(fields["rank"]):
        raise refuse("rank", "must be a whole number from 0 to 999999999")
    if fields["kind"] not in KINDS:
        raise refuse("kind", f"must be one of {', '.join(KINDS)}")
    start, end = seconds("start"), seconds("end")
    if end < start:
        raise refuse("end", f"must not be before the start, {start:.9g}")
    size: Any = fields.get(OPTIONAL) or str(UNKNOWN)
    if not _BYTES.fullmatch(size):
        raise refuse(OPTIONAL, "must be a whole number of at most 18 digits, or -1")
    return int(fields["rank"]), start, end, KINDS.index(fields["kind"]), int(size)
