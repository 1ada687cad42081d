"""The law of the work between two checkpoints, as far as goodput depends on it."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import expm

from phasefit import PhaseType
from qmodels.checkpoints.model import Checkpointing, of_mean

#: Of Gauss's rule, over a uniform interval.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def log_survived(job: Checkpointing, rate: float) -> float:
    """Return the logarithm of the probability that failures spare an interval.

    Its difference to zero keeps all its digits when failures are rare.

    Parameters
    ----------
    job : Checkpointing
        The job.
    rate : float
        Failures per second.

    Examples
    --------
    >>> log_survived(Checkpointing(1.0, interval=2.0), 0.5)
    -1.0
    """
    x = rate * job.interval
    if isinstance(job.jitter, PhaseType):
        return _log_transform(job.jitter, x)
    y = x * job.jitter
    # log(sinh(y) / y), which neither overflows nor cancels.
    if y < 1e-4:
        return y * y / 6.0 - x
    return y + math.log(-math.expm1(-2.0 * y) / (2.0 * y)) - x


def log_write_survived(job: Checkpointing, x: float) -> float:
    """Return the logarithm of the probability that failures spare a transfer.

    Parameters
    ----------
    job : Checkpointing
        The job.
    x : float
        Failures in the mean time of the transfer.

    Examples
    --------
    Transfers of exponential sizes are spared more often than constant ones, whose logarithm is -1:

    >>> law = PhaseType.exponential(mean=1.0)
    >>> round(log_write_survived(Checkpointing(1.0, interval=2.0, size_law=law), 1.0), 6)
    -0.693147
    """
    if job.size_law is None:
        return -x
    return _log_transform(job.size_law, x)


def _log_transform(law: PhaseType, x: float) -> float:
    """``log E exp(-x W / E W)`` of a law; keeps its digits where it is near zero."""
    s = x / law.mean
    times = np.linalg.solve(s * np.eye(law.order) - law.T, np.ones(law.order))
    return math.log1p(-s * float(law.alpha @ times))


def kept_work(job: Checkpointing, rate: float) -> float:
    """Return the mean work of an interval that was not hit: shorter than the mean where it varies.

    Parameters
    ----------
    job : Checkpointing
        The job.
    rate : float
        Failures per second.

    Examples
    --------
    Exponential intervals of mean 10 under one failure in 40 seconds:

    >>> law = PhaseType.exponential(mean=1.0)
    >>> round(kept_work(Checkpointing(1.0, interval=10.0, jitter=law), 1 / 40), 9)
    8.0
    """
    tau = job.interval
    if isinstance(job.jitter, PhaseType):
        return tau * _spared_part(job.jitter, rate * tau)
    y = rate * tau * job.jitter
    if y < 1e-4:
        return tau - rate * (tau * job.jitter) ** 2 / 3.0
    return tau - tau * job.jitter / math.tanh(y) + 1.0 / rate


def kept_write(job: Checkpointing, mean: float) -> float:
    """Return the mean of the transfers that are not hit, seconds: shorter where sizes vary.

    Parameters
    ----------
    job : Checkpointing
        The job.
    mean : float
        Of all transfers, were none hit, seconds.

    Examples
    --------
    >>> law = PhaseType.exponential(mean=1.0)
    >>> kept_write(Checkpointing(1.0, interval=2.0, mtbf=3.0, size_law=law), 1.0)
    0.75
    """
    if job.size_law is None or math.isinf(job.mtbf):
        return mean
    return mean * _spared_part(job.size_law, job.failure_rate * mean)


def _spared_part(law: PhaseType, x: float) -> float:
    """``E[W e^(-x W)] / E[e^(-x W)]`` for a law scaled to a mean of one."""
    shifted = x / law.mean * np.eye(law.order) - law.T
    once = np.linalg.solve(shifted, -law.T.sum(axis=1))
    twice = np.linalg.solve(shifted, once)
    return float(law.alpha @ twice) / float(law.alpha @ once) / law.mean


def overrun(job: Checkpointing, time: float, spread: float) -> float:
    """Return the mean by which a transfer outlasts an interval, seconds.

    Parameters
    ----------
    job : Checkpointing
        The job.
    time, spread : float
        Mean and standard deviation of the transfer, seconds: it is taken as a constant and an
        exponential time after that.

    Notes
    -----
    ``E (T - W)+`` of the transfer T and the interval W. Where W is phase-type it is ``E T - E
    min(T, W)``.

    Examples
    --------
    >>> round(overrun(Checkpointing(1.0, interval=10.0), 12.0, 0.0), 9)
    2.0
    >>> law = PhaseType.exponential(mean=1.0)  # 2 s outlast an interval of 10 s one time in six
    >>> round(overrun(Checkpointing(1.0, interval=10.0, jitter=law), 2.0, 2.0), 9)
    0.333333333
    """
    tau, after = job.interval, min(spread, time)
    least = time - after
    if not isinstance(job.jitter, PhaseType):
        early = least - tau * (1.0 + job.jitter * _NODES)  # how much sooner than the interval
        late = np.where(early > 0.0, early + after, 0.0)
        if after > 0.0:
            late += np.where(early <= 0.0, after * np.exp(np.minimum(early, 0.0) / after), 0.0)
        return 0.5 * float(_WEIGHTS @ late)
    law = of_mean(job.jitter, tau)
    left = law.alpha @ expm(law.T * least)  # by phase, that the interval goes on
    shorter = float((law.alpha - left) @ np.linalg.solve(-law.T, np.ones(law.order)))
    if after > 0.0:
        ends = np.eye(law.order) / after - law.T
        shorter += float(left @ np.linalg.solve(ends, np.ones(law.order)))
    return max(0.0, time - shorter)


def timer_share(job: Checkpointing, service: float, load: float) -> float:
    """Return the share of the wait for turns that a variable interval brings about, 0 to 1.

    Parameters
    ----------
    job : Checkpointing
        The job.
    service : float
        Seconds between two that are served one after the other.
    load : float
        Use of the storage by all jobs, if none waited.

    Notes
    -----
    Two jobs whose intervals are constant drift into file and wait no more. With intervals of
    standard deviation `d` they come back with steps of variance ``2 d^2``; a random walk with
    such steps is pushed out of each other's service of `C` seconds by ``d^2`` for each cycle,
    where arrivals at random moments wait ``C^2 / 2`` each: a share of ``2 x^2``, ``x = d / C``,
    exact for few jobs and small x. It grows to one where x is large: the interpolation
    ``1 - (1 + 4 load x^2)^(-1 / (2 load))`` was chosen to lie within .08 of simulations at loads .07 to
    .73. One is exact for exponential intervals.
    """
    if isinstance(job.jitter, PhaseType):
        if job.jitter.order == 1:
            return 1.0
        spread = job.interval * job.jitter.std / job.jitter.mean
    else:
        spread = job.interval * job.jitter / math.sqrt(3.0)
    x, many = spread / service, max(load, 1e-3)
    return -math.expm1(-math.log1p(4.0 * many * x * x) / (2.0 * many))


def size_share(job: Checkpointing) -> float:
    """Return the share of the wait for turns that transfers of variable size bring about.

    Parameters
    ----------
    job : Checkpointing
        The job.

    Notes
    -----
    By the argument of `timer_share`: steps of variance ``2 v C^2``, with `v` the squared
    coefficient of variation of the sizes, against waits of ``(1 + v) C^2 / 2``: a share of ``2 v /
    (1 + v)``. That is one for exponential sizes, where the product form says so at any load.
    """
    if job.size_law is None:
        return 0.0
    return 2.0 * job.size_law.scv / (1.0 + job.size_law.scv)
