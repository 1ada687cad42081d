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


def _weights() -> NDArray[np.floating]:
    last = np.cumsum([comb(_TERMS, j) for j in range(_TERMS)])[::-1] / 2.0**_TERMS
    signs = np.where(np.arange(2 * _TERMS + 1) % 2, -1.0, 1.0)
    return np.asarray(signs * np.concatenate([[0.5], np.ones(_TERMS), last]))


_WEIGHTS: Final = _weights()


def tail_of(transform: Callable[[Complex], Complex], t: float) -> float:
    """Return P(T > t) from E[exp(-s T)], by Euler's summation.

    Parameters
    ----------
    transform : callable
        Takes complex places (n,), with a positive real part, and returns the transform there.
    t : float
        Positive; in the unit of T.

    Returns
    -------
    float
        Between 0 and 1, to some 1e-9 where the law has no atom next to `t`.

    References
    ----------
    .. [1] J. Abate, W. Whitt, "A unified framework for numerically inverting Laplace transforms",
       *INFORMS J. Comput.* 18 (2006) 408-421.

    Examples
    --------
    >>> round(tail_of(lambda s: 1.0 / (1.0 + s), 2.0), 9)
    0.135335283
    """
    s = _PLACES / t
    found = _SPREAD / t * (_WEIGHTS @ ((1.0 - transform(s)) / s).real)
    return float(min(1.0, max(0.0, found)))
