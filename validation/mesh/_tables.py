"""The tables of a network: made, lengthened, and their rows given out and taken back."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from qmodels.errors import MemoryBudgetError
from validation.mesh._kernels import records as rec
from validation.mesh.topology import Mesh
from validation.mesh.traffic import Messages, Traffic, phase_rows

_WHEEL: Final = 1 << 12
#: Bytes of channels that stay in the cache of a core beside the rest. Where they do, the wheel
#: alone is faster; where they do not, rows are, whose requests can be looked ahead at.
_CACHED: Final = 1 << 19
#: Of flits, where they are moved one by one: 1 GB.
_MOST_TIMES: Final = 1 << 27


class Tables:
    """Tables that the kernels work on, `state`, and the rows of them that nobody uses.

    With `by_flit` the state has a further lane at both ends of every node, and `lanes` is what
    `_kernels.flits` needs besides. It has no disks behind memory then.
    """

    def __init__(
        self,
        mesh: Mesh,
        timing: rec.Timing,
        paces: Array,
        *,
        by_flit: bool = False,
        disk_of: Ints | None = None,
        infinite: bool = False,
    ) -> None:
        # Disks behind memory come after the channels: messages queue at them in the same way.
        disks = 0 if disk_of is None else int(disk_of.max()) + 1
        rows = mesh.channels + (2 * mesh.routers if by_flit else disks)
        channels = _aligned_table(rows, rec.CHANNEL)
        # Messages that cut through cannot deadlock, so all keep to one lane of each link.
        grid = mesh.grid._replace(datelines=int(by_flit))
        # Where worms are moved as a whole, the channels of a row or column stand side by side.
        self.places = np.arange(rows)  #: where each channel or disk stands in the tables
        if not by_flit:
            grid, self.places[: mesh.channels] = _renumbered_grid(grid)
        if infinite:  # all routers in one place: every route leads from injection to ejection
            grid = grid._replace(coordinates=np.zeros_like(grid.coordinates))
        channels["queue"] = rec.NOBODY
        counters = np.zeros(1, rec.COUNTERS)
        counters["free_slot"], counters["due"] = int(rec.NOBODY), rec.FAR
        self.state = rec.State(
            channels=channels,
            totals=_aligned_table(rows, rec.TOTAL),
            messages=_aligned_table(0, rec.MESSAGE),
            details=_aligned_table(0, rec.DETAIL),
            streams=np.zeros(0, rec.STREAM),
            jobs=np.zeros(0, rec.JOB),
            phases=np.zeros(0, rec.PHASE),
            listed=np.zeros(0, rec.LISTED_MESSAGE),
            deliveries=np.zeros(0, rec.DELIVERY),
            phase_runs=np.zeros(0, rec.PHASE_RUN),
            wheel=np.full(_WHEEL, rec.NOBODY, np.uint32),
            near=np.zeros((rec.NEAR, 0), np.uint32),
            due=np.zeros(rec.NEAR, np.uint32),
            nearby=rec.NEAR if channels.nbytes > _CACHED and not by_flit else 0,
            turns=np.zeros(rows, np.uint8),
            inputs=_inputs_of_channels(mesh, self.places, by_flit),
            dirty=np.zeros(3 * rows if by_flit else rows, np.uint32),
            stack=_aligned_table(0, rec.GRANT),
            counters=counters,
            timing=timing,
            grid=grid,
            paces=paces,
            paced=int((paces[:, :2] > 1.0).any()),
            disk_of=mesh.channels + (np.zeros(1, np.int64) if disk_of is None else disk_of),
            buffered=int(disk_of is not None),
        )
        self.lanes = _idle_lanes(mesh, rows) if by_flit else None
        self._phases: dict[Traffic | None, int] = {}
        self._free: dict[str, list[tuple[int, int]]] = {"streams": [], "phase_runs": []}

    def take(self, table: str, size: int) -> int:
        """Return where `size` rows of "streams" or "phase_runs" begin that nobody uses."""
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
        """Return where the phases of this traffic begin in their table; each is kept once."""
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

    def make_room_for_flits(self, longest: int) -> None:
        """Columns of `lanes.times` for the flits of a buffer, or of the longest message."""
        if self.lanes is None:
            return
        times, timing = self.lanes.times, self.state.timing
        have, need = times.shape[1], min(timing.buffer, longest)
        if have >= need:
            return
        if len(times) * need > _MOST_TIMES:
            raise MemoryBudgetError(
                f"buffers of {timing.buffer:,} flits for messages of {longest:,} on "
                f"{len(times):,} lanes need the times of {len(times) * need:,} flits; at most "
                f"{_MOST_TIMES:,} are kept: use shorter buffers, or a router with cut_through"
            )
        wider = np.zeros((len(times), need), np.int64)
        sent = self.lanes.lanes["sent"]
        for back in range(1, have + 1):  # the last flits, in the columns where they are looked for
            flit = sent - back
            rows = np.flatnonzero(flit >= 0)
            wider[rows, flit[rows] % need] = times[rows, flit[rows] % have]
        self.lanes = self.lanes._replace(times=wider)

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
        near = np.zeros((rec.NEAR, need if state.nearby else 0), np.uint32)
        near[:, : state.near.shape[1]] = state.near
        grown: dict[str, Any] = {"stack": _aligned_table(need, rec.GRANT), "near": near}
        for name in ("messages", "details"):
            table = getattr(state, name)
            grown[name] = _aligned_table(need, table.dtype)
            grown[name][:rows] = table
        fresh = np.arange(rows, need)
        grown["messages"]["link"][fresh] = np.append(fresh[1:], state.counters["free_slot"])
        state.counters["free_slot"] = rows
        self.state = state._replace(**grown)


def _aligned_table(rows: int, kind: np.dtype[Any]) -> Any:
    """Zeros whose rows begin with a line of the cache."""
    store = np.zeros(rows * kind.itemsize + 64, np.uint8)
    shift = -store.ctypes.data % 64
    return store[shift : shift + rows * kind.itemsize].view(kind)


def _renumbered_grid(grid: rec.Grid) -> tuple[rec.Grid, Ints]:
    """The grid with channels numbered along rows and columns, and what each is numbered then.

    A header goes along a row or column and its tail after it: so both meet neighbours in the
    tables, and on a large mesh half as many lines of the cache.
    """
    routers, lanes = grid.routers, grid.virtual
    ends, ports = 2 * routers, grid.directions
    dimensions, upwards = grid.dimensions.copy(), grid.upwards.copy()
    numbers = np.arange(ends + routers * ports * lanes)
    for k in range(ports // 2):
        # Routers in the order of coordinate k, those of one row or column after each other.
        keys = [grid.coordinates[:, d] for d in range(3) if d != k]
        order = np.lexsort((grid.coordinates[:, k], *keys))
        first = np.empty(routers, np.int64)
        first[order] = ends + (2 * k * routers + np.arange(routers)) * lanes
        for port, shift in ((2 * k, 0), (2 * k + 1, routers * lanes)):
            for lane in range(lanes):
                numbers[ends + port * lanes + lane :: ports * lanes] = first + shift + lane
        upwards[:, k] = first
        dimensions["step"][k], dimensions["down"][k] = lanes, routers * lanes
    return grid._replace(dimensions=dimensions, upwards=upwards), numbers


def _inputs_of_channels(mesh: Mesh, places: Ints, by_flit: bool) -> NDArray[np.uint8]:
    """Return which input of its router each channel is: west before east and so on, the node last."""
    grid = mesh.grid
    routers, ports, lanes = grid.routers, grid.directions, grid.virtual
    wires = np.arange(ports * lanes)
    inputs = np.full(places.size, ports * lanes + lanes - 1, np.uint8)
    inputs[places[2 * routers : mesh.channels]] = np.tile(
        (wires // lanes ^ 1) * lanes + wires % lanes, routers
    )
    if by_flit:  # then the node's first lane has its number in that column
        inputs[:routers] = ports * lanes
    return inputs


def _idle_lanes(mesh: Mesh, rows: int) -> rec.Lanes:
    """Lanes and the wires that they share, idle."""
    ends, each = 2 * mesh.routers, mesh.grid.virtual
    links = np.arange(mesh.channels - ends)
    lanes, wires = _aligned_table(rows, rec.LANE), _aligned_table(ends + links.size // each, rec.WIRE)
    lanes["worm"] = lanes["before"] = rec.NOBODY
    lanes["alarm"] = -1
    lanes["queue"] = np.concatenate([np.arange(mesh.channels), np.arange(ends)])
    lanes["wire"] = np.concatenate([np.arange(ends), ends + links // each, np.arange(ends)])
    wires["used"], wires["left"] = -1, -1
    wires["last"], wires["granted"], wires["served"] = 1, 1, 1
    wires["first"][:ends], wires["first"][ends:] = np.arange(ends), ends + links[::each]
    wires["second"] = rec.NOBODY
    if each > 1:
        wires["second"][:ends] = mesh.channels + np.arange(ends)
        wires["second"][ends:] = ends + links[1::each]
    return rec.Lanes(
        lanes=lanes,
        wires=wires,
        times=np.zeros((rows, 1), np.int64),
        busy=np.zeros(len(wires), np.uint32),
        picked=np.zeros(len(wires), np.uint32),
        counts=np.zeros(1, np.int64),
    )
