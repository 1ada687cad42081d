"""Normalising constants of networks in product form, by series that are only ever added up.

A station with speeds mu(1), mu(2), ... that stay at s from some number of jobs on has the series
F(y) = sum_j a_j y^j, a_j = 1 / (mu(1) ... mu(j)), in y = sum_r demand_r x_r. It equals
P(y) / (1 - y / s), where P is a polynomial without negative coefficients as long as no speed
exceeds s: a network is multiplied by it in time linear in the populations, and nothing is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from scipy.special import betainc, gammaln

from phasefit.arrays import Array
from qmodels.networks._kernels import weighted_shift
from qmodels.networks.product_form import log_factorials

_NOTHING = -np.inf


@dataclass(frozen=True, eq=False)
class StationSeries:
    """The series of a station: ``sum_j exp(head_j) y^j / (1 - y / speed)^closings``."""

    head: Array  #: logarithms of the coefficients of the polynomial
    speed: float  #: in the end
    closings: int  #: 0 where the polynomial is the whole series, up to the population

    def derivative(self) -> list[StationSeries]:
        """Return series that add up to its derivative by y."""
        powers = np.arange(1, self.head.size)
        parts = [StationSeries(self.head[1:] + np.log(powers), self.speed, self.closings)]
        if self.closings:
            parts.append(StationSeries(self.head - np.log(self.speed), self.speed, self.closings + 1))
        return [part for part in parts if part.head.size]


def station_series(speeds: Array, load: float, most: int) -> StationSeries:
    """Return the series of a station for the jobs of closed classes.

    Parameters
    ----------
    speeds : (m,) array
        Service speed with 1, 2, ..., m jobs; the last one holds beyond.
    load : float
        Work that open classes bring, in seconds a second, below the last speed.
    most : int
        Jobs of closed classes in the network.

    Returns
    -------
    StationSeries
        With open jobs summed out: ``a_j = sum_i C(i+j, i) load^i / (mu(1) ... mu(i+j))``.
    """
    last = float(speeds[-1])
    settled = int(
        speeds.size - np.argmin(np.append((speeds[::-1] == last), False))
    )  # from here on it is `last`
    plain = np.concatenate([[0.0], -np.cumsum(np.log(speeds[:settled]))])
    rest = last - load
    if speeds[:settled].max(initial=last) > last:  # the quotient would have negative coefficients
        return StationSeries(_summed(plain, settled, last, load, most + 1), last, 0)
    rows = _summed(plain, settled, last, load, min(settled, most + 1))
    head = rows.copy()
    # a_j - a_(j-1) / rest, as a_j (1 - mu'(j) / rest): the speeds seen by closed jobs never exceed the rest
    ratio = np.exp(rows[:-1] - rows[1:]) / rest
    with np.errstate(divide="ignore"):
        head[1:] += np.log(np.where(ratio < 1.0 - 1e-14, 1.0 - ratio, 0.0))
    keep = np.flatnonzero(np.isfinite(head))[-1] + 1
    return StationSeries(head[:keep], rest, 1)


def _summed(plain: Array, settled: int, last: float, load: float, most: int) -> Array:
    """Return the logarithms of a_0, ..., a_most with the open jobs summed out."""
    n = np.arange(max(most, settled) + 1)
    logs = plain[np.minimum(n, settled)] - np.maximum(n - settled, 0) * np.log(last)
    if load == 0.0:
        return np.asarray(logs[: most + 1])
    x = load / last
    result = np.empty(most + 1)
    for j in range(most + 1):
        terms = []
        if j < settled:
            i = np.arange(settled - j)
            terms = list(
                gammaln(i + j + 1) - gammaln(i + 1) - gammaln(j + 1) + i * np.log(load) + logs[i + j]
            )
        first = max(settled - j, 0)
        with np.errstate(divide="ignore"):
            tail = np.log(betainc(first, j + 1, x)) if first else 0.0
        end = plain[settled] + (settled - j) * np.log(last)
        terms.append(end - (j + 1) * np.log1p(-x) + tail)
        result[j] = np.logaddexp.reduce(np.array(terms))
    return result


class PopulationSeries:
    """Logarithms of a series in x_1, ..., x_R for every population up to a given one.

    Parameters
    ----------
    jobs : (R,) int array
        The population.
    """

    def __init__(self, jobs: Array) -> None:
        self.jobs = np.asarray(jobs, dtype=np.int64)
        sides = self.jobs + 1
        self.cells = prod(int(side) for side in sides)
        self.strides = np.array(
            [prod(int(s) for s in sides[r + 1 :]) for r in range(sides.size)], dtype=np.int64
        )

    def of_thinking(self, log_think: Array) -> Array:
        """Return the series of the delays: ``prod_r think_r^n_r / n_r!``."""
        logs = np.zeros(1)
        for jobs, think in zip(self.jobs.tolist(), log_think.tolist(), strict=True):
            n = np.arange(jobs + 1)
            power = np.where(n > 0, n * think if np.isfinite(think) else _NOTHING, 0.0)
            logs = np.add.outer(logs, power - log_factorials(jobs)).ravel()
        return np.asarray(logs)

    def times(self, logs: Array, series: StationSeries, log_demands: Array) -> Array:
        """Return the product with the series of a station, or a part of its derivative."""
        head = series.head
        product = logs + head[-1]
        for coefficient in head[-2::-1].tolist():
            shifted = np.empty_like(logs)
            weighted_shift(product, self.jobs, self.strides, log_demands, coefficient, logs, False, shifted)
            product = shifted
        for _ in range(series.closings):
            closed = np.empty_like(logs)
            scaled = log_demands - np.log(series.speed)
            weighted_shift(product, self.jobs, self.strides, scaled, 0.0, product, True, closed)
            product = closed
        return np.asarray(product)
