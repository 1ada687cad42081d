"""heSRPT: the more of a job is left the smaller its share, by the exponent of the speed curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import real_number, real_vector
from qmodels.errors import ModelError
from validation.malleable.base import AbstractMalleable, InSystem, register


@register
@dataclass(frozen=True)
class HighEfficiencySRPT(AbstractMalleable):
    """Shares by the rank of what is left, between equal shares and all to the shortest job.

    Parameters
    ----------
    exponent : float
        p of the speed curve x^p, above 0 and below 1.

    Notes
    -----
    With m jobs left the i-th largest gets ``(i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p))`` of the machine. For
    jobs that are all there at the beginning no policy has a smaller mean response, and the total is a
    formula, see `total_flow_time` [1]_. With arrivals the shares are made anew at each event, a
    heuristic.

    References
    ----------
    .. [1] B. Berg, R. Vesilo, M. Harchol-Balter, "heSRPT: Parallel scheduling to minimize mean
       slowdown", *Performance Evaluation* 144 (2020) 102147.

    Examples
    --------
    >>> HighEfficiencySRPT(0.5).label, HighEfficiencySRPT().needs
    ('heSRPT(0.5)', 'preemption and known sizes')
    """

    exponent: float = 0.5
    name: ClassVar[str] = "heSRPT"
    needs: ClassVar[str] = "preemption and known sizes"
    legend: ClassVar[str] = "heSRPT(p): the less of a job is left the larger its share, for a speed x^p."

    def __post_init__(self) -> None:
        p = real_number("exponent", self.exponent, above=0.0)
        if p >= 1.0:
            raise ModelError(f"exponent must be below 1, got {p:.6g}; at 1 give all to the shortest job")

    @property
    def label(self) -> str:
        """Name and exponent."""
        return f"{self.name}({self.exponent:.3g})"

    def shares(self, jobs: InSystem) -> Array:
        """See `AbstractMalleable.shares`."""
        place = jobs.ranks(-jobs.left) + 1.0  # the largest is the first
        count, power = np.maximum(jobs.count, 1.0), 1.0 / (1.0 - self.exponent)
        part = (np.minimum(place, count) / count) ** power - ((place - 1.0).clip(max=count) / count) ** power
        return np.asarray(np.where(jobs.here, jobs.processors * part, 0.0))


def total_flow_time(sizes: ArrayLike, exponent: float, *, processors: float = 1.0) -> float:
    """Return the sum of the responses of jobs that are all there at time zero, under heSRPT; exact.

    Parameters
    ----------
    sizes : (n,) array_like
        Work, seconds on one processor, in any order.
    exponent : float
        p of the speed curve x^p, above 0 and below 1.
    processors : float
        N, of the machine.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    ``(1 / s(N)) sum_k x_k [k s(1 + w_k) - (k - 1) s(w_k)]`` with the sizes falling, w_1 = 0 and
    ``w_k = 1 / ((k / (k - 1))^(1 / (1 - p)) - 1)``, theorem 3 of [1]_.

    References
    ----------
    .. [1] B. Berg, R. Vesilo, M. Harchol-Balter, "heSRPT: Parallel scheduling to minimize mean
       slowdown", *Performance Evaluation* 144 (2020) 102147.

    Examples
    --------
    >>> round(total_flow_time([3.0, 2.0, 1.0], 0.5), 12)
    8.700169592638
    """
    x = -np.sort(-real_vector("sizes", sizes))
    p = HighEfficiencySRPT(exponent).exponent
    k = np.arange(1.0, x.size + 1.0)
    w = np.zeros(x.size)
    exponents = np.log(k[1:] / (k[1:] - 1.0)) / (1.0 - p)
    w[1:] = 1.0 / np.expm1(np.minimum(exponents, 700.0))  # beyond, less than rounding
    speed = float(real_number("processors", processors, above=0.0) ** p)
    return float(x @ (k * (1.0 + w) ** p - (k - 1.0) * w**p)) / speed
