"""Signs that other programs take for the end of a line; here a newline alone ends one."""

from __future__ import annotations

import re

from qmodels.errors import TraceFormatError

_NAMES = {
    "\r": "a carriage return",
    "\v": "a vertical tab",
    "\f": "a form feed",
    "\x1c": "U+001C",
    "\x1d": "U+001D",
    "\x1e": "U+001E",
    "\x85": "U+0085",
    "\u2028": "U+2028",
    "\u2029": "U+2029",
}
_OTHER_END = re.compile(f"[{''.join(_NAMES)}]")


def other_end(text: str) -> str | None:
    r"""Return the name of the first sign in a line that other programs take for its end.

    Examples
    --------
    >>> other_end("a line"), other_end("two\rlines")
    (None, 'a carriage return')
    """
    found = _OTHER_END.search(text)
    return None if found is None else _NAMES[found[0]]


def check_ends(file: str, start: bytes) -> None:
    """Raise TraceFormatError for text whose lines end in another sign: it would be a single line.

    Parameters
    ----------
    file : str
        For the error.
    start : bytes
        What the text begins with; a JSON text, which may be a single line, is passed over.
    """
    if b"\n" in start or start.lstrip(b"\xef\xbb\xbf \t\r").startswith(b"{"):
        return
    if (sign := other_end(start.decode("utf-8-sig", errors="replace").rstrip())) is not None:
        raise TraceFormatError(
            file, f"has {sign} where lines should end, and no newline; put newlines there", line=1
        )
