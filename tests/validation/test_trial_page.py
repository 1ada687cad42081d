"""The section of the page on the trial that is made from its record."""

from pathlib import Path

import pandas as pd
import pytest

from validation.papers.base import Finding
from validation.papers.record import write_record
from validation.papers.trial.campaign import grid_names
from validation.papers.trial.page import MARKERS, WORST_ROWS, record_section

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def recorded(tmp_path):
    rows = [
        {
            "cell": "8x8 SP(4,1) 2:1 N=5 scv=1 write",
            "policy": "SP(4,1)",
            "strategy": strategy,
            "load": load,
            "simulated": time,
            "half_width": 0.01,
            "corrected": made,
            "error": made / time - 1.0,
            "error_uncorrected": 0.4,
            "error_equal_shares": 0.07,
            "error_seen_speeds": 0.0,
            "covers": True,
            "kept_out": False,
            "cause": "within both intervals",
        }
        for load in (0.6, 0.8)
        for strategy, time, made in (("MC", 1.0, 1.01), ("MBS", 2.0, 3.3), ("Random", 3.0, 3.1))
    ]
    write_record(
        tmp_path,
        "trial",
        pd.DataFrame(rows),
        command="x",
        modules=["validation.papers.trial.comparison"],
        seed=0,
        cpu_seconds=1.0,
        findings=[Finding("T-7", "tau is .9", "undecided", "0.79")],
    )
    return record_section(tmp_path)


def test_the_section_has_errors_ranks_the_worst_and_what_was_not_run(recorded):
    assert "| SP, 8x8 | 6 | 3.3% |" in recorded
    assert "| 6 | 7.0% | 40.0% |" in recorded
    assert "\n- tau is .9: undecided, 0.79.\n" in recorded
    assert "| 0.6 | MC < MBS < Random | MC < Random < MBS |" in recorded
    assert "mean tau of all cells is 0.33" in recorded  # two of three pairs are in order
    assert recorded.count("| ± 1.0% |") == min(6, WORST_ROWS)
    first = recorded.index("MBS | 0.6 | +65.0%")
    assert first < recorded.index("Random | 0.6 | +3.3%")
    left = recorded.partition("- 16x22: ")[2]
    assert "TS(4,1;M=2) 8:1, " in left
    assert "SP(4,1) 1:1 N=12, " in left


def test_cells_that_a_grid_on_record_has_were_run(tmp_path):
    table = pd.DataFrame({"cell": [], "policy": [], "strategy": []})
    for name, cells in (("trial", []), ("trial-grid-16x22", grid_names()[50:])):
        few = dict.fromkeys(("load", "simulated", "half_width", "corrected", "error"), 0.5)
        rows = table.reindex(range(len(cells))).assign(cell=cells, policy="SP", strategy="MC")
        rows = rows.assign(
            **few,
            error_uncorrected=0.1,
            error_equal_shares=0.1,
            error_seen_speeds=0.0,
            covers=True,
            kept_out=False,
            cause="",
        )
        write_record(
            tmp_path,
            name,
            rows,
            command="x",
            modules=["validation.papers.trial.comparison"],
            seed=0,
            cpu_seconds=1.0,
            findings=[Finding("T-7", "tau is .9", "undecided", "0.79")],
        )
    made = record_section(tmp_path)
    assert "Of the grid 50 cells were not run" in made
    assert "- 16x22: " not in made
    assert "- 16x16: SP(4,1) 8:1, " in made


def test_without_a_record_it_says_so(tmp_path):
    assert record_section(tmp_path).startswith("There is no record")


@pytest.mark.thorough
def test_the_page_holds_what_the_record_says():
    page = (DOCS / "explanation" / "trial.md").read_text(encoding="utf-8")
    made = page.partition(MARKERS[0])[2].partition(MARKERS[1])[0]
    assert made.strip() == record_section(DOCS / "record").strip(), "run docs/write_trial.py"
