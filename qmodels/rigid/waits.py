"""`rigid_waits`: how long rigid jobs wait in order of arrival, from the dispersion of saturated servers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit import MAP
from phasefit.arrays import Array
from phasefit.checks import real_number
from phasefit.records import Drawing, Result, data_frame
from qmodels.errors import ModelError, UnstableError
from qmodels.rigid.chain import Saturation, saturate
from qmodels.rigid.mix import RigidMix

if TYPE_CHECKING:
    import pandas as pd

#: Loads for which an error is stated; below and above it the wait is to be simulated.
LEAST_LOAD, LARGEST_LOAD = 0.6, 0.95
#: How much of a batch finds free servers, in an exponent; found on mixes 500 on of tests.campaigns.rigid.
_FREE = 0.6


@dataclass(frozen=True, eq=False)
class RigidWaits(Result):
    """Mean waits of rigid jobs in order of arrival.

    Parameters
    ----------
    saturation : Saturation
        What saturates the servers.
    arrival_rate : float
        Jobs per second.
    mean_wait : float
        Mean time from arrival to start, seconds.
    by_class : (C,) ndarray
        The same of each class, seconds.
    """

    drawing = Drawing("servers", "mean wait [s]")

    saturation: Saturation
    arrival_rate: float
    mean_wait: float
    by_class: Array

    @property
    def load(self) -> float:
        """Arrival rate by the throughput of saturated servers."""
        return self.arrival_rate / self.saturation.throughput

    def record(self) -> dict[str, Any]:
        """Return the figures, without the chain."""
        return self._by_name("arrival_rate", "load", "mean_wait", "by_class")

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each class."""
        mix = self.saturation.mix
        return data_frame({"servers": mix.needs, "share": mix.shares, "mean wait [s]": self.by_class})


def rigid_waits(
    mix: RigidMix | Saturation,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    dispersion: float = 1.0,
    arrivals: MAP | None = None,
    batches: float = 1.0,
) -> RigidWaits:
    """Return the mean wait of rigid jobs, of all and of each class, in order of arrival.

    Parameters
    ----------
    mix : RigidMix or Saturation
        The jobs and the servers, or what `saturate` returned for them.
    arrival_rate, load : float
        One of the two: jobs per second, or these by the throughput of saturated servers.
    dispersion : float
        Index of dispersion of the numbers of arrivals over long times, >= 0: 1 for Poisson arrivals.
    arrivals : MAP, optional
        How jobs come, instead of `dispersion`; at whatever rate, only its dispersion counts. A
        renewal process is `MAP.from_phase_type` of the law of its gaps.
    batches : float
        ``E[B^2]/E[B]`` where B jobs come at once, >= 1, and the batches as a Poisson process.

    Returns
    -------
    RigidWaits
        Approximate.

    Raises
    ------
    UnstableError
        If jobs come at least as fast as saturated servers end them.
    ModelError
        If not one of `arrival_rate` and `load` is given, `arrivals` or batches beside a dispersion, or the
        load is outside of what an error is stated for: 0.6 to 0.95 under Poisson arrivals, 0.8 to 0.95
        under others.

    Notes
    -----
    In heavy traffic the wait is ``A / (1 - x)`` at the load x, with ``A = (dispersion + 1 + 2
    burstiness) / (2 throughput)`` [1]_; in light traffic it is a x, where ``a = `` `RigidMix.crowding`
    ``x throughput`` is not 0 if some two jobs do not fit together. Between, ``x (a + (A - a) x^e) / (1
    - x)``. Without crowding e is ``sqrt(2 (c + 1)) - 2``, with c the jobs in service when saturated: the
    wait of a queue with so many servers [2]_; with crowding e is at least ``1/2 + a/(2 A)``. For one
    server it is exact. Batches add ``b x^h / (throughput (1 - x))`` with ``b = (batches - 1) / 2``
    jobs of its own batch ahead of a job: it waits for them however low the load, exactly so for one
    server. Part of a batch finds free servers: ``h = 0.6 (sqrt(2 (c + 1)) - 2) / sqrt(b)``, where 0.6
    was found by simulation. By class, the wait differs by what a job is blocked at the head, times x^2.

    References
    ----------
    .. [1] Grosof et al. 2023.
    .. [2] Sakasegawa 1977.

    Examples
    --------
    >>> mix = RigidMix.of(8, (1, 8), (2 / 3, 1 / 3), (1.0, 1.0))
    >>> waits = rigid_waits(mix, load=0.8)
    >>> round(waits.mean_wait, 3), waits.by_class.round(3)
    (3.888, array([3.656, 4.352]))
    """
    saturated = mix if isinstance(mix, Saturation) else saturate(mix)
    mix = saturated.mix
    if (arrival_rate is None) == (load is None):
        raise ModelError("give arrival_rate or load, one of the two")
    if arrival_rate is None:
        assert load is not None
        arrival_rate = real_number("load", load, above=0.0) * saturated.throughput
    arrival_rate = real_number("arrival_rate", arrival_rate, above=0.0)
    if arrivals is not None:
        if dispersion != 1.0:
            raise ModelError("give dispersion or arrivals, one of the two")
        dispersion = float(arrivals.dispersion(np.inf))
    dispersion, batches = (
        real_number("dispersion", dispersion, least=0.0),
        real_number("batches", batches, least=1.0),
    )
    if batches > 1.0 and dispersion != 1.0:
        raise ModelError("batches come as a Poisson process; give batches or another dispersion")
    x = arrival_rate / saturated.throughput
    if x >= 1.0:
        raise UnstableError("jobs", arrival_rate, saturated.throughput)
    least = LEAST_LOAD if dispersion == 1.0 else 0.8
    if not least - 1e-9 <= x <= LARGEST_LOAD + 1e-9:
        raise ModelError(
            f"the load is {x:.3g}; an error of this formula is known from {least:g} to {LARGEST_LOAD:g}. "
            f"Simulate it (validation.rigid)"
        )
    heavy = (dispersion + 1.0 + 2.0 * saturated.burstiness) / (2.0 * saturated.throughput)
    light = mix.crowding * saturated.throughput
    power = math.sqrt(2.0 * (saturated.in_service + 1.0)) - 2.0
    if 0.0 < light < heavy:
        power = max(power, 0.5 + 0.5 * light / heavy)
    ahead = 0.5 * (batches - 1.0)  # jobs of its own batch that come before a job, in the mean
    own_batch = ahead / saturated.throughput  # waited for even where nobody else is
    if ahead > 0.0:
        own_batch *= x ** (_FREE * (math.sqrt(2.0 * (saturated.in_service + 1.0)) - 2.0) / math.sqrt(ahead))
    wait = (x * (light + (heavy - light) * x**power) + own_batch) / (1.0 - x)
    apart = saturated.blocked - float(mix.shares @ saturated.blocked)
    return RigidWaits(saturated, arrival_rate, wait, np.maximum(wait + x * x * apart, 0.0))
