"""Figures of layouts: who holds which nodes of a mesh, and one history under every strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from qmodels.plotting.style import JOB_COLOURS, RED, axes_or_new, set_title
from validation.allocation.base import STRATEGIES, AbstractStrategy, Request
from validation.allocation.metrics import system_balance
from validation.analysis.plotting import panel_grid
from validation.mesh import Mesh, Occupancy
from validation.mesh.occupancy import as_mesh, as_occupancy

#: What `gallery` does: sizes of jobs in order of arrival; a negative number ends that job, the
#: first being 1.
HISTORY = (12, 20, 7, 30, 16, 5, 24, 9, 18, -2, -6, -5, 14, -8, 11, 22)


def job_map(mesh: Mesh | Occupancy, *, ax: Axes | None = None, layer: int = 0) -> Axes:
    """Draw every node in the colour of the job that holds it, free ones white.

    Parameters
    ----------
    mesh : Occupancy or Mesh
        Who holds what; a `Mesh` is drawn with all nodes free.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    layer : int
        Of a 3-D mesh.

    Returns
    -------
    matplotlib Axes
        Twenty colours, over and over: a job whose name is a number has the same one at any time,
        others go by the order of allocation. The job that came last is framed. I/O nodes are
        squares beside the mesh.

    Raises
    ------
    ModelError
        If the mesh has no such layer.

    Examples
    --------
    >>> from validation.allocation import PLAS
    >>> held = Occupancy(Mesh(4, 8, io_side="west"))
    >>> held.occupy("job", PLAS().choose(held, 6))
    >>> job_map(held).get_xlabel()
    'column'
    """
    jobs, mesh = as_occupancy(mesh).jobs, as_mesh(mesh)
    whole_number("layer", layer, least=0, most=mesh.depth - 1)
    ax = axes_or_new(ax, figsize=(1.0 + 0.28 * mesh.columns, 0.9 + 0.28 * mesh.rows))
    shown = _colours(jobs, mesh.nodes).reshape(mesh.depth, mesh.rows, mesh.columns, 3)[layer]
    ax.imshow(shown, aspect="equal", interpolation="nearest")
    ax.set_xticks(np.arange(mesh.columns + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(mesh.rows + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="#BBBBBB", lw=0.3)
    ax.tick_params(which="minor", length=0)
    if jobs:
        last = list(jobs.values())[-1]
        for x, y, z in mesh.coordinates(last).tolist():
            if z == layer:
                ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, ec="black", lw=1.2))
    if mesh.io_nodes.size:
        x, y, z = mesh.coordinates(mesh.io_nodes).T
        at = z == layer
        ax.plot(x[at], y[at], "s", ms=3, color=RED, ls="none", clip_on=False)
        ax.set_xlim(min(-0.5, x.min() - 0.5), max(mesh.columns - 0.5, x.max() + 0.5))
        ax.set_ylim(max(mesh.rows - 0.5, y.max() + 0.5), min(-0.5, y.min() - 0.5))
    ax.set(xlabel="column", ylabel="row")
    return ax


def layer_maps(mesh: Mesh | Occupancy) -> Figure:
    """Draw a mesh layer by layer, each as `job_map` does.

    Parameters
    ----------
    mesh : Occupancy or Mesh
        Of any depth.

    Returns
    -------
    matplotlib Figure
        One panel for each layer, z = 0 first.

    Examples
    --------
    >>> [ax.get_title() for ax in layer_maps(Mesh(2, 2, 3)).axes]
    ['z = 0', 'z = 1', 'z = 2']
    """
    place, across = as_mesh(mesh), 4
    size = 0.6 + 0.2 * place.columns, 0.6 + 0.2 * place.rows
    figure, panels = panel_grid(place.depth, across, size)
    for layer, ax in enumerate(panels):
        job_map(mesh, ax=ax, layer=layer)
        ax.set(xlabel="x", ylabel="y" if layer % across == 0 else "", title=f"z = {layer}")
    return figure


#: How far a step along y goes to the right and up, and the room between layers.
_SLANT, _RISE, _GAP = 0.45, 0.45, 0.6


def job_stack(mesh: Mesh | Occupancy, *, ax: Axes | None = None) -> Axes:
    """Draw a 3-D mesh as a stack of its layers, seen from the front and above, no node hidden.

    Parameters
    ----------
    mesh : Occupancy or Mesh
        Who holds what; a `Mesh` is drawn with all nodes free.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        x goes to the right, y to the back, z upwards. Colours as in `job_map`; the outlines of the
        job that came last are black, and its layers are joined by dotted lines.

    Examples
    --------
    >>> held = Occupancy(Mesh(2, 4, 3))
    >>> held.occupy("job", [0, 1, 8, 9])
    >>> len(job_stack(held).collections)
    2
    """
    held, place = as_occupancy(mesh), as_mesh(mesh)
    width, pitch = place.columns + _SLANT * place.rows, _RISE * place.rows + _GAP
    ax = axes_or_new(ax, figsize=(1.0 + 0.32 * width, 0.8 + 0.32 * pitch * place.depth))
    nodes = np.arange(place.nodes)
    tiles = _tiles(place, nodes)
    colours = _colours(held.jobs, place.nodes)
    ax.add_collection(PolyCollection(tiles, facecolors=colours, edgecolors="#BBBBBB", linewidths=0.3))
    if held.jobs:
        last = list(held.jobs.values())[-1]
        frames = PolyCollection(tiles[last], facecolors="none", edgecolors="black", linewidths=1.1)
        ax.add_collection(frames)
        # A tile right above another of the job is joined to it at the near left corner.
        own = set(last.tolist())
        layer = place.rows * place.columns
        for node in last.tolist():
            if node + layer in own:
                ends = tiles[[node, node + layer], 0]
                ax.plot(*ends.T, ":", color="black", lw=0.6)
    ax.set_xlim(-0.3, width + 0.3)
    ax.set_ylim(-0.3, pitch * place.depth)
    ax.set_yticks(pitch * np.arange(place.depth), [f"z = {z}" for z in range(place.depth)])
    ax.set_xticks(np.arange(place.columns) + 0.5, [str(x) for x in range(place.columns)])
    ax.set(xlabel="x (y goes back)", aspect="equal")
    ax.tick_params(length=0, labelsize=7)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _tiles(place: Mesh, nodes: Any) -> Any:
    """Corners (n, 4, 2) of nodes as slanted tiles, the near left one first."""
    x, y, z = place.coordinates(nodes).T
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    across, back = x[:, None] + corners[:, 0], y[:, None] + corners[:, 1]
    up = (_RISE * place.rows + _GAP) * z[:, None] + _RISE * back
    return np.stack([across + _SLANT * back, up], axis=-1)


def _colours(jobs: Mapping[Any, Any], nodes: int) -> Any:
    """Colour (nodes, 3) of each node: of the job that holds it, white if none does."""
    picture = np.ones((nodes, 3))
    for k, (job, own) in enumerate(jobs.items()):
        picture[own] = JOB_COLOURS[(job if isinstance(job, int) else k) % len(JOB_COLOURS)]
    return picture


def gallery(
    strategies: Mapping[str, AbstractStrategy] | None = None,
    *,
    history: Sequence[int] = HISTORY,
    rows: int = 16,
    columns: int = 16,
) -> Figure:
    """Draw what the same jobs get from every strategy.

    Parameters
    ----------
    strategies : mapping, optional
        Title to strategy; by default all that are registered, each with its defaults.
    history : sequence of int
        Sizes of jobs in order of arrival; -n ends the n-th of them, if it runs.
    rows, columns : int
        Sides of the mesh; its I/O nodes are in the west.

    Returns
    -------
    matplotlib Figure
        One panel each, as `job_map` draws it.

    Raises
    ------
    ModelError
        If a number is none, or a strategy is not defined on this mesh.
    """
    made = {name: cls() for name, cls in STRATEGIES.items()} if strategies is None else strategies
    if not isinstance(made, Mapping) or not made:
        raise ModelError(f"strategies must map titles to strategies, got {made!r:.60}")
    figure, panels = panel_grid(len(made), 6, (2.1, 2.4))
    for ax, (name, strategy) in zip(panels, made.items(), strict=True):
        held = Occupancy(Mesh(rows, columns, io_side="west"))
        refused = replay(strategy, held, history)
        job_map(held, ax=ax)
        rest = f", {refused} refused" if refused else ""
        set_title(ax, name)
        ax.set(xticks=[], yticks=[], ylabel="")
        ax.set_xlabel(f"balance {system_balance(held)}{rest}", fontsize=8)
    return figure


def replay(strategy: AbstractStrategy, mesh: Occupancy, history: Sequence[int]) -> int:
    """Let jobs come and go as `history` says; returns how many were refused."""
    arrived = refused = 0
    for number in history:
        if whole_number("history", number, least=-arrived) < 0:
            if -number in mesh.jobs:
                mesh.release(-number)
            continue
        arrived += 1
        nodes = strategy.choose(mesh, Request(number))
        if nodes is None:
            refused += 1
        else:
            mesh.occupy(arrived, nodes)
    return refused
