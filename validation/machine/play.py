"""`play`: one run of a machine over one stream of jobs."""

from __future__ import annotations

from bisect import insort
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.allocation import AbstractStrategy, Request, job_balance, nodes_affected
from validation.allocation.metrics import system_balance
from validation.analysis.seeding import stream as random_stream
from validation.analysis.seeding import word
from validation.jobs import JobStream
from validation.machine.disciplines import AbstractDiscipline, Situation, Waiting
from validation.machine.history import History
from validation.machine.links import AbstractLinks, Ended, links
from validation.machine.machine import Machine

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

#: What the streams below a run's seed are for: the strategy's draws, the messages.
_STRATEGY, _MESSAGES = 0, 1


def play(
    machine: Machine, jobs: JobStream, *, seed: int = 0, completions: int | None = None
) -> History:
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
        assert isinstance(machine.strategy, AbstractStrategy)
        assert isinstance(machine.discipline, AbstractDiscipline)
        self.machine, self.links, self.discipline = machine, network, machine.discipline
        self.strategy = machine.strategy.fresh(rng)
        self.mesh, self.empty = replace(machine.mesh), replace(machine.mesh)
        self.flat = machine.mesh.depth == 1
        self.possible: dict[tuple[int, tuple[int, ...] | None], bool] = {}
        n = jobs.jobs
        self.arrival = np.ceil(jobs.arrivals) if machine.network == "worm" else jobs.arrivals
        self.size, self.shapes = jobs.sizes, jobs.shapes
        self.demand, self.work, self.estimate = _needs(machine, jobs)
        self.start, self.finish = np.full(n, np.nan), np.full(n, np.nan)
        self.latency, self.network_latency = np.zeros(n), np.zeros(n)
        self.blocking, self.messages = np.zeros(n), np.zeros(n, np.int64)
        self.affected, self.balance = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.rejected = np.zeros(n, bool)
        self.nodes: list[Ints] = [np.zeros(0, np.int64)] * n
        self.queue: list[tuple[float, int, Waiting]] = []
        self.running: dict[int, tuple[float, int]] = {}  # expected end and nodes, by job
        self.busy_time = self.balance_time = self.queue_time = 0.0
        self.last = float(self.arrival[0])
        self.skew = 0

    def until(self, stop: int) -> None:
        """Run until so many jobs have ended or none is left."""
        times = self.arrival.tolist()
        n, come, ended = len(times), 0, 0
        while ended < stop and (come < n or self.running):
            done = self.links.advance(times[come] if come < n else None)
            now = self.links.clock
            self._pass_to(now)
            for end in done:
                self._leave(end, now)
            ended += len(done)
            if ended >= stop:
                return
            if not done:
                while come < n and times[come] <= now:
                    self._come(come)
                    come += 1
            self._dispatch(now)
        if self.queue and come == n and ended < stop:
            raise ModelError(
                f"strategy {self.strategy.name} leaves {len(self.queue)} jobs waiting on an empty "
                f"mesh, though it gave each of them a place when it was asked; see check_strategy"
            )

    def _pass_to(self, now: float) -> None:
        """Time goes on: integrate what lasts."""
        span = now - self.last
        if span > 0:
            self.busy_time += span * (self.mesh.nodes - self.mesh.free)
            self.balance_time += span * self.skew
            self.queue_time += span * len(self.queue)
            self.last = now

    def _come(self, job: int) -> None:
        size = int(self.size[job])
        if not self._fits(self._request(job)):
            self.rejected[job] = True
            return
        waiting = Waiting(
            job, float(self.arrival[job]), size, float(self.work[job]), float(self.estimate[job])
        )
        insort(self.queue, (self.discipline.key(waiting), job, waiting))

    def _fits(self, request: Request) -> bool:
        """Whether the empty machine could give this."""
        if request.size > self.mesh.nodes:
            return False
        key = request.size, request.shape
        if key not in self.possible:
            self.possible[key] = self.strategy.kind == "exact" or (
                self.strategy.choose(self.empty, request) is not None
            )
        return self.possible[key]

    def _request(self, job: int) -> Request:
        shape = None if self.shapes is None else self.shapes[job]
        return Request(int(self.size[job]), shape)

    def _dispatch(self, now: float) -> None:
        """Start whatever may start now."""
        while self.queue:
            entry = self.queue[0]
            if self._try(entry[2].number, now):
                del self.queue[0]
                continue
            if not self._pass_by(entry[2], now):
                return

    def _pass_by(self, head: Waiting, now: float) -> bool:
        """Start one job that may pass the head of the queue, if there is one."""
        situation = Situation(now, self.mesh.free, list(self.running.values()))
        others = (waiting for _, _, waiting in self.queue[1:])
        for waiting in self.discipline.passers(head, others, situation):
            if self._try(waiting.number, now):
                self.queue.remove((self.discipline.key(waiting), waiting.number, waiting))
                return True
        return False

    def _try(self, job: int, now: float) -> bool:
        nodes = self.strategy.choose(self.mesh, self._request(job))
        if nodes is None:
            return False
        self.mesh.occupy(job, nodes)
        held = self.nodes[job] = self.mesh.jobs[job]
        self.start[job] = now
        self.affected[job] = nodes_affected(self.mesh, held)
        if self.flat:
            self.balance[job] = job_balance(self.mesh, held)
            self.skew = system_balance(self.mesh)
        self.running[job] = now + float(self.estimate[job]), held.size
        self.links.start(job, held, int(self.size[job]), float(self.demand[job]))
        return True

    def _leave(self, end: Ended, now: float) -> None:
        job = end.number
        self.mesh.release(job)
        del self.running[job]
        self.finish[job] = now
        if self.flat:
            self.skew = system_balance(self.mesh)
        self.messages[job], self.latency[job] = end.messages, end.mean_latency
        self.network_latency[job] = end.mean_network_latency
        self.blocking[job] = end.mean_blocking

    def history(self) -> History:
        """What happened."""
        columns = {
            name: getattr(self, name)
            for name in (
                "arrival", "start", "finish", "size", "rejected", "messages", "latency",
                "network_latency", "blocking", "affected", "balance",
            )
        }  # fmt: skip
        for column in columns.values():
            column.flags.writeable = False
        return History(
            mesh=self.empty,
            label=self.machine.label,
            unit="s" if self.machine.network == "none" else "cycles",
            nodes=tuple(self.nodes),
            busy_time=self.busy_time,
            balance_time=self.balance_time,
            queue_time=self.queue_time,
            end=self.last,
            **columns,
        )


def _needs(machine: Machine, jobs: JobStream) -> tuple[Array, Array, Array]:
    """What scales each job's stay, what "shortest demand" sorts by, and what its user expects."""
    n, given = jobs.jobs, jobs.demands
    if machine.network == "none":
        if given is None:
            raise ModelError(
                "with network 'none' a job holds its nodes for its demand, and the stream has "
                "none; give demands, or network 'worm'"
            )
        return given, given, given if jobs.estimates is None else jobs.estimates
    assert isinstance(machine.discipline, AbstractDiscipline)
    assert machine.traffic is not None
    relative = np.ones(n) if given is None else given / given.mean()
    if machine.discipline.needs == "":
        return relative, relative, np.zeros(n)
    # What jobs will send is known when they come; how long that takes is not.
    alone = np.array(
        [
            machine.traffic.alone(machine.mesh, min(size, machine.mesh.nodes), need)
            for size, need in zip(jobs.sizes.tolist(), relative.tolist(), strict=True)
        ]
    )
    if given is None:
        return relative, alone, alone
    estimates = given if jobs.estimates is None else jobs.estimates
    return relative, given, alone * (estimates / given)
