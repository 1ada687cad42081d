"""Tails of laws from their Laplace transforms."""

from __future__ import annotations

from collections.abc import Callable
from math import comb, log, pi
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Complex: TypeAlias = NDArray[np.complexfloating]

#: Terms of the summation: more lose digits, fewer are less exact; so the error is some 1e-9.
_TERMS: Final = 15
_SPREAD: Final = 10.0 ** (_TERMS / 3.0)
_PLACES: Final = _TERMS * log(10.0) / 3.0 + 1j * pi * np.arange(2 * _TERMS + 1)


#: Coefficients of a cosine series that are found at once, at most, and the size of those left out.
_BATCH, _MOST, _SMALL = 32, 256, 1e-11


def _weights() -> NDArray[np.floating]:
    last = np.cumsum([comb(_TERMS, j) for j in range(_TERMS)])[::-1] / 2.0**_TERMS
    signs = np.where(np.arange(2 * _TERMS + 1) % 2, -1.0, 1.0)
    return np.asarray(signs * np.concatenate([[0.5], np.ones(_TERMS), last]))


_WEIGHTS: Final = _weights()


def tail_of(transform: Callable[[Complex], Complex], t: float) -> tuple[float, float]:
    """Return P(T > t) and the density there from E[exp(-s T)], by Euler's summation.

    Parameters
    ----------
    transform : callable
        Takes complex places (n,), with a positive real part, and returns the transform there.
    t : float
        Positive; in the unit of T.

    Returns
    -------
    tail : float
        Between 0 and 1, to some 1e-9 where the law has no atom next to `t`, nor nearly one: a
        standard deviation of less than a tenth of `t`.
    density : float
        Per unit of time.

    References
    ----------
    .. [1] Abate and Whitt 2006.

    Examples
    --------
    >>> round(tail_of(lambda s: 1.0 / (1.0 + s), 2.0)[0], 9)
    0.135335283
    """
    s = _PLACES / t
    values = transform(s)
    tail, density = (_SPREAD / t * (_WEIGHTS @ each.real) for each in ((1.0 - values) / s, values))
    return float(min(1.0, max(0.0, tail))), float(density)


class CosineSeries:
    """Distribution of a smooth law within a window, all of it from one set of its transform's values.

    Parameters
    ----------
    transform : callable
        Takes complex places (n,) and returns the transform there.
    low, high : float
        All but some 1e-11 of the law lies between them.

    References
    ----------
    .. [1] F. Fang, C. W. Oosterlee, "A novel pricing method for European options based on
       Fourier-cosine series expansions", *SIAM J. Sci. Comput.* 31 (2008) 826-848.

    Examples
    --------
    An Erlang law of sixteen phases:

    >>> series = CosineSeries(lambda s: (1.0 + s) ** -16.0, 0.0, 80.0)
    >>> series.converged, round(series.distribution_and_density(16.0)[0], 9)
    (True, 0.533255109)
    """

    def __init__(self, transform: Callable[[Complex], Complex], low: float, high: float) -> None:
        self.low, self.width = low, high - low
        found: list[NDArray[np.floating]] = []
        self.converged = False
        while not self.converged and len(found) * _BATCH < _MOST:
            at = pi / self.width * np.arange(len(found) * _BATCH, (len(found) + 1) * _BATCH)
            values = transform(-1j * at) * np.exp(-1j * at * low)
            found.append(values.real)
            self.converged = bool(np.abs(values[-4:]).max() < _SMALL)
        self._series = np.concatenate(found) * 2.0 / self.width
        self._at = pi / self.width * np.arange(self._series.size)

    def distribution_and_density(self, x: float) -> tuple[float, float]:
        """Return P(T <= x) and the density there.

        Parameters
        ----------
        x : float
            Within the window.
        """
        past, first, rest = x - self.low, self._series[0], self._series[1:]
        angles = self._at[1:] * past
        below = 0.5 * first * past + float(rest @ (np.sin(angles) / self._at[1:]))
        return min(1.0, max(0.0, float(below))), 0.5 * float(first) + float(rest @ np.cos(angles))
