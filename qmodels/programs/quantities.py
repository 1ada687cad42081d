"""What a parameter of a program may be: a number, a law with a mean, or a measured sample."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import real_array
from qmodels.errors import ModelError

Array = NDArray[np.float64]

#: Seconds; the time of a phase beyond them is a slip, and within them every ratio stays finite.
SMALLEST, LARGEST = 1e-18, 1e18


class Law(Protocol):
    """A random variable: `phasefit.PhaseType` (mean is a number) or a frozen scipy law."""

    @property
    def mean(self) -> Any:
        """E[X], as a number or as a method without arguments."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Draw `size` values."""


Quantity = float | Sequence[float] | NDArray[Any] | Law


@dataclass(frozen=True, eq=False)
class ScaledLaw:
    """The law of `factor` times a random variable."""

    law: Law
    factor: float

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.factor * _mean_of_law(self.law)

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draw `size` values in seconds."""
        return self.factor * np.asarray(self.law.rvs(size=size, random_state=random_state))


def mean_of(quantity: Quantity, name: str = "quantity") -> float:
    """Mean of a number, of a law or of a sample, in its own unit.

    Parameters
    ----------
    quantity : float, (n,) array_like or law
        A number, measured values, or an object with a mean: `phasefit.PhaseType`, a frozen law
        of scipy.stats.
    name : str
        What to call it in an error.

    Returns
    -------
    mean : float
        From 0 to 1e18.

    Raises
    ------
    ModelError
        If it is neither, is negative somewhere, or has no finite mean in that range.

    Examples
    --------
    >>> mean_of(3), mean_of([2.0, 4.0, 6.0])
    (3.0, 4.0)
    """
    if _is_number(quantity):
        mean = _real(quantity)
    elif _is_sample(quantity):
        mean = float(np.mean(_sample(name, quantity)))
    elif hasattr(quantity, "mean"):
        mean = _mean_of_law(quantity)
        support = getattr(quantity, "support", None)
        if callable(support):
            least = float(support()[0])
            if least < 0:
                raise ModelError(
                    f"{name} has a law that reaches down to {least:.6g}; times are >= 0"
                )
    else:
        raise ModelError(
            f"{name} must be a number, a sample or a law with a mean, got {_shown(quantity)}"
        )
    if not 0 <= mean <= LARGEST:
        raise ModelError(f"{name} must be from 0 to {LARGEST:g}, got mean {mean:.6g}")
    return mean


def kept(name: str, quantity: Quantity) -> Quantity:
    """Return what a model may keep: samples become read-only arrays, all else stays as given."""
    mean_of(quantity, name)
    if _is_sample(quantity) and not _is_number(quantity):
        sample = _sample(name, quantity).copy()
        sample.flags.writeable = False
        return sample
    return quantity


def drawn(quantity: Quantity, *, rng: np.random.Generator, size: int) -> Array:
    """Draw `size` independent values; a sample is drawn from with replacement."""
    if _is_number(quantity):
        return np.full(size, _real(quantity))
    if _is_sample(quantity):
        return rng.choice(_sample("sample", quantity), size)
    rvs = getattr(quantity, "rvs", None)
    if not callable(rvs):
        raise ModelError(f"{_shown(quantity)} has a mean but no rvs: nothing can be drawn from it")
    return np.asarray(rvs(size=size, random_state=rng), dtype=float)


def as_sample(name: str, quantity: object) -> Array | None:
    """Return a number as a sample of one and a sample as it is, a law as None."""
    if _is_number(quantity):
        return np.array([_real(quantity)])
    return _sample(name, quantity) if _is_sample(quantity) else None


def scaled(quantity: Quantity, factor: float) -> Quantity:
    """Return the quantity times a positive number."""
    if _is_number(quantity):
        return _real(quantity) * factor
    if _is_sample(quantity):
        return _sample("sample", quantity) * factor
    return ScaledLaw(quantity, factor)  # type: ignore[arg-type]


def positive(name: str, value: object, *, least: float, most: float, why: str = "") -> float:
    """Return a number between two positive bounds, or raise ModelError."""
    if not _is_number(value):
        raise ModelError(f"{name} must be a number from {least:g} to {most:g}, got {_shown(value)}")
    number = _real(value)
    if not least <= number <= most:
        raise ModelError(f"{name} must be from {least:g} to {most:g}{why}, got {number:.6g}")
    return number


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _real(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number beyond all floats
        return math.inf


def _is_sample(value: object) -> bool:
    return isinstance(value, (list, tuple)) or hasattr(value, "__array__")


def _sample(name: str, value: Any) -> Array:
    sample = real_array(name, value)
    if sample.ndim != 1 or sample.size == 0:
        raise ModelError(f"{name} must be one row of values, got shape {sample.shape}")
    if sample.min() < 0:
        raise ModelError(f"{name} holds {sample.min():.6g}; times are >= 0")
    if sample.max() > LARGEST:
        raise ModelError(f"{name} holds {sample.max():.6g}; the largest is {LARGEST:g}")
    return sample


def _mean_of_law(law: Any) -> float:
    try:
        return float(law.mean() if callable(law.mean) else law.mean)
    except (TypeError, ValueError):  # a class instead of an object, a vector of laws
        return math.nan


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
