"""Classes of rigid jobs, and the servers that they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints
from phasefit.checks import check_fields, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError


@dataclass(frozen=True)
class RigidClass(Record):
    """Jobs that need equally many servers.

    Parameters
    ----------
    need : int
        Servers that a job holds from its start to its end, at least one.
    share : float
        Part of all jobs that are of this class, > 0.
    law : PhaseType
        Law of the run time, seconds.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    Examples
    --------
    >>> RigidClass(8, 0.25, PhaseType.exponential(mean=3.0)).need
    8
    """

    need: int
    share: float
    law: PhaseType

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "need", least=1)
        check_fields(self, real_number, "share", above=0.0)


@dataclass(frozen=True)
class RigidMix(Record):
    """A mix of rigid jobs and the servers that start them in order of arrival.

    Parameters
    ----------
    servers : int
        Servers, all alike.
    classes : sequence of RigidClass
        What jobs are of, each independently of the others; shares that sum to one.

    Raises
    ------
    ModelError
        If a class needs more than there are, or the shares do not sum to one.

    Examples
    --------
    >>> one = PhaseType.exponential(mean=1.0)
    >>> mix = RigidMix(8, [RigidClass(1, 2 / 3, one), RigidClass(8, 1 / 3, one)])
    >>> mix.work
    3.333333333333333
    """

    servers: int
    classes: tuple[RigidClass, ...]

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "servers", least=1)
        object.__setattr__(self, "classes", tuple(self.classes))
        if not self.classes:
            raise ModelError("a mix needs at least one class of jobs")
        if (most := max(self.needs)) > self.servers:
            raise ModelError(f"a class needs {most} of {self.servers} servers; leave it out")
        if abs(self.shares.sum() - 1.0) > 1e-9:
            raise ModelError(f"the shares of the classes must sum to 1, got {self.shares.sum():.12g}")

    @classmethod
    def of(
        cls, servers: int, needs: Sequence[int], shares: Sequence[float], means: Sequence[float]
    ) -> RigidMix:
        """Return a mix of classes with exponential run times.

        Parameters
        ----------
        servers : int
            Servers.
        needs, shares, means : sequence
            Of each class: servers, part of all jobs, mean run time (seconds).

        Examples
        --------
        >>> RigidMix.of(4, (1, 4), (0.5, 0.5), (2.0, 1.5)).servers
        4
        """
        rows = zip(needs, shares, means, strict=True)
        return cls(servers, tuple(RigidClass(n, p, PhaseType.exponential(mean=m)) for n, p, m in rows))

    @property
    def needs(self) -> Ints:
        """Servers that a job of each class holds (C,)."""
        return np.array([each.need for each in self.classes], np.int64)

    @property
    def shares(self) -> Array:
        """Part of all jobs of each class (C,)."""
        return np.array([each.share for each in self.classes])

    @property
    def means(self) -> Array:
        """Mean run times (C,), seconds."""
        return np.array([each.law.mean for each in self.classes])

    @property
    def work(self) -> float:
        """Mean servers times run time of a job, server-seconds."""
        return float(self.shares @ (self.needs * self.means))

    @property
    def together(self) -> tuple[int, Ints]:
        """Servers and needs (C,) divided by what all needs have in common; servers rounded down."""
        common = math.gcd(*self.needs.tolist())
        return self.servers // common, self.needs // common

    @property
    def crowding(self) -> float:
        """Mean wait per arrival rate as that goes to 0 under Poisson arrivals, seconds squared.

        A job finds at most one other, and waits for its rest if both do not fit.
        """
        second = np.array([each.law.moment(2) for each in self.classes])
        apart = (self.needs[:, None] + self.needs[None, :]) > self.servers
        return float(self.shares @ (apart @ (self.shares * second))) / 2.0
