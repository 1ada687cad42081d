"""Queue disciplines: which waiting job comes first, and which may pass one that has to wait.

Where a job runs is no matter of theirs, so every simulator of jobs with nodes of their own names
them alike.
"""

from __future__ import annotations

import abc
import itertools
import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from phasefit.checks import check_given, one_of, whole_number
from qmodels.errors import ModelError
from qmodels.registry import Registry


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job in the queue. Times are in the unit of its stream."""

    number: int  #: its place in the order of arrival
    arrival: float  #: when it came
    size: int  #: nodes
    demand: float  #: what it needs; 0 where the stream does not say
    estimate: float  #: what its user expects it to run; 0 where nobody says


@dataclass(frozen=True)
class Situation:
    """The nodes and who holds them, at the moment when the first of the queue was refused."""

    now: float  #: that moment
    free: int  #: nodes
    running: Sequence[tuple[float, int]]  #: (expected end, nodes) of each running job
    passed: int = 0  #: jobs that have passed the first of the queue at this moment


class AbstractDiscipline(abc.ABC):
    """The order in which waiting jobs are tried.

    They are tried in ascending order of `key`, equal ones in order of arrival, until one is
    refused. What happens then is `passers`: by default nothing, the refused job blocks the others.
    """

    name: ClassVar[str]  #: short name used on the command line and in figure legends
    needs: ClassVar[Literal["", "demand", "estimate"]] = ""  #: what it must know of every job
    #: Whether it decides by numbers of nodes alone; else by their places, as the compiled loop of
    #: slices does (`validation.slices`).
    by_number: ClassVar[bool] = True
    #: Who may pass, in the words of the compiled loop of rigid jobs (`validation.rigid`).
    passes: ClassVar[Literal["nobody", "anybody", "reserved", "planned"]] = "nobody"

    @abc.abstractmethod
    def key(self, job: Waiting) -> float:
        """Return the number by which jobs are tried, the smallest first.

        Parameters
        ----------
        job : Waiting
            A job of the queue.
        """

    def passers(self, head: Waiting, others: Iterable[Waiting], situation: Situation) -> Iterator[Waiting]:
        """Yield jobs of `others`, in the order to be tried, that may start while `head` waits.

        Asked anew after each job that starts.

        Parameters
        ----------
        head : Waiting
            The first of the queue, which was refused.
        others : iterable of Waiting
            The jobs behind it, in their order.
        situation : Situation
            What is free, and until when the rest is held.

        Returns
        -------
        iterator of Waiting
            They are tried until one starts.
        """
        return iter(())


#: Every queue discipline by name; the command line and the contract tests read this.
QUEUE_DISCIPLINES: Registry[AbstractDiscipline] = Registry(AbstractDiscipline, "discipline")

register = QUEUE_DISCIPLINES.register


def disciplines_by_number() -> list[str]:
    """Return the names of the disciplines that need no places.

    Examples
    --------
    >>> "EASY" in disciplines_by_number(), "EASY-places" in disciplines_by_number()
    (True, False)
    """
    return [name for name, each in QUEUE_DISCIPLINES.items() if each.by_number]


def find_discipline(discipline: AbstractDiscipline | str) -> AbstractDiscipline:
    """Return the discipline itself, or that of a name, which goes by numbers of nodes.

    Parameters
    ----------
    discipline : AbstractDiscipline or str
        A name in `QUEUE_DISCIPLINES`, in any case, or "module:Class" for a class that can be
        imported.

    Raises
    ------
    ModelError
        If there is none, it is not complete, it needs arguments, or it goes by places.

    Examples
    --------
    >>> find_discipline("EASY").needs
    'estimate'
    """
    found = QUEUE_DISCIPLINES.made(discipline)
    if found.by_number:
        return found
    raise ModelError(
        f"the discipline {found.name} is one of slices of a pod; jobs that ask for a number of "
        f"nodes have {', '.join(disciplines_by_number())}"
    )


@register
@dataclass(frozen=True)
class FCFS(AbstractDiscipline):
    """First come, first served."""

    name = "FCFS"

    def key(self, job: Waiting) -> float:
        """See `AbstractDiscipline.key`."""
        return 0.0


@register
@dataclass(frozen=True)
class ShortestDemand(AbstractDiscipline):
    """Shortest service demand first (SSD)."""

    name = "SSD"
    needs = "demand"

    def key(self, job: Waiting) -> float:
        """See `AbstractDiscipline.key`."""
        return job.demand


@register
@dataclass(frozen=True)
class SmallestFirst(AbstractDiscipline):
    """The job with the fewest nodes first."""

    name = "smallest-first"

    def key(self, job: Waiting) -> float:
        """See `AbstractDiscipline.key`."""
        return job.size


@register
@dataclass(frozen=True)
class FirstFit(FCFS):
    """In order of arrival, but whatever fits may pass; a large job may wait for ever."""

    name = "first-fit"
    passes = "anybody"

    def passers(self, head: Waiting, others: Iterable[Waiting], situation: Situation) -> Iterator[Waiting]:
        """See `AbstractDiscipline.passers`."""
        return (job for job in others if job.size <= situation.free)


@register
@dataclass(frozen=True)
class EASY(FCFS):
    """Backfilling: a job may pass if, by the estimates, the first of the queue is not delayed.

    The first of the queue gets a reservation for the time when, by the estimates, enough nodes
    are free. Another may start if it ends before that or leaves enough nodes. Nodes are counted,
    not placed, so a strategy that refuses with enough nodes free may break the promise, which
    `EASYPlaces` keeps. A job that has outlived its estimate is expected to end now.

    Parameters
    ----------
    ties : {"start", "wait"}
        Whether a job that would end at the very time of the reservation may start. With estimates
        in round numbers ties are the rule, and "wait" costs a good part of the machine.
    depth : int, optional
        Jobs behind the first of the queue that are looked at, >= 0; all if left out.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", *IEEE Trans. Parallel
       Distrib. Syst.* 12 (2001) 529-543.
    """

    name = "EASY"
    needs = "estimate"
    passes = "reserved"
    ties: Literal["start", "wait"] = "start"
    depth: int | None = None

    def __post_init__(self) -> None:
        one_of("ties", self.ties, ("start", "wait"))
        check_given(self, whole_number, "depth", least=0)

    def passers(self, head: Waiting, others: Iterable[Waiting], situation: Situation) -> Iterator[Waiting]:
        """See `AbstractDiscipline.passers`."""
        now, free = situation.now, situation.free
        # With enough nodes free it is the strategy that refused; then the next end counts.
        reserved, spare = now, free - head.size
        waits = True
        for end, nodes in sorted((max(end, now), nodes) for end, nodes in situation.running):
            if not waits and end > reserved:
                break
            reserved, spare = end, spare + nodes
            waits = spare < 0
        window = None if self.depth is None else max(self.depth - situation.passed, 0)
        for job in itertools.islice(others, window):
            end = now + job.estimate
            ends = end < reserved or (end == reserved and self.ties == "start")
            if job.size <= free and (ends or job.size <= spare):
                yield job


@register
@dataclass(frozen=True)
class Conservative(FCFS):
    """Backfilling: a job may pass if, by the estimates, none of those before it is delayed.

    Whenever something happens all that wait are planned anew, in their order: each for the
    earliest time at which, by the estimates, enough nodes are free for as long as it may run. Who
    is planned for now starts. Nodes are counted, not placed.

    Parameters
    ----------
    depth : int, optional
        Jobs behind the first of the queue that are planned, >= 0; all if left out.
    whole_nodes : bool
        Whether a planned job keeps all of each of its nodes, as Slurm's backfilling does. It
        matters where rigid jobs share nodes.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    References
    ----------
    .. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user
       runtime estimates in scheduling the IBM SP2 with backfilling", *IEEE Trans. Parallel
       Distrib. Syst.* 12 (2001) 529-543.
    .. [2] Slurm documentation, "Scheduling Configuration Guide", on the backfill scheduler.
    """

    name = "conservative"
    needs = "estimate"
    passes = "planned"
    depth: int | None = None
    whole_nodes: bool = False

    def __post_init__(self) -> None:
        check_given(self, whole_number, "depth", least=0)

    def passers(self, head: Waiting, others: Iterable[Waiting], situation: Situation) -> Iterator[Waiting]:
        """See `AbstractDiscipline.passers`."""
        now = situation.now
        times, free = [now], [situation.free]
        for end, nodes in sorted((max(end, now), nodes) for end, nodes in situation.running):
            if end > times[-1]:
                times.append(end)
                free.append(free[-1])
            free[-1] += nodes
        # With enough nodes free it is the strategy that refused; then the next end counts.
        _plan(head, times, free, first=int(head.size <= situation.free))
        window = None if self.depth is None else max(self.depth - situation.passed, 0)
        for job in itertools.islice(others, window):
            if _plan(job, times, free) == now:
                yield job


def _plan(job: Waiting, times: list[float], free: list[int], first: int = 0) -> float:
    """Take a job's nodes from what is free from each time on, as early as may be; return its start."""
    at = first
    while at < len(times):
        begin, end = times[at], times[at] + job.estimate
        last = max(bisect_left(times, end), at + 1)
        full = [k for k in range(at, last) if free[k] < job.size]
        if not full:
            if last == len(times) or times[last] != end:
                times.insert(last, end)
                free.insert(last, free[last - 1])
            for k in range(at, last):
                free[k] -= job.size
            return begin
        at = full[0] + 1
    return math.inf  # more than the machine has


@register
@dataclass(frozen=True)
class EASYPlaces(FCFS):
    """Backfilling with places reserved: a job may pass if the first of the queue keeps its place.

    As `EASY`, but the reservation is for the time when, by the estimates, the strategy has a place
    for the first of the queue. Another that ends later may start only where it leaves a place.
    """

    name = "EASY-places"
    needs = "estimate"
    by_number = False


@register
@dataclass(frozen=True)
class Loss(FCFS):
    """Nobody waits: what finds no place when it arrives is refused."""

    name = "loss"
    by_number = False
