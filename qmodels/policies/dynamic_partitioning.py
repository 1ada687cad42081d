"""Dynamic partitioning DP(K_D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    check_partitions,
    groups_at_work,
    spread,
)
from qmodels.programs import AbstractProgram


@dataclass(frozen=True)
class DynamicPartitioning(AbstractPolicy):
    """Equal shares: with i jobs running each holds P / i processors, up to N_P jobs.

    The processors are divided anew at every arrival and departure, at no cost. The disks are
    divided into K_D partitions as under static space sharing.

    Parameters
    ----------
    disk_partitions : int
        K_D.

    Notes
    -----
    A job keeps the fraction of its work that is done when its share changes. Exact where no
    disk partition is ever shared (K_D >= N_P), with shares of P / i rounded neither up nor down.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, sec. 3.4.
    """

    disk_partitions: int
    name: ClassVar[str] = "DP"

    @property
    def label(self) -> str:
        """As the paper writes it."""
        return f"DP({self.disk_partitions})"

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        check_partitions(self.label, system, None, self.disk_partitions)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        c, disks = system.max_processor_partitions, self.disk_partitions
        d = system.disks / disks
        rows = [
            groups_at_work([[1] * y for y in spread(i, disks)], program, system.processors / i, d)
            for i in range(1, c + 1)
        ]
        return RunningJobs.of(rows, exact=disks >= c and system.disks % disks == 0)
