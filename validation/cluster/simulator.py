"""One run of a cluster: a trace, a balancer, and what became of every job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, read_only
from phasefit.checks import real_number, real_vector
from qmodels.errors import ModelError
from qmodels.memory import check_memory, memory_limit
from qmodels.progress import Progress, no_progress
from validation.cluster._kernels import events, rules, state
from validation.cluster._kernels.state import ARRIVED, HEAD, RUNNING, Rules, State
from validation.cluster.balancing.base import AbstractBalancer, ClusterView, Job, checked_nodes, find_balancer
from validation.cluster.history import ClusterRun
from validation.cluster.node import Cluster, Node
from validation.cluster.trace import ClusterTrace

#: How far the mean number of tasks at a CPU or disk may move before those who share it are asked
#: again, relative to one more than that number.
TOLERANCE: Final = 1e-4
#: Events between two reports of progress.
_EVENTS: Final = 20_000
_NO_RULES: Final = Rules(False, False, False, False, False, False, 0.0, 0.0, 0)


def simulate_cluster(
    cluster: Cluster,
    trace: ClusterTrace,
    balancer: AbstractBalancer | str,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress = no_progress,
) -> ClusterRun:
    """Run all jobs of a trace to their end.

    Parameters
    ----------
    cluster : Cluster
    trace : ClusterTrace
    balancer : AbstractBalancer or str
        Or its name in `BALANCERS`, or "module:Class".
    tolerance : float
        Of the fluid state, between two events; see Notes.
    progress : callable

    Returns
    -------
    ClusterRun

    Raises
    ------
    ModelError
        If a job cannot run on the cluster, the tables would not fit into memory, or a balancer of
        one's own gives an answer that is none.

    Notes
    -----
    Nothing is drawn here. Between two events (a job comes, ends, or thaws after a migration) every
    task gets on at a steady pace: for each CPU-second it spends (1 + C') / speed at the CPU and
    D (1 + A') at the disk, where C' and A' are the mean numbers of the other tasks there and D is
    its demand for the disk, page faults included. All tasks of a parallel job go at the pace of the
    one that is the slowest at a barrier, by its node or by chance: of what they take between two
    barriers the mean of the largest is charged, see `Cluster.access_dispersion`. These equations
    are Schweitzer's and Bard's approximation of mean value analysis [1]_ for classes of one task
    each. They are solved by asking, one after the other, those jobs for whom something has changed
    by more than the tolerance.

    References
    ----------
    .. [1] P. J. Schweitzer, "Approximate analysis of multiclass closed networks of queues", *Proc.
       Int. Conf. on Stochastic Control and Optimization*, Amsterdam 1979; Y. Bard, *Proc. 4th Int.
       Symp. on Modelling and Performance Evaluation of Computer Systems*, Vienna 1979.

    Examples
    --------
    A job that has two nodes to itself takes as long as it would alone:

    >>> trace = ClusterTrace(arrivals=[0.0], homes=[0], tasks=[1], demands=[2.0], memory=[64.0])
    >>> run = simulate_cluster(Cluster.of(2), trace, "NLB")
    >>> run.slowdown.tolist(), run.finish.tolist()
    ([1.0], [2.0])
    """
    found = find_balancer(balancer)
    tolerance = real_number("tolerance", tolerance, above=0.0)
    if not isinstance(cluster, Cluster) or not isinstance(trace, ClusterTrace):
        raise ModelError("give a Cluster, a ClusterTrace and a balancer")
    trace.fits(cluster)
    s = _tables(cluster, trace, tolerance)
    compiled = found.rules()
    while True:
        code = events.advance(s, _NO_RULES if compiled is None else compiled, compiled is None, _EVENTS)
        progress("jobs", int((s.jobs["status"] == state.DONE).sum()), trace.jobs)
        if code == events.OVER:
            break
        if code == events.DECISION:
            _decide(s, found)
    return ClusterRun.of(cluster, trace, found.name, s)


def fluid_paces(disk: ArrayLike, *, tolerance: float = 1e-10) -> Array:
    """How fast tasks get on that share one node, as the fluid model has it.

    Parameters
    ----------
    disk : (n,) array_like
        Seconds of disk that each needs for a CPU-second, >= 0.
    tolerance : float
        See `simulate_cluster`.

    Returns
    -------
    (n,) ndarray
        CPU-seconds of each in a second; `qmodels.networks.shared_node_paces` has them exactly.

    Examples
    --------
    >>> fluid_paces([0.0, 1.0]).round(4)  # exactly 2/3 and 1/3
    array([0.6   , 0.3333])
    """
    need = np.asarray(real_vector("disk", disk))
    n = need.size
    node = Node(access=1.0, disk_rate=1e12)
    trace = ClusterTrace(
        arrivals=np.zeros(n),
        homes=np.zeros(n),
        tasks=np.ones(n),
        demands=np.full(n, 1e9),
        memory=np.zeros(n),
        io_rates=need,
    )
    s = _tables(Cluster.of(1, node), trace, tolerance)
    events.advance(s, _NO_RULES, False, n)
    paces: Array = s.jobs["pace"].copy()
    return paces


def _decide(s: State, balancer: AbstractBalancer) -> None:
    """Ask a balancer of one's own about the jobs that wait, in their order."""
    while s.counts[HEAD] < s.counts[ARRIVED]:
        job = job_of(s, int(s.counts[HEAD]))
        answer = checked_nodes(balancer.place(view_of(s), job), job, s.nodes.size, balancer.name)
        if answer is None:
            if not s.loads["tasks"].any():
                raise ModelError(
                    f"balancer {balancer.name}: `place` lets job {job.number} of {job.tasks} tasks "
                    f"wait although the cluster is empty, so that it would wait for ever"
                )
            return
        delay = 0.0
        for node, home in zip(answer.tolist(), job.default_nodes, strict=True):
            if node != home and not balancer.dedicated:
                delay = max(delay, rules.remote_cost(s, job.number, home, node))
        s.chosen[: answer.size] = answer
        events.admit(s, job.number, delay)
        for task, node in _moves(balancer, view_of(s), job):
            _move(s, task, node, balancer.name)


def _moves(balancer: AbstractBalancer, view: ClusterView, job: Job) -> Iterable[tuple[int, int]]:
    for one in balancer.moves(view, job):
        try:
            task, node = one
        except (TypeError, ValueError):
            raise ModelError(
                f"balancer {balancer.name}: `moves` gave {one!r:.60}; give Move(task, node)"
            ) from None
        yield int(task), int(node)


def _move(s: State, task: int, node: int, name: str) -> None:
    """Move a task that a balancer of one's own named, if it may move there."""
    said = f"balancer {name}: `moves` gave Move(task={task}, node={node})"
    if not (0 <= task < s.tasks.size and 0 <= node < s.nodes.size):
        raise ModelError(f"{said}, but there is no such task or node")
    number = int(s.tasks[task].job)
    job = s.jobs[number]
    if job.status != RUNNING or job.cool > s.clocks[state.NOW]:
        raise ModelError(f"{said}, but the task is not running, or was moved a short while ago")
    if node in s.tasks["node"][s.first[number] : s.first[number + 1]]:
        raise ModelError(f"{said}, but a task of that job is there already")
    here = int(s.tasks[task].node)
    left = job.left - job.pace * (s.clocks[state.NOW] - job.since)
    age = float(job.demand - max(left, 0.0))
    events.move(s, task, node, rules.preemption_cost(s, number, age, here, node))


def job_of(s: State, number: int) -> Job:
    """A job as balancers see it."""
    first, last = int(s.first[number]), int(s.first[number + 1])
    job = s.jobs[number]
    return Job(
        number=number,
        default_nodes=tuple(s.tasks["origin"][first:last].tolist()),
        cpu=float(s.guess if s.by_age else job.demand),
        memory=float(job.memory),
        io_rate=float(job.io_rate) / 1000.0,
        initial=float(job.initial),
    )


def view_of(s: State) -> ClusterView:
    """A cluster as balancers see it."""

    def kept(column: Any) -> Any:
        copy = np.array(column)
        return read_only(copy)

    return ClusterView(
        float(s.clocks[state.NOW]),
        kept(s.seen["tasks"]),
        kept(s.seen["memory"]),
        kept(s.nodes["ram"]),
        kept(s.seen["io"] / 1000.0),
        kept(s.seen["cpu"]),
        kept(s.seen["disk"]),
        kept(s.nodes["speed"]),
        kept(s.loads["tasks"]),
        s,
    )


def _tables(cluster: Cluster, trace: ClusterTrace, tolerance: float) -> State:
    """The tables of a run that has not begun."""
    n, k = trace.jobs, len(cluster.nodes)
    sizes = np.asarray(trace.tasks)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    m = int(first[-1])
    bytes_needed = 400.0 * n + 100.0 * m + 8.0 * k * (k + 3 * state.BINS + 40)
    check_memory(f"{n:,} jobs on {k:,} nodes", bytes_needed, memory_limit(), "take fewer jobs or nodes")
    jobs = _record_table(n, state.JOB, _job_columns(trace))
    job = np.repeat(np.arange(n), sizes)
    origin = (jobs["home"][job] + np.arange(m) - first[job]) % k
    nobody = state.NOBODY
    tasks = _record_table(m, state.TASK, {"job": job, "origin": origin, "node": nobody, "began": nobody})
    nodes = _record_table(
        k,
        state.NODE,
        {
            "head": nobody,
            "speed": cluster.column("speed"),
            "ram": cluster.column("memory"),
            "access": cluster.column("access") / 1000.0,
            "rate": cluster.column("disk_rate"),
            "fault": cluster.column("fault") / 1000.0,
            "net": cluster.column("link"),
            "bandwidth": cluster.column("bandwidth"),
        },
    )
    loads = np.zeros(k, state.LOAD)
    clocks = np.zeros(state.CLOCKS)
    last_arrival, longest = float(jobs["arrival"][-1]), float(jobs["demand"].max())
    clocks[state.WIDTH] = max(last_arrival, longest) / (state.BINS / 2)
    clocks[state.BROADCAST] = -1.0
    return State(
        sync=cluster.sync,
        barrier=cluster.barrier / 1000.0,
        dispersion=cluster.access_dispersion,
        remote_cost=cluster.remote_cost,
        preemption_cost=cluster.preemption_cost,
        period=cluster.broadcast,
        by_age=not cluster.remaining_known,
        guess=float(np.average(jobs["demand"], weights=sizes)),
        tolerance=tolerance,
        jobs=jobs,
        tasks=tasks,
        nodes=nodes,
        loads=loads,
        seen=loads.copy() if cluster.broadcast > 0.0 else loads,
        first=first,
        spent=np.zeros((n, 5)),
        active=np.zeros(n, np.int64),
        queue=np.zeros(n, np.int64),
        touched=np.zeros(k, np.int64),
        busy=np.zeros((k, 2)),
        integral=np.zeros((k, 3)),
        line=np.zeros((state.BINS, k, 3)),
        matrix=np.zeros((k, k), np.int64),
        chosen=np.zeros(k, np.int64),
        listing=np.zeros(k, np.int64),
        waiting=np.zeros(k, np.int64),
        counts=np.zeros(state.COUNTS, np.int64),
        clocks=clocks,
    )


def _record_table(rows: int, kind: Any, columns: dict[str, Any]) -> Any:
    """A table of records, zero but for the columns given."""
    table = np.zeros(rows, kind)
    for name, column in columns.items():
        table[name] = column
    return table


def _job_columns(trace: ClusterTrace) -> dict[str, Any]:
    """What the kernels know of the jobs; rates per CPU-second."""
    return {
        "home": trace.homes,
        "arrival": trace.arrivals,
        "demand": trace.demands,
        "left": trace.demands,
        "memory": trace.memory,
        "io_rate": 1000.0 * np.asarray(trace.io_rates),
        "request": trace.requests,
        "initial": trace.initial,
        "writes": trace.writes,
        "reaccess": trace.reaccess,
        "fault_rate": 1000.0 * np.asarray(trace.fault_rates),
        "start": np.nan,
        "finish": np.nan,
    }
