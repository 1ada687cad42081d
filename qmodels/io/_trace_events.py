"""Trace events: one JSON object per event, as tracing tools for Chrome and Perfetto write them."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np

from qmodels.errors import TraceFormatError
from qmodels.io._trace_text import Budget, beginning, lines, whole
from qmodels.io.event_kinds import LAYERS, WRITE, EventKinds
from qmodels.programs.traces import KINDS, UNKNOWN, Trace

MAX_WHOLE = 100_000_000  #: bytes of text where the events are not one per line

_MOST_TICKS = 2**62  # microseconds
_LOOK = 1 << 16
_MOST_TORN = 10  # damaged lines at the end of a file whose writer was killed
_TICKS = re.compile(r"[0-9]{1,19}(\.[0-9]{1,9})?", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)

Place = dict[str, Any]  # where an event stands, as TraceFormatError takes it


def read_events(
    files: Sequence[str],
    kinds: EventKinds,
    processes: int | None = None,
    duration: float | None = None,
    max_bytes: int | None = None,
    source: str | None = None,
) -> Trace:
    """Read the events with a length of one run, which may have a file for each process."""
    columns = _Columns(kinds)
    budget = Budget(max_bytes)
    at_once = budget if max_bytes else None  # a whole text in memory, where that was asked for
    for file in files:
        columns.begin(file)
        for place, event in _events(file, budget, at_once, columns.torn):
            columns.add(place, event)
    columns.join_pairs()
    return columns.trace(processes, duration, files[0] if source is None else source)


class _Pairs:
    """Begins and ends of events ("ph": "B" and "E") as they come in."""

    def __init__(self) -> None:
        self.time, self.thread, self.rank = array("d"), array("q"), array("q")
        self.begins, self.what, self.moved = array("b"), array("q"), array("q")
        self.threads: dict[tuple[int, str], int] = {}
        self.names: dict[tuple[str, str], int] = {}

    def matched(self) -> tuple[list[tuple[float, float, int, tuple[str, str], int]], int]:
        """Give (start, end, rank, name and category, bytes) of each pair, and how many lack one."""
        times, threads = np.array(self.time), np.array(self.thread, dtype=np.int64)
        names = list(self.names)
        found = []
        alone = 0
        stack: list[int] = []
        open_now: Counter[str] = Counter()  # names on the stack, so that no E searches it
        last = -1
        # In the order of time within each thread; what is at one time stays as it was written.
        for i in np.lexsort((times, threads)).tolist():
            if self.thread[i] != last:
                alone += len(stack)
                stack, last = [], self.thread[i]
                open_now.clear()
            name = names[self.what[i]][0]
            if self.begins[i]:
                stack.append(i)
                open_now[name] += 1
                continue
            if not stack or (name and not open_now[name]):
                alone += 1
                continue
            while name and names[self.what[stack[-1]]][0] != name:
                # It was never ended, and what surrounds it is.
                open_now[names[self.what[stack.pop()]][0]] -= 1
                alone += 1
            begun = stack.pop()
            open_now[names[self.what[begun]][0]] -= 1
            moved = max(self.moved[begun], self.moved[i])
            found.append((self.time[begun], self.time[i], self.rank[begun], names[self.what[begun]], moved))
        return found, alone + len(stack)


class _Columns:
    """Segments as they come in; times in microseconds."""

    def __init__(self, kinds: EventKinds) -> None:
        self.kinds = kinds
        self.file = ""
        self.start, self.end = array("d"), array("d")
        self.pid, self.kind, self.moved = array("q"), array("b"), array("q")
        self.pids: dict[tuple[int | str, str], int] = {}
        self.ignored: Counter[str] = Counter()
        self.pairs = _Pairs()
        self.torn: list[str] = []
        self.alone = 0
        self.first, self.last = float("inf"), float("-inf")

    def begin(self, file: str) -> None:
        """Go on with the events of this file."""
        self.file = file

    def add(self, place: Place, event: object) -> None:
        """Take one event in, if it is one of a length."""
        if not isinstance(event, dict):
            raise TraceFormatError(self.file, "is not an event, a JSON object", **place)
        ph = event.get("ph")
        if not isinstance(ph, str):
            raise TraceFormatError(self.file, 'the event has no type "ph"', **place)
        if ph not in ("X", "B", "E"):
            return
        start = self._ticks(place, event, "ts")
        rank = self._rank(place, event)
        name, layer = (str(event.get(key, ""))[:64].lower() for key in ("name", "cat"))
        if ph == "X":
            end = start + self._ticks(place, event, "dur")
            self._take(start, end, rank, name, layer, _moved(event))
            return
        pairs = self.pairs
        thread = rank, str(event.get("tid", ""))[:64]
        pairs.time.append(start)
        pairs.thread.append(pairs.threads.setdefault(thread, len(pairs.threads)))
        pairs.rank.append(rank)
        pairs.begins.append(ph == "B")
        pairs.what.append(pairs.names.setdefault((name, layer), len(pairs.names)))
        pairs.moved.append(_moved(event))

    def join_pairs(self) -> None:
        """Take in the events whose begin and end stood apart."""
        found, self.alone = self.pairs.matched()
        for start, end, rank, (name, layer), moved in found:
            self._take(start, end, rank, name, layer, moved)

    def _take(self, start: float, end: float, rank: int, name: str, layer: str, moved: int) -> None:
        self.first, self.last = min(self.first, start), max(self.last, end)
        kind = self.kinds.kind(name, layer)
        if kind is None:
            self.ignored[layer] += 1
            return
        self.start.append(start)
        self.end.append(end)
        self.pid.append(rank)
        self.kind.append(kind)
        # Only calls of the operating system return bytes; those of streams return records.
        self.moved.append(moved if kind <= WRITE and layer == LAYERS[0] else UNKNOWN)

    def trace(self, processes: int | None, duration: float | None, source: str) -> Trace:
        """Give the trace; ranks in the order of the processes' numbers."""
        if not np.isfinite(self.first):
            what = 'has no complete event ("ph": "X", or "B" and "E"), so nothing has a length'
            raise TraceFormatError(source, what)
        order = sorted(self.pids, key=lambda key: (isinstance(key[0], str), key))
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
            source=source,
            warnings=self._warnings(),
        )

    def _warnings(self) -> tuple[str, ...]:
        said = []
        if self.ignored:
            common = ", ".join(repr(name[:20]) for name, _ in self.ignored.most_common(4))
            said.append(
                f"{self.ignored.total()} events of other categories ({common}) count neither as "
                f"I/O nor as computation."
            )
        if self.alone:
            said.append(f"{self.alone} events have a begin or an end only, and are left out.")
        said += self.torn
        return tuple(said)

    def _rank(self, place: Place, event: dict[str, Any]) -> int:
        """Number of the event's process; two hosts may have processes of one number."""
        pid = event.get("pid", 0)
        if isinstance(pid, str) and _NUMBER.fullmatch(pid):
            pid = int(pid)
        if not isinstance(pid, int | str) or len(str(pid)[:65]) > 64:
            raise TraceFormatError(self.file, f"pid is {pid!r:.40}, not a number or name", **place)
        details = event.get("args")
        host = details.get("hhash", "") if isinstance(details, dict) else ""
        if not isinstance(host, int | str):  # of a number with a point, digits are lost
            host = ""
        return self.pids.setdefault((pid, str(host)[:64]), len(self.pids))

    def _ticks(self, place: Place, event: dict[str, Any], field: str) -> float:
        value = event.get(field)
        if isinstance(value, str) and _TICKS.fullmatch(value):  # as DFTracer wrote until 2023
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            what = f"must be a number of microseconds, got {value!r:.40}"
        elif not 0 <= value <= _MOST_TICKS:
            what = f"must be from 0 to 2^62 microseconds, got {_shown(value)}"
        else:
            return float(value)
        field = f"{place['field']}.{field}" if "field" in place else field
        raise TraceFormatError(self.file, what, line=place.get("line"), field=field)


def _moved(event: dict[str, Any]) -> int:
    """Bytes that a call moved: what it returned."""
    details = event.get("args")
    value = details.get("ret") if isinstance(details, dict) else None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value <= _MOST_TICKS:
        return UNKNOWN
    return max(value, 0)


def _events(
    file: str, budget: Budget, at_once: Budget | None, torn: list[str]
) -> Iterator[tuple[Place, Any]]:
    """Give the events of a file that has one per line, or all in one JSON text."""
    if _one_per_line(file):
        yield from _of_lines(file, budget, torn)
        return
    content = _parsed_whole(file, whole(file, at_once or MAX_WHOLE).strip(), torn)
    if isinstance(content, dict):
        content = content.get("traceEvents")
    if not isinstance(content, list):
        raise TraceFormatError(file, 'has no list of events, neither by itself nor "traceEvents"')
    for index, event in zip(count(), content):
        yield {"field": f"traceEvents[{index}]"}, event


def _of_lines(file: str, budget: Budget, torn: list[str]) -> Iterator[tuple[Place, Any]]:
    """Give events of one line each; lines torn at the end of the file are told, not read."""
    broken: list[TraceFormatError] = []
    some = False
    for number, text in lines(file, budget):
        # A list may open and close around the lines, and commas may end them.
        bare = text.removeprefix("[").removesuffix("]").strip().removesuffix(",").strip()
        if not bare:
            continue
        try:
            event = _parsed(file, bare, number)
        except TraceFormatError as error:
            broken.append(error)
            if not some or len(broken) > _MOST_TORN or not bare.startswith("{"):
                raise broken[0] from None
            continue
        if broken:  # what follows is whole, so the file was not cut there
            raise broken[0]
        some = True
        yield {"line": number}, event
    if broken:
        torn.append(
            f"The last {'line' if len(broken) == 1 else f'{len(broken)} lines'} of {file} "
            f"{'is' if len(broken) == 1 else 'are'} torn, as a run that was killed leaves them."
        )


def _parsed_whole(file: str, text: str, torn: list[str]) -> Any:
    """Parse a JSON text, whose list of events need not have been closed."""
    try:
        return _parsed(file, text)
    except TraceFormatError as error:
        start = 0 if text.startswith("[") else text.find('"traceEvents"')
        at = text.find("[", max(start, 0))
        events = _unclosed(text, at + 1) if start >= 0 and at >= 0 else None
        if not events:
            raise error
    torn.append(f"The list of events in {file} was never closed; what may be missing is not known.")
    return events


def _unclosed(text: str, at: int) -> list[Any] | None:
    """Events of a list without an end, the last of which may be torn; None if it is damaged."""
    decoder = json.JSONDecoder(parse_constant=_refused)
    found: list[Any] = []
    while True:
        while at < len(text) and text[at] in ", \t\r\n":
            at += 1
        if at == len(text):
            return found
        try:
            event, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            # Whole events behind it would mean damage, not an end.
            return None if re.search(r"\}\s*,\s*\{", text[at:]) else found
        found.append(event)


def _one_per_line(file: str) -> bool:
    """Whether the first line with an event on it holds one and no more."""
    start = beginning(file, _LOOK).decode("utf-8-sig", errors="replace")
    for text in start.split("\n"):
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
