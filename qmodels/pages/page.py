"""Look, templates and security policy of all self-contained pages."""

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
    """Return the hash by which a content security policy admits a script or style sheet.

    Parameters
    ----------
    text : str
        The script or style sheet.

    Returns
    -------
    str
        In single quotes, as a policy has it.

    Examples
    --------
    >>> source_hash("")
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def script_safe(value: Any) -> str:
    """Return data as JSON for a script block that holds data; no text in it can end the block.

    Parameters
    ----------
    value : object
        Numbers, texts, lists and dictionaries; NaN and infinity are errors.

    Returns
    -------
    str
        Without "<".
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")  # "</script>" would end the block, whatever the quotes


def page_templates(folder: Path) -> Environment:
    """Return the templates of a folder and of all pages; a value that is missing is an error.

    Parameters
    ----------
    folder : Path
        Folder of the templates.

    Returns
    -------
    jinja2.Environment
        Escapes every value; its variable ``style`` is the style sheet of all reports.
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
    """Return escaped text whose labels show their meaning when pointed at.

    Parameters
    ----------
    text : str
        Plain text.
    meanings : mapping of str to str
        Sentence of each label.

    Returns
    -------
    markupsafe.Markup
        HTML, each label in an ``abbr``.

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
    """Return a page that runs scripts of this folder, and nothing else.

    Scripts and style sheets are part of the page and admitted by their hashes.

    Parameters
    ----------
    template : str
        Name of a template of this folder. It gets the scripts as ``scripts``, the style sheets as
        ``page_style`` and their policy as ``policy``.
    scripts, styles : sequence of str
        Names of files of this folder.
    **values : object
        Further variables of the template.

    Returns
    -------
    str
        HTML.
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
    """Return the content security policy of a page of these scripts and style sheets.

    Parameters
    ----------
    scripts, styles : sequence of str
        Names of files of this folder.

    Returns
    -------
    str
        It admits these files by their hashes, and nothing else.
    """
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
