"""Streams of jobs for the simulators: drawn from laws, or replayed from a log."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.checks import real_number
from qmodels.errors import ModelError
from qmodels.programs import AbstractProgram

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

BLOCK = 4096  #: jobs drawn at a time


class AbstractJobs(abc.ABC):
    """Where jobs come from: times between arrivals and sizes, both in units of their mean."""

    @property
    @abc.abstractmethod
    def scvs(self) -> tuple[float, float]:
        """Squared coefficients of variation of both; infinite where a law has no variance."""

    @abc.abstractmethod
    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """Interarrival times and demands of `count` jobs, each (count,), with mean one."""

    def draw_apart(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """As `draw`, where it can be so that another law of demand leaves the arrivals alone.

        That is what policies and workloads that are to be compared have in common.
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
            mean = _mean(law)
            if not (np.isfinite(mean) and mean > 0):
                raise ModelError(f"{name} must have a finite mean > 0, got {mean}")

    @property
    def scvs(self) -> tuple[float, float]:
        """See `AbstractJobs.scvs`."""
        return _scv(self.arrivals), _scv(self.demand)

    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw`.

        Drawn in blocks, so that a longer stream begins with the shorter one.
        """
        blocks = [
            (_draw(self.arrivals, BLOCK, rng), _draw(self.demand, BLOCK, rng))
            for _ in range(-(-count // BLOCK))
        ]
        gaps, demands = (np.concatenate(parts)[:count] for parts in zip(*blocks, strict=True))
        return gaps, demands

    def draw_apart(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw_apart`: each law has a stream of its own, spawned from `rng`."""
        gaps, demands = (
            _blocks(law, count, own)
            for law, own in zip((self.arrivals, self.demand), rng.spawn(2), strict=True)
        )
        return gaps, demands


@dataclass(frozen=True, eq=False)
class ReplayedJobs(AbstractJobs):
    """A log played back in its own order, so that its dependence is kept.

    Each draw starts at a random job and goes round; the two sequences stay in step.

    Parameters
    ----------
    interarrivals, demands : (n,) array_like
        Times between successive jobs and the work of each, in any unit; scaled to mean one.

    Raises
    ------
    ModelError
        If the lengths differ or a value is negative or not finite.
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
        return _scv(np.asarray(self.interarrivals)), _scv(np.asarray(self.demands))

    def draw(self, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
        """See `AbstractJobs.draw`."""
        gaps, work = np.asarray(self.interarrivals), np.asarray(self.demands)
        order = (int(rng.integers(gaps.size)) + np.arange(count)) % gaps.size
        return gaps[order], work[order]


@dataclass(frozen=True)
class BoundedPareto:
    """Heavy-tailed law between two bounds: density proportional to x^(-shape - 1) on [low, high].

    Parameters
    ----------
    low, high : float
        Bounds in seconds, 0 < low < high.
    shape : float
        Exponent of the tail, > 0; the smaller, the heavier.

    Raises
    ------
    ModelError
        If the parameters are out of range.

    References
    ----------
    .. [1] M. Harchol-Balter, *Performance Modeling and Design of Computer Systems*, Cambridge
       2013, ch. 20.

    Examples
    --------
    >>> round(BoundedPareto(low=15.0, high=4241.0, shape=1.0).mean, 2)
    84.97
    """

    low: float
    high: float
    shape: float

    def __post_init__(self) -> None:
        low = real_number("low", self.low, above=0.0)
        high = real_number("high", self.high, above=low)
        shape = real_number("shape", self.shape, above=0.0)
        if high / low > 1e12 or shape > 100.0:
            raise ModelError(
                f"a bounded Pareto law needs high <= 1e12 low and shape <= 100, got "
                f"{high / low:.3g} and {shape:.6g}"
            )
        for name, value in (("low", low), ("high", high), ("shape", shape)):
            object.__setattr__(self, name, value)

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.moment(2) / self.mean**2 - 1.0

    def moment(self, k: int) -> float:
        """E[X^k] in seconds^k."""
        a, width = self.shape, np.log(self.high / self.low)
        # Integral of x^(k - a - 1), relative to low, by way of (e^(b w) - 1) / b.
        b = k - a
        area = width if abs(b) * width < 1e-12 else np.expm1(b * width) / b
        return float(self.low**k * a * area / -np.expm1(-a * width))

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draw `size` values in seconds, by inversion."""
        u = random_state.random(size)
        kept = -np.expm1(-self.shape * np.log(self.high / self.low))
        result: Array = self.low * (1.0 - u * kept) ** (-1.0 / self.shape)
        return np.clip(result, self.low, self.high)


def _blocks(law: Any, count: int, rng: np.random.Generator) -> Array:
    """Draw `count` values, whole blocks at a time."""
    drawn = [_draw(law, BLOCK, rng) for _ in range(-(-count // BLOCK))]
    return np.concatenate(drawn)[:count] if drawn else np.empty(0)


def _scv(law: Any) -> float:
    if isinstance(law, np.ndarray):
        return float(law.var() / law.mean() ** 2)
    scv = getattr(law, "scv", None)
    if scv is not None:
        return float(scv)
    variance = law.var
    variance = float(variance() if callable(variance) else variance)
    return variance / _mean(law) ** 2 if np.isfinite(variance) else float("inf")


def _draw(law: Any, count: int, rng: np.random.Generator) -> Array:
    if isinstance(law, np.ndarray):
        values = rng.choice(law, size=count)
    else:
        values = np.asarray(law.rvs(size=count, random_state=rng), dtype=float)
    result: Array = values / _mean(law)
    if result.min() < 0:
        raise ModelError(f"{law!r} gave the negative time {values.min():.6g}")
    return result


def _mean(law: Any) -> float:
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
    sample.setflags(write=False)
    return sample


def synthetic_log(
    jobs: AbstractJobs,
    program: AbstractProgram,
    count: int,
    *,
    arrival_rate: float,
    sizes: Sequence[int],
    disks: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Columns of a job log as a machine running these programs might have written it.

    Parameters
    ----------
    jobs : AbstractJobs
        Shapes of the times between arrivals and of the demand.
    program : Program or WorkloadMix
        Gives the run time of a job of mean demand on its processors and all `disks`.
    count : int
        Jobs in the log.
    arrival_rate : float
        Jobs per second.
    sizes : sequence of int
        Processor counts, drawn from with equal chances.
    disks : int
        Disks of the machine.
    rng : numpy.random.Generator

    Returns
    -------
    pandas.DataFrame
        Columns job, submit, run, processors, status, user, partition; for `qmodels.io.write_swf`.
        Times in seconds, rounded to hundredths; every job is completed.
    """
    import pandas as pd

    gaps, demands = jobs.draw(count, rng=rng)
    processors = rng.choice(np.asarray(sizes), size=count)
    alone = {p: float(program.mean_io(p, disks) + program.mean_cpu(p, disks)) for p in set(sizes)}
    run = demands * np.array([alone[int(p)] for p in processors])
    submit = np.concatenate([[0.0], np.cumsum(gaps)[:-1]]) / arrival_rate
    return pd.DataFrame(
        {
            "job": np.arange(1, count + 1),
            "submit": submit.round(2),
            "run": np.maximum(run.round(2), 0.01),
            "processors": processors,
            "status": 1,
            "user": rng.integers(1, 30, size=count),
            "partition": 1,
        }
    )
