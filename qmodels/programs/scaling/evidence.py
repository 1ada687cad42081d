"""Evidence of the runs of one burst for each law, for each size of the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from phasefit.arrays import Array, Indices
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.screening import LEAST_FIT, promising
from qmodels.programs.scaling.terms import MOST_TERMS, Library, proportional

#: Relative noise tried, standard deviations of the logarithm of a measured time.
SIGMAS: Array = np.asarray(1e-6 * 1.25 ** np.arange(66))

SMALL_SHARE = 0.02  #: below it, all shares of a term are about equally likely beforehand

_SPREAD = math.log((1.0 + SMALL_SHARE) / SMALL_SHARE)
_POINTS = 32  # of the quadrature over the coefficients of one law
_FINE = 8.0  # log evidence below the best at which a law and its noise are left out
_HARDLY = 60.0  # the same for a noise under every law, whatever the signs of coefficients
_MOST_PAIRS = 30_000
_STEPS = 8
_BLOCK = 500_000  # laws times allotments fitted at a time


@dataclass(frozen=True, eq=False)
class Laws:
    """Laws of one number of terms, fitted; shares are coefficients in units of measured time."""

    terms: Indices  #: (m, k), in the order in which `shares` are most likely negative
    shares: Array  #: (m, k), unconstrained
    gram: Array  #: (m, k, k), inverse covariance of the shares times sigma^2
    squares: Array  #: (m,) weighted sum of squared residuals of log time
    log_prior: Array  #: (m,)


@dataclass(frozen=True, eq=False)
class Weighed:
    """Points of the joint posterior of law, coefficients and noise of one burst."""

    library: Library  #: the terms tried
    terms: Indices  #: (n, 3), -1 where a law has fewer
    sigma: Indices  #: (n,) place in `SIGMAS`
    coefficients: Array  #: (n, q, 3) seconds, 0 where a law has fewer
    log_weight: Array  #: (n, q)
    alias: Indices  #: (terms,) the simplest term that these runs cannot tell from this one
    worth: Array  #: (terms,) coefficient of that term for a coefficient of one

    def with_odds(self) -> Weighed:
        """Return the same points under the prior odds of their terms."""
        odds = self.library.log_odds()[self.terms].sum(axis=1)
        return replace(self, log_weight=self.log_weight + odds[:, None])

    def by_sigma(self) -> Array:
        """Return the log evidence for each of `SIGMAS`, -inf where there is none."""
        log_evidence = np.full(SIGMAS.size, -np.inf)
        for place in np.unique(self.sigma):
            log_evidence[place] = np.logaddexp.reduce(self.log_weight[self.sigma == place], axis=None)
        return log_evidence


def weigh(lib: Library, runs: Pooled) -> Weighed:
    """Weigh every law of the library by the runs of one burst.

    Parameters
    ----------
    lib : Library
        The terms tried.
    runs : Pooled
        Runs of the burst.

    Returns
    -------
    Weighed
        Points of the joint posterior.
    """
    values = lib.values(runs.p, runs.d)
    # Share of a measured time, root mean square over the allotments, for each second.
    scale = np.sqrt(np.mean((values / np.exp(runs.log_time)) ** 2, axis=1))
    step = max(1, _BLOCK // values.shape[1])
    groups = [
        _refined_fits(values, scale, terms[at : at + step], log_prior[at : at + step], runs)
        for terms, log_prior in promising(values, scale, lib, runs)
        for at in range(0, len(terms), step)
    ]
    evidence = [_log_evidence(laws, runs) for laws in groups]
    best = max(float(each.max()) for each in evidence)
    likely = np.any([np.any(each > best - _HARDLY, axis=0) for each in evidence], axis=0)
    floors = [
        each[:, likely] + _rough_correction(laws, SIGMAS[likely])
        for laws, each in zip(groups, evidence, strict=True)
    ]
    best = max(float(rough.max()) for rough in floors)
    kept = [np.nonzero(rough > best - _FINE) for rough in floors]
    parts = []
    for laws, rough, (law, sigma) in zip(groups, floors, kept, strict=True):
        if law.size > _MOST_PAIRS:
            likeness = np.round(rough[law, sigma], 6)  # in one order, see `promising`
            top = np.sort(np.argsort(-likeness, kind="stable")[:_MOST_PAIRS])
            law, sigma = law[top], sigma[top]
        if law.size:
            sigma = np.nonzero(likely)[0][sigma]
            parts.append(_posterior_points(laws, law, sigma, scale, runs))
    alias, worth = np.arange(len(lib)), np.ones(len(lib))
    for group in proportional(values):
        alias[group] = group[0]
        worth[group] = np.max(values[group], axis=1) / np.max(values[group[0]])
    terms, sigmas, coefficients, log_weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Weighed(lib, terms, sigmas, coefficients, log_weight, alias, worth)


def _refined_fits(values: Array, scale: Array, terms: Indices, log_prior: Array, runs: Pooled) -> Laws:
    """Fit laws by Gauss-Newton steps on log time."""
    phi = values[terms] / scale[terms][:, :, None]
    least = LEAST_FIT * np.exp(runs.log_time)
    fitted = np.broadcast_to(np.exp(runs.log_time), (len(terms), runs.p.size))
    for _ in range(_STEPS):
        x = phi / fitted[:, None, :]
        weighted = x * runs.count
        gram = np.einsum("mkn,mln->mkl", weighted, x)
        target = 1.0 + runs.log_time - np.log(fitted)
        moment = np.einsum("mkn,mn->mk", weighted, target)
        shares = np.linalg.solve(gram, moment[:, :, None])[:, :, 0]
        new = np.maximum(np.einsum("mk,mkn->mn", shares, phi), least)
        change = float(np.max(np.abs(new / fitted - 1.0)))
        fitted = new
        if change < 1e-13:
            break
    squares = np.sum(runs.count * (runs.log_time - np.log(fitted)) ** 2, axis=1)
    x = phi / fitted[:, None, :]
    gram = np.einsum("mkn,mln->mkl", x * runs.count, x)
    # The most negative coefficient first: it decides how likely all are positive.
    order = np.argsort(shares * np.sqrt(np.einsum("mkk->mk", gram)), axis=1)
    gram = np.take_along_axis(np.take_along_axis(gram, order[:, :, None], 1), order[:, None, :], 2)
    terms, shares = np.take_along_axis(terms, order, 1), np.take_along_axis(shares, order, 1)
    return Laws(terms, shares, gram, squares, log_prior)


def _log_evidence(laws: Laws, runs: Pooled) -> Array:
    """Log evidence (m, sigmas) of laws under a flat prior of the shares, positive or not."""
    k = laws.terms.shape[1]
    fixed = laws.log_prior + 0.5 * k * math.log(2.0 * math.pi)
    fixed = fixed - 0.5 * np.linalg.slogdet(laws.gram)[1]
    misfit = (laws.squares + runs.within)[:, None] / (2.0 * SIGMAS**2)
    return np.asarray(fixed[:, None] - misfit + (k - runs.runs) * np.log(SIGMAS))


def _rough_correction(laws: Laws, sigmas: Array) -> Array:
    """About the log of the prior density at the fit, and of the chance that it is positive."""
    from scipy.special import ndtr

    deviations = np.sqrt(np.einsum("mkk->mk", np.linalg.inv(laws.gram)))
    surely = np.min(laws.shares / deviations, axis=1)[:, None] / sigmas
    density = np.maximum(laws.shares[:, :, None], 0.3 * deviations[:, :, None] * sigmas)
    prior = -np.sum(np.log(density + SMALL_SHARE) + math.log(_SPREAD), axis=1)
    positive = np.log(np.maximum(ndtr(np.clip(surely, -37.0, 37.0)), 1e-300))
    return np.asarray(prior + positive)


def _posterior_points(
    laws: Laws, law: Indices, sigma: Indices, scale: Array, runs: Pooled
) -> tuple[Indices, Indices, Array, Array]:
    """Points of the positive coefficients of each (law, sigma), and their log weights.

    Conditional normals truncated one after the other: every point counts (Geweke 1991).
    """
    from scipy.special import ndtr, ndtri

    k = laws.terms.shape[1]
    root = np.linalg.cholesky(np.linalg.inv(laws.gram))[law] * SIGMAS[sigma][:, None, None]
    centre = laws.shares[law]
    u = _quadrature(k)  # (q, k)
    evidence = _log_evidence(laws, runs)[law, sigma] - math.log(_POINTS)
    log_weight = np.repeat(evidence[:, None], _POINTS, axis=1)
    terms = np.full((law.size, MOST_TERMS), -1, dtype=np.intp)
    terms[:, :k] = laws.terms[law]
    coefficients = np.zeros((law.size, _POINTS, MOST_TERMS))
    z: list[Array] = []
    for j in range(k):
        conditional = np.repeat(centre[:, None, j], _POINTS, axis=1)
        conditional += sum(z[i] * root[:, j, i][:, None] for i in range(j))
        size = root[:, j, j][:, None]
        chance = ndtr(np.maximum(conditional / size, -37.0))
        z.append(-ndtri(u[:, j] * chance))
        shares = np.maximum(conditional + size * z[j], 0.0)
        log_weight += np.log(chance)
        log_weight -= np.log(_SPREAD * (shares + SMALL_SHARE))
        coefficients[:, :, j] = shares / scale[terms[:, j]][:, None]
    return terms, sigma, coefficients, log_weight


def _quadrature(k: int) -> Array:
    """Evenly spread points (q, k) of the unit cube, symmetric about its centre."""
    plastic = {1: 1.618033988749895, 2: 1.324717957244746, 3: 1.2207440846057596}[k]
    steps = plastic ** -np.arange(1.0, k + 1)
    half = (0.5 + np.arange(_POINTS // 2)[:, None] * steps) % 1.0
    half = np.clip(half, 1e-9, 1.0 - 1e-9)
    return np.concatenate([half, 1.0 - half])
