"""Programs over their execution time: phases, working sets and their signature."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.patches import Patch

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    BLUE,
    ORANGE,
    axes_or_new,
    merged_intervals,
    rectangles,
    set_legend,
    set_title,
)
from qmodels.plotting.traces import Traced, trace_diagram
from qmodels.words import allotment_counted, counted

_MOST_BRACKETS = 12
_PIXELS = 2000  # gaps narrower than the span over this cannot be seen


@runtime_checkable
class Signed(Protocol):
    """Program as its signature is drawn, as `qmodels.programs.Program` is one."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    def signature(self) -> Any:
        """Return relative boundaries, lengths and I/O fractions of the phases."""


@runtime_checkable
class Timed(Protocol):
    """Program as its times on an allotment are drawn, as `qmodels.programs.Program` is one."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    def listed_times(self, p: float, d: float) -> tuple[Array, Array]:
        """Mean I/O and computation of each phase in seconds, two arrays (N,)."""


def signature(program: Signed, *, ax: Axes | None = None) -> Axes:
    """Draw a program's phase signature: I/O and computation over relative execution time.

    Parameters
    ----------
    program : Program
        The program.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Working sets of more than one phase are bracketed above the phases.

    Raises
    ------
    ModelError
        If `program` has no signature (a mixture has none).

    References
    ----------
    .. [1] Rosti et al. 1998, section 2.1, figure 2(b).

    Examples
    --------
    >>> from qmodels.programs import Phase, Program
    >>> signature(Program([Phase(0.0, 1.0), Phase(2.0, 1.0)])).get_xlabel()
    'share of the execution time on one processor and one disk'
    """
    if not isinstance(program, Signed):
        raise ModelError(
            f"only a Program has a phase signature, got {type(program).__name__}; draw the "
            f"programs of a mixture one by one"
        )
    ax = axes_or_new(ax, figsize=(7.5, 2.6))
    drawn = program.signature()
    start, length, share = drawn.boundaries[:-1], drawn.lengths, drawn.io_fraction
    # Many phases would be nothing but edges.
    edge = 0.6 if share.size <= 60 else 0.0
    ax.bar(start, share, length, align="edge", color=BLUE, edgecolor="white", linewidth=edge)
    ax.bar(
        start,
        1.0 - share,
        length,
        bottom=share,
        align="edge",
        color=ORANGE,
        edgecolor="white",
        linewidth=edge,
    )
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_xlabel("share of the execution time on one processor and one disk")
    ax.set_ylabel("share of the phase")
    if share.size <= 30:
        for n, (at, width) in enumerate(zip(start, length, strict=True), start=1):
            if width > 0.02:
                ax.text(
                    at + width / 2,
                    0.97,
                    str(n),
                    ha="center",
                    va="top",
                    fontsize=8,
                    color="white" if share[n - 1] > 0.9 else "black",
                )
    _name_the_colours(ax)
    brackets = _draw_brackets(ax, _working_sets(program), drawn.boundaries)
    pad = 24.0 if brackets else 6.0
    set_title(ax, program.name, counted(share.size, "phase"), pad=pad)
    return ax


def execution_diagram(run: Any, *, p: float = 1.0, d: float = 1.0, ax: Axes | None = None) -> Axes:
    """Draw when a program computes and when it does I/O, over absolute time.

    Parameters
    ----------
    run : Program, Trace or Bursts
        A trace, or the bursts found in one, is drawn rank by rank as it was measured: see
        `trace_diagram`.
    p, d : float
        Processors and disks a program runs on, numbers > 0; a trace has its own.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Of a program one lane for I/O, one for computation; working sets of more than one
        phase are bracketed.

    Raises
    ------
    ModelError
        If `run` is a mixture or something else, or `p` or `d` is no number > 0.

    References
    ----------
    .. [1] Rosti et al. 1998, figures 1, 2(a), 4 and 5.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program
    >>> ax = execution_diagram(Program([Phase(4.0, 12.0)]), p=4, d=2)
    >>> [label.get_text() for label in ax.get_yticklabels()], float(ax.get_xlim()[1])
    (['computation', 'I/O'], 5.0)
    """
    if isinstance(run, Traced):
        return trace_diagram(run, ax=ax)
    if isinstance(getattr(run, "trace", None), Traced):
        return trace_diagram(run.trace, bursts=run, ax=ax)
    if not isinstance(run, Timed):
        raise ModelError(
            f"only a Program, a Trace or its Bursts have an execution diagram, got "
            f"{type(run).__name__}; draw the programs of a mixture one by one"
        )
    io, cpu = run.listed_times(p, d)
    ends = np.cumsum(np.stack([io, cpu], axis=1).ravel())
    starts = np.concatenate([[0.0], ends[:-1]])
    ax = axes_or_new(ax, figsize=(7.5, 2.2))
    for lane, colour, first in ((1.0, BLUE, 0), (0.0, ORANGE, 1)):
        begin, end = merged_intervals(starts[first::2], ends[first::2], ends[-1] / _PIXELS)
        bars = rectangles(begin, end, np.full(begin.size, lane), 0.72)
        ax.add_collection(PolyCollection(bars, facecolors=colour, linewidths=0))
    ax.set(xlim=(0.0, ends[-1]), ylim=(-0.5, 1.5))
    ax.set_yticks([0.0, 1.0], ["computation", "I/O"])
    ax.set_xlabel(f"execution time on {allotment_counted(p, d)} [s]")
    boundaries = np.concatenate([[0.0], ends[1::2]])
    if io.size <= 60:
        ax.vlines(boundaries[1:-1], -0.5, 1.5, color="black", lw=0.4, alpha=0.5)
    brackets = _draw_brackets(ax, _working_sets(run), boundaries / ends[-1])
    share = io.sum() / ends[-1]
    set_title(
        ax,
        run.name,
        f"{counted(io.size, 'phase')}, {share:.0%} of {ends[-1]:.4g} s in I/O",
        pad=24.0 if brackets else 6.0,
    )
    return ax


def _working_sets(program: Any) -> list[tuple[int, int]]:
    """Return (repeat, phases of one turn) of each working set; none where N is random."""
    if getattr(program, "phase_count", None) is not None:
        return []
    return [(int(s.repeat), len(s.phases)) for s in getattr(program, "working_sets", ())]


def _draw_brackets(ax: Axes, sets: list[tuple[int, int]], boundaries: Array) -> bool:
    """Bracket working sets of several phases over the axes; `boundaries` from 0 to 1."""
    if not 1 <= len(sets) <= _MOST_BRACKETS or sum(r * n for r, n in sets) != boundaries.size - 1:
        return False
    place, drawn = 0, False
    for repeat, phases in sets:
        first, place = place, place + repeat * phases
        left, right = boundaries[first], boundaries[place]
        if repeat * phases == 1 or right - left < 0.01:
            continue
        inset = min(0.002, (right - left) / 10)
        ax.plot(
            [left + inset, left + inset, right - inset, right - inset],
            [1.02, 1.06, 1.06, 1.02],
            transform=ax.transAxes,
            color="black",
            lw=0.9,
            clip_on=False,
        )
        turns = f"{repeat} \u00d7 {phases}" if phases > 1 else f"{repeat}"
        texts = (f"working set of {turns} phases", f"{turns} phases", turns, "")
        text = next(t for t in texts if right - left > 0.0125 * len(t))
        ax.text(
            (left + right) / 2,
            1.075,
            text,
            transform=ax.transAxes,
            ha="center",
            va="bottom",
            fontsize=8,
        )
        drawn = True
    return drawn


def _name_the_colours(ax: Axes) -> None:
    handles = [Patch(color=BLUE, label="I/O"), Patch(color=ORANGE, label="computation")]
    set_legend(ax, handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
