"""Arrival processes fitted to counts for a load, on forty processes outside of the family, as a record.

``python -m tests.campaigns.map_counts`` draws one history of each process of
`tests.campaigns.unseen_processes`, fits it for each load, and asks a queue of one exponential server for
the mean wait, with the fitted process at the true rate, and with the load as the history tells it the
error that is stated. The history itself is played at the true rate as well. The truth is two runs of
600,000 jobs by a recursion that shares no code with the package. It takes some two minutes of a
processor.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from phasefit import PhaseType, fit_map
from phasefit.errors import ModelError
from qmodels.errors import UnstableError
from qmodels.networks.many_server import ManyServerQueue
from tests.campaigns.fit_errors import holds, waits_in_order
from tests.campaigns.record import write_record
from tests.campaigns.unseen_processes import HISTORY_SEED, SIZE, TRUTH_SEED, unseen_processes

LOADS = (0.5, 0.7, 0.9)
RUNS, JOBS, WARM_UP = 2, 600_000, 50_000
ONE = PhaseType.exponential(mean=1.0)


def truth(place, draw):
    """Mean gap of a process, and the mean wait and its standard error at each load."""
    waits = np.empty((RUNS, len(LOADS)))
    runs = [draw(JOBS, np.random.default_rng([TRUTH_SEED, place, r])) for r in range(RUNS)]
    mean = float(np.mean([gaps.mean() for gaps in runs]))
    for r, gaps in enumerate(runs):
        service = np.random.default_rng([TRUTH_SEED, place, r, 1]).exponential(size=gaps.size)
        for k, load in enumerate(LOADS):
            waits[r, k] = waits_in_order(gaps, service * load * mean, 1)[WARM_UP:].mean()
    return mean, waits.mean(axis=0), waits.std(axis=0, ddof=1) / RUNS**0.5


def rows_of(place):
    """A row for each load of the process in that place of the list, and processor seconds of them."""
    began = time.process_time()
    name, draw = list(unseen_processes().items())[place]
    return list(_rows_of(place, name, draw)), time.process_time() - began


def _rows_of(place, name, draw):
    mean, waits, known = truth(place, draw)
    gaps = draw(SIZE, np.random.default_rng([HISTORY_SEED, place]))
    for load, wait, error in zip(LOADS, waits.tolist(), known.tolist(), strict=True):
        row = {"process": name, "load": load, "truth": wait, "truth_standard_error": error}
        # what the history itself says, played at the true rate
        own = np.random.default_rng([HISTORY_SEED, place, 1]).exponential(load * mean, gaps.size)
        row["played"] = float(waits_in_order(gaps * (mean / gaps.mean()), own, 1).mean())
        blank = {"predicted": "", "stated": "", "order": "", "none": ""}
        service = ONE.scale(load * mean)
        try:
            fit = fit_map(gaps, load=load)
            given = ManyServerQueue(fit.process.at_rate(1.0 / mean), service, servers=1).solve()
            found = {"predicted": given.mean_wait, "order": fit.process.order}
            error_of_fit = given.fit_error("wait")
            yield row | blank | found | {"stated": error_of_fit.error}
        except (ModelError, UnstableError) as refused:
            yield row | blank | {"none": str(refused)[:60]}


def main() -> None:
    """Go through all processes, write the record."""
    rows, seconds = [], 0.0
    with ProcessPoolExecutor(4) as pool:
        for found, took in pool.map(rows_of, range(len(unseen_processes()))):
            rows += found
            seconds += took
            told = [f"{r['predicted'] / r['truth'] - 1.0:+.0%}" if r["none"] == "" else "-" for r in found]
            print(found[0]["process"], *told, file=sys.stderr, flush=True)
    asked = [row for row in rows if row["none"] == ""]
    off = np.array([abs(row["predicted"] / row["truth"] - 1.0) for row in asked])
    played = np.array([abs(row["played"] / row["truth"] - 1.0) for row in asked])
    stated = [row for row in asked if np.isfinite(row["stated"])]
    facts = {
        "cpu_seconds": round(seconds, 1),
        "processes": len(unseen_processes()),
        "refused": len(rows) - len(asked),
        "median_off": round(float(np.median(off)), 3),
        "nine_tenths_off": round(float(np.quantile(off, 0.9)), 3),
        "median_played": round(float(np.median(played)), 3),
        "nine_tenths_played": round(float(np.quantile(played, 0.9)), 3),
        "share_stated": round(len(stated) / len(asked), 3),
        "share_held": round(float(np.mean([holds(row) for row in stated])), 3),
    }
    rows = [{name: f"{x:.5g}" if isinstance(x, float) else x for name, x in row.items()} for row in rows]
    command = "python -m tests.campaigns.map_counts"
    write_record("map-counts", rows, command=command, seed=HISTORY_SEED, truth_seed=TRUTH_SEED, **facts)
    print(facts)


if __name__ == "__main__":
    main()
