"""Figures of the experiments of Qin et al.: mean slowdowns with 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from qmodels.plotting.style import set_legend_below, set_plain_log_ticks
from validation.analysis.plotting import draw_bars
from validation.cluster.plotting import colour_of
from validation.papers.plotting import curve

if TYPE_CHECKING:
    import pandas as pd


def lines(table: pd.DataFrame, axis: str, title: str, *, log: bool = False) -> Figure:
    """Mean slowdown over the axis, and its paired difference to the first balancer.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.qin.campaign.Sweep.table`.
    axis : str
        The column of the axis.
    title : str
    log : bool
        Whether slowdowns are on a logarithmic scale.

    Returns
    -------
    matplotlib Figure
    """
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    first = table.balancer.iloc[0]
    for name, rows in table.groupby("balancer", sort=False):
        look: dict[str, Any] = {"color": colour_of(str(name)), "label": name, "marker": "o", "ms": 3.5}
        curve(left, rows, axis, "slowdown", signed=False, **look)
        if name != first:
            curve(right, rows, axis, "above_first", unit="_percent", signed=True, **look)
    right.axhline(0.0, color="#444444", lw=0.8)
    if log:
        left.set_yscale("log")
        set_plain_log_ticks(left)
        right.set_yscale("symlog", linthresh=10.0)
        right.yaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    unit = "accesses per CPU-ms" if axis == "I/O rate" else "per million instructions"
    for ax in (left, right):
        ax.set_xlabel(f"{axis} [{unit}]")
    left.set_ylabel("mean slowdown")
    right.set_ylabel(f"above {first} [%]")
    left.set_title(title, fontsize=10)
    set_legend_below(left)
    return figure


def bars(table: pd.DataFrame, axis: str) -> Figure:
    """Mean slowdown of every application under every balancer, side by side."""
    figure = Figure(figsize=(7.5, 3.8), layout="constrained")
    ax = figure.subplots()
    groups = {
        str(name): (rows.slowdown, rows.slowdown_half_width)
        for name, rows in table.groupby("balancer", sort=False)
    }
    programs = list(dict.fromkeys(table[axis]))
    draw_bars(ax, programs, groups, map(colour_of, groups), capsize=2)
    ax.set_ylabel("mean slowdown")
    set_legend_below(ax)
    return figure
