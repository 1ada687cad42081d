"""What figures of all papers share: curves out of a table with intervals, and a legend below panels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from validation.analysis.plotting import draw_estimates

if TYPE_CHECKING:
    import pandas as pd


def curve(
    ax: Axes,
    rows: pd.DataFrame,
    x: str,
    quantity: str,
    *,
    unit: str = "",
    signed: bool = False,
    **look: Any,
) -> None:
    """Draw a column of a table over another, with the intervals that stand beside it.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    rows : pandas.DataFrame
        With columns such as "service_s" and "service_half_width_s".
    x : str
        The column across.
    quantity, unit : str
        The column upwards, such as "service" and "_s".
    signed : bool
        See `draw_estimates`.
    **look : object
        As for ``Axes.errorbar``.
    """
    known = rows[f"{quantity}{unit}"], rows[f"{quantity}_half_width{unit}"]
    draw_estimates(ax, rows[x], known, signed=signed, **({"lw": 1.2} | look))


def panels(
    table: pd.DataFrame, column: str, across: int, size: tuple[float, float], **shared: Any
) -> tuple[Figure, Any, list[tuple[Axes, Any, pd.DataFrame]]]:
    """Return a figure with a panel for each value of a column, row by row.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of all panels.
    column : str
        That by which they are told apart.
    across : int
        Panels in a row.
    size : tuple of (float, float)
        Width of the figure and height of a row, inches.
    **shared : object
        As for ``Figure.subplots``.

    Returns
    -------
    figure : matplotlib Figure
        The figure.
    axes : (rows, across) ndarray of Axes
        All panels.
    filled : list of (Axes, object, pandas.DataFrame)
        Of each value: where it is drawn, and its rows.
    """
    values = list(dict.fromkeys(table[column]))
    rows = -(-len(values) // across)
    figure = Figure(figsize=(size[0], size[1] * rows), layout="constrained")
    axes = figure.subplots(rows, across, squeeze=False, **shared)
    filled = [(ax, x, table[table[column] == x]) for ax, x in zip(axes.flat, values, strict=False)]
    return figure, axes, filled


def label_outside(axes: Any, x: str, y: str) -> None:
    """Name the axes of panels at the bottom and at the left.

    Parameters
    ----------
    axes : (rows, columns) ndarray of matplotlib Axes
        The panels.
    x, y : str
        What stands under those of the last row, and beside those of the first column.
    """
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)


def shared_legend(figure: Figure, ncols: int, handles: Any = None, **options: Any) -> None:
    """Add one legend below all panels, by default of what the first one shows.

    Parameters
    ----------
    figure : matplotlib Figure
        With a layout that makes room.
    ncols : int
        Columns of the legend.
    handles : list, optional
        What it names.
    **options : object
        As for ``Figure.legend``.
    """
    if handles is None:
        handles = figure.axes[0].get_legend_handles_labels()[0]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=ncols,
        fontsize=9,
        frameon=False,
        **options,
    )
