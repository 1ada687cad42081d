"""Figures of the experiments of Qin et al.: mean slowdowns with 95 % intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from validation.cluster.plotting import colour_of

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
        colour = colour_of(str(name))
        left.errorbar(
            rows[axis],
            rows.slowdown,
            _finite(rows.slowdown_half_width),
            color=colour,
            marker="o",
            ms=3.5,
            lw=1.2,
            capsize=2,
            label=name,
        )
        if name != first:
            right.errorbar(
                rows[axis],
                rows.above_first_percent,
                _finite(rows.above_first_half_width_percent),
                color=colour,
                marker="o",
                ms=3.5,
                lw=1.2,
                capsize=2,
                label=name,
            )
    right.axhline(0.0, color="#444444", lw=0.8)
    if log:
        left.set_yscale("log")
        right.set_yscale("symlog", linthresh=10.0)
    unit = "accesses per CPU-ms" if axis == "I/O rate" else "per million instructions"
    for ax in (left, right):
        ax.set_xlabel(f"{axis} [{unit}]")
    left.set_ylabel("mean slowdown")
    right.set_ylabel(f"above {first} [%]")
    left.set_title(title, fontsize=10)
    left.legend(fontsize=8)
    return figure


def bars(table: pd.DataFrame, axis: str) -> Figure:
    """Mean slowdown of every application under every balancer, side by side."""
    figure = Figure(figsize=(7.5, 3.8), layout="constrained")
    ax = figure.subplots()
    names = list(dict.fromkeys(table.balancer))
    programs = list(dict.fromkeys(table[axis]))
    width = 0.8 / len(names)
    for k, name in enumerate(names):
        rows = table[table.balancer == name]
        x = np.arange(len(programs)) + (k - (len(names) - 1) / 2) * width
        ax.bar(
            x,
            rows.slowdown,
            width,
            yerr=_finite(rows.slowdown_half_width),
            capsize=2,
            color=colour_of(name),
            label=name,
            error_kw={"lw": 0.8},
        )
    ax.set_xticks(range(len(programs)), programs)
    ax.set_ylabel("mean slowdown")
    ax.legend(fontsize=8)
    return figure


def _finite(widths: pd.Series) -> np.ndarray:
    """Half-widths; none where one run tells nothing."""
    return np.where(np.isfinite(widths), widths, 0.0)
