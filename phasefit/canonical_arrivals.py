"""Arrival processes of two phases in canonical form: from moments and one correlation."""

from __future__ import annotations

from math import sqrt

import numpy as np

from phasefit.arrays import Array
from phasefit.arrival_process import MAP
from phasefit.canonical import canonical_form
from phasefit.checks import positive_vector, real_number
from phasefit.errors import InfeasibleMomentsError
from phasefit.moments import match_moments
from phasefit.phase_type import PhaseType


def match_map(m1: float, m2: float, m3: float, lag1: float) -> MAP:
    """Return the process of two phases with three moments of its gaps and a lag-1 autocorrelation.

    Parameters
    ----------
    m1, m2, m3 : float
        Raw moments of a gap, in seconds and its powers.
    lag1 : float
        Correlation of successive gaps.

    Returns
    -------
    MAP
        In the canonical form of order 2, which is unique; of order 1 for a Poisson process.

    Raises
    ------
    InfeasibleMomentsError
        If no process of two phases has them; tells the range that they can have.

    Notes
    -----
    With rates l1 <= l2 in a row, r = l1 / l2 and q the probability that a gap begins in phase 1,
    moments decide l1, l2 and q. Gaps k apart are correlated as gamma^k. Form 1, gamma = a b: b and
    a r are the roots of x^2 - (1 - q + gamma (r + q)) x + gamma r. Form 2, gamma = -a b:
    b = q - gamma (r + q).

    References
    ----------
    .. [1] L. Bodrog, A. Heindl, G. Horvath, M. Telek, "A Markovian canonical form of second-order
       matrix-exponential processes", *Eur. J. Oper. Res.* 190 (2008) 459-477.

    Examples
    --------
    >>> match_map(1.0, 5.0, 60.0, 0.2)
    MAP(order=2, mean=1, scv=4, lag1=0.2)
    """
    moments = positive_vector("moments", [m1, m2, m3])
    lag1 = real_number("lag1", lag1)
    series = canonical_form(match_moments(*moments.tolist()))
    if series.order > 2:
        n2, n3 = moments[1] / moments[0] ** 2, moments[2] / (moments[0] * moments[1])
        raise InfeasibleMomentsError(
            f"two phases need an scv of at least 1/2 and a third moment within bounds; m2 / m1^2 "
            f"= {n2:.6g} with m3 / (m1 m2) = {n3:.6g} takes {series.order}"
        )
    least, most = _lag1_ends(series.alpha, _rates_of_series(series))
    if not least - 1e-12 <= lag1 <= most + 1e-12:
        raise InfeasibleMomentsError(
            f"with these moments the lag-1 autocorrelation of two phases can be {least:.6g} to "
            f"{most:.6g}, got {lag1:.6g}"
        )
    if series.order == 1:
        return MAP.from_phase_type(series)
    return _process_of_gamma(
        series.alpha, _rates_of_series(series), _gamma(series.scv, min(max(lag1, least), most))
    )


def lag1_range(m1: float, m2: float, m3: float) -> tuple[float, float]:
    """Return the ends of the lag-1 autocorrelation that two phases with these moments can have.

    Parameters
    ----------
    m1, m2, m3 : float
        Raw moments of the times between events, in seconds, seconds^2 and seconds^3.

    Returns
    -------
    low, high : float
        Without a unit.

    Raises
    ------
    InfeasibleMomentsError
        If no such process has the moments.

    References
    ----------
    .. [1] L. Bodrog, A. Heindl, G. Horvath, M. Telek, "A Markovian canonical form of second-order
       matrix-exponential processes", *Eur. J. Oper. Res.* 190 (2008) 459-477.

    Examples
    --------
    >>> [round(x, 4) for x in lag1_range(1.0, 5.0, 60.0)]
    [-0.0476, 0.375]
    """
    series = canonical_form(match_moments(*positive_vector("moments", [m1, m2, m3]).tolist()))
    if series.order > 2:
        raise InfeasibleMomentsError(f"these moments take {series.order} phases")
    return _lag1_ends(series.alpha, _rates_of_series(series))


def _rates_of_series(series: PhaseType) -> Array:
    return np.asarray(-series.T.diagonal())


def _gamma(scv: float, lag1: float) -> float:
    """Factor by which correlations fall from lag to lag: rho_k = gamma^k (1 - 1 / scv) / 2."""
    return 2.0 * lag1 * scv / (scv - 1.0)


def _lag1_ends(start: Array, rates: Array) -> tuple[float, float]:
    if rates.size == 1:
        return 0.0, 0.0
    q, r = float(start[0]), float(rates[0] / rates[1])
    # a process that never changes its phase is two processes: the end itself is not reached
    high = 1.0 - 1e-6 if q + r <= 1.0 else _largest_gamma(q, r)
    low = (1.0 - q) / (q + r)
    if q + r < 1.0:
        low = min(low, q / (1.0 - q - r))
    scv = PhaseType(start, np.diag(-rates) + np.diag(rates[:-1], 1)).scv
    if abs(scv - 1.0) < 1e-12:
        return 0.0, 0.0
    ends = sorted([-low * (1.0 - 1.0 / scv) / 2.0, high * (1.0 - 1.0 / scv) / 2.0])
    return ends[0], ends[1]


def _largest_gamma(q: float, r: float) -> float:
    """Largest gamma of form 1 where gaps vary less than exponential ones."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _probabilities_of_form_one(q, r, middle) else (low, middle)
    return low


def _probabilities_of_form_one(
    q: float, r: float, gamma: float, slack: float = 1e-12
) -> tuple[float, float] | None:
    """The probabilities a and b, beyond 1 by rounding up to `slack`; None where there are none."""
    total = 1.0 - q + gamma * (r + q)
    inner = total * total - 4.0 * gamma * r
    if inner < -0.01 * slack * total * total:
        return None
    root = sqrt(max(inner, 0.0))
    large = 0.5 * (total + root)
    small = gamma * r / large if large > 0.0 else 0.0
    for b, ar in ((large, small), (small, large)):
        if b <= 1.0 + slack and ar <= r * (1.0 + slack):
            return min(ar / r, 1.0), min(b, 1.0)
    return None


def _process_of_gamma(start: Array, rates: Array, gamma: float) -> MAP:
    q, r = float(start[0]), float(rates[0] / rates[1])
    if gamma >= 0.0:
        probabilities = _probabilities_of_form_one(q, r, gamma)
        if probabilities is None:  # at the end of `_lag1_ends`, beyond it by rounding
            gamma = min(gamma, _largest_gamma(q, r))
            probabilities = _probabilities_of_form_one(q, r, gamma, 1e-9)
        if probabilities is None:  # the whole range is rounding
            probabilities = 0.0, 1.0 - q
        return MAP.acyclic(rates=rates, a=probabilities[0], b=probabilities[1])
    b = min(q - gamma * (r + q), 1.0)
    a = min(-gamma / b, 1.0) if b > 0.0 else 0.0
    return MAP.acyclic(rates=rates, a=a, b=b, alternating=True)
