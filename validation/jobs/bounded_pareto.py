"""The bounded Pareto law, for demands with a heavy tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import check_fields, real_number
from phasefit.records import Record
from qmodels.errors import ModelError


@dataclass(frozen=True)
class BoundedPareto(Record):
    """Heavy-tailed law between two bounds: density proportional to x^(-shape - 1) on [low, high].

    Parameters
    ----------
    low, high : float
        Bounds in seconds, 0 < low < high.
    shape : float
        Exponent of the tail, > 0; the smaller, the heavier.

    Raises
    ------
    ModelError
        If the parameters are out of range.

    References
    ----------
    .. [1] M. Harchol-Balter, *Performance Modeling and Design of Computer Systems*, Cambridge
       2013, ch. 20.

    Examples
    --------
    >>> round(BoundedPareto(low=15.0, high=4241.0, shape=1.0).mean, 2)
    84.97
    """

    low: float
    high: float
    shape: float

    def __post_init__(self) -> None:
        check_fields(self, real_number, "low", above=0.0)
        check_fields(self, real_number, "high", above=self.low)
        check_fields(self, real_number, "shape", above=0.0)
        if self.high / self.low > 1e12 or self.shape > 100.0:
            raise ModelError(
                f"a bounded Pareto law needs high <= 1e12 low and shape <= 100, got "
                f"{self.high / self.low:.3g} and {self.shape:.6g}"
            )

    @property
    def mean(self) -> float:
        """E[X] in seconds."""
        return self.moment(1)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation."""
        return self.moment(2) / self.mean**2 - 1.0

    def moment(self, k: int) -> float:
        """Return E[X^k] in seconds^k.

        Parameters
        ----------
        k : int
            Order of the moment.
        """
        a, width = self.shape, np.log(self.high / self.low)
        # Integral of x^(k - a - 1), relative to low, by way of (e^(b w) - 1) / b.
        b = k - a
        area = width if abs(b) * width < 1e-12 else np.expm1(b * width) / b
        return float(self.low**k * a * area / -np.expm1(-a * width))

    def rvs(self, size: int, random_state: np.random.Generator) -> Array:
        """Draw values by inversion.

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
        u = random_state.random(size)
        kept = -np.expm1(-self.shape * np.log(self.high / self.low))
        result: Array = self.low * (1.0 - u * kept) ** (-1.0 / self.shape)
        return np.clip(result, self.low, self.high)
