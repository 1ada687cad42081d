"""Distance of single allotments from the smooth law of a program: steps, odd numbers, not noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.evidence import SIGMAS
from qmodels.programs.scaling.pooling import Pooled

#: Chance beforehand that all allotments of a program follow one smooth law.
LAWFUL = 0.5

_SHARES = (np.arange(60) + 0.5) / 60  # of the scatter's variance that is noise, where some is not
_LEAST_FREE = 3  # degrees of freedom, so that the spread of a misfit has a bound
_MOST_ALLOTMENTS = 400  # looked at: the cost grows with their cube
_MOST_STEPS = 64  # places between two numbers of processors or of disks
_LEAST_SQUARE = SIGMAS[0] ** 2  # of log T: what rounding leaves
_SAME = 1e-9  # relative size below which a direction of the laws is none


@dataclass(frozen=True, eq=False)
class Misfit:
    """Standard deviation of log T by which the mean time on an allotment parts from the law.

    Parameters
    ----------
    seen : (draws,) ndarray
        On an allotment that was measured, a draw each; 0 where the program follows its law.
    unseen : float
        How many times as much it is where nothing was measured, at least 1: the law was fitted to
        the others, and took a share of what they are off by.
    noise : (draws,) ndarray
        What a run on an allotment differs from its mean by.
    lawful : float
        Probability that there is none.
    """

    seen: Array
    unseen: float
    noise: Array
    lawful: float


def learnt_misfit(
    totals: Pooled | None,
    residual: Array,
    tangent: Array,
    scatter: Array,
    rng: np.random.Generator,
) -> Misfit:
    """Return misfit of allotments and noise of runs, from the scatter of runs about their law.

    Parameters
    ----------
    totals : Pooled or None
        Seconds of whole runs on n allotments; None where there are none.
    residual : (n,) ndarray
        Of the logarithms of their means about the law.
    tangent : (n, k) ndarray
        Derivatives of log T by the coefficients of the law, which the residuals are free of.
    scatter : (draws,) ndarray
        Standard deviation of log T of a run about the law, a draw each.
    rng : numpy.random.Generator
        Where randomness comes from.

    Returns
    -------
    Misfit
        A draw of each for every draw of the scatter.

    Notes
    -----
    Either all allotments follow the law, or they part from it in one of four ways, as likely as
    each other: every number of processors by an amount of its own; every number of disks; every
    allotment; or by one step between two numbers of processors or of disks. Noise has a share of
    the variance, beforehand as likely small as large, and is one where the law is followed. Given
    the share, residuals are normal with a covariance known up to its scale, which is integrated
    out with Jeffreys' prior. Repeats tell the noise alone; without them only what has a pattern is
    told from it.
    """
    weights, allotments, free = _weights(totals, residual, tangent)
    chances = np.exp(weights - np.logaddexp.reduce(weights))
    shares = np.append(1.0, np.tile(_SHARES, (chances.size - 1) // _SHARES.size))
    at = np.searchsorted(np.cumsum(chances), (np.arange(scatter.size) + 0.5) / scatter.size)
    share = rng.permutation(shares[np.minimum(at, shares.size - 1)])
    # The scale of few residuals is itself uncertain, and they are smaller than what was fitted.
    freedom = max(free, _LEAST_FREE)
    spread = np.sqrt(freedom / rng.chisquare(freedom, scatter.size))
    return Misfit(
        scatter * np.sqrt(1.0 - share) * spread,
        float(np.sqrt(max(1.0, allotments / freedom))),
        scatter * np.sqrt(share),
        float(chances[0]),
    )


def no_misfit(scatter: Array) -> Misfit:
    """Return the misfit of a program that is said to follow its law.

    Parameters
    ----------
    scatter : (draws,) ndarray
        Standard deviation of log T of a run about the law, a draw each.
    """
    return Misfit(np.zeros(scatter.size), 1.0, scatter, 1.0)


def _weights(totals: Pooled | None, residual: Array, tangent: Array) -> tuple[Array, int, int]:
    """Log weights of the law and then of each way and share, allotments, and degrees of freedom."""
    followed, parted = np.log([LAWFUL]), np.log((1.0 - LAWFUL) / _SHARES.size)
    if totals is None:
        return np.append(followed, np.full(_SHARES.size, parted)), 0, 0
    if totals.p.size > _MOST_ALLOTMENTS:
        kept = np.rint(np.linspace(0, totals.p.size - 1, _MOST_ALLOTMENTS)).astype(int)
        totals, residual, tangent = totals.only(kept), residual[kept], tangent[kept]
    root = np.sqrt(totals.count)
    basis = _complement(tangent * root[:, None])
    left = basis.T @ (residual * root)
    log_weights = [followed + _log_likelihood(np.ones(1), np.zeros(0), left, left[:0], totals)]
    for chance, groups in _groupings(totals):
        axes, sizes = _principal_axes(basis.T @ (groups * root[:, None]))
        likelihood = _log_likelihood(_SHARES, sizes, left, axes.T @ left, totals)
        log_weights.append(parted + np.log(chance) + likelihood)
    return np.concatenate(log_weights), totals.p.size, left.size


def _groupings(totals: Pooled) -> Iterator[tuple[float, Array]]:
    """Yield how allotments may part from the law: chances, and the groups (n, m) that go together."""
    units = [one for one in (totals.p, totals.d) if np.ptp(one) > 0]
    edges = [(one, edge) for one in units for edge in np.unique(one)[:-1]]
    edges = edges[:: -(-len(edges) // _MOST_STEPS)] if edges else edges
    steps = [np.where(one > edge, 1.0, -1.0) for one, edge in edges]
    kinds = [(one[:, None] == np.unique(one)).astype(float) for one in units]
    kinds.append(np.eye(totals.p.size))
    each = 1.0 / (len(kinds) + bool(steps))
    yield from ((each, groups) for groups in kinds)
    yield from ((each / len(steps), step[:, None]) for step in steps)


def _complement(tangent: Array) -> Array:
    """Orthonormal directions (n, n - rank) that a law cannot follow."""
    left, sizes, _ = np.linalg.svd(tangent, full_matrices=True)
    rank = int(np.sum(sizes > _SAME * sizes[0])) if sizes.size else 0
    return np.asarray(left[:, rank:])


def _principal_axes(groups: Array) -> tuple[Array, Array]:
    """Principal axes (n, m) of groups (n, k), and the variances along them."""
    if not groups.size:
        return np.zeros((groups.shape[0], 0)), np.zeros(0)
    axes, sizes, _ = np.linalg.svd(groups, full_matrices=False)
    return axes, sizes**2


def _log_likelihood(shares: Array, sizes: Array, left: Array, along: Array, totals: Pooled) -> Array:
    """Log likelihood of each share of the noise, up to a constant, whatever the scale.

    `left` are the residuals in the directions that are free of the law, `along` their parts along
    the axes of the misfit, whose variance has `sizes` times its share; all else is noise.
    """
    repeats = totals.runs - totals.p.size
    count = left.size + repeats
    spread = shares[:, None] + (1.0 - shares[:, None]) * sizes
    other = max(float(left @ left - along @ along), 0.0) + totals.within
    squares = np.sum(along**2 / spread, axis=1) + other / shares
    logs = -0.5 * np.sum(np.log(spread), axis=1)
    logs -= 0.5 * (left.size - sizes.size + repeats) * np.log(shares)
    logs -= 0.5 * count * np.log(squares + max(count, 1) * _LEAST_SQUARE)
    return np.asarray(logs)
