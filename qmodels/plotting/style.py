"""The look of every figure: colours, titles, legends, ticks and contour levels.

Public within this project: the figures of `validation` take their colours and helpers from here, so
that one policy or strategy has one colour in every report.
"""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patheffects import withStroke
from matplotlib.ticker import (
    FuncFormatter,
    LogFormatterSciNotation,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from phasefit.arrays import Array
from phasefit.plotting import BLUE, GREY, RED, axes_or_new
from qmodels.errors import ModelError
from qmodels.words import cut

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "JOB_COLOURS",
    "LIGHT_GREY",
    "MAP",
    "ORANGE",
    "PURPLE",
    "RED",
    "SKY",
    "Array",
    "axes_or_new",
    "bars_above_zero",
    "checked_points",
    "clock_unit",
    "contour_levels",
    "map_colours",
    "merged_intervals",
    "outlined",
    "plain_text",
    "plain_tick",
    "rectangles",
    "set_commas",
    "set_legend",
    "set_legend_below",
    "set_log2_ticks",
    "set_plain_log_ticks",
    "set_title",
    "spread_indices",
]


# Okabe & Ito's colours and cividis: told apart by colour-blind readers too. Blue, red and grey are
# the colours of phasefit's figures, which stand below and cannot import these.
BLACK, ORANGE, GREEN, PURPLE, SKY, LIGHT_GREY = (
    "#000000",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#999999",
)
#: Colour map of surfaces.
MAP = "cividis"
#: Colours (20, 3) that jobs take in turn, by their number: a picture seldom shows more at a time.
JOB_COLOURS = np.asarray(colormaps["tab20"].colors)  # type: ignore[attr-defined]

#: Points from axes to a legend below them, under labels and a title of one line; of a line more.
_BELOW, _LINE = 36.0, 13.0
#: Characters of a legend's entries in a row, by which its columns are counted.
_ROW = 52
#: Numbers on a logarithmic axis are written out between these.
_PLAIN = (1e-5, 1e6)
#: Ends of a logarithmic axis so near, as a ratio, that 2 and 5 are labelled too; beside each other
#: labels need more room than above each other.
_NEAR = {"x": 50.0, "y": 1e3}
#: The same of an axis of powers, which may else have one label or none.
_FEW = 20.0
#: Ends so near that the steps between the numbers are equal.
_ALIKE = 2.5
#: Labels on an axis of powers of two, at most.
MOST_TICKS = 9

_LETTERS = 12.0  # of a title to an inch


def clock_unit(longest: float) -> tuple[float, str]:
    """Return the unit of an axis of times: hours or minutes where there are two of them, or seconds.

    Parameters
    ----------
    longest : float
        Seconds.

    Returns
    -------
    tuple of (float, str)
        Length of the unit in seconds, and "h", "min" or "s".
    """
    return next(
        ((unit, name) for unit, name in ((3600.0, "h"), (60.0, "min")) if longest >= 2 * unit), (1.0, "s")
    )


def bars_above_zero(mean: Any, half_width: Any) -> Array:
    """Return the lengths (2, k) of error bars below and above means of what is never negative.

    An interval wider than its mean ends at zero; an unknown one has no bar.

    Parameters
    ----------
    mean : (k,) array_like
        The means.
    half_width : (k,) array_like
        Of their intervals; not finite where it is not known.

    Examples
    --------
    >>> bars_above_zero([5.0, 5.0, 5.0], [1.0, 8.0, np.nan]).tolist()
    [[1.0, 5.0, 0.0], [1.0, 8.0, 0.0]]
    """
    whole = np.asarray(half_width, dtype=float)
    above = np.where(np.isfinite(whole), whole, 0.0)
    return np.stack([np.minimum(above, np.maximum(np.asarray(mean, dtype=float), 0.0)), above])


def map_colours(count: int) -> list[str]:
    """Return colours of the map of surfaces, dark to light, as a page writes them.

    Parameters
    ----------
    count : int
        How many.
    """
    return [to_hex(colour) for colour in colormaps[MAP](np.linspace(0.0, 1.0, count))]


def outlined(colour: str = "#333333", width: float = 2.0) -> list[Any]:
    """Return path effects that keep light text readable on any shade.

    Parameters
    ----------
    colour : str
        Of the outline.
    width : float
        Points.
    """
    return [withStroke(linewidth=width, foreground=colour)]


def plain_text(name: str, most: int = 60) -> str:
    """Return a name of the user's on one line, cut, without control characters.

    Parameters
    ----------
    name : str
        The name.
    most : int
        Largest number of characters.
    """
    return "".join(c if c.isprintable() else "?" for c in cut(name, most))


def set_title(ax: Any, name: str, rest: str = "", **options: Any) -> None:
    """Set the user's name, as plain text, and further lines as title, none wider than the axes.

    A figure would cut them: its layout makes room for the height of a title, not for its width.

    Parameters
    ----------
    ax : Axes
        The axes.
    name : str
        The user's name.
    rest : str
        Further lines.
    **options : object
        As for ``Axes.set_title``.
    """
    most = max(20, int(_LETTERS * ax.figure.get_figwidth()))
    lines = [plain_text(name), *rest.split("\n")]
    text = "\n".join("\n".join(wrap(line, most)) for line in lines if line)
    ax.set_title(text, fontsize=10, parse_math=False, **options)


def plain_tick(x: float) -> str:
    """Return a number on an axis as people write it, up to a million millions.

    Parameters
    ----------
    x : float
        The number.

    Examples
    --------
    >>> [plain_tick(x) for x in (0.00002, 0.5, 16384.0, 1e6)]
    ['0.00002', '0.5', '16,384', '1,000,000']
    """
    if not 1e-6 <= abs(x) < 1e12:
        return f"{x:.4g}"
    if abs(x) >= 1000:
        return f"{float(f'{x:.6g}'):,.0f}"
    return np.format_float_positional(float(f"{x:.4g}"), trim="-")


def set_legend(ax: Axes, **options: Any) -> None:
    """Add a legend whose labels are plain text; none where nothing is drawn.

    Parameters
    ----------
    ax : Axes
        The axes.
    **options : object
        As for ``Axes.legend``.
    """
    if "handles" not in options and not ax.get_legend_handles_labels()[0]:
        return
    for text in ax.legend(**options).get_texts():
        text.set_parse_math(False)


def set_legend_below(ax: Axes, *, lines: int = 1, **options: Any) -> None:
    """Add a legend under the axes, where nothing is drawn that it could cover.

    A layout engine makes room for it; without one the axes have to leave it.

    Parameters
    ----------
    ax : Axes
        The axes.
    lines : int
        Lines of the title of the x axis.
    **options : object
        As for `set_legend`.
    """
    figure: Any = ax.get_figure()
    down = ScaledTranslation(0.0, -(_BELOW + _LINE * (lines - 1)) / 72.0, figure.dpi_scale_trans)
    handles = options.get("handles")
    labels = (
        ax.get_legend_handles_labels()[1] if handles is None else [handle.get_label() for handle in handles]
    )
    widest = max((len(label) + 6 for label in labels), default=1)
    options = {
        "loc": "upper center",
        "bbox_to_anchor": (0.5, 0.0),
        "fontsize": 8,
        "frameon": False,
        "bbox_transform": ax.transAxes + down,
        "borderaxespad": 0.0,
        "ncols": max(1, min(len(labels), _ROW // widest)),
    } | options
    set_legend(ax, **options)


def set_commas(ax: Any, axis: str) -> None:
    """Write the numbers of an axis with commas and without a factor beside it: 10,000.

    Parameters
    ----------
    ax : Axes
        The axes.
    axis : {"x", "y"}
        Which axis.
    """
    getattr(ax, f"{axis}axis").set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.6g}"))


def checked_points(points: Any, *columns: int) -> Array:
    """Return points (k, columns) of positive numbers.

    Parameters
    ----------
    points : array_like
        Rows of numbers.
    *columns : int
        Numbers of columns that are allowed.

    Raises
    ------
    ModelError
        If they are no such rows.
    """
    try:
        marked = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        marked = np.zeros(0)
    if marked.ndim != 2 or marked.shape[1] not in columns or not np.all((marked > 0) & (marked < 1e60)):
        extra = ", with a measured speedup where wanted," if 3 in columns else ""
        raise ModelError(f"points must be pairs (processors, disks){extra} of numbers > 0")
    return marked


def spread_indices(values: Array, most: int = 30) -> NDArray[np.intp]:
    """Return the places of at most so many values, evenly over their logarithms, both ends in.

    Parameters
    ----------
    values : (n,) ndarray
        Above zero, in rising order.
    most : int
        Largest number of places.
    """
    wanted = np.geomspace(values[0], values[-1], most)
    return np.unique(np.abs(np.log(values[:, None] / wanted[None, :])).argmin(axis=0))


def contour_levels(z: Array) -> Array:
    """Return contour levels strictly inside the range, 3 to 12 of them; none on a flat surface.

    Parameters
    ----------
    z : ndarray
        Values on a grid.
    """
    low, high = float(z.min()), float(z.max())
    coarse = np.array([m * 10.0**k for k in range(-6, 13) for m in (1, 2, 5)])
    inside = coarse[(coarse > low) & (coarse < high)]
    if inside.size >= 3:
        return inside[:: -(-inside.size // 12)]
    if high <= low * (1 + 1e-6):
        return np.array([])
    step = 10.0 ** np.floor(np.log10((high - low) / 2))
    for factor in (5, 2, 1, 0.5):
        levels = step * factor * np.arange(np.ceil(low / step / factor), high / step / factor + 1)
        inside = levels[(levels > low) & (levels < high)]
        if inside.size >= 3:
            break
    return inside


def set_log2_ticks(ax: Any, values: Array, axis: str, most: int = MOST_TICKS) -> None:
    """Mark the powers of two within the range, thinned to at most so many.

    Parameters
    ----------
    ax : Axes
        The axes.
    values : (n,) ndarray
        Whose range is meant.
    axis : {"x", "y"}
        Which axis.
    most : int
        Largest number of ticks.
    """
    low, high = np.log2(values[0]), np.log2(values[-1])
    ticks = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    if ticks.size < 2:
        ticks = np.array([low, high])
    ticks = ticks[:: -(-ticks.size // most)]
    getattr(ax, f"set_{axis}ticks")(ticks, [plain_tick(2.0**t) for t in ticks])


def set_plain_log_ticks(ax: Any, axis: str = "y") -> None:
    """Mark a logarithmic axis as people write numbers: 5, 10, 20 instead of powers of ten.

    Where one of them would be a million or more, or less than a hundred-thousandth, all are powers.

    Parameters
    ----------
    ax : Axes
        The axes.
    axis : {"x", "y"}
        Which axis.
    """
    low, high = getattr(ax, f"get_{axis}lim")()
    plain = low >= _PLAIN[0] and high < _PLAIN[1]
    near = high < (_NEAR[axis] if plain else _FEW) * low
    its = getattr(ax, f"{axis}axis")
    its.set_major_locator(
        MaxNLocator(4) if high < _ALIKE * low else LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,))
    )
    powers = LogFormatterSciNotation(minor_thresholds=(np.inf, np.inf))
    its.set_major_formatter(FuncFormatter(lambda x, _: plain_tick(x)) if plain else powers)
    # a tick costs more time than a curve
    its.set_minor_locator(NullLocator() if near else LogLocator(subs=(2.0, 5.0)))
    its.set_minor_formatter(NullFormatter())


def merged_intervals(start: Array, end: Array, gap: float) -> tuple[Array, Array]:
    """Join intervals, sorted by start, that lie closer together than `gap`; drop empty ones.

    Parameters
    ----------
    start, end : (n,) ndarray
        The intervals.
    gap : float
        In the unit of the axis.

    Returns
    -------
    start, end : (m,) ndarray
        Those that are left.
    """
    kept = end > start
    start, end = start[kept], np.maximum.accumulate(end[kept])
    if not start.size:
        return start, end
    new = np.concatenate([[True], start[1:] > end[:-1] + gap])
    return start[new], end[np.append(np.flatnonzero(new)[1:] - 1, end.size - 1)]


def rectangles(start: Array, end: Array, lane: Array, height: float | Array) -> Any:
    """Return the corners (n, 4, 2) of bars from `start` to `end`, centred on their lanes.

    Parameters
    ----------
    start, end : (n,) ndarray
        Ends of the bars.
    lane : (n,) ndarray
        Their places on the other axis.
    height : float or (n,) ndarray
        Their thickness.
    """
    low, high = lane - height / 2, lane + height / 2
    x, y = np.stack([start, end, end, start], axis=1), np.stack([low, low, high, high], axis=1)
    return np.stack([x, y], axis=2)
