"""Figures of the mesh: link maps, latency against load, the phases of a job.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    MAP,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    axes_or_new,
    set_commas,
    set_legend_below,
    set_plain_log_ticks,
    set_title,
)

if TYPE_CHECKING:
    from validation.mesh.topology import Mesh

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, RED)
_MOST_RUNS = 2000


def link_map(mesh: Mesh, utilisation: ArrayLike, *, ax: Axes | None = None, layer: int = 0) -> Axes:
    """Draw every link in the colour of its use, the I/O nodes as squares.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    utilisation : (channels,) array_like
        Flits per cycle, or any other number for each channel; of the virtual channels of a link,
        their sum is shown.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    layer : int
        Of a 3-D mesh; the links between layers are not shown.

    Returns
    -------
    matplotlib Axes
        The two directions of a link lie side by side: traffic keeps to the right.

    Raises
    ------
    ModelError
        If there is not one finite number for each channel.
    """
    values = real_array("utilisation", utilisation)
    if values.shape != (mesh.channels,):
        raise ModelError(f"utilisation must have shape ({mesh.channels},), got {values.shape}")
    origin = mesh.router_coordinates[mesh.routers_of[0]]
    places = mesh.router_coordinates - origin
    numbers, begins, ends = mesh.link_ends()
    flat = (places[begins, 2] == layer) & (places[ends, 2] == layer)
    begins, ends, use = begins[flat], ends[flat], values[numbers[flat]]
    pairs, where = np.unique(np.stack([begins, ends]), axis=1, return_inverse=True)
    total = np.bincount(where.ravel(), weights=use, minlength=pairs.shape[1])
    a, b = places[pairs[0], :2].astype(float), places[pairs[1], :2].astype(float)
    long = np.abs(b - a).max(axis=1) > 1
    # A link round the back of a ring is drawn as a stub out of the mesh.
    b[long] = a[long] - 0.45 * np.sign(b[long] - a[long])
    along = (b - a) / np.maximum(np.hypot(*(b - a).T), 1e-9)[:, None]
    aside = 0.13 * np.stack([-along[:, 1], along[:, 0]], axis=1)
    ax = axes_or_new(ax, figsize=(max(3.8, 1.6 + 0.32 * mesh.columns), max(2.6, 1.2 + 0.32 * mesh.rows)))
    scale = Normalize(0.0, float(total.max(initial=0.0)) or 1.0)
    ax.add_collection(
        LineCollection(
            np.stack([a + aside, b + aside], axis=1).tolist(),
            array=total,
            cmap=MAP,
            norm=scale,
            linewidths=3.0,
        )
    )
    shown = places[:, 2] == layer
    io = np.zeros(mesh.routers, dtype=bool)
    io[mesh.routers_of[mesh.io_nodes]] = True
    inner = np.zeros(mesh.routers, dtype=bool)
    inner[mesh.routers_of[: mesh.nodes]] = True
    for chosen, marker, colour in ((inner, "o", GREY), (io, "s", RED)):
        x, y = places[shown & chosen, :2].T
        ax.plot(x, y, marker, ms=4, color=colour, ls="none")
    squares = "\nsquares: I/O nodes" if (shown & io).any() else ""
    ax.set(xlabel=f"column{squares}", ylabel="row", aspect="equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlim(places[:, 0].min() - 0.6, places[:, 0].max() + 0.6)
    ax.set_ylim(places[:, 1].max() + 0.6, places[:, 1].min() - 0.6)
    ax.get_figure().colorbar(  # type: ignore[union-attr]
        ScalarMappable(scale, MAP), ax=ax, label="flits per cycle", shrink=0.8
    )
    return ax


def latency_against_load(curves: Mapping[str, Sequence[Any]], *, ax: Axes | None = None) -> Axes:
    """Draw mean latency over accepted load, one line for each name.

    Parameters
    ----------
    curves : mapping
        Name to points of `latency_curve`; those without a message are left out.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If `curves` is no such mapping.
    """
    if not isinstance(curves, Mapping) or not curves:
        raise ModelError(f"curves must map names to points, at least one; got {curves!r:.60}")
    ax = axes_or_new(ax, figsize=(6.4, 4.2))
    for k, (name, points) in enumerate(curves.items()):
        kept = [point for point in points if point.messages]
        colour = _COLOURS[k % len(_COLOURS)]
        load = [point.offered for point in kept]
        ax.plot(load, [p.mean_latency for p in kept], "o-", ms=4, color=colour, label=str(name))
        ax.plot(load, [p.mean_network_latency for p in kept], ":", color=colour)
    ax.set(
        xlabel="offered load [flits per node and cycle]",
        ylabel="mean latency [cycles]",
        yscale="log",
    )
    set_plain_log_ticks(ax)
    set_legend_below(ax, title="dotted: from injection", title_fontsize=8)
    ax.grid(lw=0.3)
    return ax


def phase_strip(run: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the phases of one job over time, a row for each pattern.

    Parameters
    ----------
    run : Completion
        From `Network.advance` or `Contention.completions`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If it has more phases than can be told apart.
    """
    if len(run.phases) > _MOST_RUNS:
        raise ModelError(f"{len(run.phases):,} phases are too many to draw; at most {_MOST_RUNS}")
    patterns = list(dict.fromkeys(pattern for pattern, _, _ in run.phases))
    ax = axes_or_new(ax, figsize=(8.0, 1.0 + 0.45 * len(patterns)))
    for row, pattern in enumerate(patterns):
        bars: Any = [(begin, end - begin) for name, begin, end in run.phases if name == pattern]
        ax.broken_barh(bars, (row - 0.35, 0.7), facecolor=_COLOURS[row % len(_COLOURS)], edgecolor="white")
    ax.set_yticks(range(len(patterns)), patterns)
    ax.invert_yaxis()
    ax.set_xlabel("time [cycles]")
    set_commas(ax, "x")
    ax.set_xlim(run.start, max(run.finish, run.start + 1))
    set_title(ax, str(run.job))
    ax.grid(axis="x", lw=0.3)
    return ax
