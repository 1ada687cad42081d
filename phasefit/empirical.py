"""Laws of observations themselves, before any is fitted: steps, distances, dependence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_array, real_number
from phasefit.errors import ModelError
from phasefit.observations import Observations
from phasefit.phase_type import PhaseType

_CONFIDENCE = 0.99
_FEWEST = 20  # below this the normal approximation to a lag-1 autocorrelation is worth little
_COARSE = 1025  # places at which a distance is looked for first


@dataclass(frozen=True, eq=False)
class Empirical:
    """Law of the observations themselves: a step function.

    Parameters
    ----------
    values : (m,) array_like
        Distinct values, ascending and not negative, seconds.
    cdf : (m,) array_like
        P(X <= value) at each, ascending, at most one.
    size : float
        Number of observations, weights counted as repetitions.
    last : float, optional
        Where the mass beyond the largest value is put for the moments: the longest time observed.

    Raises
    ------
    ModelError
        If these are not such numbers.

    References
    ----------
    .. [1] E. L. Kaplan, P. Meier, "Nonparametric estimation from incomplete observations",
       *J. Am. Stat. Assoc.* 53 (1958) 457-481.

    Examples
    --------
    >>> data = Empirical.of([3.0, 1.0, 1.0, 5.0])
    >>> data.values, data.cdf, data.quantile(0.6)
    (array([1., 3., 5.]), array([0.5 , 0.75, 1.  ]), 3.0)
    """

    values: Array
    cdf: Array
    size: float
    last: float | None = None

    def __post_init__(self) -> None:
        values, cdf = real_array("values", self.values), real_array("cdf", self.cdf)
        if values.ndim != 1 or values.size == 0 or cdf.shape != values.shape:
            raise ModelError(
                f"values and cdf must be vectors of one length, got {values.shape} and {cdf.shape}"
            )
        if values[0] < 0.0 or not (np.diff(values) > 0.0).all():
            raise ModelError("values must be ascending, distinct and not negative; sort them")
        if cdf[0] < 0.0 or cdf[-1] > 1.0 or not (np.diff(cdf) >= 0.0).all():
            raise ModelError("cdf must ascend within [0, 1]")
        size = real_number("size", self.size, above=0.0)
        last = values[-1] if self.last is None else real_number("last", self.last, least=values[-1])
        for name, value in (("values", values), ("cdf", cdf), ("size", size), ("last", last)):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        alive: ArrayLike = (),
        alive_weights: ArrayLike | None = None,
    ) -> Empirical:
        """Return the step function of observations, some known only to be longer than `alive`.

        Parameters
        ----------
        values, weights : (n,) array_like
            Observations, seconds, and how often each counts; once by default.
        alive, alive_weights : (k,) array_like
            Times after which nothing more was observed, and how often each counts.

        Returns
        -------
        Empirical
            The product-limit estimate; without `alive`, the shares of the observations.

        Raises
        ------
        ModelError
            If a value is negative or not finite, or lengths differ, or nothing was observed.
        """
        exact, mass = _weighted("values", values, weights)
        censored, lost = _weighted("alive", alive, alive_weights)
        size = float(mass.sum() + lost.sum())
        if not mass.sum() > 0.0:
            raise ModelError("values hold no observation with a weight above zero")
        exact, mass = exact[mass > 0.0], mass[mass > 0.0]
        distinct, place = np.unique(exact, return_inverse=True)
        died = np.bincount(place, weights=mass)
        if not censored.size:
            cdf = np.cumsum(died) / died.sum()
            cdf[-1] = 1.0
            return cls(distinct, np.minimum(cdf, 1.0), size)
        order = np.argsort(censored)
        gone = np.concatenate([[0.0], np.cumsum(lost[order])])
        before = gone[np.searchsorted(censored[order], distinct, side="left")]
        left = np.cumsum(died[::-1])[::-1] + (gone[-1] - before)
        surviving = np.cumprod(1.0 - np.minimum(died / left, 1.0))
        last = max(float(distinct[-1]), float(censored.max()))
        return cls(distinct, 1.0 - surviving, size, last)

    @cached_property
    def _masses(self) -> tuple[Array, Array]:
        """Places and masses that sum to one; what is left over sits at `last`."""
        mass = np.diff(self.cdf, prepend=0.0)
        return np.append(self.values, self.last or 0.0), np.append(mass, 1.0 - self.cdf[-1])

    @property
    def mean(self) -> float:
        """Mean in seconds."""
        values, mass = self._masses
        top = values.max()
        return float(top * (mass @ (values / top))) if top > 0.0 else 0.0

    def relative_moment(self, k: int) -> float:
        """Return E[X^k] / mean^k.

        Parameters
        ----------
        k : int
            Order of the moment.
        """
        values, mass = self._masses
        return float(mass @ (values / self.mean) ** k)

    def quantile(self, q: float) -> float:
        """Return the smallest value not exceeded with probability `q`, seconds.

        Parameters
        ----------
        q : float
            In [0, 1].

        Returns
        -------
        float
            NaN where the data do not reach.
        """
        place = int(np.searchsorted(self.cdf, q - 1e-12, side="left"))
        return float(self.values[place]) if place < self.values.size else nan

    def sf(self) -> Array:
        """Return P(X > value) at each of `values`."""
        return 1.0 - self.cdf


def empirical(observations: Observations) -> Empirical | None:
    """Return the data's own law; None where it is not identified.

    Exact and right-censored times have one, the product-limit estimate; left- and
    interval-censored ones do not by themselves.

    Parameters
    ----------
    observations : Observations
        The data, in seconds.

    Raises
    ------
    ModelError
        If these are not observations.

    Examples
    --------
    >>> empirical(Observations.of([1.0, 0.0, 3.0, 3.0])).cdf
    array([0.25, 0.5 , 1.  ])
    """
    if not isinstance(observations, Observations):
        raise ModelError(f"observations are needed, got {type(observations).__name__}")
    if np.isfinite(observations.upper).any():
        return None
    values, weights = observations.values, observations.weights
    if observations.zeros > 0.0:
        values, weights = np.append(values, 0.0), np.append(weights, observations.zeros)
    return Empirical.of(
        values, weights, alive=observations.lower, alive_weights=observations.interval_weights
    )


def _weighted(name: str, values: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
    x = np.zeros(0) if np.size(values) == 0 else real_array(name, values)
    if x.ndim != 1 or (x.size and x.min() < 0.0):
        raise ModelError(f"{name} must be a vector of numbers >= 0, got shape {x.shape}")
    if weights is None:
        return x, np.ones(x.size)
    w = real_array("weights", weights)
    if w.shape != x.shape or (w.size and w.min() < 0.0):
        raise ModelError(f"weights must be {x.size} numbers >= 0, got shape {w.shape}")
    return x, w


def ks_distance(distribution: PhaseType, data: Empirical) -> float:
    """Return the largest distance between the cdf of a law and that of the data.

    Parameters
    ----------
    distribution : PhaseType
        The law, in the unit of the data.
    data : Empirical
        Law of the data.

    Returns
    -------
    float
        The statistic of Kolmogorov and Smirnov, within [0, 1].

    Raises
    ------
    ModelError
        If the arguments are not a law and data.

    Notes
    -----
    Both functions rise, so between two places the distance is at most what they rise to; only
    where that exceeds the largest distance found is the law evaluated in between. The result is
    the same as from evaluating it everywhere.

    Examples
    --------
    >>> round(ks_distance(PhaseType.exponential(mean=1.0), Empirical.of([1.0])), 6)
    0.632121
    """
    if not isinstance(distribution, PhaseType) or not isinstance(data, Empirical):
        raise ModelError(
            f"a PhaseType and an Empirical are needed, got {type(distribution).__name__} and "
            f"{type(data).__name__}"
        )
    after = data.cdf
    before = np.concatenate([[0.0], after[:-1]])
    n = after.size
    at = np.unique(np.linspace(0, n - 1, min(n, _COARSE)).astype(np.intp))
    fitted = np.asarray(distribution.cdf(data.values[at]))
    while True:
        below = np.where(data.values[at] > 0.0, fitted, 0.0)  # the limit from the left
        best = float(max((after[at] - fitted).max(), (below - before[at]).max()))
        reach = np.maximum(before[at[1:]] - fitted[:-1], fitted[1:] - after[at[:-1]])
        wide = np.flatnonzero((np.diff(at) > 1) & (reach > best))
        if not wide.size:
            return best
        middle = (at[wide] + at[wide + 1]) // 2
        at = np.insert(at, wide + 1, middle)
        fitted = np.insert(fitted, wide + 1, distribution.cdf(data.values[middle]))


def dependence(
    values: Array,
    what: str = "Successive values are",
    hence: str = "a law of independent values leaves this out; bands are too narrow and p-values too small",
) -> str | None:
    """Return a sentence on the lag-1 autocorrelation of values, if it stands out; else None.

    Plain and of ranks, against the 99 % band -1/n +- 2.576/sqrt(n) of independent series; under
    heavy tails a few long values rule the plain figure (A. Wald, J. Wolfowitz, *Ann. Math. Stat.*
    14 (1943) 378-388).

    Parameters
    ----------
    values : (n,) ndarray
        In order of time, not negative.
    what : str
        Beginning of the sentence, up to "not independent".
    hence : str
        End of the sentence: the consequence.
    """
    n = values.size
    if n < _FEWEST or values.min() == values.max():
        return None
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2.0  # ties share their rank
    plain, ranks = lag1(values), lag1(middle[place])
    centre, reach = -1.0 / n, NormalDist().inv_cdf((1.0 + _CONFIDENCE) / 2.0) / n**0.5
    if max(abs(plain - centre), abs(ranks - centre)) <= reach:
        return None
    return (
        f"{what} not independent: the lag-1 autocorrelation is {plain:.3f} "
        f"({ranks:.3f} by ranks, which heavy tails do not sway), while {_CONFIDENCE:.0%} of "
        f"independent series of {n:,} values stay between {centre - reach:.3f} and "
        f"{centre + reach:.3f}; {hence}."
    )


def lag1(x: Array) -> float:
    """Return the lag-1 autocorrelation of a series.

    Parameters
    ----------
    x : (n,) ndarray
        Non-negative numbers that are not all the same.
    """
    d = x / x.max()
    d = d - d.mean()
    return float(d[1:] @ d[:-1] / (d @ d))
