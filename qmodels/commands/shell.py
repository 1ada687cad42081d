"""A command as it can be typed again."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[object]) -> str:
    r"""Words as one line for a shell, whatever blanks, quotes or bytes they hold.

    Examples
    --------
    >>> shell_line(["qmodels", "study", "my study.toml", "a\nb"])
    "qmodels study 'my study.toml' $'a\\nb'"
    """
    return " ".join(_quoted(os.fspath(w) if isinstance(w, os.PathLike) else str(w)) for w in words)


def _quoted(word: str) -> str:
    """Plain quotes, or where something does not print, those in which escapes count."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = []
    for char in word:
        if char in "\\'":
            escaped.append("\\" + char)
        elif char.isprintable():
            escaped.append(char)
        elif char == "\n":
            escaped.append("\\n")
        else:
            escaped += [f"\\x{byte:02x}" for byte in os.fsencode(char)]
    return f"$'{''.join(escaped)}'"
