"""Figures as parts of a page: scalable, texts as texts, the same bytes for the same figure."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from qmodels.plotting.fonts import readable
from qmodels.plotting.style import axes_or_new

#: Points of a figure are 1/72 inch, pixels of a page 1/96.
_PIXELS = 96.0
#: Resolution of what is too fine for lines, such as shades.
_DPI = 150


@dataclass(frozen=True)
class Panel:
    """A picture of a page, with what it shows in words for those who do not see it."""

    source: str  #: address that holds the picture itself
    alt: str  #: description with its numbers
    width: int  #: pixels of a page
    height: int  #: in pixels


def panel(figure: Figure, alt: str) -> Panel:
    """Return a figure as a picture that a page can hold.

    Parameters
    ----------
    figure : Figure
        About five inches wide at most, that its words can be read on a telephone.
    alt : str
        What it shows, with its numbers.

    Returns
    -------
    Panel
        The picture, with its description.

    Notes
    -----
    SVG with texts as texts, for whose letters the reader's browser finds fonts, whatever the
    script; without a date and with names of its parts that depend on nothing but the figure.

    Examples
    --------
    >>> figure = Figure(figsize=(2, 1))
    >>> small = panel(figure, "nothing")
    >>> small.width, small.height, small.source[:26], small == panel(figure, "nothing")
    (192, 96, 'data:image/svg+xml;base64,', True)
    """
    made = io.BytesIO()
    with (
        readable(figure, as_text=True),
        matplotlib.rc_context({"svg.hashsalt": "qmodels", "svg.fonttype": "none"}),
    ):
        figure.set_dpi(_DPI)
        # `savefig` would draw it twice, once to find the layout, which drawing finds as well
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(made, metadata={"Date": None})
    text = base64.b64encode(made.getvalue()).decode("ascii")
    width, height = (round(_PIXELS * float(inches)) for inches in figure.get_size_inches())
    return Panel(f"data:image/svg+xml;base64,{text}", alt, width, height)


def page_axes(height: float = 3.3) -> Any:
    """Return new axes whose words can be read on a telephone.

    Parameters
    ----------
    height : float
        Of the figure, in inches.

    Examples
    --------
    >>> page_axes().get_figure().get_size_inches().tolist()
    [4.8, 3.3]
    """
    return axes_or_new(None, figsize=(4.8, height))


def panels(drawn: Iterable[tuple[Figure, str]]) -> Sequence[Panel]:
    """Return several figures with their descriptions, as pictures.

    Parameters
    ----------
    drawn : iterable of (Figure, str)
        Figures and descriptions.
    """
    return [panel(figure, alt) for figure, alt in drawn]
