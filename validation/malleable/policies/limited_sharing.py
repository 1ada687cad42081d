"""LPS: so many jobs at most share the machine equally, the others wait in order of arrival."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from qmodels.errors import UnstableError
from validation.malleable.base import AbstractMalleable, InSystem, register


@register
@dataclass(frozen=True)
class LimitedSharing(AbstractMalleable):
    """Equal shares for the first `limit` jobs of those in the system.

    Parameters
    ----------
    limit : int
        K, at least one; TS(1;M=K) without I/O.

    References
    ----------
    .. [1] V. Gupta, M. Harchol-Balter, "Self-adaptive admission control policies for resource-sharing
       systems", *Proc. ACM SIGMETRICS* 2009, 311-322.

    Examples
    --------
    >>> LimitedSharing(4).label
    'LPS(4)'
    """

    limit: int = 4
    name: ClassVar[str] = "LPS"
    needs: ClassVar[str] = "time sharing on one partition; no sizes"
    legend: ClassVar[str] = "LPS(K): up to K jobs share the machine equally, others wait."

    def __post_init__(self) -> None:
        whole_number("limit", self.limit, least=1)

    @property
    def label(self) -> str:
        """Name and limit."""
        return f"{self.name}({self.limit})"

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        served = jobs.here & (jobs.ranks() < self.limit)
        share = jobs.processors / np.clip(jobs.count, 1.0, self.limit)
        return np.asarray(np.where(served, share, 0.0))


def limited_sharing_response(load: float, scv: float, limit: int, *, mean_work: float = 1.0) -> float:
    """Return about the mean response of limited sharing on one server, in an instant.

    Parameters
    ----------
    load : float
        Part of the time that the server is busy, below one.
    scv : float
        Of the work of a job, variance / mean^2.
    limit : int
        K.
    mean_work : float
        Seconds on the whole server.

    Returns
    -------
    float
        Seconds: exact for K = 1 and for an scv of one, and as K grows; else a heavy-traffic
        approximation.

    Raises
    ------
    UnstableError
        If the load is one or more.

    References
    ----------
    .. [1] J. Zhang, B. Zwart, "Steady state approximations of limited processor sharing queues in heavy
       traffic", *Queueing Systems* 60 (2008) 227-246.

    Examples
    --------
    >>> [round(limited_sharing_response(0.8, 10.0, k), 2) for k in (1, 4, 100)]
    [23.0, 14.22, 5.0]
    """
    load = real_number("load", load, above=0.0)
    scv, mean = real_number("scv", scv), real_number("mean_work", mean_work, above=0.0)
    if load >= 1.0:
        raise UnstableError("LPS", load, 1.0)
    waits = load ** whole_number("limit", limit, least=1)
    return mean / (1.0 - load) * (1.0 - waits + waits * (1.0 + scv) / 2.0)
