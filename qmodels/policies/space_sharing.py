"""Static space sharing SP(K_P, K_D)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import whole_number
from qmodels.errors import ModelError
from qmodels.policies.base import (
    AbstractPolicy,
    RunningJobs,
    check_disk_partitions,
    check_processor_partitions,
    disks_in_words,
    groups_at_work,
    mean_times,
    powers_of_two,
    register,
    sizes_in_words,
)
from qmodels.policies.system import Arrangement, System, spread
from qmodels.programs import AbstractProgram


@register
@dataclass(frozen=True)
class SpaceSharing(AbstractPolicy):
    """K_P processor partitions, one job each, on K_D disk partitions that may be shared.

    Jobs wait in order of arrival for a processor partition and run to completion. Running jobs
    are spread evenly over the disk partitions; with K_P < K_D only K_P of them are used.

    Parameters
    ----------
    processor_partitions : int
        K_P, how many partitions the processors are divided into.
    disk_partitions : int
        K_D, how many partitions the disks are divided into.
    sizes : tuple of int, optional
        Processors of each of the K_P partitions, kept in falling order; by default P / K_P each.

    Notes
    -----
    Processor partition c works on disk partition c mod K_D. A job starts on the disk partition
    with the fewest jobs that has a free processor partition, on the first such one if there are
    several, and there on the largest free processor partition.

    Without `sizes` partitions are taken at their mean sizes P / K_P and D / K_D. Exact where no
    disk partition is shared (K_D >= K_P) and the sizes are whole; otherwise jobs are assumed
    spread evenly and the shared disks in equilibrium at every number of running jobs. With
    unequal `sizes` each job has the speed of its partition, exactly so where no disk is shared.

    References
    ----------
    .. [1] Rosti et al. 1998, sec. 3.3.

    Examples
    --------
    Four partitions of the processors, two of the disks, and three partitions of unequal sizes:

    >>> from qmodels import System
    >>> SpaceSharing(4, 2).label, SpaceSharing(3, 1, sizes=(32, 16, 16)).label
    ('SP(4,2)', 'SP(3,1;32+16+16)')
    >>> SpaceSharing(4, 2).arrangement(System(64, 8)).max_running
    4
    """

    processor_partitions: int
    disk_partitions: int
    sizes: tuple[int, ...] | None = None
    name: ClassVar[str] = "SP"
    rank: ClassVar[int] = 0
    legend: ClassVar[str] = (
        "SP(p,d) is space sharing: the processors are cut into p partitions and the disks into d, "
        "and each partition of processors runs one job at a time, which has it to itself."
    )

    def __post_init__(self) -> None:
        if self.sizes is None:
            return
        if not isinstance(self.sizes, (tuple, list)) or not self.sizes:
            raise ModelError(f"sizes must be a tuple of whole numbers, got {self.sizes!r:.60}")
        given = [whole_number("SP: sizes", n, least=1) for n in self.sizes]
        object.__setattr__(self, "sizes", tuple(sorted(given, reverse=True)))

    @property
    def label(self) -> str:
        """As the paper writes it, with the sizes of the partitions if they were given."""
        sizes = "" if self.sizes is None else ";" + "+".join(map(str, self.sizes))
        return f"SP({self.processor_partitions},{self.disk_partitions}{sizes})"

    @classmethod
    def from_label(cls, inside: str) -> AbstractPolicy:
        """See `AbstractPolicy.from_label`; behind a semicolon the sizes, such as 32+16+16."""
        numbers, semicolon, sizes = inside.partition(";")
        plain = super().from_label(numbers)
        if not semicolon:
            return plain
        if not all(part.isascii() and part.isdigit() for part in sizes.split("+")):
            raise ModelError(f"{sizes[:40]!r} are no sizes such as 32+16+16")
        return replace(plain, sizes=tuple(map(int, sizes.split("+"))))  # type: ignore[type-var]

    def in_words(self, system: System) -> str:
        """See `AbstractPolicy.in_words`."""
        k = self.processor_partitions
        disks = disks_in_words(k, self.disk_partitions, system)
        if k == 1 and self.sizes is None:
            where = "on the whole machine" if not disks else "on all processors"
            return f"space sharing: one job at a time {where}{disks}"
        if self.sizes is None:
            size = f"{sizes_in_words(system.processors, k, 'processor')} of its own"
        else:
            size = f"processors of its own ({', '.join(map(str, self.sizes))})"
        return f"space sharing: up to {k} jobs at a time, each on {size}{disks}"

    def check(self, system: System) -> None:
        """See `AbstractPolicy.check`."""
        check_processor_partitions(self.label, self.processor_partitions, system)
        check_disk_partitions(self.label, self.disk_partitions, system)
        if self.sizes is None:
            return
        if len(self.sizes) != self.processor_partitions:
            raise ModelError(
                f"{self.label}: {len(self.sizes)} sizes for {self.processor_partitions} processor "
                f"partitions; give one for each"
            )
        if sum(self.sizes) > system.processors or self.sizes[-1] < system.min_processors:
            raise ModelError(
                f"{self.label}: sizes must be at least {system.min_processors} each and at most "
                f"{system.processors} together"
            )

    def arrangement(self, system: System) -> Arrangement:
        """See `AbstractPolicy.arrangement`."""
        return Arrangement(
            system,
            self.processor_partitions,
            self.disk_partitions,
            max_running=self.processor_partitions,
            sizes=self.sizes,
        )

    @property
    def simplicity(self) -> tuple[int, ...]:
        """See `AbstractPolicy.simplicity`: fewer partitions first."""
        return (self.rank, self.processor_partitions, self.disk_partitions)

    @classmethod
    def candidates(cls, system: System, *, multiprogramming: Sequence[int] = (2,)) -> Iterator[SpaceSharing]:
        """See `AbstractPolicy.candidates`: powers of two of equal partitions."""
        for disks in powers_of_two(system.max_disk_partitions):
            for processors in powers_of_two(system.max_processor_partitions):
                yield cls(processors, disks)

    def running(self, system: System, program: AbstractProgram) -> RunningJobs:
        """See `AbstractPolicy.running`."""
        c, disks, at = self.processor_partitions, self.disk_partitions, self.arrangement(system)
        d = at.disks
        mean = system.processors / c
        sizes = [mean] * c if self.sizes is None else [float(n) for n in self.sizes]
        kinds = sorted(set(sizes))
        times = dict(zip(kinds, mean_times(program, kinds, d), strict=True))
        rows = [
            _largest_at_work(sizes[:k], spread(k, min(disks, c)), program, d, times) for k in range(1, c + 1)
        ]
        alike = system.processors % c == 0 if self.sizes is None else len(set(self.sizes)) == 1
        return RunningJobs.of(rows, exact=disks >= c and alike and at.whole_disks)


def _largest_at_work(
    sizes: list[float],
    jobs_by_disk: list[int],
    program: AbstractProgram,
    d: float,
    times: dict[float, tuple[float, float]],
) -> tuple[float, float, float]:
    """Throughput, busy processors and busy disks with a job on each of these partitions."""
    found: Array = np.zeros(3)
    for p in sorted(set(sizes), reverse=True):
        # as if all jobs held partitions of this size, by the share of those that do
        share = sizes.count(p) / len(sizes)
        jobs = [[1] * y for y in jobs_by_disk]
        found += share * np.array(groups_at_work(jobs, program, p, d, times=times[p]))
    throughput, processors, disks = found.tolist()
    return throughput, processors, disks
