"""Maps over processors and disks: what a surface is, and how its colours and lines are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    MAP,
    ORANGE,
    checked_points,
    contour_levels,
    outlined,
    plain_tick,
    set_log2_ticks,
)
from qmodels.words import allotment_in_words


@runtime_checkable
class Surface(Protocol):
    """Surface as it is drawn, as `qmodels.programs.SpeedupSurface` is one."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    @property
    def processors(self) -> NDArray[np.float64]:
        """Processors (n,)."""

    @property
    def disks(self) -> NDArray[np.float64]:
        """Disks (m,)."""

    @property
    def base(self) -> tuple[float, float]:
        """Processors and disks over whose time speedup stands."""

    @property
    def speedup(self) -> NDArray[np.float64]:
        """Speedups (n, m)."""

    @property
    def mean_time(self) -> NDArray[np.float64]:
        """Mean times (n, m) in seconds."""

    def best(self, by: Any = ..., g: Any = ...) -> Any:
        """Return the allotment with the largest speedup, or what else is asked for."""

    def values(self, by: Any, g: Any = ...) -> NDArray[np.float64]:
        """Return what `best` compares, (n, m)."""

    def efficiency(self, g: Any = ...) -> NDArray[np.float64]:
        """Return speedup over g(p, d), (n, m)."""


def draw_map(surface: Surface, ax: Axes, *, labelled: bool = True) -> None:
    """Draw the speedups as colours and contour lines.

    Parameters
    ----------
    surface : Surface
        The surface.
    ax : Axes
        Where to draw.
    labelled : bool
        Whether the lines have labels.
    """
    x, y, z = np.log2(surface.processors), np.log2(surface.disks), surface.speedup.T
    # Of a drawing in lines the shades are a picture: each triangle by itself would be a page long.
    mesh = ax.pcolormesh(x, y, z, cmap=MAP, shading="gouraud", norm=shades(z), rasterized=True)
    levels = contour_levels(z)
    draw_lines(ax, x, y, z, levels, labelled=labelled)
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.minorticks_off()
    ticks = levels if levels.size else np.array([z.min(), z.max()])
    bar.set_ticks(ticks.tolist(), labels=[plain_tick(tick) for tick in ticks])
    bar.set_label(f"speedup over {allotment_in_words(surface.base)}")
    label_axes(surface.processors, surface.disks, ax)


def draw_lines(
    ax: Axes,
    x: Array,
    y: Array,
    z: Array,
    levels: Array,
    *,
    labelled: bool = True,
    fmt: Callable[[float], str] = plain_tick,
) -> None:
    """Draw contour lines, with labels that the frame does not cut.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    x, y : ndarray
        Coordinates of the grid.
    z : ndarray
        Values on it.
    levels : (k,) ndarray
        Values of the lines.
    labelled : bool
        Whether the lines have labels.
    fmt : callable
        Writes a level.
    """
    if not levels.size:
        return
    lines = ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.9)
    # Points that were measured (3) lie on the labels, not under them.
    for text in ax.clabel(lines, fmt=fmt, fontsize=8, zorder=2.7) if labelled else ():
        text.set_path_effects(outlined())
        across, up = ((v - a[0]) / np.ptp(a) for v, a in zip(text.get_position(), (x, y), strict=True))
        # The frame would cut it; the colour bar names the level too.
        text.set_visible(0.03 < across < 0.97 and 0.03 < up < 0.97)


def draw_star(best: Any, ax: Axes) -> None:
    """Mark an allotment by a star.

    Parameters
    ----------
    best : Allotment
        Where.
    ax : Axes
        Where to draw.
    """
    ax.scatter(
        [np.log2(best.processors)],
        [np.log2(best.disks)],
        s=90,
        marker="*",
        c=ORANGE,
        edgecolors="black",
        linewidths=0.7,
        zorder=4,
        clip_on=False,
    )


def label_axes(processors: Array, disks: Array, ax: Axes) -> None:
    """Set the names of both axes and their powers of two.

    Parameters
    ----------
    processors, disks : (n,) ndarray
        The grid.
    ax : Axes
        The axes.
    """
    ax.set_xlabel("processors")
    ax.set_ylabel("disks")
    set_log2_ticks(ax, np.unique(processors), "x")
    set_log2_ticks(ax, np.unique(disks), "y")


def points_over(surface: Surface, points: Any, *columns: int) -> Array | None:
    """Return what was measured, beside a surface that can be drawn; None where nothing was.

    Parameters
    ----------
    surface : Surface
        The surface.
    points : array_like or None
        Processors, disks, and what else there is.
    *columns : int
        Numbers of columns that are allowed.

    Raises
    ------
    ModelError
        If the surface is a line or a point, or `points` are no such rows.
    """
    check_grid(surface)
    return None if points is None else checked_points(points, *columns)


def shades(z: Array) -> LogNorm:
    """Return the range of colours of a surface, which one without relief needs as well.

    Parameters
    ----------
    z : ndarray
        Its values, above zero.
    """
    return LogNorm(z.min() * 0.99, z.max() * 1.01)


def check_grid(surface: Surface) -> None:
    """Raise ModelError unless `surface` is one and has an area to draw.

    Parameters
    ----------
    surface : Surface
        The surface.

    Raises
    ------
    ModelError
        If it is none, or a line or a point.
    """
    if not isinstance(surface, Surface):
        raise ModelError(f"surface must be a SpeedupSurface, got {type(surface).__name__}")
    shape = surface.processors.size, surface.disks.size
    if min(shape) < 2:
        raise ModelError(
            f"a surface of {shape[0]} by {shape[1]} allotments has no area to draw; ask for at "
            f"least 2 numbers of processors and 2 of disks, or use its table()"
        )
