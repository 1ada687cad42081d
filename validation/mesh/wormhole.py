"""`Network`: worms on a mesh, resumable; jobs come with their traffic and leave when it is done."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.checks import real_number, whole_number
from qmodels.errors import ModelError
from validation.mesh import _columns as col
from validation.mesh import _kernels
from validation.mesh.deadlock import DeadlockError, waiting_cycle
from validation.mesh.results import ChannelUse, Completion
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.traffic import (
    PATTERNS,
    Messages,
    Traffic,
    count_messages,
    phase_rows,
    stream_rows,
)

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

#: No cycle beyond this is simulated.
LAST_CYCLE = 1 << 56
_WHEEL = 1 << 12
_RECORD = ("number", "source", "destination", "created", "injected", "delivered")


class Network:
    """A mesh with worms on it, simulated channel by channel.

    Parameters
    ----------
    mesh : Mesh
        Which nodes are busy plays no part: jobs may share nodes.
    router : Router
        By default the ideal one.
    disk_pace : float
        Cycles that an I/O node needs for each flit, written or read; at least 1.
    seed : int
        Root of all randomness.
    record : bool
        Whether to keep every message for `messages`.

    Raises
    ------
    ModelError
        If an argument is out of range.

    Notes
    -----
    Wormhole switching with strict ownership: a channel is a worm's from the grant to its header
    until its tail has left the channel's buffer, and goes to the header that asked first. Of
    those that asked in the same cycle the one with the smaller number comes first, the earlier
    job before the later; a message that follows another through its injection channel comes after
    those of other jobs. The virtual channels of a torus are modelled as links of their own: that
    they share a wire is left out, so a torus under heavy load comes out too fast.

    Within this model times are exact: a test compares them with a simulator that moves single
    flits. What happens when a flit moves is worked out for whole worms, for a channel's release is
    known as soon as the header is ``(flits - 1) // buffer + 1`` channels ahead.

    Examples
    --------
    >>> from validation.mesh.traffic import Phase
    >>> mesh = Mesh(4, 4, io_side="west")
    >>> network = Network(mesh)
    >>> network.start("a", mesh.rectangle(0, 0, 2, 2), Traffic.of(Phase(pattern="write")))
    >>> [done] = network.advance()
    >>> done.job, done.messages, done.finish == network.clock
    ('a', 16, True)
    """

    def __init__(
        self,
        mesh: Mesh,
        router: Router | None = None,
        *,
        disk_pace: float = 1.0,
        seed: int = 0,
        record: bool = False,
    ) -> None:
        if not isinstance(mesh, Mesh):
            raise ModelError(f"mesh must be a Mesh, got {mesh!r:.60}")
        router = Router() if router is None else router
        if not isinstance(router, Router):
            raise ModelError(f"router must be a Router, got {router!r:.60}")
        if not isinstance(record, (bool, np.bool_)):
            raise ModelError(f"record must be True or False, got {record!r:.40}")
        pace = real_number("disk_pace", disk_pace, least=1.0)
        if pace > 1e6:
            raise ModelError(f"disk_pace must be <= 1e6 cycles per flit, got {pace:.6g}")
        self.mesh, self.router, self.record = mesh, router, bool(record)
        self.disk_pace, self.seed = pace, whole_number("seed", seed, least=0)
        paces = np.ones((mesh.routers, 2))
        paces[mesh.routers_of[mesh.io_nodes]] = pace
        channels = _table(mesh.channels, 2).view(col.CHANNEL).ravel()
        channels["queue"] = -1
        whole = np.zeros(6, np.int64)
        whole[col.FREE_SLOT], whole[col.DUE_JOB] = -1, col.FAR
        self._state = col.State(
            channels=channels,
            totals=_table(mesh.channels, 4),
            messages=_table(0, col.MESSAGE_COLUMNS),
            events=_table(0, 2),
            born=_table(0, 2),
            streams=np.zeros((0, col.STREAM_COLUMNS), np.int64),
            jobs=np.zeros((0, col.JOB_COLUMNS), np.int64),
            phases=np.zeros((0, col.PHASE_COLUMNS), np.int64),
            shares=np.zeros((0, 2)),
            listed=np.zeros((0, 4), np.int64),
            records=np.zeros((0, 6), np.int64),
            log=np.zeros((0, 2), np.int64),
            wheel=np.full(_WHEEL, -1, np.int64),
            turns=np.zeros(mesh.channels, np.int64),
            dirty=np.zeros(mesh.channels, np.int64),
            due=np.zeros(0, np.int64),
            stack=np.zeros((0, 3), np.int64),
            whole=whole,
            timing=np.array([getattr(router, f.name) for f in fields(router)], np.int64),
            grid=mesh.grid,
            coordinates=mesh.router_coordinates,
            paces=paces,
        )
        self._names: dict[int, Hashable] = {}  # of the jobs in the table, by their row
        self._kept: dict[Hashable, tuple[int, int]] = {}  # (row, log) of each job
        self._traffic: dict[Traffic | None, int] = {}
        self._free_streams: list[tuple[int, int]] = []
        self._free_log: list[tuple[int, int]] = []
        self._started = self._expected = self._checked = 0

    @property
    def clock(self) -> int:
        """The cycle that comes next."""
        return int(self._state.whole[col.CLOCK])

    @property
    def jobs(self) -> tuple[Hashable, ...]:
        """Those started, or to be started, and not complete."""
        return tuple(self._kept)

    @property
    def header_hops(self) -> int:
        """Channels granted since the beginning."""
        return int(self._state.whole[col.HOPS_DONE])

    @property
    def in_flight(self) -> int:
        """Messages made and not delivered, by the channels that were granted so far.

        Those whose header has its ejection channel count as delivered, and those made and kept at
        their source as not made.
        """
        messages = self._state.messages
        return int(np.count_nonzero(messages[:, col.HELD] > 0))

    def start(
        self,
        job: Hashable,
        nodes: ArrayLike | None,
        traffic: Traffic | Messages,
        time: int | None = None,
        draw: int | None = None,
    ) -> None:
        """Begin a job's traffic at a time, by default now.

        Parameters
        ----------
        job : hashable
            Its name, which no unfinished job may have.
        nodes : (n,) array_like of int
            Its nodes, in the order of their ranks; None with `Messages`.
        traffic : Traffic or Messages
            What it sends. The times of `Messages` count from `time`.
        time : int
            Cycle, not before `clock`.
        draw : int
            Which random sequence its traffic takes, by default the number of jobs started before.
            Give each job a number of its own, and it sends the same whatever order jobs start in.

        Raises
        ------
        ModelError
            If the job cannot be started; the network has not changed then.
        """
        try:
            taken = job in self._kept
        except TypeError:
            raise ModelError(f"job must be hashable, got {job!r:.60}") from None
        if taken:
            raise ModelError(f"job {job!r:.40} is under way; name each job differently")
        at = self.clock if time is None else whole_number("time", time, least=self.clock)
        if at > LAST_CYCLE:
            raise ModelError(f"time must be <= {LAST_CYCLE}, got {at}")
        drawn = self._started if draw is None else whole_number("draw", draw, least=0)
        if isinstance(traffic, Messages):
            if nodes is not None:
                raise ModelError("nodes must be None with Messages, which name their own")
            streams, listed = self._listed(traffic, at)
            io, expected, runs = 0, traffic.created.size, 1
        elif isinstance(traffic, Traffic):
            members = self.mesh.checked_nodes([] if nodes is None else nodes)
            io, runs, listed = self.mesh.io_nodes.size, traffic.runs, None
            for phase in traffic.phases:
                phase.fits(members.size, io)
            expected = count_messages(traffic, members.size, io)
            streams = stream_rows(self.mesh, members, seed=self.seed, job=drawn)
        else:
            raise ModelError(f"traffic must be Traffic or Messages, got {traffic!r:.60}")
        if expected >= 1 << 39:
            raise ModelError(f"traffic has {expected:.3g} messages; at most {1 << 39} are numbered")
        if self._started >= 1 << 21:
            raise ModelError(f"a network takes {1 << 21} jobs; make a new one")
        self._admit(job, at, traffic, streams, listed, io, expected, runs)

    def advance(self, until: int | None = None) -> list[Completion]:
        """Run until the next job completes, or up to a time.

        Parameters
        ----------
        until : int
            The cycle to stop before, if no job completes earlier.

        Returns
        -------
        list of Completion
            The jobs that completed first, all in the same cycle, which `clock` then shows; empty
            when `until` came first or nothing is left to do.

        Raises
        ------
        DeadlockError
            If messages wait for each other in a cycle.
        """
        limit = LAST_CYCLE if until is None else whole_number("until", until, least=self.clock)
        if limit > LAST_CYCLE:
            raise ModelError(f"until must be <= {LAST_CYCLE}, got {limit}")
        code = _kernels.advance(self._state, limit)
        # Looking for a cycle takes time in proportion to the channels; for that to be a small part
        # of the whole, some hops for each of them come first, unless nothing moves at all.
        due = self.header_hops - self._checked >= 8 * self.mesh.channels
        found = waiting_cycle(self._state) if due or code == col.STUCK else []
        self._checked = self.header_hops if due else self._checked
        if found:
            raise DeadlockError(self.clock, [self.mesh.channel_name(c) for c in found])
        if code == col.STILL and until is not None:
            self._state.whole[col.CLOCK] = limit
        return [] if code != col.COMPLETED else self._collect()

    def owes(self, time: int) -> bool:
        """Whether a message made before `time` may still lack its ejection channel."""
        messages, streams, events = self._state.messages, self._state.streams, self._state.events
        idle = np.zeros(len(messages), dtype=bool)
        slot = self._state.whole[col.FREE_SLOT]
        while slot >= 0:
            idle[slot] = True
            slot = events[slot, col.LINK]
        under_way = ~idle & (messages[:, col.KEY] != col.ALARM)
        if (self._state.born[under_way, col.CREATED] < time).any():
            return True
        # Streams whose next message is still to be made keep one before their injection channel.
        return bool(((streams[:, col.INDEX] < streams[:, col.STOP]) & (self.clock < time)).any())

    def channel_use(self) -> ChannelUse:
        """Totals of every channel up to `clock`; of granted channels, the whole message."""
        totals = self._state.totals
        return ChannelUse(
            mesh=self.mesh,
            cycles=self.clock,
            flits=totals[:, col.CARRIED].copy(),
            messages=totals[:, col.WORMS].copy(),
            waited=totals[:, col.WAITED].copy(),
            held=totals[:, col.HELD_TIME].copy(),
        )

    def messages(self) -> pd.DataFrame:
        """Every message whose delivery is known, of a network with ``record=True``.

        Columns: number (per job), source, destination (routers), created, injected, delivered.
        """
        import pandas as pd

        if not self.record:
            raise ModelError("no messages were kept; make the Network with record=True")
        rows = self._state.records[: self._state.whole[col.RECORDS]]
        return pd.DataFrame(rows.copy(), columns=list(_RECORD))

    def _listed(self, traffic: Messages, at: int) -> tuple[Ints, Ints]:
        """Rows of a list, grouped by source in order of time, and a stream for each source."""
        last = self.mesh.routers_of.size - 1
        for name in ("source", "destination"):
            worst = getattr(traffic, name).max()
            if worst > last:
                raise ModelError(f"{name} must be <= {last}, got {worst}")
        order = np.argsort(traffic.source, kind="stable")
        listed = np.stack(
            [
                traffic.created[order] + at,
                self.mesh.routers_of[traffic.destination[order]],
                traffic.flits[order],
                order,
            ],
            axis=1,
        )
        sources, first, counts = np.unique(
            traffic.source[order], return_index=True, return_counts=True
        )
        streams = np.zeros((sources.size, col.STREAM_COLUMNS), np.int64)
        streams[:, col.ROUTER] = self.mesh.routers_of[sources]
        streams[:, col.RANK] = np.arange(sources.size)
        streams[:, col.INDEX] = first + len(self._state.listed)
        streams[:, col.COUNT] = streams[:, col.INDEX] + counts
        return streams, listed

    def _admit(
        self,
        job: Hashable,
        at: int,
        traffic: Traffic | Messages,
        streams: Ints,
        listed: Ints | None,
        io: int,
        expected: int,
        runs: int,
    ) -> None:
        state = self._state
        free = np.flatnonzero(state.jobs[:, col.STATUS] == col.IDLE)
        if free.size == 0:
            free = np.array([len(state.jobs)])
            self._grow(jobs=_longer(state.jobs, max(16, 2 * len(state.jobs))))
        row = int(free[0])
        if listed is not None:
            self._grow(listed=np.concatenate([self._state.listed, listed]))
        first = self._room("streams", self._free_streams, len(streams))
        log = self._room("log", self._free_log, runs)
        phase0 = self._phase_row(traffic)
        streams[:, col.JOB] = row
        self._state.streams[first : first + len(streams)] = streams
        self._room_for_messages()
        if self.record:
            self._expected += expected
            self._grow(records=_longer(self._state.records, self._expected))
        entry = self._state.jobs[row]
        entry[:] = 0
        entry[col.STATUS], entry[col.DUE], entry[col.FIRST] = col.WAITING, at, first
        entry[col.NODES], entry[col.IO] = len(streams) - io, io
        entry[col.PHASE0], entry[col.PHASE] = phase0, -1
        entry[col.PHASES] = len(traffic.phases) if isinstance(traffic, Traffic) else 1
        entry[col.REPEATS] = traffic.repeat if isinstance(traffic, Traffic) else 1
        entry[col.SEQUENCE], entry[col.RECORDED], entry[col.LOG] = self._started, self.record, log
        entry[col.START] = at
        self._names[row] = job
        self._kept[job] = row, log
        self._state.whole[col.DUE_JOB] = min(self._state.whole[col.DUE_JOB], at)
        self._started += 1

    def _grow(self, **tables: Any) -> None:
        self._state = self._state._replace(**tables)

    def _room(self, table: str, free: list[tuple[int, int]], size: int) -> int:
        """Where `size` rows of a table begin that nobody uses."""
        for k, (first, length) in enumerate(free):
            if length >= size:
                free[k] = first + size, length - size
                if length == size:
                    del free[k]
                return first
        rows = getattr(self._state, table)
        first = len(rows)
        more = max(size, 256, first)
        self._grow(**{table: _longer(rows, first + more)})
        if more > size:
            free.append((first + size, more - size))
        return first

    def _room_for_messages(self) -> None:
        """A row for each channel's holder, each channel's alarm, and each stream's next message."""
        rows, need = self._state.messages, len(self._state.streams) + 2 * self.mesh.channels
        if len(rows) >= need:
            return
        grown = {}
        for name in ("messages", "events", "born"):
            table = getattr(self._state, name)
            grown[name] = _table(need, table.shape[1])
            grown[name][: len(table)] = table
        fresh = np.arange(len(rows), need)
        grown["events"][fresh, col.LINK] = np.append(fresh[1:], self._state.whole[col.FREE_SLOT])
        self._state.whole[col.FREE_SLOT] = fresh[0]
        self._grow(**grown, stack=np.zeros((need, 3), np.int64), due=np.zeros(need, np.int64))

    def _phase_row(self, traffic: Traffic | Messages) -> int:
        """Where the phases of this traffic begin in the table; each is kept once."""
        key = traffic if isinstance(traffic, Traffic) else None
        if key not in self._traffic:
            rows, shares = np.zeros((1, col.PHASE_COLUMNS), np.int64), np.zeros((1, 2))  # listed
            if key is not None:
                rows, shares = phase_rows(key)
            self._traffic[key] = len(self._state.phases)
            self._grow(
                phases=np.concatenate([self._state.phases, rows]),
                shares=np.concatenate([self._state.shares, shares]),
            )
        return self._traffic[key]

    def _collect(self) -> list[Completion]:
        """Take completed jobs out of the tables."""
        jobs, done = self._state.jobs, []
        names = {number: name for name, number in PATTERNS.items()} | {col.LISTED: "listed"}
        for row in np.flatnonzero(jobs[:, col.STATUS] == col.FINISHED).tolist():
            entry = jobs[row]
            job = self._names.pop(row)
            _, log = self._kept.pop(job)
            runs = int(entry[col.PHASES] * entry[col.REPEATS])
            kinds = self._state.phases[entry[col.PHASE0] :, col.KIND]
            phases = tuple(
                (names[int(kinds[run % entry[col.PHASES]])], int(begin), int(end))
                for run, (begin, end) in enumerate(self._state.log[log : log + runs])
            )
            n = max(int(entry[col.MESSAGES]), 1)
            done.append(
                Completion(
                    job=job,
                    start=int(entry[col.START]),
                    finish=int(entry[col.FINISH]),
                    messages=int(entry[col.MESSAGES]),
                    flits=int(entry[col.VOLUME]),
                    mean_latency=entry[col.LATENCY] / n,
                    mean_network_latency=entry[col.NETWORK] / n,
                    mean_blocking=entry[col.BLOCKING] / n,
                    longest_latency=int(entry[col.LONGEST]),
                    mean_hops=entry[col.HOPS] / n,
                    phases=phases,
                )
            )
            size = int(entry[col.NODES] + entry[col.IO])
            self._free_streams = _merged(self._free_streams, (int(entry[col.FIRST]), size))
            self._free_log = _merged(self._free_log, (log, runs))
            entry[:] = 0
        return done


def _table(rows: int, columns: int) -> Ints:
    """Zeros whose rows begin with a line of the cache."""
    store = np.zeros(rows * columns + 8, np.int64)
    shift = -store.ctypes.data % 64 // 8
    return store[shift : shift + rows * columns].reshape(rows, columns)


def _longer(rows: Any, size: int) -> Any:
    """A copy with `size` rows, the new ones zero."""
    longer = np.zeros((max(size, len(rows)), *rows.shape[1:]), rows.dtype)
    longer[: len(rows)] = rows
    return longer


def _merged(blocks: list[tuple[int, int]], block: tuple[int, int]) -> list[tuple[int, int]]:
    """Free blocks (first, size) with one more, neighbours joined."""
    merged: list[tuple[int, int]] = []
    for first, size in sorted([*blocks, block]):
        if merged and sum(merged[-1]) == first:
            merged[-1] = merged[-1][0], merged[-1][1] + size
        else:
            merged.append((first, size))
    return merged
