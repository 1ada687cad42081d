"""Mean times of many bursts at once: those that scale alike are one term.

A program of 20,000 different phases, or a mix of 3,000 programs, seldom has more than a few
scaling laws. Its mean time on an allotment is then a sum of a few terms, not of thousands.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qmodels.programs.laws import checked_allotment
from qmodels.programs.phases import Burst

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sum:
    """Weighted sum of bursts; each kind is held by a burst that scales like it.

    `parallel` has the seconds that scale, `sequential` those that do not and their growth.
    """

    parallel: dict[Hashable, tuple[Burst, float]]
    sequential: dict[Hashable, tuple[Burst, float, float]]

    @classmethod
    def of(cls, bursts: Iterable[tuple[Burst, float]]) -> Sum:
        """Sum of bursts, each times its weight."""
        parallel: list[tuple[dict[Hashable, tuple[Any, ...]], float]] = []
        sequential: list[tuple[dict[Hashable, tuple[Any, ...]], float]] = []
        for burst, weight in bursts:
            moved, fixed, growth = burst.mean_parts
            parallel.append(({burst.scaling_kind: (burst, moved)}, weight))
            sequential.append(({burst.overhead_kind: (burst, fixed, growth)}, weight))
        return cls(_summed(parallel), _summed(sequential))

    @classmethod
    def mixed(cls, sums: Iterable[tuple[Sum, float]]) -> Sum:
        """Sum of sums, each times its weight."""
        given = list(sums)
        return cls(
            _summed((each.parallel, weight) for each, weight in given),
            _summed((each.sequential, weight) for each, weight in given),
        )

    def parallel_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Seconds of the parts that scale, by allotment."""
        p, d = checked_allotment(p, d)
        return _added(seconds * burst.scaling(p, d) for burst, seconds in self.parallel.values())

    def sequential_time(self, p: ArrayLike, d: ArrayLike) -> Array:
        """Seconds of the parts that do not, by allotment."""
        p, d = checked_allotment(p, d)
        return _added(
            burst.overhead(p, d, fixed, growth) for burst, fixed, growth in self.sequential.values()
        )


def times_of_each(sums: Sequence[Sum], p: Array, d: Array) -> Array:
    """Mean time of each of n sums on k allotments ``p[i], d[i]``, (n, k); a kind is asked once."""
    found = np.zeros((len(sums), p.size))
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
        found[rows] += np.outer(seconds_of, burst.scaling(p, d))
    for burst, rows, constants, growths in fixed.values():
        found[rows] += np.outer(constants, burst.overhead(p, d, 1.0, 0.0))
        if any(growths):
            found[rows] += np.outer(growths, burst.overhead(p, d, 0.0, 1.0))
    return found


def unlike(bursts: Iterable[Burst]) -> Iterator[Burst]:
    """One burst of each kind whose times on all allotments are proportional."""
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


def _summed(
    given: Iterable[tuple[Mapping[Hashable, tuple[Any, ...]], float]],
) -> dict[Hashable, Any]:
    """Numbers of each kind times the weights, added up."""
    rows: dict[Hashable, tuple[Burst, list[tuple[float, ...]]]] = {}
    for kinds, weight in given:
        for kind, (burst, *numbers) in kinds.items():
            row = tuple(weight * number for number in numbers)
            rows.setdefault(kind, (burst, []))[1].append(row)
    return {
        kind: (burst, *(math.fsum(column) for column in zip(*found, strict=True)))
        for kind, (burst, found) in rows.items()
    }


def _added(terms: Iterable[Array]) -> Array:
    return np.asarray(sum(terms))[()]
