"""The contract of a balancer, run against a class: what it promises, whether it keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.analysis.promises import KeptPromises, same_answer
from validation.analysis.seeding import stream
from validation.cluster.balancing.base import AbstractBalancer, ClusterView, Job, Move, checked_nodes
from validation.cluster.node import Cluster, Node
from validation.cluster.simulator import simulate_cluster
from validation.cluster.synthetic import SyntheticTraces

PROMISES = {
    "made": "can be made without arguments, and runs",
    "nodes": "gives a different node of the cluster for each task, or None",
    "waiting": "lets no job wait while the cluster is empty",
    "repeatable": "answers the same question in the same way, made afresh too",
    "pure": "leaves what it sees as it was",
    "moves": "moves only tasks that may move, to nodes where their job has none",
}


@dataclass(frozen=True)
class BalancerCheck(KeptPromises):
    """What `check_balancer` found.

    Examples
    --------
    >>> from validation.cluster.balancing import CPUBased
    >>> check = check_balancer(CPUBased, jobs=20)
    >>> check.passed, check.failures
    (True, {})
    """

    promises: ClassVar[Mapping[str, str]] = PROMISES
    name: str  #: of the balancer
    questions: int  #: how many jobs it was asked about
    waits: int  #: how often it let one wait
    moves: int  #: running tasks that it moved
    clusters: tuple[str, ...]  #: on which it was tried
    failures: dict[str, str]  #: promise broken and the first case in which it was

    @property
    def heading(self) -> str:
        """See `KeptPromises.heading`."""
        return (
            f"{self.name}: {self.questions} questions on {', '.join(self.clusters)}; it let jobs "
            f"wait {self.waits} times and moved {self.moves} tasks"
        )


def check_balancer(
    balancer: type[AbstractBalancer] | Callable[[], AbstractBalancer],
    *,
    jobs: int = 120,
    seed: int = 0,
) -> BalancerCheck:
    """Run the contract of balancers against a class.

    Parameters
    ----------
    balancer : type or callable
        A subclass of `AbstractBalancer` that needs no arguments, or a function that makes one,
        such as ``partial(IOCMRE, crowded=6)``.
    jobs : int
        Of the trace on each cluster.
    seed : int
        Of these jobs.

    Returns
    -------
    BalancerCheck
        The promises, and for those broken the first case seen; an error raised by the balancer
        counts as a broken promise.

    Raises
    ------
    ModelError
        If `balancer` is no callable.

    Notes
    -----
    Traces of sequential and of parallel jobs, with little and much memory and I/O, on clusters of
    one node, of nodes that are alike and of nodes that differ, with loads that are current and
    with loads of a second ago. A pass is evidence, no proof.
    """
    jobs = whole_number("jobs", jobs, least=1)
    if not callable(balancer):
        raise ModelError(f"give a balancer class or a function that makes one, got {balancer!r:.60}")
    trial = _Trial()
    name = getattr(balancer, "name", None)
    try:
        made = balancer()
        if not isinstance(made, AbstractBalancer):
            raise ModelError(f"makes {type(made).__name__}, no AbstractBalancer")
        name = made.name
        if not isinstance(name, str):
            raise ModelError("lacks a name; give the class one, such as name = 'mine'")
    except Exception as error:  # whatever the user's class does when it is made
        trial.note("made", _said(error))
        return trial.result(name if isinstance(name, str) else repr(balancer)[:60])
    for label, cluster, traces in _cases(jobs):
        trial.clusters.append(label)
        trace = traces.draw(rng=stream(seed, "check", label))
        try:
            simulate_cluster(cluster, trace, _Probe(balancer, made, trial, label))
        except _Noted:
            pass
        except Exception as error:  # whatever the user's class does when it is asked
            trial.note("made", f"{label}: {_said(error)}")
    return trial.result(name)


def _cases(jobs: int) -> Iterable[tuple[str, Cluster, SyntheticTraces]]:
    mixed = Cluster([Node(), Node(speed=2.0, memory=1280.0), Node(disk_rate=20.0)] * 3)
    late = Cluster.of(6, broadcast=1.0, remaining_known=False)

    def traces(nodes: int, parallel: float, **options: Any) -> SyntheticTraces:
        return SyntheticTraces(jobs=jobs, nodes=nodes, parallel=parallel, **options)

    busy = {"offered_disk": 1.5, "page_faults": 5.0, "memory_factor": 3.0}
    yield "1 node", Cluster.of(1), traces(1, 0.0)
    yield "8 nodes", Cluster.of(8), traces(8, 0.4, **busy)
    yield "8 nodes without I/O", Cluster.of(8), traces(8, 0.4, io_rate=0.0, offered_cpu=0.9)
    yield "9 nodes that differ", mixed, traces(9, 0.4, **busy)
    yield "6 nodes seen late", late, traces(6, 0.4, **busy)


class _Noted(Exception):
    """The run makes no sense any more; why is noted."""


@dataclass(frozen=True, eq=False)
class _Trial:
    """One run of the contract: it keeps count and notes the first case of each broken promise."""

    failures: dict[str, str] = field(default_factory=dict)
    clusters: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: {"questions": 0, "waits": 0, "moves": 0})

    def note(self, promise: str, case: str) -> None:
        """Remember the first case in which a promise was broken."""
        self.failures.setdefault(promise, case)

    def result(self, name: str) -> BalancerCheck:
        """What was found."""
        return BalancerCheck(name, **self.counts, clusters=tuple(self.clusters), failures=self.failures)


@dataclass(frozen=True, eq=False)
class _Probe(AbstractBalancer):
    """Asks the balancer that is checked, twice, and one made afresh; passes its answer on."""

    make: Callable[[], AbstractBalancer]
    asked: AbstractBalancer
    trial: _Trial
    label: str
    name = "probe"

    @property
    def dedicated(self) -> bool:  # type: ignore[override]
        """As the balancer that is checked has it."""
        return self.asked.dedicated

    def place(self, view: ClusterView, job: Job) -> Any:
        """See `AbstractBalancer.place`."""
        self.trial.counts["questions"] += 1
        case = f"{self.label}, job {job.number} of {job.tasks} tasks"
        before = _contents(view)
        answers = []
        for one in (self.asked, self.asked, self.make()):
            try:
                answer = one.place(view, job)
            except Exception as error:
                self._stop("pure" if "read-only" in str(error) else "made", case, _said(error))
            try:
                answers.append(checked_nodes(answer, job, view.nodes, self.asked.name))
            except ModelError as error:
                self._stop("nodes", case, str(error))
        if any(not same_answer(answers[0], other) for other in answers[1:]):
            self._stop("repeatable", case, f"{answers[0]}, then {answers[1]}, afresh {answers[2]}")
        if not _same_contents(before, _contents(view)):
            self._stop("pure", case, "what it sees was changed")
        if answers[0] is None:
            self.trial.counts["waits"] += 1
            if not view.given.any():
                self._stop("waiting", case, "was let wait on an empty cluster")
        return answers[0]

    def moves(self, view: ClusterView, job: Job) -> Iterable[Move]:
        """See `AbstractBalancer.moves`."""
        case = f"{self.label}, after job {job.number}"
        try:
            for move in self.asked.moves(view, job):
                fault = _move_fault(move, view)
                if fault:
                    self._stop("moves", case, f"{move!r:.80}: {fault}")
                self.trial.counts["moves"] += 1
                yield move
        except (_Noted, GeneratorExit):
            raise
        except Exception as error:  # whatever the user's generator does
            self._stop("moves", case, _said(error))

    def _stop(self, promise: str, case: str, what: str) -> None:
        self.trial.note(promise, f"{case}: {what}")
        raise _Noted


def _move_fault(move: Any, view: ClusterView) -> str:
    """What is wrong with a move, if anything."""
    try:
        task, there = (int(part) for part in move)
    except (TypeError, ValueError):
        return "no Move(task, node)"
    if not 0 <= there < view.nodes:
        return f"nodes are numbered from 0 to {view.nodes - 1}"
    for node in range(view.nodes):
        for one in view.running(node):
            if one.task == task:
                if not one.movable:
                    return "the task is frozen, or was moved a short while ago"
                if there in view.siblings(one.job):
                    return "a task of that job is there already"
                return ""
    return "there is no such task"


def _contents(view: ClusterView) -> list[Any]:
    return [np.array(column) for column in (view.tasks, view.memory, view.io_load, view.at_cpu, view.at_disk)]


def _same_contents(one: list[Any], other: list[Any]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _said(error: Exception) -> str:
    return f"raised {type(error).__name__} ({error!s:.160})"
