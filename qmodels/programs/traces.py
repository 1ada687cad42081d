"""Traces: when each process of one run did I/O, as a tracer saw it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import boolean, check_fields, instance_of, real_array
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import ModelError
from qmodels.programs.quantities import LARGEST, positive
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd


#: What a segment may be; "io" is I/O of no known direction, or on a file's metadata.
KINDS = ("read", "write", "io", "compute")
UNKNOWN = -1  #: bytes of a segment that the tracer did not count

SHORTEST = 1e-9  #: seconds; a run below it was not measured
MOST_PROCESSES = 10**9
_MOST_BYTES = 2**62


@dataclass(frozen=True, eq=False)
class IOTotals(Result):
    """Sums of the counters of a log, for each process and for shared files.

    Parameters
    ----------
    rank : (n,) array_like of int
        Process; -1 where the counters of all processes on shared files were added up.
    read, write, meta : (n,) array_like
        Seconds spent reading, writing and on metadata (open, stat, seek, sync, close).
    bytes_read, bytes_written : (n,) array_like of int
        Bytes moved.
    first_open, last_close : (n,) array_like
        Seconds from the program's start; 0 where not known.

    Raises
    ------
    ModelError
        If the lengths differ, or a value is negative, not finite or not a number.

    Notes
    -----
    Times of several processes are added although they ran side by side, so a total may exceed
    the run's duration.

    Examples
    --------
    >>> IOTotals([0, 1], [1.0, 2.0], [0.5, 0], [0.25, 0], [10, 20], [5, 0], [0, 0], [3, 4]).seconds
    3.75
    """

    drawing = Drawing("rank", ("read", "write", "meta"), labels=("process", "seconds"))

    rank: Ints
    read: Array
    write: Array
    meta: Array
    bytes_read: Ints
    bytes_written: Ints
    first_open: Array
    last_close: Array

    def __post_init__(self) -> None:
        rank = whole_array("rank", self.rank, least=-1, most=MOST_PROCESSES)
        object.__setattr__(self, "rank", rank)
        for name in ("bytes_read", "bytes_written"):
            column = whole_array(name, getattr(self, name), least=0, most=_MOST_BYTES)
            object.__setattr__(self, name, column)
        check_fields(self, _checked_times, "read", "write", "meta", "first_open", "last_close")
        for name in self.__dataclass_fields__:
            if getattr(self, name).size != rank.size:
                raise ModelError(f"{name} has {getattr(self, name).size} entries where rank has {rank.size}")

    @property
    def seconds(self) -> float:
        """Reading, writing and metadata of all processes, added up."""
        return float(self.read.sum() + self.write.sum() + self.meta.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return a row per process."""
        return data_frame({name: getattr(self, name) for name in self.__dataclass_fields__})


@dataclass(frozen=True, eq=False)
class StorageTargets(Result):
    """Spread of the bytes of a run over the targets (disks, OSTs) of a file system.

    Parameters
    ----------
    number : (n,) array_like of int
        Of each target.
    bytes : (n,) array_like of int
        Moved to and from it.
    elsewhere : int
        Bytes on files whose targets are not known.

    Raises
    ------
    ModelError
        If the lengths differ, or a value is negative.

    Notes
    -----
    The number of stripes of a file is not the number of disks: a file for each of 2,048
    processes, one stripe each, may use all targets there are.

    Examples
    --------
    >>> targets = StorageTargets([3, 5, 7], [100, 100, 0])
    >>> targets.distinct, targets.effective
    (2, 2.0)
    """

    drawing = Drawing("number", "bytes", labels=("storage target", "bytes"))

    number: Ints
    bytes: Ints
    elsewhere: int = 0

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each target."""
        return data_frame({"number": self.number, "bytes": self.bytes})

    def __post_init__(self) -> None:
        for name in ("number", "bytes"):
            column = whole_array(name, getattr(self, name), least=0, most=_MOST_BYTES)
            object.__setattr__(self, name, column)
        if self.number.size != self.bytes.size:
            raise ModelError(f"bytes has {self.bytes.size} entries where number has {self.number.size}")
        whole_array("elsewhere", [self.elsewhere], least=0, most=_MOST_BYTES)

    @property
    def distinct(self) -> int:
        """Targets that a byte was moved to or from."""
        return int(np.unique(self.number[self.bytes > 0]).size)

    @property
    def effective(self) -> float:
        """Targets that evenly loaded would give the same balance: (sum b)^2 / sum b^2."""
        _, at = np.unique(self.number, return_inverse=True)
        moved = np.bincount(at, self.bytes) if at.size else np.zeros(1)
        top = float(moved.max())
        # Bytes are divided by the largest, so that no square overflows.
        return 0.0 if top == 0 else float((moved / top).sum() ** 2 / ((moved / top) ** 2).sum())


@dataclass(frozen=True)
class RunOrigin(Record):
    """Facts of a run in a log besides its I/O.

    Parameters
    ----------
    program : str
        Name of the executable without its folder; empty where not known.
    job : str
        Number that the batch system gave; empty where not known.
    start : float
        Seconds since 1970; 0 where not known.
    targets : StorageTargets, optional
        Where a parallel file system was used and its layout logged.
    """

    program: str = ""
    job: str = ""
    start: float = 0.0
    targets: StorageTargets | None = None


@dataclass(frozen=True, eq=False)
class Trace(Result):
    """Times at which the processes of one run did I/O, and perhaps at which they computed.

    Parameters
    ----------
    rank : (n,) array_like of int
        Process of each segment, 0 to `processes` - 1.
    start, end : (n,) array_like
        Seconds from the program's start; ``0 <= start <= end <= duration``.
    kind : (n,) array_like of str
        ``"read"``, ``"write"``, ``"io"`` (neither known, or metadata) or ``"compute"``.
    processes : int
        All processes of the run, those without I/O included.
    duration : float
        Wall time of the run in seconds, at least 1e-9.
    bytes : (n,) array_like of int, optional
        Moved by each segment, -1 where not known; all -1 by default.
    source : str
        Where it comes from, for reports.
    warnings : sequence of str
        What the reader noticed, in sentences.
    resolution : float
        0 where segments were timed one by one. Else the width in seconds of the bins of a
        heatmap: a segment is then a bin in which something was moved, not an operation.
    complete : bool
        False where there is no timeline, only `totals`.
    totals : IOTotals, optional
        Counters of the whole run.
    origin : RunOrigin, optional
        Program, job and storage, where the file tells.

    Raises
    ------
    ModelError
        If a value is out of range, the lengths differ, or a trace without a timeline has
        segments or no totals.

    Notes
    -----
    Segments are kept in the order of their start (then end, then rank), whatever the order given.

    Examples
    --------
    >>> trace = Trace([0, 1], [4.0, 1.0], [5.0, 2.5], ["write", "read"], processes=2, duration=9.0)
    >>> trace.start, trace.kind.tolist(), trace.bytes
    (array([1., 4.]), ['read', 'write'], array([-1, -1]))
    """

    rank: Ints
    start: Array
    end: Array
    kind: NDArray[np.str_]
    processes: int
    duration: float
    bytes: Any = None
    source: str = ""
    warnings: tuple[str, ...] = ()
    resolution: float = 0.0
    complete: bool = True
    totals: IOTotals | None = None
    origin: RunOrigin | None = None

    def __post_init__(self) -> None:
        processes = process_count(self.processes)
        duration = positive("duration", self.duration, least=SHORTEST, most=LARGEST)
        start, end = _checked_times("start", self.start), _checked_times("end", self.end)
        rank = whole_array("rank", self.rank, least=0, most=processes - 1)
        kind = _checked_kinds(self.kind)
        sizes = np.full(start.size, UNKNOWN) if self.bytes is None else self.bytes
        sizes = whole_array("bytes", sizes, least=UNKNOWN, most=_MOST_BYTES)
        columns: dict[str, NDArray[Any]] = {
            "rank": rank,
            "start": start,
            "end": end,
            "kind": kind,
            "bytes": sizes,
        }
        for name, column in columns.items():
            if column.size != start.size:
                raise ModelError(f"{name} has {column.size} entries where start has {start.size}")
        _check_order(start, end, duration)
        order = np.lexsort((rank, end, start))
        for name, column in columns.items():
            object.__setattr__(self, name, read_only(column[order]))
        object.__setattr__(self, "processes", processes)
        object.__setattr__(self, "duration", duration)
        self._check_origin()

    def _check_origin(self) -> None:
        instance_of("source", self.source, str, "text")
        warnings = self.warnings
        if not isinstance(warnings, (list, tuple)) or not all(isinstance(w, str) for w in warnings):
            raise ModelError(f"warnings must be a sequence of texts, got {self.warnings!r:.60}")
        object.__setattr__(self, "warnings", tuple(self.warnings))
        if isinstance(self.resolution, bool) or self.resolution != 0:
            width = positive("resolution", self.resolution, least=SHORTEST, most=LARGEST)
            object.__setattr__(self, "resolution", width)
        check_fields(self, boolean, "complete")
        if self.totals is not None and not isinstance(self.totals, IOTotals):
            raise ModelError(f"totals must be IOTotals, got {self.totals!r:.60}")
        if self.origin is not None and not isinstance(self.origin, RunOrigin):
            raise ModelError(f"origin must be a RunOrigin, got {self.origin!r:.60}")
        if not self.complete and (self.totals is None or self.start.size):
            raise ModelError("a trace without a timeline has totals and no segments")

    @property
    def is_io(self) -> NDArray[np.bool_]:
        """True for segments that are I/O, (n,)."""
        return np.asarray(self.kind != "compute")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per segment: rank, start, end, kind, bytes."""
        columns = ("rank", "start", "end", "kind", "bytes")
        return data_frame({name: getattr(self, name) for name in columns})

    def table(self) -> str:
        """Return a summary as text: what the trace holds, and what was noticed."""
        io = self.is_io
        lines = [
            f"{self.processes} {plural('process', self.processes)} for {self.duration:.6g} s",
            f"{np.count_nonzero(io)} segments of I/O by {np.unique(self.rank[io]).size} of them, "
            f"{np.count_nonzero(~io)} of computation",
        ]
        if self.resolution:
            lines.append(f"segments are bins of {self.resolution:.6g} s")
        if self.totals is not None:
            lines.append(f"counters add up to {self.totals.seconds:.6g} s of I/O of all processes")
        if self.origin is not None and self.origin.targets is not None:
            targets = self.origin.targets
            lines.append(
                f"bytes moved on {targets.distinct} storage targets, as many as "
                f"{targets.effective:.4g} evenly loaded ones"
            )
        return "\n".join([*lines, *self.warnings])

    def plot(self, ax: Any = None) -> Any:
        """Draw the segments, a lane for each process."""
        from qmodels.plotting import trace_diagram

        return trace_diagram(self, ax=ax)


def whole_array(name: str, value: object, *, least: int, most: int) -> Ints:
    """Return a read-only row of whole numbers within bounds.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : (n,) array_like of int
        The numbers.
    least, most : int
        Bounds.

    Raises
    ------
    ModelError
        If it is no such row; the message names the first bad entry.
    """
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        raise ModelError(f"{name} must be one row of whole numbers") from None
    if array.size == 0 and array.dtype.kind == "f":  # an empty list
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise ModelError(f"{name} must be one row of whole numbers, got {array.dtype} of shape {array.shape}")
    outside = (array < least) | (array > most)
    if outside.any():
        at = int(outside.argmax())
        raise ModelError(f"{name}[{at}] is {array[at]}; it must be from {least} to {most}")
    return read_only(array.astype(np.int64))


def _checked_times(name: str, value: ArrayLike) -> Array:
    array = real_array(name, value)
    if array.ndim != 1:
        raise ModelError(f"{name} must be one row of seconds, got shape {array.shape}")
    outside = (array < 0) | (array > LARGEST)
    if outside.any():
        at = int(outside.argmax())
        raise ModelError(f"{name}[{at}] is {array[at]:.6g} s; it must be from 0 to {LARGEST:g}")
    return read_only(array + 0.0)  # no negative zero


def _checked_kinds(value: object) -> NDArray[np.str_]:
    if isinstance(value, str | bytes):
        raise ModelError(f"kind must be one row of texts, got {value!r:.60}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise ModelError("kind must be one row of texts") from None
    if array.size == 0:
        array = np.empty(0, dtype="U7")
    if array.dtype.kind == "O" and all(isinstance(x, str) for x in array.flat):
        array = array.astype(str)
    if array.dtype.kind != "U" or array.ndim != 1:
        raise ModelError(f"kind must be one row of texts, got {array.dtype} of {array.shape}")
    strange = ~np.isin(array, KINDS)
    if strange.any():
        at = int(strange.argmax())
        allowed = ", ".join(KINDS)
        raise ModelError(f"kind[{at}] is {str(array[at])!r:.40}; it must be one of {allowed}")
    return array.astype("U7")


def _check_order(start: Array, end: Array, duration: float) -> None:
    if np.any(end < start):
        at = int((end < start).argmax())
        raise ModelError(f"segment {at} ends at {end[at]:.9g} s, before its start {start[at]:.9g}")
    if end.size and end.max() > duration:
        at = int(end.argmax())
        raise ModelError(
            f"segment {at} ends at {end[at]:.9g} s, after the duration of {duration:.9g} s; "
            f"give the wall time of the whole run"
        )


def process_count(value: object) -> int:
    """Return a number of processes as an int.

    Parameters
    ----------
    value : object
        The number to check.

    Raises
    ------
    ModelError
        If it is no whole number in range.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, numbers.Integral)
        or not 1 <= int(value) <= MOST_PROCESSES
    ):
        raise ModelError(f"processes must be a whole number from 1 to {MOST_PROCESSES}, got {value!r:.60}")
    return int(value)
