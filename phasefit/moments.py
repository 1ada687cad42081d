"""Laws with given moments, in the fewest phases that the family needs."""

from __future__ import annotations

import warnings
from math import ceil, inf, isinf, sqrt
from typing import Final

import numpy as np

from phasefit import moments3
from phasefit.checks import MAX_ORDER, boolean, real_number, whole_number
from phasefit.errors import InfeasibleMomentsError, ModelError
from phasefit.moments3 import ROUNDED
from phasefit.phase_type import PhaseType

#: Squared coefficients of variation that `match_moments` answers for.
_LOWEST, _HIGHEST = 0.01, 1e4
#: The largest order that `match_moments` builds: the one that an scv of 0.01 needs.
_MOST: Final = 100
#: The largest m3 / (m1 m2) that `match_moments` answers for; its rare branch is a float.
_FARTHEST: Final = 1e50
#: How far, as a share, `nearest` keeps from a third moment that can only be approached.
_MARGIN: Final = 1e-6


class MomentsAdjustedWarning(UserWarning):
    """Moments out of reach were replaced by the nearest ones within reach.

    Parameters
    ----------
    asked, met : tuple of float
        Moments given, and those of the law returned, in seconds, seconds^2 and seconds^3.
    why : str
        Reason, the end of the message.
    """

    def __init__(self, asked: tuple[float, ...], met: tuple[float, ...], why: str) -> None:
        self.asked, self.met = asked, met
        changes = " and ".join(
            f"m{k + 1} = {new:.6g} in place of {old:.6g}"
            for k, (old, new) in enumerate(zip(asked, met, strict=True))
            if old != new
        )
        super().__init__(f"the law returned has {changes}; {why}")


def match_moments(
    m1: float, m2: float | None = None, m3: float | None = None, *, nearest: bool = False
) -> PhaseType:
    """Return a law with the given first moment, or the given first two or three.

    Parameters
    ----------
    m1 : float
        Mean in seconds, above zero.
    m2 : float, optional
        Second raw moment E[X^2] in seconds^2: ``m1**2 * (1 + scv)`` with an scv (squared
        coefficient of variation) from 0.01 to 10 000.
    m3 : float, optional
        Third raw moment E[X^3] in seconds^3; `moment_bounds` tells what an order can reach.
    nearest : bool, optional
        Whether to replace moments out of reach by the nearest ones within reach, with a
        `MomentsAdjustedWarning` that tells what was given up, instead of raising
        `InfeasibleMomentsError`. The mean is always kept, and the second moment before the
        third. A third moment that can be approached but not met is missed by one millionth.

    Returns
    -------
    PhaseType
        With one moment, exponential. With two, exponential for an scv of one; below one, the
        mixture of Erlang laws of k - 1 and k phases with a common rate [1]_, of order
        k = ceil(1 / scv); above one, two exponentials in balance: each contributes half of the
        mean. With three, the acyclic law of the least order [2]_, up to 100. All moments are
        met to the last digits; moments within 1e-13 of a bound count as lying on it.

    Raises
    ------
    ModelError
        If a moment is not a finite number, `m1` is not above zero, `m3` comes without `m2`, or
        the unit of time takes a rate out of the range of floats.
    InfeasibleMomentsError
        If `m2` is outside the range of an scv from 0.01 to 10 000, or no acyclic law of order
        100 or less has the third moment.

    Warns
    -----
    MomentsAdjustedWarning
        If `nearest` is true and the moments are out of reach.

    Notes
    -----
    Three moments above scv one, with m3 m1 > 1.5 m2^2, are those of two exponentials. All
    others are met by an exponential phase and an Erlang law of n - 1 phases, one of the two
    left out by chance, as in [2]_. The bounds of [2]_ and the laws are derived afresh here: the
    Erlang law left out by chance leads to a quadratic equation; the exponential phase left out
    by chance leads to one of degree four, which is solved by bracketing.

    References
    ----------
    .. [1] H. C. Tijms, *A First Course in Stochastic Models*, Wiley 2003, appendix B.
    .. [2] A. Bobbio, A. Horvath, M. Telek, "Matching three moments with minimal acyclic phase
       type distributions", *Stochastic Models* 21 (2005) 303-326.

    Examples
    --------
    >>> match_moments(2.0)
    PhaseType(order=1, mean=2, scv=1)
    >>> match_moments(2.0, 4.0 * (1 + 0.3))
    PhaseType(order=4, mean=2, scv=0.3)
    >>> match_moments(2.0, 4.0 * (1 + 9.0))
    PhaseType(order=2, mean=2, scv=9)
    >>> match_moments(2.0, 4.0 * (1 + 9.0), 1100.0)
    PhaseType(order=3, mean=2, scv=9)
    """
    boolean("nearest", nearest)
    m1 = real_number("m1", m1, above=0.0)
    if m2 is None:
        if m3 is not None:
            raise ModelError("m3 must come with m2; give m2, or neither")
        return PhaseType.exponential(mean=m1)
    asked: tuple[float, ...] = (m1, real_number("m2", m2))
    if m3 is not None:
        asked = (*asked, real_number("m3", m3))
    try:
        return _two_moments(*asked) if len(asked) == 2 else _three_moments(*asked)
    except InfeasibleMomentsError as error:
        if not nearest:
            raise
        why = str(error)
    law, met = _nearest_law(asked)
    warnings.warn(MomentsAdjustedWarning(asked, met, why), stacklevel=2)
    return law


def moment_bounds(order: int, m1: float, m2: float) -> tuple[float, float]:
    """Return the third moments that acyclic laws of an order can have beside the first two.

    Parameters
    ----------
    order : int
        Number of phases, from 1 to 4000.
    m1, m2 : float
        First and second raw moment, in seconds and seconds^2.

    Returns
    -------
    low, high : float
        Infimum and supremum of E[X^3] in seconds^3; `high` may be infinite. The supremum, if
        finite, is attained; the infimum is so where m2 / m1^2 < (order + 4) / (order + 1).

    Raises
    ------
    ModelError
        If an argument is not a finite number in its range, or a bound leaves that of floats.
    InfeasibleMomentsError
        If no acyclic law of the order has these two moments: m2 must be at least
        m1^2 (order + 1) / order [1]_, and equal to 2 m1^2 for order one.

    References
    ----------
    .. [1] D. Aldous, L. Shepp, "The least variable phase type distribution is Erlang",
       *Stochastic Models* 3 (1987) 467-473.
    .. [2] A. Bobbio, A. Horvath, M. Telek, "Matching three moments with minimal acyclic phase
       type distributions", *Stochastic Models* 21 (2005) 303-326, for the bounds.

    Examples
    --------
    >>> moment_bounds(2, 1.0, 2.5)
    (9.375, inf)
    >>> low, high = moment_bounds(3, 1.0, 1.5)
    >>> round(low, 6), round(high, 6)
    (2.887426, 3.111111)
    """
    n = whole_number("order", order, least=1, most=MAX_ORDER)
    m1, m2 = real_number("m1", m1, above=0.0), real_number("m2", m2)
    n2, least = m2 / m1 / m1, (n + 1) / n
    if n2 < least * (1.0 - ROUNDED) or (n == 1 and n2 > least * (1.0 + ROUNDED)):
        if n == 1:
            fix = f"of order 1 must have m2 = 2 m1^2 = {2.0 * m1 * m1:.6g}; its law is exponential"
        else:
            fix = f"of order {n} must have m2 >= {least:.6g} m1^2 = {least * m1 * m1:.6g}"
        if n2 > 1.0 + 1.0 / MAX_ORDER:
            fix += f"; order {max(n + 1, ceil((1.0 - 1e-9) / (n2 - 1.0)))} would do"
        raise InfeasibleMomentsError(f"second moment {m2:.6g} with mean {m1:.6g}: an acyclic law {fix}")
    if n == 1:
        low = high = 3.0
    else:
        low = moments3.lower_bound(n, n2)
        high = max(low, moments3.upper_bound(n, n2))  # equal but for rounding at an Erlang law
    third = _in_range("the third moment", low * m1 * m2)
    return third, inf if isinf(high) else _in_range("the third moment", high * m1 * m2)


def _in_range(what: str, value: float) -> float:
    """`value`, a product above zero, unless it left the range of floats."""
    if not 0.0 < value < inf:
        raise ModelError(f"{what} leaves the range of floats; change the unit of time")
    return value


def _checked_scv(m1: float, m2: float) -> float:
    _in_range("the second moment", m1 * m1)
    scv = m2 / m1 / m1 - 1.0
    if _LOWEST - ROUNDED <= scv <= _HIGHEST * (1.0 + ROUNDED):
        return min(max(scv, _LOWEST), _HIGHEST)
    allowed = (
        f"the allowed range is {(1.0 + _LOWEST):g} m1^2 = {(1.0 + _LOWEST) * m1 * m1:.6g} to "
        f"{(1.0 + _HIGHEST):g} m1^2 = {(1.0 + _HIGHEST) * m1 * m1:.6g}"
    )
    if not m2 / m1 > m1:
        why = f"no variable has it: m2 must exceed m1^2 = {m1 * m1:.6g}"
    elif scv < _LOWEST:
        order = f"order {ceil(1.0 / scv - 1e-9)}" if scv > 0.0 else "more phases than can be held"
        why = f"scv {scv:.6g} needs {order}, more than the {_MOST} offered here"
    else:
        why = f"scv {scv:.6g} is above {_HIGHEST:g}"
    raise InfeasibleMomentsError(f"second moment {m2:.6g} with mean {m1:.6g}: {why}; {allowed}")


def _three_moments(m1: float, m2: float, m3: float) -> PhaseType:
    n2, n3 = 1.0 + _checked_scv(m1, m2), m3 / m2 / m1
    _in_range("the third moment", m1 * m2)
    order = moments3.least_order(n2, n3, _MOST) if n2 < n3 <= _FARTHEST else None
    if order is not None:
        return moments3.law_of_order(order, m1, n2, n3)
    low, high = _third_range(n2)
    if not n3 > n2:
        why = f"no variable has it: m3 must exceed m2^2 / m1 = {m2 / m1 * m2:.6g}"
    elif n3 > high and high == _FARTHEST:
        why = f"m3 is above {_FARTHEST:g} m1 m2"
    else:
        needed = moments3.least_order(n2, n3, 10**9)
        phases = "more phases than can be held" if needed is None else f"order {needed}"
        why = f"it needs {phases}, more than the {_MOST} offered here"
    above = "above " if _is_open(n2) else ""
    raise InfeasibleMomentsError(
        f"third moment {m3:.6g} with first moments {m1:.6g} and {m2:.6g}: {why}; the allowed "
        f"range is {above}{low:.6g} m1 m2 = {low * m1 * m2:.6g} to {high:.6g} m1 m2 = "
        f"{high * m1 * m2:.6g}"
    )


def _third_range(n2: float) -> tuple[float, float]:
    """Range of m3 / (m1 m2) that the largest order reaches."""
    high = moments3.upper_bound(_MOST, n2)
    return moments3.lower_bound(_MOST, n2), min(high, _FARTHEST)


def _is_open(n2: float) -> bool:
    """Return whether the lower end of `_third_range` can be approached only."""
    return n2 >= (_MOST + 4) / (_MOST + 1)


def _nearest_law(asked: tuple[float, ...]) -> tuple[PhaseType, tuple[float, ...]]:
    """Law with the nearest moments within reach, and those moments."""
    m1, m2 = asked[:2]
    n2 = min(max(m2 / m1 / m1, 1.0 + _LOWEST), 1.0 + _HIGHEST)
    if n2 != m2 / m1 / m1:
        m2 = _in_range("the second moment", n2 * m1 * m1)
    if len(asked) == 2:
        return _two_moments(m1, m2), (m1, m2)
    low, high = _third_range(n2)
    if _is_open(n2):
        low *= 1.0 + _MARGIN
    n3 = min(max(asked[2] / m2 / m1, low), high)
    m3 = asked[2] if n3 == asked[2] / m2 / m1 else _in_range("the third moment", n3 * m2 * m1)
    order = moments3.least_order(n2, n3, _MOST)
    assert order is not None
    return moments3.law_of_order(order, m1, n2, n3), (m1, m2, m3)


def _two_moments(m1: float, m2: float) -> PhaseType:
    scv = _checked_scv(m1, m2)
    if abs(scv - 1.0) <= ROUNDED:
        return PhaseType.exponential(mean=m1)
    return _balanced_hyperexponential(m1, scv) if scv > 1.0 else _erlang_mixture(m1, scv)


def _erlang_mixture(mean: float, scv: float) -> PhaseType:
    """Erlang of k - 1 phases with probability p, else of k, where 1/k <= scv <= 1/(k - 1)."""
    k = ceil(1.0 / scv - ROUNDED / scv)
    root = sqrt(max(0.0, k * (1.0 - (k - 1) * scv)))
    p = min(max((k * scv - root) / (1.0 + scv), 0.0), 1.0)
    rate = (k - p) / mean
    alpha = np.zeros(k)
    alpha[0], alpha[1] = 1.0 - p, p
    exits = np.zeros(k)
    exits[-1] = rate
    return PhaseType.from_rates(alpha, rate * np.eye(k, k=1), exits, atom=0.0)


def _balanced_hyperexponential(mean: float, scv: float) -> PhaseType:
    root = sqrt((scv - 1.0) / (scv + 1.0))
    rare = 1.0 / ((scv + 1.0) * (1.0 + root))  # (1 - root) / 2 without the subtraction
    often = (1.0 + root) / 2.0
    return PhaseType.hyperexponential(
        weights=[often, rare], means=[mean / (2.0 * often), mean / (2.0 * rare)]
    )
