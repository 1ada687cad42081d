"""Screening of all laws for those worth a closer look: least squares for every one at once."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from phasefit.arrays import Array, Indices
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import Library, subsets

LEAST_FIT = 0.2  #: of a measured time; a law below it is far off and must not divide by zero

_HOPELESS = 13.0  # log likelihood below the best at which a law is left out
_MOST_LAWS = 15_000  # of one number of terms: beyond these few runs tell nothing that the best do not
_ROUNDING = 1e-13  # what subtraction leaves of the mean square of an exact fit
_SINGULAR = 1e-10  # determinant of the correlations of terms that the runs cannot tell apart


def promising(values: Array, scale: Array, lib: Library, runs: Pooled) -> list[tuple[Indices, Array]]:
    """Return laws whose residuals, linearised about the best of them, are not hopeless.

    There is one pair (terms, log prior) for each number of terms.

    Parameters
    ----------
    values : (terms, n) ndarray
        Values of the terms on the distinct allotments.
    scale : (terms,) ndarray
        Share of the measured times that a second of a term takes.
    lib : Library
        The terms.
    runs : Pooled
        Runs of the burst.
    """
    visible = scale > 0
    columns = values / np.where(visible, scale, 1.0)[:, None]
    candidates = []
    for group in subsets(lib):
        usable = np.all(visible[group.terms], axis=1) & (group.terms.shape[1] <= runs.p.size)
        candidates.append((group.terms[usable], group.log_prior[usable]))
    times = np.exp(runs.log_time)
    first = [_linearised_fits(columns, terms, times, runs) for terms, _ in candidates]
    about = _best_fit(columns, candidates, first, runs)
    second = [_linearised_fits(columns, terms, about, runs) for terms, _ in candidates]
    # Only laws that may be set the bar: one with a negative coefficient fits few runs exactly.
    allowed = _admissible_squares([terms for terms, _ in candidates], second, len(values))
    rough = [_log_likelihoods(squares, runs) for squares in allowed]
    best = max(float(x.max()) for x in rough if x.size)
    kept = [_most_likely(x, best - _HOPELESS) for x in rough]
    return [(terms[at], log_prior[at]) for (terms, log_prior), at in zip(candidates, kept, strict=True)]


def _most_likely(log_likelihood: Array, least: float) -> Indices:
    """Places above `least`, in order; of very many the most likely."""
    at = np.flatnonzero(log_likelihood > least)
    if at.size > _MOST_LAWS:
        # Rounded, so that laws that fit alike are taken in one order, in whatever units processors count.
        at = np.sort(at[np.argsort(-np.round(log_likelihood[at], 6), kind="stable")[:_MOST_LAWS]])
    return at


def _admissible_squares(terms: list[Indices], fits: list[_LinearFits], count: int) -> list[Array]:
    """Squared residuals (m,) of each law under coefficients of at least 0.

    Where the free fit has a negative one, the best that is allowed lies on a face: it is that of a law with
    a term less.
    """
    found: list[Array] = []
    below = np.array(math.inf)  # by the places of the terms of the laws of one term less
    for chosen, fit in zip(terms, fits, strict=True):
        k = chosen.shape[1]
        if found:
            below = np.full((count,) * (k - 1), math.inf)
            below[tuple(terms[k - 2].T)] = found[-1]
        faces = [below[tuple(np.delete(chosen, j, axis=1).T)] for j in range(k)]
        may_be = np.all(fit.shares >= 0, axis=1) | np.isinf(fit.squares)
        found.append(np.where(may_be, fit.squares, np.minimum.reduce(faces)))
    return found


class _LinearFits(NamedTuple):
    shares: Array  # (m, k)
    squares: Array  # (m,), inf for laws of terms that the runs cannot tell apart


def _linearised_fits(columns: Array, terms: Indices, about: Array, runs: Pooled) -> _LinearFits:
    """Fit laws by least squares, log time linearised about the times of one law."""
    x, target = columns / about, 1.0 + runs.log_time - np.log(about)
    sizes = np.sqrt(np.sum(runs.count * x**2, axis=1))
    x = x / np.where(sizes > 0, sizes, 1.0)[:, None]
    # Not by BLAS, whose threads cost more here than they save.
    gram = np.einsum("in,jn->ij", x * runs.count, x)
    moment = (x * runs.count) @ target
    # A factorisation L D L' written out, each step for all laws: they have three terms at most.
    k = terms.shape[1]
    pivots: list[Array] = []
    lower: dict[tuple[int, int], Array] = {}
    forward: list[Array] = []
    for j in range(k):
        at = terms[:, j]
        pivot = gram[at, at] - sum(lower[j, i] ** 2 * pivots[i] for i in range(j))
        pivots.append(np.maximum(pivot, 1e-15))
        for row in range(j + 1, k):
            dot = sum(lower[row, i] * lower[j, i] * pivots[i] for i in range(j))
            lower[row, j] = (gram[terms[:, row], at] - dot) / pivots[j]
        forward.append(moment[at] - sum(lower[j, i] * forward[i] for i in range(j)))
    shares = [forward[j] / pivots[j] for j in range(k)]
    for j in reversed(range(k)):
        shares[j] = shares[j] - sum(lower[row, j] * shares[row] for row in range(j + 1, k))
    explained = sum(forward[j] ** 2 / pivots[j] for j in range(k))
    left = np.maximum(np.sum(runs.count * target**2) - explained, 0.0)
    distinct = np.prod(pivots, axis=0) > _SINGULAR
    return _LinearFits(np.stack(shares, axis=1) / sizes[terms], np.where(distinct, left, math.inf))


def _log_likelihoods(squares: Array, runs: Pooled) -> Array:
    """Log likelihood at the best noise, up to a constant."""
    logs = np.full(squares.shape, -math.inf)
    finite = squares < math.inf
    mean_square = (squares[finite] + runs.within) / runs.runs
    # Exact fits are alike: what rounding leaves of them must not choose among very many.
    logs[finite] = -0.5 * runs.runs * np.log(np.maximum(mean_square, _ROUNDING))
    return logs


def _best_fit(
    columns: Array, candidates: list[tuple[Indices, Array]], fits: list[_LinearFits], runs: Pooled
) -> Array:
    """Times of the positive law of the best criterion (Schwarz's), a base to linearise about."""
    best, most = np.exp(runs.log_time), -math.inf
    for (terms, _), fit in zip(candidates, fits, strict=True):
        allowed = np.where(np.all(fit.shares >= 0, axis=1), fit.squares, math.inf)
        criterion = _log_likelihoods(allowed, runs) - 0.5 * terms.shape[1] * math.log(runs.runs + 1.0)
        if criterion.size and criterion.max() > most:
            at = int(np.argmax(criterion))
            best, most = fit.shares[at] @ columns[terms[at]], float(criterion[at])
    return np.maximum(best, LEAST_FIT * np.exp(runs.log_time))
