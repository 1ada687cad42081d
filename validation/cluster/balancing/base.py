"""What a balancer is: what it sees, what it answers, and the registry of all of them."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import check_fields, real_number, whole_number
from qmodels.errors import ModelError
from qmodels.registry import Registry
from validation.cluster._kernels import rules as rule_kernels
from validation.cluster._kernels.state import NOBODY, RUNNING, Rules, State


class Move(NamedTuple):
    """A running task that is to be moved."""

    task: int  #: its number, from `RunningTask`
    node: int  #: where to


@dataclass(frozen=True, eq=False)
class Job:
    """The job for which a balancer is asked. All of its tasks are alike."""

    number: int
    default_nodes: tuple[int, ...]  #: where its tasks go if nobody moves them, all different
    cpu: float  #: CPU-seconds of each task; what is expected where that is not known
    memory: float  #: MB of each task
    io_rate: float  #: disk accesses of each task for each CPU-millisecond
    initial: float  #: MB on disk that go with each task

    @property
    def tasks(self) -> int:
        """How many there are."""
        return len(self.default_nodes)


@dataclass(frozen=True, eq=False)
class RunningTask:
    """A task that runs at a node."""

    task: int
    job: int
    age: float  #: CPU-seconds that it has had
    left: float  #: CPU-seconds still to come; the age where that is not known
    memory: float  #: MB
    movable: bool  #: neither frozen nor moved a short while ago


@dataclass(frozen=True, eq=False)
class ClusterView:
    """What a balancer sees of a cluster: loads as they were last broadcast, none to be changed.

    Attributes
    ----------
    now : float
        Seconds.
    tasks : (nodes,) ndarray of int
        Tasks resident at each node, frozen ones too.
    memory : (nodes,) ndarray
        MB that they take together.
    capacity : (nodes,) ndarray
        MB that each node has.
    io_load : (nodes,) ndarray
        Disk accesses and page faults for each CPU-millisecond, summed over the tasks.
    at_cpu, at_disk : (nodes,) ndarray
        Mean numbers of tasks at the CPU and at the disk.
    speed : (nodes,) ndarray
        Of the CPUs.
    given : (nodes,) ndarray of int
        Tasks that each node was given and has not ended: whoever gives them knows, whatever was
        broadcast.
    """

    now: float
    tasks: Ints
    memory: Array
    capacity: Array
    io_load: Array
    at_cpu: Array
    at_disk: Array
    speed: Array
    given: Ints
    _state: State = field(repr=False)

    @property
    def nodes(self) -> int:
        """How many there are."""
        return int(self.tasks.size)

    def stretch(self, job: Job, node: int) -> float:
        """Seconds that a task of `job` would take at a node for each CPU-second, as loads are."""
        return float(rule_kernels.stretch(self._state, job.number, self._node(node)))

    def remote_cost(self, job: Job, here: int, there: int) -> float:
        """Seconds that it costs to start a task of `job` at `there` and not at `here`."""
        pair = self._node(here), self._node(there)
        return float(rule_kernels.remote_cost(self._state, job.number, *pair))

    def running(self, node: int) -> list[RunningTask]:
        """The tasks at a node."""
        s, found = self._state, []
        task = int(s.nodes[self._node(node)].head)
        while task != NOBODY:
            number = int(s.tasks[task].job)
            job = s.jobs[number]
            runs, left = job.status == RUNNING, float(job.left)
            if runs:
                left = max(left - float(job.pace * (self.now - job.since)), 0.0)
            age = float(job.demand) - left
            movable = bool(runs and job.cool <= self.now)
            found.append(
                RunningTask(task, number, age, age if s.by_age else left, float(job.memory), movable)
            )
            task = int(s.tasks[task].next)
        return found

    def gain(self, task: RunningTask, there: int) -> float:
        """Seconds that a running task gains by moving there now, its cost taken off."""
        s, job = self._state, task.job
        here = int(s.tasks[task.task].node)
        there = self._node(there)
        faster = rule_kernels.stretch_there(s, job, task.task) - rule_kernels.stretch(s, job, there)
        return float(task.left * faster - rule_kernels.preemption_cost(s, job, task.age, here, there))

    def siblings(self, job: int) -> Ints:
        """Nodes of the tasks of a running job."""
        s = self._state
        nodes: Ints = s.tasks["node"][s.first[job] : s.first[job + 1]].copy()
        return nodes

    def _node(self, node: int) -> int:
        number = whole_number("node", node, least=0)
        if number >= self.nodes:
            raise ModelError(f"nodes are numbered from 0 to {self.nodes - 1}, got {number}")
        return number


class AbstractBalancer(abc.ABC):
    """Which node of a cluster each task of a job goes to, and whether running ones move.

    A balancer has a `name` and implements `place`; it may implement `moves`. It keeps no state of
    its own: the same question has the same answer. The built-in ones are described by `Rules`,
    which a compiled loop carries out; a class of one's own leaves `rules` alone and is asked.
    """

    name: ClassVar[str]
    #: Whether nodes are given to one job at a time, and starting a job anywhere is free.
    dedicated: ClassVar[bool] = False

    def rules(self) -> Rules | None:
        """What a compiled loop is to do in its stead; None if it wants to be asked."""
        return None

    @abc.abstractmethod
    def place(self, view: ClusterView, job: Job) -> Sequence[int] | Ints | None:
        """Answer with a different node for each task of a job; None lets the job wait.

        A job that waits is asked for again whenever another ends, and holds up those behind it.
        An empty cluster may make nobody wait.
        """

    def moves(self, view: ClusterView, job: Job) -> Iterable[Move]:
        """Running tasks that are to move after `job` was placed; by default none."""
        return ()


@dataclass(frozen=True)
class RuleBalancer(AbstractBalancer):
    """A balancer by the three rules of the paper, or some of them.

    Parameters
    ----------
    io_threshold : float
        Accesses for each CPU-millisecond, summed over the tasks of a node, up to which it counts
        as one without I/O load.
    crowded : float
        Tasks from which on a node can be overloaded.
    rounds : int
        Tasks that may leave each default node of a job that comes, where running tasks move.

    Notes
    -----
    Rule 1, if a default node of the job has I/O load, orders nodes by I/O load, then memory. Rule
    2, if one would run out of memory, by memory. Rule 3, if one is overloaded by tasks (at least
    `crowded`, and more than the mean), by tasks. The job's nodes are to be the least loaded; a task
    whose default node is none of them goes to one that is less loaded if its response time there,
    the cost of going included, is shorter.
    """

    io_threshold: float = 0.05
    crowded: float = 4.0
    rounds: int = 4

    balances_io: ClassVar[bool] = False
    balances_memory: ClassVar[bool] = False
    balances_tasks: ClassVar[bool] = False
    informed: ClassVar[bool] = False
    preempts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self, real_number, "io_threshold", "crowded", least=0.0)
        check_fields(self, whole_number, "rounds", least=0)

    def rules(self) -> Rules:
        """See `AbstractBalancer.rules`."""
        return Rules(
            self.balances_io,
            self.balances_memory,
            self.balances_tasks,
            self.informed,
            self.preempts,
            self.dedicated,
            1000.0 * self.io_threshold,
            self.crowded,
            self.rounds,
        )

    def place(self, view: ClusterView, job: Job) -> Ints | None:
        """See `AbstractBalancer.place`."""
        if self.dedicated:
            free: Ints = np.flatnonzero(view.given == 0)[: job.tasks]
            return free if free.size == job.tasks else None
        s = view._state
        rule_kernels.choose_nodes(s, self.rules(), job.number)
        nodes: Ints = np.asarray(s.chosen[: job.tasks]).copy()
        return nodes

    def moves(self, view: ClusterView, job: Job) -> Iterable[Move]:
        """See `AbstractBalancer.moves`; each is decided after the one before was made."""
        if not self.preempts:
            return
        for node in job.default_nodes:
            for _ in range(self.rounds):
                task, there, _ = rule_kernels.whom_to_move(view._state, self.rules(), node)
                if task == NOBODY:
                    break
                yield Move(int(task), int(there))


#: All balancers by the name in which files and commands give them.
BALANCERS: Registry[AbstractBalancer] = Registry(AbstractBalancer, "balancer")
register, find_balancer = BALANCERS.register, BALANCERS.made


def checked_nodes(answer: Any, job: Job, nodes: int, name: str) -> Ints | None:
    """The answer of a balancer to `place`, if it is one.

    Raises
    ------
    ModelError
        If it is not one different node of the cluster for each task, or None.
    """
    if answer is None:
        return None
    given = np.asarray(answer)
    said = f"balancer {name}: `place` answered {answer!r:.60} for a job of {job.tasks} tasks"
    if given.ndim != 1 or given.size != job.tasks or given.dtype.kind not in "iu":
        raise ModelError(f"{said}; give a whole number for each task, or None to let it wait")
    if given.min() < 0 or given.max() >= nodes:
        raise ModelError(f"{said}; nodes are numbered from 0 to {nodes - 1}")
    if np.unique(given).size != given.size:
        raise ModelError(f"{said}; no two tasks of a job may share a node")
    return given.astype(np.int64)
