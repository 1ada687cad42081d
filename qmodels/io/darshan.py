"""Darshan logs: the I/O of one run as its tracer recorded it, read in a separate process."""

from __future__ import annotations

import contextlib
import glob
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from phasefit.checks import one_of
from qmodels.errors import ModelError, TraceFormatError, reason_of
from qmodels.io import _darshan_child as child
from qmodels.io._darshan_origin import run_origin
from qmodels.io._swf_parse import one_line
from qmodels.io.files import file_name, open_regular
from qmodels.programs.quantities import positive
from qmodels.programs.traces import MOST_PROCESSES, UNKNOWN, IOTotals, Trace

MODULES = tuple(child.NAMES)
POSIX = MODULES[0]
MAGIC = 6567223  #: the second eight bytes of a log, in either byte order

_SEGMENT = np.dtype([("offset", "<i8"), ("bytes", "<i8"), ("start", "<f8"), ("end", "<f8")])
_MOST_JSON = 1_000_000
_MOST_SECONDS = 1e9  # of a run, about 30 years
_MOST_BINS = 10**8
_CLOCK_TICK = 1.0  # seconds, of the clock of Darshan 3.3 and older
_LATE = 10.0  # seconds after the end of a run that an operation may end, but for 1 % of the run


def read_darshan(
    path: str | os.PathLike[str],
    *,
    module: str = POSIX,
    timeout: float = 8.0,
    memory: int = 1 << 30,
) -> Trace:
    """Read when the processes of a run did I/O out of its Darshan log.

    Parameters
    ----------
    path : path_like
        A log of Darshan 3.
    module : {"POSIX", "MPI-IO", "STDIO"}
        Which layer of I/O to follow; STDIO has heatmaps and counters only.
    timeout : float
        Seconds after which reading is given up, 0.1 to 86,400.
    memory : int
        Bytes of address space the reading process may use, 2^26 to 2^50. A quarter of it may go
        into the answer, so 1 GiB is enough for 8 million operations.

    Returns
    -------
    trace : Trace
        Single reads and writes where the log has extended tracing (DXT). Else the bins of its
        heatmap in which something was moved, a bin being a segment, and `Trace.resolution` its
        width. Else no segments but `Trace.totals`, and `Trace.complete` is False. Its `warnings`
        say which, and what is missing. `Trace.origin` has the program's name, the job's number
        and, where the file system's layout was logged, the storage targets that were used.

    Raises
    ------
    TraceFormatError
        If the file is no Darshan log, or is damaged, or needs more time or memory than allowed.
    ModelError
        If an argument is out of range, or the Darshan library is not installed.

    Notes
    -----
    The library of the Darshan project reads the log, in a process of its own with limits on
    time, processor time and memory, because a damaged log may crash it, hang it or make it take
    all memory; what that process answers is checked like any other input. Damage that leaves
    possible values cannot be seen: a log has no checksum over its records.

    DXT and heatmaps know reads and writes only. Metadata operations are in the totals. Times
    count from the start of the run as Darshan saw it.

    References
    ----------
    .. [1] S. Snyder, P. Carns, K. Harms, R. Ross, G. K. Lockwood, N. J. Wright, "Modular HPC I/O
       characterization with Darshan", *Proc. ESPT 2016*, 9-17.
    .. [2] C. Xu, S. Snyder, O. Kulkarni, V. Venkatesan, P. Carns, S. Byna, R. Sisneros,
       K. Chadalavada, "DXT: Darshan eXtended Tracing", *Cray User Group 2017*.

    Examples
    --------
    >>> trace = read_darshan("solver.darshan")  # doctest: +SKIP
    >>> trace.processes, trace.resolution, trace.warnings  # doctest: +SKIP
    (32, 0.0, ())
    """
    file = file_name(path)
    one_of("module", module, MODULES)
    timeout = positive("timeout", timeout, least=0.1, most=86_400.0)
    budget = int(positive("memory", memory, least=2.0**26, most=2.0**50))
    _check_file(file)
    answer = _answer(file, module, timeout, budget)
    try:
        return _trace(file, module, answer)
    except TraceFormatError:
        raise
    except ModelError as error:
        raise _damaged(file, str(error)) from None


def is_darshan(start: bytes) -> bool:
    """Whether a file that begins with these 16 bytes or more is a Darshan log."""
    return MAGIC in (int.from_bytes(start[8:16], order) for order in ("little", "big"))


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the child said, of the right form but not yet believed."""

    said: dict[str, Any]
    data: bytes  # raw records of the timeline
    rows: Array  # (records + counters, 8)


def _check_file(file: str) -> None:
    with open_regular(file, what="a Darshan log") as stream:
        try:
            start = stream.read(16)
        except OSError as error:
            raise TraceFormatError.unreadable(file, error) from None
    if not start:
        raise TraceFormatError(file, "is empty; a run that was killed leaves such a log")
    if not is_darshan(start):
        raise TraceFormatError(file, "is no log of Darshan 3: it does not begin like one")


_INSTALL = "in the project's folder: make extras, or pip install -e '.[darshan]'"


def _libraries() -> list[str]:
    """Where the C library may be: with the Python package, or installed by itself."""
    try:
        spec = importlib.util.find_spec("darshan")
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise ModelError(f"reading Darshan logs needs the package darshan; {_INSTALL}")
    places = [
        os.path.join(os.path.abspath(folder), *parts)
        for folder in folders
        for parts in (("..", "darshan.libs"), (".dylibs",), ())
    ]
    found = [name for place in places for name in sorted(glob.glob(f"{glob.escape(place)}/libdarshan*"))]
    return [*found, "libdarshan-util.so", "libdarshan-util.dylib"]


def _answer(file: str, module: str, timeout: float, memory: int) -> _Answer:
    """Let a child read the log, within limits."""
    libraries = _libraries()
    if not sys.executable:
        raise ModelError("there is no Python interpreter to start for reading a Darshan log")
    limits = [str(memory), repr(timeout)]
    command = [sys.executable, "-I", "-S", os.path.abspath(child.__file__)]
    command += [os.path.abspath(file), module, *limits, *libraries]
    with contextlib.ExitStack() as opened:
        try:
            out = opened.enter_context(tempfile.TemporaryFile())
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            what = f"no process could be started to read it: {reason_of(error)}"
            raise TraceFormatError(file, what) from None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TraceFormatError(
                file, f"reading took longer than {timeout:g} s; it is damaged, or raise timeout"
            ) from None
        finally:
            if process.poll() is None:
                process.kill()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(1.0)
        if status != 0:
            raise _damaged(file, _ending(status, memory))
        return _parsed(file, out, memory)


def _ending(status: int, memory: int) -> str:
    """What the child died of."""
    limits = {getattr(signal, name, None) for name in ("SIGXCPU", "SIGXFSZ", "SIGKILL", "SIGALRM")}
    if -status in limits:
        return f"reading it needs more than {memory:,} bytes or the time allowed"
    how = f"signal {-status}" if status < 0 else f"status {status}"
    return (
        f"the library failed on it ({how}); if the log is larger than {memory // 4:,} bytes once "
        f"unpacked, raise memory"
    )


def _parsed(file: str, out: IO[bytes], memory: int) -> _Answer:
    size = out.seek(0, os.SEEK_END)
    tail = child.LENGTH.size
    if not tail <= size <= memory // 4:
        raise _damaged(file, "the reading process gave no answer")
    out.seek(size - tail)
    (length,) = child.LENGTH.unpack(out.read(tail))
    if not 0 < length <= min(_MOST_JSON, size - tail):
        raise _damaged(file, "the reading process gave no answer")
    out.seek(size - tail - length)
    try:
        said = json.loads(out.read(length))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise _damaged(file, "the reading process gave no answer")
    if "error" in said:
        text = one_line(str(said["error"])[:200])
        if text.startswith(("no library", "library too old")):
            raise ModelError(
                f"the Darshan library cannot be used ({text}); version 3.4 or newer is needed; {_INSTALL}"
            )
        raise _damaged(file, text)
    total = 0
    for name in ("records", "counters"):
        total += _whole(file, said, name, most=size)
    width = 8 * child.ROW
    if total * width > size - tail - length:
        raise _damaged(file, "the reading process gave half an answer")
    boundary = size - tail - length - total * width
    out.seek(0)
    data = out.read(boundary)
    rows = np.frombuffer(out.read(total * width)).reshape(total, child.ROW)
    return _Answer(said, data, rows)


def _whole(file: str, said: dict[str, Any], name: str, *, most: int) -> int:
    value = said.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise _damaged(file, f"{name} is {value!r:.40}")
    return value


def _trace(file: str, module: str, answer: _Answer) -> Trace:
    said = answer.said
    processes = _whole(file, said, "nprocs", most=MOST_PROCESSES)
    duration = _seconds(said.get("run_time"))
    if not 0 <= duration <= _MOST_SECONDS:
        raise _damaged(file, f"it says that the run took {duration:g} s")
    flags = _flags(file, said)
    _check_module(file, module, flags)
    origin = run_origin(said)
    timed, counted = np.split(answer.rows, [said["records"]])
    totals, warnings = _totals(counted)
    width = 0.0
    if said.get("timeline") == "dxt":
        rank, start, end, kind, moved = _dxt_segments(timed, answer.data)
    else:
        width, (rank, start, end, kind, moved) = _heatmap_segments(timed, answer.data, duration)
    late = float(end.max()) - duration if end.size else 0.0
    if late > _LATE + 0.01 * duration:
        raise _damaged(file, f"an operation ends {late:.3g} s after the run")
    if late > 0:
        # Darshan 3.3 and older kept whole seconds of wall time.
        warnings.append(f"The last operation ends {late:.3g} s after the run, which is prolonged.")
        duration = float(end.max())
    complete = bool(end.size) or not _moved_anything(totals)
    warnings += _doubts(module, flags, moved, width, totals)
    if said.get("whole_seconds") is True and 0 < duration < 1000 * _CLOCK_TICK:
        warnings.append(
            f"The log keeps whole seconds of run time: {duration:g} s may be wrong by "
            f"{100 * _CLOCK_TICK / duration:.2g} %."
        )
    elsewhere = 0 if origin.targets is None else origin.targets.elsewhere
    if elsewhere > 0:
        warnings.append(f"{elsewhere:,} bytes went to files whose storage targets are not known.")
    if not complete:
        warnings.append(
            "The log has counters but no timeline, so only totals are known; run with "
            "DXT_ENABLE_IO_TRACE=1 to trace single operations."
        )
    elif not end.size:
        warnings.append(f"The log shows no I/O through {module}.")
    if totals is not None and totals.seconds > processes * duration:
        warnings.append(
            f"The counters add up to {totals.seconds:.4g} s of I/O, more than {processes} "
            f"processes have in {duration:.4g} s; operations overlap, or the counters are wrong."
        )
    return Trace(
        rank,
        start,
        end,
        kind,
        processes,
        duration,
        moved,
        file,
        tuple(warnings),
        width,
        complete,
        totals,
        origin,
    )


def _seconds(text: object) -> float:
    try:
        return float(text) if isinstance(text, str) else math.nan
    except ValueError:
        return math.nan


def _flags(file: str, said: dict[str, Any]) -> dict[str, bool]:
    """The modules of the log, and whether each is cut short."""
    flags = said.get("modules")
    if not isinstance(flags, dict) or not all(isinstance(flag, bool) for flag in flags.values()):
        raise _damaged(file, "its table of modules")
    return flags


def _check_module(file: str, module: str, flags: dict[str, bool]) -> None:
    others = [name for name in MODULES if name in flags]
    if others and module not in flags and child.NAMES[module][0] not in flags:
        raise TraceFormatError(
            file, f"has no records of {module}; it has {', '.join(others)}: give one as module"
        )


Columns = tuple[NDArray[np.int64], Array, Array, NDArray[np.str_], NDArray[np.int64]]


def _dxt_segments(rows: Array, data: bytes) -> Columns:
    """Writes, then reads, of one record after the other."""
    per_record = _counts(rows[:, 1:3], len(data) // _SEGMENT.itemsize)
    if per_record.sum() * _SEGMENT.itemsize != len(data):
        raise ModelError("the operations do not add up to their number")
    segments = np.frombuffer(data, _SEGMENT)
    rank = np.repeat(_ranks(rows), per_record.sum(axis=1))
    kind = np.repeat(np.tile(["write", "read"], len(rows)), per_record.ravel())
    start, end = segments["start"].copy(), segments["end"].copy()
    if not (np.isfinite(start).all() and np.isfinite(end).all()):
        raise ModelError("an operation has a time that is not finite")
    moved: NDArray[np.int64] = np.maximum(segments["bytes"], UNKNOWN)
    return rank, start, end, kind.astype("U7"), moved


def _heatmap_segments(rows: Array, data: bytes, duration: float) -> tuple[float, Columns]:
    """Bins in which something was moved; the last one ends with the run."""
    per_record = np.repeat(_counts(rows[:, 1:2], _MOST_BINS), 2, axis=1)
    widths = rows[:, 2]
    if per_record.sum() * 8 != len(data):
        raise ModelError("the bins of the heatmap do not add up to their number")
    if not len(rows):
        times, counts = np.empty(0), np.empty(0, dtype=np.int64)
        return 0.0, (counts, times, times, times.astype("U7"), counts)
    if not np.all((widths == widths[0]) & (widths > 0) & (widths <= _MOST_SECONDS)):
        raise ModelError("the bins of the heatmap have no width, or not the same")
    moved: NDArray[np.int64] = np.frombuffer(data, "<i8")
    each = per_record.ravel()
    first = np.repeat(np.cumsum(each) - each, each)
    if moved.size and moved.min() < 0:
        raise ModelError(f"a bin of the heatmap holds {moved.min()} bytes")
    full = np.flatnonzero(moved)
    place = (np.arange(moved.size) - first)[full]
    start: Array = place * widths[0]
    end: Array = (place + 1) * widths[0]
    # Bins are fixed in number and double in width, so the last may reach beyond the run.
    end = np.where(start < duration, np.minimum(end, duration), end)
    rank = np.repeat(np.repeat(_ranks(rows), 2), each)[full]
    kind = np.repeat(np.tile(["write", "read"], len(rows)), each)[full]
    return float(widths[0]), (rank, start, end, kind.astype("U7"), moved[full])


def _ranks(rows: Array) -> NDArray[np.int64]:
    return _counts(rows[:, 0], MOST_PROCESSES)


def _counts(columns: Array, most: int) -> NDArray[np.int64]:
    possible = (columns >= 0) & (columns <= most)  # False for NaN too
    if not possible.all():
        raise ModelError("a number of operations or bins, or of a process, is impossible")
    return columns.astype(np.int64)


def _totals(rows: Array) -> tuple[IOTotals | None, list[str]]:
    """Add the counters of each process up; logs of older tracers hold negative times."""
    if not len(rows):
        return None, []
    if not np.isfinite(rows).all():
        raise ModelError("a counter is not finite")
    ranks, at = np.unique(rows[:, 0].astype(np.int64), return_inverse=True)
    columns = np.maximum(rows[:, 1:], 0.0).T
    negative = np.any(rows[:, 3:6] < 0)
    warnings = ["A time among the counters is negative and counts as 0."] if negative else []

    def added(column: Array) -> Array:
        return np.bincount(at, column, len(ranks)).astype(float)

    bytes_read, bytes_written = (added(column).astype(np.int64) for column in columns[:2])
    first, last = np.full(len(ranks), np.inf), np.zeros(len(ranks))
    np.minimum.at(first, at, np.where(columns[5] > 0, columns[5], np.inf))
    np.maximum.at(last, at, columns[6])
    first = np.where(np.isfinite(first), first, 0.0)
    read, write, meta = (added(column) for column in columns[2:5])
    totals = IOTotals(ranks, read, write, meta, bytes_read, bytes_written, first, last)
    return totals, warnings


def _moved_anything(totals: IOTotals | None) -> bool:
    if totals is None:
        return False
    moved = totals.bytes_read.sum() + totals.bytes_written.sum()
    return bool(moved > 0 or totals.read.sum() + totals.write.sum() > 0)


def _doubts(
    module: str,
    flags: dict[str, bool],
    moved: NDArray[np.int64],
    width: float,
    totals: IOTotals | None,
) -> list[str]:
    """Sentences on what the timeline leaves out."""
    doubts = []
    if partial := [one_line(name[:20]) for name in sorted(flags) if flags[name]]:
        names = ", ".join(partial[:5])
        doubts.append(f"The tracer ran out of memory for {names}; operations are missing.")
    if width:
        doubts.append(
            f"The timeline is a heatmap: bins of {width:.3g} s in which something was moved, so "
            f"times of I/O are upper bounds."
        )
    if module != "STDIO" and "STDIO" in flags:
        doubts.append("The run also used buffered streams (STDIO), which are left out.")
    if totals is None or not moved.size:
        return doubts
    counted = int(totals.bytes_read.sum() + totals.bytes_written.sum())
    traced = int(np.maximum(moved, 0).sum(dtype=float))
    if traced < 0.999 * counted:
        doubts.append(f"The timeline shows {traced:,} of the {counted:,} bytes that were counted.")
    meta = float(totals.meta.sum())
    if meta > 0.01 * totals.seconds:
        doubts.append(
            f"Metadata operations took {meta:.3g} s of all processes; the timeline has only reads and writes."
        )
    return doubts


def _damaged(file: str, what: str) -> TraceFormatError:
    return TraceFormatError(file, f"is damaged: {what}")
