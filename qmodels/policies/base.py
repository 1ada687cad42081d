"""What every policy is made of: the machine, the workload, and how fast k running jobs get on."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType, match_moments
from phasefit.checks import one_of, real_number, whole_number
from qmodels.errors import ModelError
from qmodels.networks import disk_group_throughput
from qmodels.programs import AbstractProgram

Array = NDArray[np.float64]

DISK_DISCIPLINES: Final = ("ps", "fcfs", "siro")
#: The default law of demand; told from one that was given.
_EXPONENTIAL: Final = PhaseType.exponential(mean=1.0)


@dataclass(frozen=True)
class System:
    """A machine of identical processors and identical disks, shared by parallel jobs.

    Parameters
    ----------
    processors, disks : int
        P and D, at least one of each.
    min_processors, min_disks : int
        M_P and M_D, the least that any job may be given.
    disk_discipline : {"ps", "fcfs", "siro"}
        How jobs that share a disk partition get their turn: processor sharing, first come first
        served burst by burst, or random order of the waiting bursts.

    Raises
    ------
    ModelError
        If a count is not a whole number in its range or the discipline is another one.

    Examples
    --------
    >>> System(processors=128, disks=32, min_processors=8).max_processor_partitions
    16
    """

    processors: int
    disks: int
    min_processors: int = 1
    min_disks: int = 1
    disk_discipline: str = "ps"

    def __post_init__(self) -> None:
        one_of("disk_discipline", self.disk_discipline, DISK_DISCIPLINES)
        for name in ("processors", "disks"):
            most = whole_number(name, getattr(self, name), least=1)
            least = whole_number(f"min_{name}", getattr(self, f"min_{name}"), least=1)
            if least > most:
                raise ModelError(f"min_{name} = {least} is more than the machine has ({most})")

    @property
    def max_processor_partitions(self) -> int:
        """N_P = floor(P / M_P)."""
        return self.processors // self.min_processors

    @property
    def max_disk_partitions(self) -> int:
        """N_D = floor(D / M_D)."""
        return self.disks // self.min_disks


@dataclass(frozen=True, eq=False)
class Workload:
    """What the jobs ask for and how they arrive.

    Parameters
    ----------
    program : Program or WorkloadMix
        Mean computation and I/O of a job on any allotment of processors and disks.
    demand : PhaseType
        Law of the total work of a job in units of the mean; only its shape is used. The default
        is exponential.
    arrivals : PhaseType
        Law of the time between arrivals; only its shape is used, the rate is chosen with each
        prediction. The default is exponential (Poisson arrivals).
    io_bursts, cpu_bursts : PhaseType, optional
        Laws of single bursts of I/O and of computation; only their shape is used. With one of
        them the other is exponential unless given, and `demand` may not be given as well.

    Raises
    ------
    ModelError
        If a law has an atom at zero, or both demand and bursts are given.

    Notes
    -----
    There are two kinds of workload. Of the first, every burst of a job is its program's mean
    burst times the same factor, drawn once per job from `demand`: long jobs are long throughout,
    and every job has its program's mean number of phases. Of the second, with `io_bursts` and
    `cpu_bursts`, each burst is its program's mean burst times a factor of its own, and the number
    of phases is drawn from the program's `phase_count`; the law of a job's demand follows from
    that. The models "decomposition" and "exact" follow the bursts and need the second kind.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program
    >>> work = Workload.from_scv(Program([Phase(io=1.0, cpu=9.0)]), demand_scv=2.0)
    >>> round(work.demand.mean, 12), round(work.demand.scv, 12)
    (1.0, 2.0)
    """

    program: AbstractProgram
    demand: PhaseType = field(default_factory=lambda: _EXPONENTIAL)
    arrivals: PhaseType = field(default_factory=lambda: _EXPONENTIAL)
    io_bursts: PhaseType | None = None
    cpu_bursts: PhaseType | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.program, AbstractProgram):
            raise ModelError(f"program must be a Program or WorkloadMix, got {self.program!r}")
        laws = ["demand", "arrivals"]
        if self.io_bursts is not None or self.cpu_bursts is not None:
            if self.demand is not _EXPONENTIAL:
                raise ModelError(
                    "give demand (one factor for all bursts of a job) or io_bursts and cpu_bursts "
                    "(a factor for each burst), not both"
                )
            for name in ("io_bursts", "cpu_bursts"):
                if getattr(self, name) is None:
                    object.__setattr__(self, name, _EXPONENTIAL)
            laws += ["io_bursts", "cpu_bursts"]
        for name in laws:
            law = getattr(self, name)
            if not isinstance(law, PhaseType):
                raise ModelError(f"{name} must be a PhaseType, got {law!r}")
            if law.alpha.sum() < 1.0 - 1e-12:
                raise ModelError(
                    f"{name} has an atom of {1.0 - law.alpha.sum():.3g} at zero; use the law of "
                    f"the positive values"
                )
            object.__setattr__(self, name, law.scale(1.0 / law.mean))

    @property
    def has_bursts(self) -> bool:
        """Whether bursts have laws of their own, instead of following the job's demand."""
        return self.io_bursts is not None

    @classmethod
    def from_scv(
        cls, program: AbstractProgram, *, demand_scv: float = 1.0, arrival_scv: float = 1.0
    ) -> Workload:
        """Demand and interarrival laws matched to their squared coefficients of variation."""
        demand, arrivals = (
            match_moments(1.0, 1.0 + real_number(name, scv, above=0.0))
            for name, scv in (("demand_scv", demand_scv), ("arrival_scv", arrival_scv))
        )
        return cls(program, demand, arrivals)


@dataclass(frozen=True, eq=False)
class RunningJobs:
    """How k = 1..c running jobs get on together, entry k - 1 of each array."""

    throughput: Array  #: (c,) jobs completed per second
    processors_busy: Array  #: (c,) mean number of processors in a computation burst
    disks_busy: Array  #: (c,) mean number of disks transferring
    exact: bool  #: whether the speeds hold without approximation

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float, float]], *, exact: bool) -> RunningJobs:
        """Throughput, busy processors and busy disks for each number of running jobs."""
        throughput, processors_busy, disks_busy = np.array(rows).T
        return cls(throughput, processors_busy, disks_busy, exact)

    @property
    def speeds(self) -> Array:
        """(c,) completions per second of each running job of mean size."""
        result: Array = self.throughput / np.arange(1, self.throughput.size + 1)
        return result


class AbstractPolicy(abc.ABC):
    """A rule for sharing processors and disks among jobs.

    A subclass is a frozen dataclass holding the policy's parameters. It says which parameters
    fit a machine and how fast k running jobs get on; everything else is common.
    """

    name: ClassVar[str]

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """As the paper writes it, such as SP(4,16)."""

    @abc.abstractmethod
    def check(self, system: System) -> None:
        """Raise ModelError if the policy's partitions do not fit the machine."""

    @abc.abstractmethod
    def allotment(self, system: System) -> tuple[float, float]:
        """Mean processors and disks of a job while all partitions are taken."""

    @abc.abstractmethod
    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """Throughput and utilisation for every number of running jobs."""


def spread(jobs: int, places: int) -> list[int]:
    """Jobs per place when `jobs` are spread as evenly as can be over `places`."""
    each, extra = divmod(jobs, places)
    return [each + 1] * extra + [each] * (places - extra)


def whole_sizes(units: int, partitions: int) -> list[float]:
    """Whole sizes as equal as can be, larger ones first."""
    return [float(n) for n in spread(units, partitions)]


def groups_at_work(
    jobs_by_disk: list[list[int]], program: AbstractProgram, p: float, d: float
) -> tuple[float, float, float]:
    """Throughput, busy processors and busy disks when partitions of p processors share disks.

    `jobs_by_disk` lists, for each disk partition of d disks, the jobs that each of its processor
    partitions holds.
    """
    cpu, io = float(program.mean_cpu(p, d)), float(program.mean_io(p, d))
    rates = [disk_group_throughput(cpu, io, jobs) for jobs in jobs_by_disk]
    total = math.fsum(rates)
    return total, total * cpu * p, total * io * d


def running_jobs(policy: AbstractPolicy, system: System, workload: Workload) -> RunningJobs:
    """How the running jobs get on, computed once; ModelError unless the three make a model."""
    for name, value, kind in (
        ("policy", policy, AbstractPolicy),
        ("system", system, System),
        ("workload", workload, Workload),
    ):
        if not isinstance(value, kind):
            raise ModelError(f"{name} must be of type {kind.__name__}, got {value!r:.60}")
    policy.check(system)
    return _running_jobs(policy, system, workload.program)


@lru_cache(maxsize=512)
def _running_jobs(policy: AbstractPolicy, system: System, program: AbstractProgram) -> RunningJobs:
    return policy.running(system, program)


def capacity(policy: AbstractPolicy, system: System, workload: Workload) -> float:
    """Largest stable arrival rate of a policy, in jobs per second.

    Raises
    ------
    ModelError
        If the policy's partitions do not fit the machine.
    """
    return float(running_jobs(policy, system, workload).throughput[-1])


@lru_cache(maxsize=512)
def work_bound(system: System, program: AbstractProgram) -> float:
    """Arrival rate that no policy can exceed, in jobs per second: the unit of *load*.

    Notes
    -----
    The least work over all allotments of the machine: processor-seconds of the parallel
    computation and disk-seconds of the parallel I/O, so ``min(P / Z_CPU, D / Z_IO)`` with
    sequential parts left out. They take time but are counted as no work, since how many
    processors wait for them is the policy's choice; a centre that has nothing but sequential
    parts counts them on its least allotment.
    """
    p = np.arange(system.min_processors, system.processors + 1, dtype=float)[:, None]
    d = np.arange(system.min_disks, system.disks + 1, dtype=float)[None, :]
    cpu = p * program.parallel_cpu(p, d)
    io = d * program.parallel_io(p, d)
    cpu_work = float(np.min(cpu if np.any(cpu > 0) else p * program.mean_cpu(p, d)))
    io_work = float(np.min(io if np.any(io > 0) else d * program.mean_io(p, d)))
    bounds = [
        units / work
        for units, work in ((system.processors, cpu_work), (system.disks, io_work))
        if work > 0
    ]
    if not bounds:
        raise ModelError("the program neither computes nor transfers: its load is not defined")
    return min(bounds)


def check_processor_partitions(label: str, partitions: int, system: System) -> None:
    """Raise ModelError unless that many partitions leave each its least processors."""
    _check_partitions(label, "processor", partitions, system.processors, system.min_processors)


def check_disk_partitions(label: str, partitions: int, system: System) -> None:
    """Raise ModelError unless that many partitions leave each its least disks."""
    _check_partitions(label, "disk", partitions, system.disks, system.min_disks)


def _check_partitions(label: str, what: str, partitions: int, units: int, least: int) -> None:
    whole_number(f"{label}: {what} partitions", partitions, least=1)
    if units // partitions < least:
        raise ModelError(
            f"{label}: {partitions} {what} partitions of {units} {what}s leave "
            f"{units // partitions} each, fewer than the least allotment of {least}; "
            f"use 1 to {units // least} partitions"
        )
