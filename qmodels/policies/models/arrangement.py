"""Who may run where under space sharing, static and dynamic: the frame of the chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy, System, whole_sizes
from qmodels.policies.dynamic_partitioning import DynamicPartitioning
from qmodels.policies.models.disk_counts import Places
from qmodels.policies.space_sharing import SpaceSharing


@dataclass(frozen=True)
class Arrangement:
    """Processor partitions by size, and the disk partitions that they work on."""

    most: int  #: jobs that run at most
    rooms: tuple[tuple[int, ...], ...]  #: processor partitions of each disk partition, by class
    processors: Callable[[int, int], float]  #: of a job of a class, with k jobs running
    disks: float  #: disks of a partition
    whole: bool  #: whether the disk partitions have a whole number of disks
    whole_sizes: bool  #: whether they do, and the processor partitions as they were asked for
    varies: bool  #: whether a job's processors depend on the number of jobs

    @property
    def private(self) -> bool:
        """Whether no two jobs ever share a disk partition."""
        return all(sum(room) <= 1 for room in self.rooms)

    def mean_processors(self, running: int) -> float:
        """Processors of a job, averaged over the partitions."""
        counts = np.sum(self.rooms, axis=0)
        sizes = [self.processors(kind, running) for kind in range(counts.size)]
        return float(counts @ sizes / counts.sum())

    def places(self, *, shared: bool, forgetful: bool, pooled: bool = False) -> Places:
        """The disk partitions of a chain; all in one if that makes no difference, or `pooled`."""
        rooms = self.rooms
        if pooled or self.private:
            rooms = (tuple(np.sum(rooms, axis=0).tolist()),)
            rooms = (tuple(min(n, self.most) for n in rooms[0]),)
        return Places(
            rooms,
            self.most,
            self.processors,
            self.disks,
            shared and not self.private,
            forgetful,
        )


@singledispatch
def arranged(policy: AbstractPolicy, system: System, *, whole: bool) -> Arrangement:
    """Frame of a policy; `whole` for whole processors, else the mean size where none is given."""
    raise ModelError(f'{policy.label} has no chain of this kind; use model="speed-scaled"')


@arranged.register
def _(policy: SpaceSharing, system: System, *, whole: bool) -> Arrangement:
    pairs = policy.processor_partitions
    disks = min(policy.disk_partitions, pairs)
    evenly = system.disks % policy.disk_partitions == 0
    if policy.sizes is not None:
        sizes = [float(n) for n in policy.sizes]
    elif whole:
        sizes = whole_sizes(system.processors, pairs)
    else:
        sizes = [system.processors / pairs] * pairs
    classes = sorted(set(sizes), reverse=True)
    rooms = tuple(tuple(sizes[at::disks].count(size) for size in classes) for at in range(disks))
    return Arrangement(
        pairs,
        rooms,
        lambda kind, k: classes[kind],
        system.disks / policy.disk_partitions,
        evenly,
        evenly and (system.processors % pairs == 0 or policy.sizes is not None or whole),
        False,
    )


@arranged.register
def _(policy: DynamicPartitioning, system: System, *, whole: bool) -> Arrangement:
    most = system.max_processor_partitions
    disks = min(policy.disk_partitions, most)
    evenly = system.disks % policy.disk_partitions == 0
    return Arrangement(
        most,
        ((-(-most // disks),),) * disks,
        lambda kind, k: system.processors / k,
        system.disks / policy.disk_partitions,
        evenly,
        evenly,
        True,
    )
