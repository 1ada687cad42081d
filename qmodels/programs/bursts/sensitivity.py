"""Numbers of bursts of a trace, for each threshold on the pause that separates two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, Ints
from phasefit.checks import real_vector
from phasefit.records import Result, data_frame
from qmodels.errors import ModelError
from qmodels.programs.bursts.columns import check_columns
from qmodels.programs.bursts.detection import SHORTEST_GAP, By, operations
from qmodels.programs.bursts.intervals import unions
from qmodels.programs.quantities import LARGEST
from qmodels.programs.traces import Trace
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd


_HALF_DECADES = 2  # default thresholds per factor of ten


@dataclass(frozen=True, eq=False)
class GapSensitivity(Result):
    """Number of bursts at each threshold.

    Parameters
    ----------
    gaps : (k,) ndarray
        Thresholds in seconds.
    bursts : (k,) ndarray of int
        Number of bursts at each threshold.
    io_share : (k,) ndarray
        Share of the run within bursts; by rank, the mean over all processes.
    busy_share : float
        Share of the run in which I/O was done; what `io_share` tends to for small gaps.
    plateau : (float, float) or None
        The widest range of thresholds, as a ratio, over which the number of bursts stays the
        same: from one length of pause to the next, the shortest that counts being the median
        length of an operation. None where no pause is longer than that.
    plateau_bursts : int
        The number of bursts there, 0 where there is no plateau.
    """

    gaps: Array
    bursts: Ints
    io_share: Array
    busy_share: float
    plateau: tuple[float, float] | None
    plateau_bursts: int

    def __post_init__(self) -> None:
        check_columns(self, ("gaps", "bursts", "io_share"), "gaps")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per threshold."""
        return data_frame({"gap": self.gaps, "bursts": self.bursts, "io_share": self.io_share})

    def table(self) -> str:
        """Return a line per threshold, and the widest plateau."""
        lines = [f"{'gap [s]':>10}  {'bursts':>8}  {'in bursts':>9}"]
        lines += [
            f"{gap:>10.4g}  {count:>8}  {100 * share:>7.3g} %"
            for gap, count, share in zip(self.gaps, self.bursts, self.io_share, strict=True)
        ]
        if self.plateau is not None:
            low, high = self.plateau
            bursts = f"{self.plateau_bursts} {plural('burst', self.plateau_bursts)}"
            lines.append(f"widest plateau: {bursts} from {low:.4g} to {high:.4g} s")
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the number of bursts over the threshold."""
        from qmodels import plotting

        return plotting.gap_sensitivity(self, ax=ax)


def gap_sensitivity(trace: Trace, gaps: ArrayLike | None = None, *, by: By = "program") -> GapSensitivity:
    """Count the bursts at many thresholds at once.

    Parameters
    ----------
    trace : Trace
        With a timeline.
    gaps : (k,) array_like, optional
        Thresholds in seconds, >= 0. By default two per factor of ten, from the shortest pause
        between operations to the longest.
    by : {"program", "rank"}
        As in `find_bursts`.

    Returns
    -------
    sensitivity : GapSensitivity
        Numbers and shares at each threshold.

    Raises
    ------
    ModelError
        If the trace has no timeline, or `gaps` or `by` is out of range.

    Notes
    -----
    Only the pauses between operations matter: there is one burst more than there are pauses
    longer than the threshold. A wide plateau is a hint that short pauses and long ones are of two
    kinds, not a proof.

    Examples
    --------
    >>> trace = Trace([0, 0, 0], [0, 2, 9], [1, 3, 10], ["read"] * 3, processes=1, duration=10.0)
    >>> gap_sensitivity(trace, [0.5, 1, 5, 6]).bursts
    array([3, 2, 2, 1])
    """
    pauses, lengths, shortest = pauses_of(trace, by)
    if gaps is None:
        chosen = _default_gaps(pauses)
    else:
        chosen = real_vector("gaps", gaps)
        if chosen.min() < 0 or chosen.max() > LARGEST:
            raise ModelError(f"gaps must be from 0 to {LARGEST:g} s, got {chosen.min():.6g}")
    shorter = np.searchsorted(pauses, chosen, side="right")
    owners = lengths.size - pauses.size
    bursts = owners + pauses.size - shorter
    whole = trace.duration * (1 if by == "program" else trace.processes)
    busy = float(lengths.sum())
    filled = np.concatenate([[0.0], np.cumsum(pauses)])[shorter]
    plateau, count = _plateau(pauses, owners, shortest)
    return GapSensitivity(chosen, bursts, (busy + filled) / whole, busy / whole, plateau, count)


def pauses_of(trace: Trace, by: By = "program") -> tuple[Array, Array, float]:
    """Return the lengths of the pauses, of the I/O between them, and of the shortest that counts.

    A pause no longer than the median operation says nothing about bursts.

    Parameters
    ----------
    trace : Trace
        With a timeline.
    by : {"program", "rank"}
        As in `find_bursts`.
    """
    owner, start, end, _ = operations(trace, by)
    pieces, lengths = unions(owner, start, end)
    same = pieces[0][1:] == pieces[0][:-1]
    pauses = np.sort((pieces[1][1:] - pieces[2][:-1])[same])
    shortest = max(float(np.median(end - start)), SHORTEST_GAP) if start.size else SHORTEST_GAP
    return pauses, lengths, shortest


def _default_gaps(pauses: Array) -> Array:
    if not pauses.size:
        return np.array([1e-3, 1e-2, 1e-1, 1.0])
    low = np.floor(np.log10(max(pauses[0], SHORTEST_GAP)))
    high = max(np.ceil(np.log10(max(pauses[-1], SHORTEST_GAP))), low + 1)
    return np.logspace(low, high, int(_HALF_DECADES * (high - low)) + 1)


def _plateau(pauses: Array, owners: int, floor: float) -> tuple[tuple[float, float] | None, int]:
    lengths = np.unique(np.append(pauses[pauses > floor], floor))
    if lengths.size < 2:
        return None, 0
    at = int(np.argmax(lengths[1:] / lengths[:-1]))
    low, high = float(lengths[at]), float(lengths[at + 1])
    return (low, high), owners + int(np.count_nonzero(pauses > low))
