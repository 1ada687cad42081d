"""What a study says where the arrivals of its log depend on each other."""

import re

import numpy as np
import pytest

from phasefit import MAP
from qmodels.io import load_scenario, write_swf
from validation.study.report import write_report
from validation.study.run import run_study

TEXT = """
[machine]
processors = 8
disks = 4
[log]
path = "jobs.swf"
[demand]
scale_to_log = true
[[program]]
name = "alpha"
io = { total = 2.0 }
cpu = { total = 30.0 }
[[policy]]
kind = "SP"
processor_partitions = [2]
disk_partitions = [2]
[study]
loads = [0.2, 0.4, 0.5]
"""


def scenario(folder, process, added=""):
    rng = np.random.default_rng(4)
    jobs = {
        "submit": np.cumsum(process.scale(60.0).rvs(3_000, rng)),
        "run": rng.exponential(100.0, 3_000) + 1,
        "processors": np.full(3_000, 2),
        "status": np.ones(3_000, int),
    }
    write_swf(folder / "jobs.swf", jobs)
    (folder / "scenario.toml").write_text(TEXT + added, encoding="utf-8")
    return load_scenario(folder / "scenario.toml")


TIDES = MAP.modulated([[0.0, 0.05], [0.05, 0.0]], rates=[1.8, 0.2])


def test_correlated_arrivals_are_told_in_seconds(tmp_path):
    study = run_study(scenario(tmp_path, TIDES))
    (said,) = [warning for warning in study.warnings if "dependence" in warning]
    assert said.startswith("Arrivals are correlated.")
    plain, counts, work = map(float, re.findall(r"in ([0-9.e+]+) s", said))
    # here sizes are independent of the arrivals, so both processes see what the law does not
    assert counts > 1.2 * plain
    assert work > 1.2 * plain


@pytest.mark.thorough
def test_nothing_is_said_where_arrivals_are_independent_or_followed(tmp_path):
    quiet = run_study(scenario(tmp_path, MAP.poisson(rate=1.0)))
    assert not [w for w in quiet.warnings if "dependence" in w]
    followed = run_study(scenario(tmp_path, TIDES, '[arrivals]\ndependence = "counts"\n'))
    assert not [w for w in followed.warnings if w.startswith("Arrivals are correlated")]
    out = tmp_path / "out"
    out.mkdir()
    write_report(followed, out, command="qmodels study")
    page = next(out.glob("*.html")).read_text(encoding="utf-8")
    assert "depend on those before" in page
    assert "arrival process of order" in page
