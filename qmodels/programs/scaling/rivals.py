"""Simple forms of scaling, to stand beside a forecast: what a curve through the same runs would say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from phasefit.arrays import Array

if TYPE_CHECKING:
    from qmodels.programs.scaling.measured import Measured

AMDAHL: Final = "a + b/p"
WITH_GROWTH: Final = "a + b/p + c p"
LINE: Final = "a p^b"  #: straight in log-log
NORMAL_FORM: Final = "a + b p^i log2(p)^j"

#: The simple forms with at most three coefficients of at least 0: their columns for processors (n,).
_COLUMNS: Final[dict[str, Callable[[Array], list[Array]]]] = {
    AMDAHL: lambda p: [np.ones_like(p), 1.0 / p],
    WITH_GROWTH: lambda p: [np.ones_like(p), 1.0 / p, p],
}
#: Fewest distinct numbers of processors from which a form is said.
FEWEST: Final = {AMDAHL: 2, WITH_GROWTH: 3, LINE: 2, NORMAL_FORM: 5}
RIVALS: Final = tuple(FEWEST)

_EXPONENTS: Final = tuple(
    sign * size for size in (0.0, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 1.0, 3 / 2, 2.0) for sign in (1, -1)
)
_LOGARITHMS: Final = (0, 1, 2)


def rival_seconds(name: str, p: Array, seconds: Array, targets: Array) -> Array:
    """Return the times of other allotments by one simple form through the same runs.

    Parameters
    ----------
    name : str
        One of `RIVALS`.
    p, seconds : (n,) ndarray
        Processors and seconds of the runs, all on one number of disks.
    targets : (m,) ndarray
        Processors asked for.

    Returns
    -------
    times : (m,) ndarray
        Seconds; NaN where the runs are on fewer numbers of processors than `FEWEST`, or where the form
        gives no positive time.

    Notes
    -----
    The first two by least squares of relative errors with coefficients of at least 0, the line by least
    squares of logarithms. The last is the single-term performance model normal form [1]_: of all i and
    j the pair with the least symmetric mean error when each run is left out in turn; its coefficients
    by ordinary least squares. It is our own search, not the authors' tool.

    References
    ----------
    .. [1] A. Calotoiu, T. Hoefler, M. Poke, F. Wolf, "Using automated performance modeling to find
       scalability bugs in complex codes", *Proc. SC13* (2013).

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([1.0, 2.0, 4.0])
    >>> rival_seconds("a + b/p", p, 2 + 30 / p, np.array([32.0])).round(9).tolist()
    [2.9375]
    """
    if np.unique(p).size < FEWEST[name]:
        return np.full(targets.shape, math.nan)
    if name == LINE:
        slope, level = np.polyfit(np.log(p), np.log(seconds), 1)
        return np.asarray(np.exp(level + slope * np.log(targets)))
    if name == NORMAL_FORM:
        times = _normal_form(p, seconds, targets)
    else:
        from scipy.optimize import nnls

        columns = np.stack(_COLUMNS[name](p), axis=1)
        coefficients = nnls(columns / seconds[:, None], np.ones(p.size))[0]
        times = np.stack(_COLUMNS[name](targets), axis=1) @ coefficients
    return np.where(times > 0.0, times, math.nan)


def rivals_of(measured: Measured, p: Array, d: Array) -> dict[str, Array]:
    """Return the seconds of every simple form, through the runs on the same number of disks.

    Parameters
    ----------
    measured : Measured
        What was measured: the mean of the repeats on each allotment.
    p, d : (n,) ndarray
        Allotments asked for.

    Returns
    -------
    by_form : dict of str to (n,) ndarray
        Seconds; NaN where too few runs were made with so many disks.
    """
    by_form = {name: np.full(p.shape, math.nan) for name in RIVALS}
    for disks in np.unique(d):
        asked, here = d == disks, measured.disks == disks
        for name, times in by_form.items():
            times[asked] = rival_seconds(name, measured.processors[here], measured.seconds[here], p[asked])
    return by_form


def _normal_form(p: Array, seconds: Array, targets: Array) -> Array:
    """Return the times by the term that is best where runs are left out; a constant where none is better."""
    best = min(_growths(), key=lambda growth: _left_out_error(growth(p), seconds))
    columns = np.stack([np.ones_like(p), best(p)], axis=1)
    constant, factor = np.linalg.lstsq(columns, seconds, rcond=None)[0]
    return np.asarray(constant + factor * best(targets))


def _growths() -> Iterator[Callable[[Array], Array]]:
    """Yield the terms p^i log2(p)^j; the constant, which comes first, is zero."""
    yield np.zeros_like
    for exponent in _EXPONENTS:
        for power in _LOGARITHMS:
            if exponent or power:
                yield partial(_term, exponent, power)


def _term(exponent: float, power: int, p: Array) -> Array:
    return np.asarray(p**exponent * np.log2(p) ** power)


def _left_out_error(growth: Array, seconds: Array) -> float:
    """Return the symmetric mean error of each run, foretold by the others."""
    columns = np.stack([np.ones_like(growth), growth], axis=1)
    errors = []
    for left in range(seconds.size):
        kept = np.arange(seconds.size) != left
        foretold = float(columns[left] @ np.linalg.lstsq(columns[kept], seconds[kept], rcond=None)[0])
        errors.append(abs(foretold - seconds[left]) / max(abs(foretold) + seconds[left], 1e-300))
    return round(
        float(np.mean(errors)), 12
    )  # terms that are as good to rounding: the first, which is simpler
