"""One replication of a point of the trial, on plain data: for a sweep here or elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from validation.analysis.seeding import stream, word
from validation.trial.control import speed_scaled_responses
from validation.trial.loss_run import work_and_time
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell

Array = NDArray[np.float64]

#: Jobs measured in a replication, and those before them that fill the machine.
JOBS, WARM_UP = 600, 150
#: Keys of a point besides those of `Cell.of`.
_OWN: Final = ("arrival_rate", "speeds", "jobs", "warm_up", "seed", "links", "disks")


def run_one(point: Mapping[str, Any], replication: int) -> dict[str, float]:
    """One replication of a point: the machine, and a queue at given speeds on the same jobs.

    Parameters
    ----------
    point : mapping
        Plain data: the arguments of `Cell.of`, and "arrival_rate" (jobs per cycle); optionally
        "speeds" (X(1) to X(c) of a control variate, jobs per cycle), "jobs", "warm_up", "seed",
        "links" and "disks".
    replication : int

    Returns
    -------
    dict
        "response" and, with "speeds", "control", mean cycles over the measured jobs; "jobs" that
        came before the last of them left, where the run ends; "seconds" of a processor; "done1",
        "time1", "done2", ...: demand done, in mean jobs, and cycles passed while so many jobs ran.

    Notes
    -----
    The jobs hang on the seed and the replication alone: all strategies, policies and loads meet the
    same demands and, but for their unit, the same times between arrivals.
    """
    began = time.process_time()
    cell = cell_of(point)
    jobs, warm_up = int(point.get("jobs", JOBS)), int(point.get("warm_up", WARM_UP))
    seed = int(point.get("seed", 0))
    arrival, demand = jobs_of(point, replication)
    # What the jobs of the tail do once the measured ones have left is a quarter of the work.
    played = play_cell(
        cell,
        arrival,
        demand,
        seed=word(seed, "trial", replication),
        awaited=warm_up + jobs,
        links=point.get("links", "shared"),
        disks=point.get("disks", "packets"),
    )
    inside, control = slice(warm_up, warm_up + jobs), {}
    if "speeds" in point:
        speeds = np.asarray(point["speeds"], float)
        control["control"] = float(speed_scaled_responses(speeds, arrival, demand)[inside].mean())
    links = "infinite" if point.get("links") == "infinite" else "finite"
    done, spent = work_and_time(cell, played, demand, links)
    return {
        "response": float(played.response[inside].mean()),
        **control,
        "jobs": float(np.isfinite(played.arrival).sum()),
        "seconds": time.process_time() - began,
        **{f"done{k}": float(value) for k, value in enumerate(done, start=1)},
        **{f"time{k}": float(value) for k, value in enumerate(spent, start=1)},
    }


def jobs_of(point: Mapping[str, Any], replication: int) -> tuple[Array, Array]:
    """Arrivals and demands of the jobs that a replication of a point meets."""
    cell = cell_of(point)
    count = int(point.get("jobs", JOBS)) + int(point.get("warm_up", WARM_UP)) + _tail(cell)
    rate, seed = float(point["arrival_rate"]), int(point.get("seed", 0))
    return draw_jobs(cell, rate, count, seed, replication)


def draw_jobs(cell: Cell, rate: float, count: int, seed: int, replication: int) -> tuple[Array, Array]:
    """Times of arrival and demands of so many jobs: a Poisson stream, the same for all cells."""
    gaps = stream(seed, "gaps", replication).exponential(1.0, count)
    # The uniform variates behind the demands are the same; the law turns them into factors.
    demand = cell.demand.rvs(count, random_state=stream(seed, "demands", replication))
    return np.ceil(np.cumsum(gaps) / rate), demand


def _tail(cell: Cell) -> int:
    """Jobs after the measured ones, so that these do not find the machine emptier than others."""
    return 10 * cell.most_running


def cell_of(point: Mapping[str, Any]) -> Cell:
    """The cell that a point is a run of."""
    return _cell(tuple(sorted((k, _hashable(v)) for k, v in point.items() if k not in _OWN)))


def _hashable(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


@lru_cache(maxsize=64)  # a few numbers and a small mesh each
def _cell(items: tuple[tuple[str, Any], ...]) -> Cell:
    given = dict(items)
    given["policy_options"] = dict(given["policy_options"])
    return Cell.of(**given)
