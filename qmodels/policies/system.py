"""What every prediction starts from: the machine, what its jobs ask for and how they arrive."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from phasefit import PhaseType, match_moments
from phasefit.checks import one_of, real_number, whole_number
from qmodels.errors import ModelError
from qmodels.programs import AbstractProgram

DISK_DISCIPLINES: Final = ("ps", "fcfs", "siro")
#: What a job of a mix is: one of the programs, or their mean.
MIXES: Final = ("each", "mean")
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
    mix : {"each", "mean"}
        What a job of a `WorkloadMix` is. "each": one of the programs, drawn with their weights;
        its work is that program's times the factor drawn from `demand`. "mean": the mean of the
        programs, for a `demand` that holds the differences between them already, such as one
        fitted to the work of a log's jobs. Without a mix there is no difference.

    Raises
    ------
    ModelError
        If a law has an atom at zero, both demand and bursts are given, or bursts have laws and
        `mix` is "mean".

    Notes
    -----
    There are two kinds of workload. Of the first, every burst of a job is its program's mean
    burst times the same factor, drawn once per job from `demand`: long jobs are long throughout,
    and every job has its program's mean number of phases. The law of a job's total time is then
    the mixture of `demand` over the programs' times, more variable than `demand` itself.

    Of the second, with `io_bursts` and `cpu_bursts`, each burst is its program's mean burst times
    a factor of its own, and the number of phases is drawn from the program's `phase_count`; the
    law of a job's demand follows from that. The models "decomposition" and "exact" follow the
    bursts and need the second kind.

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
    mix: str = "each"

    def __post_init__(self) -> None:
        if not isinstance(self.program, AbstractProgram):
            raise ModelError(f"program must be a Program or WorkloadMix, got {self.program!r}")
        one_of("mix", self.mix, MIXES)
        laws = ["demand", "arrivals"]
        if self.io_bursts is not None or self.cpu_bursts is not None:
            if self.demand is not _EXPONENTIAL:
                raise ModelError(
                    "give demand (one factor for all bursts of a job) or io_bursts and cpu_bursts "
                    "(a factor for each burst), not both"
                )
            if self.mix == "mean":
                raise ModelError(
                    'mix = "mean" says that the law of demand holds the differences between '
                    "programs; laws of bursts do not: leave it out"
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
