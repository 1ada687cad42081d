"""Hold forecasts of shared storage to 200 simulated systems outside of what they assume.

``python -m tests.campaigns.storage_systems`` writes ``docs/record/storage-systems.csv``: a row a system. Each
breaks one assumption (see `KINDS`) and has 2 to 4 stages with random curves. Two answers are held to the
simulated makespan of 8, 16 or 32 programs: the sum of the true curves, and the forecast from 8 runs of one
program and 3 of four together (each the mean of two simulated ones), with its interval. The error stated of a
regime (`STATED`) is the largest but one in twenty of 400 systems of earlier seeds (3501, 3502). These led to
the correlation of stages in intervals and to misfit that grows beyond the timed numbers, too (.82 of them
were covered without). A record of seed 3503 covered .805: all its systems had the same random numbers in
their runs, so that one unlucky mean missed many at once. Every run has numbers of its own now. The 200
on record are of another seed and were simulated once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from qmodels.storage import SharedRuns, StageCurve, forecast_sharing
from tests.campaigns.record import write_record
from validation.analysis.seeding import word
from validation.storage import Neighbours, SharingSimulation, simulate_start

KINDS: Final = (
    "correlated stages",
    "unequal streams",
    "neighbours",
    "few bursts, in order",
    "constant bursts",
)
SYSTEMS: Final = 200
#: Stated errors of the sum of true curves, of the mean program and of the last, by regime.
STATED: Final = {"light": (0.23, 0.51), "near full": (0.35, 0.46), "full": (0.34, 0.34)}
SEED: Final = 3504


def system(number: int) -> dict[str, Any]:
    """Return a random system: its stages, how many programs, and what it breaks."""
    rng = np.random.default_rng([SEED, number])
    kind = KINDS[number % len(KINDS)]
    stages = []
    for k in range(int(rng.integers(2, 5))):
        io_share = float(rng.uniform(0.05, 0.95))
        stages.append(
            StageCurve(
                f"stage {k + 1}",
                float(np.exp(rng.normal(3.0, 0.7))),
                io_share=io_share,
                streams=float(np.exp(rng.uniform(0.0, np.log(24.0)))),
                loss=float(rng.choice([0.0, rng.uniform(0.0, 0.5)])),
                creep=float(rng.choice([0.0, np.exp(rng.normal(np.log(0.01), 1.0))])),
                level=float(np.exp(rng.uniform(np.log(4.0), np.log(64.0)))),
            )
        )
    alone = sum(stage.seconds for stage in stages)
    on, off = rng.uniform(0.02, 0.3, 2) * alone
    options: dict[str, Any] = {
        "correlated stages": {"correlation": float(rng.uniform(0.2, 1.0))},
        "unequal streams": {"unequal": float(rng.uniform(0.1, 0.6))},
        "neighbours": {"neighbours": Neighbours(float(rng.uniform(0.1, 1.0)), on=float(on), off=float(off))},
        "few bursts, in order": {"bursts": int(rng.integers(1, 4)), "order": "fcfs"},
        "constant bursts": {"scv": 0.0, "bursts": int(rng.integers(5, 30))},
    }[kind]
    return {
        "number": number,
        "kind": kind,
        "stages": stages,
        "programs": int(rng.choice([8, 16, 32])),
        "options": options,
    }


def simulated(one: dict[str, Any], programs: int, replications: int, *key: int) -> SharingSimulation:
    """Return a system simulated with numbers of its own, by the key."""
    seed = word(SEED, one["number"], programs, *key)
    return simulate_start(one["stages"], programs, replications=replications, seed=seed, **one["options"])


def runs_of(one: dict[str, Any], programs: int, count: int) -> list[list[float]]:
    """Return simulated times of each stage, a list a stage with one entry a run."""
    parts = [simulated(one, programs, 2, k).stages for k in range(count)]
    return [[each[j].mean for each in parts] for j in range(len(one["stages"]))]


def rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each system."""
    for number in range(SYSTEMS):
        one = system(number)
        stages, n = one["stages"], one["programs"]
        truth = simulated(one, n, 20)
        alone, four = (runs_of(one, k, count) for k, count in ((1, 8), (4, 3)))
        runs = SharedRuns(
            {stage.name: {1: alone[k], 4: four[k]} for k, stage in enumerate(stages)}  # type: ignore[misc]
        )
        forecast = forecast_sharing(runs, [n])
        by_curve = sum(stage.time(n) for stage in stages)
        load = n * sum(stage.demand for stage in stages) / sum(stage.seconds for stage in stages)
        regime = "light" if load < 0.7 else "near full" if load < 1.3 else "full"
        mean, response = truth.seconds.mean, truth.response.mean
        yield {
            "system": number,
            "kind": one["kind"],
            "regime": regime,
            "programs": n,
            "load": load,
            "slowdown": mean / sum(stage.seconds for stage in stages),
            "curve_error": by_curve / response - 1.0,
            "makespan_error": by_curve / mean - 1.0,
            "forecast_error": float(forecast.seconds[0]) / response - 1.0,
            "covered": bool(forecast.low[0] <= response <= forecast.high[0]),
            "width": float(np.log(forecast.high[0] / forecast.low[0])),
            "stated": STATED[regime][0],
            "kept": abs(by_curve / response - 1.0) <= STATED[regime][0],
            "makespan_stated": STATED[regime][1],
            "makespan_kept": abs(by_curve / mean - 1.0) <= STATED[regime][1],
        }


def main() -> None:
    """Make the record."""
    found = [{k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()} for row in rows()]
    write_record("storage-systems", found, command="python -m tests.campaigns.storage_systems", seed=SEED)


if __name__ == "__main__":
    main()
