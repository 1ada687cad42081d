"""Flows that share channels: what a phase asks of them, and the table of all that are under way."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from phasefit.arrays import Array, Ints
from validation.mesh._kernels import flows


@dataclass(frozen=True, eq=False, slots=True)
class PhaseLoads:
    """Demands of one phase run of a job on the channels it uses, (k,) each."""

    channels: Ints  #: their numbers
    held: Array  # cycles  #: cycles that each is held
    carried: Ints  # flits  #: flits through each
    sums: flows.Sums  #: over all messages

    @classmethod
    def of(cls, loads: flows.Loads, used: int) -> PhaseLoads:
        """Return a copy of the demands that `phase_flow` has written, which it overwrites by others.

        Parameters
        ----------
        loads : Loads
            Tables of the kernel.
        used : int
            Number of channels that the run uses.
        """
        [sums] = loads.sums.tolist()
        return cls(
            loads.channels[:used].copy(),
            loads.held[:used].copy(),
            loads.carried[:used].copy(),
            flows.Sums(*sums),
        )

    @property
    def flight(self) -> float:
        """Cycles that pass and hold no channel."""
        return self.sums.alone - self.sums.busy


class FlowTable:
    """Flows under way, one row each, their channels in one long list.

    Parameters
    ----------
    channels : int
        Number of channels of the mesh.
    """

    def __init__(self, channels: int) -> None:
        self._jobs: dict[int, int] = {}  # job number by row
        self._free: list[int] = []
        self._flows = np.zeros(0, flows.FLOW)
        self._channels, self._parts = np.zeros(channels, np.int64), np.zeros(channels)
        self._top = 0
        self._room = flows.Shares(
            total=np.zeros(channels),
            full=np.zeros(channels),
            number=np.zeros(channels, np.int64),
            crowded=np.zeros(channels, np.int64),
            first=np.zeros(1, np.int64),
            channel=np.zeros(channels, np.int64),
            part=np.zeros(channels),
            fresh=np.zeros(0),
        )

    def enter(self, number: int, loads: PhaseLoads) -> None:
        """Add a flow of a job; it has no speed before the next `share_out`.

        Parameters
        ----------
        number : int
            Number of the job.
        loads : PhaseLoads
            Demands of the flow.
        """
        size = loads.channels.size
        if self._top + size > self._channels.size:
            self._close_gaps(size)
        if not self._free:
            self._grow_tables()
        row = self._free.pop()
        at = slice(self._top, self._top + size)
        self._channels[at] = loads.channels
        # Rounding must not make a flow alone overfill a channel.
        busy = loads.sums.busy
        self._parts[at] = np.minimum(loads.held / busy, 1.0)
        self._flows[row] = self._top, size, busy, 0.0, 0.0, inf
        self._top += size
        self._jobs[row] = number

    def ended(self, now: float) -> list[int]:
        """Return the rows of the flows that are over.

        Parameters
        ----------
        now : float
            Cycles.
        """
        finish = self._flows["finish"]
        return [row for row in self._jobs if finish[row] <= now]

    def leave(self, row: int) -> int:
        """Take a flow out.

        Parameters
        ----------
        row : int
            Row of the flow.

        Returns
        -------
        int
            Number of its job.
        """
        self._free.append(row)
        return self._jobs.pop(row)

    def share_out(self, now: float) -> float:
        """Give all flows their speeds from now on.

        Parameters
        ----------
        now : float
            Cycles.

        Returns
        -------
        float
            Time at which the first flow will be over, cycles; infinite where there is none.
        """
        if not self._jobs:
            return inf
        rows = np.fromiter(self._jobs, np.int64, len(self._jobs))
        soonest = flows.share_out(now, rows, self._flows, self._channels, self._parts, tuple(self._room))
        return float(soonest)

    def _grow_tables(self) -> None:
        """Make room for twice as many flows."""
        rows = self._flows.size
        longer = np.zeros(rows + max(16, rows), flows.FLOW)
        longer[:rows] = self._flows
        self._flows = longer
        self._free = list(range(longer.size - 1, rows - 1, -1))
        self._room = self._room._replace(
            first=np.zeros(longer.size + 1, np.int64), fresh=np.zeros(longer.size)
        )

    def _close_gaps(self, more: int) -> None:
        """Move the lists of all flows to the front, with room for `more` behind them."""
        rows = list(self._jobs)
        begin, size = self._flows["begin"][rows], self._flows["length"][rows]
        ends = np.concatenate([[0], np.cumsum(size)])
        top = int(ends[-1])
        room = max(self._channels.size, 2 * (top + more))
        for name in ("_channels", "_parts"):
            column = getattr(self, name)
            moved = np.zeros(room, column.dtype)
            for k in range(len(rows)):
                moved[ends[k] : ends[k + 1]] = column[begin[k] : begin[k] + size[k]]
            setattr(self, name, moved)
        self._room = self._room._replace(channel=np.zeros(room, np.int64), part=np.zeros(room))
        self._flows["begin"][rows], self._top = ends[:-1], top
