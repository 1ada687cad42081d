"""Measured runs: what they say about other allotments, with how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    axes_or_new,
    checked_points,
    set_legend,
    set_log2_ticks,
    set_plain_log_ticks,
    set_title,
    spread_indices,
)
from qmodels.words import counted

_CURVES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "D"), (PURPLE, "^"))
_POINTS = 49  # of a curve


@runtime_checkable
class Fitted(Protocol):
    """Fitted program as it is drawn, as `qmodels.programs.FittedProgram` is one."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    @property
    def size(self) -> Any:
        """Of the problem that it is forecast for, with `work`; None where all runs were of one."""

    @property
    def allotments(self) -> NDArray[np.float64]:
        """The distinct (p, d) of the runs, shape (k, 2)."""

    def surface_interval(self, processors: Any, disks: Any, level: float) -> Any:
        """Predict every combination: time (masked), time_low and time_high, (n, m)."""


def fitted_times(
    fitted: Fitted,
    *,
    measured: ArrayLike | None = None,
    disks: Sequence[float] | None = None,
    most: float | None = None,
    level: float = 0.9,
    ax: Axes | None = None,
) -> Axes:
    """Draw predicted times against processors, with their intervals and the measured times.

    Parameters
    ----------
    fitted : FittedProgram
        From `qmodels.programs.fit_runs`.
    measured : (k, 3) array_like, optional
        Processors, disks and seconds of whole runs, to be marked.
    disks : sequence of float, optional
        A curve for each, at most 4; by default those of the runs, thinned.
    most : float, optional
        Largest number of processors shown; by default four times that of the runs.
    level : float
        Probability of the intervals.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Lines are what is fitted, dashed outside the runs. Where the runs do not decide there is no
        line, and the band is what they allow.

    Raises
    ------
    ModelError
        If `fitted` is something else, or an argument is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> from qmodels.io.runs import COLUMNS, RunTable
    >>> from qmodels.programs import fit_runs
    >>> rows = [("solver", 1, "cpu", p, 1, 5 + 90 / p) for p in (1, 2, 4, 8)]
    >>> fitted = fit_runs(RunTable(pd.DataFrame(rows, columns=COLUMNS)))["solver"]
    >>> fitted_times(fitted, measured=[(1, 1, 95.0)]).get_ylabel()
    'execution time [s]'
    """
    if not isinstance(fitted, Fitted):
        raise ModelError(f"fitted must be a FittedProgram, got {type(fitted).__name__}")
    marked = None if measured is None else checked_points(measured, 3)
    runs = fitted.allotments
    shown = _checked_disks(runs, disks)
    least, largest = float(runs[:, 0].min()), float(runs[:, 0].max())
    end = 4.0 * largest if most is None else float(checked_points([[most, 1.0]], 2)[0, 0])
    if end <= least:
        raise ModelError(f"most = {end:g} must be above the {least:g} processors of the runs")
    p = np.unique(np.concatenate([np.geomspace(least, end, _POINTS), runs[:, 0]]))
    p = p[p <= end]
    predicted = fitted.surface_interval(p, shown, level)
    ax = axes_or_new(ax, figsize=(7.2, 4.4))
    for column, (disk, (colour, marker)) in enumerate(zip(shown, _CURVES, strict=False)):
        x, low, high = np.log2(p), predicted.time_low[:, column], predicted.time_high[:, column]
        identified = not np.ma.getmaskarray(predicted.time)[:, column].all()
        label = counted(float(disk), "disk")
        ax.fill_between(
            x,
            low,
            high,
            color=colour,
            alpha=0.22,
            lw=0,
            label=None if identified else f"{label}: the runs do not tell",
        )
        inside = p <= largest
        within = bool(runs[:, 1].min() <= disk <= runs[:, 1].max())
        label = label if identified else "_"
        for part, style in ((inside, "-" if within else "--"), (p >= largest, "--")):
            ax.plot(x[part], predicted.time[part, column], color=colour, ls=style, lw=1.4, label=label)
            label = "_"
        if marked is not None:
            here = marked[(marked[:, 1] == disk) & (marked[:, 0] <= end)]
            ax.plot(
                np.log2(here[:, 0]),
                here[:, 2],
                color=colour,
                marker=marker,
                ms=5,
                ls="none",
                mec="black",
                mew=0.6,
                clip_on=False,
            )
    if largest < end:
        ax.axvline(np.log2(largest), color=GREY, lw=0.8, ls=":")
        ax.annotate(
            "runs end here",
            (np.log2(largest), 0.99),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="top",
            fontsize=8,
            color=GREY,
        )
    ax.set(yscale="log", xlabel="processors", ylabel="execution time [s]")
    set_plain_log_ticks(ax)
    ax.set_xlim(np.log2(p[0]), np.log2(end))
    set_log2_ticks(ax, p, "x")
    ax.grid(lw=0.3)
    # Beside the axes: within, some program's curves run through every corner.
    set_legend(ax, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    notes = f"fitted, with {100 * level:g} % bands for one run; dots: measured; dashed: extrapolated"
    size = "" if fitted.size is None else f", work {fitted.size.work:.6g}"
    set_title(ax, f"{fitted.name}{size}", notes)
    return ax


def _checked_disks(runs: Array, disks: Sequence[float] | None) -> Array:
    if disks is None:
        levels = np.unique(runs[:, 1])
        return np.asarray(levels[spread_indices(levels, len(_CURVES))])
    try:
        chosen = np.unique(np.asarray(disks, dtype=float))
    except (TypeError, ValueError):
        chosen = np.zeros(0)
    if not 1 <= chosen.size <= len(_CURVES) or not np.all((chosen >= 1) & (chosen < 1e12)):
        raise ModelError(f"disks must be 1 to {len(_CURVES)} numbers from 1 on, got {disks!r:.60}")
    return chosen
