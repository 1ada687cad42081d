"""Steady state of a network of any stations, by class and station, and bounds of its throughput."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.networks.stations import CustomerClass, Station

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class NetworkSolution(Result):
    """Steady state of a `QueueingNetwork`; arrays have an entry for each class, or class and station."""

    drawing = Drawing("station", "queue", labels=("station", "mean number of customers"))

    stations: Sequence[Station]  #: of the network
    classes: Sequence[CustomerClass]  #: of its customers
    demands: Array  #: seconds of service at speed one that a passage asks, (classes, stations)
    throughput: Array  #: passages per second, (classes,)
    queues: Array  #: mean number of customers in service or waiting, (classes, stations)
    method: str  #: "exact (...)" or "approximate (...)", with the way it was solved
    error_bound: float | None  #: relative error to expect of rounding; None for an approximation
    caveats: tuple[str, ...]  #: what breaks the product form
    seconds: float  #: time the solution took

    @property
    def residence(self) -> Array:
        """Seconds of a passage that pass at each station, (classes, stations); NaN of nobody."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.queues / self.throughput[:, None])

    @property
    def response(self) -> Array:
        """Mean seconds of a passage, without thinking, (classes,); NaN of nobody."""
        return np.asarray(self.residence.sum(axis=1))

    @property
    def utilisation(self) -> Array:
        """Work per second over the last speed, (stations,); for a delay the mean number there."""
        done = self.throughput @ self.demands
        speeds = np.array([s.last_speed for s in self.stations])
        return np.asarray(done / np.where(np.isfinite(speeds), speeds, 1.0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each class and station that it visits."""
        names = [c.name or str(r) for r, c in enumerate(self.classes)]
        residence, used = self.residence, self.utilisation
        rows = [
            {
                "class": names[r],
                "station": station.name,
                "throughput": self.throughput[r],
                "demand": self.demands[r, k],
                "residence": residence[r, k],
                "queue": self.queues[r, k],
                "utilisation": used[k],
            }
            for r in range(len(names))
            for k, station in enumerate(self.stations)
            if self.demands[r, k] > 0.0
        ]
        return data_frame(rows)

    def table(self) -> str:
        """Return a line of text for each class, then one for each station."""
        lines = [f"{'class':<16}{'throughput [1/s]':>18}{'response [s]':>14}"]
        for c, flow, response in zip(self.classes, self.throughput, self.response, strict=True):
            lines.append(f"{c.name or len(lines) - 1!s:<16.16}{flow:>18.6g}{response:>14.6g}")
        lines.append(f"{'station':<16}{'utilisation':>18}{'customers':>14}")
        for station, used, held in zip(self.stations, self.utilisation, self.queues.sum(axis=0), strict=True):
            lines.append(f"{station.name:<16.16}{used:>18.6g}{held:>14.6g}")
        return "\n".join([*lines, self.method, *self.caveats])


@dataclass(frozen=True, eq=False)
class NetworkBounds(Record):
    """Bounds of the throughput of each closed class, in passages per second."""

    classes: Sequence[CustomerClass]  #: that they are for
    lower: Array  #: (classes,)
    upper: Array  #: (classes,)
    method: str  #: "asymptotic" or "balanced-job"
