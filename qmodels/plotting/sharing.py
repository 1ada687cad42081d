"""Time of programs that share a storage against their number: forecast with its interval, and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from qmodels.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    axes_or_new,
    set_legend_below,
    set_log2_ticks,
    set_plain_log_ticks,
    set_title,
)
from qmodels.words import unit_of

#: Times so far apart, as a ratio, are drawn on a logarithmic axis.
_WIDE = 50.0


def time_against_programs(forecast: Any, runs: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the forecast of programs that start together, its interval, and what was measured.

    Parameters
    ----------
    forecast : ShareForecast
        From `qmodels.storage.forecast_sharing`.
    runs : SharedRuns, optional
        Whose measured totals are marked.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Those drawn on.
    """
    ax = axes_or_new(ax, figsize=(5.6, 4.4))
    n = np.log2(forecast.numbers)
    unit, name = unit_of(float(np.max(forecast.seconds)))
    ax.fill_between(
        n,
        forecast.low / unit,
        forecast.high / unit,
        color=BLUE,
        alpha=0.18,
        lw=0,
        label=f"{100 * forecast.level:g}% interval",
    )
    ax.plot(n, forecast.seconds / unit, "o-", color=BLUE, ms=4, label="forecast")
    ax.axhline(_alone(forecast) / unit, color=GREY, lw=0.8, ls=":")
    if runs is not None:
        for k, number in enumerate(runs.numbers):
            times = runs.total(number) / unit
            ax.plot(
                np.full(times.size, np.log2(number)),
                times,
                "x",
                color=BLACK,
                ms=4,
                label="measured" if k == 0 else None,
            )
    if np.max(forecast.high) > _WIDE * np.min(forecast.low):
        ax.set_yscale("log")
        set_plain_log_ticks(ax)
    else:
        ax.set_ylim(bottom=0.0)
    set_log2_ticks(
        ax, np.unique([*forecast.numbers, *(() if runs is None else runs.numbers)]).astype(float), "x"
    )
    ax.set_xlabel("programs that start together")
    ax.set_ylabel(f"time until they end [{name}]")
    ax.grid(lw=0.3)
    set_title(ax, "programs that share a storage")
    set_legend_below(ax)
    return ax


def _alone(forecast: Any) -> float:
    """Seconds of one program."""
    return float(sum(stage.alone for stage in forecast.learnt))
