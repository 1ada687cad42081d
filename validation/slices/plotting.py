"""Figures of slices: what strategies keep busy, who waits, and how the slices lie.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from qmodels.plotting.style import axes_or_new, clock_unit, plain_text, set_legend, set_legend_below
from validation.allocation.plotting import job_stack
from validation.analysis.plotting import COLOURS, draw_bars, draw_estimates, panel_grid
from validation.slices.pod import in_text


def largest_utilisation(study: Any, ax: Axes | None = None) -> Axes:
    """Share of the chips held with a full queue; for a log, at its load."""
    ax = axes_or_new(ax, figsize=(5.4, 0.9 + 0.3 * len(study.ways)))
    held = {
        plain_text(discipline): [
            (way.full or way.loaded).utilisation
            for way in (study.of(name, discipline) for name in study.strategies)
        ]
        for discipline in study.disciplines
    }
    draw_bars(ax, study.strategies, held, cycle(COLOURS), across=True, filled=0.9)
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel(
        "share of the chips held, with a full queue"
        if study.ways[0].full is not None
        else "share of the chips held"
    )
    ax.grid(axis="x", alpha=0.3)
    set_legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(study.disciplines))
    return ax


def waits_by_slice(study: Any, ax: Axes | None = None) -> Axes:
    """Mean wait of each slice at the load, in order of arrival; growing queues are left out."""
    ax = axes_or_new(ax, figsize=(5.4, 4.2))
    discipline = study.disciplines[0]
    unit, name_of_unit = _unit(study, discipline)
    for k, name in enumerate(study.strategies):
        run = study.of(name, discipline).loaded
        if run.growing:
            continue
        seen = [own for own in run.shapes if own.wait is not None]
        # beside each other, or the bars of one strategy hide those of the next
        aside = 2.0 ** (0.08 * (k - (len(study.strategies) - 1) / 2))
        x = [aside * np.prod(own.shape) for own in seen]
        means, errors = (np.array([getattr(own.wait, of) for own in seen]) for of in ("mean", "half_width"))
        waits, colour = (means / unit, errors / unit), COLOURS[k % len(COLOURS)]
        draw_estimates(ax, x, waits, label=name, color=colour, marker="o", ms=4, lw=1.0)
    ax.set_xscale("log", base=2)
    shapes = study.ways[0].loaded.shapes
    if len(shapes) <= 12:
        ticks = [float(np.prod(own.shape)) for own in shapes]
        ax.set_xticks(ticks, [in_text(own.shape) for own in shapes], rotation=20)
    else:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    ax.set_xlabel("slice" if len(shapes) <= 12 else "chips of the slice")
    ax.set_ylabel(f"mean wait [{name_of_unit}]")
    ax.set_ylim(bottom=0.0)
    ax.set_title(f"{discipline}, load {study.load:.2g}", fontsize=10)
    ax.grid(alpha=0.3)
    set_legend_below(ax, lines=2)  # the names of slices stand aslant
    return ax


def _unit(study: Any, discipline: str) -> tuple[float, str]:
    """Seconds, minutes or hours, by the longest mean wait."""
    if study.unit != "s":
        return 1.0, study.unit
    runs = [study.of(name, discipline).loaded for name in study.strategies]
    waits = [own.wait.mean for run in runs if not run.growing for own in run.shapes if own.wait]
    return clock_unit(max(waits, default=0.0))


def layouts(study: Any) -> Figure:
    """Who holds which block at the end of the first run, under each strategy."""
    figure, panels = panel_grid(len(study.strategies), 3, _size(study))
    for ax, name in zip(panels, study.strategies, strict=True):
        _draw_layout(study, name, ax)
    return figure


def layout_panel(study: Any, strategy: str) -> Figure:
    """The picture of one strategy by itself."""
    figure = Figure(figsize=_size(study), layout="constrained")
    _draw_layout(study, strategy, figure.add_subplot())
    return figure


def _draw_layout(study: Any, strategy: str, ax: Axes) -> None:
    way = study.of(strategy, study.disciplines[0])
    held = (way.full or way.loaded).occupancy()
    job_stack(held, ax=ax)
    ax.set_title(f"{strategy}, {held.free} free", fontsize=9)
    ax.set_xlabel("")


def _size(study: Any) -> tuple[float, float]:
    """Width and height in inches of the picture of a pod."""
    x, y, z = study.pod.blocks
    wide, high = 0.6 + 0.26 * (x + 0.45 * y), 0.6 + 0.26 * (0.45 * y + 0.6) * z
    scale = min(1.0, 6.0 / max(wide, high))
    return max(1.8, scale * wide), max(1.8, scale * high)
