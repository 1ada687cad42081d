"""Hold forecasts, the advised next run and comparisons to programs outside the library.

``python -m tests.campaigns.forecasts forecasts|forecasts-departing|next-run|comparisons|public-tables``: the
truths are those of `tests/naive/outside.py`, and the same with collapses, node edges and odd allotments of
`tests/naive/steps.py`; the rivals those of `tests/naive/rivals.py`, the public tables those of `tests/data`;
nothing is chosen here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tests.campaigns.record import write_record
from tests.naive.outside import FAMILIES, NOISES, RUNS, Case
from tests.naive.rivals import RIVALS, after_one_more, by_rival, campaign
from tests.naive.steps import DEPARTED, departing
from tests.qmodels.test_comparison import alarms
from tests.qmodels.test_forecasts_outside import public_forecasts

#: Seed, and cases of each family and number of runs. The scale of the discrepancy was chosen with
#: the seeds 11, 12 and 21; 101 has been looked at often, 104 was drawn when the code stood.
SEEDS = {101: 3, 104: 2}
PROGRAMS = 100
#: Slowdown made, limit asked for, and pairs.
ALARMS = (
    (1.0, "slowdown > 0% with 95%", 1600),
    (1.0, "slowdown > 5% with 95%", 1600),
    (1.0, "any phase slowdown > 0% with 95%", 400),
    (1.1, "slowdown > 0% with 95%", 400),
    (1.1, "any phase slowdown > 0% with 95%", 400),
    (1.1, "slowdown > 5% with 95%", 400),
    (1.25, "slowdown > 0% with 95%", 400),
    (1.25, "slowdown > 5% with 95%", 400),
)
ALARM_SEED, NEXT_SEED = 6, 202

Row = dict[str, Any]


def said(rows: list[Row], by: str, value: object) -> Row:
    """What a group of forecasts is off by, and how often its intervals hold the run."""
    medians = {name: round(float(np.median([row[name] for row in rows])), 3) for name in RIVALS}
    return {
        "by": by,
        "value": value,
        "cases": len(rows),
        "covered": round(float(np.mean([row["covered"] for row in rows])), 3),
        "width_median": round(float(np.median([row["high"] / row["low"] for row in rows])), 2),
        "error_median": round(float(np.median([row["error"] for row in rows])), 3),
    } | medians


def forecasts(name: str = "forecasts", seeds: dict[int, int] = SEEDS, departing: Any = None) -> None:
    """Run every case, then tell the groups apart."""
    rows: list[Row] = []
    for seed, size in seeds.items():
        for case in campaign(size, seed=seed, departing=departing):
            rows.append(case | {"seed": seed})
            if len(rows) % 48 == 0:
                print(f"{len(rows)} cases", file=sys.stderr, flush=True)
    found = [said(rows, "all", "")]
    for by in ("seed", "runs", "noise", "disturbed", "family"):
        for value in dict.fromkeys(row[by] for row in rows):
            found.append(said([row for row in rows if row[by] == value], by, value))
    for seed in seeds:  # the hardest sentence: ahead of every rival for every number of runs
        for count in RUNS:
            chosen = [row for row in rows if (row["seed"], row["runs"]) == (seed, count)]
            found.append(said(chosen, f"seed {seed}, runs", count))
    write(name, found, seed=list(seeds), cases=len(rows))


def advised() -> Iterator[dict[str, Row]]:
    """One more run, made as advised and otherwise; the cases are those of the slow test."""
    names = list(FAMILIES)
    for k in range(PROGRAMS):
        rng = np.random.default_rng([NEXT_SEED, k])
        case = Case(names[k % len(names)], rng, (5, 7, 9)[k % 3], NOISES[(k // 3) % 4])
        yield after_one_more(case, rng)
        if (k + 1) % 10 == 0:
            print(f"{k + 1} of {PROGRAMS} programs", file=sys.stderr, flush=True)


def next_run() -> None:
    """Errors after the advised run, one at random, the D-optimal one and none."""
    rows = list(advised())
    found = []
    for how in rows[0]:
        errors = np.array([row[how]["error"] for row in rows])
        widths = [row[how]["high"] / row[how]["low"] for row in rows]
        found.append(
            {
                "run": how,
                "programs": len(rows),
                "error_median": round(float(np.median(errors)), 3),
                "error_mean": round(float(errors.mean()), 3),
                "covered": round(float(np.mean([row[how]["covered"] for row in rows])), 3),
                "width_median": round(float(np.median(widths)), 2),
                # Signs of the differences, a tie counted as half: what a paired test needs.
                "advised_nearer": round(
                    float(
                        np.mean(
                            [np.sign(row[how]["error"] - row["advised"]["error"]) / 2 + 0.5 for row in rows]
                        )
                    ),
                    3,
                ),
            }
        )
    write("next-run", found, seed=NEXT_SEED)


def comparisons() -> None:
    """How often a limit is called broken, of programs that are equal and of slowed ones."""
    found = []
    for factor, limit, pairs in ALARMS:
        share = alarms(factor, pairs, seed=ALARM_SEED, text=limit)
        error = (share * (1 - share) / pairs) ** 0.5
        found.append(
            {
                "slowdown": factor,
                "limit": limit,
                "pairs": pairs,
                "broken": round(share, 4),
                "standard_error": round(error, 4),
            }
        )
        print(f"{factor}, {limit}: {share:.3f}", file=sys.stderr, flush=True)
    write("comparisons", found, seed=ALARM_SEED)


def public_tables() -> None:
    """What is said of the largest run of each public table, and what the runs would have to show.

    `last_slope` and `slope_to_target` are d log T / d log p over the last doubling that was known
    and from there to the target: where they differ much, the runs do not show what happens.
    """
    found = []
    for name, factor, known, seen, forecast in public_forecasts():
        at = known.groupby("p")["seconds"].mean().sort_index()
        p, times = at.index.to_numpy(float), at.to_numpy()
        target, said_to_be = p[-1] * factor, float(forecast.time.data[0])
        low, high = float(forecast.time_low[0]), float(forecast.time_high[0])
        found.append(
            {
                "program": name,
                "times_beyond": factor,
                "runs": len(known),
                "seen": seen,
                "forecast": round(said_to_be, 4),
                "low": round(low, 4),
                "high": round(high, 4),
                "covered": low <= seen <= high,
                "log_error": round(float(np.log(said_to_be / seen)), 3),
                "a + b/p + c/d of totals": round(
                    float(np.log(by_rival("a + b/p + c/d of totals", known, target, 1) / seen)), 3
                ),
                "last_slope": round(float(np.diff(np.log(times))[-1] / np.diff(np.log(p))[-1]), 2),
                "slope_to_target": round(float(np.log(seen / times[-1]) / np.log(target / p[-1])), 2),
            }
        )
    write("public-tables", found, seed="none: nothing is drawn but the forecasts' own, as users get")


def write(name: str, rows: list[Row], **particulars: object) -> None:
    """Put one of the three on record."""
    write_record(name, rows, command=f"python -m tests.campaigns.forecasts {name}", **particulars)


PARTS = {
    "forecasts": forecasts,
    "forecasts-departing": partial(forecasts, "forecasts-departing", DEPARTED, departing),
    "next-run": next_run,
    "comparisons": comparisons,
    "public-tables": public_tables,
}

if __name__ == "__main__":
    PARTS[sys.argv[1]]()
