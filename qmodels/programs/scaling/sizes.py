"""The size of a problem that a forecast is for, and runs of several sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array, Indices
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.programs.scaling.pooling import Pooled, pooled, pooled_cells
from qmodels.programs.scaling.sized import Sized
from qmodels.words import counted

if TYPE_CHECKING:
    import pandas as pd

WORK = "work"

_TWO = 2
_TOGETHER = 1e-3  # of the logarithm of work per processor: what parts it less is rounding


@dataclass(frozen=True)
class Size(Record):
    """Size of the problem that a program is forecast for."""

    work: float  #: in the unit of the table
    least: float  #: of the runs
    most: float  #: of the runs
    asked: bool  #: whether somebody named it
    together: bool  #: whether the work only grew with the processors
    sizes: int  #: that were run
    exponent: tuple[float, float, float] = (1.0, 1.0, 1.0)  #: of what is computed: mean and likely range

    @property
    def doublings(self) -> float:
        """Doublings of the work outside of the runs."""
        return max(math.log2(self.least / self.work), math.log2(self.work / self.most), 0.0)

    def learnt(self, sized: Sequence[Sized]) -> Size:
        """Return the same with the exponent of the burst that takes longest.

        Parameters
        ----------
        sized : sequence of Sized
            The bursts.
        """
        longest = max(sized, key=lambda one: float(np.sum(one.fitted)))
        return replace(self, exponent=longest.exponent())

    def sentences(self) -> tuple[str, ...]:
        """Return for what size the forecast is, and what was learnt of sizes."""
        mean, low, high = self.exponent
        chosen = "" if self.asked else ", that of the run on most processors"
        told = (
            f"For work {self.work:.6g}{chosen}; runs had {self.least:.6g} to {self.most:.6g}. What is "
            f"computed grows as work^{mean:.2f} ({low:.2f} to {high:.2f})."
        )
        return (told,)

    def warnings(self) -> tuple[str, ...]:
        """Return reasons to trust a forecast of this size less."""
        found = []
        if self.doublings > 0:
            far = counted(float(f"{self.doublings:.2g}"), "doubling")
            found.append(
                f"work {self.work:.6g} lies {far} outside of the runs, which had {self.least:.6g} to "
                f"{self.most:.6g}"
            )
            if self.sizes == _TWO:
                found.append(
                    "only two sizes were run, so the power of the work that joins them is taken for the law; "
                    "make a run of a third size"
                )
        if self.together:
            found.append(
                "the work only grew with the processors: what another size per processor takes is assumed, "
                "not seen; make a run of another size on the same processors"
            )
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Timed:
    """Runs of one burst.

    Parameters
    ----------
    p, d, seconds : (n,) ndarray
        Allotment and time of each.
    work : (n,) ndarray or None
        Size of the problem of each, where sizes differ.
    """

    p: Array
    d: Array
    seconds: Array
    work: Array | None = None

    @cached_property
    def _by_work(self) -> tuple[Pooled, Array, Indices]:
        assert self.work is not None
        return pooled_cells(np.stack([self.p, self.d, self.work]), self.seconds)

    def pooled(self) -> Pooled:
        """Return the runs, repeats of the same allotment and size taken together."""
        return pooled(self.p, self.d, self.seconds) if self.work is None else self._by_work[0]

    def works(self) -> Array:
        """Return the work of each row of `pooled`."""
        return np.asarray(self._by_work[1][2])

    def place(self) -> Indices:
        """Return the row of `pooled` of each run."""
        return self._by_work[2]

    def at(self, work: float | None) -> tuple[Array, Array, Array]:
        """Return processors, disks and seconds of the runs of one size, of all where that is None.

        Parameters
        ----------
        work : float or None
            The size.
        """
        here = np.ones(self.p.size, dtype=bool) if work is None else self.work == work
        return self.p[here], self.d[here], self.seconds[here]


def size_asked(name: str, frame: pd.DataFrame, work: float | None) -> Size | None:
    """Return the size that a program is forecast for; None where sizes are not told apart.

    Parameters
    ----------
    name : str
        Of the program.
    frame : DataFrame
        Its runs.
    work : float or None
        The size asked for.

    Raises
    ------
    ModelError
        If a size is asked for and the runs do not tell of it.
    """
    if WORK not in frame:
        if work is not None:
            raise ModelError("the table has no column work, so that nothing tells what another size takes")
        return None
    sizes = frame[WORK].to_numpy(float)
    least, most = float(sizes.min()), float(sizes.max())
    if least == most:
        if work not in (None, least):
            raise ModelError(
                f"every run of {name!r} has work {least:.6g}, so what work {work:.6g} takes cannot be told; "
                f"add runs of another size"
            )
        return None
    p = frame["p"].to_numpy(float)
    together = bool(np.ptp(np.log(sizes / p)) < _TOGETHER)
    if work is None:
        return Size(float(sizes[p == p.max()].max()), least, most, False, together, np.unique(sizes).size)
    return Size(work, least, most, True, together, np.unique(sizes).size)


def fit_of_sizes(
    whole: pd.DataFrame, parts: Sequence[Timed], sized: Sequence[Sized]
) -> tuple[Pooled, Array, Array] | None:
    """Return whole runs, the logarithm of the fit to each at its own size, and derivatives.

    Parameters
    ----------
    whole : DataFrame
        Columns p, d, work and seconds.
    parts : sequence of Timed
        Runs of each burst.
    sized : sequence of Sized
        What was learnt of each.
    """
    if whole.empty:
        return None
    of_runs = whole[["p", "d", WORK]].to_numpy(float).T
    totals, cells, _ = pooled_cells(of_runs, whole["seconds"].to_numpy(float))
    times, columns = np.zeros(totals.p.size), []
    for part, one in zip(parts, sized, strict=True):
        runs = part.pooled()
        place = {key: at for at, key in enumerate(zip(runs.p, runs.d, part.works(), strict=True))}
        at = [place[key] for key in zip(*cells, strict=True)]
        times = times + one.fitted[at]
        columns.append(one.tangent[at])
    return totals, np.log(times), np.concatenate(columns, axis=1) / times[:, None]
