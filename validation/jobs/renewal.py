"""Jobs of the job-level simulator: drawn from laws, or replayed from a log."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit import MAP
from phasefit.arrays import Array, read_only
from phasefit.checks import instance_of
from phasefit.records import Record
from qmodels.errors import ModelError

BLOCK = 4096  #: jobs drawn at a time


class AbstractJobs(Record, abc.ABC):
    """Source of jobs: times between arrivals and sizes, both in units of their mean."""

    @property
    @abc.abstractmethod
    def scvs(self) -> tuple[float, float]:
        """Squared coefficients of variation of both; infinite where a law has no variance."""

    @abc.abstractmethod
    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw interarrival times and demands of jobs, each with mean one.

        Parameters
        ----------
        count : int
            Number of jobs.
        rng : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        gaps, demands : (count,) ndarray
            In units of their mean.
        """

    def draw_apart(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw as `draw`, where possible so that another law of demand leaves the arrivals alone.

        That is what policies and workloads that are to be compared have in common.

        Parameters
        ----------
        count : int
            Number of jobs.
        rng : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        gaps, demands : (count,) ndarray
            In units of their mean.
        """
        return self.draw(count, rng=rng)


@dataclass(frozen=True, eq=False)
class RenewalJobs(AbstractJobs):
    """Independent draws from two laws.

    Parameters
    ----------
    arrivals, demand : PhaseType, BoundedPareto, frozen scipy.stats law or sample
        Anything with ``rvs(size=, random_state=)`` and a mean, or a one-dimensional sample that
        is drawn from with replacement. Only the shape is used: each is scaled to mean one.

    Raises
    ------
    ModelError
        If a law has no finite positive mean or a sample holds a negative or non-finite value.

    Examples
    --------
    >>> from phasefit import PhaseType
    >>> jobs = RenewalJobs(PhaseType.exponential(mean=5.0), [1.0, 3.0])
    >>> gaps, demands = jobs.draw(4, rng=np.random.default_rng(1))
    >>> sorted(set(demands.tolist()))
    [0.5, 1.5]
    """

    arrivals: Any
    demand: Any

    def __post_init__(self) -> None:
        for name in ("arrivals", "demand"):
            law = getattr(self, name)
            if not hasattr(law, "rvs"):
                law = _positive_sample(name, law)
                object.__setattr__(self, name, law)
            mean = _checked_mean(law)
            if not (np.isfinite(mean) and mean > 0):
                raise ModelError(f"{name} must have a finite mean > 0, got {mean}")

    @property
    def scvs(self) -> tuple[float, float]:
        """See `AbstractJobs.scvs`."""
        return _scv_of(self.arrivals), _scv_of(self.demand)

    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw`.

        Drawn in blocks, so that a longer stream begins with the shorter one.
        """
        blocks = [
            (_drawn_values(self.arrivals, BLOCK, rng), _drawn_values(self.demand, BLOCK, rng))
            for _ in range(-(-count // BLOCK))
        ]
        gaps, demands = (np.concatenate(parts)[:count] for parts in zip(*blocks, strict=True))
        return gaps, demands

    def draw_apart(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw_apart`: each law has a stream of its own, spawned from `rng`."""
        gaps, demands = (
            _drawn_in_blocks(law, count, of_demand)
            for law, of_demand in zip((self.arrivals, self.demand), rng.spawn(2), strict=True)
        )
        return gaps, demands


@dataclass(frozen=True, eq=False)
class DependentJobs(AbstractJobs):
    """Arrivals that depend on those before, with independent sizes.

    Parameters
    ----------
    arrivals : MAP
        Process of the arrivals.
    demand : PhaseType, BoundedPareto, frozen scipy.stats law or sample
        As for `RenewalJobs`. Of both only the shape is used: each is scaled to mean one.

    Raises
    ------
    ModelError
        If `arrivals` is no process, or the law has no finite positive mean.

    Examples
    --------
    >>> from phasefit import MAP
    >>> jobs = DependentJobs(MAP.modulated([[0.0, 0.1], [0.1, 0.0]], rates=[9.0, 1.0]), [1.0])
    >>> gaps, demands = jobs.draw(20_000, rng=np.random.default_rng(1))
    >>> bool(abs(gaps.mean() - 1.0) < 0.1), set(demands.tolist())
    (True, {1.0})
    """

    arrivals: MAP
    demand: Any

    def __post_init__(self) -> None:
        instance_of("arrivals", self.arrivals, MAP)
        object.__setattr__(self, "arrivals", self.arrivals.at_rate(1.0))
        # the demand of renewal jobs is checked and drawn as theirs
        object.__setattr__(self, "demand", RenewalJobs([1.0], self.demand).demand)

    @property
    def scvs(self) -> tuple[float, float]:
        """See `AbstractJobs.scvs`; of arrivals the index of dispersion for long times.

        That takes the place of the scv of independent gaps wherever many of them add up.
        """
        return max(self.arrivals.dispersion(np.inf), self.arrivals.scv), _scv_of(self.demand)

    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw`; a longer stream begins with the shorter one."""
        return self.draw_apart(count, rng=rng)

    def draw_apart(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw_apart`."""
        for_gaps, for_demands = rng.spawn(2)
        return self.arrivals.rvs(count, for_gaps), _drawn_in_blocks(self.demand, count, for_demands)


def drawn_jobs(arrivals: Any, demand: Any) -> AbstractJobs:
    """Return jobs drawn from a law or a process of arrivals and a law of demand.

    Parameters
    ----------
    arrivals : MAP, PhaseType, frozen scipy.stats law or sample
        As for `DependentJobs` or `RenewalJobs`.
    demand : PhaseType, BoundedPareto, frozen scipy.stats law or sample
        As for `RenewalJobs`.
    """
    kind = DependentJobs if isinstance(arrivals, MAP) else RenewalJobs
    return kind(arrivals, demand)


@dataclass(frozen=True, eq=False)
class ReplayedJobs(AbstractJobs):
    """A log replayed in its own order, so that its dependence is kept.

    Each draw starts at a random job and goes round; the two sequences stay in step.

    Parameters
    ----------
    interarrivals, demands : (n,) array_like
        Times between successive jobs and the work of each, in any unit; scaled to mean one.

    Raises
    ------
    ModelError
        If the lengths differ or a value is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> jobs = ReplayedJobs([1.0, 1.0, 4.0], [3.0, 6.0, 9.0])
    >>> gaps, work = jobs.draw(3, rng=np.random.default_rng(1))
    >>> sorted(gaps.tolist()), sorted(work.tolist())
    ([0.5, 0.5, 2.0], [0.5, 1.0, 1.5])
    """

    interarrivals: ArrayLike
    demands: ArrayLike

    def __post_init__(self) -> None:
        for name in ("interarrivals", "demands"):
            sample = _positive_sample(name, getattr(self, name))
            object.__setattr__(self, name, sample / sample.mean())
        gaps, work = np.asarray(self.interarrivals), np.asarray(self.demands)
        if gaps.size != work.size:
            raise ModelError(f"{gaps.size} interarrivals but {work.size} demands; give one each")

    @property
    def scvs(self) -> tuple[float, float]:
        """See `AbstractJobs.scvs`."""
        return _scv_of(np.asarray(self.interarrivals)), _scv_of(np.asarray(self.demands))

    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw`."""
        gaps, work = np.asarray(self.interarrivals), np.asarray(self.demands)
        order = (int(rng.integers(gaps.size)) + np.arange(count)) % gaps.size
        return gaps[order], work[order]


def _drawn_in_blocks(law: Any, count: int, rng: np.random.Generator) -> Array:
    """Draw `count` values, whole blocks at a time."""
    drawn = [_drawn_values(law, BLOCK, rng) for _ in range(-(-count // BLOCK))]
    return np.concatenate(drawn)[:count] if drawn else np.empty(0)


def _scv_of(law: Any) -> float:
    if isinstance(law, np.ndarray):
        return float(law.var() / law.mean() ** 2)
    scv = getattr(law, "scv", None)
    if scv is not None:
        return float(scv)
    variance = law.var
    variance = float(variance() if callable(variance) else variance)
    return variance / _checked_mean(law) ** 2 if np.isfinite(variance) else float("inf")


def _drawn_values(law: Any, count: int, rng: np.random.Generator) -> Array:
    if isinstance(law, np.ndarray):
        values = rng.choice(law, size=count)
    else:
        values = np.asarray(law.rvs(size=count, random_state=rng), dtype=float)
    result: Array = values / _checked_mean(law)
    if result.min() < 0:
        raise ModelError(f"{law!r} gave the negative time {values.min():.6g}")
    return result


def _checked_mean(law: Any) -> float:
    mean = law.mean
    return float(mean() if callable(mean) else mean)


def _positive_sample(name: str, values: ArrayLike) -> Array:
    try:
        sample = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ModelError(f"{name} must be a law with rvs() or a sample, got {values!r}") from None
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all() or sample.min() < 0:
        raise ModelError(f"{name} must be a non-empty sample of finite values >= 0")
    if sample.mean() <= 0:
        raise ModelError(f"{name} must have a mean > 0")
    return read_only(sample)
