"""Figures of a study: Figure out, nothing shown."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave
from numpy.typing import NDArray

from phasefit import MAP, PhaseType
from qmodels.plotting import response_curves, surface_3d, surface_heatmap
from qmodels.plotting.fonts import DPI, readable
from qmodels.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    axes_or_new,
    set_legend_below,
    set_plain_log_ticks,
    set_title,
)
from qmodels.policies import AbstractPolicy
from qmodels.policies.methods import exact_for_its_laws
from qmodels.words import allotment_in_words, counted, unit_of
from validation.analysis.plotting import draw_estimates
from validation.study.checks import Check
from validation.study.findings import headline_policies
from validation.study.run import Study
from validation.study.trial import MeshTrial

#: Colours and lines of the few policies of the first figure: told apart without colour too.
LOOKS: Final = (
    (BLUE, "-"),
    (RED, "--"),
    (GREEN, "-."),
    (PURPLE, ":"),
    (ORANGE, (0, (5, 1, 1, 1))),
    (BLACK, (0, (1, 2))),
)

#: Of a picture's file; the usual 6 takes up to twice as long for a fiftieth of its size.
_COMPRESSION: Final = 4


def png_file(tiles: Sequence[Sequence[Figure | None]]) -> bytes:
    """Figures side by side, row by row, as one picture's file; None leaves a place empty."""
    rows = [[None if each is None else _pixels(each) for each in row] for row in tiles]
    wide = [
        max((p.shape[1] for p in column if p is not None), default=0) for column in zip(*rows, strict=True)
    ]
    high = [max((p.shape[0] for p in row if p is not None), default=0) for row in rows]
    whole = np.full((sum(high), sum(wide), 4), 255, np.uint8)
    for i, row in enumerate(rows):
        for j, pixels in enumerate(row):
            if pixels is not None:
                top, left = sum(high[:i]), sum(wide[:j])
                whole[top : top + pixels.shape[0], left : left + pixels.shape[1]] = pixels
    made = io.BytesIO()
    imsave(made, whole, format="png", dpi=DPI, pil_kwargs={"compress_level": _COMPRESSION})
    return made.getvalue()


def _pixels(figure: Figure) -> NDArray[np.uint8]:
    """A figure as colours, (height, width, 4). `savefig` would draw it twice, to find the layout.

    The layout stays as it is then, whatever draws the figure next.
    """
    figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(figure)
    with readable(figure):
        canvas.draw()
    figure.set_layout_engine("none")
    return np.asarray(canvas.buffer_rgba())


def surface_curve(study: Study) -> Figure:
    """The speedups of a surface of one row or one column."""
    surface = study.surface
    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    ax = figure.add_subplot()
    along = "disks" if surface.processors.size == 1 else "processors"
    ax.plot(getattr(surface, along), surface.speedup.ravel(), marker=".", color=BLUE)
    ax.set(xlabel=along, ylabel=f"speedup over {allotment_in_words(surface.base)}")
    ax.grid(lw=0.3)
    return figure


def surface_map(study: Study) -> Figure:
    """The speedup surface as a map alone."""
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    surface_heatmap(
        study.surface,
        ax=figure.add_subplot(),
        points=measured_allotments(study),
        contradicted=_contradicted(study),
    )
    return figure


def surface_body(study: Study) -> Figure:
    """The speedup surface as a body alone."""
    figure = Figure(figsize=(5.2, 4.2))
    body = figure.add_axes((0.05, 0.0, 0.9, 0.9), projection="3d")
    surface_3d(study.surface, ax=body, points=measured_allotments(study))
    return figure


def measured_allotments(study: Study) -> np.ndarray | None:
    """Processors and disks (k, 2) of the runs that the programs were learnt from, if any were."""
    runs = [fit.allotments for fit in study.scenario.fits.values()]
    return np.unique(np.concatenate(runs), axis=0) if runs else None


def _contradicted(study: Study) -> np.ndarray | None:
    """Whether the runs of some program contradict its law, on each of the measured allotments."""
    allotments = measured_allotments(study)
    if allotments is None:
        return None
    found = [fit.measured.at(*allotments.T)[1] for fit in study.scenario.fits.values()]
    return np.asarray(np.any(found, axis=0))


def answer_figure(study: Study) -> Figure:
    """Mean response time against load under the policies that the findings name, with errors."""
    figure = Figure(figsize=(4.8, 4.4), layout="constrained")
    ax = figure.add_subplot()
    ranked = [study.recommendation(load) for load in study.loads]
    unit, name = time_unit(study)
    for label, look in zip(headline_policies(study), LOOKS, strict=False):
        rows = [(x.load, row) for x in ranked for row in x.rows if row.label == label]
        sure = [
            (load, row.value / unit, min(row.error, 1.0 - 1e-6))
            for load, row in rows
            if np.isfinite(row.value) and np.isfinite(row.error)
        ]
        at, times = curve_of(study, label)
        ax.plot(at, np.asarray(times) / unit, color=look[0], linestyle=look[1], lw=1.8, label=label)
        if sure:
            loads, times, errors = np.array(sure).T
            ax.fill_between(
                loads,
                times * (1.0 - errors),
                times * (1.0 + errors),
                color=look[0],
                alpha=0.16,
                lw=0,
            )
    ax.set(
        xlabel="load (1: the machine's ceiling)",
        ylabel=f"mean response time [{name}]",
        yscale="log",
        xlim=(0, 1),
    )
    set_plain_log_ticks(ax)
    ax.grid(lw=0.3)
    _mark_log(study, ax)
    set_legend_below(ax, fontsize=9)
    return figure


def time_unit(study: Study) -> tuple[float, str]:
    """The unit in which people would give the least times of the loads, in seconds, and its name.

    The times of the findings, tables and figures so read alike, also where a log's jobs take days.
    """
    rows = [study.recommendation(load).rows[0] for load in study.loads]
    least = [row.value for row in rows if np.isfinite(row.value) and row.value > 0.0]
    return unit_of(float(np.exp(np.mean(np.log(least))))) if least else (1.0, "s")


def response_panels(study: Study) -> list[tuple[str, int]]:
    """Kind of policy and number of disk partitions of each panel, row by row; none is empty."""
    kinds = list(dict.fromkeys(p.policy.name for p in study.points))
    there = {(p.policy.name, _disks(p.policy)) for p in study.points}
    # dynamic partitioning is drawn beside the others; where none has as many disk partitions,
    # it has a panel to itself
    others = {k_d for kind, k_d in there if kind != "DP"}
    there -= {("DP", k_d) for k_d in others}
    return [(kind, k_d) for kind in kinds for _, k_d in sorted(x for x in there if x[0] == kind)]


def response_panel(study: Study, kind: str, disk_partitions: int) -> Figure:
    """The policies of a kind that use so many disk partitions, dynamic partitioning beside them.

    All panels share the numbers of their axes.
    """
    figure, ax = _panel()
    unit = time_unit(study)
    response_curves(panel_curves(study, kind, disk_partitions), unit=unit, ax=ax)
    if _mark_log(study, ax):
        set_legend_below(ax, labelspacing=0.2, handlelength=1.6)
    ax.set_title(panel_title(kind, disk_partitions), fontsize=10, y=1.0)
    times = [p.prediction.mean_response for p in study.points if p.prediction]
    if times:
        ax.set_ylim(0.8 * min(times) / unit[0], 1.25 * max(times) / unit[0])
        set_plain_log_ticks(ax)  # by the numbers that all panels share
    return figure


def _panel() -> tuple[Figure, Axes]:
    """A panel with axes at a fixed place: those beside each other match, and it is soon drawn.

    There is room for labels such as 0.0001 and, at the right end, 100,000, and for a legend below.
    """
    figure = Figure(figsize=(4.4, 4.2))
    return figure, figure.add_axes((0.2, 0.27, 0.73, 0.66))


def panel_curves(study: Study, kind: str, disk_partitions: int) -> dict[str, tuple[list[float], list[float]]]:
    """Loads and mean response times in seconds of the policies of a panel, by label."""
    return _curves(study, lambda policy: policy.name in (kind, "DP") and _disks(policy) == disk_partitions)


def curve_of(study: Study, label: str) -> tuple[list[float], list[float]]:
    """Loads and mean response times in seconds of one policy."""
    return _curves(study, lambda policy: policy.label == label)[label]


def panel_title(kind: str, disk_partitions: int) -> str:
    """What a panel shows."""
    names = {"SP": "space sharing", "TS": "time sharing", "DP": "dynamic partitioning"}
    return f"{names.get(kind, kind)}, {counted(disk_partitions, 'disk partition')}"


def _mark_log(study: Study, ax: Axes) -> bool:
    """Draw a line at the log's own load, to be named in the legend; whether there is one."""
    if study.log_load is None or study.log_load >= 1:
        return False
    ax.axvline(study.log_load, color=GREY, lw=0.8, ls=":", label="the log's own load")
    return True


def _disks(policy: AbstractPolicy) -> int:
    """Its disk partitions; a policy of another kind may have none."""
    return int(getattr(policy, "disk_partitions", 1))


def agreement_figure(study: Study) -> Figure | None:
    """Predicted over simulated mean response time, an interval for each check."""
    if not study.checks:
        return None
    height = 1.9 + 0.26 * len(study.checks)
    figure = Figure(figsize=(4.9, height), layout="constrained")
    agreement_intervals(study.checks, ax=figure.add_subplot())
    return figure


def trial_panel(trial: MeshTrial) -> Figure:
    """The way from the model to the mesh for one policy."""
    figure = Figure(figsize=(4.8, 3.9), layout="constrained")
    ax = trial.found.chain.plot(figure.add_subplot(), seconds=trial.cycle)
    mesh = trial.task.cell.mesh
    where = f"on a mesh of {mesh.rows} x {mesh.columns}, jobs placed by {trial.strategy}"
    set_title(ax, f"{trial.policy.label} {where}", "steps in % of the time on the mesh")
    return figure


def agreement_intervals(checks: Sequence[Check], *, ax: Axes | None = None) -> Axes:
    """Simulated over predicted mean response time, with the simulator's 95 % intervals.

    Parameters
    ----------
    checks : sequence of Check
        From a `Study`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax)
    ax.axvline(1.0, color="black", lw=0.8)
    for y, check in enumerate(checks):
        predicted = check.agreement.prediction.mean_response
        simulated = check.agreement.simulation.mean_response
        exact = exact_for_its_laws(check.agreement.prediction.method)
        known = [simulated.mean / predicted], [simulated.half_width / predicted]
        colour, mark, inside = (BLUE, "o", BLUE) if exact else (RED, "s", "white")
        draw_estimates(ax, [y], known, across=True, ms=5, capsize=3, color=colour, fmt=mark, mfc=inside)
        if check.replay:
            ratio = check.replay.mean_response.mean / predicted
            ax.plot(ratio, y, marker="D", ms=5, color=PURPLE, ls="none")
    for label, style in (
        ("model exact, simulated with interval", {"color": BLUE, "marker": "o"}),
        ("model approximate", {"color": RED, "marker": "s", "mfc": "white"}),
        ("the log replayed in its own order", {"color": PURPLE, "marker": "D"}),
    ):
        used = any(
            (c.replay is not None)
            if "log" in label
            else exact_for_its_laws(c.agreement.prediction.method) == ("exact," in label)
            for c in checks
        )
        if used:
            ax.plot([], [], ls="none", ms=5, label=label, **style)  # type: ignore[arg-type]
    ax.set_yticks(
        range(len(checks)),
        [f"{c.policy.label}, {c.fraction:.0%}" for c in checks],
        fontsize=9,
    )
    ax.set_ylim(len(checks) - 0.5, -0.5)
    # a title of the upright axis would be longer than that is where there are few checks
    ax.set_xlabel("simulated / predicted mean response time\nof policies at shares of their capacity")
    low, high = ax.get_xlim()
    if high / max(low, 1e-9) > 5 and low > 0:
        ax.set_xscale("log")
    set_legend_below(ax, lines=2, fontsize=9, ncols=1)
    ax.grid(axis="x", lw=0.3)
    return ax


def workload_panel(name: str, sample: np.ndarray, law: PhaseType) -> Figure:
    """A tail of what the log holds, with the fitted law over it."""
    figure, ax = _panel()
    if sample.size:
        tail(sample, law, ax=ax)
    ax.set_xlabel(name)
    return figure


def log_and_laws(study: Study) -> list[tuple[str, np.ndarray, PhaseType]]:
    """What was taken from the log, its positive values, and the law that was fitted to it."""
    log = study.scenario.log
    if log is None:
        return []
    arrivals = study.scenario.arrivals
    law = arrivals.gaps if isinstance(arrivals, MAP) else arrivals
    work = np.asarray(log.work)
    return [
        ("time between arrivals [s]", np.asarray(log.with_work.interarrivals), law),
        ("work of a job [processor-seconds]", work[work > 0], study.scenario.demand),
    ]


def tail(sample: np.ndarray, law: PhaseType, *, ax: Axes | None = None) -> Axes:
    """Fraction of a sample above each value on logarithmic axes, and the fitted law's.

    Parameters
    ----------
    sample : (n,) ndarray
    law : PhaseType
        Scaled to the mean of the sample, since only the shape is fitted.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes_or_new(ax)
    values = np.sort(np.asarray(sample, dtype=float))
    above = 1.0 - np.arange(1, values.size + 1) / values.size
    shown = (values > 0) & (above > 0)
    ax.step(values[shown], above[shown], where="post", color=GREY, label=f"log, {values.size:,} values")
    law = law.scale(values.mean() / law.mean)
    x = np.geomspace(max(values[values > 0].min(), values.mean() * 1e-4), values.max(), 200)
    ax.plot(x, law.sf(x), color=RED, lw=1.5, label=f"fitted, order {law.order}, cv {law.scv**0.5:.2f}")
    ax.set(xscale="log", yscale="log", ylabel="fraction above", ylim=(0.3 / values.size, 1.5))
    for axis in "xy":
        set_plain_log_ticks(ax, axis)
    set_legend_below(ax, ncols=1)
    ax.grid(lw=0.3)
    return ax


def _curves(
    study: Study, wanted: Callable[[AbstractPolicy], bool]
) -> dict[str, tuple[list[float], list[float]]]:
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for point in study.points:
        if wanted(point.policy):
            loads, responses = curves.setdefault(point.policy.label, ([], []))
            if point.prediction:
                loads.append(point.load)
                responses.append(point.prediction.mean_response)
    return {label: _in_order(*curve) for label, curve in curves.items()}


def _in_order(loads: list[float], times: list[float]) -> tuple[list[float], list[float]]:
    order = np.argsort(loads)
    return [loads[i] for i in order], [times[i] for i in order]
