"""TOML text into plain tables, whatever it holds: within moments, or refused with its key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from qmodels.errors import ScenarioError

MAX_BYTES: Final = 1_000_000
#: Tables and lists within each other; no declared file has more than nine.
MOST_DEPTH: Final = 32
_MOST_BITS: Final = 64  # of a whole number, as in TOML itself
#: Names between dots, which `tomllib` works on for a time that grows with the square of their
#: number. A text that looks so is not spared: none has been seen.
_DOTTED = re.compile(
    r"""(?<![\w"'-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+)"""
    f"{{{MOST_DEPTH}}}",
    re.ASCII,
)
_DIGITS = re.compile(r"[0-9][0-9_]{4000}")
_SHOWN: Final = 60  # characters of one name

#: A place in tables: that of what holds it, and its key or number.
_Place = tuple[Any, "str | int"] | None


def tables_of_text(source: Path, raw: bytes) -> dict[str, Any]:
    """The tables of a TOML text.

    Parameters
    ----------
    source : Path
        For the errors.
    raw : bytes

    Returns
    -------
    dict
        As `tomllib` reads it, of at most 32 tables and lists within each other; its whole numbers
        have at most 64 bits.

    Raises
    ------
    ScenarioError
        For anything else.

    Examples
    --------
    >>> tables_of_text(Path("x.toml"), b"seed = 3")
    {'seed': 3}
    >>> tables_of_text(Path("x.toml"), b"seed = 99999999999999999999")
    Traceback (most recent call last):
    qmodels.errors.ScenarioError: x.toml: seed: is a whole number of more than 64 bits; write a
    smaller one
    """
    try:
        text = raw.decode("utf-8")
        if _DOTTED.search(text):
            raise RecursionError
        tables = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise _fault(source, "file", f"is not UTF-8 text (byte {error.start})") from None
    except RecursionError:
        raise _fault(source, "file", "is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise _fault(source, "file", f"is not valid TOML: {str(error)[:200]}") from None
    except ValueError:  # of int()
        found = _DIGITS.search(text)
        line = "" if found is None else f" in line {text.count(chr(10), 0, found.start()) + 1}"
        what = f"holds a whole number of thousands of digits{line}; {_MOST_BITS} bits are read"
        raise _fault(source, "file", what) from None
    _check_values(source, tables)
    return tables


def key_in_words(parts: tuple[str | int, ...]) -> str:
    """A key as in the file, long names cut: ``policy[0].kind``."""
    words = (
        f"[{part}]" if isinstance(part, int) else f".{part if len(part) <= _SHOWN else f'{part[:_SHOWN]}...'}"
        for part in parts
    )
    return "".join(words).removeprefix(".") or "file"


def _check_values(source: Path, tables: Mapping[str, Any]) -> None:
    """ScenarioError for what is nested too deeply or too large a number."""
    left: list[tuple[Any, _Place, int]] = [(tables, None, 0)]
    while left:
        held, place, depth = left.pop()
        if isinstance(held, int):
            if held.bit_length() > _MOST_BITS:
                what = f"is a whole number of more than {_MOST_BITS} bits; write a smaller one"
                raise _fault(source, _key(place), what)
        elif isinstance(held, dict | list):
            if depth > MOST_DEPTH:
                raise _fault(source, _key(place), "is nested too deeply")
            inside = held.items() if isinstance(held, dict) else enumerate(held)
            left += [(value, (place, name), depth + 1) for name, value in inside]


def _key(place: _Place) -> str:
    parts: list[str | int] = []
    while place is not None:
        place, part = place
        parts.insert(0, part)
    return key_in_words(tuple(parts))


def _fault(source: Path, key: str, text: str) -> ScenarioError:
    return ScenarioError(str(source), [(key, text)])
