from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from qmodels.errors import ModelError
from qmodels.pages import surface as interactive
from qmodels.pages.surface import script_policy, surface_figure, surface_page
from qmodels.programs import Burst, Phase, Program, speedup_surface

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


@pytest.fixture(autouse=True)
def _short_library(monkeypatch):
    """Five megabytes of library would make every look at a page slow."""
    monkeypatch.setattr(interactive, "_library", lambda: "var Plotly = {};")


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
        assert policy == script_policy()
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        scripts = found.inside["script"][1:]
        hashes = [
            base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts
        ]
        assert re.findall("'sha256-([^']+)'", policy) == hashes
        assert "unsafe-eval" not in policy
        assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]

    def test_asks_the_network_for_nothing(self):
        found = Document(surface_page(SURFACE))
        assert not [v for k, v in found.attributes if k in ("src", "href")]

    def test_carries_the_figure_as_data(self):
        page = surface_page(SURFACE, points=POINTS)
        data = json.loads(Document(page).inside["script"][0])
        assert data == surface_figure(SURFACE, points=POINTS)
        assert "<" not in Document(page).inside["script"][0]  # nothing that could end the block

    def test_without_plotly_says_what_to_type(self, monkeypatch):
        monkeypatch.undo()
        interactive._library.cache_clear()
        monkeypatch.setattr(interactive, "find_spec", lambda name: None)
        with pytest.raises(ModelError, match=r"pip install -e '\.\[interactive\]'"):
            surface_page(SURFACE)


class TestTheFigure:
    def test_is_one_that_plotly_knows(self):
        graph_objects = pytest.importorskip("plotly.graph_objects")
        interval = SURFACE.speedup * 0.9, SURFACE.speedup * 1.1
        figure = surface_figure(SURFACE, points=POINTS, interval=interval)
        drawn = graph_objects.Figure(data=figure["data"], layout=figure["layout"])
        assert [trace.name for trace in drawn.data] == [
            "surface", "measured region", "measured", "largest speedup",
        ]  # fmt: skip

    def test_shows_every_allotment_with_its_numbers(self):
        body = surface_figure(SURFACE)["data"][0]
        assert np.array(body["z"]) == pytest.approx(SURFACE.speedup.T)
        shown = np.array(body["customdata"])
        assert shown.shape == (3, 5, 4)
        p, d, time, efficiency = shown[2, 3]
        assert (p, d) == (8.0, 4.0)
        assert time == pytest.approx(SURFACE.mean_time[3, 2])
        assert efficiency == pytest.approx(SURFACE.speedup[3, 2] / 32)

    def test_shows_intervals_beside_the_speedup(self):
        low, high = SURFACE.speedup - 0.1, SURFACE.speedup + 0.2
        body = surface_figure(SURFACE, interval=(low, high))["data"][0]
        shown = np.array(body["customdata"])
        assert shown[1, 3, 4:] == pytest.approx([low[3, 1], high[3, 1]])
        assert "customdata[5]" in body["hovertemplate"]

    def test_marks_measured_points_the_region_and_the_best(self):
        _, region, measured, best = surface_figure(SURFACE, points=[*POINTS, (99, 1)])["data"]
        assert set(zip(measured["x"], measured["y"], strict=True)) == set(POINTS)
        assert (min(region["x"]), max(region["x"])) == pytest.approx((1, 16))
        assert (min(region["y"]), max(region["y"])) == pytest.approx((1, 2))
        assert (best["x"], best["y"]) == ([16.0], [4.0])
        assert best["z"] == pytest.approx([SURFACE.speedup.max()])

    def test_lays_a_measured_speedup_where_it_was_measured(self):
        measured = surface_figure(SURFACE, points=[(4, 2, 3.25)])["data"][2]
        assert measured["z"] == measured["customdata"] == [3.25]

    def test_has_no_region_where_everything_was_measured(self):
        corners = [(1, 1), (16, 4)]
        names = [trace["name"] for trace in surface_figure(SURFACE, points=corners)["data"]]
        assert "measured region" not in names

    def test_can_be_looked_at_over_linear_and_logarithmic_axes(self):
        layout = surface_figure(SURFACE)["layout"]
        changes = [b["args"][0] for menu in layout["updatemenus"] for b in menu["buttons"]]
        assert {"scene.xaxis.type": "linear", "scene.yaxis.type": "linear"} in changes
        assert {"scene.zaxis.type": "log"} in changes

    def test_of_a_huge_grid_is_thinned(self):
        body = surface_figure(speedup_surface(PROGRAM, np.arange(1, 1001), [1, 2]))["data"][0]
        assert len(body["x"]) <= 100
        assert (body["x"][0], body["x"][-1]) == (1.0, 1000.0)

    @pytest.mark.parametrize("surface", [None, 3, PROGRAM, speedup_surface(PROGRAM, [1, 2], [1])])
    def test_needs_a_surface_with_an_area(self, surface):
        with pytest.raises(ModelError):
            surface_figure(surface)

    @pytest.mark.parametrize(
        "interval",
        [(1.0, 2.0), (SURFACE.speedup * 2, SURFACE.speedup), (np.full((5, 3), np.nan),) * 2],
    )
    def test_refuses_an_interval_that_does_not_fit(self, interval):
        with pytest.raises(ModelError, match="interval"):
            surface_figure(SURFACE, interval=interval)


def test_plotly_is_not_imported_before_it_is_needed():
    code = "import sys, qmodels.pages.surface; print('plotly' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_a_browser_draws_the_page_without_an_error(monkeypatch, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium to draw it")
    monkeypatch.undo()
    page = tmp_path / "surface.html"
    page.write_text(surface_page(named(HOSTILE[0]), points=POINTS), encoding="utf-8")
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader",
            "--virtual-time-budget=8000", "--enable-logging=stderr", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert "<canvas" in done.stdout
    assert not re.search(r"CONSOLE.*(Error|Refused|violat)", done.stderr)
