"""Pictures of the how-to pages: each is made by the program, stands on a page, and says what one sees."""

from __future__ import annotations

import re
import runpy

import pytest

from tests.test_transcripts import ROOT

IMAGES = ROOT / "docs/images"
MADE = runpy.run_path(str(ROOT / "docs/examples/howto_figures.py"))
NAMES = [*MADE["COMMANDS"], *MADE["CALLS"]]
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs/how-to").glob("*.md"))


def test_every_picture_is_one_of_the_program_and_the_other_way_round():
    assert {path.stem.removeprefix("howto-") for path in IMAGES.glob("howto-*.png")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_stands_on_a_page_in_words_and_is_small(name):
    [alt] = re.findall(rf"!\[([^\]]+)\]\(\.\./images/howto-{name}\.png\)", PAGES)
    assert len(alt.split()) >= 8
    assert 5_000 < (IMAGES / f"howto-{name}.png").stat().st_size < 120_000


@pytest.mark.parametrize("name", [name for name in MADE["COMMANDS"] if name != "site"])
def test_a_command_that_draws_is_that_of_a_page(name):
    words = MADE["COMMANDS"][name][0].removesuffix(" -o out")
    assert f"qmodels {words}" in PAGES.replace(" \\\n> ", " ")
