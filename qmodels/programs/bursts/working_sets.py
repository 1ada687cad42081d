"""Working sets of one traced run, and the program that they make."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import boolean
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError
from qmodels.programs.bursts.change_points import SCATTER, Run, find_runs
from qmodels.programs.bursts.detection import find_bursts
from qmodels.programs.bursts.phases import TracePhases, find_phases, phase_of_totals
from qmodels.programs.laws import AnyLaw, checked_law, checked_point, evaluate
from qmodels.programs.model import Program
from qmodels.programs.phases import Burst, Phase, WorkingSet
from qmodels.programs.quantities import SMALLEST, positive
from qmodels.programs.traces import Trace

if TYPE_CHECKING:
    import pandas as pd


#: Seconds below which times are not told apart when phases are compared.
TICK = 1e-6


@dataclass(frozen=True, eq=False)
class FoundWorkingSets(Result):
    """Runs of like phases, or of like sets of phases, in the order of the run.

    Parameters
    ----------
    phases : TracePhases
        The phases that were parted.
    runs : tuple of Run
        First phase (from 0), phases of the set, and how often the set is gone through.
    """

    drawing = Drawing("set", ("io", "cpu"), labels=("working set", "seconds"))

    phases: TracePhases
    runs: tuple[Run, ...]
    method: str = "approximate"  #: how good the answer is

    def __len__(self) -> int:
        return len(self.runs)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per phase of each set: mean seconds, and coefficients of variation."""
        rows = []
        for number, run in enumerate(self.runs, 1):
            for j in range(run.period):
                row: list[float] = [number, run.first + 1, run.repeat, j + 1]
                for times in (self.phases.io, self.phases.cpu):
                    mine = _times_of_member(times, run, j)
                    mean = float(mine.mean())
                    row += [mean, float(mine.std()) / mean if mean > 0 else 0.0]
                rows.append(row)
        names = ["set", "first", "repeat", "phase", "io", "io_cv", "cpu", "cpu_cv"]
        return data_frame(rows, columns=names)

    def table(self) -> str:
        """Return a line per working set."""
        lines = []
        for number, run in enumerate(self.runs, 1):
            last = run.first + run.period * run.repeat
            io, cpu = (float(x[run.first : last].sum()) for x in (self.phases.io, self.phases.cpu))
            like = "phase" if run.period == 1 else f"set of {run.period} phases"
            lines.append(
                f"working set {number}: phases {run.first + 1} to {last}, {run.repeat} x one "
                f"{like}; {io:.6g} s of I/O, {cpu:.6g} s of computation"
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class TracedProgram(Result):
    """A program made of one run, and what had to be assumed about it.

    Parameters
    ----------
    program : Program
        Working sets whose mean times on (`processors`, `disks`) add up to the run's duration.
    processors, disks : float
        What the run had.
    io_law, cpu_law : law
        How I/O and computation are assumed to scale; no single run can tell.
    working_sets : FoundWorkingSets
        The working sets that it was made of.
    assumed : tuple of str
        A sentence each.
    """

    program: Program
    processors: float
    disks: float
    io_law: AnyLaw
    cpu_law: AnyLaw
    working_sets: FoundWorkingSets
    assumed: tuple[str, ...]
    method: str = "approximate"  #: how good the answer is

    def table(self) -> str:
        """Return the working sets as text, and what was assumed."""
        return "\n".join([self.working_sets.table(), *self.assumed])

    def to_frame(self) -> pd.DataFrame:
        """Return the working sets, a row per phase of each, seconds as measured."""
        return self.working_sets.to_frame()

    def plot(self, ax: Any = None) -> Any:
        """Draw the signature of the program; see `Program.plot`."""
        return self.program.plot(ax)


def find_working_sets(
    phases: TracePhases, *, longest_period: int = 4, scatter: float = SCATTER
) -> FoundWorkingSets:
    """Find the working sets of a run: like phases that follow each other.

    Parameters
    ----------
    phases : TracePhases
        At most 5,000.
    longest_period : int
        Largest set of phases that may repeat, 1 to 64.
    scatter : float
        How far, relatively, like phases are expected to lie apart, 0.001 to 1.

    Returns
    -------
    working_sets : FoundWorkingSets
        Runs of like phases, in their order.

    Raises
    ------
    ModelError
        If there are too many phases, or an option is out of range.

    Notes
    -----
    A working set is a longest run of consecutive, statistically identical phases, or of identical
    sets of phases [1]_. It is looked for in the logarithms of the times of both components with
    `change_points.find_runs`: the most probable partition. Times below a microsecond, or below
    the resolution of the trace, count as that long.

    References
    ----------
    .. [1] Rosti et al. 1998, section 2.

    Examples
    --------
    >>> starts = np.array([0, 10, 20, 30, 70, 110.0])
    >>> trace = Trace([0] * 6, starts, starts + [1, 1, 1, 8, 8, 8], ["write"] * 6, 1, 150.0)
    >>> print(find_working_sets(find_phases(find_bursts(trace, gap=1.0))).table())
    working set 1: phases 1 to 3, 3 x one phase; 3 s of I/O, 27 s of computation
    working set 2: phases 4 to 6, 3 x one phase; 24 s of I/O, 96 s of computation
    """
    if not isinstance(phases, TracePhases):
        raise ModelError(f"phases must be TracePhases, got {type(phases).__name__}")
    if (
        isinstance(longest_period, bool)
        or not isinstance(longest_period, numbers.Integral)
        or not 1 <= longest_period <= 64
    ):
        raise ModelError(f"longest_period must be a whole number from 1 to 64, got {longest_period!r:.60}")
    scatter = positive("scatter", scatter, least=1e-3, most=1.0)
    times = np.column_stack([phases.io, phases.cpu])
    values = np.log(np.maximum(times, max(TICK, phases.trace.resolution)))
    runs = find_runs(values, longest_period=int(longest_period), scatter=scatter)
    return FoundWorkingSets(phases, tuple(runs))


def to_program(
    trace: Trace,
    gap: float | None,
    *,
    disks: float,
    processors: float | None = None,
    io_law: AnyLaw | str = "d",
    cpu_law: AnyLaw | str = "p",
    name: str = "",
    samples: bool = False,
) -> TracedProgram:
    """Make a program of one run.

    Parameters
    ----------
    trace : Trace
        The run.
    gap : float or None
        Threshold between bursts, seconds, as in `find_bursts`. None: one phase out of the totals,
        see `phase_of_totals`.
    disks, processors : float
        What the run had. By default as many processors as processes.
    io_law, cpu_law : str or callable
        How both components are *assumed* to scale, see `parse_law`.
    name : str
        Of the program.
    samples : bool
        Whether a burst keeps the times measured in its working set, to be drawn from, or only
        their mean.

    Returns
    -------
    traced : TracedProgram
        Its `program` takes the run's duration on the run's own allotment, to rounding.

    Raises
    ------
    ModelError
        If an argument is out of range, or the trace has not what `gap` asks for.

    Notes
    -----
    T_11 = T_pd h(p, d) / h(1, 1) for both components: a run on one allotment says nothing about
    scaling, the laws are the caller's. With runs on three allotments or more, `fit_runs` learns
    them.

    Examples
    --------
    >>> trace = Trace([0, 1], [1.0, 6.0], [3.0, 7.0], ["read"] * 2, processes=2, duration=10.0)
    >>> traced = to_program(trace, gap=1.0, disks=1)
    >>> float(traced.program.mean_time(2, 1)), float(traced.program.mean_time(1, 1))
    (10.0, 17.0)
    """
    phases = phase_of_totals(trace) if gap is None else find_phases(find_bursts(trace, gap))
    p, d = checked_point(trace.processes if processors is None else processors, disks)
    boolean("samples", samples)
    laws = checked_law("io_law", io_law), checked_law("cpu_law", cpu_law)
    one = np.asarray(1.0)
    factors = [float(evaluate(law, np.asarray(p), np.asarray(d)) / evaluate(law, one, one)) for law in laws]
    working_sets = find_working_sets(phases)
    sets = []
    for run in working_sets.runs:
        members = []
        for j in range(run.period):
            times = [_times_of_member(x, run, j) for x in (phases.io, phases.cpu)]
            bursts = [
                Burst((x if samples else float(x.mean())) * factor, law=law)
                for x, factor, law in zip(times, factors, laws, strict=True)
            ]
            if sum(float(burst.mean_time(1.0, 1.0)) for burst in bursts) >= SMALLEST:
                members.append(Phase(*bursts))
        if members:  # a burst of no length at the very end has none
            sets.append(WorkingSet(run.repeat, members))
    assumed = [
        f"How it scales is assumed, not measured: I/O as {laws[0]}, computation as {laws[1]}.",
        *phases.assumed,
    ]
    if processors is None:
        assumed.insert(1, f"The run is taken to have had a processor per process, {p:g}.")
    return TracedProgram(Program(sets, name), p, d, *laws, working_sets, tuple(assumed))


def _times_of_member(times: Array, run: Run, j: int) -> Array:
    """Times of the j-th phase of the set each time it is gone through."""
    return times[run.first + j : run.first + run.period * run.repeat : run.period]
