"""Figures of laws and of tables that records give: Axes in, Axes out, nothing shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from phasefit.arrays import Array
from phasefit.plotting.fits import BLUE, CYCLE, RED, axes_or_new

if TYPE_CHECKING:
    import pandas as pd


_POINTS: Final = 300
_MOST_BARS: Final = 20  # as many as have room for their names
_MOST_LINES: Final = 10
#: Of lines, beside the colours: shapes tell them apart without.
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_STYLES: Final = ("-", "--")
#: Percentiles that the picture of a law marks.
_MARKED: Final = (0.5, 0.9, 0.95, 0.99)


class DrawnColumns(Protocol):
    """Names of the columns that are drawn, as `phasefit.records.Drawing` has them."""

    @property
    def x(self) -> str: ...  # noqa: D102
    @property
    def y(self) -> str | tuple[str, ...]: ...  # noqa: D102
    @property
    def by(self) -> str: ...  # noqa: D102
    @property
    def half_width(self) -> str: ...  # noqa: D102
    @property
    def log(self) -> str: ...  # noqa: D102
    @property
    def labels(self) -> tuple[str, str]: ...  # noqa: D102


def columns(table: pd.DataFrame, drawing: DrawnColumns, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw columns of a table: lines over numbers, bars over names.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    drawing : Drawing
        Names of its columns to draw.
    title : str
        Plain text; nothing in it is taken as mathematics.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Examples
    --------
    >>> import pandas as pd
    >>> from phasefit.records import Drawing
    >>> table = pd.DataFrame({"load": [0.2, 0.5], "response": [1.2, 2.0]})
    >>> ax = columns(table, Drawing("load", "response"))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('load', 'response')
    """
    told = table if table.index.name is None else table.reset_index()
    lines = bool(drawing.x) and told[drawing.x].dtype.kind in "iuf"
    tall = 4.8 if lines else max(4.8, 0.2 * min(len(told), _MOST_BARS) + 1.0)  # a line of text for each bar
    ax = axes_or_new(ax, figsize=(6.4, tall))
    ys = (drawing.y,) if isinstance(drawing.y, str) else drawing.y
    x, y = (
        label or (names if isinstance(names, str) else "").replace("_", " ")
        for label, names in zip(drawing.labels, (drawing.x, drawing.y), strict=True)
    )
    if lines:
        _lines(ax, told, drawing, ys)
        ax.set(xlabel=x, ylabel=y)
        _write_long_numbers(ax, "x", "y")
        for axis in drawing.log:
            getattr(ax, f"set_{axis}scale")("log")
    else:
        _bars(ax, told, drawing, ys)
        left_out = drawing.x and len(told) > _MOST_BARS
        ax.set(xlabel=y, ylabel=f"{x}, the first {_MOST_BARS} of {len(told)}" if left_out else x)
        _write_long_numbers(ax, "x")
        if "y" in drawing.log:
            ax.set_xscale("log")
    if title:
        ax.set_title(title[:80], fontsize=10, parse_math=False)
    if ax.get_legend_handles_labels()[0]:
        for text in ax.legend().get_texts():
            text.set_parse_math(False)
    return ax


def _lines(ax: Axes, table: pd.DataFrame, drawing: DrawnColumns, ys: tuple[str, ...]) -> None:
    groups = [("", table)]
    if drawing.by:
        groups = [(str(name), part) for name, part in table.groupby(drawing.by, sort=False)]
    drawn = 0
    for name, part in groups[:_MOST_LINES]:
        for y in ys:
            label = " ".join(text for text in (name, y.replace("_", " ") * (len(ys) > 1)) if text)
            width = _half_widths(part, drawing)
            ax.errorbar(
                part[drawing.x],
                _floats(part[y]),
                yerr=width,
                label=label or None,
                capsize=2,
                marker=_MARKERS[drawn % len(_MARKERS)] if len(part) < 60 else None,
                markersize=4,
                color=CYCLE[drawn % len(CYCLE)],
                linestyle=_STYLES[drawn // len(CYCLE) % len(_STYLES)],
            )
            drawn += 1


def _bars(ax: Axes, table: pd.DataFrame, drawing: DrawnColumns, ys: tuple[str, ...]) -> None:
    if not drawing.x:  # a bar for each column of the only row
        names = [y.replace("_", " ") for y in ys]
        ax.barh(names, [float(table[y].iloc[0]) for y in ys], color=BLUE)
        ax.invert_yaxis()
        return
    shown = table.head(_MOST_BARS)
    places = np.arange(len(shown), dtype=float)
    thick = 0.8 / len(ys)
    for k, y in enumerate(ys):
        ax.barh(
            places + (k - (len(ys) - 1) / 2.0) * thick,
            _floats(shown[y]),
            thick,
            color=CYCLE[k % len(CYCLE)],
            xerr=_half_widths(shown, drawing),
            capsize=2,
            label=y.replace("_", " ") if len(ys) > 1 else None,
        )
    ax.set_yticks(places, [str(name)[:40] for name in shown[drawing.x]])
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.invert_yaxis()


def _floats(column: pd.Series[Any]) -> Array:
    """Numbers of a column, NaN where there is none."""
    return column.to_numpy(dtype=float, na_value=np.nan)


def _half_widths(table: pd.DataFrame, drawing: DrawnColumns) -> Array | None:
    """Error bars; none where the width is not known or infinite, which cannot be drawn."""
    if not drawing.half_width or drawing.half_width not in table:
        return None
    width = _floats(table[drawing.half_width])
    return np.where(np.isfinite(width) & (width > 0.0), width, np.nan)


def _write_long_numbers(ax: Axes, *axes: str) -> None:
    """Write numbers from a thousand to a million with commas."""
    for axis in axes:
        if 1e3 <= np.abs(getattr(ax, f"get_{axis}lim")()).max() < 1e6:
            getattr(ax, f"{axis}axis").set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.6g}"))


def tail(law: Any, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw P(X > x) of a law over its times, down to one in a thousand, with percentiles marked.

    Parameters
    ----------
    law : object with ``sf`` and ``ppf``
        The law, in seconds.
    title : str
        Plain text; nothing in it is taken as mathematics.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Examples
    --------
    >>> from phasefit import PhaseType
    >>> tail(PhaseType.exponential(mean=2.0)).get_ylabel()
    'P(X > x)'
    """
    ax = axes_or_new(ax)
    end = float(law.ppf(0.999))
    x = np.linspace(0.0, end if end > 0.0 else 1.0, _POINTS)
    ax.plot(x, np.asarray(law.sf(x), dtype=float), c=BLUE)
    for share in _MARKED if end > 0.0 else ():
        at = float(law.ppf(share))
        above = float(law.sf(at))  # less than asked for where there is an atom
        ax.plot(at, above, "o", color=RED, ms=5)
        words = f"{share:.0%} within {at:.3g} s"
        ax.annotate(words, (at, above), (7, 4), textcoords="offset points", fontsize=9)
    ax.set(xlabel="x [s]", ylabel="P(X > x)", yscale="log", ylim=(5e-4, 1.5))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ax.grid(lw=0.3)
    if title:
        ax.set_title(title[:80], fontsize=10, parse_math=False)
    return ax
