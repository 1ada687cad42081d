"""Benchmark runs beside production (TOKIO-ABC) as groups of like runs, and the split of their months.

The split was written down before anything was fitted to these tables: what began before 14 June 2017 is
learnt from (four months), what began from then on until 13 August 2017 is checked (two months). Later months
are kept apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas as pd

DATA: Final = Path(__file__).parents[2].parent / "shared" / "data" / "measured"
MACHINES: Final = ("cori", "edison", "mira")
#: 14 June 2017, 00:00 UTC, in epoch seconds.
CHECKED_FROM: Final = 1497398400.0
#: Groups with fewer runs to learn from, or to check, are left out and counted.
LEAST_LEARNT: Final = 30
LEAST_CHECKED: Final = 15


def read_groups(machine: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the runs of each group in order of time: machine, file system, program, ranks, way and size."""
    runs = pd.read_csv(DATA / f"tokio-{machine}.csv.gz").sort_values("datetime_start")
    reads = runs["darshan_tot_bytes_read_posix"] > runs["darshan_tot_bytes_written_posix"]
    runs["way"] = reads.map({True: "read", False: "write"})
    runs["gib"] = runs["darshan_total_gibs_posix"].map(lambda x: float(f"{x:.2g}"))
    runs["seconds"] = runs["darshan_total_gibs_posix"] * 1024.0 / runs["darshan_agg_perf_by_slowest_posix"]
    runs = runs[(runs["seconds"] > 0.0) & runs["seconds"].notna()]
    keys = ["file_system", "darshan_app", "darshan_nprocs", "way", "gib"]
    for key, group in runs.groupby(keys, sort=True):
        yield " ".join(map(str, (machine, *key))), group


def split(group: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """Return the runs to learn from and those to check; None where there are too few of either."""
    later = group["datetime_start"] >= CHECKED_FROM
    learnt, checked = group[~later], group[later]
    if len(learnt) < LEAST_LEARNT or len(checked) < LEAST_CHECKED:
        return None
    return learnt, checked
