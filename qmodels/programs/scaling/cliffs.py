"""Steps in residuals: a socket, a cache or a full disk where the law goes on smoothly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.scaling.posterior import Posterior

#: Chance that a burst without a step is said to have one, at most, if its law is right.
FALSE_ALARM = 0.01

#: Relative size below which a step is not worth a sentence.
LEAST_STEP = 0.05

_UNITS = {"p": "processors", "d": "disks"}


def steps(posterior: Posterior, p: Array, d: Array, seconds: Array) -> Iterator[str]:
    """Yield where the runs of a burst jump, if a jump explains their residuals better.

    Parameters
    ----------
    posterior : Posterior
        Laws of the burst.
    p, d : (n,) ndarray
        Allotment of each run.
    seconds : (n,) ndarray
        Time of each run.

    Yields
    ------
    str
        A sentence.

    Notes
    -----
    The most probable law is linearised about its fit and gets one more column, 1 beyond a number
    of processors or of disks. The reduction of the squares is held to an F law with one degree of
    freedom, at a level divided by the number of places tried.
    """
    from scipy import stats

    law = posterior.laws[0]
    columns = posterior.library.values(p, d)[list(law.terms)]
    times = law.coefficients @ columns
    if np.any(times <= 0):
        return
    tangent = (columns / times).T
    residual = np.log(seconds / times)
    free = residual.size - tangent.shape[1] - 1
    places = [
        (name, levels[i], levels[i + 1], (units > levels[i]).astype(float))
        for name, units in (("p", p), ("d", d))
        if name == "p" or posterior.kind == "io"
        for levels in [np.unique(units)]
        for i in range(1, levels.size - 1)  # one number alone below has no trend
        # A step between a single run and the others is as well an outlier.
        if min(np.sum(units > levels[i]), np.sum(units <= levels[i])) >= 2
    ]
    if free < 2 or not places:
        return
    base, _ = _squares_left(tangent, residual)
    best = max(
        ((*_squares_left(tangent, residual, step), place) for *place, step in places), key=_gain_of_step
    )
    left, height, (name, low, high) = best[0], best[1], best[2]
    if base - left <= 1e-12 or left <= 0 or abs(height) < np.log1p(LEAST_STEP):
        return
    ratio = (base - left) / (left / free)
    if stats.f.sf(ratio, 1, free) * len(places) < FALSE_ALARM:
        size = f"{100 * abs(np.expm1(height)):.0f} %"
        longer = f"{size} longer", "a limit was reached, such as a socket, a node or a full disk"
        shorter = f"{size} less", "the data came to fit, as into a cache or memory"
        took, why = longer if height > 0 else shorter
        yield (
            f"from {high:g} {_UNITS[name]} on it took {took} than the trend up to {low:g} "
            f"predicts; probably {why}. Do not extrapolate beyond such a step"
        )


def _gain_of_step(tried: tuple[float, float, list[object]]) -> float:
    return -tried[0]


def _squares_left(tangent: Array, residual: Array, step: Array | None = None) -> tuple[float, float]:
    """Squares that are left when law and step are fitted, and the height of the step."""
    columns = tangent if step is None else np.column_stack([tangent, step])
    fit = np.linalg.lstsq(columns, residual, rcond=None)[0]
    return float(np.sum((residual - columns @ fit) ** 2)), float(fit[-1])
