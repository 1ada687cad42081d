"""Phases of one traced run: a burst of I/O and the computation that follows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.programs.bursts.columns import check_columns, frame_of_columns
from qmodels.programs.bursts.detection import Bursts, computation
from qmodels.programs.bursts.intervals import work_done
from qmodels.programs.traces import Trace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class TracePhases(Result):
    """Phases of one run: a burst of I/O and the computation up to the next, again and again.

    Parameters
    ----------
    io, cpu : (n,) ndarray
        Seconds of both components of each phase; they add up to the duration of the run. `io`
        is the whole length of the burst. The first phase has no I/O where the run does not
        begin with a burst.
    pauses : (n,) ndarray
        Seconds of `io` in which nobody did I/O.
    others : (n,) ndarray
        Seconds of one process that were not I/O while another process did I/O.
    compute_overlap : (n,) ndarray or None
        Of `others` and of I/O that did not hold its process up: recorded as computation.
    trace : Trace
        The run.
    gap : float or None
        The threshold, seconds; None where the counters of the whole run make one phase.
    assumed : tuple of str
        What was taken for granted, a sentence each.
    recorded : (n,) ndarray, optional
        Of `cpu`, the seconds that the mean process with any computation on record spent
        computing by that record; None where the trace records none. The rest of `cpu` is
        waiting, communication, and what the tracer did not see.
    """

    drawing = Drawing("phase", ("io", "cpu"), labels=("phase", "seconds"))

    io: Array
    cpu: Array
    pauses: Array
    others: Array
    compute_overlap: Array | None
    trace: Trace
    gap: float | None
    assumed: tuple[str, ...]
    recorded: Array | None = None

    def __post_init__(self) -> None:
        check_columns(self, _COLUMNS, "io")

    def __len__(self) -> int:
        return int(self.io.size)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per phase."""
        return frame_of_columns(self, _COLUMNS)

    def drawn(self) -> pd.DataFrame:
        """Return the table of `to_frame` with the number of the phase."""
        frame = self.to_frame()
        return frame.assign(phase=range(1, len(frame) + 1))

    def table(self) -> str:
        """Return the sums of the phases as text, and what was assumed."""
        io, cpu = float(self.io.sum()), float(self.cpu.sum())
        lines = [
            f"{len(self)} phases: {io:.6g} s of I/O, {cpu:.6g} s of computation",
            f"counted as I/O: {self.pauses.sum():.6g} s of pauses, {self.others.sum():.6g} "
            f"process-seconds of processes without I/O",
        ]
        if self.recorded is not None:
            lines.append(f"of the computation {self.recorded.sum():.6g} s are on record")
        if self.compute_overlap is not None:
            overlap = self.compute_overlap.sum()
            lines.append(f"of that recorded as computation: {overlap:.6g} process-seconds")
        return "\n".join([*lines, *self.assumed])


_COLUMNS = ("io", "cpu", "recorded", "pauses", "others", "compute_overlap")


def find_phases(bursts: Bursts) -> TracePhases:
    """Join each burst with the computation that follows it.

    Parameters
    ----------
    bursts : Bursts
        Of the program.

    Returns
    -------
    phases : TracePhases
        A run without I/O is one phase.

    Raises
    ------
    ModelError
        If the bursts are those of single processes.

    Notes
    -----
    What precedes the first burst is a phase without I/O. Pauses and overlap within a burst count
    as I/O, and all time outside bursts as computation; both are reported.

    Examples
    --------
    >>> from qmodels.programs.bursts import find_bursts
    >>> trace = Trace([0, 0], [1.0, 6.0], [3.0, 7.0], ["read"] * 2, processes=1, duration=10.0)
    >>> phases = find_phases(find_bursts(trace, gap=1.0))
    >>> phases.io, phases.cpu
    (array([0., 2., 1.]), array([1., 3., 3.]))
    """
    if not isinstance(bursts, Bursts):
        raise ModelError(f"bursts must be Bursts, got {type(bursts).__name__}; use find_bursts")
    if bursts.by != "program":
        raise ModelError("phases are those of the program; find the bursts with by='program'")
    end = np.append(bursts.start, bursts.trace.duration)
    io, cpu = bursts.seconds, end[1:] - bursts.end
    leads = end[0] > 0  # also where there is no burst at all

    def led(column: Array, before: float = 0.0) -> Array:
        return np.concatenate([[before], column]) if leads else column.copy()

    overlap = bursts.compute_overlap
    begins = np.concatenate([[0.0] if leads else [], bursts.end])
    return TracePhases(
        led(io),
        led(cpu, float(end[0])),
        led(bursts.pauses),
        led(bursts.others),
        None if overlap is None else led(overlap),
        bursts.trace,
        bursts.gap,
        (
            f"Pauses of I/O up to {bursts.gap:.4g} s belong to a burst.",
            _unrecorded(bursts),
            *bursts.warnings,
        ),
        _recorded_computation(bursts.trace, begins, np.maximum(begins, end if leads else end[1:])),
    )


def phase_of_totals(trace: Trace) -> TracePhases:
    """Make one phase of the counters of a whole run.

    Parameters
    ----------
    trace : Trace
        With `Trace.totals`; its timeline, if any, is not used.

    Returns
    -------
    phases : TracePhases
        One phase: I/O of the mean process, metadata included, and computation for the rest.

    Raises
    ------
    ModelError
        If there are no totals, or their I/O exceeds the duration for the mean process.

    Examples
    --------
    >>> from qmodels.programs.traces import IOTotals
    >>> totals = IOTotals([-1], [6.0], [1.0], [1.0], [10], [10], [0.0], [9.0])
    >>> trace = Trace([], [], [], [], processes=4, duration=10.0, complete=False, totals=totals)
    >>> phase = phase_of_totals(trace)
    >>> phase.io, phase.cpu
    (array([2.]), array([8.]))
    """
    if not isinstance(trace, Trace):
        raise ModelError(f"trace must be a Trace, got {type(trace).__name__}")
    if trace.totals is None:
        raise ModelError("the trace has no totals; use find_bursts and find_phases")
    io = trace.totals.seconds / trace.processes
    if io > trace.duration:
        raise ModelError(
            f"the counters give each of {trace.processes} processes {io:.6g} s of I/O in a run of "
            f"{trace.duration:.6g} s; operations overlap or the counters are wrong, so no "
            f"phase can be made of them"
        )
    nothing = np.zeros(1)
    assumed = (
        "All I/O is taken to be one burst, of the length that it took the mean process.",
        "What is neither reading, writing nor metadata is taken to be computation.",
    )
    rest = np.array([trace.duration - io])
    return TracePhases(np.array([io]), rest, nothing, nothing.copy(), None, trace, None, assumed)


def _recorded_computation(trace: Trace, start: Array, end: Array) -> Array | None:
    """Recorded computation of the mean process that has any, within each stretch."""
    if (computed := computation(trace, "rank")) is None:
        return None
    rank, begins, ends = computed
    return work_done(begins, ends, start, end) / np.unique(rank).size


def _unrecorded(bursts: Bursts) -> str:
    trace, between = bursts.trace, bursts.compute_intervals()
    if (computed := computation(trace, "program")) is None:
        return "All time outside bursts counts as computation, whatever was done in it."
    _, begins, ends = computed
    seconds = float((between[:, 1] - between[:, 0]).sum())
    recorded = float(work_done(begins, ends, between[:, 0], between[:, 1]).sum())
    return (
        f"All time outside bursts counts as computation: {seconds:.6g} s, of which "
        f"{max(seconds - recorded, 0.0):.6g} s without any on record."
    )
