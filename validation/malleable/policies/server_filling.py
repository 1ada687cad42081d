"""ServerFilling: rigid jobs whose needs are powers of two leave no processor idle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_number
from qmodels.errors import UnstableError
from validation.malleable.base import AbstractMalleable, InSystem, register


@register
@dataclass(frozen=True)
class ServerFilling(AbstractMalleable):
    """The shortest prefix of arrivals that could fill the machine, those that need most first.

    Notes
    -----
    The machine and all needs are powers of two. The prefix is served in falling order of need, which
    fills all processors exactly [1]_. What it buys over first come first served is what preemption of
    rigid jobs would buy.

    References
    ----------
    .. [1] I. Grosof, M. Harchol-Balter, A. Scheller-Wolf, "WCFS: A new framework for analyzing
       multiserver systems", *Queueing Systems* 102 (2022) 143-174.

    Examples
    --------
    >>> ServerFilling().label, ServerFilling().needs
    ('ServerFilling', 'preemption; needs that are powers of two')
    """

    name: ClassVar[str] = "ServerFilling"
    needs: ClassVar[str] = "preemption; needs that are powers of two"
    legend: ClassVar[str] = "ServerFilling: of the first rigid jobs that fill the machine the largest first."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        return _filled(jobs, jobs.ranks())


@register
@dataclass(frozen=True)
class ServerFillingSRPT(AbstractMalleable):
    """The same, jobs with the least work left taking the place of those that came first.

    Notes
    -----
    The work of a rigid job is what is left of it times the processors that it needs [1]_.

    References
    ----------
    .. [1] I. Grosof, Z. Scully, M. Harchol-Balter, A. Scheller-Wolf, "Optimal scheduling in the
       multiserver-job model under heavy traffic", *Proc. ACM Meas. Anal. Comput. Syst.* 6 (2022) 51.

    Examples
    --------
    >>> ServerFillingSRPT().needs
    'preemption and known sizes; needs that are powers of two'
    """

    name: ClassVar[str] = "ServerFilling-SRPT"
    needs: ClassVar[str] = "preemption and known sizes; needs that are powers of two"
    legend: ClassVar[str] = "ServerFilling-SRPT: the same of the jobs with the least work left."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        return _filled(jobs, jobs.ranks(jobs.left * jobs.need))


def _filled(jobs: InSystem, ranks: Array) -> Array:
    """Serve the shortest prefix by rank whose needs fill the machine, those that need most first."""
    needs = np.where(jobs.here, jobs.need, 0.0)
    prefix = jobs.here & (_needed_before(needs, ranks) < jobs.processors)
    served = _needed_before(np.where(prefix, needs, 0.0), jobs.ranks(ranks, -needs, among=prefix))
    return np.asarray(np.where(prefix & (served + needs <= jobs.processors), needs, 0.0))


def _needed_before(needs: Array, ranks: Array) -> Array:
    """Return what all jobs of a lower rank need together."""
    by = np.argsort(ranks, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(needs, by, axis=1), axis=1)
    result = np.empty_like(sums)
    np.put_along_axis(result, by, sums, axis=1)
    return result - needs


def server_filling_response(load: float, mean_size: float, second_moment: float) -> float:
    """Return the mean response of ServerFilling but for a constant that does not grow with the load.

    Parameters
    ----------
    load : float
        Part of the processors that is busy, below one.
    mean_size, second_moment : float
        Of S = need * seconds / processors.

    Returns
    -------
    float
        ``load / (1 - load) E[S^2] / (2 E[S])``, seconds; right in the limit of heavy load.

    Raises
    ------
    UnstableError
        If the load is one or more.

    References
    ----------
    .. [1] I. Grosof, M. Harchol-Balter, A. Scheller-Wolf, "WCFS: A new framework for analyzing
       multiserver systems", *Queueing Systems* 102 (2022) 143-174, theorem 1.

    Examples
    --------
    >>> round(server_filling_response(0.9, 5.0 / 12.0, 2.0 * (2.0 / 3.0 / 64.0 + 1.0 / 3.0)), 3)
    7.425
    """
    load = real_number("load", load, above=0.0)
    if load >= 1.0:
        raise UnstableError("ServerFilling", load, 1.0)
    return load / (1.0 - load) * second_moment / (2.0 * real_number("mean_size", mean_size, above=0.0))
