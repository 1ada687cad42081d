"""Names in any script: texts in SVG, fonts of the machine or numbers in pictures, no warnings."""

from __future__ import annotations

import base64
import logging
import re
import warnings
from contextlib import contextmanager

import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from qmodels import cli
from qmodels.plotting import fonts
from qmodels.plotting.embedded import panel
from qmodels.plotting.style import set_legend, set_title

NAMES = ["求解器", "решатель", "διαλύτης", "محلل", "解 く 人", "ソルバー🚀", "plain"]
#: Fonts of this machine, while none is taken away.
FONTS = [e for e in font_manager.fontManager.ttflist if (e.style, e.weight) == ("normal", 400)]


def named(names=NAMES):
    """A figure with user's names in its title, on an axis and in its legend."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    ax = figure.add_subplot()
    for place, name in enumerate(names):
        ax.barh(place, 1.0 + place, label=name)
    ax.set_yticks(range(len(names)), names)
    set_title(ax, names[0], "and a line of ours")
    set_legend(ax)
    return figure


def drawn(figure, names=()):
    """The texts of a figure while it is drawn as a picture."""
    with fonts.readable(figure):
        FigureCanvasAgg(figure).draw()
        ax = figure.axes[0]
        return [
            ax.get_title(),
            *(t.get_text() for t in ax.get_yticklabels()),
            *(t.get_text() for t in ax.get_legend().get_texts()),
        ]


@contextmanager
def machine_of_one_font():
    """A machine that has no other fonts than matplotlib's usual one.

    Matplotlib remembers which file it found for a family. What it found here (the usual font for
    each family) must not be found by a later test of the process, nor the other way round.
    """
    found = (fonts._families, font_manager.fontManager._findfont_cached)
    usual = [e for e in FONTS if e.name == "DejaVu Sans"]
    for cache in found:
        cache.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(font_manager.fontManager, "ttflist", usual)
        patch.setattr(fonts, "_numbers", {})
        try:
            yield
        finally:
            for cache in found:
                cache.cache_clear()


@pytest.fixture
def few_fonts():
    with machine_of_one_font():
        yield


@pytest.mark.thorough
def test_a_page_has_names_as_texts_with_fonts_to_fall_back_on(few_fonts):
    figure = named()
    source = base64.b64decode(panel(figure, "x").source.partition(",")[2]).decode("utf-8")
    for name in NAMES:
        assert re.search(rf"<text[^>]*>{re.escape(name)}", source)
    assert re.search(r"font[^\"]*sans-serif", source)
    assert fonts.numbered() == {}  # none is replaced there
    assert panel(figure, "x") == panel(figure, "x")


@pytest.mark.thorough
def test_a_picture_has_numbers_for_names_without_a_font_and_tells_them_once(few_fonts, capsys):
    figure = named()
    title, *rest = drawn(figure)
    assert title == "[1]\nand a line of ours"
    # what the usual font has stands as it is, and a number is one name's
    ticks, legend = rest[: len(NAMES)], rest[len(NAMES) :]
    assert ticks == legend
    assert ticks[0] == "[1]"
    assert ticks[1:4] == ["решатель", "διαλύτης", "محلل"]
    assert ticks[-1] == "plain"
    assert fonts.numbered()["求解器"] == 1
    assert fonts.numbered()["解 く 人"] == 2
    again = drawn(named(["求解器", "另一个"]))
    assert again[1] == "[1]"
    cli._say_what_has_no_font()
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("qmodels: no font here has the letters of some names; in pictures")
    assert "[1] is 求解器" in line


def test_a_figure_is_after_it_as_it_was(few_fonts):
    figure = named()
    ax = figure.axes[0]
    drawn(figure)
    assert ax.get_title() == "求解器\nand a line of ours"
    assert ax.yaxis.get_major_formatter().format_ticks(range(len(NAMES))) == NAMES
    assert ax.title.get_fontfamily() == ["sans-serif"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == NAMES


def test_a_font_of_the_machine_is_taken_where_it_has_the_letters(monkeypatch):
    """STIXGeneral comes with matplotlib and has letters that the usual font has not."""
    monkeypatch.setattr(fonts, "_numbers", {})
    for remembered in (fonts._families, fonts._letters_of):  # of other tests of this process
        remembered.cache_clear()
    usual, other = (
        set(font_manager.get_font(next(e.fname for e in FONTS if e.name == name)).get_charmap())
        for name in ("DejaVu Sans", "STIXGeneral")
    )
    code = min(code for code in other - usual if code > 0x250 and chr(code).isprintable())
    name = f"job {chr(code)}"
    figure = named([name])
    with fonts.readable(figure):
        ax = figure.axes[0]
        assert ax.get_title().startswith(name)
        assert len(ax.title.get_fontfamily()) > 1
        FigureCanvasAgg(figure).draw()
    assert fonts.numbered() == {}


def test_a_family_sought_where_fonts_were_few_is_found_afterwards():
    """Formulas seek STIX fonts: a picture with one must not hide them from later tests."""
    sought = font_manager.FontProperties(family="STIXGeneral")
    with machine_of_one_font():
        assert "DejaVu" in font_manager.findfont(sought)
    assert "STIX" in font_manager.findfont(sought)


def test_plain_names_cost_nothing(monkeypatch):
    monkeypatch.setattr(fonts, "_families", None)  # would fail if it were asked
    assert drawn(named(["façade", "größe", "plain"]))[1:4] == ["façade", "größe", "plain"]


@pytest.mark.thorough
def test_no_warning_of_fonts_reaches_a_terminal(few_fonts, tmp_path, recwarn):
    fonts.save(named(), tmp_path / "picture.png", dpi=50)
    panel(named(), "x")
    assert [*recwarn] == []
    cli._quiet_fonts()
    logger = logging.getLogger("matplotlib.font_manager")
    assert not logger.isEnabledFor(logging.WARNING)  # findfont: Font family ... not found
    with warnings.catch_warnings(record=True) as told:
        FigureCanvasAgg(named()).draw()  # drawn without any of this
    assert told == []
