"""Streams of the Lublin-Feitelson model of rigid jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, NamedTuple

import numpy as np

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import check_given, one_of, real_number
from qmodels.errors import ModelError
from validation.jobs.stream import (
    USUAL_UTILISATION,
    AbstractStreams,
    JobStream,
    Setting,
    job_count,
    register,
    renamed,
    size_limit,
    spawned,
    wanted_utilisation,
)

_DAY: Final = 86400.0  # seconds
_SLOTS: Final = 48  # half hours of a day
_DAWN: Final = 11  # the cycle runs from this half hour, counted from 1, to the same of next day
_LONGEST_RUN: Final = 12.0  # of the logarithm in seconds: two days
_LONGEST_GAP: Final = 13.0  # five days


class _Kind(NamedTuple):
    """Parameters of one kind of jobs; gamma laws are (shape, scale)."""

    serial: float  # chance of one node
    power: float  # chance of a parallel job with a power of two
    low: float  # logarithm to base 2 of the smallest parallel job
    below: float  # how far the break of the sizes lies below the largest
    most: float  # logarithm to base 2 of the largest job on any machine
    first: float  # chance of the first stage
    short: tuple[float, float]  # of the logarithm of the run time
    long: tuple[float, float]
    slope: float  # chance of a short run: slope x size + level
    level: float
    gap: tuple[float, float]  # of the logarithm of the gap, at all hours
    cycle: tuple[float, float]  # half hour of the day


_KINDS: Final = {
    "all": _Kind(
        0.244,
        0.576,
        0.8,
        2.5,
        math.inf,
        0.86,
        (4.2, 0.94),
        (312.0, 0.03),
        -0.0054,
        0.78,
        (10.2303 * 1.0225, 0.4871),
        (8.1737, 3.9631),
    ),
    "batch": _Kind(
        0.2927,
        0.6686,
        1.2,
        2.0,
        math.inf,
        0.875,
        (6.57, 0.823),
        (639.1, 0.0156),
        -0.003,
        0.6986,
        (6.0415 * 1.0519, 0.8531),
        (6.1271, 5.2740),
    ),
    "interactive": _Kind(
        0.1541,
        0.625,
        1.0,
        2.5,
        5.5,
        0.705,
        (3.8351, 0.6605),
        (7.073, 0.6856),
        -0.0118,
        0.9156,
        (6.5510 * 0.9797, 0.6621),
        (8.9186, 3.6680),
    ),
}


@register
@dataclass(frozen=True, kw_only=True)
class LublinStreams(AbstractStreams):
    """Rigid jobs as Lublin and Feitelson model them: sizes, run times, gaps and a daily cycle.

    Arrivals are in seconds after midnight of the first day, demands are run times in whole
    seconds.

    Parameters
    ----------
    jobs : int
        Jobs of a stream, at least one.
    largest : int
        Nodes of the machine, at least 16.
    kind : {"all", "batch", "interactive"}
        Which parameters: those of jobs whose kind is not told apart, or of one kind alone.
    mean_interarrival : float, optional
        Scales the time of arrivals, the day with it, so that the mean gap in the long run is
        this, > 0; the model's own, `model_interarrival`, if left out. Run times stay.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    Notes
    -----
    The model [1]_:

    - A job has one node with a fixed chance. Else the logarithm of its size (base 2) is uniform
      on two stages, low to middle and middle to that of `largest`, and rounded to a whole number
      with a fixed chance, which makes the size a power of two.
    - The logarithm of its run time is one of two gamma variates, short or long; the chance of a
      short one falls linearly with the size. Runs beyond exp(12) s are drawn again.
    - The logarithm of the gap between jobs is a gamma variate (gaps beyond exp(13) s are drawn
      again), on a clock that runs faster in those half hours of the day in which more jobs come;
      their shares are those of a gamma law over the day.

    The parameters were recalled rather than read in [1]_; every one agrees with the authors' own
    program. The break of the sizes lies 2.5 (batch: 2) below the logarithm of `largest`, as it
    does at the 128 nodes of that program, whose authors allow 1.5 to 3.5. No power of two exceeds
    `largest`. Interactive jobs have at most 45 nodes; the runs of jobs of kind "all" with more
    than 144 nodes are all long.

    The authors' program cuts every gap to whole seconds but not its clock of the day, so that its
    times fall behind that clock by half a second a job; here they keep step with it.

    Each variate is found by inversion from one uniform number: streams of one seed have the same
    jobs under another scale or number of jobs, and the same arrivals on another machine.

    References
    ----------
    .. [1] U. Lublin, D. G. Feitelson, "The workload on parallel supercomputers: modeling the
       characteristics of rigid jobs", *J. Parallel Distrib. Comput.* 63 (2003) 1105-1122.

    Examples
    --------
    >>> stream = LublinStreams(jobs=1000, largest=256).draw(rng=np.random.default_rng(1))
    >>> bool(0.2 < np.mean(stream.sizes == 1) < 0.3)
    True
    """

    name: ClassVar[str] = "lublin"
    keys: ClassVar[tuple[str, ...]] = ("count", "mean_interarrival", "utilisation")
    jobs: int = 1000
    largest: int = 128
    kind: Literal["all", "batch", "interactive"] = "all"
    mean_interarrival: float | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, _KINDS)
        object.__setattr__(self, "jobs", job_count(self.jobs))
        object.__setattr__(self, "largest", size_limit(self.largest))
        if self.largest < 16:
            raise ModelError(
                f"largest must be >= 16, got {self.largest}; the model has no break "
                "of the sizes on fewer nodes"
            )
        check_given(self, real_number, "mean_interarrival", above=0.0)

    @property
    def model_interarrival(self) -> float:
        """Mean gap of the model in the long run, seconds."""
        from scipy.special import gammainc

        shape, scale = _KINDS[self.kind].gap
        # E[exp(G); G <= most] is a gamma integral with its scale stretched by 1 / (1 - scale).
        part = gammainc(shape, _LONGEST_GAP * (1.0 - scale) / scale)
        whole = gammainc(shape, _LONGEST_GAP / scale)
        return float((1.0 - scale) ** -shape * part / whole)

    @cached_property
    def daily_cycle(self) -> Array:
        """Rate of arrivals (48,) in each half hour from midnight, relative to that of the day."""
        from scipy.special import gammainc

        shape, scale = _KINDS[self.kind].cycle
        edges = (np.arange(_SLOTS + 1) + _DAWN - 0.5) / scale
        shares: Array = np.roll(np.diff(gammainc(shape, edges)), _DAWN - 1)
        shares /= shares.mean()
        return read_only(shares)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], setting: Setting) -> tuple[AbstractStreams, float | None]:
        """See `AbstractStreams.from_table`; the model keeps its rate where times are seconds."""
        gap: dict[str, Any] = {} if setting.timed else {"mean_interarrival": 1.0}
        gap |= renamed(table, mean_interarrival="mean_interarrival")
        streams = cls(largest=setting.largest, **renamed(table, count="jobs"), **gap)
        return streams, wanted_utilisation(table, None if setting.timed else USUAL_UTILISATION)

    def draw(self, *, rng: np.random.Generator) -> JobStream:
        """See `AbstractStreams.draw`."""
        for_gaps, for_sizes, for_runs = spawned(rng, 3)
        sizes = self._drawn_sizes(for_sizes.random((self.jobs, 3)))
        return JobStream(
            arrivals=self._drawn_arrivals(for_gaps.random(self.jobs)),
            sizes=sizes,
            demands=self._drawn_run_times(sizes, for_runs.random((self.jobs, 2))),
        )

    def _drawn_sizes(self, u: Array) -> Ints:
        kind = _KINDS[self.kind]
        high = min(math.log2(self.largest), kind.most)
        middle = high - kind.below
        first = u[:, 1] <= kind.first
        left, right = np.where(first, kind.low, middle), np.where(first, middle, high)
        logs = left + (right - left) * u[:, 2]
        power = u[:, 0] <= kind.serial + kind.power
        whole = np.minimum(np.floor(logs + 0.5), math.floor(math.log2(self.largest)))
        sizes = np.floor(2.0 ** np.where(power, whole, logs) + 0.5)
        sizes[u[:, 0] <= kind.serial] = 1
        return np.minimum(sizes, self.largest).astype(np.int64)

    def _drawn_run_times(self, sizes: Ints, u: Array) -> Array:
        from scipy.special import gammainc

        kind = _KINDS[self.kind]
        chance = np.clip(kind.slope * sizes + kind.level, 0.0, 1.0)
        # Drawing both again where the run is too long favours the law that seldom exceeds it.
        short, long = (
            c * gammainc(shape, _LONGEST_RUN / scale)
            for c, (shape, scale) in ((chance, kind.short), (1.0 - chance, kind.long))
        )
        logs = np.where(
            u[:, 0] <= short / (short + long),
            _gamma_below(u[:, 1], *kind.short, _LONGEST_RUN),
            _gamma_below(u[:, 1], *kind.long, _LONGEST_RUN),
        )
        runs: Array = np.maximum(np.floor(np.exp(logs)), 1.0)
        return runs

    def _drawn_arrivals(self, u: Array) -> Array:
        points = np.cumsum(np.exp(_gamma_below(u, *_KINDS[self.kind].gap, _LONGEST_GAP)))
        clock = np.concatenate([[0.0], np.cumsum(self.daily_cycle)]) * (_DAY / _SLOTS)
        days, rest = np.divmod(points, _DAY)
        clock[-1] = _DAY
        times: Array = days * _DAY + np.interp(rest, clock, np.linspace(0.0, _DAY, _SLOTS + 1))
        if self.mean_interarrival is not None:
            with np.errstate(over="ignore"):
                times *= self.mean_interarrival / self.model_interarrival
        return times


def _gamma_below(u: Array, shape: float, scale: float, most: float) -> Array:
    """Gamma variates not above `most`, by inversion."""
    from scipy.special import gammainc, gammaincinv

    result: Array = scale * gammaincinv(shape, u * gammainc(shape, most / scale))
    return result
