"""Figures of a site: months recorded and simulated, what saturates it, and waiting beside idle processors.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter

from qmodels.plotting.style import axes_or_new, clock_unit, set_legend_below
from validation.analysis.plotting import COLOURS
from validation.rigid.changes import LOADS

#: Ticks of ratios of waits.
_TIMES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
#: Columns of the strip of utilisation.
_COLUMNS = 200


def months(reading: Any, ax: Axes | None = None) -> Axes:
    """Draw the mean wait of each month, recorded and simulated.

    Parameters
    ----------
    reading : SiteReading
        What is drawn.
    ax : Axes, optional
        Where to; a figure of its own if left out.

    Returns
    -------
    Axes
        The same.
    """
    ax = axes_or_new(ax, figsize=(5.4, 3.6))
    recorded, simulated = reading.recorded, reading.simulated
    known = np.concatenate([recorded, simulated])
    unit, name = clock_unit(float(np.nanmax(known)) if (~np.isnan(known)).any() else 3600.0)
    number = np.arange(1, recorded.size + 1)
    ax.plot(number, recorded / unit, "o-", color=COLOURS[0], label="recorded")
    if (~np.isnan(simulated)).any():
        ax.plot(number, simulated / unit, "s--", color=COLOURS[1], label="simulated")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylim(bottom=0.0)
    return _finished(ax, "month (28 days)", f"mean wait [{name}]")


def saturation(reading: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of the machine that its mix can use, by discipline, and what is asked for.

    Parameters
    ----------
    reading : SiteReading
        What is drawn.
    ax : Axes, optional
        Where to; a figure of its own if left out.

    Returns
    -------
    Axes
        The same.
    """
    ax = axes_or_new(ax, figsize=(5.4, 2.6))
    cases = reading.saturated
    rows = np.arange(len(cases))[::-1]
    shares, halves = [each.share for each in cases], [each.half_width for each in cases]
    ax.errorbar(shares, rows, xerr=halves, fmt="o", color=COLOURS[0], capsize=3, label="saturated")
    ax.axvline(reading.load, color=COLOURS[1], linestyle="--", label="asked for")
    ax.set_yticks(rows, [each.name for each in cases])
    ax.set_ylim(-0.5, len(cases) - 0.5)
    return _finished(ax, "share of the machine", grid="x")


def strip(reading: Any, ax: Axes | None = None) -> Axes:
    """Draw the share of the machine in use over time, and the part of waiting beside idle processors.

    Parameters
    ----------
    reading : SiteReading
        What is drawn.
    ax : Axes, optional
        Where to; a figure of its own if left out.

    Returns
    -------
    Axes
        The same.
    """
    ax = axes_or_new(ax, figsize=(5.4, 3.2))
    edges, used, idle = reading.over_time(_COLUMNS)
    days = edges[:-1] / 86_400.0
    ax.plot(days, used, color=COLOURS[0], label="in use")
    ax.plot(
        days,
        idle,
        ".:",
        markersize=3,
        color=COLOURS[1],
        label="of the waiting, beside enough idle processors",
    )
    ax.set_ylim(0.0, 1.05)
    return _finished(ax, "day", "share")


def loads(reading: Any, ax: Axes | None = None) -> Axes:
    """Draw the mean wait over the load, by that of today, with what the mix can use at most.

    Parameters
    ----------
    reading : SiteReading
        What is drawn.
    ax : Axes, optional
        Where to; a figure of its own if left out.

    Returns
    -------
    Axes
        The same.
    """
    ax = axes_or_new(ax, figsize=(5.4, 3.2))
    known = [(f, c.ratio, c.low, c.high) for f, c in zip(LOADS, reading.by_load, strict=True) if not c.note]
    rows = np.array(sorted([*known, (1.0, 1.0, 1.0, 1.0)]))
    asked = 100.0 * reading.load * rows[:, 0]
    ax.fill_between(asked, rows[:, 2], rows[:, 3], color=COLOURS[0], alpha=0.2, label="90 % interval")
    ax.plot(asked, rows[:, 1], "o-", color=COLOURS[0], label="mean wait by that of today")
    ax.axvline(100.0 * reading.load, color=COLOURS[1], linestyle="--", label="load of today")
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks([tick for tick in _TIMES if rows[:, 2].min() <= tick <= rows[:, 3].max()])
    return _finished(ax, "load, percent of the machine", "times today's mean wait")


def _finished(ax: Axes, across: str, upwards: str = "", grid: Literal["both", "x"] = "both") -> Axes:
    ax.set(xlabel=across, ylabel=upwards)
    ax.grid(alpha=0.3, axis=grid)
    set_legend_below(ax)
    return ax
