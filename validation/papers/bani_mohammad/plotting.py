"""Figures of the experiments of Bani-Mohammad and others: curves over the load with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

from qmodels.plotting.style import BLUE, GREEN, GREY, ORANGE, RED, bars_above_zero
from validation.analysis.plotting import draw_estimates
from validation.papers.plotting import curve, label_outside, panels, shared_legend

if TYPE_CHECKING:
    import pandas as pd

#: Colour and mark of each strategy; the shortest demand first is dashed.
LOOKS: Final = {"TBL": (BLUE, "o"), "TFF": (GREEN, "s"), "BL": (RED, "^"), "FF": (ORANGE, "v")}
LINES: Final = {"FCFS": "-", "SSD": "--"}
#: Strategies that give boxes.
_WHOLE: Final = ("FF", "TFF", "TBF", "TBL")
_LOAD: Final = "load [jobs per time unit]"


def curves(table: pd.DataFrame, quantity: str, label: str, *, log: bool = False) -> Figure:
    """A quantity against the load, a curve for each strategy under each discipline.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.bani_mohammad.campaign.Campaign.table`.
    quantity : str
        Its column.
    label : str
        Of the axis.
    log : bool
        Whether it is drawn on a logarithmic scale.

    Returns
    -------
    matplotlib Figure
        Points with 95 % intervals.
    """
    figure = Figure(figsize=(7.4, 5.0), layout="constrained")
    ax = figure.subplots()
    for discipline, line in LINES.items():
        for strategy, (colour, mark) in LOOKS.items():
            rows = table[(table.strategy == strategy) & (table.discipline == discipline)]
            name = f"{strategy}({discipline})"
            curve(ax, rows, "load", quantity, color=colour, marker=mark, ls=line, label=name, ms=4)
    ax.set(xlabel=_LOAD, ylabel=label, yscale="log" if log else "linear")
    ax.grid(lw=0.3)
    ax.legend(ncols=2, fontsize=9, frameon=False)
    return figure


def law_panels(table: pd.DataFrame) -> Figure:
    """Turnaround under both laws of the demand, a panel for each strategy."""
    figure, axes, filled = panels(table, "strategy", 2, (9.0, 3.2), sharex=True, sharey=True)
    for ax, strategy, here in filled:
        for demand, colour, name in (
            ("pareto", RED, "heavy-tailed"),
            ("exponential", BLUE, "exponential"),
        ):
            rows = here[here.demand == demand]
            curve(ax, rows, "load", "turnaround", color=colour, marker="o", label=name, ms=4)
        ax.set_title(f"{strategy}(FCFS)", fontsize=10)
        ax.set_yscale("log")
        ax.grid(lw=0.3)
    label_outside(axes, _LOAD, "mean turnaround [time units]")
    axes[0, 0].legend(fontsize=9, frameon=False)
    return figure


def allocated_boxes(table: pd.DataFrame) -> Figure:
    """Mean number of allocated boxes against the load, a colour for each size of the cube."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    ax = figure.subplots()
    for side, colour in zip(sorted(set(table.side)), (BLUE, GREEN, RED), strict=False):
        for discipline, line in LINES.items():
            rows = table[(table.side == side) & (table.discipline == discipline)]
            look: dict[str, Any] = {"color": colour, "marker": "o", "ls": line, "ms": 4}
            rows, name = rows.sort_values("load"), f"{side} x {side} x {side}, {discipline}"
            curve(ax, rows, "load", "running", label=name, **look)
    ax.set(xlabel=_LOAD, ylabel="mean number of allocated boxes m (TBL)")
    ax.set_ylim(bottom=0.0)
    ax.grid(lw=0.3)
    ax.legend(ncols=2, fontsize=9, frameon=False)
    return figure


def growth(table: pd.DataFrame) -> Figure:
    """Operations of a search against the boxes and against the nodes, with fitted powers."""
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for ax, (strategy, name, label) in zip(
        axes, (("BL", "m", "allocated boxes m"), ("FF", "n", "nodes n")), strict=True
    ):
        here = table[table.strategy == strategy]
        for (count, rows), colour in zip(here.groupby("count", sort=False), (GREY, BLUE, RED), strict=False):
            slope = rows.power.iloc[0]
            known, said = (rows["mean"], rows.half_width), f"{count}: {name}^{slope:.2f}"
            draw_estimates(ax, rows["size"], known, fmt="o", ms=4, color=colour, label=said)
            middle = np.exp(np.log(rows["size"]).mean()), np.exp(np.log(rows["mean"]).mean())
            ax.plot(rows["size"], middle[1] * (rows["size"] / middle[0]) ** slope, color=colour)
        ax.set(xscale="log", yscale="log", xlabel=label)
        ax.set_ylabel(f"operations of a search, {strategy}")
        sizes = sorted(set(here["size"]))
        ax.set_xticks(sizes, [f"{size}" for size in sizes])
        ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        ax.grid(lw=0.3)
        ax.legend(fontsize=9, frameon=False)
    return figure


def prices(table: pd.DataFrame) -> Figure:
    """Mean wait against mean service, a panel for each pattern and rate, a point for each strategy.

    On a grey line turnarounds are equal. Filled points give boxes, open ones any nodes.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.bani_mohammad.messages`.

    Returns
    -------
    matplotlib Figure
    """
    patterns = list(dict.fromkeys(table.pattern))
    targets = sorted(set(table.target_utilisation))
    figure = Figure(figsize=(1.0 + 3.6 * len(patterns), 0.9 + 3.2 * len(targets)))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(len(targets), len(patterns), squeeze=False)
    names = list(dict.fromkeys(table.strategy))
    colours = (BLUE, GREEN, RED, ORANGE, BLUE, GREEN, RED, ORANGE, GREY)
    for (i, k), ax in np.ndenumerate(axes):
        here = table[(table.pattern == patterns[k]) & (table.target_utilisation == targets[i])]
        for name, colour, mark in zip(names, colours, "osD^osD^v", strict=True):
            row = here[here.strategy == name].iloc[0]
            whole = name in _WHOLE
            ax.errorbar(
                row.wait / 1e3,
                row.service / 1e3,
                xerr=bars_above_zero([row.wait / 1e3], [row.wait_half_width / 1e3]),
                yerr=bars_above_zero([row.service / 1e3], [row.service_half_width / 1e3]),
                fmt=mark,
                ms=6,
                capsize=2,
                lw=0.8,
                color=colour,
                mfc=colour if whole else "none",
                label=name,
            )
        low = ax.get_xlim()[0], ax.get_ylim()[0]
        high = ax.get_xlim()[1], ax.get_ylim()[1]
        for total in np.linspace(sum(low), sum(high), 7)[1:-1]:
            x = np.array([low[0], high[0]])
            ax.plot(x, total - x, color=GREY, lw=0.5, zorder=0)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.set_title(f"{patterns[k]}, {targets[i]:.0%} busy under hilbert", fontsize=10)
        if i == len(targets) - 1:
            ax.set_xlabel("mean wait [1000 cycles]")
        if k == 0:
            ax.set_ylabel("mean service [1000 cycles]")
        ax.grid(lw=0.3)
    shared_legend(figure, len(names))
    return figure
