"""Runs of one burst, repeats on the same allotment taken together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Indices

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Pooled:
    """Runs of one burst, repeats on the same allotment taken together."""

    p: Array  #: processors of each allotment
    d: Array  #: disks of each allotment
    log_time: Array  #: mean of the logarithms
    count: Array  #: runs on each allotment
    within: float  #: sum of squares of the repeats about their means
    runs: int  #: of all allotments

    def by_processors(self) -> Pooled:
        """Return the same, each allotment counted in proportion to its processors.

        The sum of the counts stays. What is asked is what happens on more processors than were run, and
        what happens on the fewest says least about that.
        """
        count = self.count * self.p / self.p.max()
        return replace(self, count=count * (self.count.sum() / count.sum()))

    def only(self, kept: NDArray[np.intp]) -> Pooled:
        """Return the runs on some of the allotments.

        The scatter of repeats is that of all, in proportion.

        Parameters
        ----------
        kept : (m,) ndarray of int
            Places of the allotments.
        """
        runs = int(self.count[kept].sum())
        free = self.runs - self.p.size
        share = (runs - kept.size) / free if free else 0.0
        return Pooled(
            self.p[kept],
            self.d[kept],
            self.log_time[kept],
            self.count[kept],
            self.within * share,
            runs,
        )


def pooled(p: Array, d: Array, seconds: Array) -> Pooled:
    """Take the repeats on each allotment together.

    Parameters
    ----------
    p, d : (n,) ndarray
        Allotment of each run.
    seconds : (n,) ndarray
        Time of each run.

    Returns
    -------
    Pooled
        A mean logarithm for each allotment, and the scatter of repeats.
    """
    return pooled_cells(np.stack([p, d]), seconds)[0]


def pooled_cells(of_runs: Array, seconds: Array) -> tuple[Pooled, Array, Indices]:
    """Take the repeats of each cell together: of an allotment, and of whatever else runs are told apart by.

    Parameters
    ----------
    of_runs : (k, n) ndarray
        Processors, disks and the rest of each run.
    seconds : (n,) ndarray
        Time of each run.

    Returns
    -------
    runs : Pooled
        A row for each cell.
    cells : (k, rows) ndarray
        What each row is of.
    places : (n,) ndarray of int
        The row of every run.
    """
    cells, place = np.unique(of_runs, axis=1, return_inverse=True)
    place = place.ravel()
    count = np.bincount(place).astype(float)
    log_y = np.log(seconds)
    mean = np.bincount(place, weights=log_y) / count
    within = float(np.sum((log_y - mean[place]) ** 2))
    return Pooled(cells[0], cells[1], mean, count, within, seconds.size), cells, place


def whole_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the sums of seconds of the runs of which every burst was timed, a row each.

    Parameters
    ----------
    frame : DataFrame
        Bursts of one program. Runs are told apart by p, d and, where they are there, nodes, work and repeat:
        the first on two nodes is another run than the first on four.
    """
    told = [name for name in ("p", "d", "nodes", "work", "repeat") if name in frame]
    whole = frame.groupby(told)["seconds"].agg(["sum", "count"]).reset_index()
    bursts = len(frame[["phase", "kind"]].drop_duplicates())
    return whole[whole["count"] == bursts].rename(columns={"sum": "seconds"})
