"""EQUI: every job in the system gets the same share of the processors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from qmodels.errors import UnstableError
from validation.malleable.base import AbstractMalleable, InSystem, register
from validation.malleable.jobs import Curve


@register
@dataclass(frozen=True)
class EqualShares(AbstractMalleable):
    """Equal shares of the processors for all jobs in the system, parts of a processor among them.

    Notes
    -----
    With one concave speed curve, exponential sizes and nothing known of them no policy has a smaller
    mean response [1]_. Dynamic partitioning DP(K_D) with `min_processors` 1 is its form for up to as
    many jobs as processors; beyond, those wait that share here.

    References
    ----------
    .. [1] B. Berg, J.-P. Dorsman, M. Harchol-Balter, "Towards optimality in parallel scheduling",
       *Proc. ACM Meas. Anal. Comput. Syst.* 1 (2018) 40.

    Examples
    --------
    >>> EqualShares().label, EqualShares().needs
    ('EQUI', 'preemption; no sizes')
    """

    name: ClassVar[str] = "EQUI"
    needs: ClassVar[str] = "preemption; no sizes"
    legend: ClassVar[str] = "EQUI: all jobs in the system share the processors equally."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        return np.asarray(jobs.here * (jobs.processors / np.maximum(jobs.count, 1.0)))


def equal_shares_response(
    arrival_rate: float, processors: int, curve: Curve, *, mean_work: float = 1.0
) -> float:
    """Return the mean response of EQUI with exponential work and Poisson arrivals; exact.

    Parameters
    ----------
    arrival_rate : float
        Jobs per second.
    processors : int
        k, of the machine.
    curve : callable
        Speed on so many processors, one on one of them; linear below one.
    mean_work : float
        Mean work of a job, seconds on one processor.

    Returns
    -------
    float
        Seconds.

    Raises
    ------
    UnstableError
        If more work arrives than k processors do one by one.

    Notes
    -----
    A birth-death chain: n jobs leave at n s(k / n) / mean_work for n < k, at k / mean_work from there on.

    Examples
    --------
    >>> from validation.malleable.jobs import power
    >>> round(equal_shares_response(6.4, 8, power(0.5)), 12)
    1.081178814408
    """
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    k = whole_number("processors", processors, least=1)
    mean = real_number("mean_work", mean_work, above=0.0)
    load = rate * mean / k
    if load >= 1.0:
        raise UnstableError("EQUI", rate, k / mean)
    n = np.arange(1.0, k)
    speeds = n * curve(k / n)
    weights = np.concatenate([[1.0], np.cumprod(rate * mean / speeds)])  # of 0 .. k - 1 jobs
    first = float(weights[-1]) * load  # of k jobs, and then geometric
    jobs = math.fsum((np.arange(k) * weights).tolist()) + first * (
        k / (1.0 - load) + load / (1.0 - load) ** 2
    )
    return jobs / (math.fsum(weights.tolist()) + first / (1.0 - load)) / rate
