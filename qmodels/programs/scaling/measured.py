"""Times measured on each allotment, to stand beside the law that was fitted to all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, read_only
from qmodels.programs.scaling.misfit import Misfit
from qmodels.programs.scaling.posterior import Posterior
from qmodels.words import counted

if TYPE_CHECKING:
    import pandas as pd


#: Chance that some allotment of a program is said to contradict its law, at most, if none does.
FALSE_ALARM = 0.01

SHORTEST = 1e-100  #: seconds: growth alone takes none at all where it begins

_BLOCK = 4_000_000  # numbers held at a time
_SHOWN = 3  # contradictions that are told one by one


@dataclass(frozen=True, eq=False)
class Measured:
    """Allotments on which every burst of a program was timed.

    Parameters
    ----------
    processors, disks : (k,) ndarray
        The allotments.
    seconds : (k,) ndarray
        Mean time of a whole run: the sum over bursts of the mean of their repeats.
    runs : (k,) ndarray
        Repeats of the burst that was timed least often.
    contradicts : (k,) ndarray of bool
        Whether the law and the noise of runs hardly ever give such a mean.
    """

    processors: Array
    disks: Array
    seconds: Array
    runs: Array
    contradicts: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            read_only(array)

    def at(self, p: Array, d: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return the seconds on allotments, NaN where none were measured, and whether the law has others.

        Parameters
        ----------
        p, d : (n,) ndarray
            The allotments.
        """
        cells = zip(self.processors.tolist(), self.disks.tolist(), strict=True)
        places = {cell: place for place, cell in enumerate(cells)}
        asked = zip(p.tolist(), d.tolist(), strict=True)
        at = np.array([places.get(cell, -1) for cell in asked], dtype=np.intp)
        return np.append(self.seconds, np.nan)[at], np.append(self.contradicts, False)[at]

    def last_slope(self, disks: float = 1.0) -> float:
        """Return the slope of log T over log p in the last step to the most processors that were run.

        -inf where fewer than two allotments lie there.

        Parameters
        ----------
        disks : float
            Where the most processors were run on several numbers of disks: the nearest to this one counts.
        """
        if not self.processors.size:
            return -math.inf
        run = self.disks[self.processors == self.processors.max()]
        here = self.disks == run[np.argmin(np.abs(np.log(run / disks)))]
        order = np.argsort(self.processors[here])
        p, seconds = self.processors[here][order], self.seconds[here][order]
        if p.size < 2:
            return -math.inf
        return float(np.log(seconds[-1] / seconds[-2]) / np.log(p[-1] / p[-2]))

    def contradictions(self, fitted: Array) -> tuple[str, ...]:
        """Return a sentence on the allotments that contradict the law; () where none do.

        Parameters
        ----------
        fitted : (k,) ndarray
            Seconds by the law.
        """
        places = np.flatnonzero(self.contradicts)
        if not places.size:
            return ()
        off = np.log(self.seconds / fitted)
        worst = places[np.argsort(-np.abs(off[places]), kind="stable")]
        shown = [
            f"{self.seconds[k]:.4g} s on {counted(self.processors[k], 'processor')} and "
            f"{counted(self.disks[k], 'disk')}, where the law has {fitted[k]:.4g} s"
            for k in worst[:_SHOWN]
        ]
        if worst.size > _SHOWN:
            shown.append(f"{counted(worst.size - _SHOWN, 'allotment')} more")
        return (f"Runs contradict every smooth law: {'; '.join(shown)}.",)


def measured_runs(frame: pd.DataFrame, posteriors: Sequence[Posterior], misfit: Misfit) -> Measured:
    """Return the whole runs of a program, and which of them its law does not explain.

    Parameters
    ----------
    frame : DataFrame
        Columns phase, kind, p, d, seconds, of one program.
    posteriors : sequence of Posterior
        One for each burst.
    misfit : Misfit
        Of which the noise counts.

    Notes
    -----
    A mean contradicts the law where it lies outside of what the drawn laws and the noise of its
    runs give with a probability of 1 - `FALSE_ALARM` shared by all allotments.
    """
    from scipy.special import ndtr

    by_burst = frame.groupby(["p", "d", "phase", "kind"])["seconds"].agg(["mean", "count"])
    whole = by_burst.groupby(["p", "d"]).agg({"mean": ["sum", "size"], "count": "min"})
    whole = whole[whole[("mean", "size")] == len(posteriors)].reset_index()
    p, d, seconds, runs = (
        whole[name].to_numpy(float) for name in (("p", ""), ("d", ""), ("mean", "sum"), ("count", "min"))
    )
    contradicts = np.zeros(p.size, dtype=bool)
    step = max(1, _BLOCK // misfit.noise.size)
    for at in range(0, p.size, step):
        here = slice(at, at + step)
        times = sum(one.draws @ one.library.values(p[here], d[here]) for one in posteriors)
        times = np.maximum(times, SHORTEST)
        spread = np.maximum(misfit.noise[:, None], 1e-9) / np.sqrt(runs[here])
        below = np.mean(ndtr((np.log(seconds[here]) - np.log(times)) / spread), axis=0)
        chance = 2.0 * np.minimum(below, 1.0 - below)
        contradicts[here] = chance < FALSE_ALARM / p.size
    return Measured(p, d, seconds, runs, contradicts)
