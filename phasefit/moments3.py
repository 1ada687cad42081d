"""Three moments and acyclic laws: what an order can reach, and the law that reaches it.

Everything is said in the normalised moments n2 = m2 / m1^2 and n3 = m3 / (m1 m2), which do not
change with the unit of time. Which of them an order can reach, and by an exponential and an Erlang
law one of which is left out by chance, is from [1]_. The bounds are those printed there, written
so that they do not cancel; the tests hold them against the printed ones.

References
----------
.. [1] A. Bobbio, A. Horvath, M. Telek, "Matching three moments with minimal acyclic phase type
   distributions", *Stochastic Models* 21 (2005) 303-326.
"""

from __future__ import annotations

from math import ceil, exp, inf, log, sqrt
from typing import Final

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import reciprocals
from phasefit.errors import InfeasibleMomentsError, ModelError
from phasefit.phase_type import PhaseType

#: A quotient of two given moments is known to a few units in the last place.
ROUNDED: Final = 1e-14
#: Within this share of a bound a third normalised moment counts as lying on it.
ON_BOUND: Final = 1e-13


def lower_bound(order: int, n2: float) -> float:
    """Return the least n3 of acyclic laws; attained only where n2 < (n + 4) / (n + 1).

    Parameters
    ----------
    order : int
        Number n of phases, at least 2.
    n2 : float
        Second moment over the squared mean.
    """
    r = (order + 1) / order
    # Of Y + B E, see `_erlang_by_chance`: there n3 has no least value before Y is gone, at r n2.
    if n2 >= (order + 4) / (order + 1):
        return r * n2
    root = sqrt(max(0.0, 4.0 - 3.0 * n2 / r))
    return 3.0 - 2.0 * r * (2.0 - n2) / n2 * (2.0 - root)


def upper_bound(order: int, n2: float) -> float:
    """Return the greatest n3 of acyclic laws, attained unless it is infinite.

    Parameters
    ----------
    order : int
        Number of phases, at least 2.
    n2 : float
        Second moment over the squared mean.
    """
    return inf if n2 > order / (order - 1) * (1.0 + ROUNDED) else _series_boundary(order, n2)[1]


def contains(order: int, n2: float, n3: float) -> bool:
    """Return whether an acyclic law of an order has these normalised moments, up to rounding.

    Parameters
    ----------
    order : int
        Number of phases.
    n2, n3 : float
        m2 / m1^2 and m3 / (m1 m2).
    """
    if _exponential_moments(n2, n3):
        return True
    if order == 1 or n2 < (order + 1) / order * (1.0 - ROUNDED):
        return False
    low, attained = lower_bound(order, n2), n2 < (order + 4) / (order + 1)
    above = n3 >= low * (1.0 - ON_BOUND) if attained else n3 > low * (1.0 + ON_BOUND)
    return above and n3 <= upper_bound(order, n2) * (1.0 + ON_BOUND)


def _exponential_moments(n2: float, n3: float) -> bool:
    return abs(n2 / 2.0 - 1.0) <= ROUNDED and abs(n3 / 3.0 - 1.0) <= ON_BOUND


def least_order(n2: float, n3: float, most: int) -> int | None:
    """Return the least order that `contains` the moments; None if it is above `most`, or there is none.

    Parameters
    ----------
    n2, n3 : float
        m2 / m1^2 and m3 / (m1 m2).
    most : int
        Largest order to try.
    """
    if not n2 > 1.0:
        return None  # a phase-type law varies
    # Below an scv of 1 / order there is none [D. Aldous, L. Shepp, Stochastic Models 3 (1987)].
    low = min(max(1, ceil((1.0 - 1e-9) / (n2 - 1.0))), most)
    high = low
    while not contains(high, n2, n3):
        if high >= most:
            return None
        low, high = high + 1, min(2 * high, most)
    while low < high:  # the laws of an order are among those of the next one
        middle = (low + high) // 2
        low, high = (low, middle) if contains(middle, n2, n3) else (middle + 1, high)
    return high


def law_of_order(order: int, mean: float, n2: float, n3: float) -> PhaseType:
    """Return the law of an order with the given moments.

    The moments must be within reach: the formulas below would give the law of other moments, since they keep
    what rounding adds within their range.

    Above scv one, order two is hyperexponential. Other laws are an exponential Y and an Erlang E of order - 1
    phases, one of which is left out by chance: Y + B E up to the n3 of the sum of both, E + B Y above that.

    Parameters
    ----------
    order : int
        Number of phases.
    mean : float
        Seconds, above zero.
    n2, n3 : float
        m2 / m1^2 and m3 / (m1 m2).

    Raises
    ------
    InfeasibleMomentsError
        If `contains` does not hold.
    """
    if not contains(order, n2, n3):
        raise InfeasibleMomentsError(f"no acyclic law of order {order} has n2 = {n2:.6g} and n3 = {n3:.6g}")
    if _exponential_moments(n2, n3):
        return PhaseType.exponential(mean=mean)
    if abs(n2 / 2.0 - 1.0) <= ROUNDED:
        n2 = 2.0  # what rounding adds would be made up for by an absurdly rare branch
    if order == 2 and n2 > 2.0:
        return _hyperexponential(mean, n2, n3)
    if n2 > 2.0 or n3 <= _series_boundary(order, n2)[1] * (1.0 + ON_BOUND):
        return _erlang_by_chance(order, mean, n2, n3)
    return _exponential_by_chance(order, mean, n2, n3)


def _series_boundary(order: int, n2: float) -> tuple[float, float]:
    """Erlang's share of the mean, and n3, where an exponential and a shorter Erlang add up to n2.

    Of the two such sums it is the one with the longer exponential; n2 at most 2.
    """
    e2, e3 = _erlang_moments(order - 1)
    # With share s, n2 = 2 (1 - s)^2 + 2 s (1 - s) + e2 s^2 = 2 - 2 s + e2 s^2. The smaller root,
    # as 2 - n2 over a sum, since the difference would cancel near n2 = 2.
    share = (2.0 - n2) / (1.0 + sqrt(max(0.0, 1.0 - e2 * (2.0 - n2))))
    return share, 3.0 * (1.0 - share) + e3 * share * share * share / n2


def _erlang_moments(phases: int) -> tuple[float, float]:
    """Second and third moment of an Erlang law of mean one."""
    e2 = (phases + 1) / phases
    return e2, e2 * (phases + 2) / phases


def _hyperexponential(mean: float, n2: float, n3: float) -> PhaseType:
    """Means 1 + u and 1 - v around the mean one: uv = d says n2, u - v = e says n3.

    The moments are k! times those of the mean M of the branch taken: n2 = 2 (1 + u v) and
    n2 n3 = 6 (1 + 3 u v + u v (u - v)).
    """
    d = (n2 - 2.0) / 2.0
    e = (n2 * n3 / 6.0 - 1.0 - 3.0 * d) / d
    root = sqrt(e * e + 4.0 * d)
    # The positive root of v^2 + e v - d = 0, whichever way does not cancel; a mean stays above 0.
    v = min(2.0 * d / (root + e) if e > 0.0 else (root - e) / 2.0, 1.0 - 1e-15)
    u = d / v
    weights, means = [u / (u + v), v / (u + v)], [(1.0 - v) * mean, (1.0 + u) * mean]
    return PhaseType.hyperexponential(weights=weights, means=means)


def _erlang_by_chance(order: int, mean: float, n2: float, n3: float) -> PhaseType:
    """Y + B E. The share s of E in the mean solves a quadratic, given that n2 is met.

    With the mean one, 1 - s is that of Y; let q be s times the mean of E, so that n2 =
    2 (1 - s) + e2 q. With that q, and e3 / e2^2 = r, n2 n3 = 6 (1 - s)^2 + 3 (1 - s) e2 q +
    e3 q^2 / s loses its cubic terms: n3 = 3 (1 - s) + (r / n2) (n2 - 2 + 2 s)^2 / s, which is
    a s^2 + b s + c = 0. Where s is not unique the smaller one is taken: n3 falls with s from the
    sum of both to the lower bound, where it is stationary.
    """
    e2, _ = _erlang_moments(order - 1)
    r = (order + 1) / order
    a, c = 4.0 * r - 3.0 * n2, r * (n2 - 2.0) * (n2 - 2.0)
    b = n2 * (3.0 - n3) + 4.0 * r * (n2 - 2.0)
    turn = (2.0 - n2) / sqrt(a / r) if a > 0.0 else inf  # where n3 stops falling
    discriminant = b * b - 4.0 * a * c
    if a > 0.0 and (b >= 0.0 or discriminant <= 0.0):  # by rounding only
        s = turn
    else:  # the smaller root where a > 0, else the positive one; each where it does not cancel
        root = sqrt(discriminant)
        s = 2.0 * c / (root - b) if b < 0.0 else (root + b) / (-2.0 * a)
    least = _series_boundary(order, n2)[0] if n2 < 2.0 else 0.0
    s = min(max(s, least), turn, 1.0 - 1e-15)
    # q = s times the mean of E; the chance of E is s / (q / s), which must not exceed one
    q = max((n2 - 2.0 + 2.0 * s) / e2, s * s)
    chance = s * s / q if s > 0.0 else 0.0
    erlang = q / s * mean if s > 0.0 else mean
    alpha = np.zeros(order)
    alpha[0], alpha[-1] = chance, 1.0 - chance
    means = np.full(order, erlang / (order - 1))
    means[-1] = (1.0 - s) * mean
    return _law_in_series(alpha, means)


def _exponential_by_chance(order: int, mean: float, n2: float, n3: float) -> PhaseType:
    """E + B Y. The share s of Y in the mean is found by bracketing, given that n2 is met.

    With the mean one, 1 - s is that of E; let q be s times the mean of Y: n2 = e2 (1 - s)^2 +
    2 s (1 - s) + 2 q, and n2 n3 = e3 (1 - s)^3 + 3 e2 (1 - s)^2 s + 6 (1 - s) q + 6 q^2 / s,
    in which s no longer comes out of a quadratic.
    """
    from scipy.optimize import brentq

    e2, e3 = _erlang_moments(order - 1)

    def spread(s: float) -> float:
        """Return s times the mean of Y: what E and the cross terms leave of n2."""
        return ((n2 - e2) + 2.0 * s * (e2 - 1.0) + s * s * (2.0 - e2)) / 2.0

    def third(s: float) -> float:
        rest, q = 1.0 - s, spread(s)
        return rest * (rest * (e3 * rest + 3.0 * e2 * s) + 6.0 * q) + 6.0 * q * (q / s)

    def excess(t: float) -> float:
        return log(third(exp(t)) / n2 / n3)

    most = 1.0 - _series_boundary(order, n2)[0]
    # The last term alone is at most n2 n3, and q grows with s: s is at least 6 q(0)^2 / (n2 n3).
    # It is at most what Y has in the sum of both, where B is certain.
    ends = log(min(6.0 * spread(0.0) * spread(0.0) / n2 / n3, most)), log(most)
    # The third moment falls with s; logarithms, since s may be tiny.
    if excess(ends[0]) > 0.0 > excess(ends[1]):
        s = exp(brentq(excess, *ends, xtol=1e-15, rtol=1e-15))
    else:  # by rounding only
        s = exp(min(ends, key=lambda t: abs(excess(t))))
    q = max(spread(s), s * s)
    chance = s * s / q
    alpha = np.zeros(order)
    alpha[0], alpha[1] = chance, 1.0 - chance
    means = np.full(order, (1.0 - s) / (order - 1) * mean)
    means[0] = q / s * mean
    return _law_in_series(alpha, means)


def _law_in_series(alpha: Array, means: Array) -> PhaseType:
    """Law of phases that follow each other, entered by chance and left at the end only."""
    if not (means > 0.0).all() or not np.isfinite(means).all():
        raise ModelError("the mean of a phase leaves the range of floats; change the unit of time")
    rates = reciprocals(means)
    exits = np.zeros(rates.size)
    exits[-1] = rates[-1]
    return PhaseType.from_rates(alpha, np.diag(rates[:-1], 1), exits, atom=0.0)
