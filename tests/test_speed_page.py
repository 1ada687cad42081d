"""The page of speeds, and when a measurement counts as slower."""

import sys
from pathlib import Path

import pytest

from tests.campaigns.benchmarks import COLUMNS, JOBS, regressions

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))

from write_speed import PAGE, page, section  # noqa: E402

HEADER = ",".join(COLUMNS)


def test_every_record_of_benchmarks_is_a_section_with_its_references(tmp_path):
    (tmp_path / "benchmarks-mesh.csv").write_text(
        f"{HEADER}\nhops,2.5,2,1,2,2026-01-02,abc,EPYC,1.5\n", encoding="utf-8"
    )
    (tmp_path / "benchmarks.csv").write_text(
        f"{HEADER}\nfit,,3,1.5,2,2026-01-02,abc,EPYC,1.5\n", encoding="utf-8"
    )
    (tmp_path / "benchmarks-mesh.toml").write_text('references = ["hops: in C"]\n', "utf-8")
    made = page(tmp_path)
    assert "## mesh" in made
    assert "| hops | 2.5 | 2 | 1 | 2 | 1.5 |" in made
    assert "- hops: in C" in made
    assert "| fit | - | 3 | 1.5 | 2 | 1.5 |" in made  # no earlier code was measured
    assert made.count("Measured 2026-01-02 at commit abc on EPYC.") == 2


@pytest.mark.parametrize(("ratio", "worse"), [(1.0, 0), (2.4, 0), (2.41, 1)])
def test_a_ratio_a_fifth_above_the_record_is_a_regression(ratio, worse):
    old = {"fit": {"job": "fit", "ratio": "2"}}
    rows = [{"job": "fit", "ratio": ratio}, {"job": "new", "ratio": 100.0}]
    assert len(regressions(old, rows)) == worse


def test_the_page_holds_what_the_record_of_chains_says():
    made = section(DOCS / "record" / "benchmarks-chains.csv")
    assert made in PAGE.read_text(encoding="utf-8"), "run docs/write_speed.py"
    assert len({job.name for job in JOBS}) == len(JOBS)
