"""What every figure of ours keeps: nothing cut, nothing under a legend, numbers in one manner."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, StepPatch
from matplotlib.transforms import Bbox

#: Pixels, of 100 to the inch, that two texts may share: letters do not fill their boxes.
_SHARED = 2.0
_POINTS = 60  # of a line, between two of its own


def problems(figure: Figure) -> list[str]:
    """What of a figure cannot be read as it is meant; empty where all is well."""
    figure.set_dpi(100)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    whole = figure.bbox
    found = []
    for ax in figure.axes:
        if ax.name == "3d" or not ax.get_visible():
            continue
        texts = _texts(ax, canvas.get_renderer())
        for name, text, box in texts:
            if not _within(box, whole):
                found.append(f"the {name} {text!r} is cut")
        for (one, said, a), (other, told, b) in combinations(texts, 2):
            aslant = one == other and "tick" in one and _aslant(ax, one[0])
            if not aslant and {one, other} != {"label in it"} and _shared(a, b) > _SHARED:
                found.append(f"the {one} {said!r} lies on the {other} {told!r}")
        found += [*_under_the_legend(ax, canvas.get_renderer()), *_manner(ax)]
    return found


def texts_of(figure: Figure) -> list[str]:
    """All that is written on a figure."""
    FigureCanvasAgg(figure).draw()
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [text for ax in figure.axes for _, text, _ in _texts(ax, renderer)]


def _texts(ax: Any, renderer: Any) -> list[tuple[str, str, Bbox]]:
    """What each text is, what it says and where it stands."""
    found = []
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        if not axis.get_visible() or not ax.axison:
            continue
        found += [(f"{name} tick", label) for label in _labels(axis)]
        found.append((f"{name} axis' title", axis.label))
        found.append((f"{name} axis' factor", axis.get_offset_text()))
    found += [("title", ax.title), *(("label in it", text) for text in ax.texts)]
    legend = ax.get_legend()
    if legend is not None:
        found += [("legend's entry", text) for text in legend.get_texts()]
    return [
        (name, each.get_text(), each.get_window_extent(renderer))
        for name, each in found
        if each.get_visible() and each.get_text().strip()
    ]


def _aslant(ax: Any, name: str) -> bool:
    """Whether the labels of an axis are turned, so that their boxes say little."""
    return any(label.get_rotation() % 90 for label in _labels(getattr(ax, f"{name}axis")))


def _labels(axis: Any) -> list[Any]:
    """The labels of an axis that are drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low - 1e-9 <= tick.get_loc() <= high + 1e-9]
    return [tick.label1 for tick in ticks if tick.label1.get_text()]


def _within(box: Bbox, whole: Bbox) -> bool:
    return (
        box.x0 >= whole.x0 - 0.5
        and box.y0 >= whole.y0 - 0.5
        and box.x1 <= whole.x1 + 0.5
        and box.y1 <= whole.y1 + 0.5
    )


def _shared(a: Bbox, b: Bbox) -> float:
    """How many pixels two boxes share in the direction in which they share less."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return float(min(wide, high))


def _under_the_legend(ax: Any, renderer: Any) -> list[str]:
    """What of the data lies under a legend."""
    legend = ax.get_legend()
    if legend is None:
        return []
    box = legend.get_frame().get_window_extent(renderer)
    inside = Bbox.intersection(box, ax.bbox)
    if inside is None or min(inside.width, inside.height) < 1.0:
        return []
    found = []
    for line in ax.lines:
        if line.get_transform().contains_branch(ax.transData) and _crossed(line, inside):
            found.append(f"the legend lies on the line {line.get_label()!r}")
    for collection in ax.collections:
        if isinstance(collection, (LineCollection, PolyCollection)) and _met(collection, inside):
            found.append(f"the legend lies on {type(collection).__name__}")
    for patch in ax.patches:
        if isinstance(patch, StepPatch):  # its box is that of all its steps
            if _through(patch.get_transform().transform(patch.get_path().vertices), box):
                found.append("the legend lies on a histogram")
        elif isinstance(patch, Patch) and _shared(patch.get_window_extent(renderer), inside) > 1.0:
            found.append("the legend lies on a bar")
    return found


def _crossed(line: Any, box: Bbox) -> bool:
    points = line.get_transform().transform(np.column_stack(line.get_data(orig=False)))
    return _through(points, box)


def _met(collection: Collection, box: Bbox) -> bool:
    turn = collection.get_transform()
    return any(_through(turn.transform(path.vertices), box) for path in collection.get_paths())


def _through(points: Any, box: Bbox) -> bool:
    """Whether a line through points of a picture meets a box."""
    points = points[np.all(np.isfinite(points), axis=1)]
    if not len(points):
        return False
    share = np.linspace(0.0, 1.0, _POINTS)[:, None]
    dense = np.concatenate([points[:1], *(a + share * (b - a) for a, b in pairwise(points))])
    x, y = dense.T
    met = (x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)
    return bool(met.any())


def _manner(ax: Any) -> list[str]:
    """Numbers of one axis in two manners, such as 100,000 beside 1e+06."""
    found = []
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        said = [label.get_text() for label in _labels(axis)]
        numbers = [text for text in said if re.search(r"\d", text)]
        powers = [text for text in numbers if re.search(r"\de[-+]?\d|10\^", text)]
        if powers and len(powers) < len(numbers):
            found.append(f"numbers in two manners on the {name} axis: {numbers}")
        if any(
            len(re.sub(r"\D", "", text)) > 4 and "," not in text
            for text in numbers
            if re.fullmatch(r"\d+", text)
        ):
            found.append(f"long numbers without commas on the {name} axis: {numbers}")
    return found
