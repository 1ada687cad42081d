"""Inelastic-First: phases that do not parallelise go before those that do; and the reverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from phasefit.records import Record
from qmodels.errors import UnstableError
from qmodels.markov import QBD, solve_qbd
from validation.malleable.base import AbstractMalleable, InSystem, register

#: Curve of phases that use one processor at most; those of others parallelise.
INELASTIC: Final = 0
#: Probability of more inelastic jobs than the chain counts.
_LEFT_OUT: Final = 1e-15


@register
@dataclass(frozen=True)
class InelasticFirst(AbstractMalleable):
    """A processor for each phase that uses one, what is left for the first job that uses many.

    The first speed curve is that of inelastic phases.

    Notes
    -----
    With exponential phases of two kinds, the inelastic ones no longer than the others in the mean, no
    policy has a smaller mean response [1]_; jobs whose phases alternate are up to three times faster
    than under the reverse [2]_. The theorem says nothing where elastic jobs are shorter.

    References
    ----------
    .. [1] B. Berg, M. Harchol-Balter, B. Moseley, W. Wang, J. Whitehouse, "Optimal resource allocation
       for elastic and inelastic jobs", *Proc. ACM SPAA* 2020, 75-87.
    .. [2] B. Berg, J. Whitehouse, B. Moseley, W. Wang, M. Harchol-Balter, "The case for phase-aware
       scheduling of parallelizable jobs", *Performance Evaluation* 153 (2022) 102246.

    Examples
    --------
    >>> InelasticFirst().label, InelasticFirst().needs
    ('IF', 'preemption and the phase of each job; no sizes')
    """

    name: ClassVar[str] = "IF"
    needs: ClassVar[str] = "preemption and the phase of each job; no sizes"
    legend: ClassVar[str] = "IF: phases that use one processor go before phases that use many."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        one = jobs.here & (jobs.curve == INELASTIC)
        shares = 1.0 * (one & (jobs.ranks(among=one) < int(jobs.processors)))
        left = jobs.processors - shares.sum(axis=1)
        return np.asarray(shares + _to_the_first(jobs, jobs.here & ~one, left))


@register
@dataclass(frozen=True)
class ElasticFirst(AbstractMalleable):
    """The reverse of `InelasticFirst`, to see what the order is worth.

    References
    ----------
    .. [1] B. Berg, M. Harchol-Balter, B. Moseley, W. Wang, J. Whitehouse, "Optimal resource allocation
       for elastic and inelastic jobs", *Proc. ACM SPAA* 2020, 75-87.

    Examples
    --------
    >>> ElasticFirst().label
    'EF'
    """

    name: ClassVar[str] = "EF"
    needs: ClassVar[str] = "preemption and the phase of each job; no sizes"
    legend: ClassVar[str] = "EF: phases that use many processors go before phases that use one."

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        many = jobs.here & (jobs.curve != INELASTIC)
        shares = _to_the_first(jobs, many, np.full(len(many), jobs.processors))
        free = ~many.any(axis=1, keepdims=True)
        one = jobs.here & ~many
        return np.asarray(shares + (free & one & (jobs.ranks(among=one) < int(jobs.processors))))


def _to_the_first(jobs: InSystem, among: NDArray[np.bool_], processors: Array) -> Array:
    """Give all to the job that came first of some."""
    return np.asarray(np.where(among & (jobs.ranks(among=among) == 0), processors[:, None], 0.0))


@dataclass(frozen=True)
class TwoClasses(Record):
    """Mean responses of inelastic and elastic jobs under Inelastic-First, seconds."""

    inelastic: float  #: of jobs that use one processor
    elastic: float  #: of jobs that use many
    mean: float  #: over all jobs


def inelastic_first_response(
    inelastic_rate: float,
    elastic_rate: float,
    processors: int,
    *,
    inelastic_work: float = 1.0,
    elastic_work: float = 1.0,
) -> TwoClasses:
    """Return the mean responses of two classes of exponential jobs under Inelastic-First; exact.

    Parameters
    ----------
    inelastic_rate, elastic_rate : float
        Jobs per second that arrive, Poisson.
    processors : int
        k.
    inelastic_work, elastic_work : float
        Mean work, seconds on one processor.

    Returns
    -------
    TwoClasses
        Of each class and of all jobs.

    Raises
    ------
    UnstableError
        If more work arrives than the processors do.

    Notes
    -----
    Inelastic jobs are an M/M/k queue, which sees nobody else; elastic jobs are served at
    (k - min(n, k)) / elastic_work while n inelastic ones are there: a quasi-birth-death chain whose
    level counts elastic jobs, its phases cut where less than 1e-15 lies beyond [1]_.

    References
    ----------
    .. [1] B. Berg, M. Harchol-Balter, B. Moseley, W. Wang, J. Whitehouse, "Optimal resource allocation
       for elastic and inelastic jobs", *Proc. ACM SPAA* 2020, sec. 5.

    Examples
    --------
    >>> found = inelastic_first_response(1.2, 1.2, 4)
    >>> round(found.inelastic, 10), round(found.elastic, 10), round(found.mean, 10)
    (1.013232051, 0.810823918, 0.9120279845)
    """
    first = real_number("inelastic_rate", inelastic_rate, above=0.0)
    second = real_number("elastic_rate", elastic_rate, above=0.0)
    k = whole_number("processors", processors, least=1)
    load = (first * inelastic_work + second * elastic_work) / k
    if load >= 1.0:
        raise UnstableError("IF", first + second, (first + second) / load)
    busy = first * inelastic_work / k
    most = k + max(2, int(np.ceil(np.log(_LEFT_OUT) / np.log(busy))))
    n = np.arange(most + 1)
    local = np.diag(np.full(most, first), 1) + np.diag(np.minimum(n[1:], k) / inelastic_work, -1)
    down = np.diag((k - np.minimum(n, k)) / elastic_work)
    solution = solve_qbd(QBD(up=[second * np.eye(most + 1)], local=[local], down=[down]))
    weights = np.concatenate([[1.0], np.cumprod(first * inelastic_work / np.minimum(n[1:], k))])
    inelastic = float(n @ weights / weights.sum()) / first
    elastic = solution.mean_level() / second
    return TwoClasses(inelastic, elastic, (first * inelastic + second * elastic) / (first + second))
