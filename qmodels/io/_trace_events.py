"""Trace events: one JSON object per event, as tracing tools for Chrome and Perfetto write them."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from qmodels.errors import TraceFormatError
from qmodels.io._trace_text import beginning, lines, whole
from qmodels.programs.traces import KINDS, UNKNOWN, Trace

LAYERS = ("posix", "stdio")  #: categories that count as I/O; higher layers go through them
MAX_WHOLE = 100_000_000  #: bytes of text where the events are not one per line

READS = frozenset((
    "read", "pread", "pread64", "readv", "preadv", "preadv2", "preadv64", "aio_read",
    "fread", "fread_unlocked", "fgets", "fgetc", "getc", "getline", "fscanf",
))  # fmt: skip
WRITES = frozenset((
    "write", "pwrite", "pwrite64", "writev", "pwritev", "pwritev2", "pwritev64", "aio_write",
    "fwrite", "fwrite_unlocked", "fputs", "fputc", "putc", "fprintf",
))  # fmt: skip

_MOST_TICKS = 2**62  # microseconds
_LOOK = 1 << 16
_READ, _WRITE, _IO, _COMPUTE = range(len(KINDS))

Place = dict[str, Any]  # where an event stands, as TraceFormatError takes it


def read_events(
    file: str, processes: int | None, duration: float | None, max_bytes: int | None = None
) -> Trace:
    """Read the complete events ("ph": "X") of a trace."""
    columns = _Columns(file)
    for place, event in _events(file, max_bytes):
        columns.add(place, event)
    return columns.trace(processes, duration)


class _Columns:
    """Segments as they come in; times in microseconds."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.start, self.end = array("d"), array("d")
        self.pid, self.kind, self.moved = array("q"), array("b"), array("q")
        self.pids: dict[int | str, int] = {}
        self.ignored: Counter[str] = Counter()
        self.first, self.last = float("inf"), float("-inf")

    def add(self, place: Place, event: object) -> None:
        """Take one event in, if it is one of a length."""
        if not isinstance(event, dict):
            raise TraceFormatError(self.file, "is not an event, a JSON object", **place)
        if event.get("ph") != "X":
            if not isinstance(event.get("ph"), str):
                raise TraceFormatError(self.file, 'the event has no type "ph"', **place)
            return
        start = self._ticks(place, event, "ts")
        end = start + self._ticks(place, event, "dur")
        pid = event.get("pid", 0)
        if not isinstance(pid, int | str) or len(str(pid)[:65]) > 64:
            raise TraceFormatError(self.file, f"pid is {pid!r:.40}, not a number or name", **place)
        rank = self.pids.setdefault(pid, len(self.pids))
        self.first, self.last = min(self.first, start), max(self.last, end)
        name, layer = (str(event.get(key, ""))[:64].lower() for key in ("name", "cat"))
        kind = _kind(name.lstrip("_"), layer)
        if kind is None:
            self.ignored[layer] += 1
            return
        self.start.append(start)
        self.end.append(end)
        self.pid.append(rank)
        self.kind.append(kind)
        self.moved.append(_moved(event) if kind <= _WRITE and layer == "posix" else UNKNOWN)

    def trace(self, processes: int | None, duration: float | None) -> Trace:
        """Give the trace; ranks in the order of the processes' numbers."""
        if not self.pids:
            what = 'has no complete event ("ph": "X"), so nothing in it has a length'
            raise TraceFormatError(self.file, what)
        order = sorted(self.pids, key=lambda pid: (isinstance(pid, str), pid))
        rank_of = np.argsort([self.pids[pid] for pid in order])
        start, end = (np.array(t) for t in (self.start, self.end))
        seconds = (self.last - self.first) * 1e-6
        return Trace(
            rank_of[np.array(self.pid, dtype=np.int64)],
            (start - self.first) * 1e-6,
            np.minimum((end - self.first) * 1e-6, seconds),
            np.array(KINDS)[np.array(self.kind, dtype=np.int64)],
            processes=len(order) if processes is None else processes,
            duration=seconds if duration is None else duration,
            bytes=np.array(self.moved, dtype=np.int64),
            source=self.file,
            warnings=self._warnings(),
        )

    def _warnings(self) -> tuple[str, ...]:
        if not self.ignored:
            return ()
        common = ", ".join(repr(name[:20]) for name, _ in self.ignored.most_common(4))
        return (
            f"{self.ignored.total()} events of other categories ({common}) count neither as I/O "
            f"nor as computation.",
        )

    def _ticks(self, place: Place, event: dict[str, Any], field: str) -> float:
        value = event.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = f"must be a number of microseconds, got {value!r:.40}"
        elif not 0 <= value <= _MOST_TICKS:
            what = f"must be from 0 to 2^62 microseconds, got {_shown(value)}"
        else:
            return float(value)
        field = f"{place['field']}.{field}" if "field" in place else field
        raise TraceFormatError(self.file, what, line=place.get("line"), field=field)


def _kind(name: str, layer: str) -> int | None:
    """Index of the kind of an event, if it is of one."""
    if layer in LAYERS:
        return _READ if name in READS else _WRITE if name in WRITES else _IO
    return _COMPUTE if "compute" in (name, layer) else None


def _moved(event: dict[str, Any]) -> int:
    """Bytes that a call moved: what it returned."""
    details = event.get("args")
    value = details.get("ret") if isinstance(details, dict) else None
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= _MOST_TICKS:
        return UNKNOWN
    return max(value, 0)


def _events(file: str, max_bytes: int | None) -> Iterator[tuple[Place, Any]]:
    """Give the events of a file that has one per line, or all in one JSON text."""
    if _one_per_line(file):
        for number, text in lines(file, max_bytes):
            # A list may open and close around the lines, and commas may end them.
            bare = text.removeprefix("[").removesuffix("]").strip().removesuffix(",").strip()
            if bare:
                yield {"line": number}, _parsed(file, bare, number)
        return
    content = _parsed(file, whole(file, max_bytes or MAX_WHOLE).strip())
    if isinstance(content, dict):
        content = content.get("traceEvents")
    if not isinstance(content, list):
        raise TraceFormatError(file, 'has no list of events, neither by itself nor "traceEvents"')
    for index, event in zip(count(), content):
        yield {"field": f"traceEvents[{index}]"}, event


def _one_per_line(file: str) -> bool:
    """Whether the first line with an event on it holds one and no more."""
    start = beginning(file, _LOOK).decode("utf-8-sig", errors="replace")
    for text in start.splitlines():
        bare = text.strip().removeprefix("[").removesuffix("]").strip().removesuffix(",")
        if bare:
            try:
                event = json.loads(bare)
            except (ValueError, RecursionError):
                # A line that is cut or damaged is one all the same, if it does not go on.
                return bare.startswith("{") and '"ph"' in bare and "}," not in bare
            return isinstance(event, dict) and "traceEvents" not in event
    return True


def _parsed(file: str, text: str, line: int | None = None) -> Any:
    try:
        return json.loads(text, parse_constant=_refused)
    except json.JSONDecodeError as error:
        at = error.lineno if line is None else line
        raise TraceFormatError(file, f"is not JSON: {error.msg}", line=at) from None
    except RecursionError:
        raise TraceFormatError(file, "is nested too deeply for a trace", line=line) from None
    except ValueError as error:
        raise TraceFormatError(file, f"is not JSON: {str(error)[:80]}", line=line) from None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of it")


def _shown(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else f"a number of {value.bit_length()} bits"
