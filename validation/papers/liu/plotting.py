"""Figures of the experiments of Liu, Hsu and Wu: points with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from validation.papers.plotting import curve, shared_legend

if TYPE_CHECKING:
    import pandas as pd

_PANELS = (
    ("makespan", "makespan [s]"),
    ("turnaround", "mean task time [s]"),
)


def tolerance_panels(table: pd.DataFrame) -> Figure:
    """Makespan and mean task time over the parameter, and their paired changes.

    Parameters
    ----------
    table : pandas.DataFrame
        Of one algorithm, from `validation.papers.liu.campaign.Campaign.cells`.

    Returns
    -------
    matplotlib Figure
    """
    labels = list(table.parameter.unique())
    kind = "tolerance [processors]" if labels[0].isdigit() else "tolerance ratio"
    x = f"{table.algorithm.iloc[0]}: {kind}"
    return _panels(table, labels, "change", f"change from {labels[0]} [%]", x)


def rival_panels(table: pd.DataFrame) -> Figure:
    """Makespan and mean task time of algorithms side by side, absolute and against the first.

    Parameters
    ----------
    table : pandas.DataFrame
        One variant for each algorithm, from `validation.papers.liu.figures`.

    Returns
    -------
    matplotlib Figure
    """
    names = dict(zip(table.algorithm, table.parameter, strict=True))
    labels = [f"{name}\n{value}" if value else name for name, value in names.items()]
    return _panels(table, labels, "above_first", f"above {next(iter(names))} [%]")


def verdict_grid(table: pd.DataFrame) -> Figure:
    """The verdict on each claim under each choice.

    Parameters
    ----------
    table : pandas.DataFrame
        From `validation.papers.liu.choices.run`.

    Returns
    -------
    matplotlib Figure
    """
    choices = list(table.choice.unique())
    first = table[table.choice == choices[0]]
    words = np.array([table[table.choice == name].verdict.tolist() for name in choices]).T
    shades = np.select([words == "holds", words == "fails"], [1.0, 0.0], 0.5)
    figure = Figure(figsize=(11.0, 1.5 + 0.32 * len(first)), layout="constrained")
    ax = figure.subplots()
    ax.imshow(shades, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), word in np.ndenumerate(words):
        ax.text(
            column,
            row,
            word,
            ha="center",
            va="center",
            fontsize=7,
            color="white" if word == "fails" else "black",
        )
    ax.set_xticks(range(len(choices)), choices, rotation=25, ha="right", fontsize=8)
    ax.set_yticks(
        range(len(first)),
        [f"{claim}: {said}" for claim, said in zip(first.claim, first.sentence, strict=True)],
        fontsize=7,
    )
    return figure


def _panels(table: pd.DataFrame, labels: Sequence[str], relative: str, change: str, x: str = "") -> Figure:
    """Return both times in two panels, and their changes, columns of which `relative` is a part, below."""
    figure = Figure(figsize=(9.4, 7.6), layout="constrained")
    axes = list(figure.subplots(2, 2, sharex=True).flat)
    groups: list[tuple[Any, pd.DataFrame]] = list(table.groupby("communications"))
    colours = colormaps["viridis"](np.linspace(0.0, 0.88, len(groups)))
    for k, (quantity, label) in enumerate(_PANELS):
        above, below = axes[k], axes[k + 2]
        name = label.partition(" [")[0]
        above.set_title(f"({'ab'[k]}) {name}", fontsize=10)
        above.set_ylabel(label)
        below.set_title(f"({'cd'[k]}) {name}, relative", fontsize=10)
        below.axhline(0.0, color="black", lw=0.6)
        below.set(xlabel=x, ylabel=change)
        for colour, (c, own) in zip(colours, groups, strict=True):
            rows = own.assign(place=np.arange(len(own)))
            plural = "" if c == 1 else "s"
            said = f"{c} communication{plural}" if c else "I/O alone"
            look: dict[str, Any] = {"color": colour, "label": said, "fmt": "o-", "ms": 3}
            curve(above, rows, "place", quantity, unit="_s", signed=False, **look)
            curve(below, rows, "place", f"{quantity}_{relative}", unit="_percent", signed=True, **look)
    for ax in axes:
        ax.set_xticks(range(len(labels)), labels, fontsize=8 if len(labels) > 6 else 9)
        ax.grid(lw=0.3)
    shared_legend(figure, 3, title="before one write of all to all I/O nodes, 95 % intervals")
    return figure
