"""The models of the policies against simulation on the grid that was fixed beforehand.

``python -m tests.campaigns.policy_grid`` plays the 160 points of the grid. Stated errors come from
a wider one, see `tests.campaigns.recorded_errors`.
A point whose interval is wider than a tenth of its mean is played again
with runs of 300,000 jobs: short runs of it are biased low.
"""

from __future__ import annotations

import sys
import time

import pandas as pd

from tests.campaigns.policy_errors import compared, summary
from tests.campaigns.policy_points import KINDS, SEED, drawn
from tests.campaigns.record import write_record

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


def play_all(counts: dict[str, int], seed: int) -> pd.DataFrame:
    """All points of the kinds, with word of how far it has come."""
    rows, total = [], sum(counts.values())
    for kind, count in counts.items():
        for number in range(count):
            rows.append(played(kind, number, seed=seed))
            print(f"{len(rows)} of {total} points", file=sys.stderr, end="\r")
    return pd.DataFrame(rows)


def the_grid() -> None:
    """Play the grid that was fixed and write its record."""
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


if __name__ == "__main__":
    the_grid()
