"""Names in any script: texts of a figure get fonts that have their letters, or numbers instead."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FuncFormatter

#: Letters below this are in every font that matplotlib may come with.
_LATIN: Final = 0x250
#: A font of boxes that say which letters are missing.
_BOXES: Final = "Last Resort"
_MISSING_GLYPH: Final = r"Glyph \d+ .*missing from"

#: Dots per inch of all pictures.
DPI: Final = 150

#: Names that no font of this machine has the letters of, and the numbers that stand for them.
_numbers: dict[str, int] = {}


def save(figure: Any, file: Path, **options: Any) -> None:
    """Save a figure as a picture; names that no font can write stand as numbers, see `numbered`.

    Parameters
    ----------
    figure : Figure
        The figure.
    file : Path
        The picture.
    **options : object
        As for ``Figure.savefig``; `DPI` where they name none.
    """
    with readable(figure):
        figure.savefig(file, **({"dpi": DPI} | options))


def numbered() -> Mapping[str, int]:
    """Return the names that pictures of this process show as numbers, as there is no font for them.

    Examples
    --------
    >>> dict(numbered())
    {}
    """
    return _numbers


@contextmanager
def readable(figure: Figure, *, as_text: bool = False) -> Iterator[None]:
    """Give texts of a figure fonts for their letters, or numbers in their place, within the block.

    Parameters
    ----------
    figure : Figure
        The figure.
    as_text : bool
        Whether texts are written as texts, for whose letters a browser finds a font: then none is
        replaced.
    """
    texts = [text for text in figure.findobj(Text) if _is_foreign(text.get_text())]
    axes = {axis: words for axis, words in _named_axes(figure) if _is_foreign(words)}
    texts_before = {text: text.get_text() for text in texts}
    letters = frozenset("".join([*texts_before.values(), *axes.values()]))
    if not letters:
        yield
        return
    families, missing = _families(letters)
    for axis in axes:  # its labels take their words when they are drawn
        texts += axis.get_ticklabels()
    fonts = {text: text.get_fontfamily() for text in texts}
    try:
        for text, usual in fonts.items():
            text.set_fontfamily([*usual, *families])
        if not as_text:
            for text, name in texts_before.items():
                text.set_text(_with_numbers(name, missing))
            for axis in axes:
                _format_with_numbers(axis.get_major_formatter(), missing)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _MISSING_GLYPH)
            yield
    finally:
        for text, usual in fonts.items():
            text.set_fontfamily(usual)
        for text, name in texts_before.items():
            text.set_text(name)
        for axis in axes:
            vars(axis.get_major_formatter()).pop("format_ticks", None)


def _is_foreign(text: str) -> bool:
    return any(ord(letter) >= _LATIN for letter in text)


def _named_axes(figure: Figure) -> Iterator[tuple[Any, str]]:
    """Axes whose labels may be words, each with all of these."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            formatter = axis.get_major_formatter()
            if isinstance(formatter, (FixedFormatter, FuncFormatter)):
                yield axis, "".join(formatter.format_ticks(list(axis.get_majorticklocs())))


def _format_with_numbers(formatter: Any, missing: frozenset[str]) -> None:
    """Have an axis' labels written so, until its own way of writing them is put back."""
    usual_format = formatter.format_ticks
    formatter.format_ticks = lambda places: [_with_numbers(text, missing) for text in usual_format(places)]


@lru_cache(maxsize=64)
def _families(letters: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Fonts of this machine that have what the usual one has not, and what none has."""
    codes = {ord(letter) for letter in letters if ord(letter) >= _LATIN and not letter.isspace()}
    codes -= _letters_of(font_manager.findfont(font_manager.FontProperties()))
    families = []
    plain = [e for e in font_manager.fontManager.ttflist if e.style == "normal"]
    for each in sorted(plain, key=lambda e: (abs(_weight_of(e.weight) - 400), e.name)):
        if not codes:
            break
        if each.name in families or each.name.startswith(_BOXES):
            continue
        held = codes & _letters_of(each.fname)
        if held:
            families.append(each.name)
            codes -= held
    return tuple(families), frozenset(map(chr, codes))


def _weight_of(weight: Any) -> int:
    return weight if isinstance(weight, int) else font_manager.weight_dict.get(weight, 400)


@lru_cache(maxsize=512)
def _letters_of(file: str) -> frozenset[int]:
    """Letters of a font's file; none where it cannot be read."""
    try:
        return frozenset(font_manager.get_font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _with_numbers(text: str, missing: frozenset[str]) -> str:
    """A text with numbers in brackets in place of what cannot be written."""
    if not missing.intersection(text):
        return text
    gone = "".join(map(re.escape, sorted(missing)))

    def number(match: re.Match[str]) -> str:
        return f"[{_numbers.setdefault(match[0], len(_numbers) + 1)}]"

    return re.sub(rf"[{gone}](?:[{gone}\s]*[{gone}])?", number, text)
