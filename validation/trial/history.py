"""Jobs of the trial's machine: when they come, what each is doing, and what has happened."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit.arrays import Array, Ints

if TYPE_CHECKING:
    import pandas as pd

#: Kinds of bursts.
TRANSFER, COMPUTE, EXCHANGE = range(3)
KINDS: Final = ("I/O", "computation", "exchange")
#: What a job is doing: it may begin its burst, it waits for its processors, its burst is under way,
#: or packets of its burst are under way and no more are sent.
READY, QUEUED, UNDER_WAY, DRAINING = range(4)


class RunningJob:
    """A running job between two events."""

    __slots__ = (
        "demand",
        "group",
        "io_alone",
        "kind",
        "layer",
        "left",
        "left_after",
        "nodes",
        "number",
        "phase",
        "piece",
        "serial",
        "slot",
        "status",
    )

    def __init__(self, number: int, demand: float) -> None:
        self.number, self.demand = number, demand
        self.phase, self.kind, self.status, self.serial = 0, TRANSFER, READY, 0
        self.left = 1.0  # of the burst, what has not been done
        self.left_after = 0.0  # when the packets under way have arrived
        self.piece = 0  # when this piece of the burst began
        self.nodes: Ints = np.zeros(0, np.int64)
        self.group = self.slot = self.layer = 0
        self.io_alone = 0.0  # cycles that its I/O burst takes alone, where disks are shared


@dataclass(frozen=True, eq=False)
class Played:
    """A run of the trial's machine; times in cycles."""

    arrival: Array  #: (jobs,) NaN for jobs that did not come
    start: Array  #: (jobs,) NaN for jobs that did not start
    finish: Array  #: (jobs,) NaN for jobs that did not end
    #: (pieces, 6) job, phase, kind, begin, end, share of the burst done in this piece
    pieces: Array
    changes: Array  #: (changes, 2) time, and jobs running from then on
    end: float
    disk_busy: Array  #: (disks,) cycles; zeros where disks are shared, not served in order

    @classmethod
    def of(cls, run: Any) -> Played:
        """Of the run of a machine."""
        pieces = np.array(run.pieces, dtype=float).reshape(-1, 6)
        return cls(
            run.arrival,
            run.start,
            run.finish,
            pieces,
            np.array(run.changes, dtype=float),
            float(run.now),
            run.network.disk_busy().astype(float),
        )

    @property
    def response(self) -> Array:
        """Cycles from arrival to end, (jobs,)."""
        return self.finish - self.arrival

    def bursts(self) -> pd.DataFrame:
        """One row for each piece of a burst: job, phase, kind, begin, end, share."""
        import pandas as pd

        frame = pd.DataFrame(self.pieces, columns=["job", "phase", "kind", "begin", "end", "share"]).astype(
            {"job": int, "phase": int, "kind": int}
        )
        frame["kind"] = [KINDS[kind] for kind in frame["kind"]]
        return frame

    def in_parts(self, credits: Array, most: int, parts: int) -> Array:
        """Return the work done, and the cycles, with 0, 1, ... `most` jobs running.

        Parameters
        ----------
        credits : (pieces,) ndarray
            What each piece is worth; it earns that at an even rate while it lasts.
        most : int
        parts : int
            Of equal time, into which the run is cut.

        Returns
        -------
        (parts, 2, most + 1) ndarray
        """
        cuts = np.linspace(0.0, self.end, parts + 1)[:-1]
        times = np.union1d(self.changes[:, 0], cuts)
        held = np.searchsorted(self.changes[:, 0], times, side="right") - 1
        running = np.append(self.changes[:, 1], 0.0)[held].astype(int)  # none before the first
        place = part_of(times, cuts) * (most + 1) + running
        times = np.append(times, self.end)
        begin, end = self.pieces[:, 3], self.pieces[:, 4]
        lasts = end > begin
        rate = credits[lasts] / (end - begin)[lasts]
        # what is done until a time: of all that have begun, less of all that have ended
        done = _earned(times, begin[lasts], rate) - _earned(times, end[lasts], rate)
        sums = [np.bincount(place, np.diff(x), parts * (most + 1)) for x in (done, times)]
        rows: Array = np.reshape(sums, (2, parts, most + 1)).swapaxes(0, 1).astype(float)
        return rows


def part_of(times: Array, cuts: Array) -> Ints:
    """In which part of a run times lie, each part from one of the cuts on."""
    found: Ints = np.searchsorted(cuts, times, side="right") - 1
    return found


def _earned(times: Array, since: Array, rate: Array) -> Array:
    """What was earned until each of some times at rates that hold from some others on."""
    order = np.argsort(since, kind="stable")
    rates = np.concatenate([[0.0], np.cumsum(rate[order])])
    before = np.concatenate([[0.0], np.cumsum((rate * since)[order])])
    place = np.searchsorted(since[order], times, side="right")
    earned: Array = rates[place] * times - before[place]
    return earned


class Arrivals:
    """Jobs that come at given times."""

    def __init__(self, times: Array) -> None:
        self._times = np.ceil(times).tolist()
        self._next = 0

    def soonest(self, now: int, running: int, changed: bool) -> float:
        """When the next job comes."""
        return self._times[self._next] if self._next < len(self._times) else math.inf

    def take(self) -> None:
        """The next job has come."""
        self._next += 1


class LossArrivals:
    """Jobs that come at a rate for each number of running jobs, 0 to c; at 0 none comes."""

    def __init__(self, rates: Array, rng: np.random.Generator) -> None:
        self._rates, self._rng, self._at = rates, rng, math.inf
        self._drawn = False

    def soonest(self, now: int, running: int, changed: bool) -> float:
        """When the next job comes; drawn anew, memoryless as it is, whenever the rate changes."""
        if changed or not self._drawn:
            self._drawn = True
            rate = float(self._rates[running])
            self._at = now + math.ceil(self._rng.exponential(1.0 / rate)) if rate else math.inf
        return self._at

    def take(self) -> None:
        """The next job has come."""
        self._drawn = False
