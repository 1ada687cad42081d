from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from qmodels.errors import ModelError
from qmodels.io.scenario import load_scenario
from qmodels.pages import surface as interactive
from qmodels.programs import Phase, Program, speedup_surface
from qmodels.programs.superlinear import superlinear
from validation.study.report import write_report
from validation.study.run import run_study

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "measured-runs.toml"


class Document(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def policy(self):
        return next(m["content"] for m in self.all("meta") if "http-equiv" in m)


@pytest.fixture(scope="module")
def study():
    plan = load_scenario(EXAMPLE)
    return run_study(replace(plan, validation=None, policies=plan.policies[:2], loads=(0.2,)))


@pytest.fixture(autouse=True)
def _short_library(monkeypatch):
    monkeypatch.setattr(interactive, "_library", lambda: 'var Plotly = {"a": 1 < 2 && "b"};')


def test_a_report_has_no_script_unless_it_is_asked_for(study, tmp_path):
    page = Document(write_report(study, tmp_path, command="x").read_text())
    assert not page.all("script")
    assert not page.all("iframe")
    assert "script-src" not in page.policy
    assert page.policy.startswith("default-src 'none'")


def test_a_report_puts_the_worst_warnings_below_the_findings_and_marks_ties(study, tmp_path):
    worst = "The programs' times were multiplied by 263.8"
    doubtful = replace(study, warnings=(worst, "second", "third", "light"), grave=3)
    text = html.unescape(write_report(doubtful, tmp_path, command="x").read_text())
    top = text[text.index('class="findings"') : text.index("The machine and the workload")]
    assert worst in top
    assert "second" in top
    assert "third" not in top
    assert text.rindex("light</li>") > text.index("Assumptions and warnings")
    for policy in study.scenario.policies:
        assert f"<dt>{policy.label}</dt><dd>{policy.in_words(study.scenario.system)}" in text
    assert text.count("\N{NO-BREAK SPACE}≈") == 2 * bool(study.recommendation(0.2).ties)
    assert "@media print" in text
    assert "max-width: 640px" in text


def test_a_superlinear_speedup_is_explained_below_every_figure_of_it(study, tmp_path):
    said = superlinear(study.scenario.program, study.surface)
    page = html.unescape(write_report(study, tmp_path, command="x", interactive=True).read_text())
    assert page.count("is more than the processors alone could give") == (2 if said else 0)
    reader = Program([Phase(io=90.0, cpu=10.0)])
    scenario = replace(study.scenario, program=reader)
    steep = replace(study, scenario=scenario, surface=speedup_surface(reader, [1, 2], [1, 8]))
    page = html.unescape(write_report(steep, tmp_path, command="x", interactive=True).read_text())
    assert page.count("the I/O is 8 times as fast on 8 disks") == 2


class TestAnInteractiveReport:
    @pytest.fixture
    def page(self, study, tmp_path):
        report = write_report(study, tmp_path, command="x", interactive=True)
        assert {f.suffix for f in tmp_path.iterdir()} == {".html", ".csv", ".png"}
        assert len(list(tmp_path.glob("*.html"))) == 1
        return Document(report.read_text())

    def test_frames_the_surface_in_a_sandbox_apart_from_the_page(self, page):
        assert not page.all("script")
        (frame,) = page.all("iframe")
        assert frame["sandbox"].split() == ["allow-scripts", "allow-downloads"]
        assert "src" not in frame
        inner = Document(frame["srcdoc"])
        assert len(inner.all("script")) == 3
        assert '"measured"' in frame["srcdoc"]

    def test_admits_the_scripts_of_the_frame_by_their_hashes_only(self, page):
        (frame,) = page.all("iframe")
        assert page.policy == Document(frame["srcdoc"]).policy == interactive.script_policy()
        sources = page.policy.split("script-src")[1].split(";")[0].split()
        assert len(sources) == 2
        assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", source) for source in sources)

    def test_keeps_its_fixed_figure(self, page):
        assert len(page.all("img")) >= 2
        assert all(image["src"].startswith("data:image/png") for image in page.all("img"))


def test_a_report_cannot_be_interactive_without_plotly(study, tmp_path, monkeypatch):
    monkeypatch.undo()
    interactive._library.cache_clear()
    monkeypatch.setattr(interactive, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install"):
        write_report(study, tmp_path / "out", command="x", interactive=True)
    assert not (tmp_path / "out").exists()
