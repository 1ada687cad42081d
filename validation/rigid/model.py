"""Rigid jobs, a machine that they share in space, and the weights by which a site orders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, Ints, read_only
from phasefit.checks import check_fields, real_array, real_number, real_vector, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError

#: Processors of the largest machine, and of the largest job.
MOST_PROCESSORS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class RigidJobs(Record):
    """Jobs that each need so many processors, no more and no fewer, for so long.

    Parameters
    ----------
    submit : (n,) array_like
        Times of submission, seconds, >= 0, not falling.
    need : (n,) array_like of int
        Processors, at least one; of all its nodes together.
    run : (n,) array_like
        Run times, seconds, > 0.
    limit : (n,) array_like, optional
        Time limits, seconds; the run times if left out. A limit below the run time is raised to it,
        for logs hold jobs that overran.
    user : (n,) array_like of int, optional
        Whose job it is, a number from 0; all jobs of one user if left out.
    priority : (n,) array_like of int, optional
        Class of priority; lower classes come first. All alike if left out.
    nodes : (n,) array_like of int, optional
        Nodes over which `need` is spread evenly; one if left out.
    memory, gpus : (n,) array_like of int, optional
        On each of its nodes, MB and cards; none if left out.
    place : sequence of str, optional
        Feature or partition that its nodes must have; "" for any.
    leave : (n,) array_like, optional
        When it is withdrawn if it has not started, seconds, after `submit`; infinite for never.

    Raises
    ------
    ModelError
        If there is no job, a column has another length than `submit`, or a value is out of range.

    Examples
    --------
    >>> jobs = RigidJobs([0, 1, 2], [3, 4, 1], [10, 5, 4], limit=[10, 6, 3])
    >>> jobs.limit, jobs.work
    (array([10.,  6.,  4.]), 54.0)
    """

    submit: Array
    need: Ints
    run: Array
    _: KW_ONLY
    limit: Array = None  # type: ignore[assignment]
    user: Ints = None  # type: ignore[assignment]
    priority: Ints = None  # type: ignore[assignment]
    nodes: Ints = None  # type: ignore[assignment]
    memory: Ints | None = None
    gpus: Ints | None = None
    place: Sequence[str] | None = field(default=None, repr=False)
    leave: Array | None = None

    def __post_init__(self) -> None:
        submit, run = real_vector("submit", self.submit), real_vector("run", self.run)
        falls = np.flatnonzero(np.diff(submit) < 0)
        if submit[0] < 0 or falls.size:
            at = int(falls[0]) + 1 if falls.size else 0
            raise ModelError(f"submit must start at 0 or later and not fall; submit[{at}] is {submit[at]:g}")
        columns: dict[str, Any] = {"submit": submit, "run": run}
        limit = run if self.limit is None else real_vector("limit", self.limit)
        columns["limit"] = limit
        for name, least, usual in (("need", 1, None), ("user", 0, 0), ("priority", None, 0), ("nodes", 1, 1)):
            columns[name] = _whole(name, getattr(self, name), submit.size, least, usual)
        for name in ("memory", "gpus"):
            if getattr(self, name) is not None:
                columns[name] = _whole(name, getattr(self, name), submit.size, 0, 0)
        if self.leave is not None:
            columns["leave"] = np.atleast_1d(real_array("leave", self.leave, infinite=True))
        if self.place is not None:
            columns["place"] = tuple(map(str, self.place))
        for name, column in columns.items():
            if np.shape(column) != submit.shape:
                raise ModelError(f"{name} has {np.size(column):,} values for {submit.size:,} jobs")
        if self.leave is not None and (columns["leave"] <= submit).any():
            at = int(np.argmax(columns["leave"] <= submit))
            raise ModelError(
                f"leave must be after submit, got leave[{at}] = {columns['leave'][at]:g} and submit[{at}] = "
                f"{submit[at]:g}; leave such jobs out"
            )
        if (run <= 0).any():
            at = int(np.argmax(run <= 0))
            raise ModelError(f"run times must be above 0, got run[{at}] = {run[at]:g}; leave such jobs out")
        columns["limit"] = np.maximum(limit, run)
        if (columns["nodes"] > columns["need"]).any():
            at = int(np.argmax(columns["nodes"] > columns["need"]))
            raise ModelError(
                f"job {at} needs {columns['need'][at]} processors on {columns['nodes'][at]} nodes; "
                f"a node gives at least one"
            )
        for name, column in columns.items():
            if isinstance(column, np.ndarray):
                read_only(column)
            object.__setattr__(self, name, column)

    def __len__(self) -> int:
        return self.submit.size

    @property
    def work(self) -> float:
        """Processor-seconds of all jobs."""
        return float((self.need * self.run).sum())

    def of(self, chosen: NDArray[Any]) -> RigidJobs:
        """Return some of the jobs.

        Parameters
        ----------
        chosen : (n,) ndarray of bool, or (m,) ndarray of int
            Which; numbers in ascending order.
        """
        columns = {name: getattr(self, name) for name in _COLUMNS}
        kept = {name: column[chosen] for name, column in columns.items() if isinstance(column, np.ndarray)}
        if self.place is not None:
            kept["place"] = tuple(np.asarray(self.place)[chosen])
        return RigidJobs(**kept)


_COLUMNS = ("submit", "need", "run", "limit", "user", "priority", "nodes", "memory", "gpus", "leave")


def _whole(name: str, value: ArrayLike | None, count: int, least: int | None, usual: int | None) -> Ints:
    """Return a column of whole numbers; `usual` for each job where it is left out."""
    if value is None:
        return np.full(count, usual or 0, np.int64)
    numbers = real_vector(name, value)
    wrong = (numbers != np.floor(numbers)) | (np.abs(numbers) > MOST_PROCESSORS)
    if least is not None:
        wrong |= numbers < least
    if wrong.any():
        at = int(np.argmax(wrong))
        allowed = "whole numbers" if least is None else f"whole numbers of at least {least}"
        raise ModelError(f"{name} must hold {allowed} below 2^31, got {name}[{at}] = {numbers[at]:g}")
    return numbers.astype(np.int64)


@dataclass(frozen=True)
class NodeGroup(Record):
    """Nodes that are alike.

    Parameters
    ----------
    count : int
        Nodes, at least one.
    cores : int
        Of each, at least one.
    memory, gpus : int
        Of each, MB and cards, >= 0.
    features : tuple of str
        Features and partitions by which jobs may ask for them.

    Raises
    ------
    ModelError
        If a number is out of its range.

    Examples
    --------
    >>> NodeGroup(8, 12, memory=48_000, features=("normal",)).cores
    12
    """

    count: int
    cores: int
    memory: int = 0
    gpus: int = 0
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "count", "cores", least=1)
        check_fields(self, whole_number, "memory", "gpus", least=0)
        object.__setattr__(self, "features", tuple(self.features))


@dataclass(frozen=True)
class Drain(Record):
    """Part of a machine that takes no new job for a while; what runs there ends first.

    Nobody knows of it before it begins, so no reservation reckons with it.

    Parameters
    ----------
    begin, end : float
        Seconds, end > begin >= 0; an infinite end is for good.
    count : int
        Nodes; of a machine that counts processors, processors.
    group : int
        Of which group of nodes.

    Raises
    ------
    ModelError
        If a number is out of its range.

    Examples
    --------
    >>> Drain(3600.0, 7200.0, 16).count
    16
    """

    begin: float
    end: float
    count: int
    group: int = 0

    def __post_init__(self) -> None:
        begin = real_number("begin", self.begin, least=0.0)
        if not self.end > begin:
            raise ModelError(f"end must be after begin = {begin:g}, got {self.end!r}")
        check_fields(self, whole_number, "count", least=1)
        check_fields(self, whole_number, "group", least=0)


@dataclass(frozen=True)
class RigidMachine(Record):
    """A machine that jobs share in space.

    Parameters
    ----------
    groups : sequence of NodeGroup, or int
        Its nodes. A number of processors alone stands for a machine on which any free processors
        will do; the nodes, memory and cards of jobs are not looked at then.
    drains : sequence of Drain
        What is taken out for a while.

    Raises
    ------
    ModelError
        If there is no node, or a drain takes more than its group has.

    Examples
    --------
    >>> RigidMachine(128).processors, RigidMachine([NodeGroup(4, 12), NodeGroup(1, 64)]).processors
    (128, 112)
    """

    groups: tuple[NodeGroup, ...] | int
    drains: tuple[Drain, ...] = ()

    def __post_init__(self) -> None:
        groups = self.groups
        if isinstance(groups, (int, np.integer)):
            groups = whole_number("processors", int(groups), least=1)
            largest = {0: groups}
        else:
            groups = tuple(groups)
            if not groups:
                raise ModelError("a machine needs at least one group of nodes")
            largest = {k: group.count for k, group in enumerate(groups)}
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "drains", tuple(self.drains))
        for drain in self.drains:
            if drain.count > largest.get(drain.group, 0):
                raise ModelError(
                    f"{drain} takes more than group {drain.group} has: {largest.get(drain.group, 0)}"
                )

    @property
    def processors(self) -> int:
        """All its processors."""
        if isinstance(self.groups, int):
            return self.groups
        return sum(group.count * group.cores for group in self.groups)


@dataclass(frozen=True)
class Weights(Record):
    """Weights by which a site orders waiting jobs, as Slurm's multifactor priority does.

    The heaviest is first. The weight of a job is ``size x part + age x min(1, wait/age_limit) +
    fair_share x 2^(-used/entitled/dampening)``. There `part` is that of the processors it needs, or
    where the machine has nodes the mean of this and of its part of the nodes; `used` is its user's
    part of all processor-seconds, those of long ago counting less, and `entitled` one over the
    number of users.

    Parameters
    ----------
    size, age, fair_share : float
        The three weights; may be any number, below 0 favours small or young jobs.
    age_limit : float
        Seconds of waiting after which age counts in full, > 0.
    half_life : float
        Seconds in which what was used counts half, > 0.
    dampening : float
        How much use above one's part is forgiven, > 0.

    Raises
    ------
    ModelError
        If a number is out of its range.

    References
    ----------
    .. [1] Slurm documentation, "Multifactor Priority Plugin" and "Classic Fairshare Algorithm".

    Examples
    --------
    >>> Weights(size=200_000, age=50_000, age_limit=5 * 3600.0).fair_share
    0.0
    """

    size: float = 0.0
    age: float = 0.0
    fair_share: float = 0.0
    age_limit: float = 7 * 86400.0
    half_life: float = 7 * 86400.0
    dampening: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, real_number, "size", "age", "fair_share")
        check_fields(self, real_number, "age_limit", "half_life", "dampening", above=0.0)

    def numbers(self, machine: RigidMachine, users: int) -> Array:
        """Return the numbers that the compiled loop takes.

        Parameters
        ----------
        machine : RigidMachine
            What jobs are a part of.
        users : int
            Who share it.
        """
        per_processor, per_node = 1.0 / machine.processors, 0.0
        if not isinstance(machine.groups, int):
            per_processor, per_node = 0.5 * per_processor, 0.5 / sum(group.count for group in machine.groups)
        weights = [self.size, self.age, self.age_limit, self.fair_share, self.half_life]
        return np.array([*weights, per_processor, self.dampening, 1.0 / users, per_node])
