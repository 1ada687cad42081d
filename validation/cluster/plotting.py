"""Figures of a cluster: nodes over time, what slowdowns are made of, their tails, migrations.

What is drawn is known by its attributes: a result draws itself with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of
from qmodels.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    MAP,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    axes_or_new,
    set_legend_below,
    set_plain_log_ticks,
    set_title,
)
from qmodels.words import unit_of
from validation.analysis.plotting import draw_estimates

#: One balancer has one colour in every figure; a user's own are black.
_COLOURS: Final = {
    "IOCM-PM": BLUE,
    "IOCM-RE": SKY,
    "memory": GREEN,
    "CPU": ORANGE,
    "NLB": RED,
    "BS": PURPLE,
}
_PARTS: Final = {
    "queueing": SKY,
    "paging": GREEN,
    "barrier": ORANGE,
    "migration": BLUE,
    "slower_nodes": PURPLE,
}
_LABELS: Final = {
    "cpu": "utilisation of the CPU",
    "disk": "utilisation of the disk",
    "tasks": "tasks",
}


def colour_of(balancer: str) -> str:
    """The colour of a balancer."""
    return _COLOURS.get(balancer, BLACK)


def timeline(run: Any, what: str = "tasks", *, ax: Axes | None = None) -> Axes:
    """Draw "cpu", "disk" or "tasks" of every node over time, as shades.

    Parameters
    ----------
    run : ClusterRun
    what : {"tasks", "cpu", "disk"}
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
        Nodes from the least to the most loaded, over time; arrivals end at the line.
    """
    column = list(_LABELS).index(one_of("what", what, _LABELS))
    ax = axes_or_new(ax, figsize=(8.0, 4.0))
    line = run.lines[:, :, column]
    order = np.argsort(line.sum(axis=0), kind="stable")
    unit, name = unit_of(float(run.end))
    edges = np.append(run.bin_width * np.arange(line.shape[0]), run.end) / unit
    most = 1.0 if what != "tasks" else max(float(line.max()), 1.0)
    mesh = ax.pcolormesh(
        edges,
        np.arange(line.shape[1] + 1),
        line[:, order].T,
        cmap=MAP,
        vmin=0.0,
        vmax=most,
        rasterized=True,  # as shapes they would leave white seams between them
    )
    ax.axvline(float(np.asarray(run.trace.arrivals)[-1]) / unit, color="white", lw=0.8, ls="--")
    figure: Any = ax.get_figure()
    figure.colorbar(mesh, ax=ax, label=_LABELS[what])
    ax.set(xlabel=f"time [{name}], dashed: the last arrival", ylabel="node, by rising load")
    set_title(ax, run.balancer, f"mean slowdown {run.slowdown.mean():.3g}")
    return ax


def slowdown_parts(known: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the mean slowdown of every balancer as a bar of its parts, with its interval.

    Parameters
    ----------
    known : mapping
        By balancer, the estimates of "slowdown" and of its parts.
    ax : matplotlib Axes, optional
    """
    ax = axes_or_new(ax, figsize=(7.0, 3.6))
    names = sorted(known, key=lambda name: known[name]["slowdown"].mean, reverse=True)
    left = np.ones(len(names))
    y = np.arange(len(names))
    ax.barh(y, left, color="#DDDDDD", label="alone")
    for part, colour in _PARTS.items():
        wide = np.array([known[name][part].mean for name in names])
        if np.abs(wide).max() < 2e-3 * max(one["slowdown"].mean for one in known.values()):
            continue
        ax.barh(y, wide, left=left, color=colour, label=part.replace("_", " "))
        left = left + wide
    whole = [known[name]["slowdown"] for name in names]
    draw_estimates(ax, y, whole, across=True, fmt="none", color=BLACK, capsize=3)
    ax.set_yticks(y, names)
    ax.set_xlabel("mean slowdown, with its interval")
    set_legend_below(ax)
    return ax


def slowdown_tails(
    tails: Mapping[str, Array], at: Array, kind: str = "all", *, ax: Axes | None = None
) -> Axes:
    """Draw the share of jobs above a slowdown, over that slowdown.

    Parameters
    ----------
    tails : mapping
        By balancer, the shares, (k,).
    at : (k,) ndarray
        The slowdowns.
    kind : str
        What the jobs are called.
    ax : matplotlib Axes, optional
    """
    ax = axes_or_new(ax, figsize=(5.5, 3.8))
    for name, share in tails.items():
        shown = share > 0.0
        ax.step(at[shown], share[shown], where="post", color=colour_of(name), label=name)
    if not any(share.any() for share in tails.values()):  # nothing that a logarithm could be of
        ax.set(xlim=(1.0, 10.0), ylim=(0.1, 1.0))
        ax.text(0.5, 0.5, "none: no job took longer than alone", ha="center", transform=ax.transAxes)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlabel="slowdown", ylabel=f"share of {kind} jobs above it")
    for axis in "xy":
        set_plain_log_ticks(ax, axis)
    set_legend_below(ax)
    return ax


def migration_map(migrations: Ints, *, ax: Axes | None = None) -> Axes:
    """Draw how many tasks went from each node to each other."""
    ax = axes_or_new(ax, figsize=(4.6, 3.8))
    mesh = ax.imshow(migrations, cmap=MAP, origin="lower", interpolation="nearest")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    figure: Any = ax.get_figure()
    figure.colorbar(mesh, ax=ax, label="tasks")
    ax.set(xlabel="to node", ylabel="from node")
    return ax
