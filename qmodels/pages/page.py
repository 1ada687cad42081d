"""What self-contained pages have in common: their look, their templates, their security policy."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

#: Content security policy of a page without scripts.
NO_SCRIPTS: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def source_hash(text: str) -> str:
    """What a content security policy admits a script or style sheet of the page by.

    Examples
    --------
    >>> source_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def script_safe(value: Any) -> str:
    """Data as JSON that no text in it can end: for a script block of another type than scripts."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # "</script>" would end the block, whatever the quotes


def page_templates(folder: Path) -> Environment:
    """Templates of a folder; every value is escaped, a missing one is an error.

    Their variable ``style`` is the style sheet of all pages.
    """
    templates = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
    templates.globals["style"] = Markup(style)  # our own file, not a user's text
    return templates


def _printable(value: Any) -> Any:
    """Text without control characters and lone surrogates: they have no place on a page."""
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = (c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value)
    return type(value)("".join(kept))  # markup stays markup
