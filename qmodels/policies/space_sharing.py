"""Static space sharing SP(K_P, K_D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
class SpaceSharing(AbstractPolicy):
    """K_P processor partitions, one job each, on K_D disk partitions that may be shared.

    Jobs wait in order of arrival for a processor partition and run to completion. Running jobs
    are spread evenly over the disk partitions; with K_P < K_D only K_P of them are used.

    Parameters
    ----------
    processor_partitions, disk_partitions : int
        K_P and K_D.

    Notes
    -----
    Partitions are taken at their mean sizes P / K_P and D / K_D. Exact where no disk partition
    is shared (K_D >= K_P) and the sizes are whole; otherwise jobs are assumed spread evenly and
    the shared disks in equilibrium at every number of running jobs.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, sec. 3.3.
    """

    processor_partitions: int
    disk_partitions: int
    name: ClassVar[str] = "SP"

    @property
    def label(self) -> str:
        """As the paper writes it."""
        return f"SP({self.processor_partitions},{self.disk_partitions})"

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        check_processor_partitions(self.label, self.processor_partitions, system)
        check_disk_partitions(self.label, self.disk_partitions, system)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        c, disks = self.processor_partitions, self.disk_partitions
        p, d = system.processors / c, system.disks / disks
        rows = [
            groups_at_work([[1] * y for y in spread(k, min(disks, c))], program, p, d)
            for k in range(1, c + 1)
        ]
        whole = system.processors % c == 0 and system.disks % disks == 0
        return RunningJobs.of(rows, exact=disks >= c and whole)
