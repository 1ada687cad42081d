"""The models of the policies against simulation on the grid that was fixed beforehand.

``python -m tests.campaigns.policy_grid`` plays the 160 points of the grid, makes of them the table
of errors that predictions state (`recorded_errors.csv`), and then asks whether these hold on fresh
points by the same rule, which is all that ``python -m tests.campaigns.policy_grid fresh`` does.
A point whose interval is wider than a tenth of its mean is played again
with runs of 300,000 jobs: short runs of it are biased low.
"""

from __future__ import annotations

import sys
import time
from importlib.resources import files
from pathlib import Path

import pandas as pd

from qmodels.policies.models import recorded_errors
from tests.campaigns.record import write_record
from validation.trial.policy_errors import compared, summary, write_errors
from validation.trial.policy_grid import KINDS, SEED, drawn

FRESH_SEED = 777
FRESH_EACH = 10  # fresh points of each kind
WIDE, LONG = 0.1, 300_000


def played(kind: str, number: int, *, seed: int) -> dict[str, object]:
    """One point, with long runs where those of the usual length leave a wide interval."""
    began = time.process_time()
    point = drawn(kind, number, seed=seed)
    row = compared(point)
    row["jobs_at_least"] = 10_000
    if row["mean_half_width"] > WIDE * row["mean_simulated"]:
        row = compared(point, least_jobs=LONG, most_jobs=LONG)
        row["jobs_at_least"] = LONG
    return row | {"campaign_cpu_seconds": round(time.process_time() - began, 3)}


def stated_and_held(row: pd.Series, name: str, share: float | None) -> tuple[float, bool] | None:
    """The error stated of a fresh point, and whether it holds up to the noise of its runs."""
    if row["method"] != "approximate" or pd.isna(row[f"{name}_error"]):
        return None
    regime = recorded_errors.regime(
        row["model"], turns="cpu=ps" not in row["policy"],
        scv=row.get("demand_scv", 1.0), load=row["fraction"],
    )  # fmt: skip
    error = recorded_errors.recorded_error(regime, share)
    if error is None:
        return None
    noise = row[f"{name}_half_width"] / row[f"{name}_simulated"]
    return error, bool(abs(row[f"{name}_error"]) <= error + noise)


def held_on(table: pd.DataFrame) -> dict[str, object]:
    """How many of the fresh points keep to the stated errors, by quantity."""
    found: dict[str, object] = {}
    names = {"mean": None} | {f"p{100 * q:g}": q for q in recorded_errors.SHARES}
    for name, share in names.items():
        judged = [stated_and_held(row, name, share) for _, row in table.iterrows()]
        table[f"{name}_stated"] = [None if x is None else x[0] for x in judged]
        table[f"{name}_held"] = [None if x is None else x[1] for x in judged]
        known = [x[1] for x in judged if x is not None]
        found[f"{name}_stated"], found[f"{name}_held"] = len(known), sum(known)
    return found


def play_all(counts: dict[str, int], seed: int) -> pd.DataFrame:
    """All points of the kinds, with word of how far it has come."""
    rows, total = [], sum(counts.values())
    for kind, count in counts.items():
        for number in range(count):
            rows.append(played(kind, number, seed=seed))
            print(f"{len(rows)} of {total} points", file=sys.stderr, end="\r")
    return pd.DataFrame(rows)


def the_grid() -> None:
    """Play the grid that was fixed, write its record and the table that the package ships."""
    table = play_all(KINDS, SEED)
    write_record(
        "policy-models",
        table.to_dict("records"),
        command="python -m tests.campaigns.policy_grid",
        seed=0,
        grid_seed=SEED,
        points=len(table),
        replications=12,
        jobs_each="10,000 to 60,000 measured in each run; 300,000 where the interval was wide",
    )
    print(summary(table).round(3).to_string())
    package = files("qmodels.policies.models")
    write_errors(table, Path(str(package.joinpath("recorded_errors.csv"))))
    recorded_errors._table.cache_clear()


def fresh_points() -> None:
    """Play fresh points and ask whether the errors that the package states hold on them."""
    fresh = play_all(dict.fromkeys(KINDS, FRESH_EACH), FRESH_SEED)
    held = held_on(fresh)
    write_record(
        "policy-fresh",
        fresh.to_dict("records"),
        command="python -m tests.campaigns.policy_grid fresh",
        seed=0,
        grid_seed=FRESH_SEED,
        points=len(fresh),
        **held,
    )
    print(summary(fresh).round(3).to_string(), held, sep="\n")


if __name__ == "__main__":
    if "fresh" not in sys.argv[1:]:
        the_grid()
    fresh_points()
