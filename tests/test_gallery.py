"""The programs of the gallery and the notebooks run, print and draw; the site shows it."""

from __future__ import annotations

import ast
import runpy
import sys
from contextlib import chdir
from pathlib import Path

import matplotlib
import pytest

from tests.test_transcripts import ROOT, stories

EXAMPLES = ROOT / "docs/examples"
GALLERY = sorted((EXAMPLES / "gallery").glob("*.py"))
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.py"))
#: Over a second each of processor time.
SLOW = {"s01_forecast", "s02_percentile", "s05_slices", "s06_what_if", "s09_campaign"}
MOST_LINES = 25


def lines_of_code(path: Path) -> int:
    """Lines with code on them, without comments and the words at the head."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return len(
        {
            line
            for statement in body[1:]
            for node in ast.walk(statement)
            if hasattr(node, "lineno")
            for line in range(node.lineno, node.end_lineno + 1)
        }
    )


def test_there_is_an_example_for_each_story():
    assert len(GALLERY) == len(stories()) == 13
    for path, page in zip(GALLERY, stories(), strict=True):
        told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert f":doc:`/{page.relative_to(ROOT / 'docs').with_suffix('')}`" in told


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_an_example_is_short(path):
    assert lines_of_code(path) <= MOST_LINES


@pytest.mark.thorough(first=1)
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in SLOW else (), id=path.stem)
        for path in GALLERY
    ]
    + [pytest.param(path, marks=pytest.mark.slow, id=path.stem) for path in NOTEBOOKS],
)
def test_a_program_of_the_site_runs_prints_and_draws(path, capsys, monkeypatch):
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.setattr(sys, "argv", [str(path)])
    try:
        with chdir(path.parent):
            runpy.run_path(str(path), run_name="__main__")
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        assert drawn
        for figure in drawn:
            figure.canvas.draw()
            assert any(ax.has_data() for ax in figure.axes)
    finally:
        plt.close("all")
    assert capsys.readouterr().out.strip()
