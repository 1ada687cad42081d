"""Stated errors of fitting on thirty processes outside of the fitted families, as a record.

``python -m tests.campaigns.fit_errors`` draws three histories of each process of
`tests.campaigns.outside_processes`, fits them by `fit_map`, and asks queues of one, four and
sixteen servers with the fitted process for mean and percentiles of the wait and the response, with
the errors that are stated of them. The truth is three runs of 2.5 million jobs of the process
itself, by a recursion that shares no code with the package. It takes some twelve minutes of a
processor.

`rate` says what was known: "of the data", where the service is given in seconds, so that the load
is known as well as the history tells its rate; or "given", the fitted process at the true rate.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from numba import njit

from phasefit import PhaseType, fit_map, match_moments
from phasefit.errors import ModelError
from qmodels.errors import MemoryBudgetError, UnstableError
from qmodels.networks.many_server import ManyServerQueue
from tests.campaigns.outside_processes import HISTORY_SEED, PROCESSES, SIZES, TRUTH_SEED
from tests.campaigns.record import write_record

#: Processes of one kind: the first and the one after the last in the list.
FAMILIES = {
    "waves_of_several_scales": (0, 9),
    "long_range": (9, 14),
    "sessions": (14, 17),
    "cycles": (17, 19),
    "renewal": (19, 23),
    "regimes": (23, 25),
    "near_periodic": (25, 27),
    "correlated": (27, 28),
    "self_exciting": (28, 29),
    "seasons": (29, 30),
}
LOADS = (0.5, 0.7, 0.9)
#: Law of a service of mean one, and how many servers.
QUEUES = (
    ("exponential", PhaseType.exponential(mean=1.0), 1),
    ("scv 4", match_moments(1.0, 5.0), 4),
    ("Erlang 2", PhaseType.erlang(phases=2, mean=1.0), 16),
)
ASKED = (("wait", None), ("wait", 0.95), ("response", 0.95))
RUNS, JOBS, WARM_UP = 3, 2_500_000, 200_000
NAMES = {
    ("wait", None): "mean wait",
    ("wait", 0.95): "p95 wait",
    ("response", 0.95): "p95 response",
}


@njit(cache=True)
def waits_in_order(gaps, service, servers):
    """Waits of jobs in order of arrival: each takes the server that is free first."""
    free = np.zeros(servers)
    waits = np.empty(gaps.size)
    now = 0.0
    for i in range(gaps.size):
        now += gaps[i]
        first = 0
        for k in range(1, servers):
            if free[k] < free[first]:
                first = k
        start = max(now, free[first])
        waits[i] = start - now
        free[first] = start + service[i]
    return waits


def truths(place, draw):
    """Mean gap of a process, and by queue, load and question the truth and its standard error."""
    runs = [draw(JOBS, np.random.default_rng([TRUTH_SEED, place, r])) for r in range(RUNS)]
    mean = float(np.mean([gaps.mean() for gaps in runs]))
    found = {}
    for name, law, servers in QUEUES:
        values = np.empty((RUNS, len(LOADS), len(ASKED)))
        for r, gaps in enumerate(runs):
            drawn = law.rvs(gaps.size, np.random.default_rng([TRUTH_SEED, place, r, servers]))
            for at, load in enumerate(LOADS):
                service = drawn * load * servers * mean
                waits = waits_in_order(gaps, service, servers)[WARM_UP:]
                stays = waits + service[WARM_UP:]
                values[r, at] = waits.mean(), np.quantile(waits, 0.95), np.quantile(stays, 0.95)
        known = values.std(axis=0, ddof=1) / RUNS**0.5
        for at, load in enumerate(LOADS):
            for k, asked in enumerate(ASKED):
                found[name, load, asked] = float(values[:, at, k].mean()), float(known[at, k])
    return mean, found


def fits(gaps):
    """The fits that are tried, by name; None for one refused. Two phases of 20,000 gaps alone."""
    for name, scales in (("default", None), ("two phases", 0)):
        if scales == 0 and gaps.size != SIZES[1]:
            continue
        try:
            yield name, fit_map(gaps, scales=scales)
        except ModelError:
            yield name, None


def rows_of(place):
    """All rows of the process in that place of the list, and processor seconds of them."""
    began = time.process_time()
    rows = list(_rows_of(place, *list(PROCESSES.items())[place]))
    return rows, time.process_time() - began


def _rows_of(place, process, draw):
    mean, truth = truths(place, draw)
    for number, size in enumerate(SIZES):
        gaps = draw(size, np.random.default_rng([HISTORY_SEED, place, number]))
        for kind, fit in fits(gaps):
            for name, law, servers in QUEUES:
                for load in LOADS:
                    for rate in ("of the data", "given"):
                        row = {
                            "process": process,
                            "gaps": size,
                            "fit": kind,
                            "service": name,
                            "servers": servers,
                            "load": load,
                            "rate": rate,
                        }
                        yield from answers(row, fit, law.scale(load * servers * mean), mean, truth)


def answers(row, fit, service, mean, truth):
    """Rows of the questions that are asked of one queue."""
    blank = dict.fromkeys(("predicted", "of_data", "low", "high", "stated"), "")
    solved, why = None, "" if fit is not None else "refused by fit_map"
    if fit is not None:
        process = fit.process if row["rate"] == "of the data" else fit.process.at_rate(1.0 / mean)
        try:
            solved = ManyServerQueue(process, service, servers=row["servers"]).solve()
        except (UnstableError, MemoryBudgetError) as error:
            why = type(error).__name__
    for asked in ASKED[:: 2 if row["servers"] == 16 else 1]:  # that wait's law takes a second
        value, known = truth[row["service"], row["load"], asked]
        about = {"asked": NAMES[asked], "truth": value, "truth_standard_error": known, "none": why}
        if solved is None:
            yield row | about | blank
            continue
        error = solved.fit_error(*asked)
        yield (
            row
            | about
            | {
                "predicted": error.predicted,
                "of_data": error.on_data,
                "low": error.low,
                "high": error.high,
                "stated": error.error,
            }
        )


def holds(row):
    """Whether the prediction is within the factor that was stated of the truth."""
    if row["predicted"] == row["truth"] or row["stated"] == np.inf:
        return True
    if not row["predicted"] > 0.0 or not row["truth"] > 0.0:
        return False
    return bool(abs(np.log(row["predicted"] / row["truth"])) <= np.log1p(row["stated"]))


def summary(rows):
    """Shares by question, size, fit and family of processes, and how far predictions are off."""
    found = {}
    asked = [row for row in rows if row["stated"] != ""]
    groups = {"all": lambda row: True}
    groups |= {NAMES[a]: lambda row, a=a: row["asked"] == NAMES[a] for a in ASKED}
    groups |= {f"{n} gaps": lambda row, n=n: row["gaps"] == n for n in SIZES}
    groups |= {kind: lambda row, k=kind: row["fit"] == k for kind in ("default", "two phases")}
    groups |= {rate: lambda row, r=rate: row["rate"] == r for rate in ("of the data", "given")}
    for family, (first, end) in FAMILIES.items():
        names = list(PROCESSES)[first:end]
        groups[family] = lambda row, n=names: row["process"] in n
    for name, chosen in groups.items():
        some = [row for row in asked if chosen(row)]
        stated = [row for row in some if np.isfinite(row["stated"])]
        key = name.replace(" ", "_")
        found[f"rows_{key}"] = len(some)
        if stated:
            found[f"share_stated_{key}"] = round(len(stated) / len(some), 4)
            found[f"share_held_{key}"] = round(float(np.mean([holds(row) for row in stated])), 4)
            found[f"median_stated_{key}"] = round(float(np.median([r["stated"] for r in stated])), 3)
    by_process = [
        [holds(row) for row in asked if row["process"] == name and np.isfinite(row["stated"])]
        for name in PROCESSES
    ]
    found["processes_held_in_85_per_cent"] = sum(sum(held) >= 0.85 * len(held) > 0.0 for held in by_process)
    found["processes_without_a_stated_error"] = sum(not held for held in by_process)
    off = [abs(row["predicted"] / row["truth"] - 1.0) for row in asked]
    found["median_off"] = round(float(np.median(off)), 3)
    found["off_beyond_twenty_per_cent"] = round(float(np.mean(np.array(off) > 0.2)), 3)
    found["refused"] = len(rows) - len(asked)
    return found


def main() -> None:
    """Go through all processes, write the record."""
    rows, seconds = [], 0.0
    with ProcessPoolExecutor(2) as pool:
        for found, took in pool.map(rows_of, range(len(PROCESSES))):
            rows += found
            seconds += took
            print(f"{found[0]['process']}: {took:.0f} s", file=sys.stderr, flush=True)
    write(rows, seconds)


def write(rows, seconds):
    """Write the record of these rows, to five digits, which took so many processor seconds."""
    facts = summary(rows)
    rows = [{name: f"{x:.5g}" if isinstance(x, float) else x for name, x in row.items()} for row in rows]
    write_record(
        "fit-errors",
        rows,
        command="python -m tests.campaigns.fit_errors",
        cpu_seconds=round(seconds, 1),
        seed=HISTORY_SEED,
        truth_seed=TRUTH_SEED,
        processes=len({row["process"] for row in rows}),
        **facts,
    )
    print(facts)


if __name__ == "__main__":
    main()
