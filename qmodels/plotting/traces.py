"""Measured runs over time: segments of every rank, bursts, and what the gap threshold decides."""

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
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    axes_or_new,
    merged_intervals,
    rectangles,
    set_legend,
    set_title,
)
from qmodels.words import counted

_MOST_LANES = 200  # of 5 in. at 150 dpi
_PIXELS = 500  # narrower bars may fall between the points of the screen
_KINDS = {"read": SKY, "write": BLUE, "io": PURPLE, "compute": ORANGE}


@runtime_checkable
class Traced(Protocol):
    """Trace as it is drawn, as `qmodels.programs.Trace` is one."""

    @property
    def rank(self) -> Any:
        """Rank of each segment, (n,)."""

    @property
    def start(self) -> Array:
        """Seconds from the start of the program, (n,)."""

    @property
    def end(self) -> Array:
        """Seconds, (n,)."""

    @property
    def kind(self) -> Any:
        """``"read"``, ``"write"`` or ``"compute"``, (n,)."""

    @property
    def processes(self) -> int:
        """Ranks of the program."""

    @property
    def duration(self) -> float:
        """Seconds the program took."""


def trace_diagram(trace: Traced, *, bursts: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the segments of a measured run, a lane for each rank, and the bursts found in them.

    Parameters
    ----------
    trace : Trace
        From `qmodels.io.read_trace`.
    bursts : Bursts, optional
        From `qmodels.programs.find_bursts`; shaded, with the threshold that made them.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If `trace` is none, or has no segments to draw.

    Notes
    -----
    Gaps too short to be seen are closed, and more than 200 ranks share lanes.

    References
    ----------
    .. [1] Rosti et al. 1998, figure 1.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> trace = SimpleNamespace(
    ...     rank=np.array([0, 1]), start=np.array([0.0, 1.0]), end=np.array([0.5, 2.0]),
    ...     kind=np.array(["read", "write"]), processes=2, duration=3.0, source="run.csv")
    >>> [text.get_text() for text in trace_diagram(trace).get_legend().get_texts()]
    ['read', 'write']
    """
    if not isinstance(trace, Traced):
        raise ModelError(f"trace must be a Trace (see qmodels.io.read_trace), got {type(trace).__name__}")
    rank, start, end = (np.asarray(x, dtype=float) for x in (trace.rank, trace.start, trace.end))
    kind = np.asarray(trace.kind).astype(str)
    if not start.size:
        raise ModelError("the trace has no segments to draw, only totals")
    ranks = max(int(trace.processes), int(rank.max()) + 1)
    lanes = min(ranks, _MOST_LANES)
    lane = np.floor(np.maximum(rank, 0.0) * lanes / ranks)
    ax = axes_or_new(ax, figsize=(7.5, min(5.0, 1.6 + 0.16 * lanes)))
    span = max(float(trace.duration), float(end.max()))
    handles = []
    if bursts is not None:
        handles = [_shade(ax, bursts, lanes / ranks)]
    for name, colour in _KINDS.items():
        chosen = kind == name
        if chosen.any():
            bars = _bars(start[chosen], end[chosen], lane[chosen], span)
            ax.add_collection(PolyCollection(bars, facecolors=colour, linewidths=0, snap=False, zorder=2))
            handles.append(Patch(color=colour, label="I/O" if name == "io" else name))
    ax.set(xlim=(0.0, span), ylim=(lanes - 0.5, -0.5))
    ax.set_xlabel("execution time [s]")
    ax.set_ylabel("rank")
    shown = np.unique(np.linspace(0, lanes - 1, min(lanes, 6)).astype(int))
    ax.set_yticks(shown.tolist(), [f"{np.ceil(i * ranks / lanes):.0f}" for i in shown])
    set_legend(ax, handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    title = f"{counted(start.size, 'segment')} on {counted(ranks, 'rank')}"
    if bursts is not None:
        title += f"; {counted(np.size(bursts.start), 'burst')} with gaps over {bursts.gap:g} s"
    set_title(ax, _file_name(trace), title)
    return ax


def gap_sensitivity(table: Any, *, chosen: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw how many bursts a trace falls into, over the threshold that parts them.

    Parameters
    ----------
    table : GapSensitivity
        From `qmodels.programs.gap_sensitivity`.
    chosen : float, optional
        A threshold in seconds to mark.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If `table` has no rows of thresholds and counts.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> table = SimpleNamespace(gaps=[0.01, 0.1, 1.0], bursts=[47, 13, 9])
    >>> gap_sensitivity(table, chosen=0.1).get_ylabel()
    'bursts'
    """
    try:
        gaps, counts = (np.asarray(getattr(table, x), dtype=float) for x in ("gaps", "bursts"))
    except (AttributeError, TypeError, ValueError):
        gaps = counts = np.zeros(0)
    shown = gaps > 0  # a threshold of zero has no place on a logarithmic axis
    if gaps.ndim != 1 or gaps.shape != counts.shape or not shown.any():
        raise ModelError(f"table must hold gaps > 0 and bursts, got {type(table).__name__}")
    gaps, counts = gaps[shown], counts[shown]
    ax = axes_or_new(ax, figsize=(5.5, 3.4))
    ax.plot(gaps, counts, color=BLUE, marker="o", ms=4, lw=1.2)
    ax.set(xscale="log", xlabel="gap that parts two bursts [s]", ylabel="bursts")
    if counts.max() > 20 * max(counts.min(), 1.0):
        ax.set_yscale("log")
    else:
        ax.set_ylim(0, 1.08 * counts.max())
    ax.grid(lw=0.3)
    plateau = getattr(table, "plateau", None)
    if plateau is not None:
        label = f"widest plateau: {counted(table.plateau_bursts, 'burst')}"
        ax.axvspan(*plateau, color=GREY, alpha=0.18, lw=0, label=label)
        set_legend(ax, fontsize=8, loc="best")
    if chosen is not None:
        ax.axvline(chosen, color=RED, lw=1.0, ls="--")
        ax.annotate(
            f"{chosen:g} s",
            (chosen, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            va="top",
            fontsize=8,
            color=RED,
        )
    set_title(ax, "", "the threshold decides how many bursts there are")
    return ax


def _bars(start: Array, end: Array, lane: Array, span: float) -> Any:
    order = np.lexsort((start, lane))
    start, end, lane = start[order], end[order], lane[order]
    # An instant is drawn one pixel wide; lanes are laid end to end, so that one pass joins all.
    end = np.maximum(end, start + span / _PIXELS)
    shift = lane * (2.0 * span + 1.0)
    begin, last = merged_intervals(start + shift, end + shift, span / _PIXELS)
    at = np.floor(begin / (2.0 * span + 1.0))
    return rectangles(begin - at * (2.0 * span + 1.0), last - at * (2.0 * span + 1.0), at, 0.84)


def _shade(ax: Axes, bursts: Any, lanes_per_rank: float) -> Patch:
    """Shade the bursts: over all lanes, or each in the lane of its rank."""
    try:
        start, end = (np.asarray(getattr(bursts, x), dtype=float) for x in ("start", "end"))
        gap, rank = float(bursts.gap), np.asarray(getattr(bursts, "rank", -1), dtype=float)
    except (AttributeError, TypeError, ValueError):
        raise ModelError(f"bursts must be Bursts, got {type(bursts).__name__}") from None
    if start.size and rank.shape == start.shape and rank.min() >= 0:
        bars = rectangles(start, end, np.floor(rank * lanes_per_rank), 1.0)
        ax.add_collection(PolyCollection(bars, facecolors=GREY, alpha=0.25, lw=0, zorder=0))
    else:
        for a, b in zip(*merged_intervals(start, end, 0.0), strict=True):
            ax.axvspan(a, b, color=GREY, alpha=0.25, lw=0, zorder=0)
    return Patch(color=GREY, alpha=0.25, label=f"burst\n(gap > {gap:g} s)")


def _file_name(trace: Any) -> str:
    return str(getattr(trace, "source", "")).rpartition("/")[2]
