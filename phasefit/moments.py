"""Laws with given moments, in the fewest phases that the family needs."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from phasefit.checks import real_number
from phasefit.errors import InfeasibleMomentsError
from phasefit.phase_type import PhaseType

#: Squared coefficients of variation that `match_moments` answers for.
_LOWEST, _HIGHEST = 0.01, 1e4
#: A quotient of two given moments is known to a few units in the last place.
_ROUNDED = 1e-14


def match_moments(m1: float, m2: float | None = None) -> PhaseType:
    """Law with the given first moment, or the given first two.

    Parameters
    ----------
    m1 : float
        Mean in seconds, above zero.
    m2 : float, optional
        Second raw moment E[X^2] in seconds^2: ``m1**2 * (1 + scv)`` with an scv (squared
        coefficient of variation) from 0.01 to 10 000.

    Returns
    -------
    PhaseType
        Exponential if only the mean is given, or the scv is one. For an scv below one, the
        mixture of Erlang laws of k - 1 and k phases with a common rate [1]_, of order
        k = ceil(1 / scv). Above one, two exponentials in balance: each contributes half of the
        mean. Both moments are met to the last digits.

    Raises
    ------
    ModelError
        If a moment is not a finite number, or `m1` is not above zero.
    InfeasibleMomentsError
        If `m2` is outside the range of an scv from 0.01 to 10 000.

    References
    ----------
    .. [1] H. C. Tijms, *Stochastic Models: An Algorithmic Approach*, Wiley 1994, appendix B.

    Examples
    --------
    >>> match_moments(2.0)
    PhaseType(order=1, mean=2, scv=1)
    >>> match_moments(2.0, 4.0 * (1 + 0.3))
    PhaseType(order=4, mean=2, scv=0.3)
    >>> match_moments(2.0, 4.0 * (1 + 9.0))
    PhaseType(order=2, mean=2, scv=9)
    """
    m1 = real_number("m1", m1, above=0.0)
    if m2 is None:
        return PhaseType.exponential(mean=m1)
    m2 = real_number("m2", m2)
    scv = _checked_scv(m1, m2)
    if abs(scv - 1.0) <= _ROUNDED:
        return PhaseType.exponential(mean=m1)
    return _balanced_hyperexponential(m1, scv) if scv > 1.0 else _erlang_mixture(m1, scv)


def _checked_scv(m1: float, m2: float) -> float:
    scv = m2 / m1 / m1 - 1.0
    if _LOWEST - _ROUNDED <= scv <= _HIGHEST * (1.0 + _ROUNDED):
        return min(max(scv, _LOWEST), _HIGHEST)
    allowed = (
        f"the allowed range is {(1.0 + _LOWEST):g} m1^2 = {(1.0 + _LOWEST) * m1 * m1:.6g} to "
        f"{(1.0 + _HIGHEST):g} m1^2 = {(1.0 + _HIGHEST) * m1 * m1:.6g}"
    )
    if not m2 / m1 > m1:
        why = f"no variable has it: m2 must exceed m1^2 = {m1 * m1:.6g}"
    elif scv < _LOWEST:
        order = f"order {ceil(1.0 / scv - 1e-9)}" if scv > 0.0 else "more phases than can be held"
        why = f"scv {scv:.6g} needs {order}, more than the {round(1 / _LOWEST)} offered here"
    else:
        why = f"scv {scv:.6g} is above {_HIGHEST:g}"
    raise InfeasibleMomentsError(f"second moment {m2:.6g} with mean {m1:.6g}: {why}; {allowed}")


def _erlang_mixture(mean: float, scv: float) -> PhaseType:
    """Erlang of k - 1 phases with probability p, else of k, where 1/k <= scv <= 1/(k - 1)."""
    k = ceil(1.0 / scv - _ROUNDED / scv)
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
