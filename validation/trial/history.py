"""`Played`: what happened on the trial's machine, burst by burst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Kinds of bursts.
TRANSFER, COMPUTE, EXCHANGE = range(3)
KINDS: Final = ("I/O", "computation", "exchange")


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
            run.arrival, run.start, run.finish, pieces, np.array(run.changes, dtype=float),
            float(run.now), run.network.disk_busy().astype(float),
        )  # fmt: skip

    @property
    def response(self) -> Array:
        """Cycles from arrival to end, (jobs,)."""
        return self.finish - self.arrival

    def bursts(self) -> pd.DataFrame:
        """One row for each piece of a burst: job, phase, kind, begin, end, share."""
        import pandas as pd

        frame = pd.DataFrame(
            self.pieces, columns=["job", "phase", "kind", "begin", "end", "share"]
        ).astype({"job": int, "phase": int, "kind": int})
        frame["kind"] = [KINDS[kind] for kind in frame["kind"]]
        return frame

    def time_with(self, most: int) -> Array:
        """Cycles with 0, 1, ... `most` jobs running, (most + 1,)."""
        spans = np.diff(np.append(self.changes[:, 0], self.end))
        running = self.changes[:, 1].astype(int)
        return np.bincount(running, spans, minlength=most + 1).astype(float)

    def credited_with(self, credits: Array, most: int) -> Array:
        """Split what each piece is worth, (pieces,), by how many jobs ran meanwhile, (most + 1,).

        A piece earns at an even rate while it lasts.
        """
        times = np.append(self.changes[:, 0], self.end)
        begin, end = self.pieces[:, 3], self.pieces[:, 4]
        lasts = end - begin
        found = np.zeros(most + 1)
        for k in range(most + 1):
            spans = np.diff(times) * (self.changes[:, 1] == k)
            passed = np.concatenate([[0.0], np.cumsum(spans)])
            inside = np.interp(end, times, passed) - np.interp(begin, times, passed)
            share = np.divide(inside, lasts, out=np.zeros_like(inside), where=lasts > 0)
            found[k] = float(share @ credits)
        return found
