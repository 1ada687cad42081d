"""Means of s_pd = h(1, 1; theta) / h(p, d; theta) over a random parameter theta.

Each class is one way to average, called with processors and disks that broadcast; `error` is an
estimate of what the average is off by, zero where it is exact.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.programs.quadrature import Nodes

Form = Callable[[Any, Any, Any], Any]

_BLOCK = 2_000_000  # values of h held at a time
_PANELS = 512


class AbstractMeanRatio(abc.ABC):
    """E[s_pd] as a function of p and d."""

    exact: bool  #: whether the mean is, to rounding

    @abc.abstractmethod
    def __call__(self, p: Array, d: Array) -> Array:
        """Return E[s_pd]."""

    @abc.abstractmethod
    def error(self, p: Array, d: Array) -> Array:
        """Return an estimate of the error of E[s_pd].

        Parameters
        ----------
        p, d : ndarray
            Processors and disks, checked.
        """


@dataclass(frozen=True)
class ContentionRatio(AbstractMeanRatio):
    """Of h = p/(1 + C (p - 1)): s = (1 + C (p - 1)) / p is linear in C, so its mean will do."""

    contention: float  #: mean of C
    contention_error: float = 0.0  #: of that mean
    exact: bool = True  #: whether the mean is

    def __call__(self, p: Array, d: Array) -> Array:
        """Return E[s_pd]."""
        return (1.0 + self.contention * (p - 1.0)) / p + 0.0 * d

    def error(self, p: Array, d: Array) -> Array:
        """See `AbstractMeanRatio.error`."""
        return np.abs(self.contention_error * (p - 1.0) / p) + 0.0 * d


@dataclass(frozen=True, eq=False)
class FedDisksByValues(AbstractMeanRatio):
    """Of h = min(d, p/R) for finitely many R > 0: sums over those up to p/d and over the rest.

    s = min(1, 1/R) max(1/d, R/p).
    """

    nodes: Nodes  #: values of R and their weights
    exact: bool = True  #: whether they are all there are
    _sums: tuple[Array, Array, Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        order = np.argsort(self.nodes.values)
        r, weights = self.nodes.values[order], self.nodes.weights[order]
        fed = np.concatenate([[0.0], np.cumsum(weights * np.minimum(1.0, 1.0 / r))])
        starved = np.cumsum((weights * np.minimum(1.0, r))[::-1])[::-1]
        object.__setattr__(self, "_sums", (r, fed, np.append(starved, 0.0)))

    def __call__(self, p: Array, d: Array) -> Array:
        """Return E[s_pd]."""
        r, fed, starved = self._sums
        below = np.searchsorted(r, p / d, side="right")
        return np.asarray(fed[below] / d + starved[below] / p)

    def error(self, p: Array, d: Array) -> Array:
        """See `AbstractMeanRatio.error`."""
        if self.exact:
            return 0.0 * (p + d)
        return _error_of_nodes([FedDisksByValues(nodes)(p, d) for nodes in _coarser(self.nodes)])


@dataclass(frozen=True, eq=False)
class FedDisksByLaw(AbstractMeanRatio):
    """Of h = min(d, p/R) for a continuous law of R, through its distribution function F.

    By parts, E[s] = 1/p + (1/d) int_1^x F(r)/r^2 dr for x = p/d >= 1, and
    1/d + (1/p) int_x^1 (1 - F(r)) dr below: sums of positive terms. Both integrals are kept as
    splines, whose slopes are the integrands themselves.
    """

    law: Any  #: of R
    low: float  #: the law lies between these, but for a negligible chance
    high: float  #: see `low`
    panels: int = _PANELS  #: of the spline
    exact: bool = False  #: whether the mean is
    _above: _Integral = field(init=False, repr=False)  # of F/r^2 from 1 up
    _below: _Integral = field(init=False, repr=False)  # of 1 - F from the least R to 1

    def __post_init__(self) -> None:
        above = _Integral.of(lambda r: self.law.cdf(r) / r, max(self.low, 1.0), self.high, self.panels)
        below = _Integral.of(lambda r: self.law.sf(r) * r, self.low, min(self.high, 1.0), self.panels)
        object.__setattr__(self, "_above", above)
        object.__setattr__(self, "_below", below)

    def __call__(self, p: Array, d: Array) -> Array:
        """Return E[s_pd]."""
        x = p / d
        at_least, at_most = np.maximum(x, 1.0), np.minimum(x, 1.0)
        # Beyond the law F = 1 and short of it 1 - F = 1, which needs no spline.
        end = max(self.high, 1.0)
        above = self._above(at_least) + 1.0 / end - 1.0 / np.maximum(at_least, end)
        start = min(self.low, 1.0)
        below = self._below.whole - self._below(at_most) + start - np.minimum(at_most, start)
        return np.where(x >= 1.0, 1.0 / p + above / d, 1.0 / d + below / p)

    def error(self, p: Array, d: Array) -> Array:
        """See `AbstractMeanRatio.error`."""
        panels = (self.panels, self.panels // 2, self.panels // 4)
        return _error_of_nodes([FedDisksByLaw(self.law, self.low, self.high, n)(p, d) for n in panels])


@dataclass(frozen=True, eq=False)
class _Integral:
    """int_low^x slope(r) d log r as a cubic Hermite spline in log x; constant outside."""

    low: float
    high: float
    whole: float
    spline: Any

    @classmethod
    def of(cls, slope: Callable[[Array], Array], low: float, high: float, panels: int) -> _Integral:
        """Integrate by Gauss's rule of four points in each of the panels."""
        from scipy.interpolate import CubicHermiteSpline

        if not high > low * (1.0 + 1e-12):
            return cls(low, low, 0.0, None)
        ends = np.linspace(math.log(low), math.log(high), panels + 1)
        places, weights = np.polynomial.legendre.leggauss(4)
        half = 0.5 * (ends[1] - ends[0])
        inside = (ends[:-1, None] + half) + half * places
        with np.errstate(all="ignore"):
            parts = half * (np.asarray(slope(np.exp(inside.ravel()))).reshape(-1, 4) @ weights)
            slopes = np.asarray(slope(np.exp(ends)))
        total = np.concatenate([[0.0], np.cumsum(parts)])
        if not np.all(np.isfinite(total)) or not np.all(np.isfinite(slopes)):
            raise ModelError("the law of R has a distribution function that is not finite")
        return cls(low, high, float(total[-1]), CubicHermiteSpline(ends, total, slopes))

    def __call__(self, x: Array) -> Array:
        """Return the integral up to x."""
        if self.spline is None:
            return 0.0 * x
        y = np.log(np.clip(x, self.low, self.high))
        return np.asarray(self.spline(np.clip(y, self.spline.x[0], self.spline.x[-1])))


@dataclass(frozen=True, eq=False)
class RatioByValues(AbstractMeanRatio):
    """Of any h(p, d, theta), summed over finitely many theta."""

    form: Form  #: h(p, d, theta)
    nodes: Nodes  #: values of theta and their weights
    exact: bool = True  #: whether they are all there are

    def __call__(self, p: Array, d: Array) -> Array:
        """Return E[s_pd]."""
        shape = np.broadcast_shapes(p.shape, d.shape)
        step = max(1, _BLOCK // max(1, math.prod(shape)))
        p, d = p[..., None], d[..., None]
        total: Array = np.zeros(shape)
        for start in range(0, self.nodes.values.size, step):
            part = slice(start, start + step)
            s = ratios(self.form, p, d, self.nodes.values[part])
            total = total + s @ self.nodes.weights[part]
        return total

    def error(self, p: Array, d: Array) -> Array:
        """See `AbstractMeanRatio.error`."""
        if self.exact:
            return 0.0 * (p + d)
        return _error_of_nodes([RatioByValues(self.form, nodes)(p, d) for nodes in _coarser(self.nodes)])


def _coarser(nodes: Nodes) -> tuple[Nodes, Nodes, Nodes]:
    return nodes, nodes.halved(), nodes.halved().halved()


def _error_of_nodes(answers: list[Array]) -> Array:
    """Estimate the error of the first answer from those of a half and a quarter of the nodes."""
    # At a corner of h the first gap may vanish by chance; both will not.
    fine, half, quarter = answers
    return np.abs(fine - half) + np.abs(half - quarter)


def ratios(form: Form, p: Array, d: Array, theta: Array) -> Array:
    """Return h(1, 1; theta) / h(p, d; theta), checked: a caller's function may answer nonsense.

    Parameters
    ----------
    form : callable
        The law h(p, d, theta).
    p, d : ndarray
        Processors and disks, checked.
    theta : ndarray
        Values of the parameter, in a shape that broadcasts with them.
    """
    one = np.ones(1)
    reference = _evaluated(form, one, one, theta)
    return reference / _evaluated(form, p, d, theta)


def _evaluated(form: Form, p: Array, d: Array, theta: Array) -> Array:
    try:
        answer = form(p, d, theta)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(f"the random law is no function of p, d and theta: {error}") from error
    h = real_array("the random law h(p, d, theta)", answer)
    shape = np.broadcast_shapes(p.shape, d.shape, theta.shape)
    try:
        # The last axis must be theta's, also of an answer that does not depend on it.
        h = np.broadcast_to(h, np.broadcast_shapes(h.shape, theta.shape))
        np.broadcast_to(h, shape)
    except ValueError:
        raise ModelError(
            f"the random law answered shape {h.shape} where p, d and theta broadcast to {shape}"
        ) from None
    if np.any(h < 1e-100) or np.any(h > 1e100):
        worst = h.min() if h.min() < 1e-100 else h.max()
        raise ModelError(f"the random law answered {worst:.6g}; it must be from 1e-100 to 1e100")
    return h
