"""Parameters of a program: a number, a law with a mean, or a measured sample."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from phasefit.arrays import Array, read_only
from phasefit.checks import real_array
from qmodels.errors import ModelError
from qmodels.words import cut

#: Seconds; the time of a phase beyond them is a slip, and within them every ratio stays finite.
SMALLEST, LARGEST = 1e-18, 1e18


class LawWithMean(Protocol):
    """A random variable: `phasefit.PhaseType` (mean is a number) or a frozen scipy law."""

    @property
    def mean(self) -> Any:
        """E[X], as a number or as a method without arguments."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Draw `size` values."""


Quantity = float | Sequence[float] | NDArray[Any] | LawWithMean


class ByValue:
    """A frozen dataclass, declared with ``eq=False``, that equals another where all parts do.

    Numbers, samples and laws of phase type or of scipy.stats are compared by what they hold,
    functions of the user by which they are. The hash is kept, for programs are asked often; it
    stays behind when they are pickled, as the hashes of texts differ between processes.

    Examples
    --------
    >>> from qmodels.programs import Phase
    >>> Phase(1.0, [2.0, 3.0]) == Phase(1.0, [2.0, 3.0]), Phase(1.0, 2.0) == Phase(1.0, 3.0)
    (True, False)
    """

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        return hash(self) == hash(other) and self._value == other._value

    def __hash__(self) -> int:
        value: int | None = self.__dict__.get("_hash")
        if value is None:
            value = hash((type(self).__qualname__, self._value))
            self.__dict__["_hash"] = value
        return value

    def __getstate__(self) -> dict[str, Any]:
        parts: Any = self
        return {f.name: self.__dict__[f.name] for f in fields(parts)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for value in state.values():
            if isinstance(value, np.ndarray):  # copies made by pickle can be written
                read_only(value)

    @property
    def _value(self) -> tuple[Hashable, ...]:
        parts: Any = self
        return tuple(value_key(getattr(self, f.name)) for f in fields(parts) if f.init)


def value_key(value: Any) -> Hashable:
    """Return a key that two parameters share only if they are equal.

    Parameters
    ----------
    value : object
        A parameter: a number, a sample, a law or a function.

    Examples
    --------
    >>> value_key(np.array([1.0, 2.0])) == value_key(np.array([1.0, 2.0]))
    True
    """
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, PhaseType):
        rates = (value_key(each) for each in (value.alpha, value.T, value.exit))
        return "PhaseType", value.atom, *rates
    if isinstance(value, (tuple, list)):
        return tuple(map(value_key, value))
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # a frozen law of scipy.stats
        import scipy.stats

        law: Any = value
        of_scipy = str(law.dist.name)
        # A law of the user's own may have any name, which then tells nothing.
        if type(getattr(scipy.stats, of_scipy, None)) is type(law.dist):
            kwds = tuple(sorted((name, value_key(each)) for name, each in law.kwds.items()))
            return of_scipy, value_key(law.args), kwds
    return value if isinstance(value, Hashable) else id(value)


@dataclass(frozen=True, eq=False)
class ScaledLaw(ByValue):
    """Law of `factor` times a random variable."""

    law: LawWithMean  #: of the variable
    factor: float  #: above zero

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.factor * _mean_of_law(self.law)

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draw values.

        Parameters
        ----------
        size : int
            Number of values.
        random_state : numpy.random.Generator
            Where randomness comes from.

        Returns
        -------
        (size,) ndarray
            In seconds.
        """
        return self.factor * np.asarray(self.law.rvs(size=size, random_state=random_state))


def mean_of(quantity: Quantity, name: str = "quantity") -> float:
    """Return the mean of a number, of a law or of a sample, in its own unit.

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
                raise ModelError(f"{name} has a law that reaches down to {least:.6g}; times are >= 0")
    else:
        raise ModelError(
            f"{name} must be a number, a sample or a law with a mean, got {cut(repr(quantity), 60)}"
        )
    if not 0 <= mean <= LARGEST:
        raise ModelError(f"{name} must be from 0 to {LARGEST:g}, got mean {mean:.6g}")
    return mean


def kept(name: str, quantity: Quantity) -> Quantity:
    """Return what a model may keep: samples become read-only arrays, all else stays as it is.

    Parameters
    ----------
    name : str
        Name of the quantity, for the message.
    quantity : float, (n,) array_like or law
        The quantity.
    """
    mean_of(quantity, name)
    if _is_sample(quantity) and not _is_number(quantity):
        return read_only(_sample(name, quantity).copy())
    return quantity


def drawn(quantity: Quantity, *, rng: np.random.Generator, size: int) -> Array:
    """Draw independent values; a sample is drawn from with replacement.

    Parameters
    ----------
    quantity : float, (n,) array_like or law
        The quantity.
    rng : numpy.random.Generator
        Where randomness comes from.
    size : int
        Number of values.

    Returns
    -------
    (size,) ndarray
        In the unit of the quantity.

    Raises
    ------
    ModelError
        If a law has a mean, but nothing can be drawn from it.
    """
    if _is_number(quantity):
        return np.full(size, _real(quantity))
    if _is_sample(quantity):
        return rng.choice(_sample("sample", quantity), size)
    rvs = getattr(quantity, "rvs", None)
    if not callable(rvs):
        raise ModelError(f"{cut(repr(quantity), 60)} has a mean but no rvs: nothing can be drawn from it")
    return np.asarray(rvs(size=size, random_state=rng), dtype=float)


def as_sample(name: str, quantity: object) -> Array | None:
    """Return a number as a sample of one and a sample as it is, a law as None.

    Parameters
    ----------
    name : str
        Name of the quantity, for the message.
    quantity : object
        The quantity.
    """
    if _is_number(quantity):
        return np.array([_real(quantity)])
    return _sample(name, quantity) if _is_sample(quantity) else None


def scaled(quantity: Quantity, factor: float) -> Quantity:
    """Return the quantity times a positive number.

    Parameters
    ----------
    quantity : float, (n,) array_like or law
        The quantity.
    factor : float
        Above zero.
    """
    if _is_number(quantity):
        return _real(quantity) * factor
    if _is_sample(quantity):
        return _sample("sample", quantity) * factor
    return ScaledLaw(quantity, factor)  # type: ignore[arg-type]


def positive(name: str, value: object, *, least: float, most: float, why: str = "") -> float:
    """Return a number between two positive bounds.

    Parameters
    ----------
    name : str
        Name of the argument, for the message.
    value : object
        The number to check.
    least, most : float
        The bounds.
    why : str
        Reason of the bounds, for the message.

    Raises
    ------
    ModelError
        If it is no such number.
    """
    if not _is_number(value):
        raise ModelError(f"{name} must be a number from {least:g} to {most:g}, got {cut(repr(value), 60)}")
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
