"""Dynamic partitioning DP(K_D)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    System,
    check_disk_partitions,
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
    A job keeps the fraction of its work that is done when its share changes. Shares of P / i are
    rounded neither up nor down. Exact where no disk partition is ever shared (K_D >= N_P) and
    every burst gains alike from processors; otherwise a job that computes gets on faster than
    one that transfers, and the model gives both the mean speed.

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
        check_disk_partitions(self.label, self.disk_partitions, system)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        c, disks = system.max_processor_partitions, self.disk_partitions
        d = system.disks / disks
        rows = [
            groups_at_work([[1] * y for y in spread(i, disks)], program, system.processors / i, d)
            for i in range(1, c + 1)
        ]
        alike = _bursts_scale_alike(program, [system.processors / i for i in range(1, c + 1)], d)
        return RunningJobs.of(rows, exact=disks >= c and system.disks % disks == 0 and alike)


def _bursts_scale_alike(program: AbstractProgram, shares: list[float], d: float) -> bool:
    """Whether each burst takes the same part of the whole on every share."""
    parts = []
    for p in shares:
        bursts = np.concatenate(program.phase_times(p, d))
        parts.append(bursts / bursts.sum())
    return bool(np.allclose(parts, parts[0], rtol=1e-12, atol=0.0))
