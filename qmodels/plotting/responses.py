"""Response times of policies over the load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes

from qmodels.plotting.style import MAP, RED, axes_or_new, set_legend_below, set_plain_log_ticks


def response_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    unit: tuple[float, str] = (1.0, "s"),
    ax: Axes | None = None,
) -> Axes:
    """Draw mean response time against load, one line per policy.

    Parameters
    ----------
    curves : mapping of str to (loads, mean responses)
        By policy label; seconds. Labels that begin with DP are dashed, as in the source.
    unit : tuple of float and str
        Seconds of the unit in which times are drawn, and its name.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    References
    ----------
    .. [1] Rosti et al. 1998, figures 6 and 7.

    Examples
    --------
    >>> ax = response_curves({"SP(1,1)": ([0.1, 0.5], [6.0, 18.0]), "DP(1)": ([0.1], [5.9])})
    >>> [line.get_linestyle() for line in ax.lines]
    ['-', '--']
    """
    ax = axes_or_new(ax)
    static = [label for label in curves if not label.startswith("DP")]
    shades = colormaps[MAP](np.linspace(0.0, 0.9, max(len(static), 1)))
    for label, (loads, responses) in curves.items():
        dynamic = label not in static
        ax.plot(
            loads,
            np.asarray(responses) / unit[0],
            color=RED if dynamic else shades[static.index(label)],
            linestyle="--" if dynamic else "-",
            marker="." if len(loads) < 20 else "",
            label=label,
        )
    ax.set(xlabel="load", ylabel=f"mean response time [{unit[1]}]", yscale="log", xlim=(0, 1))
    set_plain_log_ticks(ax)
    ax.grid(lw=0.3)
    set_legend_below(ax, labelspacing=0.2, handlelength=1.6)
    return ax
