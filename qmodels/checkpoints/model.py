"""Jobs that write checkpoints and the storage they go to, shared by predictions and simulators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from phasefit import PhaseType
from phasefit.checks import check_fields, one_of, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError

MODES: Final = ("blocking", "waiting-works", "asynchronous")
TIMERS: Final = ("work", "clock")
STAGGERS: Final = ("random", "even", "together")
ORDERS: Final = ("fcfs", "reads-first", "random", "least-waste")


@dataclass(frozen=True)
class Storage(Record):
    """A file system that jobs share for their checkpoints.

    Parameters
    ----------
    bandwidth : float
        Bytes per second of all transfers together.
    per_job : float, optional
        The most that one job can use, bytes per second; all of `bandwidth` by default.
    writers : int, optional
        Transfers that are admitted at once; the others wait. All jobs by default.
    order : {"fcfs", "reads-first", "random", "least-waste"}
        Who of those that wait is admitted next: in order of request; restores before
        checkpoints; at random; or the one whose transfer costs the others least [1]_.

    Raises
    ------
    ModelError
        If a number is not above zero, or the order is unknown.

    Notes
    -----
    Of `i` transfers at work each gets ``min(per_job, bandwidth / i)``. Reads and writes share.

    References
    ----------
    .. [1] T. Herault, Y. Robert, A. Bouteiller, D. Arnold, K. B. Ferreira, G. Bosilca, J. Dongarra,
       "Optimal cooperative checkpointing for shared high-performance computing platforms",
       *Proc. IPDPS Workshops* 2018.

    Examples
    --------
    >>> Storage(20e9, per_job=5e9).full_at
    4.0
    """

    bandwidth: float
    per_job: float | None = None
    writers: int | None = None
    order: str = "fcfs"

    def __post_init__(self) -> None:
        check_fields(self, real_number, "bandwidth", above=0.0)
        if self.per_job is not None:
            check_fields(self, real_number, "per_job", above=0.0)
        if self.writers is not None:
            check_fields(self, whole_number, "writers", least=1)
        one_of("order", self.order, ORDERS)

    @property
    def alone(self) -> float:
        """Bytes per second of a transfer that is alone: the smaller of the two bandwidths."""
        return self.bandwidth if self.per_job is None else min(self.per_job, self.bandwidth)

    @property
    def full_at(self) -> float:
        """So many transfers use the whole bandwidth; need not be whole."""
        return self.bandwidth / self.alone

    def admitted(self, jobs: int) -> int:
        """Return the transfers at work at once, at most.

        Parameters
        ----------
        jobs : int
            Jobs that there are.
        """
        return jobs if self.writers is None else min(self.writers, jobs)


@dataclass(frozen=True)
class Checkpointing(Record):
    """A job that saves its state at intervals, fails, and goes on from the last state saved.

    Parameters
    ----------
    size : float
        Bytes of a checkpoint.
    interval : float
        Work between two checkpoints, seconds.
    mtbf : float
        Mean time between failures of the whole job, seconds; infinite for none. Failures are
        exponential and strike at any time but while the job is down.
    downtime : float
        From a failure until the restore is asked for, seconds.
    mode : {"blocking", "waiting-works", "asynchronous"}
        ``blocking``: the job stands still from its request until the checkpoint is written.
        ``waiting-works``: it works on until it is admitted, saves the state of that moment and
        stands still while it writes. ``asynchronous``: it stands still for `snapshot` seconds
        and writes behind its work; a checkpoint that is due waits for its predecessor.
    restore_size : float, optional
        Bytes read after a failure; `size` by default.
    snapshot : float
        Time to copy the state aside, seconds; "asynchronous" only.
    timer : {"work", "clock"}
        ``work``: the interval starts when the last write or restore (asynchronous: the last
        snapshot) has ended. ``clock``: checkpoints fall due at multiples of the interval from
        the job's own offset, and those that pass while the job stands still are skipped.
    jitter : float or PhaseType
        The interval is drawn anew each time: uniform within ``1 +- jitter`` of it, or of this
        law, scaled to the mean `interval`. Zero for a constant interval; a clock has none.
    size_law : PhaseType, optional
        Law of the bytes of a transfer, scaled to the mean; constant by default.
    downtime_law : PhaseType, optional
        Law of the downtime, scaled to the mean; constant by default.
    stagger : {"random", "even", "together"}
        When the jobs of a class write first: at random over interval and transfer, evenly
        spread over them, or all at once.
    nodes : int
        Nodes of the job: the weight of its work among jobs of other classes.
    name : str
        Of the class, in tables.

    Raises
    ------
    ModelError
        If a number is out of its range or a word is unknown.

    References
    ----------
    .. [1] Daly 2006.

    Examples
    --------
    A model of 405 billion parameters, one failure a day:

    >>> job = Checkpointing(5.29e12, interval=6689.0, mtbf=89081.0, downtime=600.0)
    >>> round(job.write_alone(Storage(20e9)), 1)
    264.5
    """

    size: float
    interval: float
    mtbf: float = math.inf
    downtime: float = 0.0
    mode: str = "blocking"
    restore_size: float | None = None
    snapshot: float = 0.0
    timer: str = "work"
    jitter: float | PhaseType = 0.0
    size_law: PhaseType | None = None
    downtime_law: PhaseType | None = None
    stagger: str = "random"
    nodes: int = 1
    name: str = ""

    def __post_init__(self) -> None:
        check_fields(self, real_number, "size", "interval", above=0.0)
        if not (isinstance(self.mtbf, (int, float)) and self.mtbf == math.inf):
            check_fields(self, real_number, "mtbf", above=0.0)
        check_fields(self, real_number, "downtime", "snapshot", least=0.0)
        if self.restore_size is not None:
            least = real_number("restore_size", self.restore_size, least=0.0)
            object.__setattr__(self, "restore_size", least)
        one_of("mode", self.mode, MODES)
        one_of("timer", self.timer, TIMERS)
        one_of("stagger", self.stagger, STAGGERS)
        check_fields(self, whole_number, "nodes", least=1)
        for name in ("jitter", "size_law", "downtime_law"):
            _checked_law(name, getattr(self, name), number=name == "jitter")
        if self.snapshot and self.mode != "asynchronous":
            raise ModelError(
                f'snapshot is for mode "asynchronous"; a "{self.mode}" job has none, got {self.snapshot:g} s'
            )

        if self.timer == "clock" and self.jitter != 0.0:
            raise ModelError('jitter is for timer "work": a clock keeps its multiples')

    @property
    def failure_rate(self) -> float:
        """Failures per second."""
        return 1.0 / self.mtbf

    def write_alone(self, storage: Storage) -> float:
        """Return the seconds of a checkpoint that shares with nobody, C.

        Parameters
        ----------
        storage : Storage
            Where it is written.
        """
        return self.size / storage.alone

    def read_alone(self, storage: Storage) -> float:
        """Return the seconds of a restore that shares with nobody, R.

        Parameters
        ----------
        storage : Storage
            Where it is read from.
        """
        size = self.size if self.restore_size is None else self.restore_size
        return size / storage.alone


def of_mean(law: PhaseType, mean: float) -> PhaseType:
    """Return a law scaled to a mean.

    Parameters
    ----------
    law : PhaseType
        Of any mean above zero.
    mean : float
        The new one.
    """
    return law.scale(mean / law.mean)


class EqualJobs(NamedTuple):
    """Equal jobs at one storage: what all models of them ask."""

    job: Checkpointing  #: each of them
    storage: Storage  #: where they write
    number: int  #: how many share it

    @property
    def write(self) -> float:
        """Seconds of a checkpoint that shares with nobody."""
        return self.job.write_alone(self.storage)

    @property
    def read(self) -> float:
        """Seconds of a restore that shares with nobody."""
        return self.job.read_alone(self.storage)

    @property
    def admitted(self) -> int:
        """Transfers at work at once, at most."""
        return self.storage.admitted(self.number)

    @property
    def share(self) -> bool:
        """True where all transfers are admitted at once."""
        return self.admitted == self.number

    @property
    def apart(self) -> bool:
        """True where no transfer ever feels another one."""
        return self.number == 1 or (self.storage.full_at >= self.number and self.share)

    @property
    def in_turns(self) -> bool:
        """True where jobs wait for their turn in order of request, and nobody slows a transfer down."""
        return not self.share and self.admitted <= self.storage.full_at and self.storage.order == "fcfs"

    @property
    def constant(self) -> bool:
        """True where neither intervals nor transfers vary."""
        return self.job.jitter == 0.0 and self.job.size_law is None

    @property
    def never_fail(self) -> bool:
        """True where nothing fails."""
        return math.isinf(self.job.mtbf)

    @property
    def work_or_write(self) -> bool:
        """True where nothing fails, and each works, writes, and counts its interval from there."""
        return self.never_fail and self.job.mode != "asynchronous" and self.job.timer == "work"

    @property
    def undisturbed(self) -> bool:
        """True where the closed forms of one job hold."""
        if not (self.apart and self.constant and self.job.timer == "work"):
            return False
        return self.job.mode != "asynchronous" or self.write <= self.job.interval

    def used(self, cycle: float) -> float:
        """Return the used share of the bandwidth where each writes once in so many seconds.

        Parameters
        ----------
        cycle : float
            Seconds.
        """
        return self.number * self.write / cycle / self.storage.full_at


def _checked_law(name: str, value: object, *, number: bool) -> None:
    if value is None or isinstance(value, PhaseType):
        if isinstance(value, PhaseType) and not value.mean > 0.0:
            raise ModelError(f"{name} must have a mean above zero")
        return
    if not number:
        raise ModelError(f"{name} must be a PhaseType or None, got {value!r:.60}")
    if not 0.0 <= real_number(name, value) < 1.0:  # type: ignore[arg-type]
        raise ModelError(f"{name} must be in [0, 1) or a PhaseType, got {value:.6g}")
