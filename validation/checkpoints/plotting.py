"""Figures of ways to write checkpoints.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from qmodels.plotting.style import GREY, axes_or_new, clock_unit, plain_text, set_legend_below
from qmodels.words import in_words
from validation.analysis.plotting import COLOURS, draw_estimates

#: Marks closer than this (natural logarithms) share a name.
_CLOSE = 0.12

#: Told apart without colour too.
_LINES: Any = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)))


def goodput_against_interval(study: Any, ax: Axes | None = None) -> Axes:
    """Predicted goodput against the interval, the played points, and the classical intervals."""
    ax = axes_or_new(ax, figsize=(5.4, 4.6))
    for way, colour, line in zip(study.ways, COLOURS, _LINES, strict=False):
        ax.plot(study.intervals, way.curve, color=colour, linestyle=line, label=plain_text(way.name))
        look: dict[str, Any] = {"color": colour, "marker": "o", "capsize": 3, "linestyle": "none"}
        draw_estimates(ax, [way.job.interval], [way.played.goodput], signed=True, **look)
    best = study.ways[0].best
    if best is not None:
        marks = [("best", best.interval), ("Daly", best.daly), ("Young", best.young)]
        shown: list[float] = []
        for name, x in marks:
            if study.intervals[0] <= x <= study.intervals[-1]:
                ax.axvline(x, color=GREY, linewidth=0.8, linestyle=":")
                if any(abs(np.log(x / other)) < _CLOSE for other in shown):
                    continue  # its name would lie on the other one
                shown.append(x)
                ax.text(
                    x,
                    1.01,
                    name,
                    color=GREY,
                    rotation=90,
                    ha="center",
                    va="bottom",
                    transform=ax.get_xaxis_transform(),
                    fontsize=8,
                )
    ax.set_xscale("log")
    _time_ticks(ax, study.intervals)
    ax.set_xlabel("work between two checkpoints")
    ax.set_ylabel("goodput: share of time that is work kept")
    ax.set_ylim(0.0, 1.05 * ax.get_ylim()[1])  # the points lie on the highest curves
    ax.grid(alpha=0.3)
    set_legend_below(ax, lines=3)  # the times stand aslant
    return ax


def stall_percentiles(study: Any, ax: Axes | None = None) -> Axes:
    """How long a checkpoint stops a job: median, 95 and 99 %, played."""
    ax = axes_or_new(ax, figsize=(5.4, 0.8 + 0.5 * len(study.ways)))
    longest = max(way.played.percentile(0.99) for way in study.ways)
    unit, name = clock_unit(longest)
    for row, (way, colour) in enumerate(zip(study.ways, COLOURS, strict=False)):
        median, most, all_but = (way.played.percentile(q) / unit for q in (0.5, 0.95, 0.99))
        ax.plot([median, all_but], [row, row], color=colour, linewidth=2)
        ax.plot(median, row, "o", color=colour)
        ax.plot(most, row, "|", color=colour, markersize=14)
        ax.plot(all_but, row, "|", color=colour, markersize=8)
        ax.annotate(
            in_words(unit * all_but),
            (all_but, row),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.set_yticks(range(len(study.ways)), [plain_text(way.name) for way in study.ways])
    ax.set_ylim(len(study.ways) - 0.5, -0.5)
    ax.set_xlim(0.0, 1.25 * longest / unit if longest > 0.0 else 1.0)
    ax.set_xlabel(f"time that a checkpoint stops the job [{name}]\nmedian, 95 %, 99 %")
    ax.grid(axis="x", alpha=0.3)
    return ax


def _time_ticks(ax: Axes, x: np.ndarray) -> None:
    nice = np.array(
        [
            1,
            2,
            5,
            10,
            20,
            30,
            60,
            120,
            300,
            600,
            1200,
            1800,
            3600,
            7200,
            14400,
            28800,
            43200,
            86400,
            172800,
            432000,
            864000,
            2.6e6,
            7.9e6,
            3.15e7,
        ]
    )
    shown = nice[(nice >= x[0]) & (nice <= x[-1])]
    if len(shown) >= 3:
        ax.set_xticks(shown, [in_words(float(t)) for t in shown], rotation=30, ha="right")
        ax.minorticks_off()
