"""Worth of allotments: lines of equal efficiency, and the best one as the budget grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    MAP,
    ORANGE,
    axes_or_new,
    checked_points,
    contour_levels,
    outlined,
    plain_tick,
    set_title,
)
from qmodels.plotting.surface_maps import (
    Surface,
    check_grid,
    draw_lines,
    draw_map,
    draw_star,
    label_axes,
    points_over,
)
from qmodels.plotting.surfaces import best_within, draw_box, reaches_beyond, value_at
from qmodels.words import allotment_in_words

_EFFICIENCIES = np.array([1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90], dtype=float)  # per cent


@runtime_checkable
class Path(Protocol):
    """Path of allotments as it is drawn, as `qmodels.programs.AllotmentPath` is one."""

    @property
    def steps(self) -> Sequence[Any]:
        """Best allotments: budget, price, processors and disks, by increasing budget."""


def efficiency_contours(
    surface: Surface, *, g: Any = "p*d", ax: Axes | None = None, points: ArrayLike | None = None
) -> Axes:
    """Draw lines of equal efficiency, speedup over the cost g(p, d) of an allotment.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments.
    g : str or callable
        What an allotment costs: ``"p*d"``, ``"p"``, ``"p+d"`` or a function g(p, d).
    ax : Axes, optional
        Where to draw; a new figure by default.
    points : (k, 2) array_like, optional
        Processors and disks of allotments that were measured: the box around them is dashed.

    Returns
    -------
    ax : Axes
        In per cent. The star is the allotment of the largest efficacy, speedup squared over cost:
        where most speedup is had for the money, within the box where there is one.

    Raises
    ------
    ModelError
        If the surface is a line or a point, or `g` is none of these.

    References
    ----------
    .. [1] Rosti et al. 1998, section 2.4.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16, 64], [1, 2, 4])
    >>> efficiency_contours(surface, g="p").get_ylabel()
    'disks'
    """
    marked = points_over(surface, points, 2)
    knee = best_within(surface, marked, "efficacy", g)
    ax = axes_or_new(ax)
    x, y = np.log2(surface.processors), np.log2(surface.disks)
    z = 100.0 * surface.efficiency(g).T
    top = max(100.0, float(z.max()))
    mesh = ax.pcolormesh(x, y, z, cmap=MAP, shading="gouraud", vmin=0.0, vmax=top)
    if z.max() <= 100.0:
        inside = (z.min() < _EFFICIENCIES) & (z.max() > _EFFICIENCIES)
        levels = _EFFICIENCIES[inside]
    else:
        levels = contour_levels(z)
    draw_lines(ax, x, y, z, levels, fmt=lambda each: f"{plain_tick(each)} %")
    ax.figure.colorbar(mesh, ax=ax).set_label(
        f"efficiency [%], speedup over {_cost_name(g)}"
        if surface.base == (1.0, 1.0)
        else f"efficiency [%] against {allotment_in_words(surface.base)}, by {_cost_name(g)}"
    )
    draw_star(knee, ax)
    label_axes(surface.processors, surface.disks, ax)
    extrapolated = _draw_runs(surface, marked, ax)
    within = " within the runs" if extrapolated else ""
    title = f"\u2605 largest efficacy{within} {value_at(knee)}"
    set_title(ax, surface.name, title + extrapolated)
    return ax


def allotment_path(
    path: Path,
    *,
    surface: Surface | None = None,
    ax: Axes | None = None,
    points: ArrayLike | None = None,
) -> Axes:
    """Draw the best allotment as the budget grows, over the surface it climbs.

    Parameters
    ----------
    path : AllotmentPath
        From `qmodels.programs.allotment_path`.
    surface : SpeedupSurface, optional
        Drawn below as a map, at least 2 by 2 allotments.
    ax : Axes, optional
        Where to draw; a new figure by default.
    points : (k, 2) array_like, optional
        As for `efficiency_contours`; with a surface only.

    Returns
    -------
    ax : Axes
        Steps are labelled with their price; labels that would cover each other are left out.

    Raises
    ------
    ModelError
        If `path` or `surface` is something else.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, allotments, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 2, 4, 8], [1, 2])
    >>> path = allotments.allotment_path(surface, [2, 6, 10])
    >>> sorted(text.get_text() for text in allotment_path(path, surface=surface).texts[-3:])
    ['10', '2', '6']
    """
    if not isinstance(path, Path):
        raise ModelError(f"path must be an AllotmentPath, got {type(path).__name__}")
    if not path.steps:
        raise ModelError("the path has no step to draw")
    rows = [(step.price, step.processors, step.disks) for step in path.steps]
    prices, p, d = np.array(rows, dtype=float).T
    least, most = path.steps[0].budget, path.steps[-1].budget
    ax = axes_or_new(ax)
    name = note = ""
    if surface is not None:
        check_grid(surface)
        draw_map(surface, ax, labelled=False)
        name, note = surface.name, _draw_runs(surface, points, ax)
    else:
        label_axes(p, d, ax)
    moved = np.concatenate([[True], (np.diff(p) != 0) | (np.diff(d) != 0)])
    prices, x, y = prices[moved], np.log2(p[moved]), np.log2(d[moved])
    ax.plot(
        x,
        y,
        color=ORANGE,
        lw=1.8,
        marker="o",
        ms=5,
        mec="black",
        mew=0.6,
        zorder=4,
        clip_on=False,
        path_effects=outlined("black", 3.0),
    )
    _label_steps(ax, x, y, prices)
    set_title(ax, name, f"best allotment for a budget of {least:g} to {most:g}{note}")
    return ax


def _draw_runs(surface: Surface, points: ArrayLike | None, ax: Axes) -> str:
    """Dash the box around what was measured, if there is more than that; say so."""
    if points is None:
        return ""
    marked = checked_points(points, 2)
    if not reaches_beyond(surface, marked):
        return ""
    draw_box(surface, marked, ax)
    return "\nextrapolated outside the dashed line"


def _label_steps(ax: Axes, x: Array, y: Array, prices: Array) -> None:
    """Write the price at each step that is far enough from those already written."""
    extent = np.maximum([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())], 1e-9)
    last, written = x.size - 1, list[Any]()
    for i in [last, *range(last)]:
        across, up = (x[i] - ax.get_xlim()[0]) / extent[0], (y[i] - ax.get_ylim()[0]) / extent[1]
        right, low = across > 0.9, up < 0.08
        at = across + (-0.06 if right else 0.06), up + (0.04 if low else -0.04)  # its middle
        if any(abs(at[0] - b[0]) < 0.09 and abs(at[1] - b[1]) < 0.07 for b in written):
            continue
        written.append(at)
        ax.annotate(
            f"{prices[i]:.4g}",
            (x[i], y[i]),
            xytext=(-6 if right else 6, 6 if low else -6),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom" if low else "top",
            fontsize=8,
            color="white",
            path_effects=outlined(),
            zorder=5,
        )


def _cost_name(g: Any) -> str:
    names = {"p*d": "processors times disks", "p": "processors", "p+d": "processors and disks"}
    return names.get(g, "cost") if isinstance(g, str) else "cost"
