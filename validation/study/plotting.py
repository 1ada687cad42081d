"""Figures of a study: Figure out, nothing shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

from phasefit import MAP, PhaseType
from qmodels.plotting import response_curves, surface_3d, surface_heatmap
from qmodels.plotting.style import BLUE, GREY, PURPLE, RED
from validation.study.run import Check, Study

_DPI: Final = 150


def save_png(figure: Figure, file: Path) -> None:
    """Write a figure. `savefig` would draw it twice, once to find the layout."""
    figure.set_dpi(_DPI)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    imsave(file, np.asarray(canvas.buffer_rgba()), dpi=_DPI)


def surface_figure(study: Study) -> Figure:
    """The speedup surface, as a body and as a map; as a curve where one axis is a point."""
    surface = study.surface
    if min(surface.speedup.shape) == 1:
        figure = Figure(figsize=(6, 4), layout="constrained")
        ax = figure.add_subplot()
        along = "disks" if surface.processors.size == 1 else "processors"
        ax.plot(getattr(surface, along), surface.speedup.ravel(), marker=".", color=BLUE)
        ax.set(xlabel=along, ylabel="speedup over one processor and one disk")
        ax.grid(lw=0.3)
        return figure
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    points = measured_allotments(study)
    body = figure.add_subplot(1, 2, 1, projection="3d")
    body.set_in_layout(False)  # its labels would be measured before they are projected
    body.set_position((0.0, 0.02, 0.5, 0.92))
    surface_3d(surface, ax=body, points=points)
    surface_heatmap(surface, ax=figure.add_subplot(1, 2, 2), points=points)
    return figure


def measured_allotments(study: Study) -> np.ndarray | None:
    """Processors and disks (k, 2) of the runs that the programs were learnt from, if any were."""
    runs = [fit.allotments for fit in study.scenario.fits.values()]
    return np.unique(np.concatenate(runs), axis=0) if runs else None


def response_figure(study: Study) -> Figure:
    """Mean response time against load, a panel for each number of disk partitions and policy."""
    kinds = list(dict.fromkeys(p.policy.name for p in study.points))
    rows = [kind for kind in kinds if kind != "DP"] or ["DP"]
    disks = sorted({getattr(p.policy, "disk_partitions", 1) for p in study.points})
    figure = Figure(figsize=(3.7 * len(disks) + 0.6, 3.5 * len(rows) + 0.4), layout="constrained")
    axes = figure.subplots(len(rows), len(disks), sharex=True, sharey=True, squeeze=False)
    sizes = set()
    for i, kind in enumerate(rows):
        for j, k_d in enumerate(disks):
            ax = axes[i, j]
            curves = _curves(study, {kind, "DP"}, k_d)
            response_curves(curves, ax=ax)
            sizes.add(tuple(_size(label) for label in curves))
            what = {"SP": "space sharing", "TS": "time sharing"}.get(kind, "dynamic partitioning")
            ax.set_title(f"{what}, {k_d} disk partition{'s' if k_d > 1 else ''}", fontsize=10)
            ax.label_outer()
            if study.log_load is not None and study.log_load < 1:
                ax.axvline(study.log_load, color=GREY, lw=0.8, ls=":")
                ax.annotate(
                    "the log", (study.log_load, 0.98), xycoords=("data", "axes fraction"),
                    rotation=90, va="top", ha="right", fontsize=7, color=GREY,
                )  # fmt: skip
    if len(sizes) == 1:  # one legend serves all panels
        for ax in axes.flat:
            ax.get_legend().remove()
        handles = axes[0, 0].get_legend_handles_labels()[0]
        ncols = max(2, 2 * len(disks))
        figure.legend(handles, *sizes, loc="outside lower center", ncols=ncols, fontsize=9)
    return figure


def _size(label: str) -> str:
    """What the curves of a panel differ in."""
    if label.startswith("DP"):
        return "dynamic partitioning"
    partitions = label.partition("(")[2].partition(",")[0]
    return f"{partitions} processor partition{'s' if partitions != '1' else ''}"


def agreement_figure(study: Study) -> Figure | None:
    """Predicted over simulated mean response time, an interval for each check."""
    if not study.checks:
        return None
    height = 1.4 + 0.3 * len(study.checks)
    figure = Figure(figsize=(8.2, height), layout="constrained")
    agreement_intervals(study.checks, ax=figure.add_subplot())
    return figure


def trial_figure(study: Study) -> Figure | None:
    """The way from the model's assumptions to the mesh, a panel for each policy tried there."""
    if not study.trials:
        return None
    figure = Figure(figsize=(6.2 * len(study.trials), 4.2), layout="constrained")
    axes = figure.subplots(1, len(study.trials), squeeze=False)[0]
    for ax, trial in zip(axes, study.trials, strict=True):
        trial.found.chain.plot(ax, seconds=trial.cycle)
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
    ax = ax if ax is not None else Figure(layout="constrained").add_subplot()
    ax.axvline(1.0, color="black", lw=0.8)
    for y, check in enumerate(checks):
        predicted = check.agreement.prediction.mean_response
        simulated = check.agreement.simulation.mean_response
        exact = check.agreement.prediction.method == "exact"
        ax.errorbar(
            simulated.mean / predicted, y, xerr=simulated.half_width / predicted,
            color=BLUE if exact else RED, fmt="o" if exact else "s", ms=5, capsize=3,
            mfc=BLUE if exact else "white",
        )  # fmt: skip
        if check.replay:
            ratio = check.replay.mean_response.mean / predicted
            ax.plot(ratio, y, marker="D", ms=5, color=PURPLE, ls="none")
    for label, style in (
        ("model exact, simulated with interval", {"color": BLUE, "marker": "o"}),
        ("model approximate", {"color": RED, "marker": "s", "mfc": "white"}),
        ("the log replayed in its own order", {"color": PURPLE, "marker": "D"}),
    ):
        used = any(
            (c.replay is not None) if "log" in label
            else (c.agreement.prediction.method == "exact") == ("exact," in label)
            for c in checks
        )  # fmt: skip
        if used:
            ax.plot([], [], ls="none", ms=5, label=label, **style)  # type: ignore[arg-type]
    ax.set_yticks(
        range(len(checks)),
        [f"{c.policy.label} at {c.fraction:.0%} of capacity" for c in checks],
        fontsize=8,
    )
    ax.invert_yaxis()
    ax.set_xlabel("simulated / predicted mean response time")
    low, high = ax.get_xlim()
    if high / max(low, 1e-9) > 5 and low > 0:
        ax.set_xscale("log")
    ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False)
    ax.grid(axis="x", lw=0.3)
    return ax


def workload_figure(study: Study) -> Figure | None:
    """Tails of the log's interarrival times and work, with the fitted laws over them."""
    log = study.scenario.log
    if log is None:
        return None
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    arrivals = study.scenario.arrivals
    law = arrivals.gaps if isinstance(arrivals, MAP) else arrivals
    tail(log.with_work.interarrivals, law, ax=left)
    left.set_xlabel("time between arrivals [s]")
    work = np.asarray(log.work)
    if (work > 0).any():
        tail(work[work > 0], study.scenario.demand, ax=right)
    right.set_xlabel("work of a job [processor-seconds]")
    return figure


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
    ax = ax if ax is not None else Figure(layout="constrained").add_subplot()
    values = np.sort(np.asarray(sample, dtype=float))
    above = 1.0 - np.arange(1, values.size + 1) / values.size
    shown = (values > 0) & (above > 0)
    ax.step(
        values[shown], above[shown], where="post", color=GREY, label=f"log, {values.size:,} values"
    )
    law = law.scale(values.mean() / law.mean)
    x = np.geomspace(max(values[values > 0].min(), values.mean() * 1e-4), values.max(), 200)
    ax.plot(
        x, law.sf(x), color=RED, lw=1.5, label=f"fitted, order {law.order}, cv {law.scv**0.5:.2f}"
    )
    ax.set(xscale="log", yscale="log", ylabel="fraction above", ylim=(0.3 / values.size, 1.5))
    ax.legend(fontsize=8, loc="lower left")  # tails fall to the right
    ax.grid(lw=0.3)
    return ax


def _curves(
    study: Study, kinds: set[str], disk_partitions: int
) -> dict[str, tuple[list[float], list[float]]]:
    curves: dict[str, tuple[list[float], list[float]]] = {}
    for point in study.points:
        policy = point.policy
        if policy.name in kinds and getattr(policy, "disk_partitions", None) == disk_partitions:
            loads, responses = curves.setdefault(policy.label, ([], []))
            if point.prediction:
                loads.append(point.load)
                responses.append(point.prediction.mean_response)
    return curves
