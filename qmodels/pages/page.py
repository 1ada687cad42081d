"""What self-contained pages have in common: their look, their templates, their security policy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

_HERE: Final = Path(__file__).parent
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
    """Templates of a folder and of all pages; every value is escaped, a missing one is an error.

    Their variable ``style`` is the style sheet of all reports.
    """
    templates = Environment(
        loader=FileSystemLoader([folder, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Our own file, not a user's text.
    templates.globals["style"] = Markup(*_sources(["report.css"]))
    templates.filters["explained"] = lambda text: text  # a page with labels has its own
    return templates


def explained(text: str, meanings: Mapping[str, str]) -> Markup:
    """Escaped text in which every label of `meanings` says on pointing at it what it means.

    Examples
    --------
    >>> explained("SP(1,1) < TS(1,1)", {"SP(1,1)": "one job at a time"})
    Markup('<abbr title="one job at a time">SP(1,1)</abbr> &lt; TS(1,1)')
    """
    if not meanings:
        return escape(text)
    labels = sorted(meanings, key=len, reverse=True)  # a label may begin like a longer one
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, labels))})(?!\w)")
    parts = pattern.split(text)  # text and labels in turn
    for place in range(1, len(parts), 2):
        label = parts[place]
        parts[place] = Markup('<abbr title="{}">{}</abbr>').format(meanings[label], label)
    return Markup("").join(parts)


def page_with_scripts(template: str, *, scripts: Sequence[str], styles: Sequence[str], **values: Any) -> str:
    """Render a template of this folder that runs scripts of this folder, and nothing else.

    Scripts and style sheets are part of the page and admitted by their hashes. The template gets
    them as ``scripts`` and ``page_style``, and their policy as ``policy``.
    """
    codes, style = _sources(scripts), "".join(_sources(styles))
    return (
        page_templates(_HERE)
        .get_template(template)
        .render(
            policy=script_policy(scripts, styles),
            scripts=[Markup(code) for code in codes],  # our own files, not a user's text
            page_style=Markup(style),
            **values,
        )
    )


def script_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The content security policy of a page of these scripts and style sheets."""
    style = source_hash("".join(_sources(styles)))
    hashes = " ".join(source_hash(code) for code in _sources(scripts))
    return f"default-src 'none'; script-src {hashes}; style-src {style}; base-uri 'none'; form-action 'none'"


def _sources(names: Sequence[str]) -> list[str]:
    return [(_HERE / name).read_text(encoding="utf-8") for name in names]


def _printable(value: Any) -> Any:
    """Text without control characters and lone surrogates: they have no place on a page."""
    if not isinstance(value, str):
        return value
    # Whole lines first: part of a page with pictures is a million characters long.
    if str.replace(str.replace(value, "\n", ""), "\t", "").isprintable():
        return value
    kept = (c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in value)
    return type(value)("".join(kept))  # markup stays markup
