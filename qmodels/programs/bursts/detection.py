"""Bursts of I/O in a trace: where they begin and end, given how long a pause may be."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of
from phasefit.records import Result
from qmodels.errors import ModelError
from qmodels.programs.bursts.columns import check_columns, frame_of_columns
from qmodels.programs.bursts.intervals import running_ends, runs, unions, work_done
from qmodels.programs.quantities import LARGEST, positive
from qmodels.programs.traces import UNKNOWN, Trace
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd

By = Literal["program", "rank"]

PROGRAM = -1  #: rank of a burst of the whole program
SHORTEST_GAP = 1e-9  # seconds


@dataclass(frozen=True, eq=False)
class Bursts(Result):
    """Bursts of I/O of one run, and what went on inside them that is not I/O.

    A burst lasts from its first operation to the end of its last; there may be pauses within it,
    and processes that compute meanwhile. Both are told apart here, and belong to the burst in
    `find_phases` only because a phase has no third component.

    Parameters
    ----------
    trace : Trace
        The run.
    gap : float
        The threshold: a longer pause parts two bursts, seconds.
    by : {"program", "rank"}
        Whether operations of all processes make bursts together, or of each by itself.
    rank : (m,) ndarray of int
        Process of each burst; -1 where bursts are of the program.
    start, end : (m,) ndarray
        Seconds from the program's start; in the order of `rank`, then `start`.
    segments, ranks : (m,) ndarray of int
        Operations (or bins of a heatmap) in each burst, and processes that did them.
    bytes : (m,) ndarray of int
        Moved by each burst; -1 where an operation's bytes are not known.
    busy : (m,) ndarray
        Seconds in which at least one of the processes did I/O.
    rank_seconds : (m,) ndarray
        Seconds of I/O of each process, added up over the processes.
    compute_overlap : (m,) ndarray or None
        Recorded computation of all processes (by rank: of this one) while the burst was busy,
        in seconds of one process; None where the trace has no segments of computation.
    warnings : tuple of str
        Doubts about the bursts, in sentences.
    """

    trace: Trace
    gap: float
    by: By
    rank: Ints
    start: Array
    end: Array
    segments: Ints
    ranks: Ints
    bytes: Ints
    busy: Array
    rank_seconds: Array
    compute_overlap: Array | None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_columns(self, _COLUMNS, "start")

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def seconds(self) -> Array:
        """Length of each burst (m,)."""
        return self.end - self.start

    @property
    def pauses(self) -> Array:
        """Seconds (m,) of each burst in which nobody did I/O: pauses below the threshold."""
        return np.maximum(self.seconds - self.busy, 0.0)

    @property
    def others(self) -> Array:
        """Seconds of one process (m,) that were not I/O while another process did I/O."""
        processes = self.trace.processes if self.by == "program" else 1
        return np.maximum(processes * self.busy - self.rank_seconds, 0.0)

    @property
    def io_share(self) -> float:
        """Share of the run within bursts; by rank, the mean over all processes."""
        processes = 1 if self.by == "program" else self.trace.processes
        return float(self.seconds.sum() / self.trace.duration / processes)

    def compute_intervals(self) -> Array:
        """Return starts and ends (k, 2) of what lies before, between and after the bursts.

        Raises
        ------
        ModelError
            If the bursts are by rank: the computation of one process is no phase of the program.
        """
        if self.by != "program":
            raise ModelError("bursts by rank have no common intervals; use by='program'")
        starts = np.concatenate([[0.0], self.end])
        ends = np.concatenate([self.start, [self.trace.duration]])
        return np.column_stack([starts, ends])[ends > starts]

    def to_frame(self) -> pd.DataFrame:
        """Return a row per burst."""
        return frame_of_columns(self, (*_COLUMNS, "pauses", "others"))

    def table(self) -> str:
        """Return a summary as text: how many bursts, and what is in them beside I/O."""
        of = "the program" if self.by == "program" else "single processes"
        total, inside = float(self.seconds.sum()), float(self.pauses.sum())
        lines = [
            f"{len(self)} {plural('burst', len(self))} of {of} at a gap of {self.gap:.4g} s: "
            f"{total:.6g} s, {100 * self.io_share:.3g} % of the run",
            f"pauses inside bursts, below the gap: {inside:.6g} s",
        ]
        if self.by == "program":
            lines.append(
                f"processes without I/O while others did some: {self.others.sum():.6g} "
                f"process-seconds of {self.trace.processes * self.busy.sum():.6g}"
            )
        if self.compute_overlap is not None:
            overlap = self.compute_overlap.sum()
            lines.append(f"of that recorded as computation: {overlap:.6g} process-seconds")
        return "\n".join([*lines, *self.warnings])

    def plot(self, ax: Any = None) -> Any:
        """Draw the trace, the bursts shaded."""
        from qmodels.plotting import trace_diagram

        return trace_diagram(self.trace, bursts=self, ax=ax)


_COLUMNS = ("rank", "start", "end", "segments", "ranks", "bytes", "busy", "rank_seconds", "compute_overlap")


def find_bursts(trace: Trace, gap: float, *, by: By = "program") -> Bursts:
    """Find the bursts of I/O of a trace.

    Parameters
    ----------
    trace : Trace
        With a timeline.
    gap : float
        Seconds, 0 or at least 1e-9. A burst ends where no operation begins within `gap` of the
        latest end so far.
    by : {"program", "rank"}
        Operations of all processes together, or of each process by itself.

    Returns
    -------
    bursts : Bursts
        In the order of process and start.

    Raises
    ------
    ModelError
        If the trace has no timeline, or `gap` or `by` is out of range.

    Notes
    -----
    The threshold decides how many bursts there are, and nothing in a trace says which is right:
    see `gap_sensitivity`. O(n log n) for n operations.

    Examples
    --------
    >>> trace = Trace([0, 0, 1], [0, 1.5, 6], [1, 2, 7], ["read"] * 3, processes=2, duration=10)
    >>> bursts = find_bursts(trace, gap=1.0)
    >>> bursts.start, bursts.end, bursts.pauses
    (array([0., 6.]), array([2., 7.]), array([0.5, 0. ]))
    """
    gap = _checked_gap(gap)
    owner, start, end, rank = operations(trace, by)
    io = trace.is_io
    order, first = runs(owner, start, end, gap)
    burst = np.empty(start.size, dtype=np.int64)
    burst[order] = np.repeat(np.arange(first.size), np.diff(np.append(first, start.size)))
    sizes = np.bincount(burst, minlength=first.size)
    begins = start[order][first]
    ends = running_ends(end[order], first)
    moved = trace.bytes[io]
    total = np.bincount(burst, np.maximum(moved, 0), first.size)
    unknown = np.bincount(burst, moved < 0, first.size) > 0
    who, active = unions(burst * trace.processes + rank, start, end)
    by_rank = who[0] // trace.processes
    pieces, busy = unions(burst, start, end)
    overlap = _overlapping_computation(trace, by, first.size, pieces, rank[order][first])
    warnings: tuple[str, ...] = ()
    if gap < trace.resolution:
        warnings = (
            f"The gap is below the width of a bin, {trace.resolution:.4g} s: pauses that short "
            f"cannot be seen in this trace.",
        )
    return Bursts(
        trace,
        gap,
        by,
        rank[order][first] if by == "rank" else np.full(first.size, PROGRAM),
        begins,
        ends,
        sizes,
        np.bincount(np.unique(burst * trace.processes + rank) // trace.processes, minlength=first.size),
        np.where(unknown, UNKNOWN, total).astype(np.int64),
        np.bincount(pieces[0], busy, first.size).astype(float),
        np.bincount(by_rank, active, first.size).astype(float),
        overlap,
        warnings,
    )


def _checked_gap(gap: object) -> float:
    if isinstance(gap, numbers.Real) and not isinstance(gap, bool) and gap == 0:
        return 0.0
    return positive("gap", gap, least=SHORTEST_GAP, most=LARGEST, why=" s or 0")


def operations(trace: Trace, by: str) -> tuple[Ints, Array, Array, Ints]:
    """Return the owner, the start, the end and the process of each I/O operation.

    Parameters
    ----------
    trace : Trace
        With a timeline.
    by : {"program", "rank"}
        Whether one owner has all operations, or each process its own.

    Raises
    ------
    ModelError
        If `trace` is none, or has no timeline.
    """
    if not isinstance(trace, Trace):
        raise ModelError(f"trace must be a Trace, got {type(trace).__name__}")
    one_of("by", by, ("program", "rank"))
    if not trace.complete:
        raise ModelError(
            "the trace has no timeline, only totals, so bursts cannot be seen in it; trace with "
            "DXT_ENABLE_IO_TRACE=1, or take phase_of_totals for the whole run"
        )
    io = trace.is_io
    rank = trace.rank[io]
    owner = rank if by == "rank" else np.zeros(rank.size, dtype=np.int64)
    return owner, trace.start[io], trace.end[io], rank


def computation(trace: Trace, by: By) -> tuple[Ints, Array, Array] | None:
    """Return the owner, the start and the end of each stretch of recorded computation; None without any.

    Parameters
    ----------
    trace : Trace
        The run.
    by : {"program", "rank"}
        Whether stretches in which any process computed, or those of each by itself.
    """
    computing = ~trace.is_io
    if not computing.any():
        return None
    rank = trace.rank[computing]
    owner = rank if by == "rank" else np.zeros(rank.size, dtype=np.int64)
    return unions(owner, trace.start[computing], trace.end[computing])[0]


def _overlapping_computation(
    trace: Trace, by: str, bursts: int, busy: tuple[Ints, Array, Array], ranks: Ints
) -> Array | None:
    """Computation while a burst is busy, seconds of one process (bursts,)."""
    if (computed := computation(trace, "rank")) is None:
        return None
    owner, begins, ends = computed
    total = np.zeros(bursts)
    for one in np.unique(ranks) if by == "rank" else [None]:
        mine = slice(None) if one is None else owner == one
        here = slice(None) if one is None else ranks[busy[0]] == one
        done = work_done(begins[mine], ends[mine], *(x[here] for x in busy[1:]))
        total += np.bincount(busy[0][here], done, bursts)
    return total
