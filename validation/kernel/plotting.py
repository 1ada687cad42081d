"""Figure of turns counted and predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from qmodels.plotting.style import BLUE, GREEN, ORANGE, set_legend_below

if TYPE_CHECKING:
    import pandas as pd


def kernel_figure(table: pd.DataFrame) -> Figure:
    """Draw turns in a second over the number of processes, measured as points and predicted as lines.

    Parameters
    ----------
    table : pandas.DataFrame
        A row for each comparison, as `validation.kernel.comparison.KernelRow` has it.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each number of processors.
    """
    cores = sorted(table.cores.unique())
    figure = Figure(figsize=(3.6 * len(cores) + 0.4, 3.8), layout="constrained")
    axes = figure.subplots(1, len(cores), squeeze=False, sharey=True)[0]
    for ax, number in zip(axes, cores, strict=True):
        rows = table[table.cores == number]
        for colour, (share, some) in zip((BLUE, ORANGE, GREEN), rows.groupby("io_share"), strict=False):
            label = f"{share:.0%} of a turn at the disk"
            ax.plot(some.processes, some.predicted, color=colour, label=label)
            ax.errorbar(
                some.processes, some.measured, yerr=some.half_width, fmt="o", ms=4, lw=0.8, color=colour
            )
        ax.set_title("1 processor" if number == 1 else f"{number} processors")
        ax.set_xlabel("processes side by side")
        ax.set_ylim(bottom=0.0)
        set_legend_below(ax)
    axes[0].set_ylabel("turns in a second")
    return figure
