"""The grid of the trial: its cells, strategies and loads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from qmodels.errors import ModelError
from qmodels.policies import DynamicPartitioning, SpaceSharing, TimeSharing
from validation.allocation.base import PlaneStrategy, find_strategy
from validation.trial.scenario import Cell

#: The machines: 8x8 is quick, 16x16 that of Liu et al., 16x22 a Paragon.
PLACES: Final = ((8, 8), (16, 16), (16, 22))
STRATEGIES: Final = (
    "MC-Elongated",
    "MC",
    "PLAS",
    "MBS",
    "Paging",
    "Random",
    "d-DBT",
    "hilbert",
)
LOADS: Final = (0.3, 0.6, 0.8)
#: CPU : I/O before the exchange.
RATIOS: Final = (8.0, 2.0, 0.5)
#: Variants of the first policy of a place at an even ratio, each with one thing changed.
VARIANTS: Final[tuple[dict[str, Any], ...]] = (
    {"io": "read"},
    {"phases": 12},
    {"demand_scv": 4.0},
    {"disk": "ejection"},
)


def kinds(rows: int, columns: int) -> Iterator[dict[str, Any]]:
    """Policies that divide a machine of so many nodes evenly, as arguments of `Cell.of`."""
    least = rows * columns // 4
    for most, disks in ((4, 1), (8, 2), (2, 4)):
        yield {"policy": SpaceSharing(most, disks)}
    for disks in (1, 2):
        yield {"policy": DynamicPartitioning(disks), "min_processors": least}
    yield {"policy": TimeSharing(2, 2)}
    yield {"policy": TimeSharing(4, 1)}


def strategies_on(rows: int, columns: int) -> tuple[str, ...]:
    """Strategies of the grid that are defined on a mesh of these sides.

    Examples
    --------
    A tree needs powers of two:

    >>> sorted(set(STRATEGIES) - set(strategies_on(16, 22)))
    ['d-DBT']
    """

    def defined(name: str) -> bool:
        strategy = find_strategy(name)
        assert isinstance(strategy, PlaneStrategy)
        try:
            strategy.check_sides(rows, columns)
        except ModelError:
            return False
        return True

    return tuple(name for name in STRATEGIES if defined(name))


def cells(places: Sequence[tuple[int, int]] = PLACES) -> list[Cell]:
    """Every cell, under the first of the strategies that is defined on all machines.

    Examples
    --------
    >>> len(cells([(8, 8)])), len(cells())
    (25, 75)
    """
    found = []
    for rows, columns in places:
        on = partial(Cell.of, rows=rows, columns=columns, strategy="MC")
        first, *others = kinds(rows, columns)
        found += [on(**kind, cpu_to_io=ratio) for kind in (first, *others) for ratio in RATIOS]
        found += [on(**first, cpu_to_io=1.0, **variant) for variant in VARIANTS]
    return found
