"""Checkpoints of one traced run: large writes of like size that recur."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from phasefit.arrays import Array
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.programs.bursts.detection import find_bursts
from qmodels.programs.traces import UNKNOWN, Trace

if TYPE_CHECKING:
    import pandas as pd


LEAST = 4  #: checkpoints that show that they recur

_SIZES_APART = 0.3  # of logarithms: a larger step parts two kinds of writes
_OFF = (0.005, 0.02, 0.05, 0.1, 0.25)  # of an interval, that one may be early or late
_MISSING = 3  # intervals at most between two checkpoints that follow each other
_REGULAR = 0.75  # of the intervals that must be about one, two or three times the middle one
_BREAKS = 1  # longer intervals at most: more of them part groups, such as pieces of checkpoints
_TRIMMED = 0.005  # of a checkpoint's bytes that may be other writes at either end
_GAPS = 12  # thresholds tried between two bursts
_LONGEST_GAP = 0.03  # of the run
_MORE = 1.2  # times the bytes that a larger threshold has to find
#: Chance that random times look so even, at which a series is taken; for all thresholds and
#: tolerances together it is some hundredths.
_CHANCE = 5e-4
_FEW = 8  # checkpoints, below which their number is a doubt
_SPREAD = 0.1  # of sizes or intervals, above which it is told


@dataclass(frozen=True, eq=False)
class FoundCheckpoints(Result):
    """Checkpoints of a run, and what speaks against their being such.

    Parameters
    ----------
    start, end : (n,) ndarray
        Seconds from the program's start.
    bytes : (n,) ndarray
        Written by each.
    interval : float
        Seconds of work between the end of one and the start of the next, the middle one.
    size : float
        Bytes of the middle one.
    duration : float
        Seconds that the middle one took.
    missing : int
        Places between two of them where one is missing.
    remarks : tuple of str
        A sentence each.
    """

    drawing = Drawing("start", "bytes", labels=("time [s]", "bytes"))

    start: Array
    end: Array
    bytes: Array
    interval: float
    size: float
    duration: float
    missing: int
    remarks: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def rate(self) -> float:
        """Bytes per second of the middle checkpoint."""
        return self.size / self.duration

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each checkpoint."""
        return data_frame(self._by_name("start", "end", "bytes"))


@dataclass(frozen=True, eq=False)
class _Series:
    """Writes that might be checkpoints."""

    start: Array
    end: Array
    bytes: Array
    regular: float  # share of the intervals that fit
    times: NDArray[np.int64]  # how many intervals lie between two that follow each other

    @property
    def written(self) -> float:
        return float(self.bytes.sum())


def find_checkpoints(trace: Trace) -> FoundCheckpoints:
    """Find the checkpoints of a run: large writes of like size, about evenly spaced.

    Parameters
    ----------
    trace : Trace
        With a timeline that has writes and their bytes.

    Returns
    -------
    checkpoints : FoundCheckpoints
        The writes, their interval and size, and doubts.

    Raises
    ------
    ModelError
        If the trace has no timeline or no bytes written, or no four writes of like size recur.

    Notes
    -----
    Writes are grouped into bursts by thresholds from a thousandth of the run to 3 %; the bursts
    of each threshold fall into kinds where their sizes step by more than a third. A kind is
    periodic if at least three quarters of its intervals, from start to start, are one, two or
    three times the middle one, within a quarter of it times the root of that number, not more
    than one is longer, and as many as there are would lie as close by chance, at the times of a
    Poisson process, in one of two thousand cases at most. Of all periodic kinds the one that wrote
    most is taken; a larger threshold has to find a fifth more.

    Examples
    --------
    >>> start = 100.0 * np.arange(1, 7)
    >>> trace = Trace([0] * 6, start, start + 8, ["write"] * 6, 1, 700.0, bytes=[4 * 10**9] * 6)
    >>> found = find_checkpoints(trace)
    >>> len(found), found.interval, found.size, found.duration
    (6, 92.0, 4000000000.0, 8.0)
    """
    if not isinstance(trace, Trace):
        raise ModelError(f"trace must be a Trace, got {type(trace).__name__}")
    if not trace.complete:
        raise ModelError(
            "the trace has no timeline, only totals, so checkpoints cannot be seen in it; trace "
            "with DXT_ENABLE_IO_TRACE=1"
        )
    writes = (trace.kind == "write") & (trace.bytes != UNKNOWN) & (trace.bytes > 0)
    if not writes.any():
        raise ModelError("the trace has no writes of a known size, so no checkpoints")
    only = Trace(
        trace.rank[writes],
        trace.start[writes],
        trace.end[writes],
        trace.kind[writes],
        trace.processes,
        trace.duration,
        trace.bytes[writes],
        resolution=trace.resolution,
    )
    best: _Series | None = None
    for gap in _thresholds(only):
        for series in _periodic_kinds(only, gap):
            # Else it takes the same with what lies between.
            if best is None or series.written > _MORE * best.written:
                best = series
    if best is None:
        raise ModelError(
            f"no {LEAST} writes of like size recur in the trace; give --interval and --size of "
            f"the checkpoints yourself"
        )
    return _found(trace, only, best)


def _thresholds(trace: Trace) -> Array:
    low = max(1e-3 * trace.duration, 2.0 * trace.resolution)
    return np.geomspace(low, max(_LONGEST_GAP * trace.duration, low), _GAPS)


def _periodic_kinds(trace: Trace, gap: float) -> list[_Series]:
    """Periodic kinds of bursts at one threshold."""
    bursts = find_bursts(trace, gap)
    size = bursts.bytes.astype(float)
    order = np.argsort(size)
    steps = np.flatnonzero(np.diff(np.log(size[order])) > _SIZES_APART) + 1
    kinds = []
    for members in np.split(order, steps):
        if members.size < LEAST:
            continue
        mine = np.sort(members)
        start, end = bursts.start[mine], bursts.end[mine]
        apart = np.diff(start)
        parts = apart / float(np.median(apart))
        times = np.maximum(np.rint(parts), 1.0)
        off = np.where(times <= _MISSING, np.abs(parts - times) / np.sqrt(times), np.inf)
        fits = float((off <= _OFF[-1]).mean())
        if (
            fits >= _REGULAR
            and np.count_nonzero(times > _MISSING) <= _BREAKS
            and min(_poisson_chance(off, allowed) for allowed in _OFF) <= _CHANCE
        ):
            kinds.append(_Series(start, end, size[mine], fits, times.astype(np.int64)))
    return kinds


def _poisson_chance(off: Array, allowed: float) -> float:
    """Probability that intervals of a Poisson process come as close to multiples of the median."""
    multiples = np.arange(1, _MISSING + 1)
    width = allowed * np.sqrt(multiples)
    one = float((0.5 ** (multiples - width) - 0.5 ** (multiples + width)).sum())
    # One of them is the median itself, and fits without saying anything.
    count, fit = off.size - 1, int(np.count_nonzero(off <= allowed)) - 1
    return float(bdtrc(fit - 1, count, one)) if fit > 0 else 1.0


def _found(trace: Trace, writes: Trace, best: _Series) -> FoundCheckpoints:
    single = best.times == 1
    best = _trimmed(writes, best)
    work = (best.start[1:] - best.end[:-1])[single]
    interval, length = float(np.median(work)), float(np.median(best.end - best.start))
    size = float(np.median(best.bytes))
    missing = int(np.minimum(best.times, _MISSING)[best.times > 1].sum() - (best.times > 1).sum())
    return FoundCheckpoints(
        best.start,
        best.end,
        best.bytes,
        interval,
        size,
        max(length, trace.resolution, 1e-9),
        missing,
        tuple(_doubts(trace, writes, best, work, missing)),
    )


def _trimmed(writes: Trace, series: _Series) -> _Series:
    """The same without small writes at either end, as of a log just before or after."""
    start, end = series.start.copy(), series.end.copy()
    for k in range(start.size):
        mine = (writes.start >= start[k]) & (writes.end <= end[k])
        share = _TRIMMED * float(writes.bytes[mine].sum())
        by_start, by_end = np.argsort(writes.start[mine]), np.argsort(writes.end[mine])[::-1]
        for order, times, edge in ((by_start, writes.start, start), (by_end, writes.end, end)):
            moved = np.cumsum(writes.bytes[mine][order])
            edge[k] = times[mine][order][int(np.searchsorted(moved, share))]
    return replace(series, start=start, end=end)


def _doubts(trace: Trace, writes: Trace, best: _Series, work: Array, missing: int) -> list[str]:
    """Return what speaks against these being checkpoints, or their figures."""
    sentences = []
    count, total = best.start.size, float(writes.bytes.sum(dtype=float))
    others = 1.0 - float(best.bytes.sum()) / total
    if count < _FEW:
        sentences.append(f"There are {count} checkpoints only: chance can space so few evenly.")
    if missing:
        sentences.append(
            f"{missing} checkpoint{'s are' if missing > 1 else ' is'} missing between others; the "
            f"interval is that of the rest."
        )
    irregular = 1.0 - best.regular
    if irregular > 0:
        sentences.append(f"{irregular:.0%} of the intervals fit no multiple of the middle one.")
    for what, values in (("intervals", work), ("sizes", best.bytes)):
        low, high = np.quantile(values, [0.1, 0.9])
        spread = float(high - low) / 2 / float(np.median(values))
        if spread > _SPREAD:
            sentences.append(f"Their {what} vary by {spread:.0%} around the middle one.")
    if others > 0.01:
        sentences.append(f"{others:.0%} of the bytes written are not theirs, and are taken for other output.")
    if trace.resolution:
        sentences.append(
            f"The timeline has bins of {trace.resolution:.3g} s, so the time of a checkpoint is an "
            f"upper bound."
        )
    computing = ~trace.is_io
    if computing.any():
        inside = sum(
            float(
                np.clip(
                    np.minimum(trace.end[computing], end) - np.maximum(trace.start[computing], start),
                    0.0,
                    None,
                ).sum()
            )
            for start, end in zip(best.start, best.end, strict=True)
        )
        length = float((best.end - best.start).sum()) * np.unique(trace.rank[computing]).size
        if length > 0 and inside > 0.2 * length:
            sentences.append(
                f"Computation is on record for {inside / length:.0%} of their time: they may be "
                f"written behind the work (--mode asynchronous)."
            )
    return sentences
