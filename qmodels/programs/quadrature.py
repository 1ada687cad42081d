"""A random variable as finitely many values with weights: itself, or nodes of a quadrature rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.programs.quantities import LawWithMean, Quantity, ScaledLaw, as_sample

NODES = 513  #: of a rule; odd, so that every other node is the same rule at half the density
MOST_VALUES = 100_000  #: of a discrete law

#: Chance left out beyond either end of a law.
TAIL = 1e-20


@dataclass(frozen=True, eq=False)
class Nodes:
    """Values and the weights that average over them."""

    values: Array  #: (m,)
    weights: Array  #: (m,), they sum to one
    exact: bool  #: whether the average is the expectation, up to rounding

    def halved(self) -> Nodes:
        """Return every other node of a rule, to judge the rule by."""
        weights = self.weights[::2]
        return Nodes(self.values[::2], weights / weights.sum(), self.exact)


def nodes_of(name: str, quantity: Quantity) -> Nodes:
    """Return the values of a number, a sample or a discrete law, or nodes of a continuous law.

    Parameters
    ----------
    name : str
        Name of the quantity, for the message.
    quantity : float, (n,) array_like or law
        The quantity.

    Notes
    -----
    A continuous law is averaged over its quantiles by the double exponential rule [1]_,
    u = 1/(1 + exp(-pi sinh t)) with t equally spaced, down to a chance of 1e-20 at either end:
    each quantile is taken from the nearer end of the law, so that tails keep their accuracy.

    References
    ----------
    .. [1] H. Takahasi, M. Mori, "Double exponential formulas for numerical integration",
       *Publ. RIMS Kyoto Univ.* 9 (1974) 721-741.
    """
    if isinstance(quantity, ScaledLaw):
        inner = nodes_of(name, quantity.law)
        return Nodes(quantity.factor * inner.values, inner.weights, inner.exact)
    sample = as_sample(name, quantity)
    if sample is not None:
        return Nodes(sample, np.full(sample.size, 1.0 / sample.size), exact=True)
    law: Any = quantity
    if callable(getattr(law, "pmf", None)):
        return _values_of_discrete(name, law)
    t = np.linspace(-1.0, 1.0, NODES) * math.asinh(-math.log(TAIL) / math.pi)
    chance = 1.0 / (1.0 + np.exp(math.pi * np.abs(np.sinh(t))))  # of the nearer tail
    weights = np.cosh(t) * chance * (1.0 - chance)
    values = np.where(t < 0, _quantiles(law, "ppf", chance, name), 0.0)
    values = np.where(t < 0, values, _quantiles(law, "isf", chance, name))
    return Nodes(values, weights / weights.sum(), exact=False)


def reach(name: str, quantity: Quantity) -> tuple[float, float]:
    """Return the least and the largest value of a quantity, tails of 1e-20 apart.

    Parameters
    ----------
    name : str
        Name of the quantity, for the message.
    quantity : float, (n,) array_like or law
        The quantity.
    """
    if isinstance(quantity, ScaledLaw):
        low, high = reach(name, quantity.law)
        return quantity.factor * low, quantity.factor * high
    sample = as_sample(name, quantity)
    if sample is not None:
        return float(sample.min()), float(sample.max())
    if callable(getattr(quantity, "pmf", None)):
        values = _values_of_discrete(name, quantity).values
        return float(values[0]), float(values[-1])
    ends = (_quantiles(quantity, kind, np.array([TAIL]), name) for kind in ("ppf", "isf"))
    low, high = (float(end[0]) for end in ends)
    return low, high


def _values_of_discrete(name: str, law: Any) -> Nodes:
    """Whole numbers from the least on, twice as far as all but 1e-12 of the law lies."""
    ends = (_quantiles(law, kind, np.array([1e-12]), name) for kind in ("ppf", "isf"))
    low, high = (float(end[0]) for end in ends)
    count = high - low + 1.0
    if count > MOST_VALUES:
        raise ModelError(
            f"{name} has a discrete law of {count:,.0f} values, more than {MOST_VALUES:,}; "
            f"give a sample of it"
        )
    values = np.arange(max(0.0, 2.0 * low - high - 50.0), 2.0 * high - low + 50.0)
    with np.errstate(all="ignore"):
        weights = np.asarray(law.pmf(values), dtype=float)
    kept = weights > 0
    total = float(weights.sum())
    if not 0.999 < total < 1.001:
        raise ModelError(f"{name} has a discrete law that is not on whole numbers; give a sample")
    return Nodes(values[kept], weights[kept] / total, exact=abs(total - 1.0) < 1e-12)


def _quantiles(law: LawWithMean | Any, kind: str, chance: Array, name: str) -> Array:
    """Quantiles from below (``ppf``) or above (``isf``); a law may know only the former."""
    ask = getattr(law, kind, None)
    if ask is None and hasattr(law, "ppf"):
        ask, chance = law.ppf, np.minimum(1.0 - chance, 1.0 - 2.0**-53)
    if not callable(ask):
        raise ModelError(
            f"{name} has a law without ppf, so nothing but its mean is known; give a "
            f"phasefit.PhaseType, a law of scipy.stats or a sample"
        )
    with np.errstate(all="ignore"):
        values = np.asarray(ask(chance), dtype=float)
    if values.shape != chance.shape or not np.all(np.isfinite(values)) or values.min() < 0:
        raise ModelError(f"{name} has a law whose quantiles are not all finite and >= 0")
    return values
