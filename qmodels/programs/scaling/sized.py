"""Runs of problems of several sizes: how each term of a law grows with the work, and the law at one size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.discrepancy import CURVED, Margin
from qmodels.programs.scaling.evidence import Weighed, weigh
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.posterior import Posterior
from qmodels.programs.scaling.terms import Library

#: Exponents of the work in the time of what is computed, beforehand: log-normal about 1 with this spread of
#: the logarithm. Sorting, multigrid and cut-offs are near one; dense algebra by rows is 1.5.
_SPREAD = 0.3
_LEAST_EXPONENT, _MOST_EXPONENT = 0.2, 3.0
#: Nodes and weights of the exponent about its best value: standard deviations, and a normal law's shares.
_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(3)
#: Log likelihood below the best at which a way to grow is left out.
_FAR = 6.0
_MOST_WAYS = 2
#: Texts and families of the terms of a rough fit.
_SIMPLE = ("1", "1/p", "1/p^0.7", "1/d", "1/(p*d)", "collective steps", "growth with p", "fed disks")
_LEAST_SQUARE = 1e-6  # of log T: below a tenth of a per cent runs do not tell ways apart
_LEAST_SPREAD = 1e-3  # of the logarithm of the exponent


@dataclass(frozen=True)
class Way:
    """Growth of the terms of a law with the work w, in units of the largest work of the runs.

    Parameters
    ----------
    exponent : float
        Of the work in what is computed: a term 1/p is w^exponent/p.
    fixed : bool
        Whether the constant is the same for all work, or grows as what is computed.
    local : bool
        Whether a term 1/p^a follows the work of one processor, (w^exponent/p)^a, as the surfaces of
        subdomains do, or all the work, w^exponent/p^a.
    """

    exponent: float
    fixed: bool
    local: bool

    def powers(self, shown: Library) -> Array:
        """Return the power of the work in each term, (terms,).

        Parameters
        ----------
        shown : Library
            The terms.
        """
        found = []
        for term in shown.terms:
            if term.family == "constant":
                found.append(0.0 if self.fixed else self.exponent)
            elif term.part == "scaling" and term.family != "p/d":
                power = float(term.text.rpartition("^")[2]) if "^" in term.text else 1.0
                found.append(self.exponent * (power if self.local else 1.0))
            else:  # steps of all processors, growth; log2(p)/p are steps with the data of one processor
                found.append(self.exponent if term.text.endswith("/p") else 0.0)
        return np.array(found)


@dataclass(frozen=True, eq=False)
class SizedLibrary(Library):
    """A library on the runs of one burst, each term times its power of the work of every run."""

    factors: Array = None  # type: ignore[assignment]  #: (terms, n)

    def values(self, p: Array, d: Array) -> Array:
        """Return phi_j(p_i, d_i) w_i^power_j on the runs, (terms, n).

        Parameters
        ----------
        p, d : (n,) ndarray
            The allotments of all runs, in their order.
        """
        return np.asarray(super().values(p, d) * self.factors)


@dataclass(frozen=True, eq=False)
class Sized:
    """Runs of one burst weighed under several ways to grow, as they are at one size.

    Parameters
    ----------
    weighed : Weighed
        Points of the posterior at the size asked for.
    ways : tuple of Way
        The ways to grow.
    shares : (ways,) ndarray
        Their probabilities after the runs.
    fitted : (n,) ndarray
        Mean seconds on the distinct runs, each of its own work.
    tangent : (n, k) ndarray
        Seconds of the terms of the likeliest law on the distinct runs.
    moved : (n,) ndarray
        Logarithm of what each of the distinct runs would take at the size asked for, over what it took.
    """

    weighed: Weighed
    ways: tuple[Way, ...]
    shares: Array
    fitted: Array
    tangent: Array
    moved: Array

    def exponent(self) -> tuple[float, float, float]:
        """Return the mean of the exponent and the ends of its likely range: two standard deviations."""
        values = np.array([way.exponent for way in self.ways])
        mean = float(self.shares @ values)
        spread = 2.0 * math.sqrt(float(self.shares @ (values - mean) ** 2))
        return mean, mean - spread, mean + spread


def weigh_sizes(shown: Library, runs: Pooled, work: Array, wanted: float) -> Sized:
    """Weigh every law by runs of several sizes, and say what it is at one size.

    Parameters
    ----------
    shown : Library
        The terms tried.
    runs : Pooled
        Runs of the burst, by allotment and work.
    work : (n,) ndarray
        Work of each.
    wanted : float
        The size asked for.

    Returns
    -------
    Sized
        Points of the posterior at that size, and the fit to every run.

    Notes
    -----
    Each way to grow is a library of its own, whose terms are multiplied by powers of the work; the evidence
    of the runs weighs the ways as it weighs the laws. The exponent is taken at three points about the value
    of the best rough fit (Gauss-Hermite), with a log-normal prior about one. Beside a fine integral, in half
    of forty made tables its mean was off by less than a tenth of its standard deviation, at worst by half of
    it, and its likely range was a sixth too narrow.
    """
    unit = float(work.max())
    sizes, asked = np.log(work / unit), math.log(wanted / unit)
    parts: list[Weighed] = []
    ways: list[Way] = []
    fits = []
    for way, log_prior in _likely_ways(shown, runs, sizes):
        powers = way.powers(shown)
        factors = np.exp(np.outer(powers, sizes))
        one = weigh(SizedLibrary(**vars(shown), factors=factors), runs).with_odds()
        values = shown.values(runs.p, runs.d) * factors
        fits.append((values, replace(one, log_weight=one.log_weight + log_prior)))
        grown_by = np.append(np.exp(powers * asked), 0.0)[one.terms]
        parts.append(
            replace(
                one,
                library=shown,
                log_weight=one.log_weight + log_prior - _odds(shown, one),
                coefficients=one.coefficients * grown_by[:, None, :],
            )
        )
        ways.append(way)
    logs = np.array([np.logaddexp.reduce(one.log_weight, axis=None) for _, one in fits])
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    means = [_mean_coefficients(one) for _, one in fits]
    fitted = shares @ np.array([mean @ values for mean, (values, _) in zip(means, fits, strict=True)])
    plain = shown.values(runs.p, runs.d)
    grown = [np.exp(way.powers(shown) * asked) for way in ways]
    at_size = shares @ np.array([(mean * by) @ plain for mean, by in zip(means, grown, strict=True)])
    best = int(np.argmax(shares))
    values, one = fits[best]
    law = one.terms[int(np.argmax(np.logaddexp.reduce(one.log_weight, axis=1)))]
    joined = Weighed(
        shown,
        np.concatenate([one.terms for one in parts]),
        np.concatenate([one.sigma for one in parts]),
        np.concatenate([one.coefficients for one in parts]),
        np.concatenate([one.log_weight for one in parts]),
        np.arange(len(shown)),
        np.ones(len(shown)),
    )
    moved = np.log(at_size / fitted)
    return Sized(joined, tuple(ways), shares, fitted, values[law[law >= 0]].T, moved)


def _odds(shown: Library, one: Weighed) -> Array:
    """Return the log odds of each law beforehand, which are given once more where all bursts are settled."""
    return np.asarray(shown.log_odds()[one.terms].sum(axis=1)[:, None])


def _mean_coefficients(one: Weighed) -> Array:
    """Mean of each coefficient (terms,) after the runs."""
    weights = np.exp(one.log_weight - one.log_weight.max())
    weights /= weights.sum()
    mean = np.zeros(len(one.library) + 1)
    np.add.at(mean, one.terms, np.einsum("nq,nqk->nk", weights, one.coefficients))
    return mean[:-1]


def _likely_ways(shown: Library, runs: Pooled, sizes: Array) -> Iterator[tuple[Way, float]]:
    """Yield ways to grow that a rough fit does not rule out, and the logarithms of their priors."""
    rough = []
    for fixed in (True, False):
        for local in (True, False):
            exponent, spread, level = _best_exponent(shown, runs, sizes, fixed, local)
            rough.append((level, exponent, spread, fixed, local))
    rough.sort(key=lambda each: -round(each[0], 9))  # of those that are alike to rounding the first
    for level, exponent, spread, fixed, local in rough[:_MOST_WAYS]:
        if level < rough[0][0] - _FAR:
            continue
        for node, share in zip(_NODES, _SHARES / _SHARES.sum(), strict=True):
            log_exponent = exponent + spread * float(node)
            # The quadrature takes a normal law for granted: its density is divided out.
            log_prior = math.log(share) + math.log(spread) + 0.5 * float(node) ** 2
            yield (
                Way(math.exp(log_exponent), fixed, local),
                log_prior - 0.5 * (log_exponent / _SPREAD) ** 2,
            )


def _best_exponent(
    shown: Library, runs: Pooled, sizes: Array, fixed: bool, local: bool
) -> tuple[float, float, float]:
    """Logarithm of the exponent of a rough fit of all terms, its spread, and the log posterior there."""
    from scipy.optimize import minimize_scalar

    simple = [at for at, term in enumerate(shown.terms) if term.text in _SIMPLE or term.family in _SIMPLE]
    values = shown.values(runs.p, runs.d)[simple]
    times = np.exp(runs.log_time)

    def level(log_exponent: float) -> float:
        powers = Way(math.exp(log_exponent), fixed, local).powers(shown)[simple]
        left = _rough_misfit(values * np.exp(np.outer(powers, sizes)) / times, runs)
        misfit = runs.runs * math.log(left / runs.runs + _LEAST_SQUARE)
        return 0.5 * (misfit + (log_exponent / _SPREAD) ** 2)

    bounds = (math.log(_LEAST_EXPONENT), math.log(_MOST_EXPONENT))
    best = minimize_scalar(level, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    at, low = float(best.x), float(best.fun)
    step = 0.02
    curvature = (level(at + step) - 2.0 * low + level(at - step)) / step**2
    spread = 1.0 / math.sqrt(curvature) if curvature > 1.0 / _SPREAD**2 else _SPREAD
    return at, max(spread, _LEAST_SPREAD), -low


def _rough_misfit(columns: Array, runs: Pooled) -> float:
    """Squares that non-negative multiples of the terms leave of the relative times, and of the repeats."""
    from scipy.optimize import nnls

    root = np.sqrt(runs.count)
    rest = nnls((columns * root).T, root, maxiter=30 * len(columns))[1]
    return float(rest**2) + runs.within


def widened(posteriors: Sequence[Posterior], margin: Margin, doublings: float, seed: int) -> list[Posterior]:
    """Return posteriors whose draws are less sure, as the size lies outside of those that were run.

    All draws of one number are moved alike: the doubt is one of the whole program at this size, and cancels
    in a speedup.

    Parameters
    ----------
    posteriors : sequence of Posterior
        Laws of the bursts at the size.
    margin : Margin
        Of the program; a doubling of the work is as doubtful as one of the processors.
    doublings : float
        Of the work, outside of the runs.
    seed : int
        Of the draws.
    """
    if doublings == 0.0:
        return list(posteriors)
    normal = np.random.default_rng([seed, len(posteriors), 2]).standard_normal(margin.discrepancy.size)
    moved = np.exp(margin.discrepancy * math.sqrt(doublings + CURVED * doublings**3) * normal)
    return [replace(one, draws=one.draws * moved[:, None]) for one in posteriors]
