"""A report: findings, figures, tables and notes, as a page with its files, as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from phasefit.records import Record
from qmodels.memory import spent_in_words
from qmodels.pages.page import NO_SCRIPTS, explained, page_templates

if TYPE_CHECKING:
    import pandas as pd

PAGE: Final = "report.html"
_PAGE: Final = Path(__file__).with_name("sections.html.j2")

#: A figure of matplotlib, and what it shows in words for those who do not see it.
Drawn = tuple[Any, str]


@dataclass(frozen=True)
class Picture:
    """A figure of a report; it is drawn when the report is written, and not before."""

    kind: ClassVar = "picture"

    name: str  #: of the file, without .png
    caption: str  #: below it on the page
    draw: Callable[[], Drawn] | None = None  #: saved as a file; None for no file
    #: shown on the page instead, where one figure is too wide for it
    panels: Callable[[], Iterable[Drawn]] | None = None


@dataclass(frozen=True)
class Grid:
    """A table of a page, a row for each of some results or rows of a frame."""

    kind: ClassVar = "grid"

    caption: str  #: above it on the page
    results: Iterable[Any]  #: one for each row
    #: By heading, what a cell says of a result: a text, or None where the cell before goes on.
    columns: Mapping[str, Callable[[Any], str | None]]
    words: tuple[int, ...] = (0,)  #: columns of words, which stand on the left
    wide: bool = True  #: whether it may have to be scrolled

    @property
    def rows(self) -> list[list[tuple[str, int]]]:
        """Return the cells of each row, each with the number of columns that it takes."""
        rows = []
        for result in self.results:
            cells: list[tuple[str, int]] = []
            for say in self.columns.values():
                text = say(result)
                if text is None:
                    before, span = cells.pop()
                    cells.append((before, span + 1))
                else:
                    cells.append((text, 1))
            rows.append(cells)
        return rows


@dataclass(frozen=True)
class Section:
    """A part of a page under a heading: pictures, tables, remarks (texts) and terms (mappings)."""

    key: str  #: by which links name it
    title: str  #: the heading
    #: in the order of the page
    parts: Sequence[Picture | Grid | str | Mapping[str, str]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Report(Record):
    """All that there is to say of a comparison, to a person, a terminal or a program."""

    title: str  #: headline of the page
    subtitle: str  #: a line below it
    findings: Sequence[str]  #: sentences that come first
    notes: Sequence[str] = ()  #: what to know before using the findings
    notes_title: str = "What may change these answers most"  #: said before the notes
    sections: Sequence[Section] = field(default=(), repr=False)  #: in the order of the page
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)  #: by name of the CSV file
    float_format: str | None = "%.8g"  #: of numbers in these files
    provenance: str = ""  #: where the numbers stand, and how they were made
    #: writes what else belongs into the folder, before the page
    more: Callable[[Path], None] | None = field(default=None, repr=False)
    meanings: Mapping[str, str] = field(default_factory=dict, repr=False)  #: of labels, said on pointing
    #: A page of its own that extends ``base.html.j2``, and what it wants, made when it is written.
    page: tuple[Path, Callable[[], Mapping[str, Any]]] | None = field(default=None, repr=False)

    def record(self) -> dict[str, Any]:
        """See `Record.record`: the texts and the tables."""
        tables = {Path(name).stem: frame for name, frame in self.tables.items()}
        return {
            "title": self.title,
            "subtitle": self.subtitle,
            "findings": list(self.findings),
            "notes": list(self.notes),
            "tables": tables,
        }

    def text(self) -> str:
        """Return the findings and the notes, one to a line."""
        return "\n".join(f"- {line}" for line in (*self.findings, *(f"Note: {note}" for note in self.notes)))

    def write(self, folder: Path, *, command: str) -> None:
        """Write report.html, report.json, the figures and the tables.

        Parameters
        ----------
        folder : Path
            From `qmodels.io.outputs.output_folder`, which lets no half of it be seen.
        command : str
            What to type to get this report again.
        """
        pictures = [part for section in self.sections for part in section.parts if isinstance(part, Picture)]
        if self.more is not None:
            self.more(folder)
        figures = {picture.name: _made(picture, folder) for picture in pictures}
        for name, table in self.tables.items():
            table.to_csv(folder / name, index=False, float_format=self.float_format)
        (folder / "report.json").write_text(self.to_json(indent=1) + "\n", encoding="utf-8")
        template, values = self.page or (_PAGE, dict)
        templates = page_templates(template.parent)
        templates.filters["explained"] = lambda text: explained(text, self.meanings)
        page = {
            "policy": NO_SCRIPTS,
            "title": self.title,
            "subtitle": self.subtitle,
            "findings": self.findings,
            "gravest": self.notes,
            "gravest_title": self.notes_title,
            "command": command,
            "figures": figures,
            "sections": self.sections,
            "provenance": self.provenance,
            **values(),
        }
        text = templates.get_template(template.name).render(page, spent=spent_in_words())
        (folder / PAGE).write_text(text, encoding="utf-8")


def _made(picture: Picture, folder: Path) -> Sequence[Any]:
    """Save a picture; return its panels for the page."""
    from qmodels.plotting.embedded import panels
    from qmodels.plotting.fonts import save

    shown = None if picture.panels is None else list(picture.panels())
    if picture.draw is not None:
        drawn = picture.draw()
        save(drawn[0], folder / f"{picture.name}.png", bbox_inches="tight" if shown else None)
        shown = shown or [drawn]
    return panels(shown or ())
