"""Figures of estimates: points, curves, bars and paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from phasefit.arrays import Array
from qmodels.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    axes_or_new,
    bars_above_zero,
    set_commas,
    set_legend_below,
)

#: Colours of what is told apart by its name, in turn.
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BLACK, GREY)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from validation.analysis.estimates import Estimate

    #: Estimates, or their means and half-widths as columns of a table have them.
    Estimates = Sequence[Estimate] | tuple[ArrayLike, ArrayLike]


def panel_grid(count: int, across: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels, row by row, and these; places that are left over stay empty.

    Parameters
    ----------
    count : int
        How many there are.
    across : int
        Those in a row, at most.
    size : tuple of (float, float)
        Width and height of one, inches.
    """
    across = min(across, count)
    down = -(-count // across)
    figure = Figure(figsize=(across * size[0], down * size[1]), layout="constrained")
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for ax in panels[count:]:
        ax.remove()
    return figure, list(panels[:count])


def draw_estimates(
    ax: Axes, at: ArrayLike, known: Estimates, *, across: bool = False, signed: bool = False, **look: Any
) -> None:
    """Draw estimates as points with their intervals; lines join them where the look has one.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    at : (k,) array_like
        Their places on the other axis.
    known : sequence of Estimate, or pair of (k,) array_like
        The estimates, or their means and half-widths. An interval that is not finite is left out.
    across : bool
        Whether estimates go along the x axis.
    signed : bool
        Whether they may be negative, as differences are. The intervals of all others end at zero.
    **look : object
        As for ``Axes.errorbar``.
    """
    means, halves = _means_and_halves(known)
    widths = np.where(np.isfinite(halves), halves, 0.0) if signed else bars_above_zero(means, halves)
    if across:
        ax.errorbar(means, at, xerr=widths, **({"capsize": 2} | look))
    else:
        ax.errorbar(at, means, yerr=widths, **({"capsize": 2} | look))


def draw_bars(
    ax: Axes,
    names: Sequence[str],
    groups: Mapping[str, Estimates],
    colours: Iterable[str],
    *,
    across: bool = False,
    filled: float = 1.0,
    **look: Any,
) -> None:
    """Draw estimates as bars with their intervals, those of one name side by side.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    names : (k,) sequence of str
        What the bars are of; names go from the left, or from the top.
    groups : mapping of str to (k,) Estimates
        By label, an estimate for each name.
    colours : iterable of str
        Of the groups.
    across : bool
        Whether the bars go along the x axis.
    filled : float
        Share of its room that a bar takes.
    **look : object
        As for ``Axes.bar``.
    """
    places, room = np.arange(len(names), dtype=float), 0.8 / len(groups)
    for k, ((label, known), colour) in enumerate(zip(groups.items(), colours, strict=False)):
        means, halves = _means_and_halves(known)
        widths = np.where(np.isfinite(halves), halves, 0.0)
        at = places + (k - (len(groups) - 1) / 2) * room
        style = {"color": colour, "label": label, "error_kw": {"lw": 0.8}} | look
        if across:
            ax.barh(at, means, filled * room, xerr=widths, **style)
        else:
            ax.bar(at, means, filled * room, yerr=widths, **style)
    if across:
        ax.set_yticks(places, names)
        ax.invert_yaxis()
    else:
        ax.set_xticks(places, names)


def _means_and_halves(known: Estimates) -> tuple[Array, Array]:
    """Return means and half-widths, (k,) each."""
    if isinstance(known, tuple) and len(known) == 2 and not hasattr(known[0], "half_width"):
        means, halves = known
    else:
        means, halves = [each.mean for each in known], [each.half_width for each in known]
    return np.asarray(means, dtype=float), np.asarray(halves, dtype=float)


def comparison(
    means: Mapping[str, Estimate],
    differences: Mapping[str, Estimate],
    *,
    best: str,
    quantity: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw means of alternatives on the same jobs, the first on top; see `Alternatives.plot`.

    Parameters
    ----------
    means, differences : mapping of str to Estimate
        Of each alternative: its mean, and its paired difference to the `best`.
    best : str
        Name of that which the others are held against.
    quantity : str
        What is drawn, with its unit.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Two intervals each: of the mean, thin, and of the paired difference to the best, thick.
    """
    order = list(means)[::-1]
    ax = axes_or_new(ax, figsize=(6.0, 1.6 + 0.35 * len(order)))
    at, lanes = [means[name].mean for name in order], range(len(order))
    halves = [[of[name].half_width for name in order] for of in (means, differences)]
    thin = {"fmt": "none", "ecolor": GREY, "elinewidth": 0.8, "capsize": None, "label": "mean"}
    thick = {"fmt": "o", "color": BLUE, "elinewidth": 2.5, "capsize": 4, "label": f"difference to {best}"}
    for half, look in zip(halves, (thin, thick), strict=True):
        draw_estimates(ax, lanes, (at, half), across=True, signed=True, **look)
    ax.set_yticks(lanes, order)
    ax.set_ylim(-0.6, len(order) - 0.4)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_xlabel(quantity)
    set_commas(ax, "x")
    if np.isfinite(halves).any():
        set_legend_below(ax, title=f"{means[best].confidence:.0%} intervals", title_fontsize=8)
    ax.set_xlim(left=min(0.0, *at) if len(at) > 1 else None)
    ax.grid(axis="x", color="#DDDDDD", lw=0.6)
    ax.set_axisbelow(True)
    return ax
