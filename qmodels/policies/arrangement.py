"""Who may run where under a policy: the one record that models and the simulator read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from phasefit import PhaseType
from phasefit.checks import one_of, whole_number
from qmodels.errors import ModelError
from qmodels.policies.system import System

#: Where the next job starts: on the disk partition with the fewest jobs; or by the four cases of
#: time sharing, on a processor partition that is idle, and its disk too, before any other.
Placement = Literal["fewest-at-disk", "idle-first"]


@dataclass(frozen=True)
class Arrangement:
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
            raise ModelError(
                f"{len(self.sizes)} sizes for {self.processor_partitions} processor partitions"
            )
        if self.overheads and not self.repartitioned:
            raise ModelError("overheads are the time of dividing anew; set repartitioned = True")
        if len(self.overheads) not in (0, self.max_running):
            raise ModelError(
                f"{len(self.overheads)} overheads for 1 to {self.max_running} jobs; give one each"
            )

    def at_mean_sizes(self) -> Arrangement:
        """The same with every size that was not given at its mean, such as P / K_P."""
        return replace(self, whole=False)

    @property
    def used_disk_partitions(self) -> int:
        """Disk partitions that any job works on, min(K_P, K_D)."""
        return min(self.disk_partitions, self.processor_partitions)

    @property
    def disks(self) -> float:
        """Disks of a disk partition at its mean size, D / K_D."""
        return self.system.disks / self.disk_partitions

    @property
    def disk_sizes(self) -> tuple[float, ...]:
        """Whole numbers of disks of the disk partitions that are used, larger ones first."""
        return whole_sizes(self.system.disks, self.disk_partitions)[: self.used_disk_partitions]

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
        return (
            self.system.processors / running
            if self.repartitioned
            else (self.size_classes[size_class])
        )

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
    def whole_disks(self) -> bool:
        """Whether every disk partition has D / K_D disks, a whole number."""
        return self.system.disks % self.disk_partitions == 0

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


def whole_sizes(units: int, partitions: int) -> tuple[float, ...]:
    """Whole sizes as equal as can be, larger ones first."""
    return tuple(float(n) for n in spread(units, partitions))
