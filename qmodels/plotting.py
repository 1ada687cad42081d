"""Figures of programs and policies: Axes in, Axes out, nothing shown.

The bottom of the house: it knows what to draw by its attributes and imports no room above, so
that a result can draw itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from qmodels.errors import ModelError

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]

# Okabe & Ito's colours and cividis: told apart by colour-blind readers too.
BLUE, ORANGE = "#0072B2", "#E69F00"
MAP = "cividis"

_MOST_TICKS = 9


@runtime_checkable
class Surface(Protocol):
    """What is drawn of a `qmodels.programs.SpeedupSurface`."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    @property
    def processors(self) -> NDArray[np.float64]:
        """Processors (n,)."""

    @property
    def disks(self) -> NDArray[np.float64]:
        """Disks (m,)."""

    @property
    def speedup(self) -> NDArray[np.float64]:
        """Speedups (n, m)."""

    def best(self) -> Any:
        """Return the largest speedup: its processors, disks and value."""


@runtime_checkable
class Signed(Protocol):
    """What is drawn of a `qmodels.programs.Program`."""

    @property
    def name(self) -> str:
        """Shown in the title."""

    def signature(self) -> Any:
        """Return relative boundaries, lengths and I/O fractions of the phases."""


def surface_heatmap(
    surface: Surface,
    *,
    ax: Axes | None = None,
    points: Sequence[tuple[float, float]] | None = None,
) -> Axes:
    """Draw a speedup surface as a map with contour lines over processors and disks.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments.
    ax : Axes, optional
        Where to draw; a new figure by default.
    points : sequence of (processors, disks), optional
        Allotments to mark, for example those that were measured.

    Returns
    -------
    ax : Axes

    Raises
    ------
    ModelError
        If the surface is a line or a point, or `points` are not pairs of numbers > 0.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16, 64], [1, 2, 4])
    >>> surface_heatmap(surface).get_xlabel()
    'processors'
    """
    _check_grid(surface)
    ax = ax if ax is not None else Figure(layout="constrained").add_subplot()
    x, y, z = np.log2(surface.processors), np.log2(surface.disks), surface.speedup.T
    # A surface without relief still needs a range of colours.
    norm = LogNorm(z.min() * 0.99, z.max() * 1.01)
    mesh = ax.pcolormesh(x, y, z, cmap=MAP, shading="gouraud", norm=norm)
    levels = _levels(z)
    if levels.size:
        lines = ax.contour(x, y, z, levels=levels, colors="white", linewidths=0.9)
        for text in ax.clabel(lines, fmt="%.4g", fontsize=8):
            text.set_path_effects([withStroke(linewidth=2.0, foreground="#333333")])
    bar = ax.figure.colorbar(mesh, ax=ax)
    bar.minorticks_off()
    ticks = levels if levels.size else np.array([z.min(), z.max()])
    bar.set_ticks(ticks.tolist(), labels=[f"{tick:.4g}" for tick in ticks])
    bar.set_label("speedup over one processor and one disk")
    if points is not None:
        marked = _checked_points(points)
        ax.scatter(
            np.log2(marked[:, 0]), np.log2(marked[:, 1]), s=26, c="white",
            edgecolors="black", linewidths=0.9, zorder=3, clip_on=False,
        )  # fmt: skip
    best = surface.best()
    ax.scatter(
        [np.log2(best.processors)], [np.log2(best.disks)], s=90, marker="*", c=ORANGE,
        edgecolors="black", linewidths=0.7, zorder=4, clip_on=False,
    )  # fmt: skip
    ax.set_xlabel("processors")
    ax.set_ylabel("disks")
    _set_log2_ticks(ax, surface.processors, "x")
    _set_log2_ticks(ax, surface.disks, "y")
    where = f"{_counted(best.processors, 'processor')}, {_counted(best.disks, 'disk')}"
    ax.set_title(
        _titled(surface.name, f"\u2605 largest speedup {best.value:.4g} at {where}"),
        fontsize=10,
        parse_math=False,
    )
    return ax


def surface_3d(surface: Surface, *, ax: Axes3D | None = None) -> Axes3D:
    """Draw a speedup surface as a body over processors and disks.

    Parameters
    ----------
    surface : SpeedupSurface
        At least 2 by 2 allotments.
    ax : Axes3D, optional
        Where to draw, an axes with ``projection="3d"``; a new figure by default.

    Returns
    -------
    ax : Axes3D

    Raises
    ------
    ModelError
        If the surface is a line or a point, or `ax` is flat.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program, speedup_surface
    >>> surface = speedup_surface(Program([Phase(1.0, 9.0)]), [1, 4, 16, 64], [1, 2, 4])
    >>> surface_3d(surface).get_zlabel()
    'speedup'
    """
    _check_grid(surface)
    room: Any = ax
    if room is None:
        room = Figure(layout="constrained").add_subplot(projection="3d")
    if not hasattr(room, "plot_surface"):
        raise ModelError('ax is flat; make it with add_subplot(projection="3d")')
    rows, columns = _spread(surface.processors), _spread(surface.disks)
    speedup = surface.speedup[np.ix_(rows, columns)]
    p, d = np.meshgrid(
        np.log2(surface.processors[rows]), np.log2(surface.disks[columns]), indexing="ij"
    )
    room.plot_surface(
        p, d, speedup, cmap=MAP, edgecolor=(0.1, 0.1, 0.1, 0.35), linewidth=0.4,
        norm=LogNorm(speedup.min() * 0.99, speedup.max() * 1.01), rstride=1, cstride=1,
    )  # fmt: skip
    room.set_xlabel("processors")
    room.set_ylabel("disks")
    room.set_zlabel("speedup")
    room.set_zlim(bottom=0.0)
    _set_log2_ticks(room, surface.processors, "x", most=8)
    _set_log2_ticks(room, surface.disks, "y", most=6)
    room.tick_params(labelsize=8)
    room.view_init(elev=28, azim=-125)
    room.set_box_aspect(None, zoom=0.86)  # the z label is cut off otherwise
    room.set_title(_titled(surface.name, ""), fontsize=10, parse_math=False)
    drawn: Axes3D = room
    return drawn


def signature(program: Signed, *, ax: Axes | None = None) -> Axes:
    """Draw a program's phase signature: I/O and computation over relative execution time.

    Parameters
    ----------
    program : Program
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes

    Raises
    ------
    ModelError
        If `program` has no signature (a mixture has none).

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, section 2.1.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program
    >>> signature(Program([Phase(0.0, 1.0), Phase(2.0, 1.0)])).get_xlabel()
    'share of the execution time on one processor and one disk'
    """
    if not isinstance(program, Signed):
        raise ModelError(
            f"only a Program has a phase signature, got {type(program).__name__}; draw the "
            f"programs of a mixture one by one"
        )
    ax = ax if ax is not None else Figure(figsize=(7.5, 2.4), layout="constrained").add_subplot()
    found = program.signature()
    start, length, share = found.boundaries[:-1], found.lengths, found.io_fraction
    # Many phases would be nothing but edges.
    edge = 0.6 if share.size <= 60 else 0.0
    ax.bar(start, share, length, align="edge", color=BLUE, edgecolor="white", linewidth=edge)
    ax.bar(
        start, 1.0 - share, length, bottom=share, align="edge", color=ORANGE, edgecolor="white",
        linewidth=edge,
    )  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_xlabel("share of the execution time on one processor and one disk")
    ax.set_ylabel("share of the phase")
    if share.size <= 30:
        for n, (at, width) in enumerate(zip(start, length, strict=True), start=1):
            if width > 0.02:
                ax.text(
                    at + width / 2, 0.97, str(n), ha="center", va="top", fontsize=8,
                    color="white" if share[n - 1] > 0.9 else "black",
                )  # fmt: skip
    handles = [Patch(color=BLUE, label="I/O"), Patch(color=ORANGE, label="computation")]
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    ax.set_title(
        _titled(program.name, _counted(share.size, "phase")), fontsize=10, parse_math=False
    )
    return ax


def _counted(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def _titled(name: str, rest: str) -> str:
    short = name if len(name) <= 60 else name[:57] + "..."
    shown = "".join(c if c.isprintable() else "?" for c in short)
    return "\n".join(part for part in (shown, rest) if part)


def _check_grid(surface: Surface) -> None:
    if not isinstance(surface, Surface):
        raise ModelError(f"surface must be a SpeedupSurface, got {type(surface).__name__}")
    shape = surface.processors.size, surface.disks.size
    if min(shape) < 2:
        raise ModelError(
            f"a surface of {shape[0]} by {shape[1]} allotments has no area to draw; ask for at "
            f"least 2 numbers of processors and 2 of disks, or use its table()"
        )


def _checked_points(points: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    try:
        marked = np.asarray(points, dtype=float)
    except (TypeError, ValueError):
        marked = np.zeros(0)
    if marked.shape[1:] != (2,) or not np.all((marked > 0) & (marked < 1e13)):
        raise ModelError("points must be pairs (processors, disks) of numbers > 0")
    return marked


def _spread(values: NDArray[np.float64], most: int = 30) -> NDArray[np.intp]:
    """Choose at most so many values, evenly over their logarithms, both ends in; their indices."""
    wanted = np.geomspace(values[0], values[-1], most)
    return np.unique(np.abs(np.log(values[:, None] / wanted[None, :])).argmin(axis=0))


def _levels(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Contour levels strictly inside the range, 3 to 12 of them; none on a flat surface."""
    low, high = float(z.min()), float(z.max())
    coarse = np.array([m * 10.0**k for k in range(-6, 13) for m in (1, 2, 5)])
    inside = coarse[(coarse > low) & (coarse < high)]
    if inside.size >= 3:
        return inside[:: -(-inside.size // 12)]
    if high <= low * (1 + 1e-6):
        return np.array([])
    step = 10.0 ** np.floor(np.log10((high - low) / 2))
    for factor in (5, 2, 1, 0.5):
        levels = step * factor * np.arange(np.ceil(low / step / factor), high / step / factor + 1)
        inside = levels[(levels > low) & (levels < high)]
        if inside.size >= 3:
            break
    return inside


def _set_log2_ticks(
    ax: Any, values: NDArray[np.float64], axis: str, most: int = _MOST_TICKS
) -> None:
    """Label the powers of two within the range, thinned to at most so many."""
    low, high = np.log2(values[0]), np.log2(values[-1])
    ticks = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    if ticks.size < 2:
        ticks = np.array([low, high])
    ticks = ticks[:: -(-ticks.size // most)]
    getattr(ax, f"set_{axis}ticks")(ticks, [f"{2.0**t:.4g}" for t in ticks])


def response_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, ax: Axes | None = None
) -> Axes:
    """Mean response time against load, one line per policy.

    Parameters
    ----------
    curves : mapping of str to (loads, mean responses)
        By policy label; seconds. Labels that begin with DP are dashed, as in the source.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, figures 6 and 7.

    Examples
    --------
    >>> ax = response_curves({"SP(1,1)": ([0.1, 0.5], [6.0, 18.0]), "DP(1)": ([0.1], [5.9])})
    >>> [line.get_linestyle() for line in ax.lines]
    ['-', '--']
    """
    ax = ax if ax is not None else Figure(layout="constrained").add_subplot()
    static = [label for label in curves if not label.startswith("DP")]
    shades = colormaps[MAP](np.linspace(0.0, 0.9, max(len(static), 1)))
    for label, (loads, responses) in curves.items():
        dynamic = label not in static
        ax.plot(
            loads,
            responses,
            color="#D55E00" if dynamic else shades[static.index(label)],
            linestyle="--" if dynamic else "-",
            marker="." if len(loads) < 20 else "",
            label=label,
        )
    ax.set(xlabel="load", ylabel="mean response time [s]", yscale="log", xlim=(0, 1))
    ax.grid(lw=0.3)
    for text in ax.legend(fontsize=7, loc="best").get_texts():
        text.set_parse_math(False)
    return ax
