"""`Network`: worms on a mesh, resumable; jobs come with their traffic and leave when it is done."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Ints
from phasefit.checks import boolean, instance_of, one_of, real_number, whole_number
from qmodels.errors import MemoryBudgetError, ModelError
from validation.mesh import withdrawal
from validation.mesh._kernels import events, flits, inspection
from validation.mesh._kernels import records as rec
from validation.mesh._tables import Tables
from validation.mesh.deadlock import DeadlockError, waiting_cycle
from validation.mesh.results import ChannelUse, Completion
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.traffic import (
    PATTERNS,
    Messages,
    Traffic,
    count_messages,
    refuse_taken_name,
    stream_rows,
)

if TYPE_CHECKING:
    import pandas as pd


#: No cycle beyond this is simulated.
LAST_CYCLE = 1 << 56
_NAMES = {number: name for name, number in PATTERNS.items()} | {rec.LISTED: "listed"}
#: Messages under way of the largest network where they cut through: 1.2 GB.
_MOST_WAITING = 8_000_000
#: Where a disk is slow, and whether links are: see `Network`.
DISKS, LINKS = ("ejection", "buffer"), ("finite", "infinite")


class Network:
    """A mesh with worms on it, simulated channel by channel.

    Parameters
    ----------
    mesh : Mesh
        Which nodes are busy plays no part: jobs may share nodes.
    router : Router
        By default the ideal one.
    disk_pace : float
        Cycles that a disk needs for each flit, written or read; at least 1.
    disk : {"ejection", "buffer"}
        What is as slow as that: the I/O node's channels out of and into the network, so that
        messages wait for a disk on the links; or the disk alone. With "buffer" an I/O node takes
        messages at link rate into memory, where its disk serves them one by one in order of
        arrival, and a node sends its next message of "write", or asks for its next of "read", when
        the disk has done with its last (has sent it, and it has come).
    disks : (I/O nodes,) array_like of int, optional
        With "buffer", which disk stands behind each I/O node; by default one of its own.
    links : {"finite", "infinite"}
        With "infinite" no message ever waits for a link and links take no time, as if all nodes
        were in one place; injection and ejection channels stay as they are.
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
    those of other jobs.

    The two virtual channels of a link of a torus share its wire, one flit a cycle: where both
    could move one, the one does that did not move the last. A node sends one message after the
    other, each on any free virtual channel of two, and takes two messages at a time. Messages that
    cut through need no second virtual channel and all take the first.

    Within this model times are exact: tests compare them with simulators that move single flits.
    Where channels have wires of their own, what happens when a flit moves is worked out for whole
    worms, for a channel's release is known as soon as the header is ``(flits - 1) // buffer + 1``
    channels ahead. On a torus every flit is moved, which takes 5 to 50 times as long and grows
    with the length of the messages.

    Examples
    --------
    >>> from validation.mesh.traffic import TrafficPhase
    >>> mesh = Mesh(4, 4, io_side="west")
    >>> network = Network(mesh)
    >>> network.start("a", mesh.rectangle(0, 0, 2, 2), Traffic.of(TrafficPhase(pattern="write")))
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
        disk: str = "ejection",
        disks: ArrayLike | None = None,
        links: str = "finite",
        seed: int = 0,
        record: bool = False,
    ) -> None:
        instance_of("mesh", mesh, Mesh)
        router = Router() if router is None else router
        instance_of("router", router, Router)
        boolean("record", record)
        pace = real_number("disk_pace", disk_pace, least=1.0)
        if pace > 1e6:
            raise ModelError(f"disk_pace must be <= 1e6 cycles per flit, got {pace:.6g}")
        self.mesh, self.router, self.record = mesh, router, bool(record)
        self.disk_pace, self.seed = pace, whole_number("seed", seed, least=0)
        self.disk, self.links = one_of("disk", disk, DISKS), one_of("links", links, LINKS)
        paces = np.ones((mesh.routers, 3))
        behind = 2 if disk == "buffer" else slice(0, 2)
        paces[mesh.routers_of[mesh.io_nodes], behind] = pace
        # Messages that cut through wait for no buffer: whole ones share a wire by taking turns.
        by_flit = mesh.virtual_channels == 2 and not self.router.cut_through
        if by_flit and (disk == "buffer" or links == "infinite"):
            raise ModelError(
                "on a torus with two lanes every flit is moved, which knows neither disk='buffer' "
                "nor links='infinite'; use a mesh, one virtual channel, or cut_through"
            )
        self._tables = Tables(
            mesh,
            self.router.timing,
            paces,
            by_flit=by_flit,
            disk_of=_disk_of(mesh, disks) if disk == "buffer" else None,
            infinite=links == "infinite",
        )
        self._waiting: dict[int, int] = {}  # messages that a job may have under way, by its row
        self._names: dict[int, Hashable] = {}  # of the jobs in the table, by their row
        self._kept: dict[Hashable, tuple[int, int]] = {}  # (row, first phase run) of each job
        self._started = self._expected = self._checked = 0

    @property
    def _state(self) -> rec.State:
        return self._tables.state

    @property
    def _counters(self) -> Any:
        return self._state.counters[0]

    @property
    def clock(self) -> int:
        """The cycle that comes next."""
        return int(self._counters["clock"])

    @property
    def jobs(self) -> tuple[Hashable, ...]:
        """Those started, or to be started, and not complete."""
        return tuple(self._kept)

    @property
    def header_hops(self) -> int:
        """Channels granted since the beginning."""
        _, hops = self._under_way()
        return int(self._counters["header_hops"]) + hops

    @property
    def in_flight(self) -> int:
        """Messages made and not delivered, by the channels that were granted so far.

        Those whose header has its ejection channel count as delivered, and those made and kept at
        their source as not made.
        """
        messages = self._state.messages
        return int(np.count_nonzero((messages["held"] > 0) | (messages["behind"] > 0)))

    def start(
        self,
        job: Hashable,
        nodes: ArrayLike | None,
        traffic: Traffic | Messages,
        time: int | None = None,
        draw: int | None = None,
        io_nodes: ArrayLike | None = None,
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
        io_nodes : (m,) array_like of int, optional
            The I/O nodes that it writes to and reads from; by default all of the mesh.

        Raises
        ------
        ModelError
            If the job cannot be started; the network has not changed then.
        """
        refuse_taken_name(job, self._kept)
        at = whole_number("time", self.clock if time is None else time, least=self.clock, most=LAST_CYCLE)
        drawn = self._started if draw is None else whole_number("draw", draw, least=0)
        if isinstance(traffic, Messages):
            if nodes is not None:
                raise ModelError("nodes must be None with Messages, which name their own")
            streams, listed = self._listed_streams(traffic, at)
            if io_nodes is not None:
                raise ModelError("io_nodes must be None with Messages, which name their own")
            io, expected, runs = 0, traffic.created.size, 1
        elif isinstance(traffic, Traffic):
            members = self.mesh.checked_nodes([] if nodes is None else nodes)
            served = self.mesh.io_nodes if io_nodes is None else self._checked_io(io_nodes)
            io, runs, listed = served.size, traffic.runs, None
            for phase in traffic.phases:
                phase.fits(members.size, io)
                if phase.pattern == "mixed" and self.disk == "buffer":
                    raise ModelError(
                        "pattern 'mixed' keeps no message waiting for a disk behind memory; use "
                        "disk='ejection', or phases of 'write'"
                    )
            expected = count_messages(traffic, members.size, io)
            streams = stream_rows(self.mesh, members, seed=self.seed, job=drawn, io_nodes=served)
        else:
            raise ModelError(f"traffic must be Traffic or Messages, got {traffic!r:.60}")
        if expected >= 1 << 39:
            raise ModelError(f"traffic has {expected:.3g} messages; at most {1 << 39} are numbered")
        if self._started >= 1 << 21:
            raise ModelError(f"a network takes {1 << 21} jobs; make a new one")
        waiting = 0
        if self.router.cut_through:
            # All messages of a phase may be under way at once: nothing holds them back.
            plans = traffic.phases if isinstance(traffic, Traffic) else ()
            sent = (count_messages(Traffic.of(plan), members.size, io) for plan in plans)
            waiting = max(sent, default=expected)
            if waiting + sum(self._waiting.values()) > _MOST_WAITING:
                raise MemoryBudgetError(
                    f"messages that cut through may all be under way at once, and those of job "
                    f"{job!r:.40} are {waiting:,}; {_MOST_WAITING:,} of all jobs fit: use fewer "
                    "rounds in a phase and repeat it, or a router without cut_through"
                )
        self._admit_job(job, at, traffic, streams, listed, io, expected, runs, waiting)

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
        last = LAST_CYCLE if until is None else until
        limit = whole_number("until", last, least=self.clock, most=LAST_CYCLE)
        if self._tables.lanes is None:
            code = events.advance(self._state, limit)
        else:
            code = flits.advance(self._state, self._tables.lanes, limit)
        assert code != rec.LATE, f"an event was due before cycle {self.clock}"
        # Looking for a cycle takes time in proportion to the channels; for that to be a small part
        # of the whole, some hops for each of them come first, unless nothing moves at all.
        hops = int(self._counters["header_hops"])
        due = hops - self._checked >= 8 * self.mesh.channels
        may = not self.router.cut_through and (due or code == rec.STUCK)
        waiting = waiting_cycle(self._state) if may else []
        self._checked = hops if due else self._checked
        if waiting:
            numbers = np.argsort(self._tables.places)
            raise DeadlockError(self.clock, [self.mesh.channel_name(numbers[c]) for c in waiting])
        assert code != rec.STUCK, f"messages wait for nothing at cycle {self.clock}"
        if code == rec.STILL and until is not None:
            self._counters["clock"] = limit
        return [] if code != rec.COMPLETED else self._collect_completed()

    def owes(self, time: int) -> bool:
        """Return whether a message made before a time may still lack its ejection channel.

        Parameters
        ----------
        time : int
            Cycle.
        """
        streams, messages = self._state.streams, self._state.messages
        idle = np.zeros(len(messages), dtype=bool)
        slot = int(self._counters["free_slot"])
        while slot != rec.NOBODY:
            idle[slot] = True
            slot = int(messages["link"][slot])
        under_way = ~idle & (messages["asked"] < rec.ALARM)
        if (self._state.details["created"][under_way] < time).any():
            return True
        # Streams whose next message is still to be made keep one before their injection channel.
        return bool(((streams["index"] < streams["stop"]) & (self.clock < time)).any())

    def channel_use(self) -> ChannelUse:
        """Return the totals of every channel up to `clock`; of granted channels, the whole message."""
        totals = self._under_way()[0][: self.mesh.channels]
        return ChannelUse(
            mesh=self.mesh,
            cycles=self.clock,
            flits=totals["carried"].copy(),
            messages=totals["worms"].copy(),
            waited=totals["waited"].copy(),
            held=totals["held"].copy(),
        )

    def disk_busy(self) -> Ints:
        """Return the cycles that each disk behind memory has been given to do so far, (disks,)."""
        held: Ints = self._under_way()[0]["held"][self.mesh.channels :].copy()
        return held

    def withdraw(self, job: Hashable) -> int:
        """Keep a job from sending anything more; it is complete when what is under way is delivered.

        Parameters
        ----------
        job : hashable
            Name of the job.

        Returns
        -------
        int
            Flits that it has not begun to send.

        Raises
        ------
        ModelError
            If no such job is under way, or it has more than one run of phases, a pause to come,
            lockstep or listed messages.
        """
        if job not in self._kept:
            raise ModelError(f"job {job!r:.40} is not under way")
        row, run = self._kept[job]
        entry = self._state.jobs[row]
        if entry["status"] == rec.WAITING and withdrawal.is_plain(self._state, entry):
            self._tables.give_back("phase_runs", run, 1)  # it will run none
        return withdrawal.withdraw(self._state, job, entry, self.clock)

    def _checked_io(self, io_nodes: ArrayLike) -> Ints:
        """Numbers of I/O nodes; ModelError for others."""
        checked = self.mesh.checked_nodes(io_nodes, io=True)
        if checked.min() < self.mesh.nodes:
            raise ModelError(f"io_nodes must be I/O nodes, from {self.mesh.nodes}; got {checked.min()}")
        return checked

    def messages(self) -> pd.DataFrame:
        """Return every message whose delivery is known, of a network with ``record=True``.

        Columns: number (per job), source, destination (routers), created, injected, delivered.

        Raises
        ------
        ModelError
            If no messages were kept.
        """
        import pandas as pd

        if not self.record:
            raise ModelError("no messages were kept; make the Network with record=True")
        rows = self._state.deliveries[: self._counters["recorded"]]
        return pd.DataFrame({name: rows[name].copy() for name in rec.DELIVERY.names or ()})

    def _under_way(self) -> tuple[Any, int]:
        """The channels' totals with those of worms under way, and how many channels these took."""
        totals, lanes = self._state.totals.copy(), self._tables.lanes
        if lanes is None:
            hops = int(inspection.under_way(self._state, totals))
            return totals[self._tables.places], hops
        # As worms keep them: when the header was granted a channel that is held.
        channels = self._state.channels.copy()
        channels["when"] = ~lanes.lanes["crossed"]
        hops = int(inspection.under_way(self._state._replace(channels=channels), totals))
        ends = 2 * self.mesh.routers
        for name in totals.dtype.names:  # a node's two lanes count as one channel
            totals[name][:ends] += totals[name][self.mesh.channels :]
        return totals[: self.mesh.channels], hops

    def _listed_streams(self, traffic: Messages, at: int) -> tuple[Any, Any]:
        """Rows of a list, grouped by source in order of time, and a stream for each source."""
        last = self.mesh.routers_of.size - 1
        for name in ("source", "destination"):
            worst = getattr(traffic, name).max()
            if worst > last:
                raise ModelError(f"{name} must be <= {last}, got {worst}")
        order = np.argsort(traffic.source, kind="stable")
        listed = np.zeros(order.size, rec.LISTED_MESSAGE)
        listed["created"], listed["number"] = traffic.created[order] + at, order
        listed["target"] = self.mesh.routers_of[traffic.destination[order]]
        listed["flits"] = traffic.flits[order]
        sources, first, counts = np.unique(traffic.source[order], return_index=True, return_counts=True)
        streams = np.zeros(sources.size, rec.STREAM)
        streams["router"], streams["rank"] = self.mesh.routers_of[sources], np.arange(sources.size)
        streams["index"] = first + len(self._state.listed)
        streams["count"] = streams["index"] + counts
        return streams, listed

    def _admit_job(
        self,
        job: Hashable,
        at: int,
        traffic: Traffic | Messages,
        streams: Any,
        listed: Any,
        io: int,
        expected: int,
        runs: int,
        waiting: int,
    ) -> None:
        tables, row = self._tables, self._tables.job_row()
        plans = traffic.phases if isinstance(traffic, Traffic) else (traffic,)
        lengths = [plan.flits for plan in plans]
        if isinstance(traffic, Traffic):
            lengths += [plan.last_flits for plan in traffic.phases]
        tables.make_room_for_flits(max(int(np.max(length)) for length in lengths))
        if listed is not None:
            tables.append("listed", listed)
        first, run = tables.take("streams", len(streams)), tables.take("phase_runs", runs)
        first_phase = tables.phase_row(traffic)
        streams["job"] = row
        self._state.streams[first : first + len(streams)] = streams
        self._waiting[row] = waiting
        tables.make_room_for_messages(sum(self._waiting.values()))
        if self.record:
            self._expected += expected
            tables.lengthen("deliveries", self._expected)
        entry = self._state.jobs[row]
        entry["status"], entry["due"], entry["start"] = rec.WAITING, at, at
        entry["first_stream"], entry["nodes"], entry["io_nodes"] = first, len(streams) - io, io
        entry["first_phase"], entry["phase"], entry["run"] = first_phase, -1, run
        entry["phases"] = len(traffic.phases) if isinstance(traffic, Traffic) else 1
        entry["repetitions"] = traffic.repeat if isinstance(traffic, Traffic) else 1
        entry["sequence"], entry["recorded"] = self._started, self.record
        self._names[row] = job
        self._kept[job] = row, run
        self._counters["due"] = min(self._counters["due"], at)
        self._started += 1

    def _collect_completed(self) -> list[Completion]:
        """Take completed jobs out of the tables."""
        jobs, done = self._state.jobs, []
        for row in np.flatnonzero(jobs["status"] == rec.FINISHED).tolist():
            entry = dict(zip(rec.JOB.names or (), jobs[row].item(), strict=True))
            job = self._names.pop(row)
            del self._waiting[row]
            _, first_run = self._kept.pop(job)
            runs = entry["phases"] * entry["repetitions"]
            kinds = self._state.phases["kind"][entry["first_phase"] :]
            times = self._state.phase_runs[first_run : first_run + runs].tolist()
            phases = tuple(
                (_NAMES[int(kinds[run % entry["phases"]])], begin, end)
                for run, (begin, end) in enumerate(times)
            )
            n = max(entry["messages"], 1)
            done.append(
                Completion(
                    job=job,
                    start=entry["start"],
                    finish=entry["finish"],
                    messages=entry["messages"],
                    flits=entry["volume"],
                    mean_latency=entry["latency"] / n,
                    mean_network_latency=entry["network"] / n,
                    mean_blocking=entry["blocking"] / n,
                    longest_latency=entry["longest"],
                    mean_hops=entry["hops"] / n,
                    phases=phases,
                )
            )
            size = entry["nodes"] + entry["io_nodes"]
            self._tables.give_back("streams", entry["first_stream"], size)
            self._tables.give_back("phase_runs", first_run, runs)
            jobs[row] = np.zeros((), rec.JOB)
        return done


def _disk_of(mesh: Mesh, disks: ArrayLike | None) -> Ints:
    """Return which disk stands behind each router, (routers,); 0 where there is none."""
    numbers = np.arange(mesh.io_nodes.size) if disks is None else np.asarray(disks)
    if numbers.shape != mesh.io_nodes.shape or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise ModelError(
            f"disks must be {mesh.io_nodes.size} whole numbers >= 0, one for each I/O node, got {disks!r:.60}"
        )
    disks_of_routers = np.zeros(mesh.routers, np.int64)
    disks_of_routers[mesh.routers_of[mesh.io_nodes]] = numbers
    return disks_of_routers
