"""Distance of a program from every law of the library, learnt from the misfit of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.evidence import SIGMAS
from qmodels.programs.scaling.misfit import Misfit, learnt_misfit, no_misfit
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import MOST_TERMS

#: Scale of the discrepancy before the runs have spoken: standard deviations of log T for the first
#: doubling outside the runs are half-normal about 0 with this scale, so their median is .07. This and the
#: three numbers below were learnt from the fitting half of 180 published tables
#: (`tests/campaigns/measured_series.py`), where doubt grows faster than a random walk's.
BEFOREHAND = 0.1

#: Variance at n doublings of processors beyond the runs, of that at one: n + CURVED n^3, for slopes wander
#: as well. Of disks nothing was learnt: there it is n.
CURVED = 0.5

#: Programs collapse: with this chance in each doubling of processors beyond the runs, log T begins to rise
#: above every law, by up to `STEEPEST` discrepancies times the square of the doublings since.
COLLAPSES = 0.15
STEEPEST = 7.0

#: Nodes up to which no program collapses that was run on several parts of one: none did within eight nodes.
STEADY_NODES = 8.0

#: Variance that a discrepancy of one leaves in the residuals within the box of runs. A random walk
#: over n doublings keeps n/15 of a doubling's variance about a straight line: a quarter at four
#: doublings of processors.
LEFT_WITHIN = 0.25

_LEVELS = 64  # at which the half-normal law is represented
_USED_UP = 2 * MOST_TERMS  # allotments that the laws of I/O and of computation can fit exactly


def learnt(totals: Pooled, fitted: Array, count: int) -> Array:
    """Draw (count,) discrepancies for one doubling, given the runs of a whole program.

    Parameters
    ----------
    totals : Pooled
        Seconds of whole runs.
    fitted : (k,) ndarray
        Log seconds by the fit, on the allotments of `totals`.
    count : int
        Draws, evenly over the law, smallest first.

    Returns
    -------
    discrepancies : (count,) ndarray
        Standard deviations of log T for one doubling outside the runs.

    Notes
    -----
    Repeats tell the noise alone: their sum of squares is that of the noise. Residuals of the means
    on an allotment have the noise and a share of the discrepancy. Where no more allotments were
    run than the laws have coefficients, nothing is learnt. Noise has Jeffreys' prior on `SIGMAS`.
    """
    from scipy.special import ndtri

    levels = BEFOREHAND * ndtri(0.5 + 0.5 * (np.arange(_LEVELS) + 0.5) / _LEVELS)
    weights = np.full(_LEVELS, 1.0 / _LEVELS)
    free = totals.p.size - _USED_UP
    if free > 0:
        squares = float(np.sum(totals.count * (totals.log_time - fitted) ** 2))
        noise = SIGMAS**2
        repeats = totals.runs / totals.p.size
        spread = noise + repeats * LEFT_WITHIN * levels[:, None] ** 2
        likelihood = -0.5 * (free * np.log(spread) + squares / spread)
        pure = totals.runs - totals.p.size
        likelihood -= 0.5 * (pure * np.log(noise) + totals.within / noise)
        by_level = np.logaddexp.reduce(likelihood, axis=1)
        weights = np.exp(by_level - by_level.max())
        weights /= weights.sum()
    at = np.searchsorted(np.cumsum(weights), (np.arange(count) + 0.5) / count)
    return np.asarray(levels[np.minimum(at, _LEVELS - 1)])


@dataclass(frozen=True, eq=False)
class Margin:
    """Difference of the program and of a run from the laws that were drawn.

    Parameters
    ----------
    discrepancy : (draws,) ndarray
        Standard deviation of log T for the first doubling outside the box of runs, a draw each.
    noise : (draws,) ndarray
        Relative noise of a whole run: that of its bursts by their shares of the time, as if a run
        were slow in all of them alike.
    learnt : bool
        Whether the runs told more of the discrepancy than was assumed beforehand.
    misfit : Misfit
        How the mean time on an allotment differs from the law, and a run from its mean.
    curved : float
        Share of the cube in the growth of the variance: n + curved n^3 at n doublings.
    onset, steepness : (draws,) ndarray
        Doublings of processors beyond the runs at which a program collapses, inf where it never does, and
        what log T rises by with the square of the doublings since.
    """

    discrepancy: Array
    noise: Array
    learnt: bool
    misfit: Misfit
    curved: float = 0.0
    onset: Array = field(default_factory=lambda: np.full(1, np.inf))
    steepness: Array = field(default_factory=lambda: np.zeros(1))

    @property
    def typical(self) -> float:
        """Median of the discrepancy."""
        return float(np.median(self.discrepancy))

    def _grown(self, doublings: Array) -> Array:
        """Variances (4, n) of that at one doubling; faster for more processors, where it was learnt."""
        return doublings + self.curved * np.array([[0.0], [1.0], [0.0], [0.0]]) * doublings**3

    def parted(self, doublings: Array, shocks: Array) -> Array:
        """Return what log T differs by from the drawn laws, (n, draws).

        Parameters
        ----------
        doublings : (4, n) ndarray
            Outside the runs, see `doublings_outside`.
        shocks : (4, draws) ndarray
            Standard normal numbers.
        """
        size = np.sqrt(self._grown(doublings))
        since = np.maximum(doublings[1][:, None] - self.onset, 0.0)
        return np.asarray(size.T @ (shocks * self.discrepancy) + self.steepness * since**2)

    def variance(self, doublings: Array) -> float:
        """Return the variance of log T outside the runs, averaged over allotments.

        Parameters
        ----------
        doublings : (4, n) ndarray
            Outside the runs, see `doublings_outside`.
        """
        size = self._grown(doublings).sum(axis=0) * np.mean(self.discrepancy**2)
        since = np.maximum(doublings[1][:, None] - self.onset, 0.0)
        return float(np.mean(size + np.var(self.steepness * since**2, axis=1)))


def doublings_outside(box: Array | Sequence[Array], allotments: Array | Sequence[Array]) -> Array:
    """Return doublings (4, n) beyond the runs: fewer and more processors, fewer and more disks.

    Parameters
    ----------
    box : two ndarray
        Processors and disks of the runs.
    allotments : two (n,) ndarray
        Processors and disks asked for.
    """
    rows = []
    for runs, units in zip(box, allotments, strict=True):
        rows += [np.log2(runs.min() / units), np.log2(units / runs.max())]
    return np.asarray(np.maximum(np.array(rows), 0.0))


def margin_of(
    totals: Pooled | None,
    fitted: Array,
    tangent: Array,
    *,
    noise: Array,
    assumed: float | None,
    rng: np.random.Generator,
    steady: float = 0.0,
) -> Margin:
    """Return the margin of a program: an assumed one, or learnt from its whole runs if there are any.

    Parameters
    ----------
    totals : Pooled or None
        Seconds of whole runs; None where there are none.
    fitted : (n,) ndarray
        Logarithm of the seconds by the law on each allotment.
    tangent : (n, k) ndarray
        Its derivatives by the coefficients.
    noise : (draws,) ndarray
        Relative noise of a whole run, a draw each.
    assumed : float or None
        Discrepancy that is taken instead of learning it.
    rng : numpy.random.Generator
        Where randomness comes from.
    steady : float
        Doublings of processors beyond the runs within which the program does not collapse.
    """
    if assumed == 0:
        return Margin(np.zeros(noise.size), noise, False, no_misfit(noise))
    residual = fitted if totals is None else totals.log_time - fitted
    misfit = learnt_misfit(totals, residual, tangent, noise, rng)
    if assumed is not None:
        return Margin(np.full(noise.size, assumed), noise, False, misfit)
    enough = totals is not None and totals.p.size > _USED_UP
    one = np.ones(1)
    runs = totals if totals is not None else Pooled(one, one, one, one, 0.0, 1)
    drawn = learnt(runs, fitted, noise.size)
    drawn = rng.permutation(drawn)
    onset = steady + rng.exponential(1.0 / COLLAPSES, noise.size)
    return Margin(drawn, noise, enough, misfit, CURVED, onset, STEEPEST * drawn * rng.random(noise.size))
