"""Odd and damaged tables of runs: refused in words or read rightly, never silently wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from qmodels.errors import TraceFormatError
from qmodels.io.runs import read_runs
from tests.campaigns.record import FOLDER
from tests.odd_tables import ACCIDENTS, SMALL, outcome


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize("accident", list(ACCIDENTS))
def test_an_odd_table_is_refused_or_read_rightly(accident, tmp_path):
    """10^4 of real runs: `python -m tests.campaigns.odd_tables`."""
    rng = np.random.default_rng(34)
    changed = [odd for table in SMALL for _ in range(3) if (odd := ACCIDENTS[accident](table, rng))]
    found = {outcome(odd, tmp_path / "runs.csv") for odd in changed}
    assert found <= {"right", "refused"}
    assert changed


OTHERS = ["time_ms", "walltime [min]", "elapsed (us)", "t in hours", "milliseconds", "time/min", "wall (m)"]
MORE = [
    "time ms",
    "time/ms",
    "wallMs",
    "ms",
    "time_µs",
    "t_us_mean",
    "wall_h",
    "duration_mins",
    "ns/day",
    "ns_per_day",
]
RATES = ["speedup", "Speed-up (mean)", "parallel efficiency", "GFLOPS", "MB/s", "steps_per_second"]


@pytest.mark.parametrize("name", [*OTHERS, *MORE, *RATES])
def test_a_column_in_another_unit_is_refused_by_its_name(tmp_path, name):
    path = tmp_path / "runs.csv"
    path.write_text(f"np,{name}\n1,4\n2,3\n4,2\n")
    with pytest.raises(TraceFormatError, match="not in seconds; convert it"):
        read_runs(path, columns={"p": "np", "seconds": name})


@pytest.mark.parametrize(
    "name",
    ["time_s", "Time (seconds)", "t [sec]", "items", "per-ns", "t_min", "s/day", "time_p50", "h", "T / s"],
)
def test_other_names_of_columns_are_not(tmp_path, name):
    path = tmp_path / "runs.csv"
    path.write_text(f"np,{name}\n1,4\n2,3\n4,2\n")
    assert read_runs(path, columns={"p": "np", "seconds": name}).frame["seconds"].tolist() == [4.0, 3.0, 2.0]


def test_the_campaign_on_ten_thousand_real_tables_found_nothing_wrong():
    table = pd.read_csv(FOLDER / "odd-tables.csv")
    assert table[["wrong", "says NaN", "says Infinity"]].to_numpy().sum() == 0
    assert table[["right", "refused"]].to_numpy().sum() >= 10_000
