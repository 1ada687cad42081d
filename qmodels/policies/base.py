"""What every policy answers for itself, how its running jobs get on, and all policies by name."""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import whole_number
from phasefit.records import Drawing, Record, Result, data_frame
from qmodels.errors import MemoryBudgetError, ModelError
from qmodels.networks import disk_group_throughput
from qmodels.policies.system import Arrangement, System, Workload, whole_sizes
from qmodels.programs import AbstractProgram, Program, WorkloadMix
from qmodels.registry import Registry
from qmodels.words import plural

if TYPE_CHECKING:
    import pandas as pd


#: Allotments times different phases that are compared for the unit of load: some seconds.
_MOST_COMPARED: Final = 40_000_000
_AT_ONCE: Final = 1_000_000  # allotments, in arrays of 8 MB
#: Jobs at a time that a model follows, and where they take turns also the jobs of a group of
#: partitions times the partitions times the jobs of all: some seconds.
MOST_RUNNING: Final = 3_000
_MOST_TURNS: Final = 120_000_000


@dataclass(frozen=True, eq=False)
class RunningJobs(Result):
    """How k = 1..c running jobs get on together, entry k - 1 of each array."""

    drawing = Drawing("running", "throughput", labels=("running jobs", "jobs/s"))

    throughput: Array  #: (c,) jobs completed per second
    processors_busy: Array  #: (c,) mean number of processors in a computation burst
    disks_busy: Array  #: (c,) mean number of disks transferring
    exact: bool  #: whether the speeds hold without approximation

    def to_frame(self) -> pd.DataFrame:
        """A row for each number of running jobs."""
        return data_frame(
            {
                "running": np.arange(1, self.throughput.size + 1),
                "throughput": self.throughput,
                "processors_busy": self.processors_busy,
                "disks_busy": self.disks_busy,
            }
        )

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


class AbstractPolicy(Record, abc.ABC):
    """A rule for sharing processors and disks among jobs.

    A subclass is a frozen dataclass that holds the policy's parameters; its fields are also the
    keys of a scenario's ``[[policy]]`` table. It says which parameters fit a machine, who may run
    where, and how fast k running jobs get on. Everything else is common, or has a default here.
    Enter the class with `register`, and it is in scenarios, commands, contract tests and docs.
    """

    name: ClassVar[str]  #: short name, ``kind`` in scenarios and figure legends
    #: How simple its kind is among policies that do equally well; 0 is the simplest.
    rank: ClassVar[int] = 3
    #: What its labels say, in a sentence for a reader who knows none; "" leaves it out of legends.
    legend: ClassVar[str] = ""

    @property
    @abc.abstractmethod
    def label(self) -> str:
        """As the paper writes it, such as SP(4,16)."""

    @abc.abstractmethod
    def check(self, system: System) -> None:
        """Raise ModelError if the policy's partitions do not fit the machine."""

    @abc.abstractmethod
    def arrangement(self, system: System) -> Arrangement:
        """Who may run where on a machine that the policy fits."""

    @abc.abstractmethod
    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """Throughput and utilisation for every number of running jobs."""

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Smaller comes first among policies that do equally well."""
        return (self.rank,)

    def in_words(self, system: System) -> str:
        """What the label says, for a reader who does not know it."""
        return f"the policy {self.name} on {system.processors} processors"

    def capacity_error(self, workload: Workload) -> float:
        """Relative error of the capacity stated for a workload; 0 where it is not in doubt.

        `validation.simulate` refuses loads beyond the capacity, but within this error it plays
        them and says so.
        """
        return 0.0

    @classmethod
    def candidates(
        cls, system: System, *, multiprogramming: Sequence[int] = (2,)
    ) -> Iterable[AbstractPolicy]:
        """Policies of this kind worth considering on a machine where none were named.

        `multiprogramming` lists the levels to consider, for kinds that have one.
        """
        return ()

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Iterator[AbstractPolicy]:
        """Policies that a table of a scenario stands for.

        The keys are fields of the class. A list stands for each of its values in turn, several
        lists for every combination, that of the first field running fastest; any other value,
        a tuple too, is the value of its field.
        """
        names = [f.name for f in fields(cls) if f.name in table]  # type: ignore[arg-type]
        lists = [v if isinstance(v, list) else [v] for v in (table[name] for name in names)]
        for values in product(*reversed(lists)):
            yield cls(**dict(zip(names, reversed(values), strict=True)))

    @classmethod
    def from_label(cls, inside: str) -> AbstractPolicy:
        """The policy whose label has `inside` in its brackets; see `qmodels.policies.parse_policy`.

        Whole numbers between commas, one for each field without a default, unless a class says
        more.
        """
        parts = inside.split(",") if inside else []
        if not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
            raise ModelError(f"{inside[:40]!r} are no whole numbers between commas")
        own: Any = cls
        wanted = [f.name for f in fields(own) if f.init and f.default is f.default_factory]
        if len(parts) != len(wanted):
            raise ModelError(f"give {len(wanted)} numbers ({', '.join(wanted)}), not {len(parts)}")
        return cls(*map(int, parts))

    def record(self) -> dict[str, Any]:
        """The label, and the fields that a scenario would name."""
        return {"label": self.label, "kind": self.name} | super().record()

    def allotment(self, system: System) -> tuple[float, float]:
        """Mean processors and disks of a job while all partitions are taken."""
        arrangement = self.arrangement(system)
        processors = system.processors if arrangement.sizes is None else sum(arrangement.sizes)
        return processors / arrangement.processor_partitions, arrangement.disks


def _check_policy(policy: type[AbstractPolicy]) -> None:
    if not is_dataclass(policy):
        raise ModelError(f"policy {policy.__qualname__} must be a frozen dataclass")


#: Every policy by its short name, the simplest kind first. Scenarios, default candidates, contract
#: tests and the reference page read this.
POLICIES: Registry[AbstractPolicy] = Registry(
    AbstractPolicy, "policy", check=_check_policy, order=lambda policy: policy.rank
)

register, find_policy = POLICIES.register, POLICIES.find


def label_options(inside: str, known: Sequence[str]) -> tuple[str, dict[str, str]]:
    """What stands before the first semicolon of a label, and what is set behind it.

    Examples
    --------
    >>> label_options("2,2;M=3;cpu=ps", ("m", "cpu"))
    ('2,2', {'m': '3', 'cpu': 'ps'})
    """
    numbers, *rest = inside.split(";")
    pairs = [part.casefold().partition("=") for part in rest]
    options = {key: value for key, _, value in pairs}
    if len(options) < len(pairs) or not all(key in known and value for key, _, value in pairs):
        raise ModelError(f"after the numbers may stand {', '.join(known)}, once each, as in M=3")
    return numbers, options


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, ... up to `most`."""
    return [2**i for i in range(most.bit_length()) if 2**i <= most]


def sizes_in_words(units: int, partitions: int, noun: str, first: int | None = None) -> str:
    """Sizes of partitions, of all or of so many first ones, as they are: whole numbers.

    Examples
    --------
    >>> sizes_in_words(64, 3, "processor"), sizes_in_words(8, 3, "disk", first=2)
    ('21 or 22 processors', '3 disks')
    """
    sizes = sorted({int(size) for size in whole_sizes(units, partitions, first)})
    return f"{' or '.join(map(str, sizes))} {plural(noun, sizes[-1])}"


def disks_in_words(partitions: int, disk_partitions: int, system: System) -> str:
    """Which disks the processor partitions of SP and TS work on; "" for one that has them all."""
    used = min(partitions, disk_partitions)
    each = sizes_in_words(system.disks, disk_partitions, "disk", used)
    if disk_partitions == 1:
        return "" if partitions == 1 else f"; all share the {_disks(system.disks)}"
    if partitions <= disk_partitions:
        own = f"on {each}" if partitions == 1 else f"each with {each} of its own"
        idle = system.disks - int(sum(whole_sizes(system.disks, disk_partitions, used)))
        stay = "stays" if idle == 1 else "stay"
        return f", {own}" + (f" while {_disks(idle)} {stay} idle" if idle else "")
    if partitions % disk_partitions:
        return f"; they share {disk_partitions} groups of {each}"
    return f"; every {partitions // disk_partitions} of them share {each}"


def _disks(number: int) -> str:
    return "one disk" if number == 1 else f"{number} disks"


def mean_times(program: AbstractProgram, p: ArrayLike, d: float) -> list[tuple[float, float]]:
    """Mean computation and mean I/O of a job on each number of processors, at once."""
    p = np.atleast_1d(np.asarray(p, dtype=float))
    return list(zip(program.mean_cpu(p, d).tolist(), program.mean_io(p, d).tolist(), strict=True))


def groups_at_work(
    jobs_by_disk: list[list[int]],
    program: AbstractProgram,
    p: float,
    d: float,
    *,
    times: tuple[float, float] | None = None,
) -> tuple[float, float, float]:
    """Throughput, busy processors and busy disks when partitions of p processors share disks.

    `jobs_by_disk` lists, for each disk partition of d disks, the jobs that each of its processor
    partitions holds; `times` are what `mean_times` says, where that is known.
    """
    cpu, io = mean_times(program, p, d)[0] if times is None else times
    once: dict[tuple[int, ...], float] = {}  # most groups hold the same numbers of jobs
    rates = []
    for jobs in map(tuple, jobs_by_disk):
        if jobs not in once:
            once[jobs] = disk_group_throughput(cpu, io, jobs)
        rates.append(once[jobs])
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
    _check_running(policy, system)
    return _running_jobs(policy, system, workload.program)


def _check_running(policy: AbstractPolicy, system: System) -> None:
    """MemoryBudgetError for a policy that runs more jobs at once than a model can follow."""
    at = policy.arrangement(system)
    jobs, groups = at.max_running, max(1, min(at.processor_partitions, at.disk_partitions))
    if jobs > MOST_RUNNING:
        raise MemoryBudgetError(
            f"{policy.label}: {jobs:,} jobs at once are more than the {MOST_RUNNING:,} that a "
            f"model can follow; use fewer partitions or, of jobs that divide the machine, a "
            f"min_processors of {-(-system.processors // MOST_RUNNING):,}"
        )
    if at.multiprogramming == 1:
        return
    work = jobs * -(-at.processor_partitions // groups) * -(-jobs // groups)
    if work > _MOST_TURNS:
        fewer = int(at.processor_partitions * (_MOST_TURNS / work) ** (1 / 3))
        raise MemoryBudgetError(
            f"{policy.label}: {jobs:,} jobs that take turns on {at.processor_partitions:,} "
            f"partitions with {at.disk_partitions:,} of disks are more than a model can follow; "
            f"use at most about {fewer:,} processor partitions, or more disk partitions"
        )


# Of a few numbers each, so that many can be kept.
@lru_cache(maxsize=512)
def _running_jobs(policy: AbstractPolicy, system: System, program: AbstractProgram) -> RunningJobs:
    return policy.running(system, program)


@lru_cache(maxsize=512)  # one number each
def work_bound(system: System, program: AbstractProgram) -> float:
    """Arrival rate that no policy can exceed, in jobs per second: the unit of *load*.

    Parameters
    ----------
    system : System
    program : Program or WorkloadMix

    Returns
    -------
    float
        Jobs per second.

    Raises
    ------
    ModelError
        If the program neither computes nor transfers.
    MemoryBudgetError
        If the machine has too many allotments to be compared.

    Notes
    -----
    The least work over all allotments of the machine: processor-seconds of the parallel
    computation and disk-seconds of the parallel I/O, so ``min(P / Z_CPU, D / Z_IO)`` with
    sequential parts left out. They take time but are counted as no work, since how many
    processors wait for them is the policy's choice; a centre that has nothing but sequential
    parts counts them on its least allotment.

    Examples
    --------
    >>> from qmodels import Phase, System
    >>> work_bound(System(processors=16, disks=16), Program([Phase(io=16.0, cpu=1024.0)]))
    0.015625
    """
    return min(work_bounds(system, program).values())


def work_bounds(system: System, program: AbstractProgram) -> dict[str, float]:
    """Arrival rates that the processors and the disks by themselves cannot exceed.

    Returns
    -------
    dict
        Jobs per second by "processors" and "disks", of those for which the program has work;
        the lesser is `work_bound`.

    Raises
    ------
    ModelError, MemoryBudgetError
        As for `work_bound`.

    Examples
    --------
    >>> from qmodels import Phase, System
    >>> work_bounds(System(processors=16, disks=16), Program([Phase(io=16.0, cpu=1024.0)]))
    {'processors': 0.015625, 'disks': 1.0}
    """
    _check_allotments(system, program)
    centres = (
        ("processors", system.processors, 0, program.parallel_cpu, program.mean_cpu),
        ("disks", system.disks, 1, program.parallel_io, program.mean_io),
    )
    bounds = {}
    for name, units, own, parallel, mean in centres:
        work, most = math.inf, 0.0
        for allotment in _allotments(system):
            found = allotment[own] * parallel(*allotment)
            work, most = min(work, float(np.min(found))), max(most, float(np.max(found)))
        if not most > 0:
            work = min(float(np.min(each[own] * mean(*each))) for each in _allotments(system))
        if work > 0:
            bounds[name] = units / work
    if not bounds:
        raise ModelError("the program neither computes nor transfers: its load is not defined")
    return bounds


def _allotments(system: System) -> Iterator[tuple[Array, Array]]:
    """All allotments of the machine, (k, 1) processors and (1, m) disks at a time."""
    d = np.arange(system.min_disks, system.disks + 1, dtype=float)[None, :]
    step = max(1, _AT_ONCE // d.size)
    for first in range(system.min_processors, system.processors + 1, step):
        last = min(first + step, system.processors + 1)
        yield np.arange(first, last, dtype=float)[:, None], d


def _terms(program: AbstractProgram) -> int:
    """How many different bursts of a program are asked for their times on each allotment."""
    if not isinstance(program, (Program, WorkloadMix)):
        return 1
    return max(len(each.parallel) + len(each.sequential) - 1 for each in program.sums.values())


def _check_allotments(system: System, program: AbstractProgram) -> None:
    """MemoryBudgetError for a machine whose allotments are too many to be compared."""
    lines = system.processors - system.min_processors + 1
    columns = system.disks - system.min_disks + 1
    phases = _terms(program)
    most = _MOST_COMPARED // phases
    if lines * columns > most:
        raise MemoryBudgetError(
            f"a machine of {system.processors:,} processors and {system.disks:,} disks has "
            f"{lines * columns:,} allotments, more than the {most:,} that can be compared for the "
            f"unit of load of a program of {phases:,} different phases; use at most "
            f"{max(most // columns, 1):,} processors with as many disks, or count nodes as one"
        )


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
            f"{label}: {partitions} {what} partitions of {units} {plural(what, units)} leave "
            f"{units // partitions} each, fewer than the least allotment of {least}; "
            + (f"use 1 to {units // least} partitions" if units >= 2 * least else "use 1 partition")
        )
