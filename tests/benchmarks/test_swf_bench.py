"""How fast a job log is read; the file is written by the benchmark itself."""

from __future__ import annotations

import numpy as np
import pytest

from qmodels.io import read_swf, write_swf


@pytest.fixture(scope="module")
def rows(request):
    """300,000 where time is measured; else enough to be read in several pieces."""
    return 300_000 if request.config.getoption("--benchmark-enable") else 30_000


@pytest.fixture(scope="module")
def logs(tmp_path_factory, rows):
    rng = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("logs")
    size = 2 ** rng.integers(0, 9, rows)
    jobs = {
        "submit": np.cumsum(rng.integers(0, 600, rows)),
        "wait": rng.integers(0, 20_000, rows),
        "run": rng.integers(1, 80_000, rows),
        "processors": size,
        "cpu_time": rng.integers(1, 8_000_000, rows) / 100,
        "requested_processors": size,
        "status": rng.choice([0, 1, 5], rows),
        "user": rng.integers(1, 200, rows),
        "queue": rng.integers(0, 30, rows),
        "partition": 2 * np.ones(rows, dtype=int),
    }
    for suffix in ("swf", "swf.gz"):
        write_swf(folder / f"log.{suffix}", jobs, header={"MaxRecords": rows})
    return folder


@pytest.mark.parametrize("suffix", ["swf", "swf.gz"])
def test_300_000_rows_are_read(benchmark, logs, rows, suffix):
    log = benchmark(read_swf, logs / f"log.{suffix}")
    assert len(log.jobs) == rows
    assert log.warnings == ()
