"""Phases that several runs of one program have in common, so that their times can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array, read_only
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.programs.bursts.change_points import MOST_VALUES, find_runs
from qmodels.programs.bursts.detection import find_bursts
from qmodels.programs.bursts.phases import TracePhases, find_phases, phase_of_totals
from qmodels.programs.bursts.sensitivity import pauses_of
from qmodels.programs.bursts.working_sets import TICK
from qmodels.programs.traces import Trace

#: Phases above which like ones are added up: a law is learnt for each burst of each.
MOST_PHASES = 6

_CLEAR = 1.5  # ratio of the pauses above and below a threshold that tells two kinds apart
_LEAD = 0.02  # share of a run below which its time before the first burst is no phase
_SLIGHT = 1e-3  # share of every run below which a component is not followed by itself
_BRIEF = 0.01  # of the median operation, below which a pause parts nothing in any run
_ALONE = 1.0  # seconds, the threshold of a run without two kinds of pauses


@dataclass(frozen=True, eq=False)
class CommonPhases(Record):
    """Seconds of each run in each phase of the program.

    Parameters
    ----------
    io, cpu : (runs, phases) ndarray
        Seconds of wall time, which add up to the duration of each run. A column of zeros is a
        component that the phase does not have.
    remarks : tuple of str
        How the phases were found, a sentence each.
    """

    io: Array
    cpu: Array
    remarks: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.io.ndim != 2 or self.io.shape != self.cpu.shape:
            raise ModelError(f"io has shape {self.io.shape}, cpu {self.cpu.shape}")
        for column in (self.io, self.cpu):
            read_only(column)


def common_phases(traces: Sequence[Trace], gap: float | None = None) -> CommonPhases:
    """Find phases that runs of one program on several allotments have in common.

    Parameters
    ----------
    traces : sequence of Trace
        At least one.
    gap : float, optional
        Threshold between two bursts, for all runs. By default each run has its own, between the
        k longest of its pauses and the others, where k is the same for all runs: that k for which
        the two kinds of pauses differ most in the run where they differ least.

    Returns
    -------
    phases : CommonPhases
        Seconds of each run in each phase.

    Raises
    ------
    ModelError
        If a trace is none, or its totals are impossible.

    Notes
    -----
    Pauses shorten as processors are added, so one threshold for all runs would part some within
    their bursts. Where the runs show no such k, or one has no timeline but totals, each is
    one phase. More than six phases are added up: those in the same place of a working set of
    the mean run make one. Where every trace records computation, that is what a phase's `cpu`
    is, of the mean process, and all time of a run that is neither makes a phase of its own at
    the end. Components below a thousandth of every run count with the other one of their phase.

    Examples
    --------
    >>> def run(p):
    ...     start = np.array([0.0, 1 + 8 / p, 2 + 16 / p])
    ...     return Trace([0] * 3, start, start + 1, ["write"] * 3, p, 3 + 24 / p)
    >>> found = common_phases([run(1), run(2), run(8)])
    >>> found.cpu
    array([[8., 8., 8.],
           [4., 4., 4.],
           [1., 1., 1.]])
    """
    if not traces or not all(isinstance(trace, Trace) for trace in traces):
        raise ModelError("common phases are those of one trace or more")
    remarks: list[str] = []
    if not all(trace.complete for trace in traces):
        phases_of_runs = [_whole_run(trace) for trace in traces]
        remarks.append(
            "Some runs have no timeline, so each run is one phase: I/O of the mean process by the "
            "counters, and the rest as computation."
        )
        return _common_phases(phases_of_runs, None, None, remarks)
    gaps, agreed = _thresholds(traces, gap)
    bursts = [find_bursts(trace, each) for trace, each in zip(traces, gaps, strict=True)]
    phases_of_runs = [find_phases(each) for each in bursts]
    leads = [len(phases) > len(each) for phases, each in zip(phases_of_runs, bursts, strict=True)]
    counts = {len(each) for each in bursts}
    spread = f"{min(gaps):.3g}" if len(set(gaps)) == 1 else f"{min(gaps):.3g} to {max(gaps):.3g}"
    if len(counts) > 1 or not agreed:
        remarks.append(
            f"The runs have {min(counts)} to {max(counts)} bursts of I/O at a gap of {spread} s, "
            f"and none that parts all alike, so each run is one phase: all its bursts, and all "
            f"time between them."
        )
        return _common_phases([_summed_run(phases) for phases in phases_of_runs], None, None, remarks)
    (count,) = counts
    remarks.append(
        f"Each run has {count} burst{'s' if count != 1 else ''} of I/O, parted by pauses over "
        f"{spread} s: the threshold decides (--gap), nothing in a trace does."
    )
    times = [_columns(phases, lead) for phases, lead in zip(phases_of_runs, leads, strict=True)]
    io, cpu = (np.array([row[k] for row in times]) for k in (0, 1))
    recorded = None
    if all(row[2] is not None for row in times):
        recorded = np.array([row[2] for row in times])
    return _settled_columns(traces, io, cpu, recorded, remarks)


def _thresholds(traces: Sequence[Trace], gap: float | None) -> tuple[list[float], bool]:
    """A threshold for each run, and whether they all have as many bursts by intention."""
    if gap is not None:
        return [gap] * len(traces), True
    ordered = []
    for trace in traces:
        pauses, _, shortest = pauses_of(trace)
        # In falling order, and behind the last that counts what all others are shorter than. That
        # as many runs have as many pauses is evidence for them that a single run cannot give, so
        # pauses shorter than an operation count too.
        brief = _BRIEF * shortest
        ordered.append(np.append(pauses[pauses > brief][::-1], brief))
    most = min(min(lengths.size for lengths in ordered) - 1, MOST_VALUES)
    if most > 0:
        ratios = np.array([lengths[:most] / lengths[1 : most + 1] for lengths in ordered])
        k = int(np.argmax(ratios.min(axis=0)))
        if ratios[:, k].min() >= _CLEAR:
            return [float(np.sqrt(x[k] * x[k + 1])) for x in ordered], True
    every_one_whole = all(lengths.size == 1 for lengths in ordered)
    # Nothing parts them alike: each by its own widest step, or together where there is none.
    gaps = []
    for lengths in ordered:
        at = int(np.argmax(lengths[:-1] / lengths[1:])) if lengths.size > 1 else -1
        gaps.append(_ALONE if at < 0 else float(np.sqrt(lengths[at] * lengths[at + 1])))
    return gaps, every_one_whole


def _whole_run(trace: Trace) -> TracePhases:
    if trace.totals is None:
        phases = find_phases(find_bursts(trace, 0.0))
        return _summed_run(phases)
    try:
        return phase_of_totals(trace)
    except ModelError as error:
        raise ModelError(f"{trace.source}: {error}") from None


def _summed_run(phases: TracePhases) -> TracePhases:
    """All phases of a run added up."""

    def total(x: Array) -> Array:
        return np.array([x.sum()])

    return TracePhases(
        total(phases.io),
        total(phases.cpu),
        total(phases.pauses),
        total(phases.others),
        None,
        phases.trace,
        phases.gap,
        phases.assumed,
        None if phases.recorded is None else total(phases.recorded),
    )


def _columns(phases: TracePhases, lead: bool) -> tuple[Array, Array, Array | None]:
    """I/O, computation and what of it is recorded; the first entry is what precedes all bursts."""

    def led(x: Array) -> Array:
        return x if lead else np.concatenate([[0.0], x])

    recorded = None if phases.recorded is None else led(phases.recorded)
    return led(phases.io), led(phases.cpu), recorded


def _settled_columns(
    traces: Sequence[Trace], io: Array, cpu: Array, recorded: Array | None, remarks: list[str]
) -> CommonPhases:
    """Settle what precedes the first burst, and add up like phases where there are many."""
    duration = np.array([trace.duration for trace in traces])
    columns = [x for x in (io, cpu, recorded) if x is not None]
    if io.shape[1] > 1 and (cpu[:, 0] < _LEAD * duration).all():
        for x in columns:
            x[:, 1] += x[:, 0]
        columns = [x[:, 1:] for x in columns]
    many = columns[0].shape[1]
    if many > MOST_PHASES:
        sets = _like_phases(columns[0], columns[1])
        columns = [np.array([x[:, mine].sum(axis=1) for mine in sets]).T for x in columns]
        how = "by their place in working sets" if len(sets) > 1 else "all in one"
        remarks.append(f"The {many} phases of a run are added up {how}: {len(sets)} in the table.")
    return _common_phases(None, duration, columns, remarks)


def _like_phases(io: Array, cpu: Array) -> list[list[int]]:
    """Numbers of the phases that belong together, by the mean run."""
    n = io.shape[1]
    everything = [list(range(n))]
    if n > MOST_VALUES:
        return everything
    values = np.column_stack([np.log(np.maximum(x, TICK)).mean(axis=0) for x in (io, cpu)])
    sets = [
        list(range(run.first + j, run.first + run.period * run.repeat, run.period))
        for run in find_runs(values)
        for j in range(run.period)
    ]
    return sets if len(sets) <= MOST_PHASES else everything


def _common_phases(
    whole: list[TracePhases] | None,
    duration: Array | None,
    columns: list[Array] | None,
    remarks: list[str],
) -> CommonPhases:
    if whole is not None:
        duration = np.array([phases.trace.duration for phases in whole])
        columns = [np.array([x.io for x in whole]), np.array([x.cpu for x in whole])]
        if all(phases.recorded is not None for phases in whole):
            columns.append(np.array([phases.recorded for phases in whole]))
    assert columns is not None
    assert duration is not None
    io, cpu = columns[0].copy(), columns[1].copy()
    slight = _SLIGHT * duration[:, None]
    for component, other in ((io, cpu), (cpu, io)):
        moved = (component < slight).all(axis=0) & (other > 0).any(axis=0)
        other[:, moved] += component[:, moved]
        component[:, moved] = 0.0
    if len(columns) > 2:
        shown = np.minimum(columns[2], cpu)
        rest = (cpu - shown).sum(axis=1, keepdims=True)
        if (rest >= slight).any():
            io = np.hstack([io, np.zeros_like(rest)])
            cpu = np.hstack([shown, rest])
            share = 100 * float((rest[:, 0] / duration).max())
            remarks.append(
                f"Computation is what the traces record as such, of the mean process. Time that is "
                f"neither I/O nor recorded, up to {share:.3g} % of a run, is phase {io.shape[1]} "
                f"of the table."
            )
    for x in (io, cpu):
        # A component that some runs have and others do not: no logarithm of nothing.
        x[:, (x > 0).any(axis=0)] = np.maximum(x[:, (x > 0).any(axis=0)], TICK)
    return CommonPhases(io, cpu, tuple(remarks))
