"""Static space sharing with time sharing TS(K_P, K_D)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from phasefit.checks import one_of, whole_number
from qmodels.errors import ModelError
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    check_disk_partitions,
    check_processor_partitions,
    disks_in_words,
    groups_at_work,
    label_options,
    mean_times,
    powers_of_two,
    register,
    sizes_in_words,
)
from qmodels.policies.system import Arrangement, System, Workload, spread
from qmodels.programs import AbstractProgram

#: Relative error of the capacity where jobs take turns: of jobs that are long or short throughout,
#: and of bursts with laws of their own, which the model takes as exponential; rounded up from what
#: was found.
TURNS_CAPACITY, BURSTS_CAPACITY = 0.02, 0.1


@register
@dataclass(frozen=True)
class TimeSharing(AbstractPolicy):
    """Up to M jobs on each of K_P processor partitions: one computes while others transfer.

    Parameters
    ----------
    processor_partitions : int
        K_P, how many partitions the processors are divided into.
    disk_partitions : int
        K_D, how many partitions the disks are divided into.
    multiprogramming : int
        M, the most jobs that a processor partition holds.
    ts_cap : {"product", "min"}
        Most jobs that run: M K_P, or M min(K_P, K_D) as the paper prints it.
    cpu_discipline : {"fcfs", "ps"}
        How computation bursts on the same processors get their turn: one at a time in order of
        arrival, or sharing.

    Notes
    -----
    A job starts (1) on a processor partition that does not compute and whose disk partition does
    not transfer, else (2) on one of which either holds, else (3) on any with fewer than M jobs;
    among equals on the one with the fewest jobs, then on the first.

    Approximate for M > 1; with M = 1 it is static space sharing. Jobs that take turns wait behind
    long ones, or fall into step where all are alike: the model "time-sharing" reckons with both,
    and states capacities within about 1 % of simulated machines. What it leaves out is that a
    long burst blocks its partition for as long as the queue grows: demands of scv 5 to 10 on
    several partitions were simulated 5 to 15 % slower than predicted. The model "speed-scaled"
    has one speed for k running jobs, that of the product-form network with jobs spread evenly;
    demands of scv 10 were simulated 20 to 30 % slower than that at load 0.6, and its capacity is
    off by -8 to +5.5 % under turns (docs/claims.md).

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.5. The cap of M min(K_P, K_D) jobs printed there contradicts its
       section 4.2; see docs/design.md.

    Examples
    --------
    Two partitions of the processors with up to three jobs each:

    >>> from qmodels import System
    >>> TimeSharing(2, 2, multiprogramming=3).label
    'TS(2,2;M=3)'
    >>> TimeSharing(2, 2, multiprogramming=3).arrangement(System(64, 8)).max_running
    6
    """

    processor_partitions: int
    disk_partitions: int
    multiprogramming: int = 2
    ts_cap: Literal["product", "min"] = "product"
    cpu_discipline: Literal["fcfs", "ps"] = "fcfs"
    name: ClassVar[str] = "TS"
    rank: ClassVar[int] = 2
    legend: ClassVar[str] = (
        "TS(p,d;M=m) is time sharing: partitions as under space sharing, but up to m jobs take "
        "turns on each partition of processors."
    )

    def __post_init__(self) -> None:
        one_of("ts_cap", self.ts_cap, ("product", "min"))
        one_of("cpu_discipline", self.cpu_discipline, ("fcfs", "ps"))

    @property
    def label(self) -> str:
        """As the paper writes it, with the multiprogramming level and what differs from default."""
        level = f"M={self.multiprogramming}"
        level += ";cap=min" if self.ts_cap == "min" else ""
        level += ";cpu=ps" if self.cpu_discipline == "ps" else ""
        return f"TS({self.processor_partitions},{self.disk_partitions};{level})"

    @classmethod
    def from_label(cls, inside: str) -> AbstractPolicy:
        """See `AbstractPolicy.from_label`; M, cap and cpu behind semicolons, or their defaults."""
        numbers, options = label_options(inside, ("m", "cap", "cpu"))
        given: dict[str, Any] = {"ts_cap": options.get("cap"), "cpu_discipline": options.get("cpu")}
        if "m" in options:
            if not (options["m"].isascii() and options["m"].isdigit()):
                raise ModelError(f"M must be a whole number, got {options['m']:.20}")
            given["multiprogramming"] = int(options["m"])
        known = {name: value for name, value in given.items() if value is not None}
        return replace(super().from_label(numbers), **known)  # type: ignore[type-var]

    @property
    def max_running(self) -> int:
        """Most jobs that run."""
        partitions = self.processor_partitions
        if self.ts_cap == "min":
            partitions = min(partitions, self.disk_partitions)
        return self.multiprogramming * partitions

    def in_words(self, system: System) -> str:
        """See `AbstractPolicy.in_words`."""
        k = self.processor_partitions
        disks = disks_in_words(k, self.disk_partitions, system)
        if k == 1:
            where = "the whole machine" if not disks else f"all processors{disks}"
        else:
            where = f"each of {k} partitions of {sizes_in_words(system.processors, k, 'processor')}{disks}"
        most = f"up to {self.multiprogramming} jobs take turns on {where}"
        if self.max_running < self.multiprogramming * k:
            most += f", {self.max_running} on all together"
        return f"time sharing: {most}"

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        whole_number("TS: multiprogramming", self.multiprogramming, least=1)
        check_processor_partitions(self.label, self.processor_partitions, system)
        check_disk_partitions(self.label, self.disk_partitions, system)

    def arrangement(self, system: System) -> Arrangement:
        """See `AbstractPolicy.arrangement`."""
        return Arrangement(
            system,
            self.processor_partitions,
            self.disk_partitions,
            max_running=self.max_running,
            multiprogramming=self.multiprogramming,
            placement="idle-first",
            cpu_discipline=self.cpu_discipline,
        )

    @property
    def simplicity(self) -> tuple[int, ...]:
        """See `AbstractPolicy.simplicity`: fewer jobs at a time, then fewer partitions first."""
        partitions = (self.processor_partitions, self.disk_partitions)
        return (self.rank, self.multiprogramming, *partitions)

    def capacity_error(self, workload: Workload) -> float:
        """See `AbstractPolicy.capacity_error`."""
        if self.multiprogramming == 1 or self.cpu_discipline != "fcfs":
            return 0.0
        return BURSTS_CAPACITY if workload.has_bursts else TURNS_CAPACITY

    @classmethod
    def candidates(cls, system: System, *, multiprogramming: Sequence[int] = (2,)) -> Iterator[TimeSharing]:
        """See `AbstractPolicy.candidates`: powers of two of partitions at each level."""
        for level in multiprogramming:
            for disks in powers_of_two(system.max_disk_partitions):
                for processors in powers_of_two(system.max_processor_partitions):
                    yield cls(processors, disks, level)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        partitions, at = self.processor_partitions, self.arrangement(system)
        used = at.used_disk_partitions
        p, d = system.processors / partitions, at.disks
        (times,) = mean_times(program, p, d)
        rows = []
        for k in range(1, self.max_running + 1):
            jobs = spread(k, partitions)  # processor partition c works on disk partition c mod K_D
            rows.append(groups_at_work([jobs[l::used] for l in range(used)], program, p, d, times=times))
        whole = system.processors % partitions == 0 and at.whole_disks
        unshared = self.multiprogramming == 1 and self.disk_partitions >= partitions
        return RunningJobs.of(rows, exact=unshared and whole)
