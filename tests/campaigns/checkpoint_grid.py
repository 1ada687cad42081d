"""Predictions of checkpoints against play on a grid of protocols and laws, as a record.

``python -m tests.campaigns.checkpoint_grid [INTERVALS]`` takes a tenth of a second of CPU for each
of 3,360 systems. It is the grid that the model was mended on, and so no trial on fresh systems;
`tests.campaigns.checkpoints` has those.
"""

from __future__ import annotations

import itertools
import math
import sys

import numpy as np

from phasefit import PhaseType
from qmodels import Checkpointing, ModelError, Storage, predict_checkpoints
from qmodels.checkpoints.model import MODES, STAGGERS
from tests.campaigns.record import write_record
from validation import simulate_checkpoints

JOBS = range(1, 9)
#: Transfers that are admitted, and so many that use the whole bandwidth.
PROTOCOLS = {"sharing": (None, 1.0), "turns": (1, 1.0), "two turns": (2, 2.0), "both": (2, 1.0)}
_STAGED = {
    "Erlang-4": PhaseType.erlang(phases=4, mean=1.0),
    "exponential": PhaseType.exponential(mean=1.0),
}
TIMERS = {
    "constant": 0.0,
    "uniform": 0.3,
    **_STAGED,
    "wide": PhaseType.hyperexponential(weights=[0.2, 0.8], means=[3.0, 0.5]),
    "clock": 0.0,
}
SIZES = {"constant": None, **_STAGED}
INTERVAL, MTBF = 10.0, 80.0
#: Percentiles that are compared; of up to eight equally frequent stalls none lies at a step.
LEVELS = (0.45, 0.95)


def systems():
    """Every system of the grid as (names, job, storage, jobs)."""
    for n, (protocol, (writers, full)), mode, timer, size, fails in itertools.product(
        JOBS, PROTOCOLS.items(), MODES, TIMERS, SIZES, (False, True)
    ):
        clock = timer == "clock"
        if clock and (fails or size != "constant"):
            continue  # nothing is claimed of them
        certain = not fails and timer in ("constant", "clock") and size == "constant"
        for stagger in STAGGERS if certain else STAGGERS[:1]:
            job = Checkpointing(
                1.0,
                INTERVAL,
                MTBF if fails else math.inf,
                mode=mode,
                jitter=TIMERS[timer],
                size_law=SIZES[size],
                stagger=stagger,
                timer="clock" if clock else "work",
            )
            names = {
                "jobs": n,
                "protocol": protocol,
                "mode": mode,
                "timer": timer,
                "size": size,
                "fails": fails,
                "stagger": stagger,
            }
            yield names, job, Storage(full, per_job=1.0, writers=writers), n


def compared(job, storage, n, intervals):
    """What is predicted and what is played for one system."""
    found = predict_checkpoints(job, storage, n)
    certain = math.isinf(job.mtbf) and job.jitter == 0.0 and job.size_law is None
    starts = certain and job.stagger == "random"
    played = simulate_checkpoints(
        job,
        storage,
        n,
        intervals=intervals if starts else max(intervals, 12_000 // n),
        replications=40 if starts else 8,
        seed=7 * n,
    )
    row = {"method": found.method, "low": found.low, "high": found.high}
    for name in ("goodput", "write", "stall", "utilisation"):
        seen = getattr(played, name)
        row |= {
            name: getattr(found, name),
            f"{name}_played": seen.mean,
            f"{name}_half_width": seen.half_width,
        }
    for q in LEVELS:
        try:
            known = found.percentile(q)
        except ModelError:
            known = math.nan
        row |= {f"stall_p{100 * q:.0f}": known, f"stall_p{100 * q:.0f}_played": played.percentile(q)}
    return row


def off(row, name):
    """Relative error; of a stall behind the work as a share of the cycle, which it is part of."""
    known, seen = row[name], row[f"{name}_played"]
    if name.startswith("stall") and row["mode"] == "asynchronous":
        return abs(known - seen) / (INTERVAL + seen)
    return abs(known / seen - 1.0) if seen else abs(known)


def regime(row):
    """What the stated errors are told by."""
    behind = "behind the work" if row["mode"] == "asynchronous" else "standing still"
    if row["method"].startswith("exact"):
        return "exact"
    if row["method"].startswith("depends"):
        return "random start"
    return f"{'failures' if row['fails'] else 'no failures'}, {behind}"


def summary(rows):
    """Median and largest error by regime, and how often the stated range of goodput held."""
    facts = {}
    for name in dict.fromkeys(regime(row) for row in rows):
        own = [row for row in rows if regime(row) == name]
        key = name.replace(", ", "_").replace(" ", "_")
        held = [
            row["low"] - row["goodput_half_width"] - 2e-3
            <= row["goodput_played"]
            <= row["high"] + row["goodput_half_width"] + 2e-3
            for row in own
        ]
        facts |= {f"{key}_systems": len(own), f"{key}_ranges_that_hold": int(sum(held))}
        for what in ("goodput", "write", "stall", "utilisation", "stall_p45", "stall_p95"):
            errors = [off(row, what) for row in own]
            errors = [error for error in errors if not math.isnan(error)]
            if errors:
                facts |= {
                    f"{key}_{what}_median": round(float(np.median(errors)), 5),
                    f"{key}_{what}_largest": round(float(max(errors)), 5),
                }
    return facts


def main(intervals: int) -> None:
    """Compare every system, say how far it has come, write the record."""
    rows = []
    for names, job, storage, n in systems():
        rows.append(names | compared(job, storage, n, intervals))
        if len(rows) % 200 == 0:
            print(f"{len(rows)} systems", file=sys.stderr, flush=True)
    found = summary(rows)
    command = f"python -m tests.campaigns.checkpoint_grid {intervals}"
    write_record("checkpoint-grid", rows, command=command, systems=len(rows), **found)
    for key, value in found.items():
        print(f"{key} = {value}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 400)
