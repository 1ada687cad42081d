"""What every page of ours keeps: order, names and colours that all readers can follow.

The checks of structure run on the text of a page. Where the environment variable AXE_CORE names the
file of axe-core (axe.min.js of its npm package) and a Chromium is installed, `axe` runs that too.
"""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

from tests.browser import CHROMIUM, Browser

AXE = os.environ.get("AXE_CORE")
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
#: Least contrast of text by WCAG 2.2, level AA.
CONTRAST = 4.5


class Outline(HTMLParser):
    """Elements of a page in order, each with its attributes, its text and what it stands in."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[dict] = []
        self._open: list[dict] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        each = {"tag": tag, "attrs": dict(attrs), "text": "", "inside": tuple(self._open)}
        self.elements.append(each)
        if tag not in VOID:
            self._open.append(each)

    def handle_endtag(self, tag):
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for each in self._open:
            each["text"] += data

    def all(self, *tags):
        return [each for each in self.elements if each["tag"] in tags]


def problems(page: str) -> list[str]:
    """What of a page some readers could not follow; empty where all is well."""
    outline = Outline(page)
    return [
        *_document(outline),
        *_headings(outline),
        *_places(outline),
        *_pictures(outline),
        *_tables(outline),
        *_colours(page),
    ]


def _document(outline):
    (html,) = outline.all("html")
    if html["attrs"].get("lang") != "en":
        yield "the language is not given"
    if [each["text"].strip() == "" for each in outline.all("title") if not _within(each, "svg")] != [False]:
        yield "there is not one title with words"
    names = {each["attrs"].get("name") for each in outline.all("meta")}
    yield from (f"no meta {name}" for name in ("viewport", "color-scheme") if name not in names)
    ids = [each["attrs"]["id"] for each in outline.elements if "id" in each["attrs"]]
    yield from (f"two elements are called {name}" for name in {i for i in ids if ids.count(i) > 1})
    for each in outline.elements:
        for key in ("aria-labelledby", "for"):
            name = each["attrs"].get(key)
            if name is not None and name not in ids:
                yield f"{key}={name} names nothing"
        if each["tag"] == "a" and each["attrs"].get("href", "#")[1:] not in {"", *ids}:
            yield f"a link leads to {each['attrs']['href']}, which is not there"


def _headings(outline):
    levels = [int(each["tag"][1]) for each in outline.all("h1", "h2", "h3", "h4", "h5", "h6")]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield f"headings are not one h1 and lower ones after it: {levels}"
    for before, after in pairwise(levels):
        if after > before + 1:
            yield f"a heading of level {after} follows one of level {before}"


def _places(outline):
    if len(outline.all("main")) != 1:
        yield f"{len(outline.all('main'))} main"
    for each in outline.all("h1", "h2", "p", "table", "figure", "ul", "ol", "dl", "pre"):
        if not _within(each, "main", "header", "footer", "nav"):
            yield f"a {each['tag']} stands in no landmark"
    for each in outline.elements:
        attrs = each["attrs"]
        scrolls = "scroll" in attrs.get("class", "").split() or each["tag"] == "pre"
        named = attrs.get("aria-label") or attrs.get("aria-labelledby")
        if scrolls and not (attrs.get("tabindex") == "0" and attrs.get("role") == "region" and named):
            yield f"what scrolls cannot be reached by the keyboard, or has no name: {attrs}"
        if each["tag"] in ("nav", "form", "iframe") and not (named or attrs.get("title")):
            yield f"a {each['tag']} has no name"


def _pictures(outline):
    for each in outline.all("img"):
        alt = each["attrs"].get("alt", "")
        if len(alt) < 40 or not re.search(r"\d", alt):
            yield f"a picture does not say what it shows: {alt!r}"
    for each in outline.all("figure"):
        inside = [other for other in outline.elements if each in other["inside"]]
        if not any(other["tag"] == "figcaption" for other in inside):
            yield "a figure has no caption"
    for each in outline.all("abbr"):
        if not each["attrs"].get("title"):
            yield f"{each['text']} is not spelled out"


def _tables(outline):
    for each in outline.all("th"):
        if each["attrs"].get("scope") not in ("col", "row") or not each["text"].strip():
            yield f"a header of a table has no scope or no words: {each['text']!r}"
    for each in outline.all("table"):
        if not any("scroll" in other["attrs"].get("class", "").split() for other in each["inside"]):
            yield "a table is wider than a telephone and cannot be scrolled"
    for each in outline.all("tbody"):
        rows = [other for other in outline.all("tr") if each in other["inside"]]
        firsts = [next((x["tag"] for x in outline.elements if row in x["inside"]), "th") for row in rows]
        if set(firsts) - {"th"}:
            yield "a row of a table has no header"


def _within(each, *tags):
    return any(other["tag"] in tags for other in each["inside"])


def _colours(page):
    """Contrast of the texts' colours on the grounds, light and dark."""
    style = page.split("<style>", 1)[1].split("</style>")[0]
    light, dark = (_variables(style, place) for place in (0, 1))
    for name, scheme in (("light", light), ("dark", light | dark)):
        for text in ("ink", "soft", "mark", "warn"):
            for ground in ("paper", "tint"):
                if text in scheme and contrast(scheme[text], scheme[ground]) < CONTRAST:
                    yield f"{text} on {ground} has too little contrast where it is {name}"


def _variables(style, place):
    rules = re.findall(r":root \{(.*?)\}", style)
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})\b", rules[place]))


def contrast(one: str, other: str) -> float:
    """Ratio of the luminances of two colours, as WCAG defines it."""
    return (max(map(luminance, (one, other))) + 0.05) / (min(map(luminance, (one, other))) + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance of #rgb or #rrggbb."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def axe(page: Path, folder: Path) -> list[str]:
    """Serious and critical findings of axe-core, on a screen and a telephone, light and dark."""
    assert AXE is not None
    assert CHROMIUM is not None
    library, found = Path(AXE).read_text(encoding="utf-8"), []
    with Browser(folder / "profile") as browser:
        for width in (1400, 400):
            for dark in (False, True):
                browser.open(page, width=width, dark=dark, admit_all=True)
                browser.run(f"{library};0")
                rows = browser.run(
                    "axe.run().then((found) => found.violations.map((each) => [each.impact,"
                    "each.id, each.nodes.map((node) => node.target.join(' ')).join(', ')]))"
                )
                found += [
                    f"{width} {'dark' if dark else 'light'}: {rule}: {where}"
                    for impact, rule, where in rows
                    if impact in ("serious", "critical")
                ]
    return found
