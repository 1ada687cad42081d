"""Figures of the experiments: predictions as curves, simulations as points with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qmodels.plotting.style import RED
from validation.analysis.plotting import draw_estimates
from validation.papers.plotting import label_outside, shared_legend

if TYPE_CHECKING:
    import pandas as pd

#: Colour of dynamic partitioning, as in the figures of a study.
DYNAMIC = RED


def response_panels(table: pd.DataFrame, disks: Sequence[int]) -> Figure:
    """Mean response time against load, a panel for each number of disk partitions.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.rosti.load_sweep.sweep`.
    disks : sequence of int
        Numbers of disk partitions, one panel each.

    Returns
    -------
    matplotlib Figure
    """
    figure = Figure(figsize=(9.4, 7.6), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True)
    for letter, k, ax in zip("abcd", disks, axes.flat, strict=True):
        here = table[table.disk_partitions == k]
        for label in here.policy.unique():
            _response_curve(ax, here[here.policy == label])
        plural = "s" if k > 1 else ""
        ax.set_title(f"({letter}) {k} disk partition{plural}", fontsize=10)
        ax.set(yscale="log", xlim=(0, 1), ylim=(4, 1000))
        ax.grid(lw=0.3)
    label_outside(axes, "load (arrival rate over the bound that no policy exceeds)", "mean response time [s]")
    _legend(figure, axes[0, 0])
    return figure


def _response_curve(ax: Axes, rows: pd.DataFrame) -> None:
    first = rows.iloc[0]
    dynamic = first.kind == "DP"
    partitions = int(first.processor_partitions)
    shades = colormaps["viridis"](np.linspace(0.0, 0.88, 5))
    colour = DYNAMIC if dynamic else shades[int(np.log2(partitions))]
    plural = "s" if partitions > 1 else ""
    label = "dynamic" if dynamic else f"{partitions} processor partition{plural}"
    stable = rows[rows.predicted_s.notna()]
    ax.plot(
        stable.load,
        stable.predicted_s,
        color=colour,
        lw=1.4,
        ls="--" if dynamic else "-",
        label=label,
    )
    _simulated(ax, rows, "load", color=colour, fmt="s" if dynamic else "o", label="_")


def _simulated(ax: Axes, points: pd.DataFrame, x: str, **look: Any) -> None:
    """Draw what was simulated with its intervals."""
    points = points[points.simulated_s.notna()]
    known = points.simulated_s, points.simulated_high_s - points.simulated_s
    draw_estimates(ax, points[x], known, signed=True, **({"ms": 3, "lw": 1} | look))


def _legend(figure: Figure, ax: Axes) -> None:
    """Name the lines of an axes below all panels, and the points."""
    lines = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    said = "simulated, 95 % interval"
    point = ax.errorbar([], [], yerr=[], color="black", fmt="o", ms=3, capsize=2, label=said)
    shared_legend(figure, 4, [*lines, point])


def multiprogramming_panels(table: pd.DataFrame, best: Mapping[float, Mapping[float, int]]) -> Figure:
    """Capacity gained, response times and best level against the ratio of CPU to I/O.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.rosti.m_sweep.run`.
    best : mapping
        Best level by load and ratio.

    Returns
    -------
    matplotlib Figure
    """
    loads = sorted(best)
    figure = Figure(figsize=(9.4, 7.6), layout="constrained")
    (gain, level), panels = figure.subplots(2, 2, sharex=True)
    levels = sorted(table.multiprogramming.unique())
    shades = colormaps["viridis"](np.linspace(0.0, 0.88, len(levels)))
    for m, colour in zip(levels, shades, strict=True):
        mine = table[table.multiprogramming == m]
        once = mine[mine.load_of_one_job == loads[0]].sort_values("cpu_to_io")
        gain.plot(once.cpu_to_io, once.gain, color=colour, lw=1.4, label=f"M = {m}")
        for load, ax in zip(loads, panels, strict=True):
            rows = mine[mine.load_of_one_job == load].sort_values("cpu_to_io")
            ax.plot(rows.cpu_to_io, rows.predicted_s, color=colour, lw=1.4)
            _simulated(ax, rows, "cpu_to_io", color=colour, fmt="o")
    for load, style in zip(loads, ("--", "-"), strict=True):
        ratios = sorted(best[load])
        level.step(
            ratios,
            [best[load][r] for r in ratios],
            style,
            where="mid",
            color="black",
            label=f"at {load:.0%} of one job's capacity",
        )
    gain.set_title("(a) capacity, relative to one job at a time", fontsize=10)
    gain.set_ylabel("capacity gained [factor]")
    level.set_title("(b) least level within 2 % of the fastest", fontsize=10)
    level.set_ylabel("multiprogramming level M")
    level.set_yticks(levels)
    level.set_ylim(0.5, 1.5 + max(max(row.values()) for row in best.values()))
    level.legend(fontsize=8)
    for letter, load, ax in zip("cd", loads, panels, strict=True):
        ax.set_title(f"({letter}) at {load:.0%} of one job's capacity", fontsize=10)
        ax.set(ylabel="mean response time [s]", xlabel="CPU time per I/O time of a phase")
    for ax in figure.axes:
        ax.set_xscale("log", base=2)
        ax.grid(lw=0.3)
    _legend(figure, gain)
    return figure
