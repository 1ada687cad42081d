from __future__ import annotations

import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from qmodels.io.scenario import load_scenario
from qmodels.pages import surface as interactive
from qmodels.programs import Phase, Program, speedup_surface
from qmodels.programs.superlinear import superlinear
from tests.browser import CHROMIUM
from tests.figure_checks import texts_of
from tests.page_checks import AXE, axe, problems
from validation.study.findings import meanings
from validation.study.panels import study_figures
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


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    """A report and what lies beside it; read only."""
    return write_report(study, tmp_path_factory.mktemp("report"), command="x").parent


@pytest.fixture(scope="module")
def turning(study, tmp_path_factory):
    """The same with the surface to turn."""
    folder = tmp_path_factory.mktemp("turning")
    return write_report(study, folder, command="x", interactive=True).parent


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "report.html").read_text()


@pytest.mark.thorough
def test_a_report_has_no_script_unless_it_is_asked_for(text):
    page = Document(text)
    assert not page.all("script")
    assert not page.all("iframe")
    assert "script-src" not in page.policy
    assert page.policy.startswith("default-src 'none'")


@pytest.mark.thorough
def test_a_report_can_be_followed_by_all_readers(text):
    assert problems(text) == []


@pytest.mark.thorough
def test_a_report_begins_with_the_findings_and_what_labels_say(study, text):
    text = html.unescape(text)
    places = [
        text.index(words)
        for words in (
            '<h2 id="findings">',
            "Mean response time against load under policies of the findings",
            "SP(p,d) is space sharing: ",
            '<h2 id="machine">',
            "By then the process had spent ",
        )
    ]
    assert places == sorted(places)
    for policy in study.scenario.policies:
        words = policy.in_words(study.scenario.system)
        assert f'<abbr title="{words}">{policy.label}</abbr>' in text
    first = text.split('<ol class="findings">')[1].split("</ol>")[0]
    assert "(space sharing" not in first  # said once, in the legend


@pytest.mark.thorough
def test_labels_are_spelled_out_where_there_is_nothing_to_point_with(study, text):
    """On paper and on a telephone: those of the findings at once, those of figures in the list."""
    page = html.unescape(text)
    first = page.split('<ol class="findings">')[1].split("</ol>")[0]
    at_once = page.split('<h2 id="named">')[1].split("</dl>")[0]
    listed = page.split('<h3 id="labels">')[1].split("</dl>")[0]
    said = {label for label in meanings(study) if label in first}
    assert said
    assert {label for label in meanings(study) if f"<dt>{label}</dt>" in at_once} == said
    drawn = {
        label
        for rows in study_figures(study).values()
        for row in rows
        for panel in row
        if panel
        for text in texts_of(panel[0])
        for label in re.findall(r"[A-Z]+\([\d,;M=]+\)", text)
    }
    assert drawn
    for label in drawn:
        assert f"<dt>{label}</dt><dd>{meanings(study)[label]}</dd>" in listed


@pytest.mark.thorough
def test_a_figure_says_which_curve_is_lowest(study, text):
    page = Document(text)
    best = study.recommendation(0.2).rows[0]
    answer = page.all("img")[0]["alt"]
    assert answer.startswith("Mean response time against load, with bands of stated errors.")
    assert f"{best.label} with" in answer


def test_a_report_puts_the_worst_warnings_below_the_findings_and_marks_ties(study, tmp_path):
    worst = "The programs' times were multiplied by 263.8"
    doubtful = replace(study, warnings=(worst, "second", "third", "light"), grave=3)
    text = html.unescape(write_report(doubtful, tmp_path, command="x").read_text())
    top = text[text.index('class="findings"') : text.index('<h2 id="legend">')]
    assert worst in top
    assert "second" in top
    assert "third" not in top
    assert text.rindex("light</li>") > text.index("Assumptions and warnings")
    for policy in study.scenario.policies:
        assert f"<dt>{policy.label}</dt><dd>{policy.in_words(study.scenario.system)}" in text
    assert text.count("\N{NO-BREAK SPACE}≈") == 2 * bool(study.recommendation(0.2).ties)
    assert "@media print" in text
    assert "max-width: 640px" in text


@pytest.mark.thorough
def test_a_superlinear_speedup_is_explained_below_every_figure_of_it(study, turning, tmp_path):
    said = superlinear(study.scenario.program, study.surface)
    page = html.unescape((turning / "report.html").read_text())
    assert page.count("is more than the processors alone could give") == (2 if said else 0)
    reader = Program([Phase(io=90.0, cpu=10.0)])
    scenario = replace(study.scenario, program=reader)
    steep = replace(study, scenario=scenario, surface=speedup_surface(reader, [1, 2], [1, 8]))
    page = html.unescape(write_report(steep, tmp_path, command="x", interactive=True).read_text())
    assert page.count("the I/O is 8 times as fast on 8 disks") == 2


@pytest.mark.thorough
class TestAnInteractiveReport:
    @pytest.fixture(scope="class")
    @staticmethod
    def page(turning):
        assert {f.suffix for f in turning.iterdir()} == {".html", ".csv", ".json", ".png"}
        assert len(list(turning.glob("*.html"))) == 1
        return Document((turning / "report.html").read_text())

    def test_frames_the_surface_in_a_sandbox_apart_from_the_page(self, page):
        assert not page.all("script")
        (frame,) = page.all("iframe")
        assert frame["sandbox"].split() == ["allow-scripts", "allow-downloads"]
        assert "src" not in frame
        inner = Document(frame["srcdoc"])
        assert len(inner.all("script")) == 3
        assert '"measured":[[' in frame["srcdoc"]

    def test_admits_the_scripts_of_the_frame_by_their_hashes_only(self, page):
        (frame,) = page.all("iframe")
        inner = Document(frame["srcdoc"]).policy
        scripts = [policy.partition("script-src")[2].partition(";")[0] for policy in (page.policy, inner)]
        assert scripts[0] == scripts[1]
        assert page.policy == interactive.FRAME_POLICY
        sources = page.policy.split("script-src")[1].split(";")[0].split()
        assert len(sources) == 2
        assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", source) for source in sources)

    def test_keeps_its_fixed_figure(self, page):
        assert len(page.all("img")) >= 2
        assert all(image["src"].startswith("data:image/svg+xml;base64,") for image in page.all("img"))


@pytest.mark.skipif(CHROMIUM is None or AXE is None, reason="AXE_CORE names no file")
def test_axe_finds_nothing_serious(folder, tmp_path):
    assert axe(folder / "report.html", tmp_path) == []
