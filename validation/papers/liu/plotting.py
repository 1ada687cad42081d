"""Figures of the experiments of Liu, Hsu and Wu: points with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
        Of one algorithm, from `validation.papers.liu.campaign.Campaign.table`.

    Returns
    -------
    matplotlib Figure
    """
    labels = list(table.parameter.unique())
    figure, axes = _four(labels)
    for colour, (c, rows) in _by_communications(table):
        for k, (quantity, _) in enumerate(_PANELS):
            x = np.arange(len(rows))
            _points(axes[k], x, rows[f"{quantity}_s"], rows[f"{quantity}_half_width_s"], colour, c)
            _points(
                axes[k + 2],
                x,
                rows[f"{quantity}_change_percent"],
                rows[f"{quantity}_change_half_width_percent"],
                colour,
                c,
            )
    kind = "tolerance [processors]" if labels[0].isdigit() else "tolerance ratio"
    for ax in axes[2:]:
        ax.set_xlabel(f"{table.algorithm.iloc[0]}: {kind}")
        ax.set_ylabel(f"change from {labels[0]} [%]")
    _legend(figure, axes[0])
    return figure


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
    first = table.algorithm.iloc[0]
    labels = [
        f"{name}\n{value}" if value else name
        for name, value in dict(zip(table.algorithm, table.parameter, strict=True)).items()
    ]
    figure, axes = _four(labels)
    for colour, (c, rows) in _by_communications(table):
        x = np.arange(len(rows))
        for k, (quantity, _) in enumerate(_PANELS):
            _points(axes[k], x, rows[f"{quantity}_s"], rows[f"{quantity}_half_width_s"], colour, c)
            _points(
                axes[k + 2],
                x,
                rows[f"{quantity}_above_first_percent"],
                rows[f"{quantity}_above_first_half_width_percent"],
                colour,
                c,
            )
    for ax in axes[2:]:
        ax.set_ylabel(f"above {first} [%]")
    _legend(figure, axes[0])
    return figure


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


def _four(labels: Sequence[str]) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(9.4, 7.6), layout="constrained")
    axes = list(figure.subplots(2, 2, sharex=True).flat)
    for letter, ax, (_, label) in zip("ab", axes, _PANELS, strict=False):
        ax.set_title(f"({letter}) {label.partition(' [')[0]}", fontsize=10)
        ax.set_ylabel(label)
    for letter, ax, (_, label) in zip("cd", axes[2:], _PANELS, strict=True):
        ax.set_title(f"({letter}) {label.partition(' [')[0]}, relative", fontsize=10)
        ax.axhline(0.0, color="black", lw=0.6)
    for ax in axes:
        ax.set_xticks(range(len(labels)), labels, fontsize=8 if len(labels) > 6 else 9)
        ax.grid(lw=0.3)
    return figure, axes


def _by_communications(table: pd.DataFrame) -> Any:
    """Colours with the rows of each number of communications, the fewest first."""
    groups = list(table.groupby("communications"))
    return zip(colormaps["viridis"](np.linspace(0.0, 0.88, len(groups))), groups, strict=True)


def _points(ax: Axes, x: Any, mean: Any, half: Any, colour: Any, communications: int) -> None:
    plural = "" if communications == 1 else "s"
    label = f"{communications} communication{plural}" if communications else "I/O alone"
    bars = np.where(np.isfinite(half), half, 0.0)
    ax.errorbar(x, mean, yerr=bars, color=colour, fmt="o-", ms=3, capsize=2, lw=1.2, label=label)


def _legend(figure: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        fontsize=9,
        frameon=False,
        title="before one write of all to all I/O nodes, 95 % intervals",
    )
