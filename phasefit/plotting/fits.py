"""Figures of fits: Axes in, Axes out, nothing shown.

The lowest part of the package: it knows what to draw by its attributes and imports nothing above,
so that a report can draw itself.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array
from phasefit.checks import share
from phasefit.errors import ModelError

# Okabe & Ito's colours: told apart by colour-blind readers too.
BLUE, RED, GREY = "#0072B2", "#D55E00", "#666666"
CYCLE = (BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", RED, GREY)

_POINTS = 300
_MOST_STEPS = 4000  # points of a step function beyond which a picture gains nothing
_MOST_BINS = 60


class DrawnData(Protocol):
    """Law of observations as it is drawn, as `phasefit.empirical.Empirical` is one."""

    @property
    def values(self) -> Array:
        """Distinct values (m,), ascending."""

    @property
    def cdf(self) -> Array:
        """P(X <= value) at each."""

    @property
    def size(self) -> float:
        """Number of observations."""

    def quantile(self, q: float) -> float:
        """Return the smallest value not exceeded with probability `q`."""


class DrawnLaw(Protocol):
    """Law as it is drawn, as `phasefit.PhaseType` is one."""

    @property
    def order(self) -> int:
        """Number of phases."""

    def pdf(self, x: ArrayLike) -> Any:
        """Return the density."""

    def cdf(self, x: ArrayLike) -> Any:
        """Return P(X <= x)."""

    def sf(self, x: ArrayLike) -> Any:
        """Return P(X > x)."""

    def ppf(self, q: ArrayLike) -> Any:
        """Return quantiles."""


class DrawnReport(Protocol):
    """Fit as it is drawn, as `phasefit.FitReport` is one."""

    @property
    def distribution(self) -> DrawnLaw:
        """Fitted law."""

    @property
    def data(self) -> DrawnData | None:
        """Law of the data themselves; None where it is not identified."""

    @property
    def label(self) -> str:
        """Family and structure."""

    @property
    def size(self) -> float:
        """Number of observations."""

    @property
    def ks(self) -> float:
        """Distance of the two."""

    @property
    def trace(self) -> tuple[float, ...]:
        """Log-likelihood after each iteration."""

    @property
    def replicas(self) -> tuple[Any, ...]:
        """Refits to resampled data."""

    def bands(self, x: ArrayLike, level: float = 0.95) -> tuple[Array, Array]:
        """Return confidence bands of the ccdf."""


def fit_figure(report: DrawnReport) -> Figure:
    """Draw density, ccdf, quantiles and likelihood of a fit, four panels.

    Parameters
    ----------
    report : FitReport
        The fit.

    Returns
    -------
    Figure
        Not shown; save it with ``savefig``.

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> figure = fit_figure(fit([1.0, 2.0, 4.0, 9.0], order=1))
    >>> [ax.get_title() for ax in figure.axes]
    ['density', 'ccdf', 'quantiles', 'log-likelihood']
    """
    figure = Figure(figsize=(10.0, 7.6), layout="constrained")
    panels = figure.subplots(2, 2)
    for ax, draw in zip(panels.flat, (density, ccdf, quantiles, likelihood), strict=True):
        draw(report, ax=ax)
    distance = f", KS {report.ks:.3g}" if isfinite(report.ks) else ""
    figure.suptitle(f"{report.label}, n = {report.size:,.6g}{distance}", fontsize=11)
    return figure


def density(report: DrawnReport, *, ax: Axes | None = None) -> Axes:
    """Draw a histogram of the data and the fitted density over the logarithm of time.

    Parameters
    ----------
    report : FitReport
        The fit.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Areas are probabilities: the density is that of log10 X, which is x pdf(x) log(10).

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> density(fit([1.0, 2.0, 4.0, 9.0], order=1)).get_xscale()
    'log'
    """
    ax = axes_or_new(ax)
    x = _times(report)
    if report.data is not None:
        edges, share = _histogram(report.data)
        ax.stairs(share, edges, fill=True, color=BLUE, alpha=0.35, label="data")
    ax.plot(x, x * np.asarray(report.distribution.pdf(x)) * np.log(10.0), c=RED, label="fit")
    ax.set(xscale="log", xlabel="x", ylabel="density per decade", title="density")
    _ticks_of_near_ends(ax)
    ax.set_ylim(bottom=0.0)
    ax.legend(frameon=False, loc="upper right")
    return ax


def ccdf(report: DrawnReport, *, ax: Axes | None = None, level: float = 0.95) -> Axes:
    """Draw P(X > x) of data and fit, both axes logarithmic, with its band if there is one.

    Parameters
    ----------
    report : FitReport
        The fit.
    ax : Axes, optional
        Where to draw; a new figure by default.
    level : float
        Confidence of the band.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Raises
    ------
    ModelError
        If `level` is not in (0, 1).

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> ccdf(fit([1.0, 2.0, 4.0, 9.0], order=1)).get_yscale()
    'log'
    """
    ax = axes_or_new(ax)
    level = share("level", level, zero=False, one=False)
    x = _times(report)
    floor = 0.3 / max(report.size, 10.0)
    fitted = np.asarray(report.distribution.sf(x))
    if report.replicas:
        low, high = report.bands(x, level)
        ax.fill_between(
            x,
            np.maximum(low, floor),
            np.maximum(high, floor),
            color=RED,
            alpha=0.25,
            lw=0,
            label=f"{level:.0%} band",
        )
    if report.data is not None:
        at = _thinned(report.data)
        survival, shown = 1.0 - report.data.cdf[at], report.data.values[at] > 0.0
        values = report.data.values[at][shown]
        # falls from there at the first value, and to none at the last
        before = survival[~shown].min(initial=1.0)
        above = np.append([before] * bool(values.size), np.maximum(survival[shown], floor))
        ax.step(np.append(values[:1], values), above, where="post", c=BLUE, label="data")
    ax.plot(x[fitted > floor], fitted[fitted > floor], c=RED, label="fit")
    ax.set(xscale="log", yscale="log", xlabel="x", ylabel="P(X > x)", title="ccdf")
    ax.set_ylim(floor, 1.5)
    _ticks_of_near_ends(ax)
    ax.legend(frameon=False, loc="lower left")
    return ax


def quantiles(report: DrawnReport, *, ax: Axes | None = None) -> Axes:
    """Draw fitted against empirical quantiles, both axes logarithmic.

    Parameters
    ----------
    report : FitReport
        The fit.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        On the diagonal the two agree; the marks are the quantiles 0.5, 0.9, 0.99 and 0.999.

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> quantiles(fit([1.0, 2.0, 4.0, 9.0], order=1)).get_xlabel()
    'quantile of the data'
    """
    ax = axes_or_new(ax)
    ax.set(title="quantiles", xlabel="quantile of the data", ylabel="quantile of the fit")
    if report.data is None:
        return _without_data(ax)
    data, law = report.data, report.distribution
    # Many places far out on both sides; the middle of each step, so that the last has a quantile.
    outside = np.geomspace(0.5, min(1.0 / data.size, 0.25), 150)
    at = np.searchsorted(data.cdf, np.concatenate([outside, 1.0 - outside, np.linspace(0, 1, 200)]))
    at = np.unique(at[at < data.values.size])
    before = np.concatenate([[0.0], data.cdf[:-1]])
    measured, fitted = data.values[at], np.asarray(law.ppf((before[at] + data.cdf[at]) / 2.0))
    shown = (measured > 0.0) & (fitted > 0.0)
    ax.scatter(measured[shown], fitted[shown], s=9, c=BLUE, alpha=0.7, lw=0)
    for q in (0.5, 0.9, 0.99, 0.999):
        place, theirs = data.quantile(q), float(law.ppf(q))
        if place > 0.0 and theirs > 0.0 and data.size * (1.0 - q) >= 1.0:
            ax.plot([place], [theirs], "o", mfc="none", c=RED)
            ax.annotate(
                f"{q:g}",
                (place, theirs),
                xytext=(6, -9),
                textcoords="offset points",
                fontsize=8,
                color=RED,
            )
    ax.set(xscale="log", yscale="log")
    if shown.any():
        ends = np.concatenate([measured[shown], fitted[shown]])
        ax.plot([ends.min(), ends.max()], [ends.min(), ends.max()], c=GREY, lw=0.8, ls="--")
        _ticks_of_near_ends(ax)
    return ax


def likelihood(report: DrawnReport, *, ax: Axes | None = None) -> Axes:
    """Draw what the log-likelihood of each iteration still lacked of the last one.

    Parameters
    ----------
    report : FitReport
        The fit.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ax : Axes
        Those drawn on.

    Examples
    --------
    >>> from phasefit.fitting import fit
    >>> likelihood(fit([1.0, 2.0, 4.0, 9.0], order=1)).get_xlabel()
    'step'
    """
    ax = axes_or_new(ax)
    ax.set(title="log-likelihood", xlabel="step", ylabel="missing to the last, per observation")
    trace = np.asarray(report.trace, dtype=float)
    missing = (trace[-1] - trace[:-1]) / report.size if trace.size else trace
    rounding = 1e-14 * abs(trace[-1]) / report.size if trace.size else 0.0
    steps = np.flatnonzero(missing > rounding)
    if not steps.size:
        text = "closed form: nothing to iterate" if trace.size < 2 else "at rest from the start"
        ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", color=GREY)
        ax.set(xticks=[], yticks=[])
        return ax
    ax.plot(steps + 1, missing[steps], c=BLUE, marker="." if steps.size < 40 else None)
    ax.set_yscale("log")
    if steps[-1] > 100:
        ax.set_xscale("log")
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def axes_or_new(ax: Axes | None, **figure: Any) -> Axes:
    """Return `ax`, or the axes of a new figure that no global list keeps.

    Parameters
    ----------
    ax : Axes or None
        Where to draw; None for the axes of a new figure.
    **figure : object
        Arguments of a new `Figure`.

    Raises
    ------
    ModelError
        If `ax` is something else.
    """
    if ax is None:
        return Figure(layout="constrained", **figure).add_subplot()
    if not isinstance(ax, Axes):
        raise ModelError(f"ax must be matplotlib Axes, got {type(ax).__name__}")
    return ax


def _without_data(ax: Axes) -> Axes:
    ax.text(
        0.5,
        0.5,
        "the data's own law is not identified",
        transform=ax.transAxes,
        ha="center",
        color=GREY,
    )
    ax.set(xticks=[], yticks=[])
    return ax


def _ticks_of_near_ends(ax: Axes) -> None:
    """Few plain numbers on a logarithmic axis without two powers of ten: others would lie on each other."""
    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        axis.set_minor_formatter(NullFormatter())
        if axis.get_scale() == "log" and np.floor(np.log10(high)) <= np.ceil(np.log10(low)):
            axis.set_major_locator(MaxNLocator(4))
            axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:.4g}"))
            axis.set_minor_locator(NullLocator())


def _times(report: DrawnReport) -> Array:
    """Times that cover both the data and the law, equally spaced on a logarithmic axis."""
    law = report.distribution
    outside = min(1e-3, 1.0 / max(report.size, 1.0))
    ends = [float(t) for t in np.asarray(law.ppf([1e-3, 1.0 - outside])) if t > 0.0]
    if report.data is not None:
        positive = report.data.values[report.data.values > 0.0]
        ends += [float(t) for t in (positive[:1].tolist() + positive[-1:].tolist())]
    return np.geomspace(min(ends) * 0.8, max(ends) * 1.25, _POINTS)


def _thinned(data: DrawnData) -> NDArray[np.intp]:
    """Indices of the steps to draw: all, or enough of them, denser towards the tail."""
    n = data.values.size
    if n <= _MOST_STEPS:
        return np.arange(n)
    head = np.linspace(0, n - 1, _MOST_STEPS // 2)
    tail = n - np.geomspace(1, n, _MOST_STEPS // 2)
    return np.unique(np.concatenate([head, tail]).astype(np.intp))


def _histogram(data: DrawnData) -> tuple[Array, Array]:
    """Edges and heights, per decade, of a histogram over the logarithm of the positive values."""
    positive = data.values > 0.0
    values, mass = data.values[positive], np.diff(data.cdf, prepend=0.0)[positive]
    if values.size < 2:
        middle = values[0] if values.size else 1.0
        return np.array([0.8, 1.25]) * middle, np.array([mass.sum() / np.log10(1.25 / 0.8)])
    bins = int(np.clip(2.0 * data.size ** (1.0 / 3.0), 5, _MOST_BINS))  # Rice's rule
    logs = np.log10(values)
    even = np.linspace(logs[0], logs[-1], bins + 1)[1:-1]
    # Edges lie halfway between neighbouring values: whole seconds would leave gaps otherwise.
    at = np.unique(np.clip(np.searchsorted(logs, even), 1, values.size - 1))
    inner = (logs[at - 1] + logs[at]) / 2.0
    first = logs[0] - min(logs[1] - logs[0], 0.3) / 2.0
    edges = np.concatenate([[first], inner, [logs[-1] + (logs[-1] - inner[-1]) * 1e-3 + 1e-9]])
    height, _ = np.histogram(logs, edges, weights=mass)
    return 10.0**edges, height / np.diff(edges)
