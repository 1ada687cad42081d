"""`play`: one run of a machine over one stream of jobs."""

from __future__ import annotations

from bisect import insort
from typing import NamedTuple

import numpy as np

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.allocation import Request, nodes_affected
from validation.allocation.base import answer
from validation.allocation.metrics import boxes_affected, halves
from validation.analysis.seeding import stream as random_stream
from validation.analysis.seeding import word
from validation.jobs import JobStream
from validation.jobs.disciplines import Situation, Waiting
from validation.machine.history import History
from validation.machine.links import AbstractLinks, Ended, links
from validation.machine.machine import Machine
from validation.mesh import Occupancy

#: What the streams below a run's seed are for: the strategy's draws, the messages.
_STRATEGY, _MESSAGES = 0, 1


def play(machine: Machine, jobs: JobStream, *, seed: int = 0, completions: int | None = None) -> History:
    """Let the jobs of a stream arrive at an empty machine, run, and leave.

    Parameters
    ----------
    machine : Machine
    jobs : JobStream
        Arrivals in cycles with a network (rounded up with "worm"), in any unit without.
    seed : int
        Of the messages and of strategies that draw. A job sends the same messages whatever the
        strategy and the discipline.
    completions : int, optional
        Stop when so many jobs have ended; by default when all have.

    Returns
    -------
    History

    Raises
    ------
    ModelError
        If the stream lacks what the machine must know of its jobs, or the strategy is not defined
        on the mesh.

    Notes
    -----
    Every job that a strategy accepts starts at once: admission is unrestricted. With a network,
    demands count relative to their mean; a job's run time is estimated by the time that its nodes
    need to send its messages, stretched as its user's estimate of its demand is. A job for which
    the empty machine would have no place is rejected on arrival. Of events at the same time, ends
    come after arrivals.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> two = JobStream(arrivals=[0.0, 1.0], sizes=[12, 8], demands=[10.0, 5.0])
    >>> run = play(Machine(mesh=Mesh(4, 4), strategy="MBS", network="none"), two)
    >>> run.start.tolist(), run.finish.tolist(), run.summary["utilisation"]
    ([0.0, 10.0], [10.0, 15.0], 0.6666666666666666)
    """
    seed = whole_number("seed", seed, least=0)
    stop = jobs.jobs
    if completions is not None:
        stop = min(stop, whole_number("completions", completions, least=1))
    # The length and the order of the words with which the published campaigns were run.
    messages = word(seed, _MESSAGES, bits=53, byteorder="big")
    run = _Run(machine, jobs, links(machine, messages), random_stream(seed, _STRATEGY))
    run.until(stop)
    return run.history()


class _Run:
    """The state of a run between two events."""

    def __init__(
        self, machine: Machine, jobs: JobStream, network: AbstractLinks, rng: np.random.Generator
    ) -> None:
        self.machine, self.links, self.discipline = machine, network, machine.discipline
        self.strategy = machine.strategy.fresh(rng)
        self.mesh, self.occupancy = machine.mesh, Occupancy(machine.mesh)
        self.is_flat = machine.mesh.depth == 1
        self.placeable: dict[tuple[int, tuple[int, ...] | None], bool] = {}
        n = jobs.jobs
        self.arrival = np.ceil(jobs.arrivals) if machine.network == "worm" else jobs.arrivals
        self.size, self.shapes = jobs.sizes, jobs.shapes
        self.needs = _needs(machine, jobs)
        self.start, self.finish = np.full(n, np.nan), np.full(n, np.nan)
        self.latency, self.network_latency = np.zeros(n), np.zeros(n)
        self.blocking, self.messages = np.zeros(n), np.zeros(n, np.int64)
        self.rejected = np.zeros(n, bool)
        self.nodes: list[Ints] = [np.zeros(0, np.int64)] * n
        self.queue: list[tuple[float, int, Waiting]] = []
        self.running: dict[int, tuple[float, int]] = {}  # expected end and nodes, by job
        self.busy_time = self.balance_time = self.queue_time = 0.0
        self.integrated_to = float(self.arrival[0])
        #: Nodes above less those below the middle I/O link, of each job and of all that run; what
        #: `job_balance` and `system_balance` say is their size.
        self.above = np.zeros(n, np.int64)
        self.all_above = 0
        self.halves = halves(machine.mesh) if self.is_flat else np.zeros(machine.mesh.nodes, np.int64)

    def until(self, stop: int) -> None:
        """Run until so many jobs have ended or none is left."""
        times = self.arrival.tolist()
        n, arrived, ended = len(times), 0, 0
        while ended < stop and (arrived < n or self.running):
            done = self.links.advance(times[arrived] if arrived < n else None)
            now = self.links.clock
            self._integrate_to(now)
            for end in done:
                self._depart(end, now)
            ended += len(done)
            if ended >= stop:
                return
            if not done:
                while arrived < n and times[arrived] <= now:
                    self._arrive(arrived)
                    arrived += 1
            self._dispatch(now)
        if self.queue and arrived == n and ended < stop:
            raise ModelError(
                f"strategy {self.strategy.name} leaves {len(self.queue)} jobs waiting on an empty "
                f"mesh, though it gave each of them a place when it was asked; see check_strategy"
            )

    def _integrate_to(self, now: float) -> None:
        """Add what held since the last event to the integrals over time."""
        span = now - self.integrated_to
        if span > 0:
            self.busy_time += span * (self.mesh.nodes - self.occupancy.free)
            self.balance_time += span * abs(self.all_above)
            self.queue_time += span * len(self.queue)
            self.integrated_to = now

    def _arrive(self, job: int) -> None:
        """Put a job into the queue, or reject it if it could not even run alone."""
        if not self._can_run_alone(job):
            self.rejected[job] = True
            return
        waiting = Waiting(
            job,
            float(self.arrival[job]),
            int(self.size[job]),
            float(self.needs.sorting_demand[job]),
            float(self.needs.estimate[job]),
        )
        insort(self.queue, (self.discipline.key(waiting), job, waiting))

    def _can_run_alone(self, job: int) -> bool:
        """Whether the strategy has a place for a job on the empty mesh."""
        request = self._request(job)
        if request.size > self.mesh.nodes:
            return False
        key = request.size, request.shape
        if key not in self.placeable:
            self.placeable[key] = self.strategy.kind == "exact" or (
                self._answer(Occupancy(self.mesh), job) is not None
            )
        return self.placeable[key]

    def _request(self, job: int) -> Request:
        shape = None if self.shapes is None else self.shapes[job]
        return Request(int(self.size[job]), shape)

    def _answer(self, occupancy: Occupancy, job: int) -> Ints | None:
        """The nodes that the strategy chooses for a job; its faults name the job as well."""
        try:
            return answer(self.strategy, occupancy, self._request(job))
        except ModelError as error:
            raise ModelError(f"job {job}: {error}") from error

    def _dispatch(self, now: float) -> None:
        """Start every job that may start now: from the head of the queue, then past it."""
        passed = 0
        while self.queue:
            _, _, head = self.queue[0]
            if self._try_to_start(head.number, now):
                del self.queue[0]
                passed = 0
                continue
            if not self._backfill(head, now, passed):
                return
            passed += 1

    def _backfill(self, head: Waiting, now: float, passed: int) -> bool:
        """Start one job that may pass the head of the queue; returns whether there was one."""
        situation = Situation(now, self.occupancy.free, list(self.running.values()), passed)
        others = (waiting for _, _, waiting in self.queue[1:])
        for waiting in self.discipline.passers(head, others, situation):
            if self._try_to_start(waiting.number, now):
                self.queue.remove((self.discipline.key(waiting), waiting.number, waiting))
                return True
        return False

    def _try_to_start(self, job: int, now: float) -> bool:
        """Start a waiting job if the strategy finds nodes for it; returns whether it did."""
        nodes = self._answer(self.occupancy, job)
        if nodes is None:
            return False
        try:
            self.occupancy.occupy(job, nodes)
        except ModelError as error:
            raise ModelError(f"job {job}: strategy {self.strategy.name}: {error}") from error
        held = self.nodes[job] = self.occupancy.jobs[job]
        self.start[job] = now
        above = self.above[job] = int(self.halves[held].sum())
        self.all_above += above
        self.running[job] = now + float(self.needs.estimate[job]), held.size
        self.links.start(job, held, int(self.size[job]), float(self.needs.demand[job]))
        return True

    def _depart(self, end: Ended, now: float) -> None:
        """Take the nodes of a job that has ended back, and note what its messages went through."""
        job = end.number
        self.occupancy.release(job)
        del self.running[job]
        self.finish[job] = now
        self.all_above -= int(self.above[job])
        self.messages[job], self.latency[job] = end.messages, end.mean_latency
        self.network_latency[job] = end.mean_network_latency
        self.blocking[job] = end.mean_blocking

    def _affected(self) -> Ints:
        """`nodes_affected` of every job, 0 where it did not start."""
        found = np.zeros(self.arrival.size, np.int64)
        started = [job for job, held in enumerate(self.nodes) if held.size]
        if self.mesh.torus:
            found[started] = [nodes_affected(self.mesh, self.nodes[job]) for job in started]
        elif started:
            found[started] = boxes_affected(self.mesh, [self.nodes[job] for job in started])
        return found

    def history(self) -> History:
        """What happened."""
        columns = {
            name: getattr(self, name)
            for name in (
                "arrival",
                "start",
                "finish",
                "size",
                "rejected",
                "messages",
                "latency",
                "network_latency",
                "blocking",
            )
        }
        columns |= {"affected": self._affected(), "balance": np.abs(self.above)}
        return History(
            mesh=self.mesh,
            label=self.machine.label,
            unit="s" if self.machine.network == "none" else "cycles",
            nodes=tuple(self.nodes),
            busy_time=self.busy_time,
            balance_time=self.balance_time,
            queue_time=self.queue_time,
            end=self.integrated_to,
            **{name: read_only(column) for name, column in columns.items()},
        )


class _Needs(NamedTuple):
    """What is known of every job when it arrives, (jobs,) each."""

    demand: Array  #: what decides how long it stays: seconds without a network, else relative to 1
    sorting_demand: Array  #: what disciplines that ask for the demand sort by
    estimate: Array  #: how long its user expects it to run


def _needs(machine: Machine, jobs: JobStream) -> _Needs:
    """Demands and estimates of the jobs; ModelError where the stream lacks what is needed."""
    n, given, traffic = jobs.jobs, jobs.demands, machine.traffic
    if traffic is None:
        if given is None:
            raise ModelError(
                "with network 'none' a job holds its nodes for its demand, and the stream has "
                "none; give demands, or network 'worm'"
            )
        return _Needs(given, given, given if jobs.estimates is None else jobs.estimates)
    relative = np.ones(n) if given is None else given / given.mean()
    if machine.discipline.needs == "":
        return _Needs(relative, relative, np.zeros(n))
    # What jobs will send is known when they come; how long that takes is not.
    alone = np.array(
        [
            traffic.alone(machine.mesh, min(size, machine.mesh.nodes), need)
            for size, need in zip(jobs.sizes.tolist(), relative.tolist(), strict=True)
        ]
    )
    if given is None:
        return _Needs(relative, alone, alone)
    estimates = given if jobs.estimates is None else jobs.estimates
    return _Needs(relative, given, alone * (estimates / given))
