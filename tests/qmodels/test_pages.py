from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from markupsafe import Markup

from qmodels.errors import ModelError
from qmodels.pages.page import page_templates
from qmodels.pages.surface import FRAME_POLICY, surface_data, surface_page
from qmodels.programs import Burst, Phase, Program, speedup_surface
from tests.browser import CHROMIUM, Browser
from tests.page_checks import AXE, axe, problems

PROGRAM = Program([Phase(4.0, Burst(96.0, sequential=1.0, per_processor=0.05))], name="solver")
SURFACE = speedup_surface(PROGRAM, [1, 2, 4, 8, 16], [1, 2, 4])
POINTS = [(1, 1), (4, 1), (1, 2), (4, 2)]
HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "</title><script>alert(1)</script>",
    '"><svg onload=alert(1)>',
    "<!--<script>",
    "{title} %s {0} \\u003c",
    "&lt;b&gt;",
    "\x1b[31m\x00",
    "\u2028\u202e",
    "x" * 5000,
]


class Document(HTMLParser):
    """The tags of a page, their attributes, and what stands in them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.inside, self._open = [], [], {}, []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if self._open:
            self.inside.setdefault(self._open[-1], []).append(data)


def named(name):
    return speedup_surface(Program([Phase(1.0, 3.0)], name=name), [1, 2], [1, 2])


class TestThePage:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_keeps_any_name_a_text(self, name):
        plain = Document(surface_page(named("solver"), points=POINTS, caption="as it is"))
        page = surface_page(named(name), points=POINTS, caption=name)
        found = Document(page)
        assert found.tags == plain.tags
        assert not [key for key, _ in found.attributes if key.startswith("on")]
        assert found.inside["script"][1:] == plain.inside["script"][1:]
        (heading,) = found.inside["h1"]
        assert heading[:40] == "".join(c if c.isprintable() else "?" for c in name)[:40]
        assert len(heading) <= 60

    def test_admits_its_own_scripts_and_nothing_else(self):
        page = surface_page(SURFACE)
        found = Document(page)
        policy = next(v for k, v in found.attributes if k == "content" and "default-src" in v)
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        scripts = found.inside["script"][1:]
        hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
        assert re.findall("'sha256-([^']+)'", policy.partition("style-src")[0]) == hashes
        assert len(hashes) == 2
        assert "unsafe" not in policy
        assert policy.partition("style-src")[0] == FRAME_POLICY.partition("style-src")[0]

    def test_asks_the_network_for_nothing(self):
        found = Document(surface_page(SURFACE))
        assert not [v for k, v in found.attributes if k in ("src", "href")]

    def test_carries_the_figure_as_data(self):
        page = surface_page(SURFACE, points=POINTS)
        data = json.loads(Document(page).inside["script"][0])
        assert data == surface_data(SURFACE, points=POINTS)
        assert "<" not in Document(page).inside["script"][0]  # nothing that could end the block

    def test_can_be_followed_by_all_readers(self):
        assert problems(surface_page(SURFACE, points=POINTS)) == []

    def test_of_the_largest_grid_is_small(self):
        surface = speedup_surface(PROGRAM, np.arange(1, 400), np.arange(1, 200))
        interval = surface.speedup * 0.123, surface.speedup * 7.891
        assert len(surface_page(surface, interval=interval)) < 500_000

    def test_has_a_table_where_no_script_runs(self):
        page = surface_page(SURFACE)
        for i, p in enumerate((1, 2, 4, 8, 16)):
            row = "".join(f"<td>{float(f'{x:.4g}'):g}</td>" for x in SURFACE.speedup[i])
            assert f'<tr><th scope="row">{p}</th>{row}</tr>' in page


class TestTheFigure:
    def test_shows_every_allotment_with_its_numbers(self):
        data = surface_data(SURFACE)
        assert np.array(data["speedup"]) == pytest.approx(SURFACE.speedup, rel=1e-5)
        assert np.array(data["time"]) == pytest.approx(SURFACE.mean_time, rel=1e-5)
        assert (data["processors"], data["disks"]) == ([1, 2, 4, 8, 16], [1, 2, 4])

    def test_shows_intervals_beside_the_speedup(self):
        low, high = SURFACE.speedup - 0.1, SURFACE.speedup + 0.2
        data = surface_data(SURFACE, interval=(low, high))
        assert np.array(data["low"]) == pytest.approx(low, rel=1e-5)
        assert np.array(data["high"]) == pytest.approx(high, rel=1e-5)

    def test_marks_measured_points_the_region_and_the_best(self):
        data = surface_data(SURFACE, points=[*POINTS, (99, 1)])
        assert {(p, d) for p, d, *_ in data["measured"]} == set(POINTS)
        assert all(own == on for _, _, own, on, *_ in data["measured"])
        assert data["region"] == [1, 1, 99, 2]

        def at(name):
            return data["processors"][data[name]["i"]], data["disks"][data[name]["j"]]

        assert at("best") == (16, 2)  # within the runs
        assert at("top") == (16, 4)

    def test_lays_a_measured_speedup_where_it_was_measured(self):
        (point,) = surface_data(SURFACE, points=[(4, 2, 3.25)])["measured"]
        p, d, own, on, seconds, contradicts = point
        assert (p, d, own, seconds, contradicts) == (4, 2, 3.25, None, False)
        assert on == pytest.approx(SURFACE.speedup[2, 1])

    def test_has_no_region_where_everything_was_measured(self):
        assert surface_data(SURFACE, points=[(1, 1), (16, 4)])["region"] is None

    def test_of_a_huge_grid_is_thinned_but_keeps_the_best(self):
        huge = speedup_surface(PROGRAM, np.arange(1, 1001), [1, 2])
        data = surface_data(huge)
        assert len(data["processors"]) <= 65
        assert (data["processors"][0], data["processors"][-1]) == (1.0, 1000.0)
        assert data["processors"][data["best"]["i"]] == huge.best().processors
        assert len(data["rows"]) <= 24

    @pytest.mark.parametrize("surface", [None, 3, PROGRAM, speedup_surface(PROGRAM, [1, 2], [1])])
    def test_needs_a_surface_with_an_area(self, surface):
        with pytest.raises(ModelError):
            surface_data(surface)

    @pytest.mark.parametrize(
        "interval",
        [(1.0, 2.0), (SURFACE.speedup * 2, SURFACE.speedup), (np.full((5, 3), np.nan),) * 2],
    )
    def test_refuses_an_interval_that_does_not_fit(self, interval):
        with pytest.raises(ModelError, match="interval"):
            surface_data(SURFACE, interval=interval)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
class TestInABrowser:
    @pytest.fixture(scope="class")
    @staticmethod
    def browser(tmp_path_factory):
        folder = tmp_path_factory.mktemp("surface")
        page = surface_page(
            named(HOSTILE[0]),
            points=POINTS,
            interval=(np.full((2, 2), 0.5), np.full((2, 2), 9.0)),
        )
        (folder / "page.html").write_text(page, encoding="utf-8")
        with Browser(folder / "profile") as browser:
            browser.open(folder / "page.html")
            yield browser
            assert browser.console == []

    def test_is_drawn_without_an_error(self, browser):
        found = browser.run("document.documentElement.outerHTML").split("<script")[0]
        assert found.count('class="tile"') == 4
        assert found.count('class="quad"') == 1
        assert "NaN" not in found
        assert browser.run("document.getElementById('answer').textContent") == (
            "On 2 processors and 2 disks: speedup 2 (likely 0.5 to 9), mean time 2 s, efficiency "
            "50 % (speedup over processors times disks)."
        )

    def test_writes_large_numbers_as_its_tables_do(self, browser):
        said = browser.run("[1.876e11, 12340000, 0.5, -6e9].map((x) => draw.digits(x))")
        assert said == ["1.876e+11", "12340000", "0.5", "-6e+9"]

    def test_answers_the_keyboard(self, browser):
        browser.run("document.getElementById('processors').focus()")
        browser.press("ArrowLeft", 37)
        said = browser.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>"
            "done(document.getElementById('answer').textContent))))"
        )
        assert said.startswith("On 1 processor and 2 disks: speedup 1.143 ")

    def test_fits_a_telephone(self, browser, tmp_path):
        page = tmp_path / "page.html"
        page.write_text(surface_page(SURFACE, points=POINTS), encoding="utf-8")
        browser.open(page, width=400, dark=True)
        assert browser.run("document.documentElement.scrollWidth") <= 400
        assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"


@pytest.mark.skipif(CHROMIUM is None or AXE is None, reason="AXE_CORE names no file")
def test_axe_finds_nothing_serious(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(surface_page(SURFACE, points=POINTS), encoding="utf-8")
    assert axe(page, tmp_path) == []


def test_whole_parts_of_a_page_keep_their_lines_and_lose_control_characters(tmp_path):
    page = page_templates(tmp_path).from_string("{{ value }}")
    for value, shown in (
        ("a\tb\nc <", "a\tb\nc &lt;"),
        ("a\n\x1b[31m\r\x00\t", "a\n\ufffd[31m\ufffd\ufffd\t"),
        ("\ud800 \u2028\n", "\ufffd \ufffd\n"),
        (Markup("<b>\n&amp;\t</b>"), "<b>\n&amp;\t</b>"),
        (Markup("<b>\x07\n</b>"), "<b>\ufffd\n</b>"),
        (7, "7"),
    ):
        assert page.render(value=value) == shown
