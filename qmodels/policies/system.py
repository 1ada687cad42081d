"""What every prediction starts from: the machine, its jobs, and who may run where on it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np

from phasefit import MAP, PhaseType, match_moments
from phasefit.checks import one_of, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.networks.histories import DESCRIPTIONS
from qmodels.networks.occupancy import essential
from qmodels.programs import AbstractProgram, WorkloadMix
from qmodels.programs.quantities import ByValue

DISK_DISCIPLINES: Final = ("ps", "fcfs", "siro")
#: What a job of a mix is: one of the programs, or their mean.
MIXES: Final = ("each", "mean")
#: The default law of demand; told from one that was given.
_EXPONENTIAL: Final = PhaseType.exponential(mean=1.0)


@dataclass(frozen=True)
class System(Record):
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

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.1.

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
            object.__setattr__(self, name, most)
            object.__setattr__(self, f"min_{name}", least)

    @property
    def max_processor_partitions(self) -> int:
        """N_P = floor(P / M_P)."""
        return self.processors // self.min_processors

    @property
    def max_disk_partitions(self) -> int:
        """N_D = floor(D / M_D)."""
        return self.disks // self.min_disks


@dataclass(frozen=True, eq=False)
class Workload(ByValue, Record):
    """What the jobs ask for and how they arrive.

    Parameters
    ----------
    program : Program or WorkloadMix
        Mean computation and I/O of a job on any allotment of processors and disks. Programs of a
        mix that are alike but for their names are one.
    demand : PhaseType
        Law of the total work of a job in units of the mean; only its shape is used. The default
        is exponential.
    arrivals : PhaseType or MAP
        Law of the time between arrivals, or a process of arrivals that depend on those before;
        only its shape is used, the rate is chosen with each prediction. The default is
        exponential (Poisson arrivals).
    io_bursts, cpu_bursts : PhaseType, optional
        Laws of single bursts of I/O and of computation; only their shape is used. With one of
        them the other is exponential unless given, and `demand` may not be given as well.
    mix : {"each", "mean"}
        What a job of a `WorkloadMix` is. "each": one of the programs, drawn with their weights;
        its work is that program's times the factor drawn from `demand`. "mean": the mean of the
        programs, for a `demand` that holds the differences between them already, such as one
        fitted to the work of a log's jobs. Without a mix there is no difference.
    description : str
        What jobs are taken for where `arrivals` and `demand` are laws fitted to the same jobs of a
        log: "auto", days of the log unless another is far nearer on held-out halves of it, or one of
        `qmodels.networks.histories.DESCRIPTIONS`. Without such data there is no difference.

    Raises
    ------
    ModelError
        If a law has an atom at zero, both demand and bursts are given, bursts have laws and `mix`
        is "mean", or there is no such description.

    Notes
    -----
    There are two kinds of workload. Of the first, every burst of a job is its program's mean
    burst times the same factor, drawn once per job from `demand`: long jobs are long throughout,
    and every job has its program's mean number of phases. The law of a job's total time is then
    the mixture of `demand` over the programs' times, more variable than `demand` itself.

    Of the second, with `io_bursts` and `cpu_bursts`, each burst is its program's mean burst times
    a factor of its own, and the number of phases is drawn from the program's `phase_count`; the
    law of a job's demand follows from that. The models "crowding", "decomposition" and "exact"
    follow the bursts and need the second kind.

    References
    ----------
    .. [1] Rosti et al. 1998, secs. 2.4 and 3.1.

    Examples
    --------
    >>> from qmodels.programs import Phase, Program
    >>> work = Workload.from_scv(Program([Phase(io=1.0, cpu=9.0)]), demand_scv=2.0)
    >>> round(work.demand.mean, 12), round(work.demand.scv, 12)
    (1.0, 2.0)
    """

    program: AbstractProgram
    demand: PhaseType = field(default_factory=lambda: _EXPONENTIAL)
    arrivals: PhaseType | MAP = field(default_factory=lambda: _EXPONENTIAL)
    io_bursts: PhaseType | None = None
    cpu_bursts: PhaseType | None = None
    mix: str = "each"
    description: str = "auto"

    def __post_init__(self) -> None:
        one_of("description", self.description, ("auto", *DESCRIPTIONS))
        if not isinstance(self.program, AbstractProgram):
            raise ModelError(f"program must be a Program or WorkloadMix, got {self.program!r}")
        if isinstance(self.program, WorkloadMix):
            object.__setattr__(self, "program", self.program.distinct)
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
            if name == "arrivals" and isinstance(law, MAP):
                kept = np.flatnonzero(law.phases)  # those left for good are not of the long run
                if kept.size < law.order:
                    inner = np.ix_(kept, kept)
                    law = MAP.from_rates(law.jumps[inner], law.D1[inner])._with_origin(law.fitted_to)
                object.__setattr__(self, name, law.at_rate(1.0))
                continue
            if not isinstance(law, PhaseType):
                raise ModelError(f"{name} must be a PhaseType, got {law!r}")
            if law.alpha.sum() < 1.0 - 1e-12:
                raise ModelError(
                    f"{name} has an atom of {1.0 - law.alpha.sum():.3g} at zero; use the law of "
                    f"the positive values"
                )
            if law is not _EXPONENTIAL:  # stays itself, so that a copy knows that none was given
                law = essential(law)  # models are chosen by numbers of phases
                object.__setattr__(self, name, law.scale(1.0 / law.mean))

    @property
    def has_bursts(self) -> bool:
        """Whether bursts have laws of their own, instead of following the job's demand."""
        return self.io_bursts is not None

    @property
    def fitted(self) -> bool:
        """Whether some law was fitted to data, and is not what was given."""
        laws = (self.demand, self.arrivals, self.io_bursts, self.cpu_bursts)
        return any(law is not None and law.fitted_to is not None for law in laws)

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


#: Where the next job starts: on the disk partition with the fewest jobs; or by the four cases of
#: time sharing, on a processor partition that is idle, and its disk too, before any other.
Placement = Literal["fewest-at-disk", "idle-first"]


@dataclass(frozen=True)
class Arrangement(Record):
    """The partitions that a policy makes of a machine, and who may start where.

    Processor partition c works on disk partition c mod K_D. Sizes of processor partitions come
    in classes, larger ones first. A model asks this record what it needs to know; it never asks
    which policy made it.

    Parameters
    ----------
    system : System
    processor_partitions : int
        K_P; where the processors are divided anew, the most partitions there may be.
    disk_partitions : int
        K_D as asked for; at most K_P of them are used.
    max_running : int
        Most jobs that run.
    sizes : tuple of int, optional
        Processors of each processor partition in falling order; None for sizes as equal as can be.
    multiprogramming : int
        Most jobs on one processor partition.
    placement : {"fewest-at-disk", "idle-first"}
        Where the next job starts.
    cpu_discipline : {"fcfs", "ps"}
        How computation bursts on the same processors get their turn.
    repartitioned : bool
        Whether the processors are divided anew among the running jobs, P / k for each of k.
    overheads : tuple of PhaseType
        Law of the time that dividing takes, in seconds, for each number of jobs that share the
        processors afterwards; empty where it takes none.
    whole : bool
        Whether sizes that were not given are whole numbers, as on a real machine; else their mean.

    Raises
    ------
    ModelError
        If the parts do not go together, such as several jobs on a partition without a placement
        that knows about them.

    Examples
    --------
    >>> three = Arrangement(System(processors=16, disks=4), 3, 2, max_running=3)
    >>> three.partition_sizes, three.disk_of, three.slots
    ((6.0, 5.0, 5.0), (0, 1, 0), ((1, 1), (0, 1)))
    >>> three.at_mean_sizes().slots
    ((2,), (1,))
    """

    system: System
    processor_partitions: int
    disk_partitions: int
    max_running: int
    sizes: tuple[int, ...] | None = None
    multiprogramming: int = 1
    placement: Placement = "fewest-at-disk"
    cpu_discipline: str = "fcfs"
    repartitioned: bool = False
    overheads: tuple[PhaseType, ...] = ()
    whole: bool = True

    def __post_init__(self) -> None:
        one_of("placement", self.placement, get_args(Placement))
        one_of("cpu_discipline", self.cpu_discipline, ("fcfs", "ps"))
        counts = ("processor_partitions", "disk_partitions", "max_running", "multiprogramming")
        for name in counts:
            whole_number(name, getattr(self, name), least=1)
        if self.multiprogramming > 1 and self.placement != "idle-first":
            raise ModelError(
                f'multiprogramming = {self.multiprogramming} needs placement = "idle-first": no '
                f"model knows another rule for partitions that hold several jobs"
            )
        if self.sizes is not None and len(self.sizes) != self.processor_partitions:
            raise ModelError(f"{len(self.sizes)} sizes for {self.processor_partitions} processor partitions")
        if self.overheads and not self.repartitioned:
            raise ModelError("overheads are the time of dividing anew; set repartitioned = True")
        if len(self.overheads) not in (0, self.max_running):
            raise ModelError(
                f"{len(self.overheads)} overheads for 1 to {self.max_running} jobs; give one each"
            )

    def at_mean_sizes(self) -> Arrangement:
        """The same with every size that was not given at its mean, such as P / K_P."""
        return replace(self, whole=False)

    def with_room_for(self, jobs: int) -> Arrangement:
        """The same with room for no more than so many jobs on a processor partition."""
        most = min(self.max_running, jobs * self.processor_partitions)
        return replace(self, multiprogramming=jobs, max_running=most)

    @property
    def used_disk_partitions(self) -> int:
        """Disk partitions that any job works on, min(K_P, K_D)."""
        return min(self.disk_partitions, self.processor_partitions)

    @property
    def disks(self) -> float:
        """Disks of a disk partition that is used, at its mean size; D / K_D where that is whole."""
        return sum(self.disk_sizes) / self.used_disk_partitions

    @cached_property
    def disk_sizes(self) -> tuple[float, ...]:
        """Whole numbers of disks of the disk partitions that are used, larger ones first."""
        return whole_sizes(self.system.disks, self.disk_partitions, self.used_disk_partitions)

    @property
    def disk_of(self) -> tuple[int, ...]:
        """Disk partition that each processor partition works on."""
        return tuple(c % self.used_disk_partitions for c in range(self.processor_partitions))

    @cached_property
    def partition_sizes(self) -> tuple[float, ...]:
        """Processors of each processor partition, larger ones first."""
        if self.sizes is not None:
            return tuple(float(n) for n in self.sizes)
        if self.whole:
            return whole_sizes(self.system.processors, self.processor_partitions)
        mean = self.system.processors / self.processor_partitions
        return (mean,) * self.processor_partitions

    @cached_property
    def size_classes(self) -> tuple[float, ...]:
        """Different sizes of processor partitions, larger ones first."""
        return tuple(sorted(set(self.partition_sizes), reverse=True))

    @cached_property
    def slots(self) -> tuple[tuple[int, ...], ...]:
        """Processor partitions of each disk partition that is used, by class of size."""
        used = self.used_disk_partitions
        if self.repartitioned:
            # jobs are spread evenly over the disks, so no disk ever holds more than this
            return ((-(-self.max_running // used),),) * used
        return tuple(
            tuple(self.partition_sizes[disk::used].count(size) for size in self.size_classes)
            for disk in range(used)
        )

    def processors(self, size_class: int, running: int) -> float:
        """Processors of a job on a partition of a class, while so many jobs run."""
        return self.system.processors / running if self.repartitioned else (self.size_classes[size_class])

    def mean_processors(self, running: int) -> float:
        """Processors of a job, averaged over the partitions."""
        counts = np.sum(self.slots, axis=0)
        sizes = [self.processors(kind, running) for kind in range(counts.size)]
        return float(counts @ sizes / counts.sum())

    @property
    def private(self) -> bool:
        """Whether no two jobs ever share a disk partition."""
        return all(sum(slots) * self.multiprogramming <= 1 for slots in self.slots)

    @property
    def disks_in_turn(self) -> bool:
        """Whether jobs share disk partitions, and those serve them one after the other."""
        return self.system.disk_discipline != "ps" and not self.private

    @property
    def unequal_sizes(self) -> bool:
        """Whether sizes of processor partitions were given that are not all the same."""
        return len(set(self.sizes or ())) > 1

    @property
    def one_job_each(self) -> bool:
        """Whether every processor partition takes one job, and all may be taken at once."""
        return self.multiprogramming == 1 and self.max_running == self.processor_partitions

    @property
    def places_alike(self) -> bool:
        """Whether every rule of placement comes to the same: a job on each, on one disk or on its own."""
        return self.one_job_each and (self.used_disk_partitions == 1 or self.private)

    @property
    def whole_disks(self) -> bool:
        """Whether all disk partitions that are used have as many disks."""
        return len(set(self.disk_sizes)) == 1

    @property
    def sizes_hold(self) -> bool:
        """Whether every partition has the size that this record says it has."""
        processors = self.system.processors % self.processor_partitions == 0
        given = self.repartitioned or self.sizes is not None or self.whole
        return self.whole_disks and (processors or given)


def spread(jobs: int, partitions: int) -> list[int]:
    """Jobs on each of `partitions` when they are spread as evenly as can be."""
    each, extra = divmod(jobs, partitions)
    return [each + 1] * extra + [each] * (partitions - extra)


def whole_sizes(units: int, partitions: int, first: int | None = None) -> tuple[float, ...]:
    """Whole sizes as equal as can be, larger ones first; of all partitions, or of so many first ones."""
    each, extra = divmod(units, partitions)
    listed = partitions if first is None else first
    larger = min(extra, listed)
    return (each + 1.0,) * larger + (float(each),) * (listed - larger)
