"""Write `sacct.txt` again, the log of a made-up machine as Slurm prints it: run this script.

A machine of 128 cores on 32 nodes lets jobs in first come, first served for two weeks. What sites'
own logs hold is there too: names with bars, command lines over several lines, steps, arrays, a
heterogeneous job, jobs that were cancelled while they waited, that failed, that still run or wait.
"""

from __future__ import annotations

import heapq
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

CORES, PER_NODE, DAYS, SEED = 128, 4, 14, 20261122
HERE = Path(__file__).parent
FIRST = datetime(2026, 3, 2, tzinfo=UTC)
COLUMNS = (
    "JobID",
    "JobName",
    "User",
    "Partition",
    "Submit",
    "Start",
    "End",
    "State",
    "AllocCPUS",
    "NNodes",
    "ElapsedRaw",
    "Timelimit",
    "SubmitLine",
)
NAMES = ("solver", "render", "job_0||0002|", "post|plot")
LINE = "sbatch --wrap 'srun ./step | tee log'"
SCRIPT = "sbatch <<EOF\n#!/bin/bash\nsrun ./step | gzip > out\nEOF"


def stamp(seconds: float) -> str:
    """A time as sacct prints it."""
    return (FIRST + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def main(path: Path = HERE / "sacct.txt") -> None:
    """Draw the jobs, let them in, write their rows."""
    rng = np.random.default_rng(SEED)
    submit = np.sort(rng.uniform(0.0, DAYS * 86_400.0, 300)).round()
    sizes = rng.choice([4, 8, 16, 32], submit.size, p=[0.4, 0.3, 0.2, 0.1])
    runs = np.ceil(rng.lognormal(9.4, 1.0, submit.size))
    ends: list[tuple[float, int]] = []  # of what runs
    free, now = CORES, 0.0
    rows = ["|".join(COLUMNS)]
    number = 4001
    for i in range(submit.size):
        if rng.random() < 0.06:  # gave up before it began
            given_up = submit[i] + 600
            rows.append(row(number, i, submit[i], given_up, given_up, "CANCELLED by 1004", sizes[i]))
            number += 1
            continue
        now = max(now, float(submit[i]))
        while ends and (ends[0][0] <= now or free < sizes[i]):
            end, cores = heapq.heappop(ends)
            now, free = max(now, end), free + cores
        heapq.heappush(ends, (now + runs[i], int(sizes[i])))
        free -= int(sizes[i])
        state = str(rng.choice(["COMPLETED", "FAILED", "TIMEOUT"], p=[0.88, 0.07, 0.05]))
        of_array = i % 40 in (20, 21)
        job = f"{number - (i % 40 == 21)}_{i % 40 - 19}" if of_array else str(number)
        job += "+0" if i == 200 else ""
        last = now + float(runs[i])
        if last > DAYS * 86_400.0:
            rows.append(row(job, i, submit[i], now, None, "RUNNING", sizes[i]))
        else:
            rows.append(row(job, i, submit[i], now, last, state, sizes[i]))
            rows.append(row(f"{job}.batch", i, submit[i], now, last, state, PER_NODE))
        if i == 200:  # the second component of a heterogeneous job, on nodes of another kind
            rows.append(row(f"{number}+1", i, submit[i], now, last, state, 4))
        number += 1
    rows.append(row(f"{number}_[1-40%4]", 7, DAYS * 86_400.0 - 60, None, None, "PENDING", 4))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def row(
    job: object,
    i: int,
    submit: float,
    start: float | None,
    end: float | None,
    state: str,
    cores: int,
) -> str:
    """One row of sacct."""
    elapsed = 0 if start is None or end is None else int(end - start)
    times = [submit, start, end]
    fields = [
        str(job),
        NAMES[i % 3 if i % 10 else 3],
        f"user{i % 7}",
        "batch",
        *("Unknown" if at is None else stamp(at) for at in times),
        state,
        str(cores),
        str(-(-int(cores) // PER_NODE)),
        str(elapsed),
        "1-00:00:00",
        SCRIPT if i % 15 == 0 else LINE,
    ]
    return "|".join(fields)


if __name__ == "__main__":
    main()
