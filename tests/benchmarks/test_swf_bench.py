"""How fast a job log is read; the file is written by the benchmark itself."""

from __future__ import annotations

import numpy as np
import pytest

from qmodels.io import read_swf, write_swf

ROWS = 300_000


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("logs")
    size = 2 ** rng.integers(0, 9, ROWS)
    jobs = {
        "submit": np.cumsum(rng.integers(0, 600, ROWS)),
        "wait": rng.integers(0, 20_000, ROWS),
        "run": rng.integers(1, 80_000, ROWS),
        "processors": size,
        "cpu_time": rng.integers(1, 8_000_000, ROWS) / 100,
        "requested_processors": size,
        "status": rng.choice([0, 1, 5], ROWS),
        "user": rng.integers(1, 200, ROWS),
        "queue": rng.integers(0, 30, ROWS),
        "partition": 2 * np.ones(ROWS, dtype=int),
    }
    for suffix in ("swf", "swf.gz"):
        write_swf(folder / f"log.{suffix}", jobs, header={"MaxRecords": ROWS})
    return folder


@pytest.mark.parametrize("suffix", ["swf", "swf.gz"])
def test_300_000_rows_are_read(benchmark, logs, suffix):
    log = benchmark(read_swf, logs / f"log.{suffix}")
    assert len(log.jobs) == ROWS
    assert log.warnings == ()
