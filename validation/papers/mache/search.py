"""The interarrival times at which a machine is as busy as is asked, by trial runs.

A trial run is of a cell: one of some streams of jobs under one of some strategies. What is aimed at
is the mean over all cells. The streams are those of every place that is looked at, up to the scale
of their gaps, so that a few cells tell how two near places differ, while how busy the machine is at
a place takes them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

#: Looks for one target at one rung.
MOST_LOOKS: Final = 12
#: Cells of the roughest looks, and how near these are to come.
_ROUGH, _ROUGH_TOLERANCE = 4, 0.05
#: Steps in the logarithm of the interarrival time: of the first rung, and of those that follow.
_FIRST_STEP, _STEP = 0.5, 0.06
#: Standard error of a paired difference that is trusted, in tolerances, and how large a difference.
_TRUSTED_ERROR, _TRUSTED_DIFFERENCE = 1 / 3, 0.05
#: Of a bracket, in the logarithm: a narrower one is not divided.
_NARROW: Final = 1e-3

#: A stream and a strategy, both by number.
Cell = tuple[int, int]
Trials = Callable[[float, Sequence[Cell]], Sequence[float]]


@dataclass(frozen=True)
class Found:
    """An interarrival time and how busy the machine is there."""

    interarrival: float
    utilisation: float  #: mean over all cells, as far as `error` tells
    #: Standard error from running only some of the cells there; 0 if all were run. That of the
    #: streams, which are a sample too, is not in it.
    error: float


def cells(streams: int, strategies: int) -> list[Cell]:
    """All cells, in an order that runs through streams and strategies side by side.

    The first `_sample_size` have every strategy equally often and every stream, none of which more
    than once more often than another.

    Examples
    --------
    >>> cells(3, 2)
    [(0, 0), (1, 1), (2, 0), (0, 1), (1, 0), (2, 1)]
    """
    rounds = (
        (k % streams, (k + shift) % strategies)
        for shift in range(streams * strategies)
        for k in range(_sample_size(streams, strategies))
    )
    return list(dict.fromkeys(rounds))


def _sample_size(streams: int, strategies: int) -> int:
    """As many cells as streams, or a few more: strategies may differ by more than streams do."""
    return strategies * math.ceil(streams / strategies)


def find(
    trials: Trials,
    targets: Sequence[float],
    *,
    streams: int,
    strategies: int,
    tolerance: float,
    first: float,
) -> list[Found]:
    """Interarrival times at which the mean utilisation over all cells is a target.

    Parameters
    ----------
    trials : callable
        ``trials(interarrival, cells)`` gives the utilisation of every cell, a pair of the numbers
        of a stream and of a strategy. It falls, on average, as the interarrival time rises.
    targets : sequence of float
        Utilisations.
    streams, strategies : int
        How many there are; at least one.
    tolerance : float
        How far the estimated utilisation may be from a target.
    first : float
        Interarrival time of the first look. It matters for the cost only.

    Returns
    -------
    list of Found
        One for each target, in their order. Where a target is out of reach within `MOST_LOOKS`
        looks, the nearest place that was looked at.

    Notes
    -----
    The search climbs rungs: four cells until they are within .05 of the target, a cell of each
    stream, with all strategies equally often, until they are within the tolerance, and then all
    cells, once. From there it goes on by the smaller sample: a place is as busy as the full one and
    the mean of its paired differences to that [1]_. Near the target more cells are run until the
    standard error of that mean is at most a third of the tolerance. Where that takes more than half
    of them, or the difference is above .05, all are run, there and, for this target, at each place
    from then on. The error is that of a simple random sample from the cells, with the correction
    for a finite population [2]_; as the sample has every stream and every strategy, that is too
    large rather than too small.

    Going up from rough to fine samples is the retrospective approximation of [3]_. Within a rung
    the logarithm of the interarrival time steps until there is a bracket, then follows regula
    falsi. With so few cells that no smaller sample is worth while every look has them all.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, sec. 11.2
       (common random numbers).
    .. [2] W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, theorem 2.2.
    .. [3] H. Chen, B. W. Schmeiser, "Stochastic root finding via retrospective approximation",
       *IIE Transactions* 33 (2001) 259-275.

    Examples
    --------
    >>> def trials(interarrival, cells):
    ...     return [20.0 / interarrival + 0.01 * stream for stream, strategy in cells]
    >>> [found] = find(trials, [0.5], streams=3, strategies=2, tolerance=0.01, first=20.0)
    >>> abs(20.0 / found.interarrival + 0.01 - 0.5) <= 0.01, found.error
    (True, 0.0)
    """
    order = cells(streams, strategies)
    search = _Search(trials, order)
    rungs = _rungs(len(order), _sample_size(streams, strategies), tolerance)
    chosen = []
    for target in targets:
        place = search.nearest(target, 0) if search.seen else math.log(first)
        for rung in rungs:
            place = search.settle(target, rung, place)
        utilisation, error, _ = search.estimate(place)
        chosen.append(Found(math.exp(place), utilisation, error))
    return chosen


@dataclass(frozen=True)
class _Rung:
    """How places are looked at."""

    count: int  #: cells at each
    tolerance: float
    step: float  #: in the logarithm of the interarrival time, before there is a bracket
    by_slope: bool  #: whether it goes as far as the slope says instead, at most two steps
    last: bool  #: what is found here is to be known from all cells, or from enough of them


def _rungs(every: int, sample: int, tolerance: float) -> list[_Rung]:
    rungs = []
    if sample >= 2 * _ROUGH:
        rough = max(tolerance, _ROUGH_TOLERANCE)
        rungs.append(_Rung(_ROUGH, rough, _FIRST_STEP, by_slope=False, last=False))
    for last in (False, True) if sample < every else (True,):
        step, by_slope = (_STEP, True) if rungs else (_FIRST_STEP, False)
        rungs.append(_Rung(sample, tolerance, step, by_slope, last))
    return rungs


class _Search:
    """What was seen: at each place, a logarithm of an interarrival time, the first few cells."""

    def __init__(self, trials: Trials, order: Sequence[Cell]) -> None:
        self.trials, self.order = trials, order
        self.seen: dict[float, np.ndarray[Any, Any]] = {}

    def look(self, place: float, count: int) -> None:
        """Run cells at a place until there are `count` of them."""
        seen = self.seen.get(place, np.empty(0))
        wanted = self.order[seen.size : count]
        if wanted:
            more = np.asarray(self.trials(math.exp(place), wanted), dtype=float)
            self.seen[place] = np.concatenate([seen, more])

    def estimate(self, place: float) -> tuple[float, float, float]:
        """Utilisation of all cells, its standard error, and the difference that it stands on.

        That is to the nearest of the places with the most cells, over the cells of both.
        """
        own = self.seen[place]
        most = max(seen.size for seen in self.seen.values())
        if own.size == most:
            return float(np.mean(own)), 0.0, 0.0
        fullest = [other for other, seen in self.seen.items() if seen.size == most]
        reference = self.seen[min(fullest, key=lambda other: abs(other - place))]
        gaps = own - reference[: own.size]
        unseen = 1.0 - own.size / len(self.order)
        error = float(np.std(gaps, ddof=1)) * math.sqrt(unseen / own.size)
        return float(np.mean(reference) + np.mean(gaps)), error, float(np.mean(gaps))

    def slope(self, place: float) -> float:
        """How utilisation changes from a place to the nearest other one; 0 if there is none."""
        others = [other for other in self.seen if other != place]
        if not others:
            return 0.0
        other = min(others, key=lambda other: abs(other - place))
        common = min(self.seen[place].size, self.seen[other].size)
        gaps = self.seen[other][:common] - self.seen[place][:common]
        return float(np.mean(gaps)) / (other - place)

    def nearest(self, target: float, count: int) -> float:
        """The place nearest to a target, of those where so many cells were run at least."""
        known = self._known(count)
        return min(known, key=lambda place: abs(known[place] - target))

    def settle(self, target: float, rung: _Rung, start: float) -> float:
        """Look at places until one is within the tolerance of the target; the nearest one."""
        every, count = len(self.order), rung.count
        self.look(start, count)
        if rung.last and all(seen.size < every for seen in self.seen.values()):
            self.look(start, every)
        for _ in range(MOST_LOOKS):
            place = self.nearest(target, count)
            use, error, _ = self.estimate(place)
            near = abs(use - target) <= rung.tolerance
            if rung.last and (near or abs(use - target) <= 2.0 * error):
                enough = self._enough(place, rung.tolerance)
                if self.seen[place].size < enough:
                    if enough > every / 2:  # pairing does not pay here
                        enough = count = every
                    self.look(place, enough)
                    continue
            if near:
                return place
            further = self._next(target, count, rung)
            if further is None:
                break
            self.look(further, count)
        place = self.nearest(target, count)
        while rung.last and self.seen[place].size < self._enough(place, rung.tolerance):
            self.look(place, self._enough(place, rung.tolerance))
        return place

    def _known(self, count: int) -> dict[float, float]:
        """Estimates of the places with so many cells at least."""
        return {p: self.estimate(p)[0] for p, seen in self.seen.items() if seen.size >= count}

    def _enough(self, place: float, tolerance: float) -> int:
        """How many cells a place needs for its paired differences to be known well enough."""
        size, every = self.seen[place].size, len(self.order)
        _, error, difference = self.estimate(place)
        if abs(difference) > _TRUSTED_DIFFERENCE:
            return every
        trusted = _TRUSTED_ERROR * tolerance
        if error <= trusted:
            return size
        spread = error**2 / (1.0 / size - 1.0 / every)
        return max(size + 1, math.ceil(1.0 / (trusted**2 / spread + 1.0 / every)))

    def _next(self, target: float, count: int, rung: _Rung) -> float | None:
        """Where to look next; None if the bracket is narrow or was divided there before."""
        known = self._known(count)
        busier = [place for place, use in known.items() if use >= target]
        idler = [place for place, use in known.items() if use < target]
        if busier and idler:
            low, high = max(busier), min(idler)
            if abs(high - low) < _NARROW:
                return None
            part = (known[low] - target) / (known[low] - known[high])
            between = low + (high - low) * min(max(part, 0.15), 0.85)
            return None if between in self.seen else between
        edge = max(known) if busier else min(known)
        away = rung.step if busier else -rung.step
        slope = self.slope(edge) if rung.by_slope else 0.0
        if slope < 0.0:
            away = (target - known[edge]) / slope
            away = math.copysign(min(max(abs(away), rung.step / 4), 2 * rung.step), away)
        return edge + away
