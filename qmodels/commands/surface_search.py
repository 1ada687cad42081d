"""Among which allotments `qmodels surface` seeks the best one, and what it may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Array
from qmodels.programs import AbstractProgram, SpeedupSurface, speedup_surface
from qmodels.programs.allotments import (
    AllotmentPath,
    PricedAllotment,
    allotment_path,
    best_allotment,
)

_BUDGETS = 40  # points of a path
_MOST_SEARCHED = 1_000_000
#: Relative: a budget that was added up from prices may fall short of them by as much.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is asked of a surface: the grid, what may be spent, and the allotment in question."""

    processors: Array
    disks: Array
    #: Whether only these numbers are to be had, or all whole numbers up to the largest.
    only_these_processors: bool = False
    only_these_disks: bool = False
    budget: float | None = None
    processor_price: float = 1.0
    disk_price: float = 1.0
    target: tuple[float, float] | None = None
    level: float = 0.9
    can_run: tuple[tuple[float, float], ...] | None = None  #: where the next run may be
    run_budget: float | None = None  #: core-seconds that it may cost
    rivals: bool = False  #: whether simple forms through the runs are shown as well

    @property
    def prices(self) -> dict[str, Any]:
        """The prices by the names that `best_allotment` knows."""
        return {"processor_price": self.processor_price, "disk_price": self.disk_price}


@dataclass(frozen=True)
class Sought:
    """The best allotments that were found.

    Parameters
    ----------
    best : PricedAllotment or None
        For the budget, or the cheapest of the largest speedup; of measured runs among allotments
        within them, None where the budget buys none of these.
    beyond : PricedAllotment or None
        Of measured runs: what would be better outside of them, if the law holds there.
    path : AllotmentPath
        Best allotments up to the budget, outside of the runs too.
    tried : int
        Allotments among which the best was sought.
    every : bool
        Whether those are all that are to be had.
    """

    best: PricedAllotment | None
    beyond: PricedAllotment | None
    path: AllotmentPath
    tried: int
    every: bool


def sought(program: AbstractProgram, surface: SpeedupSurface, wanted: Wanted, runs: Array | None) -> Sought:
    """Find the best allotments for the budget, those within the runs (k, 2) apart.

    Raises
    ------
    ModelError
        If the budget buys nothing, or a price is out of range.
    """
    searched, every = _searched(program, surface, wanted)
    most = _most(wanted)
    best = best_allotment(searched, budget=most, **wanted.prices)
    path = allotment_path(searched, _budgets(searched, wanted, most), **wanted.prices)
    if runs is None or within(runs, best.processors, best.disks):
        return Sought(best, None, path, searched.speedup.size, every)
    near = _best_within(searched, runs, most, wanted)
    return Sought(near, best, path, searched.speedup.size, every)


def within(runs: Array, processors: float, disks: float) -> bool:
    """Tell whether an allotment lies in the box of the runs (k, 2)."""
    low, high = runs.min(axis=0), runs.max(axis=0)
    return bool(low[0] <= processors <= high[0] and low[1] <= disks <= high[1])


def _best_within(
    searched: SpeedupSurface, runs: Array, most: float, wanted: Wanted
) -> PricedAllotment | None:
    """The best allotment in the box of the runs, if the budget buys one."""
    low, high = runs.min(axis=0), runs.max(axis=0)
    rows, columns = (
        np.flatnonzero((units >= low[k]) & (units <= high[k]))
        for k, units in enumerate((searched.processors, searched.disks))
    )
    if not rows.size or not columns.size:
        return None
    inside = searched.part(rows, columns)
    least = inside.processors[0] * wanted.processor_price + inside.disks[0] * wanted.disk_price
    if least > most * (1.0 + ROUNDING):
        return None
    return best_allotment(inside, budget=most, **wanted.prices)


def _searched(
    program: AbstractProgram, surface: SpeedupSurface, wanted: Wanted
) -> tuple[SpeedupSurface, bool]:
    """The allotments among which the best is sought, and whether those are all there are.

    Where all are too many, as many whole numbers as can be tried, in even steps of their
    logarithms, and then those next to the best of them.
    """
    shown = surface.processors, surface.disks
    only = wanted.only_these_processors, wanted.only_these_disks
    if all(only):
        return surface, True
    counts = [x.size if fixed else int(x[-1]) for x, fixed in zip(shown, only, strict=True)]
    if counts[0] * counts[1] <= _MOST_SEARCHED:
        whole = (
            x if fixed else np.arange(1.0, n + 1) for x, fixed, n in zip(shown, only, counts, strict=True)
        )
        return speedup_surface(program, *whole, base=surface.base), True
    rooms = _rooms(counts, only)
    coarse = [x if fixed else _spread(x, room) for x, fixed, room in zip(shown, only, rooms, strict=True)]
    first = speedup_surface(program, *coarse, base=surface.base)
    best = best_allotment(first, budget=_most(wanted), **wanted.prices)
    finer = [
        x if fixed else np.union1d(x, _between(x, at, room // 3))
        for x, fixed, at, room in zip(coarse, only, (best.processors, best.disks), rooms, strict=True)
    ]
    return speedup_surface(program, *finer, base=surface.base), False


def _rooms(counts: list[int], only: tuple[bool, bool]) -> tuple[int, int]:
    """How many numbers of processors and of disks can be tried together."""
    even = int(_MOST_SEARCHED**0.5)
    for own, other in ((0, 1), (1, 0)):
        if only[own] or counts[own] <= even:  # one that is not thinned leaves the other the rest
            rest = max(1, _MOST_SEARCHED // counts[own])
            rooms = {own: counts[own], other: rest}
            return rooms[0], rooms[1]
    return even, even


def _spread(shown: Array, room: int) -> Array:
    """All whole numbers up to the largest shown, or two thirds of `room` and those shown."""
    if room >= shown[-1]:
        return np.arange(1.0, shown[-1] + 1)
    return np.union1d(shown, np.rint(np.geomspace(1.0, shown[-1], max(2, 2 * room // 3))))


def _between(values: Array, at: float, room: int) -> Array:
    """So many whole numbers around `at`, as far as its neighbours in `values`."""
    i = int(np.searchsorted(values, at))
    low, high = values[max(0, i - 1)], values[min(values.size - 1, i + 1)]
    return np.rint(np.linspace(low, high, int(min(room, high - low) + 1)))


def _most(wanted: Wanted) -> float:
    """What may be spent: the budget, or what the largest allotment costs."""
    if wanted.budget is not None:
        return wanted.budget
    return float(wanted.processors[-1] * wanted.processor_price + wanted.disks[-1] * wanted.disk_price)


def _budgets(surface: SpeedupSurface, wanted: Wanted, most: float) -> Array:
    least = float(surface.processors[0] * wanted.processor_price)
    least += float(surface.disks[0] * wanted.disk_price)
    if most <= least:
        return np.array([most])
    amounts = np.geomspace(least, most, _BUDGETS)
    amounts[[0, -1]] = least, most
    return amounts
