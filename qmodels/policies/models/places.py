"""Unequal partitions: a job is as fast as its own partition and those that share its disks allow."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Final

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.disk_counts import (
    DiskPartitions,
    DiskState,
    Stages,
    count_states,
    running_on_disks,
)
from qmodels.policies.models.job_stages import JobStages
from qmodels.policies.models.shared_disk import sharing_throughput
from qmodels.policies.models.time_sharing_loads import TAKEN_AS_SHARED

#: States with all partitions taken, and of all levels, up to which every place is followed.
MOST_STATES: Final = 250
_ALL_STATES: Final = 2000


@MODELS.register
class Places(AbstractModel):
    """In a stage of its demand, on the partition of processors and disks that it was given."""

    name = "places"
    rank = 35
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: partitions of unequal size, few enough to be followed."""
        at = case.arrangement
        unequal = len(set(at.partition_sizes)) > 1 or len(set(at.disk_sizes)) > 1
        # given sizes with disks of their own are exact in the speed-scaled model, too
        if case.given or at.repartitioned or not unequal or (at.private and at.sizes):
            return False
        if case.workload.has_bursts and not at.unequal_sizes:
            return False
        sizes = count_states(places_of(case), case.demand[0].order)
        return sizes[-1] * case.workload.arrivals.order <= MOST_STATES and sum(sizes) <= _ALL_STATES

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Notes
        -----
        The jobs on a disk partition get on as in the closed network of them, each with the mean
        times of its own partition: exact in the mean of many bursts, and where no disk is shared.
        """
        arrangement, (demand, reduced) = case.arrangement, case.demand
        on_disks = places_of(case)
        case.check_size(
            f"{arrangement.max_running} jobs on partitions of {len(on_disks.slots[0])} sizes with a "
            f"demand of order {demand.order}",
            count_states(on_disks, demand.order),
            'use a demand law of lower order, fewer sizes, or model="speed-scaled"',
        )
        running = running_on_disks(on_disks, _stages(demand), _Beside(case, on_disks), demand)
        said = [*case.approximation, *reduced]
        exact = arrangement.private and not said and not case.workload.has_bursts
        if arrangement.disks_in_turn:
            said.append(TAKEN_AS_SHARED)
        return BuiltModel(self, running, exact, running.capacity, tuple(said))


def places_of(case: Case) -> DiskPartitions:
    """Return the disk partitions of a case, those of unlike partitions or disks told apart."""
    at = case.arrangement
    return DiskPartitions(
        at.slots, at.max_running, at.processors, at.disks, shared=False, lumped=True, sizes=at.disk_sizes
    )


def _stages(demand: PhaseType) -> Stages:
    """Return the stages of a job at a speed of one job per second."""
    both = np.ones(demand.order, dtype=np.bool_)
    job = JobStages(demand.alpha, demand.jumps, demand.exit, both)
    return lambda size_class, jobs, running: job


class _Beside:
    """How fast the jobs on a disk partition get on, by the sizes of their partitions."""

    def __init__(self, case: Case, on_disks: DiskPartitions) -> None:
        self.arrangement, self.program = case.arrangement, case.workload.program
        self.slots, self.order = on_disks.slots, case.demand[0].order
        self.times, self.table = cache(self._times), cache(self._table)

    def _times(self, at: int) -> tuple[Array, Array]:
        """Return mean transfer and computation of a job on each size of partition."""
        d = self.arrangement.disk_sizes[at]
        sizes = self.arrangement.size_classes
        io, cpu = (
            [float(time(p, d)) for p in sizes] for time in (self.program.mean_io, self.program.mean_cpu)
        )
        return np.array(io), np.array(cpu)

    def _table(self, at: int) -> dict[tuple[int, ...], Array]:
        """Return jobs per second of each class, by the jobs on a disk partition."""
        contents = np.array(list(product(*(range(n + 1) for n in self.slots[at]))), dtype=np.int64)
        found = sharing_throughput(contents, *self.times(at))
        return {tuple(n): each for n, each in zip(contents.tolist(), found, strict=True)}

    def _by_size(self, here: DiskState) -> tuple[int, ...]:
        """Return the jobs of a disk partition by the size of their partitions."""
        return tuple(np.reshape(here, (-1, self.order)).sum(axis=1).tolist())

    def speeds(self, at: int, here: DiskState, running: int) -> list[float]:
        """See `Paces`."""
        jobs = self._by_size(here)
        each: list[float] = np.repeat(self.table(at)[jobs] / np.maximum(jobs, 1), self.order).tolist()
        return each

    def busy(self, at: int, here: DiskState, running: int) -> tuple[float, float]:
        """See `Paces`."""
        io, cpu = self.times(at)
        done = self.table(at)[self._by_size(here)]
        p = np.array(self.arrangement.size_classes)
        return float(done @ (cpu * p)), float(done @ io) * self.arrangement.disk_sizes[at]
