"""Figures of the experiments of Mache, Lo and Garg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

from qmodels.plotting.style import BLACK, BLUE, GREEN, LIGHT_GREY, PURPLE, RED
from validation.analysis.plotting import draw_estimates
from validation.papers.mache.setup import STRATEGIES
from validation.papers.plotting import curve, label_outside, panels, shared_legend

if TYPE_CHECKING:
    import pandas as pd

#: Colour and mark of every strategy, the same in all figures.
LOOKS: Final = dict(
    zip(
        STRATEGIES,
        ((BLACK, "o"), (BLUE, "s"), (RED, "^"), (LIGHT_GREY, "x"), (GREEN, "D"), (PURPLE, "v")),
        strict=True,
    )
)


def table_panels(table: pd.DataFrame) -> Figure:
    """Service times relative to MC-Elongated's, the paper's beside ours, a panel for each column.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.mache.table2.cells`.

    Returns
    -------
    matplotlib Figure
    """
    figure, axes, filled = panels(table, "io_percent", 3, (9.4, 3.4), sharex=True, sharey=True)
    for ax, percent, rows in filled:
        here = rows.set_index("strategy").loc[list(STRATEGIES)]
        x = np.arange(len(STRATEGIES))
        own = here.service_cycles["MC-Elongated"]
        ax.plot(x - 0.12, here.paper_to_mc_elongated, "D", mfc="none", color=RED)
        ratios = here.service_cycles / own, here.service_half_width_cycles / own
        draw_estimates(ax, x + 0.12, ratios, signed=True, fmt="o", ms=4, color="black")
        ax.axhline(1.0, lw=0.6, color="grey")
        ax.set_title(f"{percent} % I/O, utilisation {here.utilisation.mean():.2f}", fontsize=10)
        ax.set_xticks(x, STRATEGIES, rotation=45, ha="right", fontsize=8)
        ax.set_yscale("log")
        ax.set_yticks([0.25, 0.5, 1.0, 1.5, 2.0], ["0.25", "0.5", "1", "1.5", "2"])
        ax.set_yticks([], minor=True)
        ax.grid(lw=0.3)
    shown = np.concatenate([table.to_mc_elongated, table.paper_to_mc_elongated])
    axes[0, 0].set_ylim(0.8 * shown.min(), 1.25 * shown.max())
    for ax in axes[:, 0]:
        ax.set_ylabel("mean service time / MC-Elongated's")
    handles = [
        axes[0, 0].plot([], [], "D", mfc="none", color=RED, label="paper")[0],
        axes[0, 0].errorbar([], [], yerr=[], fmt="o", ms=4, color="black", label="ours, 95 % interval"),
    ]
    shared_legend(figure, 2, handles)
    return figure


def readings_panels(table: pd.DataFrame) -> Figure:
    """Service times put to the paper's scale against the printed ones, a panel for each reading.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.mache.readings.cells`.

    Returns
    -------
    matplotlib Figure
    """
    figure, axes, filled = panels(table, "reading", 2, (9.0, 4.3), sharex=True, sharey=True)
    ends = np.array([0.8 * table.paper_service.min(), 1.25 * table.paper_service.max()])
    for ax, reading, here in filled:
        ax.plot(ends, ends, lw=0.8, color="grey")
        for name, (colour, mark) in LOOKS.items():
            own = here[here.strategy == name]
            scaled = own.service_cycles / own.cycles_per_printed_unit
            ax.plot(own.paper_service, scaled, mark, ms=5, mfc="none", color=colour, label=name)
        rms = float(np.sqrt(np.mean(here.log_residual**2)))
        ax.set_title(f"{reading}: rms of the logarithms {rms:.2f}", fontsize=10)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(lw=0.3)
    label_outside(axes, "printed mean service time", "ours, put to the printed scale")
    shared_legend(figure, 6)
    return figure


def load_panels(table: pd.DataFrame, quantity: str, label: str, *, log: bool = False) -> Figure:
    """A quantity against the utilisation, a panel for each ratio of I/O.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of `validation.papers.mache.campaign.Load`.
    quantity : str
        Its column, without the unit.
    label : str
        Of the axis.
    log : bool
        Whether the quantity is drawn on a logarithmic scale.

    Returns
    -------
    matplotlib Figure
    """
    unit, ratios = "" if quantity in table else "_cycles", table.io_percent.nunique()
    size = 3.2 * max(ratios, 2), 4.2
    figure, axes, filled = panels(table, "io_percent", ratios, size, sharey=not log)
    for ax, percent, here in filled:
        for name, (colour, mark) in LOOKS.items():
            rows = here[here.strategy == name]
            look: dict[str, Any] = {"color": colour, "marker": mark, "ms": 4, "label": name, "signed": True}
            curve(ax, rows, "target_utilisation", quantity, unit=unit, **look)
        ax.set_title(f"{percent} % I/O", fontsize=10)
        ax.set_xlabel("utilisation under MC-Elongated")
        ax.set_yscale("log" if log else "linear")
        ax.grid(lw=0.3)
    axes[0, 0].set_ylabel(label)
    shared_legend(figure, 6)
    return figure
