"""The models of the policies on systems of unlike jobs or partitions, beside simulation.

``python -m tests.campaigns.unlike_grid simulate`` simulates the points of
`tests.campaigns.unlike_points`, one line of a journal each, so that it goes on where it was broken
off, and writes ``unlike-simulated.csv``. A point's rate is its fraction of the capacity that the
models stated when it was first simulated, less where a short simulation had no steady state at
that; it is part of the record and kept from it, so that no change of a model moves it. A point whose
mean is not known to `NARROW` is given as many more replications as that asks for, up to
`MOST_TIMES` of them.
``python -m tests.campaigns.unlike_grid`` predicts the points at these rates and writes
``unlike-models.csv``; with ``means`` no percentiles, which take most of the time.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pandas as pd

from qmodels.errors import ConvergenceError, ModelError
from qmodels.policies import capacity, predict
from qmodels.policies.models.recorded_domain import traits
from tests.campaigns import WORK
from tests.campaigns.policy_points import GridPoint
from tests.campaigns.record import FOLDER, write_record
from tests.campaigns.unlike_points import SEED, UNLIKE, named_points, unlike_point
from validation.sharing import simulate

SHARES: Final = (0.5, 0.95, 0.99)
REPLICATIONS: Final = 12
#: Bursts of all replications of a point, which say how many jobs each has, and these at most.
BURSTS, MOST_JOBS = 30e6, 250_000
#: Jobs of a replication that looks whether there is a steady state, and what a rate without is
#: multiplied by.
SHORT, LESS = 20_000, 0.6
#: Half-width over mean that is asked for, and how many times the replications this may take.
NARROW, MOST_TIMES = 0.015, 60
#: Half-width over mean beyond which a simulated mean is no judge.
WIDE: Final = 0.1


def points() -> Iterator[tuple[str, str, GridPoint]]:
    """Yield the kind, the name and the point of all systems, first the named ones, then kinds in turn."""
    for name, point in named_points().items():
        yield "named", name, point
    yield from in_turn(UNLIKE, seed=SEED)


def in_turn(counts: dict[str, int], *, seed: int) -> Iterator[tuple[str, str, GridPoint]]:
    """Yield the kind, the number and the point of so many systems of each kind, kinds in turn."""
    for number in range(max(counts.values())):
        for kind, count in counts.items():
            if number < count:
                yield kind, str(number), unlike_point(kind, number, seed=seed)


def simulated(point: GridPoint, kept: dict[str, Any] | None = None) -> dict[str, Any]:
    """Simulate a point at the rate that is kept of it, or else the largest that has a steady state.

    That is the largest of its fraction of the capacity, and less.
    """
    given = point.policy, point.system, point.workload
    stated = capacity(*given) if kept is None else kept["stated_capacity"]
    bursts = 2.0 * max(1.0, float(point.workload.program.mean_phases))
    jobs = int(min(BURSTS / bursts / REPLICATIONS, MOST_JOBS))
    began = time.process_time()
    rate = _steady(point, point.fraction * stated, jobs) if kept is None else kept["rate"]

    def run(replications: int) -> Any:
        return simulate(
            *given,
            arrival_rate=rate,
            replications=replications,
            jobs=jobs,
            warm_up=jobs // 5,
            percentiles=SHARES,
            workers=1,
            point=point.number,
        )

    count, found = REPLICATIONS, run(REPLICATIONS)
    wide = found.mean_response.half_width / (NARROW * found.mean_response.mean)
    if wide > 1.0:
        count = math.ceil(REPLICATIONS * min(wide**2, MOST_TIMES))
        found = run(count)
    row = {"policy": point.policy.label, "stated_capacity": stated, "rate": rate, "jobs": jobs}
    row["replications"] = count
    values = {"mean": found.mean_response, "wait": found.mean_wait}
    values |= {f"p{100 * q:g}": found.percentile(q) for q in SHARES}
    for name, value in values.items():
        row |= {f"{name}_simulated": value.mean, f"{name}_half_width": value.half_width}
    return row | {"simulation_seconds": round(time.process_time() - began, 2)}


def _steady(point: GridPoint, rate: float, jobs: int) -> float:
    """Return the rate, or the largest of those lowered again and again that has a steady state."""
    while True:
        tried = simulate(
            point.policy,
            point.system,
            point.workload,
            arrival_rate=rate,
            replications=8,
            jobs=min(SHORT, jobs),
            workers=1,
            seed=1,
        )
        mean = tried.mean_response
        # a queue without a steady state holds a good part of all jobs in the end
        if tried.mean_wait.mean * rate < 0.02 * tried.jobs or mean.half_width < 0.1 * mean.mean:
            return rate
        rate *= LESS


def the_simulations() -> None:
    """Simulate what the journal does not hold, and write the record once it is whole."""
    WORK.mkdir(parents=True, exist_ok=True)
    journal = WORK / "unlike-simulated.jsonl"
    rows = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    done = {(row["kind"], row["name"]) for row in rows}
    kept = {(row["kind"], row["name"]): row for row in recorded()}
    for kind, name, point in points():
        if (kind, name) in done:
            continue
        row = {"kind": kind, "name": name, **simulated(point, kept.get((kind, name)))}
        rows.append(row)
        with open(journal, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        print(f"{len(rows)} points, {kind} {name}", file=sys.stderr, flush=True)
    spent = sum(row["simulation_seconds"] for row in rows)
    write_record(
        "unlike-simulated",
        rows,
        command="python -m tests.campaigns.unlike_grid simulate",
        seed=0,
        grid_seed=SEED,
        simulation_cpu_seconds=round(spent),
    )


def recorded(name: str = "unlike-simulated") -> list[dict[str, Any]]:
    """Return the rows of a record of simulations; none where there is no record yet."""
    path = FOLDER / f"{name}.csv"
    if not path.exists():
        return []
    rows = pd.read_csv(path, dtype={"name": str}).to_dict("records")
    return [{str(key): value for key, value in row.items()} for row in rows]


def simulations(name: str) -> list[dict[str, Any]]:
    """Return what a record says of the simulation of each of its points; what follows was predicted."""
    rows = recorded(name)
    last = list(rows[0]).index("simulation_seconds") + 1 if rows else 0
    return [dict(list(row.items())[:last]) for row in rows]


def predicted(point: GridPoint, known: dict[str, Any]) -> dict[str, Any]:
    """Return what the models say of a point at a rate, and how far that is from the simulation."""
    given = point.policy, point.system, point.workload
    began = time.process_time()
    row: dict[str, Any] = {"model": "", "capacity": "", "cpu_seconds": ""}
    try:
        answer = predict(*given, arrival_rate=known["rate"])
    except ModelError as error:
        return row | {"reduction": str(error)[:80]}
    fraction = known["rate"] / answer.capacity
    row |= {"method": answer.method, "fraction": fraction, **traits(*given, fraction)}
    row |= {"model": answer.model, "reduction": answer.reduction, "capacity": answer.capacity}
    row["cpu_seconds"] = round(time.process_time() - began, 4)
    row["mean_error"] = answer.mean_response / known["mean_simulated"] - 1.0
    row["wait_error"] = (answer.mean_wait - known["wait_simulated"]) / known["mean_simulated"]
    began = time.process_time()
    for q in SHARES if "means" not in sys.argv[1:] else ():
        name = f"p{100 * q:g}"
        try:
            row[f"{name}_error"] = float(answer.percentile(q)) / known[f"{name}_simulated"] - 1.0
        except (ModelError, ConvergenceError):
            row[f"{name}_error"] = float("nan")
        if time.process_time() - began > 2.0:  # the others take as long
            break
    row["percentiles_cpu_seconds"] = round(time.process_time() - began, 4)
    return row


def judged(rows: list[dict[str, Any]], systems: Iterable[tuple[str, str, GridPoint]]) -> list[dict[str, Any]]:
    """Return the simulated points with what is predicted of these systems, which they are of."""
    given = {(kind, name): point for kind, name, point in systems}
    columns: dict[str, None] = {}
    found = []
    for row in rows:
        each = row | predicted(given[row["kind"], row["name"]], row)
        each["judge"] = row["mean_half_width"] <= WIDE * row["mean_simulated"]
        columns |= dict.fromkeys(each)
        found.append(each)
    return [{name: row.get(name, "") for name in columns} for row in found]


def summary(rows: list[dict[str, Any]], quantity: str = "mean") -> pd.DataFrame:
    """Median, 90th percentile and largest absolute error by kind and by policy.

    Errors are what lies beyond the half-width of the simulation in `beyond`, else the whole of them.
    """
    table = pd.DataFrame(rows)
    table = table[table.judge & (table.kind != "named")].copy()
    table["error"] = pd.to_numeric(table[f"{quantity}_error"], errors="coerce").abs()
    noise = table[f"{'mean' if quantity == 'wait' else quantity}_half_width"]
    simulated_values = table[f"{'mean' if quantity == 'wait' else quantity}_simulated"]
    table["beyond"] = (table.error - noise / simulated_values).clip(lower=0.0)
    groups = [*table.groupby("kind", sort=False), *table.groupby(table.kind.str[:2].replace("DP", "SP"))]
    return pd.DataFrame(
        {
            name: {
                "points": len(some),
                "unanswered": int(some.error.isna().sum()),
                "median": some.error.median(),
                "p90": some.error.quantile(0.9),
                "worst": some.error.max(),
                "beyond_median": some.beyond.median(),
                "beyond_p90": some.beyond.quantile(0.9),
                "beyond_worst": some.beyond.max(),
            }
            for name, some in groups
        }
    ).T


def the_grid() -> None:
    """Predict the points of the record of simulations, and write the record of errors."""
    table = judged(recorded(), points())
    write_record(
        "unlike-models",
        table,
        command=" ".join(["python -m tests.campaigns.unlike_grid", *sys.argv[1:]]),
        seed=0,
        grid_seed=SEED,
    )
    print(summary(table).round(4).to_string())


if __name__ == "__main__":
    if "simulate" in sys.argv[1:]:
        the_simulations()
    else:
        the_grid()
