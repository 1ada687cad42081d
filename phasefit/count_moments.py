"""Moments of the number of events in windows of time: of data, and of an arrival process.

The second says how much counts vary, the third whether by rare crowds or by rare lulls. Two processes
may agree in the one and have waits that differ by a factor of two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.arrival_process import MAP
from phasefit.checks import real_number, real_vector
from phasefit.errors import ModelError


def count_moments(process: MAP, windows: Array) -> tuple[Array, Array]:
    """Return the index of dispersion and the third central moment over the mean of counts.

    Parameters
    ----------
    process : MAP
        Of any rate.
    windows : (k,) ndarray
        Lengths of time in rising order, in the unit of the process.

    Returns
    -------
    dispersions, thirds : (k,) ndarray
        Both are 1 for a Poisson process.

    Notes
    -----
    Factorial moments are iterated integrals of products of D1 and exp(Q t), which are blocks of the
    exponential of one block-triangular matrix [1]_; those of twice the window are sums of products.

    References
    ----------
    .. [1] C. F. Van Loan, "Computing integrals involving the matrix exponential", *IEEE Trans.
       Autom. Control* 23 (1978) 395-404.

    Examples
    --------
    >>> dispersions, thirds = count_moments(MAP.poisson(rate=2.0), np.array([1.0, 10.0]))
    >>> dispersions.round(9), thirds.round(9)
    (array([1., 1.]), array([1., 1.]))
    """
    from scipy.linalg import expm

    n, Q = process.order, process.D0 + process.D1
    system = np.kron(np.eye(4), Q) + np.kron(np.eye(4, k=1), process.D1)
    found = np.empty((2, windows.size))
    blocks: list[Array] = []
    before = 0.0
    for place, window in enumerate(windows.tolist()):
        if blocks and abs(window - 2.0 * before) <= 1e-12 * window:
            blocks = [sum(blocks[i] @ blocks[k - i] for i in range(k + 1)) for k in range(4)]  # type: ignore[misc]
        else:
            whole = expm(window * system)[:n]
            blocks = [whole[:, k * n : (k + 1) * n] for k in range(4)]
        before = window
        first, second, third = (
            factor * float(process.phases @ block.sum(axis=1))
            for factor, block in zip((1.0, 2.0, 6.0), blocks[1:], strict=True)
        )
        variance = second + first - first**2
        squares = second + first
        cubes = third + 3.0 * second + first
        found[:, place] = (
            variance / first,
            (cubes - 3.0 * first * squares + 2.0 * first**3) / first,
        )
    return found[0], found[1]


def counted_third(gaps: Array, window: float) -> float:
    """Return the third central moment over the mean of the number of events in adjacent windows.

    Parameters
    ----------
    gaps : (n,) ndarray
        Successive times between events.
    window : float
        In the unit of the gaps.

    Examples
    --------
    >>> counted_third(np.ones(100), 10.0)
    0.0
    """
    times = np.cumsum(gaps)
    count = int(times[-1] / window * (1.0 + 1e-12))
    edges = window * np.arange(count + 1)
    counts = np.diff(np.searchsorted(times, edges * (1.0 + 1e-15), side="right")).astype(float)
    return float(((counts - counts.mean()) ** 3).mean() / counts.mean())


def counted_dispersion(gaps: ArrayLike, window: float, work: ArrayLike | None = None) -> float:
    """Return the variance over the mean of the number of events in adjacent windows of a length.

    Parameters
    ----------
    gaps : (n,) array_like
        Successive times between events, seconds, not negative.
    window : float
        Seconds, above zero. At least two windows must fit.
    work : (n,) array_like, optional
        What each event brings, not negative: that is added up instead of counted, in units of its
        mean. Where it is independent of all else the result is larger by its scv.

    Raises
    ------
    ModelError
        If fewer than two windows fit, there are more than 50 million, or the lengths of `gaps` and `work`
        differ.

    Examples
    --------
    >>> counted_dispersion([1.0] * 100, 10.0)
    0.0
    """
    times = np.cumsum(checked_gaps(gaps))
    window = real_number("window", window, above=0.0)
    count = int(times[-1] / window * (1.0 + 1e-12))
    if count < 2:
        raise ModelError(
            f"window must fit twice into {times[-1]:.6g} s, got {window:.6g}; take a shorter one"
        )
    if count > 50_000_000:
        raise ModelError(f"{count:,} windows of {window:.6g} s are too many; take a longer one")
    # an event at an edge belongs to the window that it ends
    edges = window * np.arange(count + 1)
    before = np.searchsorted(times, edges * (1.0 + 1e-15), side="right")
    if work is None:
        sums = np.diff(before).astype(float)
    else:
        brought = checked_gaps(work, "work")
        if brought.size != times.size:
            raise ModelError(f"{brought.size} values of work for {times.size} gaps; give one each")
        sums = np.diff(np.concatenate([[0.0], np.cumsum(brought / brought.mean())])[before])
    return float(sums.var(ddof=1) / sums.mean())


def checked_gaps(values: ArrayLike, name: str = "gaps") -> Array:
    """Return values as an array.

    Parameters
    ----------
    values : (n,) array_like
        Not negative, and not all zero.
    name : str
        What errors call them.

    Raises
    ------
    ModelError
        If they are not such.
    """
    sample = real_vector(name, values)
    if sample.min() < 0.0:
        worst = int(sample.argmin())
        raise ModelError(f"{name}[{worst}] must be >= 0, got {sample[worst]:.6g}")
    if not sample.sum() > 0.0:
        raise ModelError(f"all {name} are 0; there is no rate")
    return sample
