"""The figures of a report: made once, as files and as pictures of the page, when it is known what.

Most show only what was predicted, so they are made while simulations still run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from qmodels.pages.report import Drawn
from qmodels.plotting.embedded import Panel, panels
from validation.study import plotting
from validation.study.descriptions import (
    agreement_words,
    answer_words,
    lowest_curves,
    surface_words,
    tail_words,
    trial_words,
)
from validation.study.findings import headline_policies
from validation.study.run import Study

#: What each figure shows; the file of a figure is its name and .png.
CAPTIONS: Final = {
    "answer": "Mean response time against load under policies of the findings: the fastest, the first "
    "that ties with each, and those that carry most",
    "workload": "What the log holds and what was fitted to it",
    "surface": "Speedup over processors and disks",
    "response": "Mean response time against load",
    "agreement": "Predicted against simulated mean response time",
    "trial": "From the model's assumptions to the mesh, step by step on the same jobs",
}
#: Panels, each with what it shows in words; None where a row has no such panel.
Rows = list[list[Drawn | None]]


#: Figures that show nothing of simulations.
PREDICTED: Final = ("answer", "workload", "surface", "response")


@dataclass(frozen=True)
class MadePicture:
    """A figure as a report holds it."""

    file: bytes  #: a PNG of its panels side by side; empty where there are none
    panels: Sequence[Panel]  #: the same for the page, with what they show in words


def pictures(study: Study, names: Iterable[str] = CAPTIONS) -> dict[str, MadePicture]:
    """The figures of a study by their names, made.

    Both are made of the same panels at once: what makes a figure slow is its ticks and its layout,
    and these stay when it is drawn once more.
    """
    return {name: picture(_DRAWN[name](study)) for name in names}


def picture(rows: Rows) -> MadePicture:
    """Rows of panels as a file and for the page."""
    tiles = [[None if each is None else each[0] for each in row] for row in rows]
    file = plotting.png_file(tiles) if rows else b""
    return MadePicture(file, panels(each for each in chain(*rows) if each is not None))


def study_figures(study: Study) -> dict[str, Rows]:
    """Draw what the study has to show: rows of panels for each figure, none where it has none."""
    return {name: draw(study) for name, draw in _DRAWN.items()}


def write_figures(made: Mapping[str, MadePicture], folder: Path) -> None:
    """Write each figure that is there as a PNG file named after it."""
    for name, each in made.items():
        if each.file:
            (folder / f"{name}.png").write_bytes(each.file)


def _answer(study: Study) -> Rows:
    named = headline_policies(study)
    curves = {label: plotting.curve_of(study, label) for label in named}
    return [[(plotting.answer_figure(study), answer_words(study, curves))]]


def _workload(study: Study) -> Rows:
    found: list[Drawn | None] = [
        (plotting.workload_panel(name, sample, law), tail_words(name, sample, law))
        for name, sample, law in plotting.log_and_laws(study)
    ]
    return [found] if found else []


def _surface(study: Study) -> Rows:
    said = surface_words(study.surface)
    if min(study.surface.speedup.shape) == 1:
        return [[(plotting.surface_curve(study), f"A curve. {said}")]]
    return [
        [
            (plotting.surface_map(study), f"A map with lines of equal speedup. {said}"),
            (plotting.surface_body(study), f"The same as a body that rises with it. {said}"),
        ]
    ]


def _response(study: Study) -> Rows:
    """A row for each kind of policy, a column for each number of disk partitions."""
    shown = plotting.response_panels(study)
    columns = sorted({disks for _, disks in shown})

    def panel(kind: str, disks: int) -> Drawn | None:
        if (kind, disks) not in shown:
            return None
        what = f"{plotting.panel_title(kind, disks).capitalize()}:"
        curves = plotting.panel_curves(study, kind, disks)
        return plotting.response_panel(study, kind, disks), lowest_curves(curves, what)

    kinds = dict.fromkeys(kind for kind, _ in shown)
    return [[panel(kind, disks) for disks in columns] for kind in kinds]


def _agreement(study: Study) -> Rows:
    figure = plotting.agreement_figure(study)
    return [] if figure is None else [[(figure, agreement_words(study.checks))]]


def _trial(study: Study) -> Rows:
    found: list[Drawn | None] = [(plotting.trial_panel(trial), trial_words(trial)) for trial in study.trials]
    return [found] if found else []


_DRAWN: Final[Mapping[str, Callable[[Study], Rows]]] = {
    "answer": _answer,
    "workload": _workload,
    "surface": _surface,
    "response": _response,
    "agreement": _agreement,
    "trial": _trial,
}
