"""How far the models are off, by regime: the record that stated errors are made of, and its trial.

``python -m tests.campaigns.recorded_errors`` simulates the points of
`tests.campaigns.recorded_points` and makes of them the tables that the package ships
(`recorded_errors.csv`, `recorded_domain.csv`). ``python -m tests.campaigns.recorded_errors fresh``
then asks of 200 fresh points of the same rule and of 120 outside of it, one way at a time,
whether the errors stated hold and whether any answer is far off without a word.
``python -m tests.campaigns.recorded_errors again`` predicts the points of the record anew where another
model takes them today, beside the simulations that are there, and makes the tables of these and of
`tests.campaigns.unlike_grid`; with ``tables`` it makes the tables alone.
A point whose interval is wider than a tenth of its mean is simulated again with runs of 300,000
jobs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from qmodels.errors import ConvergenceError, MemoryBudgetError, ModelError, UnstableError
from qmodels.policies import capacity, predict
from tests.campaigns import WORK
from tests.campaigns.policy_errors import compared, write_domain, write_errors
from tests.campaigns.policy_points import GridPoint
from tests.campaigns.record import FOLDER, write_record
from tests.campaigns.recorded_points import (
    FRESH_SEED,
    RECORDED,
    SEED,
    point_outside,
    recorded_point,
)

FRESH_EACH, OUTSIDE = 34, 120  # fresh points of each kind, and points outside
WIDE, LONG = 0.1, 300_000
#: Kinds of unlike systems that errors are stated of. Of the others `of_another_kind` says that none are:
#: mixes, unlike partitions, disks in turn, laws of bursts under time sharing.
STATED = ("SP demand", "DP demand", "TS demand", "DP bursts", "TS without I/O", "SP variable bursts")
SAME = 1e-6  # means that differ by less are one
FAR = 0.2  # an error that nobody should meet without a word


def simulated(named: tuple[str, GridPoint]) -> dict[str, object]:
    """One point, with long runs where those of the usual length leave a wide interval."""
    way, point = named
    began = time.process_time()
    row: dict[str, object] = {"way": way}
    try:
        found = compared(point)
        found["jobs_at_least"] = 10_000
        if found["mean_half_width"] > WIDE * found["mean_simulated"]:
            found = compared(point, least_jobs=LONG, most_jobs=LONG)
            found["jobs_at_least"] = LONG
        row |= found
    except MemoryBudgetError as error:
        row |= {"kind": point.kind, "number": point.number, "policy": point.policy.label}
        row |= {"refused": str(error)[:100]}
    return row | {"campaign_cpu_seconds": round(time.process_time() - began, 3)}


def rows_of(
    points: Sequence[tuple[str, GridPoint]],
    workers: int,
    one: Callable[[tuple[str, GridPoint]], dict[str, object]] = simulated,
) -> list[dict[str, object]]:
    """All points, with word of how far it has come."""
    rows = []
    with ProcessPoolExecutor(workers) as pool:
        for row in pool.map(one, points):
            rows.append(row)
            print(f"{len(rows)} of {len(points)} points", file=sys.stderr, end="\r")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name, "") for name in names} for row in rows]


def the_record() -> None:
    """Simulate the points of the record and make of them the tables that the package ships."""
    points = [
        ("", recorded_point(kind, number)) for kind, count in RECORDED.items() for number in range(count)
    ]
    rows = rows_of(points, 2)
    write_record(
        "recorded-errors",
        rows,
        command="python -m tests.campaigns.recorded_errors",
        seed=0,
        grid_seed=SEED,
        points=len(points),
    )
    write_tables(rows)


def write_tables(rows: Sequence[dict[str, object]]) -> None:
    """Write what the package states errors from, out of the rows of the record."""
    package = Path(str(files("qmodels.policies.models")))
    known = pd.DataFrame([row for row in rows if isinstance(row.get("method"), str) and row["method"]])
    table = known.replace("", np.nan).infer_objects()
    write_errors(table, package / "recorded_errors.csv")
    write_domain(table, package / "recorded_domain.csv")


def predicted_again(row: dict[str, object]) -> dict[str, object]:
    """Return a row of the record with what is predicted today, where another model takes the point."""
    # percentiles follow one job by a law that is nearer to it than that of the others
    said = str(row["reduction"])
    nearer = any(words in said for words in ("as one law", "matched in", "taken as Erlang"))
    taken = nearer or row["kind"] in ("SP demand", "DP demand") or str(row["kind"]).startswith("TS")
    if not taken or row["method"] != row["method"]:  # other points have no other model, or NaN: refused
        return row
    point = recorded_point(str(row["kind"]), int(float(str(row["number"]))))
    given = point.policy, point.system, point.workload
    rate = float(str(row["rate"]))
    try:
        answer = predict(*given, arrival_rate=rate)
    except UnstableError as error:  # the capacity that is stated today is smaller
        return row | {"refused": str(error), "method": "", "predicted": "again"}
    in_turns = answer.solved.built.turns  # its percentiles are of jobs that are played
    if (
        not (nearer or in_turns)
        and answer.model == row["model"]
        and abs(answer.mean_response / float(str(row["mean"])) - 1.0) < SAME
    ):
        return row
    row = row | {"model": answer.model, "method": answer.method, "reduction": answer.reduction}
    row |= {"capacity": answer.capacity, "predicted": "again"}
    wait = (answer.mean_wait - float(str(row["wait_simulated"]))) / float(str(row["mean_simulated"]))
    row |= {"wait": answer.mean_wait, "wait_error": wait}
    for name, q in {"mean": None, "p50": 0.5, "p95": 0.95, "p99": 0.99}.items():
        if row[name] != row[name]:  # NaN: it would have taken too long
            continue
        try:
            value = answer.mean_response if q is None else float(answer.percentile(q))
        except (ModelError, ConvergenceError):  # too large a chain
            value = float("nan")
        row |= {name: value, f"{name}_error": value / float(str(row[f"{name}_simulated"])) - 1.0}
    return row


def the_record_again() -> None:
    """Predict anew what other models take today, and make the tables anew."""
    rows = pd.read_csv(FOLDER / "recorded-errors.csv").to_dict("records")
    journal = WORK / "recorded-again.jsonl"
    journal.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    for row in rows[len(done) :]:
        done.append(predicted_again({str(key): value for key, value in row.items()}))
        with open(journal, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(done[-1]) + "\n")
    kept = [{key: "" if value != value else value for key, value in row.items()} for row in done]
    names = list(dict.fromkeys(name for row in kept for name in row))
    kept = [{name: row.get(name, "") for name in names} for row in kept]
    write_record(
        "recorded-errors",
        kept,
        command="python -m tests.campaigns.recorded_errors again",
        seed=0,
        grid_seed=SEED,
        points=len(kept),
        predicted_again=sum(row.get("predicted") == "again" for row in kept),
    )
    tables_of_the_records()


def rows_on_record() -> pd.DataFrame:
    """Return the points of the two records that errors are stated from."""
    known = pd.read_csv(FOLDER / "recorded-errors.csv")
    unlike = pd.read_csv(FOLDER / "unlike-models.csv")
    # models that only such systems have
    other = unlike.model.isin(["disk-classes", "blocked-disks", "job-classes", "places"])
    kept = unlike[unlike.judge & unlike.kind.isin(STATED) & ~other]
    return pd.concat([known, kept], ignore_index=True)


def tables_of_the_records() -> None:
    """Make the tables of the two records as they stand."""
    write_tables([{str(key): x for key, x in row.items()} for row in rows_on_record().to_dict("records")])


def judged(named: tuple[str, GridPoint]) -> dict[str, object]:
    """A point simulated, with the errors that are stated of it and whether they hold."""
    row, (_, point) = simulated(named), named
    if "refused" in row:
        return row
    given = point.policy, point.system, point.workload
    answer = predict(*given, arrival_rate=point.fraction * capacity(*given))
    row["doubts"] = "; ".join(answer.doubts)
    for name, q in {"mean": None, "p50": 0.5, "p95": 0.95, "p99": 0.99}.items():
        if row[name] != row[name]:  # NaN: it would have taken too long
            continue
        stated = answer.recorded_error(q)
        row[f"{name}_stated"] = "" if stated is None else stated
        if stated and row[f"{name}_error"] == row[f"{name}_error"]:
            noise = row[f"{name}_half_width"] / row[f"{name}_simulated"]
            row[f"{name}_held"] = bool(abs(row[f"{name}_error"]) <= stated + noise)
    return row


def verdicts(rows: Sequence[dict[str, object]]) -> dict[str, int]:
    """How often stated errors hold, and how often an answer is far off without a word."""
    table = pd.DataFrame(rows)
    known = table[table.method != ""]
    counts: dict[str, int] = {}
    for where, some in (("inside", known[known.way == ""]), ("outside", known[known.way != ""])):
        for name in ("mean", "p50", "p95", "p99"):
            column = some[f"{name}_held"]
            held = column[column != ""]
            counts[f"{where}_{name}_stated"] = len(held)
            counts[f"{where}_{name}_held"] = int(held.astype(bool).sum())
        beyond = some.mean_error.abs() - some.mean_half_width / some.mean_simulated
        far = (beyond > FAR) & (some.method == "approximate")
        counts[f"{where}_far_off"] = int(far.sum())
        counts[f"{where}_far_off_without_a_word"] = int((far & (some.doubts == "")).sum())
        counts[f"{where}_refused"] = int((table.way.eq("") == (where == "inside")).sum() - len(some))
    return counts


def fresh_points() -> None:
    """Simulate fresh points inside and outside of the record, and judge what is stated of them."""
    points = [
        ("", recorded_point(kind, number, seed=FRESH_SEED))
        for kind in RECORDED
        for number in range(FRESH_EACH)
    ]
    points += [point_outside(number) for number in range(OUTSIDE)]
    rows = rows_of(points, 2, judged)
    found = verdicts(rows)
    write_record(
        "recorded-errors-fresh",
        rows,
        command="python -m tests.campaigns.recorded_errors fresh",
        seed=0,
        grid_seed=FRESH_SEED,
        points=len(points),
        **found,
    )
    print(found)


if __name__ == "__main__":
    if "fresh" in sys.argv[1:]:
        fresh_points()
    elif "again" in sys.argv[1:]:
        the_record_again()
    elif "tables" in sys.argv[1:]:
        tables_of_the_records()
    else:
        the_record()
