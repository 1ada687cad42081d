"""Allocation overhead in operations: the algorithms of the paper, counted as a machine runs.

The paper measures seconds of its own C code. Here operations are counted, so that numbers do not
depend on a machine: nodes looked at, set and cleared by the strategies that scan an array; pairs of
a plane and a prohibited region, rectangles looked at, and entries of the list passed when a job is
entered and taken out, by those that keep a busy list.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field

import numpy as np

from phasefit.arrays import Ints
from validation.allocation import BoxStrategy
from validation.machine.history import History
from validation.mesh import Occupancy, Sides
from validation.papers.bani_mohammad import _kernels


class Counter:
    """Operations of the searches of one run; a machine also asks about empty meshes of its own."""

    def __init__(self) -> None:
        self.seen: dict[int, tuple[Occupancy, Ints]] = {}

    def of(self, held: Occupancy) -> Ints:
        """Where the operations on a mesh are added up: searches, then three kinds of operations."""
        # The occupancy is kept beside its counts, so that no other takes over its identity.
        return self.seen.setdefault(id(held), (held, np.zeros(4, dtype=np.int64)))[1]

    @property
    def run(self) -> Ints:
        """The counts of the mesh of the run: that on which was searched most often."""
        return max((counts for _, counts in self.seen.values()), key=lambda counts: counts[0])


@dataclass(frozen=True, eq=False)
class CountedStrategy(BoxStrategy):
    """A strategy whose searches add up what they do."""

    counter: Counter = field(kw_only=True)

    def base(self, held: Occupancy, box: Sides) -> Ints | None:
        """See `BoxStrategy.base`."""
        counts, base = self.counter.of(held), np.empty(3, dtype=np.int64)
        counts[0] += 1
        return base if self.search(held, box, counts[1:], base) else None

    @abc.abstractmethod
    def search(self, held: Occupancy, box: Sides, work: Ints, base: Ints) -> bool:
        """Fill `base` with that of a free box, if there is one; add to `work` what it took."""


class CountedScan(CountedStrategy):
    """FF or TFF as a scan of an array: the same boxes, and how many nodes were looked at."""

    name = "counted scan"

    def search(self, held: Occupancy, box: Sides, work: Ints, base: Ints) -> bool:
        """See `CountedStrategy.search`."""
        return bool(_kernels.first_base(held.busy.reshape(-1), held.mesh.sides, box, work, base))


class CountedList(CountedStrategy):
    """BL or TBL by the subtraction of rectangles: the same boxes, and how many were looked at."""

    name = "counted list"

    def search(self, held: Occupancy, box: Sides, work: Ints, base: Ints) -> bool:
        """See `CountedStrategy.search`."""
        mesh = held.mesh
        _, deep, high = mesh.sides
        lists = np.empty((2, deep * high + 4, 4), dtype=np.int64)
        spans = np.empty((2, 2, 2), dtype=np.int64)
        found = _kernels.leftmost_base(held.boxes, mesh.sides, box, mesh.torus, lists, spans, work, base)
        return bool(found)


def counted(name: str) -> CountedStrategy:
    """FF, TFF, BL or TBL with a counter of its own."""
    made = CountedScan if name.endswith("FF") else CountedList
    return made(turning=name.startswith("T"), counter=Counter())


def operations_per_job(strategy: CountedStrategy, history: History) -> float:
    """Operations of searching, booking and taking back, over the jobs that ended."""
    counts, ended = strategy.counter.run, int(history.completed.sum())
    if isinstance(strategy, CountedScan):
        booking = 2 * history.size[history.completed].sum()
        return float(counts[1] + booking) / ended
    return float(counts[1] + counts[3] + _entries_passed(history) + ended) / ended


def _entries_passed(history: History) -> int:
    """Entries of the busy list that are passed, all jobs together, to find the one that ends."""
    start, finish = history.start, history.finish
    passed = 0
    for job in np.flatnonzero(history.completed):
        ahead = (start < start[job]) & (finish > finish[job])
        passed += 1 + int(np.count_nonzero(ahead))
    return passed
