"""The checks of pages find what they look for."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.page_checks import contrast, problems

DOCS = Path(__file__).parents[1] / "docs"
GOOD = """<!doctype html><html lang="en"><head><meta name="viewport" content="x">
<meta name="color-scheme" content="light dark"><title>A page</title>
<style>:root { --ink: #000; --paper: #fff; --tint: #eee; }
@media (prefers-color-scheme: dark) { :root { --ink: #fff; --paper: #000; --tint: #222; } }</style>
</head><body><main><h1>A page</h1><h2 id="one">One</h2><p><abbr title="first">A</abbr> is 1.</p>
<figure><img src="data:," alt="Two curves; the first is the lower one at load 0.5, with 3 s">
<figcaption>Curves</figcaption></figure>
<div class="scroll" role="region" aria-labelledby="one" tabindex="0"><table>
<thead><tr><th scope="col">a</th></tr></thead>
<tbody><tr><th scope="row">1</th><td>2</td></tr></tbody></table></div></main></body></html>"""


def test_a_good_page_has_no_problem():
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('lang="en"', "", "language"),
        ("<title>A page</title>", "<title> </title>", "title"),
        ('name="viewport"', 'name="other"', "viewport"),
        ("<h1>A page</h1>", "<h1>A page</h1><h1>B</h1>", "not one h1"),
        ("<h2 ", "<h4 ", "level 4 follows one of level 1"),
        ("<p><abbr", '<p id="one"><abbr', "two elements"),
        ('aria-labelledby="one"', 'aria-labelledby="two"', "names nothing"),
        ("</main>", "</main><p>outside</p>", "no landmark"),
        ("</main>", '<a href="#three">there</a></main>', "not there"),
        ('tabindex="0"', "", "cannot be reached by the keyboard"),
        ("<p><abbr", "<p><nav></nav><abbr", "nav has no name"),
        ("at load 0.5, with 3 s", "everywhere", "does not say what it shows"),
        ("<figcaption>Curves</figcaption>", "", "no caption"),
        ('title="first"', "", "not spelled out"),
        ('scope="row"', "", "no scope"),
        ('<div class="scroll"', '<div class="wide"', "cannot be scrolled"),
        ('<th scope="row">1</th>', "<td>1</td>", "no header"),
        ("--ink: #000", "--ink: #888", "too little contrast where it is light"),
        ("--tint: #222", "--tint: #aaa", "too little contrast where it is dark"),
    ],
)
def test_each_problem_is_found(old, new, said):
    assert GOOD.count(old) == 1
    assert said in " ".join(problems(GOOD.replace(old, new)))


def test_contrast_is_that_of_wcag():
    assert contrast("#000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.005)  # the known near miss


def test_the_docs_give_captions_a_level_and_what_scrolls_the_focus():
    mend = runpy.run_path(str(DOCS / "conf.py"))["_open_to_all"]
    context = {
        "body": '<pre>x</pre><div class="table-wrapper container">',
        "furo_navigation_tree": '<p class="caption" role="heading">Learn</p>',
    }
    mend(None, "index", "page.html", context, None)
    assert context["body"] == ('<pre tabindex="0">x</pre><div tabindex="0" class="table-wrapper container">')
    assert 'role="heading" aria-level="2"' in context["furo_navigation_tree"]
