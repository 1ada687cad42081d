"""Figures drawn in memory, once: a file is drawn twice, first to find out where everything goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def drawn_once(figure: Figure, dpi: float = 50.0) -> bool:
    """Draw a figure, which is when matplotlib finds out what it cannot draw; whether ink is on it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure.set_dpi(dpi)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return bytes(canvas.buffer_rgba()).strip(b"\xff") != b""
