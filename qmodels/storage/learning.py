"""Learning the curve of a stage from its runs alone and together: draws of curves, weighed by evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from phasefit.arrays import Array, Indices
from phasefit.records import Record
from qmodels.storage.curves import Curves, StageCurve

#: Median and standard deviation of the logarithm of how many programs of a stage fill a storage, before
#: any run together: nine in ten between 3 and 83.
_FULL_AT, _FULL_SPREAD = 16.0, 1.0
#: The same of the stretch by each further program of what is not storage: 0.4 to 10 %.
_CREEP, _CREEP_SPREAD = 0.02, 1.0
#: The most that contention takes, where it takes anything: evenly from none.
_LOSS = 0.6
#: Others at which the stretch has reached half of its end: spread evenly over the logarithms.
_LEVELS = (4.0, 256.0)
#: No curve is right to better than this, and the tenth of its own logarithm.
_FLOOR, _MISFIT = 0.003, 0.1
#: Beyond the numbers of programs that were timed together it is further off, with each doubling.
_FLOOR_BEYOND, _BEYOND = 0.01, 0.05
_CANDIDATES = 2048  # curves of each family before the runs
#: Correlation of what is not known of the stages of one program, by rank of their slowdown with so many.
ALIKE, _FAR = 0.6, 32
#: Logarithm of a slowdown that is none to speak of.
_NONE = 0.02
#: Words of the keys of random numbers: of this package, of one stage, and of what stages share.
_STREAM, _OWN, _COMMON = 35, 0, 1
_LEAST_SCATTER, _ASSUMED_SCATTER = 0.002, 0.05


class Family(NamedTuple):
    """A family of curves: what it has, and its odds before the runs."""

    name: str  #: in words
    queues: bool  #: at the storage
    creeps: bool  #: stretches what is not storage
    loses: bool  #: speed of the storage by contention
    odds: float  #: before any run


FAMILIES: Final = (
    Family("no sharing", False, False, False, 0.30),
    Family("stretch", False, True, False, 0.30),
    Family("queue", True, False, False, 0.08),
    Family("queue and stretch", True, True, False, 0.25),
    Family("queue with loss", True, False, True, 0.02),
    Family("queue with loss, and stretch", True, True, True, 0.05),
)


@dataclass(frozen=True, eq=False)
class LearntStage(Record):
    """Curves of one stage after its runs: equally probable draws, and what the runs were."""

    name: str  #: of the stage
    alone: float  #: mean seconds with one program
    scatter: float  #: standard deviation of the logarithm of one run about its like
    numbers: tuple[int, ...]  #: numbers of programs that were timed, one first
    draws: Curves  #: those drawn, each once, (m,)
    places: Indices  #: which of them a draw is, (k,)
    base: Array  #: log of what the true mean alone is over `alone`, by draw, (k,)
    misfit: Array  #: standard normal, how far the draw's curve is off, (k,)
    families: Mapping[str, float]  #: probability of each family after the runs
    off: Mapping[int, tuple[float, float]]  #: measured log slowdown and its error, by number timed together
    _logs: dict[int, Array] = field(default_factory=dict, repr=False)

    def log_curves(self, programs: int) -> Array:
        """Return the logarithm of the slowdown by draw, as its curve has it, (k,).

        Parameters
        ----------
        programs : int
            In the stage together.
        """
        if programs not in self._logs:
            self._logs[programs] = np.log(self.draws.slowdown(programs))[self.places]
        return self._logs[programs]

    def log_slowdowns(self, programs: int) -> Array:
        """Return the logarithm of the slowdown by draw, misfit included, (k,).

        Parameters
        ----------
        programs : int
            In the stage together.
        """
        curve = self.log_curves(programs)
        if programs == 1:
            return np.zeros(curve.size)
        floor = _FLOOR if programs in self.numbers else _FLOOR_BEYOND
        doublings = max(math.log2(programs / self.numbers[-1]), 0.0)
        off = np.hypot(floor, _MISFIT * curve)
        wide = np.hypot(floor, (_MISFIT + _BEYOND * doublings) * curve)
        shift, left = self._nearest_misfit(programs)
        # A program never gains by company: what misfit takes off ends at none.
        return np.asarray(np.maximum(curve + off * shift + wide * self.misfit * left, 0.0))

    def _nearest_misfit(self, programs: int) -> tuple[Array, float]:
        """Misfit of draws at the nearest number that was timed, in its own scale, and what stays unknown.

        Misfit at one number is half of that at its double or half, and so on.
        """
        if not self.off:
            return np.zeros(self.places.size), 1.0
        near = min(self.off, key=lambda n: abs(math.log(n / programs)))
        seen, error = self.off[near]
        curve = self.log_curves(near)
        there = np.hypot(_FLOOR, _MISFIT * curve)
        kept = there**2 / (there**2 + error**2)
        alike = 0.5 ** abs(math.log2(near / programs))
        shift = np.clip(alike * kept * (seen - curve) / there, -3.0, 3.0)
        return np.asarray(shift), math.sqrt(1.0 - alike**2 * float(kept.mean()))

    def misfit_after(self, seen: int, target: int) -> float:
        """Return the variance that misfit leaves at a target once runs of so many together are timed.

        Parameters
        ----------
        seen, target : int
            Programs in the stage together.
        """
        doublings = max(math.log2(target / max(seen, self.numbers[-1])), 0.0)
        wide = np.hypot(_FLOOR_BEYOND, (_MISFIT + _BEYOND * doublings) * self.log_curves(target))
        left = 1.0 - math.pow(0.25, abs(math.log2(target / seen)))
        return left * float(np.mean(wide**2)) + float(np.var(self.base))

    def log_seconds(self, programs: int) -> Array:
        """Return the logarithm of the mean time of the stage by draw, (k,).

        Parameters
        ----------
        programs : int
            In the stage together.
        """
        return np.asarray(math.log(self.alone) + self.base + self.log_slowdowns(programs))

    def log_middle(self, programs: int) -> float:
        """Return the logarithm of the time that is forecast: the mean of the draws, or no slowdown.

        Where half of the draws have no slowdown to speak of (2 %), the median stands for them: a few
        with a large one would make one of nothing.

        Parameters
        ----------
        programs : int
            In the stage together.
        """
        slow = self.log_slowdowns(programs)
        median = float(np.median(slow))
        return math.log(self.alone) + (median if median < _NONE else float(slow.mean()))

    def centre(self) -> StageCurve:
        """Return one curve that stands for all: the draw whose times are nearest the middle of the draws."""
        numbers = sorted({2, 4, 8, 16, 32, *self.numbers[1:]})
        logs = np.stack([self.log_curves(n) for n in numbers], axis=1)
        nearest = int(self.places[np.argmin(((logs - logs.mean(axis=0)) ** 2).sum(axis=1))])
        fields = {name: float(getattr(self.draws, name)[nearest]) for name in Curves._fields}
        return StageCurve(self.name, self.alone, **fields)


def learn_stage(
    name: str,
    runs: Mapping[int, Array],
    *,
    draws: int = 1000,
    seed: int = 0,
    place: int = 0,
    alike: float = 0.0,
) -> LearntStage:
    """Return the curves that agree with the runs of a stage, in proportion to their probability.

    Parameters
    ----------
    name : str
        Of the stage.
    runs : mapping of int to ndarray
        Seconds of its runs by number of programs, with one among them.
    draws : int
        Curves that are drawn.
    seed : int
        Of the order of the draws and of their misfits, of which stages of one program share a part.
    place : int
        Of the stage among those of its program: each draws numbers of its own.
    alike : float
        Correlation, 0 to 1, of how the stages of one run lie off their like: so that of what is not known
        of their mean times alone.

    Returns
    -------
    LearntStage
        The draws, and the probability of each family.

    Notes
    -----
    Before the runs, each of six families (`FAMILIES`) has its odds and its parameters a wide law of their
    own. A curve counts by how near it comes to the medians of the repeated runs together over that alone;
    how far medians may lie off is their scatter, and a misfit of .3 % and a tenth of the logarithm of the
    slowdown, for no curve is right. Runs far off their like (a stage of 45 s among 6 s) count by their rank.
    """
    numbers = tuple(sorted(runs))
    logs = {n: np.log(runs[n][runs[n] > 0.0]) for n in numbers if (runs[n] > 0.0).any()}
    alone, together = logs[1], [n for n in numbers if n > 1 and n in logs]
    scatter = _scatter(list(logs.values()))
    middle = float(np.median(alone))
    off = np.array([float(np.median(logs[n])) - middle for n in together])
    errors = np.array([1.25 * scatter / math.sqrt(logs[n].size) for n in together])
    base = 1.25 * scatter / math.sqrt(alone.size)
    normal = _spread_normals(_CANDIDATES, 5)
    weighed, parts = [], []
    for family in FAMILIES:
        curves = _curves(family, normal)
        fit = _log_likelihood(curves, together, off, errors, base)
        weighed.append(fit + math.log(family.odds / _CANDIDATES))
        parts.append(curves)
    weights = np.concatenate(weighed)
    weights = np.exp(weights - weights.max())
    weights /= weights.sum()
    every = Curves(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    rng = np.random.default_rng([seed, _STREAM, _OWN, place])
    common = np.random.default_rng([seed, _STREAM, _COMMON]).standard_normal((3, draws))
    places = np.searchsorted(np.cumsum(weights), (np.arange(draws) + 0.5) / draws).clip(max=weights.size - 1)
    drawn, places = np.unique(places, return_inverse=True)
    drawn_curves = Curves(*(column[drawn] for column in every))
    places = _alike(drawn_curves.slowdown(_FAR)[places], places, common[0], rng)
    sums = weights.reshape(len(FAMILIES), -1).sum(axis=1).tolist()
    return LearntStage(
        name=name,
        alone=float(np.exp(alone).mean()),
        scatter=scatter,
        numbers=(1, *together),
        draws=drawn_curves,
        places=places,
        base=base * _correlated(common[2], alike, rng),
        misfit=_correlated(common[1], ALIKE, rng),
        off={
            n: (float(x), math.hypot(float(e), base)) for n, x, e in zip(together, off, errors, strict=True)
        },
        families={family.name: p for family, p in zip(FAMILIES, sums, strict=True)},
    )


def _alike(slowdowns: Array, places: Indices, common: Array, rng: np.random.Generator) -> Indices:
    """Order draws so that those of all stages tend to be slow together: they share one storage."""
    rank = np.argsort(np.argsort(_correlated(common, ALIKE, rng)))
    return np.asarray(places[np.argsort(slowdowns, kind="stable")[rank]])


def _correlated(common: Array, alike: float, rng: np.random.Generator) -> Array:
    """Standard normal numbers of one stage, correlated with those of the others by `alike`."""
    own = rng.standard_normal(common.size)
    return np.asarray(math.sqrt(alike) * common + math.sqrt(1.0 - alike) * own)


def _scatter(logs: list[Array]) -> float:
    """Standard deviation of one run about its like, by the median distance: odd runs do not widen it."""
    repeated = [x for x in logs if x.size > 1]
    if not repeated:
        return _ASSUMED_SCATTER
    away = np.concatenate([np.abs(x - np.median(x)) for x in repeated])
    free = (away.size - len(repeated)) / away.size
    return max(float(1.4826 * np.median(away) / math.sqrt(free)), _LEAST_SCATTER)


def _curves(family: Family, normal: Array) -> Curves:
    """Curves of a family before the runs, from independent normal numbers (k, 5)."""
    none = np.zeros(len(normal))
    full, split, creep, level, loss = normal.T
    io_share, streams = none, none + math.inf
    if family.queues:
        at = np.exp(np.clip(math.log(_FULL_AT) + _FULL_SPREAD * full, 0.0, math.log(1000.0)))
        io_share = at ** -ndtr(split)
        streams = np.maximum(at * io_share, 1.0)
    low, high = np.log(_LEVELS)
    return Curves(
        io_share=io_share,
        streams=streams,
        loss=_LOSS * ndtr(loss) if family.loses else none,
        creep=_CREEP * np.exp(_CREEP_SPREAD * creep) if family.creeps else none,
        level=np.exp(low + ndtr(level) * (high - low)),
    )


def _log_likelihood(curves: Curves, numbers: list[int], off: Array, errors: Array, base: float) -> Array:
    """Log likelihood of curves for log slowdowns whose reference is itself known to `base`, (k,)."""
    if not numbers:
        return np.zeros(curves.creep.size)
    logs = np.log(np.stack([curves.slowdown(n) for n in numbers], axis=1))
    variance = errors**2 + _FLOOR**2 + (_MISFIT * logs) ** 2
    rest = off - logs
    weight = (1.0 / variance).sum(axis=1)
    pull = (rest / variance).sum(axis=1)
    shared = base**2
    square = (rest**2 / variance).sum(axis=1) - shared * pull**2 / (1.0 + shared * weight)
    return np.asarray(-0.5 * (square + np.log(variance).sum(axis=1) + np.log1p(shared * weight)))


def _spread_normals(count: int, width: int) -> Array:
    """Normal numbers (count, width), spread evenly: an additive recurrence, the same each time [1]_.

    References
    ----------
    .. [1] M. Roberts, "The unreasonable effectiveness of quasirandom sequences", 2018.
    """
    root = 1.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (width + 1))
    steps = root ** -np.arange(1.0, width + 1.0)
    even = (0.5 + np.arange(1.0, count + 1.0)[:, None] * steps) % 1.0
    return np.asarray(ndtri(np.clip(even, 1e-9, 1.0 - 1e-9)))
