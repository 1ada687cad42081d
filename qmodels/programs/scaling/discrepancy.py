"""Distance of a program from every law of the library, learnt from the misfit of its runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.evidence import SIGMAS
from qmodels.programs.scaling.misfit import Misfit, learnt_misfit, no_misfit
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import MOST_TERMS

#: Scale of the discrepancy before the runs have spoken: standard deviations of log T for each
#: doubling outside the runs are half-normal about 0 with this scale, so their median is .135.
BEFOREHAND = 0.2

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
        Standard deviation of log T for each doubling outside the box of runs, a draw each.
    noise : (draws,) ndarray
        Relative noise of a whole run: that of its bursts by their shares of the time, as if a run
        were slow in all of them alike.
    learnt : bool
        Whether the runs told more of the discrepancy than was assumed beforehand.
    misfit : Misfit
        How the mean time on an allotment differs from the law, and a run from its mean.
    """

    discrepancy: Array
    noise: Array
    learnt: bool
    misfit: Misfit

    @property
    def typical(self) -> float:
        """Median of the discrepancy."""
        return float(np.median(self.discrepancy))

    @property
    def variance(self) -> float:
        """Mean square of the discrepancy: variance of log T for one doubling."""
        return float(np.mean(self.discrepancy**2))


def margin_of(
    totals: Pooled | None,
    fitted: Array,
    tangent: Array,
    *,
    noise: Array,
    assumed: float | None,
    rng: np.random.Generator,
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
    return Margin(rng.permutation(drawn), noise, enough, misfit)
