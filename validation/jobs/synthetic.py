"""Streams drawn from laws: those of two papers, and a surrogate for a log that is not at hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import check_fields, real_number
from qmodels.errors import ModelError
from validation.jobs.stream import (
    AbstractStreams,
    JobStream,
    Setting,
    TableError,
    arrivals_of,
    checked_law,
    demands_for,
    drawn_demands,
    job_count,
    register,
    renamed,
    size_limit,
    spawned,
)


@register
@dataclass(frozen=True, kw_only=True)
class PoissonStreams(AbstractStreams):
    """Exponential sizes, rounded up, at the times of a Poisson process.

    The synthetic workload of [1]_, table 1, row I. The first job arrives at 0.

    Parameters
    ----------
    mean_interarrival : float
        Mean time between arrivals, > 0, in the machine's unit.
    jobs : int
        Jobs of a stream, at least one.
    mean_size : float
        Mean in nodes of the exponential law that is rounded up, > 0.
    largest : int
        Nodes of the largest job; larger ones are cut down to it.
    demand : PhaseType, BoundedPareto or frozen scipy.stats law, optional
        Law of the demands: anything with ``rvs(size=, random_state=)`` whose values are > 0.
        Without one the streams have no demands.

    Raises
    ------
    ModelError
        If a parameter is out of its range; from `draw`, if the demand gives values <= 0.

    Notes
    -----
    Rounding up makes the sizes geometric: with q = exp(-1 / mean_size), the mean is
    (1 - q^largest) / (1 - q), half a node above `mean_size` where no size is cut down (16.505
    for 16). Gaps, sizes and demands have generators of their own: another `mean_interarrival`
    gives the same jobs and the same gaps up to scale, and more jobs begin with the fewer.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to
       both communication and I/O", *Proc. IPDPS* 2000, section 4.1.

    Examples
    --------
    >>> streams = PoissonStreams(mean_interarrival=500.0, jobs=3)
    >>> streams.draw(rng=np.random.default_rng(1)).sizes
    array([28, 29, 17])
    """

    name: ClassVar[str] = "poisson"
    mean_interarrival: float
    jobs: int = 1000
    mean_size: float = 16.0
    largest: int = 352
    demand: Any = None

    def __post_init__(self) -> None:
        _check_fields(self, "mean_interarrival", "mean_size")

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        for_gaps, for_sizes, for_demands = spawned(rng, 3)
        gaps = for_gaps.standard_exponential(self.jobs - 1)
        return JobStream(
            arrivals=arrivals_of(gaps, self.mean_interarrival),
            sizes=_exponential_sizes(self, for_sizes),
            demands=drawn_demands(self.demand, self.jobs, for_demands),
        )


@register
@dataclass(frozen=True, kw_only=True)
class BatchStreams(AbstractStreams):
    """Exponential sizes, rounded up; all jobs arrive at 0.

    The workload of [1]_.

    Parameters
    ----------
    jobs : int
        As in `PoissonStreams`.
    mean_size : float
        As in `PoissonStreams`.
    largest : int
        As in `PoissonStreams`.
    demand : PhaseType, BoundedPareto or frozen scipy.stats law, optional
        As in `PoissonStreams`.

    Raises
    ------
    ModelError
        If a parameter is out of its range; from `draw`, if the demand gives values <= 0.

    Notes
    -----
    A seed gives the jobs that `PoissonStreams` gives, without the gaps between them.

    References
    ----------
    .. [1] P. Liu, C.-C. Hsu, J.-J. Wu, "I/O processor allocation for mesh cluster computers",
       *Proc. ICPADS* 2005, section 5.1.

    Examples
    --------
    >>> BatchStreams(jobs=3).draw(rng=np.random.default_rng(1)).sizes
    array([28, 29, 17])
    """

    name: ClassVar[str] = "batch"
    jobs: int = 16
    mean_size: float = 16.0
    largest: int = 256
    demand: Any = None

    def __post_init__(self) -> None:
        _check_fields(self, "mean_size")

    @classmethod
    def from_table(cls, table: Mapping[str, Any], setting: Setting) -> tuple[AbstractStreams, float | None]:
        """See `AbstractStreams.from_table`; there is no rate to choose."""
        for key in ("mean_interarrival", "utilisation"):
            if key in table:
                raise TableError(key, "all jobs of a batch come at once; drop it")
        arguments = renamed(table, count="jobs", mean_size="mean_size") | demands_for(setting)
        return cls(largest=setting.largest, **arguments), None

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        _, for_sizes, for_demands = spawned(rng, 3)
        return JobStream(
            arrivals=np.zeros(self.jobs),
            sizes=_exponential_sizes(self, for_sizes),
            demands=drawn_demands(self.demand, self.jobs, for_demands),
        )


@register
@dataclass(frozen=True, kw_only=True)
class SurrogateStreams(AbstractStreams):
    """Lognormal sizes and hyperexponential gaps with the moments of a log that is not at hand.

    By default those of three months of the SDSC Paragon's batch partition [1]_, table 1, row II.
    The first job arrives at 0.

    Parameters
    ----------
    mean_interarrival : float
        Mean time between arrivals, > 0, in the machine's unit.
    jobs : int
        Jobs of a stream, at least one.
    mean_size, cv_size : float
        Mean in nodes and coefficient of variation of the lognormal law, both > 0.
    cv_interarrival : float
        Coefficient of variation of the gaps, from 1 to 1000.
    largest : int
        Nodes of the largest job; larger ones are cut down to it.
    demand : PhaseType, BoundedPareto or frozen scipy.stats law, optional
        As in `PoissonStreams`.

    Raises
    ------
    ModelError
        If a parameter is out of its range; from `draw`, if the demand gives values <= 0.

    Notes
    -----
    Sizes are rounded to the nearest whole number of at least one. With the defaults, rounding
    and the largest size bring the law from mean 14.5 and cv 1.5 to 14.47 and 1.45. The gaps are
    a mixture of two exponentials with balanced means, independent of each other; in logs they
    are correlated, and so are sizes and run times. Use `LogStreams` where there is a log.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to
       both communication and I/O", *Proc. IPDPS* 2000, section 4.1.

    Examples
    --------
    >>> streams = SurrogateStreams(mean_interarrival=1657.0)
    >>> streams.draw(rng=np.random.default_rng(1)).jobs
    6087
    """

    name: ClassVar[str] = "surrogate"
    mean_interarrival: float
    jobs: int = 6087
    mean_size: float = 14.5
    cv_size: float = 1.5
    cv_interarrival: float = 3.7
    largest: int = 352
    demand: Any = None

    def __post_init__(self) -> None:
        _check_fields(self, "mean_interarrival", "mean_size", "cv_size")
        cv = real_number("cv_interarrival", self.cv_interarrival, least=1.0)
        for name, value in (("cv_interarrival", cv), ("cv_size", self.cv_size)):
            if value > 1000.0:
                raise ModelError(f"{name} must be at most 1000, got {value:.6g}")
        object.__setattr__(self, "cv_interarrival", cv)

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        for_gaps, for_sizes, for_demands = spawned(rng, 3)
        variance = math.log1p(self.cv_size**2)
        mean = math.log(self.mean_size) - variance / 2.0
        logs = mean + math.sqrt(variance) * for_sizes.standard_normal(self.jobs)
        sizes = np.rint(np.exp(np.minimum(logs, math.log(2.0 * self.largest))))
        return JobStream(
            arrivals=arrivals_of(
                _hyperexponential_gaps(self.jobs - 1, self.cv_interarrival, for_gaps),
                self.mean_interarrival,
            ),
            sizes=np.clip(sizes, 1, self.largest).astype(np.int64),
            demands=drawn_demands(self.demand, self.jobs, for_demands),
        )


def _check_fields(streams: Any, *positive: str) -> None:
    """Check what the sources have in common, and the fields that must be > 0."""
    object.__setattr__(streams, "jobs", job_count(streams.jobs))
    object.__setattr__(streams, "largest", size_limit(streams.largest))
    check_fields(streams, real_number, *positive, above=0.0)
    checked_law("demand", streams.demand)


def _exponential_sizes(streams: Any, rng: np.random.Generator) -> Ints:
    with np.errstate(over="ignore"):
        sizes = np.ceil(streams.mean_size * rng.standard_exponential(streams.jobs))
    clipped: Ints = np.clip(sizes, 1, streams.largest).astype(np.int64)
    return clipped


def _hyperexponential_gaps(count: int, cv: float, rng: np.random.Generator) -> Array:
    """Gaps (count,) of mean one: two exponentials, each with half of the mean."""
    for_branch, for_time = rng.spawn(2)
    ratio = math.sqrt((cv**2 - 1.0) / (cv**2 + 1.0))
    rare = 1.0 / ((cv**2 + 1.0) * (1.0 + ratio))  # (1 - ratio) / 2 without the cancellation
    long = for_branch.random(count) < rare
    means = np.where(long, 0.5 / rare, 0.5 / (1.0 - rare))
    gaps: Array = means * for_time.standard_exponential(count)
    return gaps
