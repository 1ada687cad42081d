"""Timelines of recorded commands: when each process did I/O and when it computed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.programs.traces import SHORTEST, Trace
from qmodels.recording.sampling import INTERVAL, LEAST_RATE, Log, Sampled, sample_command
from qmodels.whole_files import write_whole

_LEAST = 1e-3  # of an interval, below which it holds none of a kind


@dataclass(frozen=True)
class Recording(Record):
    """A timeline of a run, and how it was taken.

    Parameters
    ----------
    trace : Trace
        A rank is a process that worked, or several of which no two worked at the same time.
    exit_code : int
        Of the command; 128 and the number of the signal that ended it.
    processes : int
        Seen, those that did nothing included.
    interval : float
        Between two looks, on average; seconds.
    overhead : float
        Processor seconds that looking took, over the seconds of the run.
    bytes_moved : int
        Read and written.
    busiest : float
        Processors that the busiest process used at most: its threads.
    """

    trace: Trace
    exit_code: int
    processes: int
    interval: float
    overhead: float
    bytes_moved: int
    busiest: float


def record_command(command: Sequence[str], *, interval: float = INTERVAL, storage: bool = False) -> Recording:
    """Run a command and record when its processes did I/O and when they computed.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    interval : float
        Seconds between two looks at the counters, 0.005 to 60; longer where looking would take
        more than half a percent of half the processors.
    storage : bool
        Count bytes that reached storage (`read_bytes`, `write_bytes`) instead of all that calls
        moved (`rchar`, `wchar`), pipes and the page cache among them.

    Returns
    -------
    recording : Recording
        The timeline and the exit code.

    Raises
    ------
    ModelError
        If the system is not Linux, or the command cannot be started.

    Notes
    -----
    Between two looks a process did I/O if it moved a megabyte per second or more, or a thread of
    it waits for storage; the share of that time in which its own code ran counts as computation.
    A stretch of I/O begins and ends within an interval by as much as its bytes are of those of
    the intervals inside. Without I/O, all processor time is computation. Times have the
    resolution of the interval, and processor time that of the system's clock, 10 ms.

    Signals that ask to stop are passed on to the command, and its exit code is kept. A process
    that ends is counted to its end if its parent waits for it.
    """
    return recording_of(sample_command(command, interval=interval, storage=storage))


def recording_of(sampled: Sampled) -> Recording:
    """Make a timeline of what was seen of a command.

    Parameters
    ----------
    sampled : Sampled
        The run.

    Returns
    -------
    Recording
        The timeline and the exit code.
    """
    log = sampled.log
    duration = max(sampled.seconds, SHORTEST)
    return Recording(
        timeline(log, duration, sampled.command, sampled.pace),
        sampled.exit_code,
        len(log.seen),
        duration / max(log.looks, 1),
        sampled.looking / duration,
        log.moved,
        log.busiest,
    )


def timeline(log: Log, duration: float, source: str, pace: float) -> Trace:
    """Return the trace of a log.

    Parameters
    ----------
    log : Log
        Activity of each process.
    duration : float
        Of the run, seconds.
    source : str
        Where it comes from, for reports.
    pace : float
        Interval within which times are not told apart, seconds.
    """
    rows = np.array([np.array(column) for column in log.rows])
    segments: list[tuple[float, float, str, int]] = []
    owners: list[int] = []
    for number in np.unique(rows[0]).tolist():
        mine = rows[1:, rows[0] == number]
        stretches = list(segments_of(mine))
        segments += stretches
        owners += [int(number)] * len(stretches)
    ranks = _ranks(owners, segments, pace)
    if not segments or max(end for _, end, *_ in segments) < duration:
        # A timeline in a file ends with its last entry, and the run may end later.
        segments.append((duration, duration, "compute", 0))
        ranks.append(0)
    start, end, kind, moved = zip(*segments, strict=True)
    return Trace(
        np.array(ranks),
        np.minimum(start, duration),
        np.minimum(end, duration),
        np.array(kind),
        max(ranks) + 1,
        duration,
        np.array(moved, dtype=np.int64),
        source,
    )


def segments_of(rows: Array) -> Iterator[tuple[float, float, str, int]]:
    """Yield stretches of I/O and computation of one process, those that touch joined.

    Parameters
    ----------
    rows : (7, n) ndarray
        Columns of a `Log` for one process, its number left out.

    Yields
    ------
    tuple of (float, float, str, int)
        Begin and end in seconds, kind, and bytes moved.
    """
    begins, ends, user_time, ready, read, written, waits = rows
    length = ends - begins
    moved = read + written
    does_io = (moved >= LEAST_RATE * length) | (waits > 0)
    follows = np.append(False, (begins[1:] - ends[:-1]) < 1e-9) if begins.size else does_io
    share = _io_share(length, user_time, moved, does_io & (moved > 0), follows)
    # The system's clock may call a whole interval computation; what it moved is kept all the same.
    least = np.where(moved > 0, 2 * _LEAST, 0.0)
    io = np.where(does_io, np.maximum(share, least) * length, 0.0)
    busy = np.where(does_io, np.minimum(user_time, length - io), np.minimum(ready, length))
    open_now: list[tuple[float, float, str, int]] = []
    computed = False
    for k in range(begins.size):
        kind = "compute"
        if does_io[k]:
            kind = "io" if not moved[k] else "read" if read[k] > written[k] else "write"
        pieces = []
        if io[k] > _LEAST * length[k]:
            pieces.append((io[k], kind, int(moved[k])))
        if busy[k] > _LEAST * length[k]:
            pieces.append((busy[k], "compute", 0))
        if len(pieces) == 2 and computed and follows[k]:
            pieces.reverse()  # it went on computing, and then began to read or write
        idle = length[k] - sum(piece[0] for piece in pieces)
        goes_on = follows[k] and open_now and (computed or does_io[k - 1])
        now = begins[k] + (0.0 if goes_on else idle)
        for seconds, what, size in pieces:
            last = open_now[-1] if open_now else None
            if last is not None and last[2] == what and now - last[1] < 1e-6:
                open_now[-1] = (last[0], now + seconds, what, last[3] + size)
            else:
                open_now.append((now, now + seconds, what, size))
            now += seconds
        computed = busy[k] > io[k]
        if len(open_now) > 1:
            yield from open_now[:-1]
            open_now = open_now[-1:]
    yield from open_now


def _io_share(length: Array, user_time: Array, moved: Array, moves: Array, follows: Array) -> Array:
    """Share of each interval that was I/O: not its own code, and at an edge not all of it."""
    share = 1.0 - np.minimum(user_time / length, 1.0)
    rate = np.where(moves, moved / length, 0.0)
    n = rate.size
    before = np.where(follows, np.append(0.0, rate[:-1]), 0.0) if n else rate
    after = np.where(np.append(follows[1:], False), np.append(rate[1:], 0.0), 0.0) if n else rate
    # At the edge of a burst as much of the interval as its bytes are of the next one's.
    edge = moves & ((before == 0) ^ (after == 0))
    beside = np.maximum(before, after)
    part = np.minimum(rate / np.where(beside > 0, beside, 1.0), 1.0)
    return np.asarray(np.where(edge, np.minimum(share, part), share))


def _ranks(owners: list[int], segments: list[tuple[float, float, str, int]], pace: float) -> list[int]:
    """A rank for each process; processes of which no two work at the same time share one."""
    spans: dict[int, list[tuple[float, float]]] = {}
    for owner, (start, end, *_) in zip(owners, segments, strict=True):
        spans.setdefault(owner, []).append((start, end))
    lanes: list[list[tuple[float, float]]] = []
    rank: dict[int, int] = {}
    for owner, mine in sorted(spans.items(), key=lambda item: -sum(b - a for a, b in item[1])):
        # A few intervals of overlap are the system's clock, not work side by side.
        allowed = 2 * pace + 0.02 * sum(b - a for a, b in mine)
        k = next((k for k, lane in enumerate(lanes) if _shared_seconds(lane, mine) <= allowed), len(lanes))
        if k == len(lanes):
            lanes.append([])
        lanes[k] = sorted([*lanes[k], *mine])
        rank[owner] = k
    return [rank[owner] for owner in owners]


def _shared_seconds(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> float:
    """Seconds that two ordered lists of stretches share."""
    i = j = 0
    total = 0.0
    while i < len(one) and j < len(other):
        total += max(0.0, min(one[i][1], other[j][1]) - max(one[i][0], other[j][0]))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return total


def write_timeline(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write a trace as the table that `read_trace` reads; the file appears whole or not at all.

    Parameters
    ----------
    trace : Trace
        The trace.
    path : path
        The file.

    Raises
    ------
    ModelError
        If the file cannot be written.
    """
    lines = ["rank,start,end,kind,bytes"]
    columns = (trace.rank, trace.start, trace.end, trace.kind, trace.bytes)
    lines += [
        f"{rank},{start:.6f},{end:.6f},{kind},{moved}"
        for rank, start, end, kind, moved in zip(*(c.tolist() for c in columns), strict=True)
    ]
    write_whole(path, ("\n".join(lines) + "\n").encode())
