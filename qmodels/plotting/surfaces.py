"""Speedup surfaces over processors and disks: as maps and as bodies, with what was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    MAP,
    RED,
    axes_or_new,
    outlined,
    set_log2_ticks,
    set_title,
    spread_indices,
)
from qmodels.plotting.surface_maps import Surface, draw_map, draw_star, points_over, shades
from qmodels.words import counted, of_base

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]


def surface_heatmap(
    surface: Surface,
    *,
    ax: Axes | None = None,
    points: ArrayLike | None = None,
    contradicted: ArrayLike | None = None,
) -> Axes:
    """Draw a speedup surface as a map with contour lines over processors and disks.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments.
    ax : Axes, optional
        Where to draw; a new figure by default.
    points : (k, 2) array_like, optional
        Processors and disks of allotments that were measured. They are marked, and where the
        surface reaches beyond the box around them, that box is dashed: outside it the surface
        is extrapolation.
    contradicted : (k,) array_like of bool, optional
        Points whose measurement contradicts the surface; red.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If the surface is a line or a point, `points` are not pairs of numbers > 0, or
        `contradicted` is not one for each of them.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16, 64], [1, 2, 4])
    >>> surface_heatmap(surface).get_xlabel()
    'processors'
    """
    marked = points_over(surface, points, 2)
    ax = axes_or_new(ax)
    draw_map(surface, ax)
    best = best_within(surface, marked)
    beyond = surface.best()
    title = f"\u2605 largest speedup {value_at(best)}"
    if beyond[:2] != best[:2]:
        title = (
            f"\u2605 largest speedup within the runs {value_at(best)}\n"
            f"beyond them, if the law holds, {value_at(beyond)}"
        )
    if marked is not None:
        title += _draw_measured(surface, marked, _marked_points(contradicted, len(marked)), ax)
    draw_star(best, ax)
    set_title(ax, surface.name, title)
    return ax


def value_at(best: Any) -> str:
    """Return a value of the surface and where it is.

    Parameters
    ----------
    best : Allotment
        With its value.
    """
    where = f"{counted(best.processors, 'processor')}, {counted(best.disks, 'disk')}"
    return f"{best.value:.4g} at {where}"


def best_within(surface: Surface, marked: Array | None, by: Any = "speedup", g: Any = "p*d") -> Any:
    """Return the largest value in the box of what was measured, or of all where none lies in it.

    Parameters
    ----------
    surface : Surface
        The surface.
    marked : (k, 2) ndarray or None
        Processors and disks that were measured; None where nothing was.
    by : str
        As for ``SpeedupSurface.best``.
    g : str or callable
        As for ``SpeedupSurface.best``.
    """
    best = surface.best(by, g)
    if marked is None:
        return best
    within = _inside(np.log2(surface.processors), np.log2(surface.disks), marked)
    if not within.any():
        return best
    values = np.where(within, surface.values(by, g), 0.0)
    i, j = np.argwhere(values >= values.max() * (1.0 - 1e-12))[0]
    largest = float(surface.processors[i]), float(surface.disks[j]), float(values[i, j])
    return type(best)(*largest)


def surface_3d(surface: Surface, *, ax: Axes3D | None = None, points: ArrayLike | None = None) -> Axes3D:
    """Draw a speedup surface as a body over processors and disks.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments.
    ax : Axes3D, optional
        Where to draw, an axes with ``projection="3d"``; a new figure by default.
    points : (k, 2) or (k, 3) array_like, optional
        Processors and disks of allotments that were measured, and the speedup measured there;
        without it they are marked on the surface. The surface is faint outside the box around
        them: there it is extrapolation.

    Returns
    -------
    ax : Axes3D
        Those drawn on.

    Raises
    ------
    ModelError
        If the surface is a line or a point, `points` are not rows of numbers > 0, or `ax` is
        flat.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16, 64], [1, 2, 4])
    >>> surface_3d(surface).get_zlabel()
    'speedup'
    """
    marked = points_over(surface, points, 2, 3)
    axes: Any = ax
    if axes is None:
        # A layout that moves itself would measure the labels before they are projected.
        axes = Figure().add_axes((0.09, 0.0, 0.86, 0.88), projection="3d")
    if not hasattr(axes, "plot_surface"):
        raise ModelError('ax is flat; make it with add_subplot(projection="3d")')
    rows, columns = spread_indices(surface.processors), spread_indices(surface.disks)
    speedup = surface.speedup[np.ix_(rows, columns)]
    x, y = np.log2(surface.processors[rows]), np.log2(surface.disks[columns])
    colours = colormaps[MAP](shades(speedup)(_middles(speedup)))
    if marked is not None:
        solid = _inside(x, y, marked)
        colours[..., 3] = np.where(solid[:-1, :-1] & solid[1:, 1:], 1.0, 0.45)
        axes.computed_zorder = False  # else the body hides points that lie on it
        _draw_pins(surface, marked, axes)
    axes.plot_surface(
        *np.meshgrid(x, y, indexing="ij"),
        speedup,
        facecolors=colours,
        shade=False,
        edgecolor=(0.1, 0.1, 0.1, 0.35),
        linewidth=0.4,
        rstride=1,
        cstride=1,
        zorder=1,
    )
    axes.set_xlabel("processors")
    axes.set_ylabel("disks")
    axes.set_zlabel(f"speedup{of_base(surface.base)}")
    axes.set_zlim(bottom=0.0)
    set_log2_ticks(axes, surface.processors, "x", most=8)
    set_log2_ticks(axes, surface.disks, "y", most=6)
    axes.tick_params(labelsize=8)
    axes.view_init(elev=28, azim=-125)
    axes.set_box_aspect(None, zoom=0.86)  # the z label is cut off otherwise
    faint = marked is not None and reaches_beyond(surface, marked)
    title = "" if marked is None else "dots: measured" + "; faint: extrapolated" * faint
    set_title(axes, surface.name, title)
    drawn: Axes3D = axes
    return drawn


def _marked_points(contradicted: ArrayLike | None, count: int) -> NDArray[np.bool_]:
    if contradicted is None:
        return np.zeros(count, dtype=bool)
    odd = np.asarray(contradicted)
    if odd.shape != (count,) or odd.dtype != bool:
        raise ModelError(f"contradicted must be {count} of True and False, one for each point")
    return odd


def _draw_measured(surface: Surface, marked: Array, odd: NDArray[np.bool_], ax: Axes) -> str:
    """Mark measured allotments and the box around them; return what to say of them."""
    for chosen, colour in ((~odd, "white"), (odd, RED)):
        if not chosen.any():
            continue
        shown = np.log2(on_grid(surface, marked[chosen]))
        ax.scatter(
            shown[:, 0],
            shown[:, 1],
            s=26,
            c=colour,
            edgecolors="black",
            linewidths=0.9,
            zorder=3,
            clip_on=False,
        )
    notes = "\n\u25cb measured" + (", red: contradicts the law" if odd.any() else "")
    if not reaches_beyond(surface, marked):
        return notes
    draw_box(surface, marked, ax)
    return f"{notes}; extrapolated outside the dashed line"


def draw_box(surface: Surface, marked: Array, ax: Axes) -> None:
    """Draw a dashed box around measured allotments.

    Parameters
    ----------
    surface : Surface
        The surface.
    marked : (k, 2) ndarray
        Processors and disks that were measured.
    ax : Axes
        Where to draw.
    """
    # A margin keeps the line off the points, and makes a box of a row of them.
    dx, dy = (0.02 * np.ptp(np.log2(axis)) for axis in (surface.processors, surface.disks))
    x, y = np.log2(marked).T
    left, right, low, high = x.min() - dx, x.max() + dx, y.min() - dy, y.max() + dy
    view = ax.get_xlim(), ax.get_ylim()
    ax.plot(
        [left, right, right, left, left],
        [low, low, high, high, low],
        color="white",
        lw=1.6,
        ls=(0, (4, 2)),
        path_effects=outlined("black", 2.8),
        zorder=2.5,
    )
    ax.set(xlim=view[0], ylim=view[1])


def _middles(z: Array) -> Array:
    """Geometric means of the corners of the cells, (n - 1, m - 1)."""
    log = np.log(z)
    return np.exp((log[:-1, :-1] + log[1:, :-1] + log[:-1, 1:] + log[1:, 1:]) / 4)


def _draw_pins(surface: Surface, marked: Array, axes: Any) -> None:
    """Mark measured allotments on the body, each joined to the surface below or above it."""
    for row in on_grid(surface, marked):
        x, y = np.log2(row[0]), np.log2(row[1])
        on = height(surface, x, y)
        z = row[2] if row.size == 3 else on
        axes.plot([x, x], [y, y], [on, z], color=RED, lw=1.0, zorder=3)
        axes.scatter(
            [x], [y], [z], s=22, c=RED, edgecolors="white", linewidths=0.6, depthshade=False, zorder=4
        )


def on_grid(surface: Surface, marked: Array) -> Array:
    """Return those of the marked rows whose allotment lies on the surface.

    Parameters
    ----------
    surface : Surface
        The surface.
    marked : (k, m) ndarray
        Processors, disks, and what else there is.
    """
    within = (marked[:, 0] >= surface.processors[0]) & (marked[:, 0] <= surface.processors[-1])
    within &= (marked[:, 1] >= surface.disks[0]) & (marked[:, 1] <= surface.disks[-1])
    return np.asarray(marked[within])


def height(surface: Surface, x: float, y: float) -> float:
    """Return the speedup at (2^x, 2^y), interpolated linearly over the logarithms.

    Parameters
    ----------
    surface : Surface
        The surface.
    x, y : float
        Logarithms to base two of processors and disks.
    """
    along = [np.interp(x, np.log2(surface.processors), column) for column in surface.speedup.T]
    return float(np.interp(y, np.log2(surface.disks), along))


def _inside(x: Array, y: Array, marked: Array) -> NDArray[np.bool_]:
    low, high = np.log2(marked[:, :2]).min(axis=0) - 1e-9, np.log2(marked[:, :2]).max(axis=0) + 1e-9
    across = (x >= low[0]) & (x <= high[0])
    return np.asarray(across[:, None] & ((y >= low[1]) & (y <= high[1]))[None, :])


def reaches_beyond(surface: Surface, marked: Array) -> bool:
    """Return whether the surface goes beyond the box around the measured allotments.

    Parameters
    ----------
    surface : Surface
        The surface.
    marked : (k, 2) ndarray
        Processors and disks that were measured.
    """
    corners = _inside(np.log2(surface.processors[[0, -1]]), np.log2(surface.disks[[0, -1]]), marked)
    return not bool(corners.all())
