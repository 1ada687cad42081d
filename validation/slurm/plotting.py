"""Figure of the comparison with a real scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from qmodels.plotting.style import BLACK, BLUE, ORANGE, set_legend_below, set_plain_log_ticks

if TYPE_CHECKING:
    import pandas as pd


def referee_figure(table: pd.DataFrame) -> Figure:
    """Draw replayed and predicted response times over what was measured, each as a ratio to it.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each comparison, as `validation.slurm.comparison.ComparedRow` has it.

    Returns
    -------
    matplotlib.figure.Figure
        Rows without a steady state are left out.
    """
    table = table[np.isfinite(table.predicted)]
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    ax = figure.add_subplot()
    measured = table.measured.to_numpy(float)
    ax.axhline(1.0, color=BLACK, lw=0.8)
    low, mean = table.predicted_low / measured, table.predicted / measured
    high = np.where(np.isfinite(table.predicted_high), table.predicted_high / measured, 10.0)
    spread = [mean - np.minimum(low, mean), np.maximum(high, mean) - mean]
    ax.errorbar(
        measured, mean, yerr=spread, fmt="o", ms=4, lw=0.8, color=ORANGE, label="predicted from sacct"
    )
    ax.plot(measured, table.replayed / measured, "s", ms=4, color=BLUE, label="replayed in our simulators")
    ax.set(xscale="log", yscale="log", ylim=(0.1, 10.0), xlabel="measured mean response [s]")
    ax.set_ylabel("ratio to what was measured")
    for axis in "xy":
        set_plain_log_ticks(ax, axis)
    set_legend_below(ax)
    return figure
