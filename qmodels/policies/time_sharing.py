"""Static space sharing with time sharing TS(K_P, K_D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from phasefit.checks import one_of, whole_number
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    check_disk_partitions,
    check_processor_partitions,
    groups_at_work,
    spread,
)
from qmodels.programs import AbstractProgram


@dataclass(frozen=True)
class TimeSharing(AbstractPolicy):
    """Up to M jobs on each of K_P processor partitions: one computes while others transfer.

    Parameters
    ----------
    processor_partitions, disk_partitions : int
        K_P and K_D.
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

    Running jobs are spread evenly, one to each processor partition before any gets a second;
    the speed of k jobs is that of the product-form network in equilibrium. Approximate for
    M > 1; with M = 1 it is static space sharing. Product form supposes that co-resident
    computation bursts share their processors, or are exponential. Where they take turns, a
    short job waits for the long burst of another, and a demand of scv 10 was simulated 20 to
    30 % slower than predicted at load 0.6. Crowded partitions near saturation were simulated
    up to 35 % slower at scv 2 (docs/claims.md).

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, sec. 3.5. The cap of
       M min(K_P, K_D) jobs printed there contradicts its section 4.2; see docs/design.md.
    """

    processor_partitions: int
    disk_partitions: int
    multiprogramming: int = 2
    ts_cap: str = "product"
    cpu_discipline: str = "fcfs"
    name: ClassVar[str] = "TS"

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

    @property
    def most_running(self) -> int:
        """Most jobs that run."""
        pairs = self.processor_partitions
        if self.ts_cap == "min":
            pairs = min(pairs, self.disk_partitions)
        return self.multiprogramming * pairs

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        whole_number("TS: multiprogramming", self.multiprogramming, least=1)
        check_processor_partitions(self.label, self.processor_partitions, system)
        check_disk_partitions(self.label, self.disk_partitions, system)

    def allotment(self, system: System) -> tuple[float, float]:
        """See `AbstractPolicy.allotment`."""
        p, d = system.processors, system.disks
        return p / self.processor_partitions, d / self.disk_partitions

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        pairs = self.processor_partitions
        disks = min(self.disk_partitions, pairs)
        p, d = system.processors / pairs, system.disks / self.disk_partitions
        rows = []
        for k in range(1, self.most_running + 1):
            held = spread(k, pairs)  # partition c works on disk partition c mod K_D
            rows.append(groups_at_work([held[l::disks] for l in range(disks)], program, p, d))
        whole = system.processors % pairs == 0 and system.disks % self.disk_partitions == 0
        alone = self.multiprogramming == 1 and self.disk_partitions >= pairs
        return RunningJobs.of(rows, exact=alone and whole)
