"""Slowdowns between two releases: intervals in a row."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes

from qmodels.errors import ModelError
from qmodels.plotting.style import BLUE, GREY, ORANGE, axes_or_new, set_title

_MOST = 40  # changes that can be read in one figure


@runtime_checkable
class Compared(Protocol):
    """Comparison as it is drawn, as `qmodels.programs.comparison.Comparison` is one."""

    @property
    def changes(self) -> Any:
        """Changes with `program`, `part`, `processors`, `disks`, `ratio` and `interval`."""


def changes(compared: Compared, *, limit: float | None = None, ax: Axes | None = None) -> Axes:
    """Draw the change of every part with its interval, in per cent.

    Parameters
    ----------
    compared : Comparison
        From `qmodels.programs.compare_runs`.
    limit : float, optional
        A slowdown, as a share, to be marked.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        A line for each change, the first at the top; at most 40.

    Raises
    ------
    ModelError
        If `compared` is something else.
    """
    if not isinstance(compared, Compared):
        raise ModelError(f"compared must be a Comparison, got {type(compared).__name__}")
    shown = list(compared.changes)[:_MOST]
    several = len({one.program for one in shown}) > 1
    ax = axes_or_new(ax, figsize=(6.4, 1.2 + 0.28 * len(shown)))
    for row, one in enumerate(shown):
        low, high = (100.0 * (end - 1.0) for end in one.interval)
        colour = ORANGE if low > 0 else BLUE
        ax.plot([low, high], [row, row], color=colour, lw=2)
        ax.plot(100.0 * (one.ratio - 1.0), row, "o", color=colour, ms=5)
    where = ["" if one.processors is None else f", {one.processors:g} x {one.disks:g}" for one in shown]
    names = [one.part + at for one, at in zip(shown, where, strict=True)]
    if several:
        names = [f"{one.program}: {name}" for one, name in zip(shown, names, strict=True)]
    ax.axvline(0.0, color=GREY, lw=0.8)
    if limit is not None:
        ax.axvline(100.0 * limit, color=ORANGE, lw=0.8, ls="--")
    ax.set_yticks(np.arange(len(shown)), labels=names)
    ax.invert_yaxis()
    ax.set_xlabel("slowdown [%]")
    ax.grid(axis="x", lw=0.3)
    set_title(ax, "new against old", f"{100 * shown[0].level:g} % intervals")
    return ax
