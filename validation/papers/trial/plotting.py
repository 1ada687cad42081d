"""Figure of the trial: how far predictions are off, cell by cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from qmodels.plotting.style import BLUE, GREY, RED
from validation.analysis.plotting import draw_estimates

if TYPE_CHECKING:
    import pandas as pd

#: Errors of uncorrected predictions beyond this are drawn at the edge.
_EDGE = 0.5


def error_panels(table: pd.DataFrame) -> Figure:
    """Errors of corrected and uncorrected predictions, a row for each cell, a panel each policy.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.trial.campaign.run_trial`.

    Returns
    -------
    matplotlib Figure
    """
    kinds = [k for k in ("SP", "DP", "TS") if table.policy.str.startswith(k).any()]
    counts = [table[table.policy.str.startswith(k)].cell.nunique() for k in kinds]
    figure = Figure(figsize=(9.0, 1.5 + 0.3 * sum(counts) + 0.5 * len(kinds)), layout="constrained")
    axes = figure.subplots(len(kinds), 1, sharex=True, squeeze=False, height_ratios=counts)[:, 0]
    for ax, kind in zip(axes, kinds, strict=True):
        here = table[table.policy.str.startswith(kind)]
        names = list(dict.fromkeys(here.cell))
        y = here.cell.map(names.index).to_numpy(float)
        y += np.linspace(-0.25, 0.25, len(y))[np.argsort(np.argsort(here.load.to_numpy()))]
        plain = here.error_uncorrected.clip(-_EDGE, _EDGE)
        ax.plot(100 * plain, y, "x", color=GREY, ms=4, label="uncorrected")
        for kept, mark, label in ((False, "o", "corrected"), (True, "s", "corrected, kept out")):
            some = (here.kept_out == kept).to_numpy()
            if not some.any():
                continue
            width = np.hypot(here.half_width, here.corrected_half_width)[some]
            points = 100 * here.error[some], 100 * np.minimum(width, _EDGE)
            look: dict[str, Any] = {"fmt": mark, "ms": 4, "lw": 0.8, "capsize": 0, "label": label}
            colour = RED if kept else BLUE
            draw_estimates(ax, y[some], points, across=True, signed=True, color=colour, **look)
        ax.axvline(0.0, color="black", lw=0.8)
        ax.set_yticks(range(len(names)), names, fontsize=7)
        ax.invert_yaxis()
        ax.grid(axis="x", lw=0.3)
    # One legend above all panels: inside of one it would hide rows.
    known = {k: v for ax in axes for v, k in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(known.values(), known.keys(), loc="outside upper center", ncols=3, fontsize=7)
    axes[-1].set_xlabel(f"predicted over simulated mean response, less one [%]; cut at {_EDGE:.0%}")
    return figure
