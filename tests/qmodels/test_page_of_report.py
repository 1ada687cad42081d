"""`Report`: the same findings, notes and tables on a page, in a terminal and for a program."""

import json

import pandas as pd
from matplotlib.figure import Figure

from qmodels.pages.report import Grid, Picture, Report, Section
from tests.page_checks import Outline, problems

FRAME = pd.DataFrame({"name": ["a<b", "c"], "mean": [1.0, float("nan")]})


def drawn():
    figure = Figure(figsize=(2, 1))
    return figure, "One curve, of 0 points: there is nothing to see."


def report():
    cells = {
        "name": lambda row: row.name,
        "mean": lambda row: f"{row.mean:.1f}" if row.mean == row.mean else "unknown",
        "tail": lambda row: "3" if row.mean == row.mean else None,
    }
    parts = (
        Picture("curve", "A curve.", drawn),
        Grid("Means", FRAME.itertuples(index=False), cells),
        "A remark.",
        {"a<b": "the first"},
    )
    return Report(
        title="Two of them",
        subtitle="on the same jobs",
        findings=["a<b leads."],
        notes=["Few jobs."],
        sections=(Section("means", "Their means", parts),),
        tables={"means.csv": FRAME},
        provenance="All numbers are in means.csv.",
    )


def test_a_page_holds_the_parts_in_their_order_with_names_escaped(tmp_path):
    report().write(tmp_path, command="qmodels compare")
    assert {file.name for file in tmp_path.iterdir()} == {
        "report.html",
        "report.json",
        "curve.png",
        "means.csv",
    }
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert problems(page) == []
    body = page[page.index("<body>") :]
    order = ["a&lt;b leads.", "Few jobs.", "A curve.", "Means", "A remark.", "the first", "All numbers"]
    places = [body.index(text) for text in order]
    assert places == sorted(places)
    cells = [(each["text"], each["attrs"].get("colspan")) for each in Outline(page).all("td")]
    assert cells == [("1.0", None), ("3", None), ("unknown", "2")]  # a cell may go on in the next column


def test_a_text_and_json_say_what_the_page_says(tmp_path):
    assert report().text() == "- a<b leads.\n- Note: Few jobs."
    report().write(tmp_path, command="x")
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["schema"] == "qmodels.report"
    assert (told["findings"], told["notes"]) == (["a<b leads."], ["Few jobs."])
    assert told["tables"] == {"means": [{"name": "a<b", "mean": 1.0}, {"name": "c", "mean": None}]}
