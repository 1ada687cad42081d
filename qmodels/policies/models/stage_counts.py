"""Running jobs counted by stage, each stage at a speed that depends on all the counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array
from qmodels.networks.occupancy import Centre, Occupancies, staged_centre
from qmodels.policies.models.job_stages import JobStages

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FollowedStages:
    """Stages of the one job whose response is asked for, where those of the others are simpler.

    In each of them it gets on as a job in that stage of the others which is `like` it.
    """

    alpha: Array  #: (c + 1, n) where it begins if it is the k-th to run
    jumps: Array  #: (c + 1, n, n) rates from stage to stage with k running
    exits: Array  #: (c + 1, n) rates of its end with k running
    like: NDArray[np.intp]  #: (n,) stage of the others


@dataclass(frozen=True, eq=False)
class StagedJobs:
    """What 0..c running jobs of m stages do, by the counts q of jobs in each stage.

    A job in stage s makes its moves at ``speeds[q, s]`` times the rates that it has with k jobs
    running.
    """

    ways: Occupancies  #: the counts, numbered by k
    alpha: Array  #: (c + 1, m) where a job begins that is the k-th to run
    jumps: Array  #: (c + 1, m, m) rates from stage to stage with k running
    exits: Array  #: (c + 1, m) rates of ends with k running
    speeds: Array  #: (states, m)
    #: the one job whose response is asked for, if more is known of its stages
    nearer: FollowedStages | None = None

    @classmethod
    def of(cls, ways: Occupancies, stages: Sequence[JobStages], speeds: Array) -> StagedJobs:
        """Jobs whose stages, with 0..c of them running, are given."""
        alpha, exits = (np.array([getattr(each, x) for each in stages]) for x in ("alpha", "exits"))
        return cls(ways, alpha, np.array([each.jumps for each in stages]), exits, speeds)

    @property
    def max_running(self) -> int:
        """c, the most jobs that run."""
        return int(self.ways.starts.size - 2)

    @property
    def order(self) -> int:
        """Stages of a job, m."""
        return int(self.alpha.shape[1])

    @property
    def like_all(self) -> FollowedStages:
        """A job that is followed in the stages that all have."""
        return FollowedStages(self.alpha, self.jumps, self.exits, np.arange(self.order))

    @cached_property
    def running(self) -> Counts:
        """Number of jobs that run, by state, (states,)."""
        return np.repeat(np.arange(self.max_running + 1), np.diff(self.ways.starts))

    def centre(self) -> Centre:
        """The chain of the counts."""
        return staged_centre(self.ways, self.alpha, self.jumps, self.exits, self.speeds)
