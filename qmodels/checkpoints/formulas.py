"""One job by itself: closed forms for constant intervals and exponential failures."""

from __future__ import annotations

import math

from scipy.special import lambertw

from phasefit.checks import real_number


def goodput_alone(interval: float, write: float, restore: float, mtbf: float, downtime: float) -> float:
    """Return the share of kept work in the time of a job that shares with nobody.

    Parameters
    ----------
    interval, write, restore, mtbf, downtime : float
        Seconds; `mtbf` may be infinite.

    Returns
    -------
    float
        ``tau / [(e^{l (tau + C)} - 1) e^{l R} (D + M)]`` with ``l = 1 / M``, exact for a job that
        stands still while it writes.

    References
    ----------
    .. [1] Daly 2006.

    Examples
    --------
    >>> round(goodput_alone(2400.0, 300.0, 300.0, 10800.0, 600.0), 8)
    0.7209173
    """
    return goodput_behind(interval, 0.0, write, restore, mtbf, downtime)  # nothing is left to write


def goodput_behind(
    interval: float, write: float, snapshot: float, restore: float, mtbf: float, downtime: float
) -> float:
    """Return the goodput of a job that writes behind its work, where the write fits into an interval.

    Our own, by the renewal argument of `goodput_alone`.

    Parameters
    ----------
    interval, write, snapshot, restore, mtbf, downtime : float
        Seconds; the job stands still for the `snapshot`, the write goes on behind its work.
        `mtbf` may be infinite.

    Returns
    -------
    float
        ``tau e^{-l C} / [(e^{l (tau + s)} - 1) e^{l R} (D + M)]`` with ``l = 1 / M``: the last
        write has to be done for its work to count.

    Examples
    --------
    >>> round(goodput_behind(100.0, 60.0, 2.0, 60.0, 1000.0, 20.0), 8)
    0.80974272
    """
    if math.isinf(mtbf):
        return interval / (interval + snapshot)
    segment = _expm1((interval + snapshot) / mtbf) * _exp(restore / mtbf) * (downtime + mtbf)
    return interval * math.exp(-write / mtbf) / segment if math.isfinite(segment) else 0.0


def best_alone(write: float, mtbf: float) -> float:
    """Return the interval of the largest goodput of one job: ``M (1 + W0(-e^{-C/M - 1}))``, seconds.

    It depends neither on the downtime nor on the restore.

    Parameters
    ----------
    write, mtbf : float
        Seconds to write a checkpoint, and between failures on average.

    Returns
    -------
    float
        Seconds of work between two checkpoints.

    References
    ----------
    .. [1] Daly 2006.

    Examples
    --------
    >>> round(best_alone(300.0, 10800.0), 6), round(best_alone(3600.0, 7200.0), 6)
    (2349.637938, 5027.691149)
    """
    write = real_number("write", write, above=0.0)
    x = write / mtbf
    if x < 1e-6:  # W0 loses the difference to -1: its series in sqrt(2 x) there
        p = math.sqrt(2.0 * -math.expm1(-x))
        return mtbf * (p - p * p / 3.0 + 11.0 / 72.0 * p**3)
    return mtbf * (1.0 + float(lambertw(-math.exp(-x - 1.0)).real))


def young(write: float, mtbf: float) -> float:
    """Return Young's interval, ``sqrt(2 C M)``, seconds: the first order.

    Parameters
    ----------
    write, mtbf : float
        Seconds to write a checkpoint, and between failures on average.

    Returns
    -------
    float
        Seconds of work between two checkpoints.

    References
    ----------
    .. [1] Young 1974.

    Examples
    --------
    >>> young(300.0, 10800.0)
    2545.584412271571
    """
    return math.sqrt(2.0 * write * mtbf)


def daly(write: float, mtbf: float) -> float:
    """Return Daly's interval of higher order, seconds; `mtbf` itself once the write is twice as long.

    Parameters
    ----------
    write, mtbf : float
        Seconds to write a checkpoint, and between failures on average.

    Returns
    -------
    float
        Seconds of work between two checkpoints.

    References
    ----------
    .. [1] Daly 2006.

    Examples
    --------
    >>> round(daly(300.0, 10800.0), 6), daly(3600.0, 7200.0)
    (2349.512783, 5000.0)
    """
    if write >= 2.0 * mtbf:
        return mtbf
    x = math.sqrt(write / (2.0 * mtbf))
    return young(write, mtbf) * (1.0 + x / 3.0 + x * x / 9.0) - write


def _exp(x: float) -> float:
    return math.exp(x) if x < 700.0 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 700.0 else math.inf
