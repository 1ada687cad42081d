"""A report as a folder: one page with its figures, each a picture of its own, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from qmodels.memory import spent_in_words
from qmodels.pages.page import NO_SCRIPTS, page_templates

if TYPE_CHECKING:
    import pandas as pd

PAGE: Final = "report.html"
_DPI: Final = 150


@dataclass(frozen=True)
class Picture:
    """A figure of a report."""

    name: str  #: of the file, and in the template
    figure: Any  #: of matplotlib; saved as NAME.png, unless None
    alt: str = ""  #: what it shows, in words
    #: shown on the page instead, each with its words, where one figure is too wide for it
    panels: tuple[tuple[Any, str], ...] = ()


def fill_report(
    folder: Path,
    template: Path,
    *,
    pictures: Iterable[Picture],
    tables: Mapping[str, pd.DataFrame],
    title: str,
    subtitle: str,
    findings: Iterable[str],
    command: str,
    gravest: Iterable[str] = (),
    gravest_title: str = "What may change these answers most",
    **values: Any,
) -> None:
    """Write report.html, its figures and its tables into a folder that is being made.

    Parameters
    ----------
    folder : Path
        From `qmodels.io.outputs.output_folder`.
    template : Path
        A template that extends ``base.html.j2``; it finds the panels of each picture in
        ``figures``.
    pictures : iterable of Picture
        Figures, in the order of the page.
    tables : mapping
        Of pandas, by the name of the CSV file.
    title, subtitle : str
        Headline of the page, and a line below it.
    findings : iterable of str
        Sentences that come first.
    command : str
        The command line that makes the report again.
    gravest : iterable of str
        Reasons to trust the answers less.
    gravest_title : str
        Headline of these reasons.
    **values : object
        What else the template wants.
    """
    from qmodels.plotting.embedded import panels
    from qmodels.plotting.fonts import save

    figures: dict[str, Any] = {}
    for picture in pictures:
        if picture.figure is not None:
            cut = "tight" if picture.panels else None
            save(picture.figure, folder / f"{picture.name}.png", dpi=_DPI, bbox_inches=cut)
        figures[picture.name] = panels(picture.panels or [(picture.figure, picture.alt)])
    for name, table in tables.items():
        table.to_csv(folder / name, index=False, float_format="%.8g")
    page = (
        page_templates(template.parent)
        .get_template(template.name)
        .render(
            title=title,
            subtitle=subtitle,
            policy=NO_SCRIPTS,
            findings=list(findings),
            gravest=list(gravest),
            gravest_title=gravest_title,
            figures=figures,
            command=command,
            spent=spent_in_words(),
            **values,
        )
    )
    (folder / PAGE).write_text(page, encoding="utf-8")
