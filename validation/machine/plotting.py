"""Figures of a machine: who holds which nodes at chosen times, and when.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from phasefit.checks import real_vector
from qmodels.errors import ModelError
from qmodels.plotting.style import GREY, JOB_COLOURS, axes_or_new, rectangles, set_commas, set_title
from qmodels.words import in_words, unit_of
from validation.allocation.plotting import job_map, job_stack
from validation.analysis.plotting import panel_grid

#: Rectangles of the largest Gantt chart; more could not be told apart.
_MOST_BARS = 200_000


def gantt(history: Any, *, ax: Axes | None = None, until: float | None = None) -> Axes:
    """Draw which nodes each job holds over time: one bar for each run of successive nodes.

    Parameters
    ----------
    history : History
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    until : float, optional
        End of the time axis; by default the end of the run, or of as many first jobs as can be
        told apart.

    Returns
    -------
    matplotlib Axes
        Nodes row by row or column by column, whichever leaves the jobs in fewer pieces; jobs in
        twenty colours over and over. Waiting jobs are counted in
        grey below.

    Raises
    ------
    ModelError
        If no job started.
    """
    ax = axes_or_new(ax, figsize=(9.0, 5.0))
    started = np.flatnonzero(np.isfinite(history.start))
    if not started.size:
        raise ModelError("no job started, so there is nothing to draw")
    finish = np.where(np.isfinite(history.finish), history.finish, history.end)
    # The order of the nodes in which jobs fall into fewer pieces.
    mesh = history.mesh
    down = np.arange(mesh.nodes).reshape(-1, mesh.columns).T.ravel().argsort()
    orders = {"node, row by row": np.arange(mesh.nodes), "node, column by column": down}
    some = started[:200].tolist()
    label = min(orders, key=lambda name: sum(_pieces(history.nodes[j], orders[name]) for j in some))
    start, end, lane, height, colour = [], [], [], [], []
    for job in started[np.argsort(history.start[started], kind="stable")].tolist():
        places = np.sort(orders[label][history.nodes[job]])
        for part in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            start.append(history.start[job])
            end.append(finish[job])
            lane.append((part[0] + part[-1]) / 2)
            height.append(float(part.size))
            colour.append(JOB_COLOURS[job % len(JOB_COLOURS)])
        if len(start) > _MOST_BARS:
            break
    shown = float(max(end)) if until is None else float(real_vector("until", [until])[0])
    unit, name = _unit(history, shown)
    bars = rectangles(np.array(start) / unit, np.array(end) / unit, np.array(lane), np.array(height))
    ax.add_collection(PolyCollection(bars, facecolors=colour, edgecolors="white", linewidths=0.2))
    first = float(history.arrival.min())
    ax.set_xlim(first / unit, max(shown, first + 1e-9) / unit)
    below = 0.12 * history.mesh.nodes
    ax.set_ylim(-0.5 - below, history.mesh.nodes - 0.5)
    _queue(ax, history, below, unit)
    ax.set(xlabel=f"time [{name}]", ylabel=label)
    set_commas(ax, "x")
    figure: Any = ax.get_figure()
    ax.xaxis.set_major_locator(MaxNLocator(max(2, int(figure.get_figwidth()))))  # an inch for 100,000
    set_title(ax, history.label)
    return ax


def _unit(history: Any, longest: float) -> tuple[float, str]:
    """The unit of a time axis: cycles, or that in which people would give the longest time."""
    return unit_of(longest) if history.unit == "s" else (1.0, history.unit)


def _told(history: Any, time: float) -> str:
    """A time of a history in words."""
    return in_words(time) if history.unit == "s" else f"{time:,.6g} {history.unit}"


def _pieces(nodes: Any, order: Any) -> int:
    """Runs of successive places that some nodes have in an order."""
    return int(np.count_nonzero(np.diff(np.sort(order[nodes])) > 1)) + 1


def _queue(ax: Axes, history: Any, below: float, unit: float) -> None:
    """How many jobs wait, as an area below the nodes, over times in so long a unit."""
    kept = ~history.rejected
    waits = np.isfinite(history.start[kept])
    times = np.concatenate([history.arrival[kept], history.start[kept][waits]])
    steps = np.concatenate([np.ones(int(kept.sum())), -np.ones(int(waits.sum()))])
    order = np.lexsort((-steps, times))
    level = np.cumsum(steps[order])
    # Of several steps at one time the last level holds.
    last = np.append(np.diff(times[order]) > 0, True)
    times, level = times[order][last], level[last]
    most = max(float(level.max()), 1.0)
    floor = -0.5 - below
    ax.fill_between(
        times / unit,
        floor,
        floor + 0.9 * below * level / most,
        step="post",
        color=GREY,
        alpha=0.6,
        lw=0,
    )
    ax.text(
        0.01,
        0.01,
        f"waiting jobs, at most {int(most if level.max() else 0)}",
        transform=ax.transAxes,
        fontsize=8,
        color="#222222",
    )
    ax.axhline(-0.5, color="#444444", lw=0.6)


def mesh_strip(history: Any, times: ArrayLike) -> Figure:
    """Draw the mesh coloured by job at some times, side by side.

    Parameters
    ----------
    history : History
    times : (k,) array_like
        In the unit of the stream, 1 to 12 of them.

    Returns
    -------
    matplotlib Figure
        The job that was allocated last is framed.

    Raises
    ------
    ModelError
        If there are no or too many times.
    """
    wanted = real_vector("times", times)
    if wanted.size > 12:
        raise ModelError(f"at most 12 times can be told apart in a figure, got {wanted.size}")
    mesh = history.mesh
    size = 1.0 + 0.16 * mesh.columns, 1.0 + 0.16 * mesh.rows
    figure, panels = panel_grid(wanted.size, 4 if mesh.columns <= mesh.rows else 3, size)
    for ax, at, time in zip(panels, history.mesh_at(wanted), wanted.tolist(), strict=True):
        job_map(at, ax=ax)
        ax.set(xlabel="", ylabel="")
        ax.set_title(f"{_told(history, time)}: {len(at.jobs)} jobs", fontsize=8)
    figure.suptitle(history.label, fontsize=10)
    return figure


def strategy_strips(histories: Sequence[Any], times: ArrayLike) -> Figure:
    """Draw the mesh at some times, one row for each machine; a 3-D mesh as a stack of layers.

    Parameters
    ----------
    histories : sequence of History
    times : (k,) array_like
        1 to 6 of them, in the unit of the stream.

    Returns
    -------
    matplotlib Figure
    """
    wanted = real_vector("times", times)
    if wanted.size > 6 or not histories:
        raise ModelError(f"give 1 to 6 times and at least one history, got {wanted.size}")
    mesh = histories[0].mesh
    wide, high = mesh.columns, mesh.rows
    if mesh.depth > 1:
        wide, high = wide + mesh.rows // 2, (mesh.rows // 2 + 1) * mesh.depth
    size = (wanted.size * (0.6 + 0.13 * wide), len(histories) * (0.5 + 0.13 * high))
    draw = job_map if mesh.depth == 1 else job_stack
    figure = Figure(layout="constrained", figsize=size)
    axes = figure.subplots(len(histories), wanted.size, squeeze=False)
    for row, history in zip(axes, histories, strict=True):
        for ax, at, time in zip(row, history.mesh_at(wanted), wanted.tolist(), strict=True):
            draw(at, ax=ax)
            ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
            ax.set_title(_told(history, time), fontsize=7)
        row[0].set_ylabel(history.label.split(",")[0], fontsize=9, parse_math=False)
    return figure
