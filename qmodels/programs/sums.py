"""Mean times of many bursts at once: those that scale alike are one term.

A program of 20,000 different phases, or a mix of 3,000 programs, seldom has more than a few
scaling laws. Its mean time on an allotment is then a sum of a few terms, not of thousands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from qmodels.programs.laws import checked_allotment
from qmodels.programs.phases import Burst

#: What one allotment is counted by, and of how many the times are kept.
_ONE: Final = (int, float)
_MOST_KNOWN: Final = 256


@dataclass(frozen=True, eq=False)
class Sum:
    """Weighted sum of bursts; each kind is held by a burst that scales like it.

    `parallel` has the seconds that scale, `sequential` those that do not and their growth.
    """

    parallel: dict[Hashable, tuple[Burst, float]]  #: a burst of each kind, and seconds that scale like it
    #: a burst of each kind, seconds that do not scale, and their growth
    sequential: dict[Hashable, tuple[Burst, float, float]]

    @classmethod
    def of(cls, bursts: Iterable[tuple[Burst, float]]) -> Sum:
        """Return the sum of bursts, each times its weight.

        Parameters
        ----------
        bursts : iterable of (Burst, float)
            Bursts and weights.
        """
        parallel: list[tuple[dict[Hashable, tuple[Any, ...]], float]] = []
        sequential: list[tuple[dict[Hashable, tuple[Any, ...]], float]] = []
        for burst, weight in bursts:
            moved, fixed, growth = burst.mean_parts
            parallel.append(({burst.scaling_kind: (burst, moved)}, weight))
            sequential.append(({burst.overhead_kind: (burst, fixed, growth)}, weight))
        return cls(_weighted_sums(parallel), _weighted_sums(sequential))

    @classmethod
    def mixed(cls, sums: Iterable[tuple[Sum, float]]) -> Sum:
        """Return the sum of sums, each times its weight.

        Parameters
        ----------
        sums : iterable of (Sum, float)
            Sums and weights.
        """
        weighed = list(sums)
        return cls(
            _weighted_sums((each.parallel, weight) for each, weight in weighed),
            _weighted_sums((each.sequential, weight) for each, weight in weighed),
        )

    def parallel_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the seconds of the parts that scale, by allotment.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

        def times(p: Array, d: Array) -> Array:
            return _added(seconds * burst.scaling(p, d) for burst, seconds in self.parallel.values())

        return self._found("parallel", p, d, times)

    def sequential_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Return the seconds of the parts that do not scale, by allotment.

        Parameters
        ----------
        p, d : array_like
            Processors and disks, above zero.
        """

        def times(p: Array, d: Array) -> Array:
            return _added(
                burst.overhead(p, d, fixed, growth) for burst, fixed, growth in self.sequential.values()
            )

        return self._found("sequential", p, d, times)

    @cached_property
    def _known(self) -> dict[tuple[str, ArrayLike, ArrayLike], Array]:
        """Times of single allotments: a model asks for the same few dozens of times."""
        return {}

    def _found(self, what: str, p: ArrayLike, d: ArrayLike, times: Callable[[Array, Array], Array]) -> Array:
        if not (isinstance(p, _ONE) and isinstance(d, _ONE)):
            return times(*checked_allotment(p, d))
        found = self._known.get((what, p, d))
        if found is None:
            found = times(*checked_allotment(p, d))
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[what, p, d] = found
        return found


def times_of_each(sums: Sequence[Sum], p: Array, d: Array) -> Array:
    """Return the mean time of each of n sums on k allotments, (n, k).

    Parameters
    ----------
    sums : sequence of Sum
        The sums; a kind of burst that several have is evaluated once.
    p, d : (k,) ndarray
        The allotments.
    """
    times = np.zeros((len(sums), p.size))
    moved: dict[Hashable, tuple[Burst, list[int], list[float]]] = {}
    fixed: dict[Hashable, tuple[Burst, list[int], list[float], list[float]]] = {}
    for i, each in enumerate(sums):
        for kind, (burst, seconds) in each.parallel.items():
            held = moved.setdefault(kind, (burst, [], []))
            held[1].append(i)
            held[2].append(seconds)
        for kind, (burst, constant, growth) in each.sequential.items():
            other = fixed.setdefault(kind, (burst, [], [], []))
            other[1].append(i)
            other[2].append(constant)
            other[3].append(growth)
    for burst, rows, seconds_of in moved.values():
        times[rows] += np.outer(seconds_of, burst.scaling(p, d))
    for burst, rows, constants, growths in fixed.values():
        times[rows] += np.outer(constants, burst.overhead(p, d, 1.0, 0.0))
        if any(growths):
            times[rows] += np.outer(growths, burst.overhead(p, d, 0.0, 1.0))
    return times


def unlike(bursts: Iterable[Burst]) -> Iterator[Burst]:
    """Yield one burst of each kind whose times on all allotments are proportional.

    Parameters
    ----------
    bursts : iterable of Burst
        The bursts.

    Yields
    ------
    Burst
        The first of its kind.
    """
    seen: set[Hashable] = set()
    for burst in bursts:
        moved, fixed, growth = burst.mean_parts
        kind: Hashable = burst.scaling_kind
        if fixed or growth:
            whole = moved + fixed
            kind = (kind, burst.overhead_kind, fixed / whole, growth / whole) if whole else burst
        elif not moved:
            kind = None
        if kind not in seen:
            seen.add(kind)
            yield burst


def _weighted_sums(
    weighed: Iterable[tuple[Mapping[Hashable, tuple[Any, ...]], float]],
) -> dict[Hashable, Any]:
    """Numbers of each kind times the weights, added up."""
    rows: dict[Hashable, tuple[Burst, list[tuple[float, ...]]]] = {}
    for kinds, weight in weighed:
        for kind, (burst, *numbers) in kinds.items():
            row = tuple(weight * number for number in numbers)
            rows.setdefault(kind, (burst, []))[1].append(row)
    return {
        kind: (burst, *(math.fsum(column) for column in zip(*columns, strict=True)))
        for kind, (burst, columns) in rows.items()
    }


def _added(terms: Iterable[Array]) -> Array:
    return np.asarray(sum(terms))[()]
