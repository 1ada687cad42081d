"""The one law that stands for all that a burst may follow: what every single value is told by."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.pooling import Pooled
from qmodels.programs.scaling.terms import Library
from qmodels.programs.scaling.votes import voted

_BEYOND = 64.0  # times the most processors and disks that were run, up to which it is near
_MOST_LEVELS = 64  # of the processors and of the disks that were run
_LEAST_DOUBT = 1e-6  # of log T: below it laws that agree are held to be equal
_LEAST = 1e-12  # seconds, of growth alone where there is nothing to grow with
_STEPS = 100  # of the non-negative least squares, for each term
#: Families that simple laws are made of.
_SIMPLE = (
    "constant",
    "1/p",
    "1/p^a",
    "collective steps",
    "constant of a node",
    "beyond a node, over p",
)


def centre_of(shown: Library, mean: Array, draws: Array, runs: Pooled) -> Array:
    """Return coefficients (terms,) of the law in the middle of all that were drawn.

    Parameters
    ----------
    shown : Library
        The terms tried.
    mean : (terms,) ndarray
        Mean of each coefficient, seconds.
    draws : (k, terms) ndarray
        Coefficients that the runs allow, each as likely as the other, seconds.
    runs : Pooled
        Runs of the burst.

    Returns
    -------
    coefficients : (terms,) ndarray
        Never negative, seconds.

    Notes
    -----
    The middle is that of log T, the geometric mean: what is asked of a forecast is how many times
    too long it is, and a mean of seconds is pulled up by the few laws that grow most far outside.
    That of several laws is no sum of terms, so the sum nearest to it is taken, by non-negative
    least squares, in units of the doubt that there is on each allotment: of those that were run,
    and of doublings up to 64 times as many processors and disks. How far the middle lies
    below the mean is told by the draws, the mean itself is known without them: where all laws
    agree nothing is left to chance. On more processors than were run two simple laws of processors
    alone have a say in where the middle lies: see `qmodels.programs.scaling.votes`.
    """
    from scipy.optimize import nnls

    at = _allotments(runs.p, runs.d, over_disks=shown.over_disks)
    simple = [not shown.over_disks and term.family in _SIMPLE for term in shown.terms]
    used = np.flatnonzero(draws.any(axis=0) | (mean > 0) | simple)
    values = shown.values(*at)[used]
    log_times = np.log(np.maximum(draws[:, used] @ values, _LEAST))
    doubt = np.maximum(log_times.std(axis=0), _LEAST_DOUBT)
    middle = np.log(np.maximum(mean[used] @ values, _LEAST))
    middle += log_times.mean(axis=0) - np.log(np.mean(np.exp(log_times), axis=0))
    beyond = at[0] > runs.p.max()
    if not shown.over_disks and beyond.any():
        middle[beyond] = voted(middle[beyond], doubt[beyond], at[0][beyond], runs, shown.scale)
    rows = values * np.exp(-middle)
    shares, _ = nnls((rows / doubt).T, 1.0 / doubt, maxiter=_STEPS * used.size)
    coefficients = np.zeros(len(shown))
    coefficients[used] = shares
    return coefficients


def _allotments(p: Array, d: Array, *, over_disks: bool) -> tuple[Array, Array]:
    axes = [_levels_to_hold(p), _levels_to_hold(d) if over_disks else np.ones(1)]
    grid = np.meshgrid(*axes, indexing="ij")
    return grid[0].ravel(), grid[1].ravel()


def _levels_to_hold(units: Array) -> Array:
    """Return the numbers that were run, thinned evenly, and doublings to far beyond them."""
    run = np.unique(units)
    if run.size > _MOST_LEVELS:
        run = run[np.rint(np.linspace(0, run.size - 1, _MOST_LEVELS)).astype(int)]
    powers = run[0] * 2.0 ** np.arange(np.floor(np.log2(_BEYOND * run[-1] / run[0])) + 1)
    return np.union1d(run, powers)
