"""A speedup surface that can be turned, cut and read: one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.pages.page import page_with_scripts, script_policy, script_safe
from qmodels.plotting.style import (
    map_colours,
    plain_text,
    spread_indices,
)
from qmodels.plotting.surface_maps import Surface, points_over
from qmodels.plotting.surfaces import best_within, height, on_grid, reaches_beyond
from qmodels.words import allotment_counted, allotment_in_words, plain_number

_MOST_LINES: Final = 64  # of the grid, each way: a page of some hundred kilobytes
_MOST_RIBS: Final = 24  # of the body, each way: it is turned while one looks
_MOST_ROWS: Final = 12  # of the table, each way
_MOST_BESIDE: Final = 40  # rows of what was measured
_SHADES: Final = 32
_SCRIPTS: Final = ("draw.js", "surface_view.js")
_STYLES: Final = ("live.css",)
#: What the content security policy of a page has to admit that frames one of these.
FRAME_POLICY: Final = (
    f"{script_policy(_SCRIPTS, _STYLES).partition('style-src')[0]}style-src 'unsafe-inline'; img-src data:"
)


class Beside(Protocol):
    """Part of a `qmodels.programs.scaling.Forecast` that is shown of the allotments that were run."""

    @property
    def processors(self) -> Array:
        """Processors (k,)."""

    @property
    def disks(self) -> Array:
        """Disks (k,)."""

    @property
    def time(self) -> np.ma.MaskedArray[Any, Any]:
        """Fitted seconds (k,), masked where there are none."""

    @property
    def measured_time(self) -> np.ma.MaskedArray[Any, Any]:
        """Measured seconds (k,)."""

    @property
    def contradicts(self) -> NDArray[np.bool_]:
        """Whether what was measured contradicts the law, (k,)."""


def surface_page(
    surface: Surface,
    *,
    points: ArrayLike | None = None,
    interval: tuple[Array, Array] | None = None,
    caption: str = "",
    runs: Beside | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """Make a page with a speedup surface to turn, to cut and to read off.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments; thinned to 64 by 64.
    points : (k, 2) or (k, 3) array_like, optional
        Processors and disks of allotments that were measured, and the speedup measured there;
        without it they are marked on the surface. The box around them is ruled on the map:
        outside it there is extrapolation.
    interval : two (n, m) arrays, optional
        Least and largest likely speedup on each allotment, shown beside it.
    caption : str
        A sentence below the title, plain text.
    runs : Forecast, optional
        Of the allotments that were measured: a table of what was measured beside what is fitted,
        and marks where they contradict each other.
    warnings : sequence of str
        Reasons to trust the surface less, below the caption.

    Returns
    -------
    page : str
        HTML of at most some 500 kB that opens without a network and years later. Without
        scripts it shows a table.

    Raises
    ------
    ModelError
        If the surface is a line or a point, or `points` or `interval` do not fit.

    Notes
    -----
    A content security policy admits the page's own scripts and style sheet by their hashes and
    nothing else; the name of the program is escaped and never part of a script.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> program = Program([Phase(1.0, 9.0)], name="solver")
    >>> surface_page(speedup_surface(program, [1, 4, 16], [1, 2, 4])).count("<h1>solver</h1>")
    1
    """
    data = surface_data(surface, points=points, interval=interval, runs=runs)
    return page_with_scripts(
        "surface.html.j2",
        scripts=_SCRIPTS,
        styles=_STYLES,
        title=plain_text(surface.name) or "Speedup surface",
        caption=plain_text(caption or _caption(surface), 400),
        marks=_marks(data),
        table=_table(surface),
        base=allotment_in_words(surface.base),
        beside=[] if runs is None else measured_rows(runs),
        warnings=[plain_text(text, 600) for text in warnings],
        data=Markup(script_safe(data)),
    )


def surface_data(
    surface: Surface,
    *,
    points: ArrayLike | None = None,
    interval: tuple[Array, Array] | None = None,
    runs: Beside | None = None,
) -> dict[str, Any]:
    """Return what the script of `surface_page` draws, thinned: numbers to six digits.

    Parameters
    ----------
    surface : SpeedupSurface
        As for `surface_page`.
    points : (k, 2) or (k, 3) array_like, optional
        As for `surface_page`.
    interval : two (n, m) arrays, optional
        As for `surface_page`.
    runs : Forecast, optional
        As for `surface_page`.

    Raises
    ------
    ModelError
        As for `surface_page`.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16], [1, 2, 4])
    >>> found = surface_data(surface, points=[(4, 2)])
    >>> found["region"], found["best"]["i"], found["measured"][0][:2]
    ([4.0, 2.0, 4.0, 2.0], 1, [4.0, 2.0])
    """
    marked = points_over(surface, points, 2, 3)
    best = best_within(surface, marked)
    top = surface.best()
    rows, columns = (
        _with(spread_indices(values, _MOST_LINES), [int(np.flatnonzero(values == x)[0]) for x in own])
        for values, own in (
            (surface.processors, (best.processors, top.processors)),
            (surface.disks, (best.disks, top.disks)),
        )
    )
    chosen = np.ix_(rows, columns)
    low, high = _checked_interval(surface, interval)
    beyond = marked is not None and reaches_beyond(surface, marked)
    return {
        "base": list(surface.base),
        "processors": surface.processors[rows].tolist(),
        "disks": surface.disks[columns].tolist(),
        "speedup": _rounded(surface.speedup[chosen]),
        "time": _rounded(surface.mean_time[chosen]),
        "low": None if low is None else _rounded(low[chosen]),
        "high": None if high is None else _rounded(high[chosen]),
        "measured": [] if marked is None else _measured(surface, marked, _told(runs)),
        "region": _region(marked) if beyond and marked is not None else None,
        "best": _place(best, surface.processors[rows], surface.disks[columns]),
        "top": _place(top, surface.processors[rows], surface.disks[columns]),
        "rows": spread_indices(surface.processors[rows], _MOST_RIBS).tolist(),
        "columns": spread_indices(surface.disks[columns], _MOST_RIBS).tolist(),
        "colours": map_colours(_SHADES),
    }


def measured_rows(runs: Beside) -> list[tuple[list[str], bool]]:
    """Return the rows of a table of what was measured beside what is fitted.

    Parameters
    ----------
    runs : Forecast
        Of the allotments that were measured.

    Returns
    -------
    rows : list of (list of str, bool)
        Processors, disks, measured and fitted seconds and the per cent between them, as text;
        and whether they contradict each other. Of many those that lie furthest apart.
    """
    hidden = np.ma.getmaskarray(runs.time)
    off = np.abs(np.log(runs.measured_time.data / runs.time.filled(np.nan)))
    worst = np.sort(np.argsort(-np.nan_to_num(off), kind="stable")[:_MOST_BESIDE])
    rows = []
    for k in worst.tolist():
        seen, fitted = float(runs.measured_time.data[k]), float(runs.time.data[k])
        cells = [f"{runs.processors[k]:g}", f"{runs.disks[k]:g}", f"{plain_number(seen)} s"]
        off = f"{100 * (seen / fitted - 1):+.1f} %"
        cells += ["\u2013"] * 2 if hidden[k] else [f"{plain_number(fitted)} s", off]
        rows.append((cells, bool(runs.contradicts[k])))
    return rows


def _with(places: NDArray[np.intp], more: Sequence[int]) -> NDArray[np.intp]:
    """Places with some more; the largest speedup is never thinned away."""
    return np.unique(np.append(places, more))


def _place(one: Any, processors: Array, disks: Array) -> dict[str, int]:
    """Return the row and column of an allotment among those that are shown."""
    return {
        "i": int(np.flatnonzero(processors == one.processors)[0]),
        "j": int(np.flatnonzero(disks == one.disks)[0]),
    }


def _rounded(values: Array) -> list[list[float]]:
    return [[float(f"{value:.6g}") for value in row] for row in values]


def _checked_interval(
    surface: Surface, interval: tuple[Array, Array] | None
) -> tuple[Array, Array] | tuple[None, None]:
    if interval is None:
        return None, None
    low, high = (np.asarray(x, dtype=float) for x in interval)
    if not low.shape == high.shape == surface.speedup.shape or not np.all(low <= high):
        raise ModelError(f"interval must be two arrays of shape {surface.speedup.shape}")
    return low, high


def _measured(
    surface: Surface, marked: Array, told: dict[tuple[float, float], tuple[float, bool]]
) -> list[list[float | bool | None]]:
    """Return the marks of each run on the surface.

    Processors, disks, the measured speedup, that of the surface there, the measured seconds, None
    where they are not known, and whether these contradict the law.
    """
    found: list[list[float | bool | None]] = []
    for row in on_grid(surface, marked):
        p, d = float(row[0]), float(row[1])
        on = height(surface, *np.log2(row[:2]))
        own = float(row[2]) if row.size == 3 else on
        seconds, contradicts = told.get((p, d), (None, False))
        found.append([p, d, own, on, seconds, contradicts])
    return found


def _told(runs: Beside | None) -> dict[tuple[float, float], tuple[float, bool]]:
    """Measured seconds of each allotment, and whether they contradict the law."""
    if runs is None:
        return {}
    cells = zip(runs.processors.tolist(), runs.disks.tolist(), strict=True)
    rows = zip(runs.measured_time.data.tolist(), runs.contradicts.tolist(), strict=True)
    return dict(zip(cells, rows, strict=True))


def _region(marked: Array) -> list[float]:
    """Fewest processors and disks, and most, of what was measured."""
    return [*marked[:, :2].min(axis=0).tolist(), *marked[:, :2].max(axis=0).tolist()]


def _marks(data: dict[str, Any]) -> str:
    said = " Dots: measured." if data["measured"] else ""
    if any(row[5] for row in data["measured"]):
        said = " Dots: measured, red where that contradicts the law."
    if not data["region"]:
        return f".{said}"
    return f" within what was measured.{said} Outside the dashed box the surface is extrapolated."


def _table(surface: Surface) -> dict[str, Any]:
    """Speedups on some allotments, as text."""
    rows, columns = (spread_indices(x, _MOST_ROWS) for x in (surface.processors, surface.disks))
    return {
        "columns": [f"{surface.disks[j]:g}" for j in columns],
        "rows": [
            (
                f"{surface.processors[i]:g}",
                [plain_number(float(surface.speedup[i, j])) for j in columns],
            )
            for i in rows
        ],
    }


def _caption(surface: Surface) -> str:
    best = surface.best()
    return (
        f"Largest speedup {best.value:.4g} over {allotment_in_words(surface.base)}, at "
        f"{allotment_counted(best.processors, best.disks)}."
    )
