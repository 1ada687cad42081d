"""The figures of a report: whole ones as files, and their panels as pictures of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

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
    "answer": "Mean response time against load under the policies of the findings",
    "workload": "What the log holds and what was fitted to it",
    "surface": "Speedup over processors and disks",
    "response": "Mean response time against load",
    "agreement": "Predicted against simulated mean response time",
    "trial": "From the model's assumptions to the mesh, step by step on the same jobs",
}
Drawn = tuple[Any, str]


def write_figures(study: Study, folder: Path) -> None:
    """Write each figure that the study has as a PNG file named after it."""
    for name in CAPTIONS:
        figure = getattr(plotting, f"{name}_figure")(study)
        if figure is not None:
            plotting.save_png(figure, folder / f"{name}.png")


def page_figures(study: Study) -> dict[str, Sequence[Panel]]:
    """The panels of each figure, with what they show in words; none where nothing is to draw."""
    return {name: panels(draw(study)) for name, draw in _DRAWN.items()}


def _answer(study: Study) -> Iterator[Drawn]:
    named = headline_policies(study)
    curves = {label: plotting.curve_of(study, label) for label in named}
    yield plotting.answer_figure(study), answer_words(study, curves)


def _workload(study: Study) -> Iterator[Drawn]:
    for name, sample, law in plotting.log_and_laws(study):
        yield plotting.workload_panel(name, sample, law), tail_words(name, sample, law)


def _surface(study: Study) -> Iterator[Drawn]:
    said = surface_words(study.surface)
    if min(study.surface.speedup.shape) == 1:
        yield plotting.surface_curve(study), f"A curve. {said}"
        return
    yield plotting.surface_map(study), f"A map with lines of equal speedup. {said}"
    yield plotting.surface_body(study), f"The same as a body that rises with it. {said}"


def _response(study: Study) -> Iterator[Drawn]:
    for kind, disks in plotting.response_panels(study):
        what = f"{plotting.panel_title(kind, disks).capitalize()}:"
        curves = plotting.panel_curves(study, kind, disks)
        yield plotting.response_panel(study, kind, disks), lowest_curves(curves, what)


def _agreement(study: Study) -> Iterator[Drawn]:
    figure = plotting.agreement_figure(study)
    if figure is not None:
        yield figure, agreement_words(study.checks)


def _trial(study: Study) -> Iterator[Drawn]:
    for trial in study.trials:
        yield plotting.trial_panel(trial), trial_words(trial)


_DRAWN: Final[Mapping[str, Callable[[Study], Iterator[Drawn]]]] = {
    "answer": _answer, "workload": _workload, "surface": _surface, "response": _response,
    "agreement": _agreement, "trial": _trial,
}  # fmt: skip
