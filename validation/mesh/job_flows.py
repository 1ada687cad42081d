"""`FlowNetwork`: jobs that come and go, every phase of a job one flow through its channels."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Ints
from phasefit.checks import instance_of, real_number, whole_number
from qmodels.errors import ModelError
from validation.mesh._kernels import flows
from validation.mesh.flow_table import FlowTable, PhaseLoads
from validation.mesh.results import Completion
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.traffic import (
    Traffic,
    TrafficPhase,
    count_messages,
    phase_rows,
    refuse_taken_name,
    stream_rows,
)

#: No flow goes on beyond this cycle; a float still tells quarters of a cycle there.
LAST_TIME = float(1 << 50)
_MOST_MESSAGES, _MOST_JOBS = 1 << 39, 1 << 21
_DRAWING = ("random", "mixed")  # patterns that send something else in every round


class FlowNetwork:
    """A mesh on which the phases of jobs share channels as flows; faster and rougher than worms.

    Parameters
    ----------
    mesh : Mesh
        Which nodes are busy plays no part: jobs may share nodes.
    router : Router
        By default the ideal one. Which header is served first plays no part.
    disk_pace : float
        Cycles that an I/O node needs for each flit, written or read; at least 1.
    seed : int
        Root of all randomness; `Network` draws the same messages.

    Raises
    ------
    ModelError
        If an argument is out of range.

    Notes
    -----
    All messages of one phase of a job are one flow. A worm that never waits for others holds
    channel k of its route from the grant until its tail has left the channel and the router has
    released it, with the times of `Network`: its length under the ideal router, more where
    routers take time over headers or where a slow disk keeps the whole worm waiting. Added over
    the messages, that is how long the phase holds each channel, and the busiest one gives the
    flow's speed alone. What holds no channel, the way of the first header to it and of the last
    message from it, comes after the flow has ended and is nobody's to share. A job alone thus takes
    the largest lower bound, over the channels, of its time under `Network` with the same router,
    and never less than `link_load` says of a mesh. (The virtual channels of a torus are links of
    their own to it, not sharers of a wire, so a busy torus comes out faster still. Where disks are
    slow it may take longer than its worms, by the last flit of each message, for which the disks of
    `Network` need only one cycle.)

    Flows share channels max-min fairly in relation to their speed alone: all speeds grow alike
    until a channel is full, flows through it stay, the others grow on [1]_. They change when the
    messages of a phase begin or end, so a phase costs the same whether its messages are long or
    short, and with most patterns whether its rounds are few or many.

    What this leaves out: worms that wait keep channels from others and use nothing there. Jobs come
    out too fast, alone by a third and in company by more, and once worms are saturated, at two
    thirds of what the channels could carry, response times say nothing any more; see
    ``docs/explanation/mesh-fidelity.md``. Message latencies are rough: every source of a phase is
    taken to be at work until the phase ends.

    References
    ----------
    .. [1] D. Bertsekas, R. Gallager, *Data Networks*, 2nd ed., Prentice Hall 1992, sec. 6.5.2.

    Examples
    --------
    >>> mesh = Mesh(1, 4)
    >>> network = FlowNetwork(mesh)
    >>> plan = Traffic.of(TrafficPhase(pattern="one-to-all", flits=100))
    >>> network.start("a", [0, 2], plan)
    >>> network.start("b", [1, 3], plan, time=50)
    >>> [(done.job, done.finish) for _ in range(2) for done in network.advance()]
    [('a', 153.0), ('b', 203.0)]
    """

    def __init__(
        self,
        mesh: Mesh,
        router: Router | None = None,
        *,
        disk_pace: float = 1.0,
        seed: int = 0,
    ) -> None:
        instance_of("mesh", mesh, Mesh)
        router = Router() if router is None else router
        instance_of("router", router, Router)
        pace = real_number("disk_pace", disk_pace, least=1.0)
        if pace > 1e6:
            raise ModelError(f"disk_pace must be <= 1e6 cycles per flit, got {pace:.6g}")
        self.mesh, self.router = mesh, router
        self.disk_pace, self.seed = pace, whole_number("seed", seed, least=0)
        paces = np.ones((mesh.routers, 2))
        paces[mesh.routers_of[mesh.io_nodes]] = pace
        longest = 2 + mesh.rows + mesh.columns + mesh.depth
        place = flows.Place(
            timing=router.timing,
            grid=mesh.grid,
            paces=paces,
            way=np.zeros(longest, np.int64),
            holds=np.zeros((2, longest)),
            work=np.zeros(mesh.channels, flows.WORK),
            fresh=np.zeros(mesh.channels, np.int64),
        )
        self._place = tuple(tuple(x) if isinstance(x, tuple) else x for x in place)
        self._found = flows.Loads(
            channels=np.zeros(mesh.channels, np.int64),
            held=np.zeros(mesh.channels),
            carried=np.zeros(mesh.channels, np.int64),
            sums=np.zeros(1, flows.SUMS),
        )
        self._flows = FlowTable(mesh.channels)
        self._flits = np.zeros(mesh.channels, np.int64)
        self._clock, self._soonest = 0.0, inf
        self._due: list[tuple[float, int]] = []  # when a job that does not flow goes on
        self._by_number: dict[int, _Job] = {}
        self._jobs: dict[Hashable, _Job] = {}
        self._started = 0

    @property
    def clock(self) -> float:
        """Now, in cycles."""
        return self._clock

    @property
    def jobs(self) -> tuple[Hashable, ...]:
        """Those started, or to be started, and not complete."""
        return tuple(self._jobs)

    @property
    def channel_flits(self) -> Ints:
        """Flits that each channel, (channels,), carried in phases whose flow is over."""
        return self._flits.copy()

    def start(
        self,
        job: Hashable,
        nodes: ArrayLike,
        traffic: Traffic,
        time: float | None = None,
        draw: int | None = None,
    ) -> None:
        """Begin a job's traffic at a time, by default now.

        Parameters
        ----------
        job : hashable
            Its name, which no unfinished job may have.
        nodes : (n,) array_like of int
            Its nodes, in the order of their ranks.
        traffic : Traffic
            What it sends.
        time : float
            Cycles, not before `clock`.
        draw : int
            Which random sequence its traffic takes, by default the number of jobs started before.

        Raises
        ------
        ModelError
            If the job cannot be started; the network has not changed then.
        """
        refuse_taken_name(job, self._jobs)
        at = self._clock if time is None else real_number("time", time, least=self._clock)
        if at > LAST_TIME:
            raise ModelError(f"time must be <= {LAST_TIME:.6g}, got {at:.6g}")
        drawn = self._started if draw is None else whole_number("draw", draw, least=0)
        if not isinstance(traffic, Traffic):
            raise ModelError(
                f"traffic must be Traffic, got {traffic!r:.60}; lists of messages are for worms: use Network"
            )
        try:
            members = self.mesh.checked_nodes(nodes)
        except ValueError as error:
            raise ModelError(f"nodes must be a list of node numbers: {error}") from None
        io = self.mesh.io_nodes.size
        for phase in traffic.phases:
            phase.fits(members.size, io)
            if phase.interval:
                raise ModelError("flows have no messages with an interval; use Network, or interval=0")
            if phase.last_flits:
                raise ModelError("flows have messages of one length; use Network, or last_flits=0")
        expected = count_messages(traffic, members.size, io)
        if expected >= _MOST_MESSAGES:
            raise ModelError(f"traffic has {expected:.3g} messages; at most {_MOST_MESSAGES} count")
        if self._started >= _MOST_JOBS:
            raise ModelError(f"a network takes {_MOST_JOBS} jobs; make a new one")
        streams = stream_rows(self.mesh, members, seed=self.seed, job=drawn)
        entry = _Job(job, self._started, members.size, traffic, streams, at)
        self._jobs[job] = self._by_number[entry.number] = entry
        heapq.heappush(self._due, (at, entry.number))
        self._started += 1

    def advance(self, until: float | None = None) -> list[Completion]:
        """Run until the next job completes, or up to a time.

        Parameters
        ----------
        until : float
            The time to stop at, if no job completes before.

        Returns
        -------
        list of Completion
            The jobs that completed first, all at the same time, which `clock` then shows; empty
            when `until` came first or nothing is left to do. What happens at `until` itself is
            left for the next call.

        Raises
        ------
        ModelError
            If `until` is not such a time, or it is not given and no job ends before 2**50 cycles.
        """
        limit = LAST_TIME if until is None else real_number("until", until, least=self._clock)
        if limit > LAST_TIME:
            raise ModelError(f"until must be <= {LAST_TIME:.6g}, got {limit:.6g}")
        while True:
            now = min(self._soonest, self._due[0][0] if self._due else inf)
            if now >= limit:
                if until is not None:
                    self._clock = limit
                elif now < inf:
                    raise ModelError(f"no job ends before cycle {LAST_TIME:.6g}; give shorter ones")
                return []
            self._clock = now
            done = self._simulate_due(now)
            if done:
                return [_completion(job) for job in sorted(done, key=lambda job: job.number)]

    def _simulate_due(self, now: float) -> list[_Job]:
        """Let happen all that is due now; returns the jobs that are over."""
        over, changed = [], self._soonest <= now
        if changed:
            for slot in self._flows.ended(now):
                job = self._by_number[self._flows.leave(slot)]
                loads = job.loads
                assert loads is not None
                self._flits[loads.channels] += loads.carried
                job.count(loads, now + loads.flight - job.began)
                heapq.heappush(self._due, (now + loads.flight, job.number))
        while self._due and self._due[0][0] <= now:
            job = self._by_number[heapq.heappop(self._due)[1]]
            if self._start_next_step(job, now):
                over.append(job)
                del self._by_number[job.number], self._jobs[job.name]
            changed = changed or job.loads is not None
        if changed:
            self._soonest = self._flows.share_out(now)
        return over

    def _start_next_step(self, job: _Job, now: float) -> bool:
        """Take a job on to its next pause or its next messages. Returns whether it is over."""
        phases = job.traffic.phases
        while True:
            job.loads = None
            if not job.paused:
                job.run += 1
                if job.run > 0:
                    job.ends.append(now)
                if job.run == job.traffic.runs:
                    return True
                pause = phases[job.run % len(phases)].pause
                job.paused = True
                if pause:
                    heapq.heappush(self._due, (now + pause, job.number))
                    return False
            job.paused = False
            loads = self._loads_of(job, job.run % len(phases))
            if loads.channels.size:
                job.loads, job.began = loads, now
                self._flows.enter(job.number, loads)
                return False

    def _loads_of(self, job: _Job, number: int) -> PhaseLoads:
        """Return the demands of a phase of a job; the same in every run unless the pattern draws."""
        phase = job.traffic.phases[number]
        kept = job.known.get(phase)
        if kept is not None:
            return kept
        used = flows.phase_flow(
            job.streams,
            _rows(job.traffic),
            number,
            job.nodes,
            len(job.streams) - job.nodes,
            self._place,
            tuple(self._found),
        )
        loads = PhaseLoads.of(self._found, used)
        if phase.pattern not in _DRAWING and job.traffic.runs > 1:
            job.known[phase] = loads
        return loads


@dataclass(slots=True)
class _Job:
    """A job under way and what its messages have gone through."""

    name: Hashable
    number: int
    nodes: int
    traffic: Traffic
    streams: Any  # of `STREAM`
    start: float
    run: int = -1  # phase run
    paused: bool = False
    began: float = 0.0  # the messages of this run
    loads: PhaseLoads | None = None  # while they flow
    known: dict[TrafficPhase, PhaseLoads] = field(default_factory=dict)
    ends: list[float] = field(default_factory=list)  # of the phase runs
    messages: int = 0
    flits: int = 0
    hops: float = 0.0
    direct: float = 0.0  # sum of zero-load latencies
    latency: float = 0.0
    longest: float = 0.0

    def count(self, loads: PhaseLoads, took: float) -> None:
        """Add a phase run whose messages took so many cycles.

        Every source has one message after the other on its way for as long as that, and the next
        begins when the last has left its injection channel.
        """
        sums = loads.sums
        sent = int(sums.sent)
        self.messages += sent
        self.flits += sent * self.traffic.phases[self.run % len(self.traffic.phases)].flits
        self.hops += sums.hops
        self.direct += sums.direct
        self.latency += sums.senders * took + sums.beyond
        self.longest = max(self.longest, sums.longest * took + sums.farthest)


@lru_cache(maxsize=256)
def _rows(traffic: Traffic) -> Any:
    return phase_rows(traffic)


def _completion(job: _Job) -> Completion:
    n = max(job.messages, 1)
    phases = job.traffic.phases
    begins = [job.start, *job.ends[:-1]]
    latency = job.latency / n
    return Completion(
        job=job.name,
        start=job.start,
        finish=job.ends[-1],
        longest_latency=job.longest,
        phases=tuple(
            (phases[run % len(phases)].pattern, begin, end)
            for run, (begin, end) in enumerate(zip(begins, job.ends, strict=True))
        ),
        messages=job.messages,
        flits=job.flits,
        mean_latency=latency,
        mean_network_latency=latency,
        mean_blocking=max(latency - job.direct / n, 0.0),
        mean_hops=job.hops / n,
    )
