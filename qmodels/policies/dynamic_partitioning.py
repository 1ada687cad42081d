"""Dynamic partitioning DP(K_D)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    check_disk_partitions,
    groups_at_work,
    mean_times,
    powers_of_two,
    register,
    sizes_in_words,
)
from qmodels.policies.system import Arrangement, System, spread
from qmodels.programs import AbstractProgram
from qmodels.programs.model import parts
from qmodels.programs.side_by_side import times_unlike


@register
@dataclass(frozen=True)
class DynamicPartitioning(AbstractPolicy):
    """Equal shares: with i jobs running each holds P / i processors, up to N_P jobs.

    The processors are divided anew at every arrival and departure. The disks are divided into
    K_D partitions as under static space sharing.

    Parameters
    ----------
    disk_partitions : int
        K_D, how many partitions the disks are divided into.
    overhead : PhaseType or tuple of PhaseType, optional
        Time that dividing the processors takes, in seconds: one law, or one for each number
        i = 1..N_P of jobs that share them afterwards. By default it takes no time.

    Notes
    -----
    With an overhead all jobs stand still, transfers included, until the processors are divided.
    They are divided when a job starts, also the only one, and when a job leaves others behind
    and none waits; not when a waiting job takes the place of one that leaves, nor when the last
    one leaves. A job that starts in the meantime makes the dividing begin again; one that has to
    wait does not.

    A job keeps the fraction of its work that is done when its share changes. Shares of P / i are
    rounded neither up nor down. Exact where no disk partition is ever shared (K_D >= N_P) and
    every burst gains alike from processors; otherwise a job that computes gets on faster than
    one that transfers, and the model gives both the mean speed.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.4.

    Examples
    --------
    At least eight processors for each job, so that at most eight of them run on 64:

    >>> from qmodels import System
    >>> DynamicPartitioning(4).label
    'DP(4)'
    >>> DynamicPartitioning(4).arrangement(System(64, 8, min_processors=8)).max_running
    8
    """

    disk_partitions: int
    overhead: PhaseType | tuple[PhaseType, ...] | None = None
    name: ClassVar[str] = "DP"
    rank: ClassVar[int] = 1
    legend: ClassVar[str] = (
        "DP(d) is dynamic partitioning: the running jobs divide all processors equally, anew "
        "whenever one comes or goes; the disks are cut into d partitions."
    )

    def __post_init__(self) -> None:
        if isinstance(self.overhead, list):
            object.__setattr__(self, "overhead", tuple(self.overhead))
        laws = self.overhead if isinstance(self.overhead, tuple) else (self.overhead,)
        fine = bool(laws) and all(isinstance(law, PhaseType) for law in laws)
        if self.overhead is not None and not fine:
            raise ModelError(
                f"overhead must be a PhaseType or a tuple of them, in seconds; got {self.overhead!r:.60}"
            )

    @property
    def label(self) -> str:
        """As the paper writes it, with the mean overhead in seconds if there is one."""
        if self.overhead is None:
            return f"DP({self.disk_partitions})"
        laws = self.overhead if isinstance(self.overhead, tuple) else (self.overhead,)
        mean = sum(law.mean for law in laws) / len(laws)
        return f"DP({self.disk_partitions};overhead={mean:.4g}s)"

    @classmethod
    def from_label(cls, inside: str) -> AbstractPolicy:
        """See `AbstractPolicy.from_label`; a label says only the mean of an overhead."""
        if ";" in inside:
            raise ModelError("a label does not hold the law of an overhead; make the policy itself")
        return super().from_label(inside)

    def in_words(self, system: System) -> str:
        """See `AbstractPolicy.in_words`."""
        most, k = system.max_processor_partitions, self.disk_partitions
        disks = "all disks together" if k == 1 else f"the disks in {k} equal groups"
        if system.disks % k:
            disks = f"the disks in {k} groups of {sizes_in_words(system.disks, k, 'disk')}"
        cost = "" if self.overhead is None else ", which takes time"
        return (
            f"dynamic partitioning: the jobs at hand, up to {most}, divide the processors "
            f"equally{cost}; {disks}"
        )

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        check_disk_partitions(self.label, self.disk_partitions, system)
        most = system.max_processor_partitions
        if isinstance(self.overhead, tuple) and len(self.overhead) != most:
            raise ModelError(
                f"{self.label}: {len(self.overhead)} laws of the overhead for 1 to {most} jobs; "
                f"give one for each number, or a single law"
            )

    def arrangement(self, system: System) -> Arrangement:
        """See `AbstractPolicy.arrangement`."""
        max_running = system.max_processor_partitions
        laws = self.overhead or ()
        return Arrangement(
            system,
            max_running,
            self.disk_partitions,
            max_running=max_running,
            repartitioned=True,
            overheads=laws if isinstance(laws, tuple) else (laws,) * max_running,
        )

    @property
    def simplicity(self) -> tuple[int, ...]:
        """See `AbstractPolicy.simplicity`: fewer partitions first."""
        return (self.rank, self.disk_partitions)

    @classmethod
    def candidates(
        cls, system: System, *, multiprogramming: Sequence[int] = (2,)
    ) -> Iterator[DynamicPartitioning]:
        """See `AbstractPolicy.candidates`: powers of two of disk partitions, no overhead."""
        for disks in powers_of_two(system.max_disk_partitions):
            yield cls(disks)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        c, disks, at = system.max_processor_partitions, self.disk_partitions, self.arrangement(system)
        d = at.disks
        shares = system.processors / np.arange(1.0, c + 1.0)
        # Disk partitions without a job add nothing; a million of them would take seconds.
        rows = [
            groups_at_work([[1] * y for y in spread(i, min(i, disks))], program, p, d, times=times)
            for i, (p, times) in enumerate(
                zip(shares.tolist(), mean_times(program, shares, d), strict=True), start=1
            )
        ]
        alike = _bursts_scale_alike(program, shares, d)
        return RunningJobs.of(rows, exact=disks >= c and at.whole_disks and alike)


def _bursts_scale_alike(program: AbstractProgram, shares: Array, d: float) -> bool:
    """Whether each burst, of each program of a mix, takes the same part of the whole everywhere."""
    whole = program.mean_time(shares, d)
    for time in times_unlike((each for _, each in parts(program)), listed=False):
        part = time(shares, np.full_like(shares, d)) / whole
        if not np.allclose(part, part[0], rtol=1e-12, atol=0.0):
            return False
    return True
