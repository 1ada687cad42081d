"""The law of the work between two checkpoints, as far as goodput depends on it."""

from __future__ import annotations

import math

import numpy as np

from phasefit import PhaseType
from qmodels.checkpoints.model import Checkpointing


def log_survived(job: Checkpointing, rate: float) -> float:
    """Logarithm of the probability that failures of this rate per second spare an interval.

    Its difference to zero keeps all its digits when failures are rare.

    Examples
    --------
    >>> log_survived(Checkpointing(1.0, interval=2.0), 0.5)
    -1.0
    """
    x = rate * job.interval
    if isinstance(job.jitter, PhaseType):
        law, s = job.jitter, x / job.jitter.mean
        times = np.linalg.solve(s * np.eye(law.order) - law.T, np.ones(law.order))
        return math.log1p(-s * float(law.alpha @ times))
    y = x * job.jitter
    # log(sinh(y) / y), which neither overflows nor cancels.
    if y < 1e-4:
        return y * y / 6.0 - x
    return y + math.log(-math.expm1(-2.0 * y) / (2.0 * y)) - x


def kept_work(job: Checkpointing, rate: float) -> float:
    """Mean work of an interval that was not hit: shorter than the mean where it varies.

    Examples
    --------
    Exponential intervals of mean 10 under one failure in 40 seconds:

    >>> law = PhaseType.exponential(mean=1.0)
    >>> round(kept_work(Checkpointing(1.0, interval=10.0, jitter=law), 1 / 40), 9)
    8.0
    """
    tau = job.interval
    if isinstance(job.jitter, PhaseType):
        law = job.jitter
        s = rate * tau / law.mean
        shifted = s * np.eye(law.order) - law.T
        ends = -law.T.sum(axis=1)
        once = np.linalg.solve(shifted, ends)
        twice = np.linalg.solve(shifted, once)
        return float(law.alpha @ twice) / float(law.alpha @ once) * tau / law.mean
    y = rate * tau * job.jitter
    if y < 1e-4:
        return tau - rate * (tau * job.jitter) ** 2 / 3.0
    return tau - tau * job.jitter / math.tanh(y) + 1.0 / rate


def overrun(job: Checkpointing, time: float) -> float:
    """Mean by which a transfer of `time` seconds outlasts an interval, seconds.

    Examples
    --------
    >>> overrun(Checkpointing(1.0, interval=10.0), 12.0)
    2.0
    """
    tau = job.interval
    if isinstance(job.jitter, PhaseType):
        # E (t - W)+ is the integral of P(W < x) up to t.
        nodes, weights = np.polynomial.legendre.leggauss(64)
        x = 0.5 * time * (nodes + 1.0)
        below = np.asarray(job.jitter.cdf(x * job.jitter.mean / tau))
        return float(0.5 * time * weights @ below)
    width = tau * job.jitter
    if time <= tau - width:
        return 0.0
    if time >= tau + width:
        return time - tau
    return (time - tau + width) ** 2 / (4.0 * width)


def random_share(job: Checkpointing, write: float) -> float:
    """Share of checkpoints that a variable interval sends at a moment of their own, 0 to 1.

    The standard deviation of the interval over the length of a write: an interval that varies
    by less than a write keeps most jobs in file.
    """
    if isinstance(job.jitter, PhaseType):
        spread = job.interval * job.jitter.std / job.jitter.mean
    else:
        spread = job.interval * job.jitter / math.sqrt(3.0)
    return min(1.0, spread / write)
