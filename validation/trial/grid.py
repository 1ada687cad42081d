"""The grid of the trial as plain data: cells, and the points of its two sweeps.

First one loss run for each cell and strategy, start by start; then, at rates that hang on all loss
runs of a cell, one replication after the other of every load. Both are functions of plain data at
the top of a module, so that a sweep may run, journal and resume them anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from qmodels.errors import ModelError
from qmodels.policies import SpeedTable
from qmodels.policies.base import running_jobs
from validation.allocation.base import PlaneStrategy, find_strategy
from validation.trial.bursts import workload
from validation.trial.loss_run import JOBS_EACH, LEAST_JOBS, WAITING, one_start
from validation.trial.replications import cell_of
from validation.trial.speed_estimates import speeds_of_runs

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

#: What a start of a loss run keeps for each number of running jobs.
_KEPT: Final = ("done", "time")


def policies(rows: int, columns: int) -> Iterator[dict[str, Any]]:
    """Policies that divide a machine of so many nodes evenly."""
    least = rows * columns // 4
    for most, disks in ((4, 1), (8, 2), (2, 4)):
        options = {"processor_partitions": most, "disk_partitions": disks}
        yield {"policy": "SP", "policy_options": options}
    for disks in (1, 2):
        yield {
            "policy": "DP",
            "policy_options": {"disk_partitions": disks},
            "min_processors": least,
        }
    yield {"policy": "TS", "policy_options": {"processor_partitions": 2, "disk_partitions": 2}}
    yield {"policy": "TS", "policy_options": {"processor_partitions": 4, "disk_partitions": 1}}


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


def cells(places: Sequence[tuple[int, int]] = PLACES) -> list[dict[str, Any]]:
    """Every cell without its strategy, as arguments of `Cell.of`.

    Examples
    --------
    >>> len(cells([(8, 8)])), len(cells())
    (25, 75)
    """
    found = []
    for rows, columns in places:
        place = {"rows": rows, "columns": columns}
        kinds = list(policies(rows, columns))
        found += [place | kind | {"cpu_to_io": ratio} for kind in kinds for ratio in RATIOS]
        found += [place | kinds[0] | {"cpu_to_io": 1.0} | variant for variant in VARIANTS]
    return found


def loss_points(
    given: Mapping[str, Any], strategies: Sequence[str] = STRATEGIES, *, seed: int = 0
) -> list[dict[str, Any]]:
    """Points of the first sweep, for `run_start`: a cell under each strategy."""
    return [{**given, "strategy": name, "seed": seed} for name in strategies]


def run_start(point: Mapping[str, Any], replication: int) -> dict[str, float]:
    """One start of a loss run: "done1", "time1", "done2", ... as `speeds_of_runs` takes them.

    Jobs come at the speeds that the model itself gives the running jobs.
    """
    cell = cell_of(point)
    rates = running_jobs(cell.policy, cell.system, workload(cell)).throughput
    jobs = int(point.get("jobs", max(LEAST_JOBS, JOBS_EACH * cell.most_running)))
    found = one_start(
        cell,
        np.append(rates, WAITING * rates[-1]),
        jobs,
        replication,
        seed=int(point.get("seed", 0)),
        links=point.get("links", "shared"),
        disks=point.get("disks", "packets"),
    )
    return {
        f"{what}{k}": float(value)
        for what, row in zip(_KEPT, found, strict=True)
        for k, value in enumerate(row, start=1)
    }


def table_of(rows: Sequence[Mapping[str, float]]) -> SpeedTable:
    """The table of a loss run from what `run_start` returned for each start."""
    numbers = range(1, len(rows[0]) // len(_KEPT) + 1)
    work, spans = (np.array([[row[f"{what}{k}"] for k in numbers] for row in rows]) for what in _KEPT)
    return speeds_of_runs(work, spans, "loss run")


def load_points(
    given: Mapping[str, Any],
    tables: Mapping[str, SpeedTable],
    loads: Sequence[float] = LOADS,
    **options: Any,
) -> list[dict[str, Any]]:
    """Points of the second sweep, for `run_one`: each strategy at each load.

    A load is an arrival rate over the smallest corrected capacity among the strategies, where
    arrangements stay that of the slowest.
    """
    least = min(table.capacity for table in tables.values())
    return [
        {**given, "strategy": name, "arrival_rate": load * least, **options}
        for load in loads
        for name in tables
    ]
