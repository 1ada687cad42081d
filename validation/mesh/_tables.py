"""The tables of a network: made, lengthened, and their rows given out and taken back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from validation.mesh._kernels import records as rec
from validation.mesh.topology import Mesh
from validation.mesh.traffic import Messages, Traffic, phase_rows

Ints = NDArray[np.int64]

_WHEEL: Final = 1 << 12


class Tables:
    """What the kernels work on, `state`, and which of its rows nobody uses."""

    def __init__(
        self,
        mesh: Mesh,
        timing: rec.Timing,
        paces: NDArray[np.float64],
        *,
        disk_of: Ints | None = None,
        infinite: bool = False,
    ) -> None:
        # Disks behind memory come after the channels: messages queue at them in the same way.
        disks = 0 if disk_of is None else int(disk_of.max()) + 1
        channels = _table(mesh.channels + disks, rec.CHANNEL)
        grid = mesh.grid
        if infinite:  # all routers in one place: every route leads from injection to ejection
            grid = grid._replace(coordinates=np.zeros_like(grid.coordinates))
        channels["queue"] = rec.NOBODY
        counters = np.zeros(1, rec.COUNTERS)
        counters["free_slot"], counters["due"] = int(rec.NOBODY), rec.FAR
        self.state = rec.State(
            channels=channels,
            totals=_table(mesh.channels + disks, rec.TOTAL),
            messages=_table(0, rec.MESSAGE),
            events=_table(0, rec.EVENT),
            born=_table(0, rec.BORN),
            streams=np.zeros(0, rec.STREAM),
            jobs=np.zeros(0, rec.JOB),
            phases=np.zeros(0, rec.PHASE),
            listed=np.zeros(0, rec.LISTED_MESSAGE),
            deliveries=np.zeros(0, rec.DELIVERY),
            phase_runs=np.zeros(0, rec.PHASE_RUN),
            wheel=np.full(_WHEEL, rec.NOBODY, np.uint32),
            turns=np.zeros(mesh.channels, np.uint8),
            inputs=_inputs(mesh),
            dirty=np.zeros(mesh.channels + disks, np.uint32),
            stack=_table(0, rec.EVENT),
            counters=counters,
            timing=timing,
            grid=grid,
            paces=paces,
            disk_of=mesh.channels + (np.zeros(1, np.int64) if disk_of is None else disk_of),
            buffered=int(disk_of is not None),
        )
        self._phases: dict[Traffic | None, int] = {}
        self._free: dict[str, list[tuple[int, int]]] = {"streams": [], "phase_runs": []}

    def take(self, table: str, size: int) -> int:
        """Where `size` rows of "streams" or "phase_runs" begin that nobody uses."""
        free = self._free[table]
        for k, (first, length) in enumerate(free):
            if length >= size:
                free[k] = first + size, length - size
                if length == size:
                    del free[k]
                return first
        first = len(getattr(self.state, table))
        more = max(size, 256, first)
        self.lengthen(table, first + more)
        if more > size:
            free.append((first + size, more - size))
        return first

    def give_back(self, table: str, first: int, size: int) -> None:
        """Free rows that were taken, joined with their free neighbours."""
        merged: list[tuple[int, int]] = []
        for begin, length in sorted([*self._free[table], (first, size)]):
            if merged and sum(merged[-1]) == begin:
                merged[-1] = merged[-1][0], merged[-1][1] + length
            else:
                merged.append((begin, length))
        self._free[table] = merged

    def job_row(self) -> int:
        """A row of no job, all zero."""
        jobs = self.state.jobs
        free = np.flatnonzero(jobs["status"] == rec.IDLE)
        if free.size == 0:
            self.lengthen("jobs", max(16, 2 * len(jobs)))
        row = int(free[0]) if free.size else len(jobs)
        self.state.jobs[row] = np.zeros((), rec.JOB)
        return row

    def phase_row(self, traffic: Traffic | Messages) -> int:
        """Where the phases of this traffic begin in their table; each is kept once."""
        key = traffic if isinstance(traffic, Traffic) else None
        if key not in self._phases:
            rows = np.zeros(1, rec.PHASE) if key is None else phase_rows(key)  # zeros: listed
            self._phases[key] = len(self.state.phases)
            self.append("phases", rows)
        return self._phases[key]

    def append(self, table: str, rows: Any) -> None:
        """Add rows at the end of a table."""
        before = len(getattr(self.state, table))
        self.lengthen(table, before + len(rows))
        getattr(self.state, table)[before:] = rows

    def lengthen(self, table: str, size: int) -> None:
        """Add rows of zeros until a table has `size`."""
        rows = getattr(self.state, table)
        longer = np.zeros(max(size, len(rows)), rows.dtype)
        longer[: len(rows)] = rows
        grown: dict[str, Any] = {table: longer}
        self.state = self.state._replace(**grown)

    def make_room_for_messages(self, waiting: int = 0) -> None:
        """A row for each channel's holder, each channel's alarm, and each stream's next message.

        And for those `waiting` without a channel, where messages cut through.
        """
        state = self.state
        rows, need = len(state.messages), len(state.streams) + 2 * len(state.channels) + waiting
        if rows < need and waiting:
            need += need // 2  # jobs come one by one
        if rows >= need:
            return
        grown: dict[str, Any] = {"stack": _table(need, rec.EVENT)}
        for name in ("messages", "events", "born"):
            table = getattr(state, name)
            grown[name] = _table(need, table.dtype)
            grown[name][:rows] = table
        fresh = np.arange(rows, need)
        grown["events"]["link"][fresh] = np.append(fresh[1:], state.counters["free_slot"])
        state.counters["free_slot"] = rows
        self.state = state._replace(**grown)


def _table(rows: int, kind: np.dtype[Any]) -> Any:
    """Zeros whose rows begin with a line of the cache."""
    store = np.zeros(rows * kind.itemsize + 64, np.uint8)
    shift = -store.ctypes.data % 64
    return store[shift : shift + rows * kind.itemsize].view(kind)


def _inputs(mesh: Mesh) -> NDArray[np.uint8]:
    """Which input of its router each channel is: west before east and so on, the node last."""
    grid = mesh.grid
    routers, ports, lanes = grid.routers, grid.directions, grid.virtual
    wires = np.arange(ports * lanes)
    inputs = np.full(mesh.channels, ports * lanes + lanes - 1, np.uint8)
    inputs[2 * routers :] = np.tile((wires // lanes ^ 1) * lanes + wires % lanes, routers)
    return inputs
