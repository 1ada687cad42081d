"""Figures of the trial: plain numbers in, axes out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from qmodels.plotting.style import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    axes_or_new,
    set_commas,
    set_legend_below,
    set_title,
)

#: The axis begins at zero unless all means are within this of each other.
_CUT = 0.75


def draw_waterfall(
    title: str,
    stages: Sequence[tuple[str, float, float]],
    predictions: Sequence[tuple[str, float]],
    ax: Axes | None = None,
    *,
    unit: str = "cycles",
) -> Axes:
    """Draw how the mean response grows from the model's assumptions to the machine.

    Parameters
    ----------
    title : str
    stages : sequence of (name, mean, half-width)
        Simulated, in order; each bar begins where the one before it ended, and says what share of
        the last mean it adds.
    predictions : sequence of (name, mean)
        Drawn as lines; infinite ones are named in the legend only.
    ax : matplotlib Axes, optional
    unit : str
        Of the means.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = axes_or_new(ax, figsize=(6.5, 4.0))
    names = [name for name, _, _ in stages]
    means = np.array([mean for _, mean, _ in stages])
    halves = np.array([half for _, _, half in stages])
    before = np.concatenate([[0.0], means[:-1]])
    grows = means >= before
    colours = [GREY if k == 0 else (RED if up else BLUE) for k, up in enumerate(grows.tolist())]
    places = np.arange(means.size)
    ax.bar(places, means - before, bottom=before, color=colours, width=0.6)
    shown = np.isfinite(halves)
    ax.errorbar(places[shown], means[shown], yerr=halves[shown], fmt="none", color="black", lw=1)
    ax.set_xticks(places, names, fontsize=8)
    for number, (name, mean) in enumerate(predictions):
        style = ("--", ":", "-.")[number % 3]
        if np.isfinite(mean):
            ax.axhline(mean, color=ORANGE, ls=style, lw=1.2, label=name)
        else:
            ax.plot([], [], color=ORANGE, ls=style, label=f"{name}: no steady state")
    for place, step in enumerate(((means - before) / means[-1])[1:], 1):
        top = max(means[place], before[place]) + (halves[place] if shown[place] else 0.0)
        ax.annotate(
            f"{step:+.1%}",
            (place, top),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    known = [mean for _, mean in predictions if np.isfinite(mean)]
    spread = np.where(shown, halves, 0.0)
    low, high = min([*(means - spread), *known]), max([*(means + spread), *known])
    label = f"mean response [{unit}]"
    if low > _CUT * high:  # steps of a few per cent would be too thin to be seen
        ax.set(ylabel=f"{label}, axis cut", ylim=(2.0 * low - high, high + 0.3 * (high - low)))
    else:
        ax.set(ylabel=label, ylim=(0, 1.1 * high))
    set_commas(ax, "y")
    set_title(ax, title, "steps in % of the time on the whole machine")
    set_legend_below(ax, lines=2)
    return ax
