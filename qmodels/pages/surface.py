"""A speedup surface that can be turned and read: one HTML page that needs no network."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qmodels.errors import ModelError
from qmodels.pages.page import script_safe, source_hash
from qmodels.plotting.style import (
    ORANGE,
    RED,
    Array,
    checked_points,
    counted,
    plain_text,
    spread_indices,
)
from qmodels.plotting.surface_maps import Surface, check_grid
from qmodels.plotting.surfaces import height, on_grid, reaches_beyond

INSTALL = "in the project's folder: make extras, or pip install -e '.[interactive]'"

_MOST_LINES = 100  # of the grid, each way: a page of some megabytes stays quick to turn
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2430; margin: 0; padding: 0 1rem; }
h1 { font-size: 1.2rem; margin: .8rem 0 .1rem; overflow-wrap: anywhere; }
p { margin: .1rem 0; color: #5b6673; font-size: .92rem; }
#surface { height: min(78vh, 46rem); min-height: 24rem; }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{caption}</p>
<div id="surface"></div>
<noscript><p>A script within this page draws the surface; allow scripts to see it.</p></noscript>
<script id="figure" type="application/json">{figure}</script>
<script>{library}</script>
<script>{script}</script>
</body>
</html>
"""
# The page's data stay data: no text of the user's is ever part of a script or of a label.
_SCRIPT = """
const figure = JSON.parse(document.getElementById("figure").textContent);
Plotly.newPlot("surface", figure.data, figure.layout, figure.config);
"""


def check_installed() -> None:
    """Raise ModelError, with what to type, unless plotly is there."""
    if find_spec("plotly") is None:
        raise ModelError(f"interactive figures need plotly; {INSTALL}")


def script_policy() -> str:
    """Return the content security policy of `surface_page`; a page that frames it needs it too."""
    hashes = " ".join(source_hash(script) for script in (_library(), _SCRIPT))
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:"
    )


def surface_page(
    surface: Surface,
    *,
    points: ArrayLike | None = None,
    interval: tuple[Array, Array] | None = None,
    caption: str = "",
) -> str:
    """Make a page with a speedup surface to turn and to read off.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments; thinned to 100 by 100.
    points : (k, 2) or (k, 3) array_like, optional
        Processors and disks of allotments that were measured, and the speedup measured there;
        without it they are marked on the surface. The box around them is ruled on the surface:
        outside it there is extrapolation.
    interval : two (n, m) arrays, optional
        Least and largest likely speedup on each allotment, shown beside it.
    caption : str
        A sentence below the title, plain text.

    Returns
    -------
    page : str
        HTML, about 5 MB: the library that draws it is part of it, so that it opens without a
        network and years later.

    Raises
    ------
    ModelError
        If plotly is not installed (the message says how), the surface is a line or a point,
        or `points` or `interval` do not fit.

    Notes
    -----
    A content security policy admits the two scripts of the page by their hashes and nothing
    else; the name of the program is escaped and never part of the figure.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> program = Program([Phase(1.0, 9.0)], name="solver")
    >>> surface_page(speedup_surface(program, [1, 4, 16], [1, 2, 4])).count("<h1>solver</h1>")
    1
    """
    library = _library()
    figure = surface_figure(surface, points=points, interval=interval)
    return _PAGE.format(
        policy=script_policy(),
        title=escape(plain_text(surface.name) or "Speedup surface"),
        style=_STYLE,
        caption=escape(plain_text(caption or _caption(surface), 400)),
        figure=script_safe(figure),
        library=library,
        script=_SCRIPT,
    )


def surface_figure(
    surface: Surface,
    *,
    points: ArrayLike | None = None,
    interval: tuple[Array, Array] | None = None,
) -> dict[str, Any]:
    """Return the figure of `surface_page` as plotly's own data, layout and config.

    Raises
    ------
    ModelError
        As for `surface_page`; plotly itself is not needed.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16], [1, 2, 4])
    >>> [trace["name"] for trace in surface_figure(surface, points=[(4, 2)])["data"]]
    ['surface', 'measured region', 'measured', 'largest speedup']
    """
    check_grid(surface)
    marked = None if points is None else checked_points(points, 2, 3)
    data = [_body(surface, interval)]
    if marked is not None:
        if reaches_beyond(surface, marked):
            data.append(_region(surface, marked))
        data.append(_measured(surface, marked))
    data.append(_best(surface))
    return {"data": data, "layout": _layout(surface), "config": _CONFIG}


_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtons": [["toImage", "orbitRotation", "tableRotation", "resetCameraDefault3d"]],
}


def _body(surface: Surface, interval: tuple[Array, Array] | None) -> dict[str, Any]:
    rows, columns = (spread_indices(x, _MOST_LINES) for x in (surface.processors, surface.disks))
    chosen = np.ix_(rows, columns)
    shown = [
        np.broadcast_to(surface.processors[rows][:, None], (rows.size, columns.size)),
        np.broadcast_to(surface.disks[columns][None, :], (rows.size, columns.size)),
        surface.mean_time[chosen],
        surface.efficiency()[chosen],
    ]
    said = (
        "%{customdata[0]:.6~g} processors, %{customdata[1]:.6~g} disks<br>speedup %{z:.4~g}"
        "<br>time %{customdata[2]:.4~g} s<br>efficiency %{customdata[3]:.3~g}"
    )
    if interval is not None:
        low, high = (np.asarray(x, dtype=float) for x in interval)
        if not low.shape == high.shape == surface.speedup.shape or not np.all(low <= high):
            raise ModelError(f"interval must be two arrays of shape {surface.speedup.shape}")
        shown += [low[chosen], high[chosen]]
        said += "<br>speedup likely %{customdata[4]:.4~g} to %{customdata[5]:.4~g}"
    return {
        "type": "surface",
        "name": "surface",
        "x": surface.processors[rows].tolist(),
        "y": surface.disks[columns].tolist(),
        "z": surface.speedup[chosen].T.tolist(),
        "customdata": np.stack(shown, axis=2).transpose(1, 0, 2).tolist(),
        "colorscale": "Cividis",
        "lighting": {"ambient": 0.85, "diffuse": 0.35, "specular": 0.05},
        "colorbar": {"title": {"text": "speedup"}, "len": 0.7},
        "hovertemplate": said + "<extra></extra>",
    }


def _region(surface: Surface, marked: Array) -> dict[str, Any]:
    """The box around the measured allotments, ruled on the surface."""
    low = np.log2(np.maximum(marked[:, :2].min(axis=0), [surface.processors[0], surface.disks[0]]))
    high = np.log2(
        np.minimum(marked[:, :2].max(axis=0), [surface.processors[-1], surface.disks[-1]])
    )
    corners = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
    sides = [np.linspace(a, b, 24, endpoint=False) for a, b in pairwise(corners)]
    way = np.concatenate([*sides, corners[-1:]])
    return {
        "type": "scatter3d",
        "mode": "lines",
        "name": "measured region",
        "x": (2.0 ** way[:, 0]).tolist(),
        "y": (2.0 ** way[:, 1]).tolist(),
        "z": [1.003 * height(surface, x, y) for x, y in way],
        "line": {"color": "white", "width": 5, "dash": "dash"},
        "hoverinfo": "skip",
    }


def _measured(surface: Surface, marked: Array) -> dict[str, Any]:
    kept = on_grid(surface, marked)
    own = kept.shape[1] == 3
    z = [float(row[2] if own else height(surface, *np.log2(row[:2]))) for row in kept]
    said = "%{x:.6~g} processors, %{y:.6~g} disks<br>"
    said += f"measured{'' if own else ';'} speedup %{{customdata:.4~g}}"
    return {
        "type": "scatter3d",
        "mode": "markers",
        "name": "measured",
        "x": kept[:, 0].tolist(),
        "y": kept[:, 1].tolist(),
        # Lifted a little where it lies on the surface, which would cover half of it.
        "z": z if own else [1.01 * value for value in z],
        "customdata": z,
        "marker": {"size": 5, "color": RED, "line": {"color": "white", "width": 1}},
        "hovertemplate": said + "<extra></extra>",
    }


def _best(surface: Surface) -> dict[str, Any]:
    best = surface.best()
    return {
        "type": "scatter3d",
        "mode": "markers",
        "name": "largest speedup",
        "x": [best.processors],
        "y": [best.disks],
        "z": [best.value],
        "marker": {
            "size": 7, "color": ORANGE, "symbol": "diamond", "line": {"color": "black", "width": 1}
        },
        "hovertemplate": "largest speedup %{z:.4~g}<br>%{x:.6~g} processors, %{y:.6~g} disks"
        "<extra></extra>",
    }  # fmt: skip


def _layout(surface: Surface) -> dict[str, Any]:
    axes = {
        "xaxis": {"title": {"text": "processors"}, **_ticks(surface.processors)},
        "yaxis": {"title": {"text": "disks"}, **_ticks(surface.disks)},
        "zaxis": {"title": {"text": "speedup"}},
    }
    return {
        "margin": {"l": 0, "r": 0, "t": 44, "b": 0},
        "showlegend": False,
        "scene": {
            **axes,
            "aspectmode": "manual",
            "aspectratio": {"x": 1.2, "y": 1.0, "z": 0.8},
            "camera": {"eye": {"x": -1.3, "y": -1.5, "z": 0.75}, "center": {"z": -0.12}},
        },
        "updatemenus": [
            _buttons(0.0, "allotments", ["scene.xaxis.type", "scene.yaxis.type"], "log"),
            _buttons(0.5, "speedup", ["scene.zaxis.type"], "linear"),
        ],
    }


def _ticks(values: Array) -> dict[str, Any]:
    low, high = np.log2(values[0]), np.log2(values[-1])
    ticks = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    ticks = ticks[:: -(-ticks.size // 9)] if ticks.size > 1 else np.array([low, high])
    return {
        "type": "log",
        "tickvals": (2.0**ticks).tolist(),
        "ticktext": [f"{2.0**t:.4g}" for t in ticks],
    }


def _buttons(x: float, what: str, keys: list[str], first: str) -> dict[str, Any]:
    kinds = [first, "linear" if first == "log" else "log"]
    return {
        "type": "buttons",
        "direction": "right",
        "x": x,
        "xanchor": "left",
        "y": 1.0,
        "yanchor": "bottom",
        "showactive": True,
        "buttons": [
            {
                "label": f"{what} {'linear' if kind == 'linear' else 'logarithmic'}",
                "method": "relayout",
                "args": [dict.fromkeys(keys, kind)],
            }
            for kind in kinds
        ],
    }


def _caption(surface: Surface) -> str:
    best = surface.best()
    return (
        f"Largest speedup {best.value:.4g} over one processor and one disk, at "
        f"{counted(best.processors, 'processor')} and {counted(best.disks, 'disk')}. "
        f"Drag to turn, scroll to come closer, point at it to read off."
    )


@cache
def _library() -> str:
    check_installed()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())
