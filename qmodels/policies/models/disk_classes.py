"""Jobs of unlike sizes and programs by the disk partition that each is on."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from qmodels.errors import ModelError
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.disk_counts import (
    DiskPartitions,
    DiskState,
    Stages,
    count_states,
    running_on_disks,
)
from qmodels.policies.models.job_classes import CountedJobs, counted_jobs, needs_classes
from qmodels.policies.models.job_stages import JobStages

#: States with all partitions taken, times the stages of arrivals, and of all levels, up to which it is
#: followed who is on which disk partition.
MOST_STATES: Final = 500
_ALL_STATES: Final = 2500


@MODELS.register
class DiskClasses(AbstractModel):
    """In a stage of its demand, on its disk partition, beside the others there."""

    name = "disk-classes"
    rank = 23
    placement = "fewest-at-disk"
    followed_by = ("job-classes",)

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: as "job-classes", on few disk partitions of few jobs."""
        return needs_classes(case) and _followed(case) is not None

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If bursts have laws of their own, partitions are of several sizes, there is one disk
            partition only, or there are too many jobs and classes.

        Notes
        -----
        A job stays on its disk partition, so those behind a long burst are held up until it ends. The
        jobs of a disk partition get on as those of `JobClasses` that are together on one.
        """
        counted = _followed(case)
        if counted is None:
            raise ModelError(
                f'model="{self.name}" follows few jobs of few classes on several disk partitions; use '
                f'model="job-classes", or simulate'
            )
        on_disks = _disks(counted)
        case.check_size(
            f"the chain of {counted.arrangement.max_running} jobs of {counted.order} stages on disks",
            count_states(on_disks, counted.order),
            'use a demand law of lower order, or model="job-classes"',
        )
        running = running_on_disks(on_disks, _stages(counted), _Beside(counted))
        return BuiltModel(
            self,
            running,
            False,
            running.capacity,
            counted.simplifications,
            held_up=_longest_transfer(counted),
        )


def _longest_transfer(counted: CountedJobs) -> float:
    """Mean seconds of a transfer of the class that has the longest ones."""
    io, _ = counted.times(counted.arrangement.mean_processors(1))
    return max(float(io[n]) / each.phases for n, each in enumerate(counted.classes))


def _stages(counted: CountedJobs) -> Stages:
    """Return the stages of a job, at one end of each per unit of time."""
    moving = np.zeros(counted.order, dtype=np.bool_)
    job = JobStages(counted.alpha, counted.jumps, counted.exits, moving)
    return lambda size_class, jobs, running: job


def _disks(counted: CountedJobs) -> DiskPartitions:
    return DiskPartitions.of(counted.arrangement, shared=False, lumped=True)


def _followed(case: Case) -> CountedJobs | None:
    """Return the jobs of a case by class; None where it cannot be followed where they are."""
    at = case.arrangement
    if at.private or at.used_disk_partitions == 1:
        return None
    for counted in counted_jobs(case):
        sizes = count_states(_disks(counted), counted.order)
        few = sizes[-1] * case.workload.arrivals.order <= MOST_STATES and sum(sizes) <= _ALL_STATES
        if few and counted.affordable:
            return counted
    return None


class _Beside:
    """How fast the jobs on a disk partition get on, by the kinds of those there."""

    def __init__(self, counted: CountedJobs) -> None:
        self.counted, self.kind = counted, np.repeat(np.arange(len(counted.kinds)), counted.stages)
        self.processors = cache(counted.arrangement.mean_processors)
        self.row = {tuple(jobs): row for row, jobs in enumerate(counted.contents.tolist())}

    def _by_kind(self, here: DiskState) -> tuple[int, ...]:
        return tuple(np.bincount(self.kind, here, len(self.counted.kinds)).astype(int).tolist())

    def speeds(self, at: int, here: DiskState, running: int) -> list[float]:
        """See `Paces`."""
        jobs = self._by_kind(here)
        ended = self.counted.ended(self.processors(running))[self.row[jobs]]
        each: list[float] = (ended / np.maximum(jobs, 1))[self.kind].tolist()
        return each

    def busy(self, at: int, here: DiskState, running: int) -> tuple[float, float]:
        """See `Paces`."""
        jobs = self._by_kind(here)
        if not any(jobs):
            return 0.0, 0.0
        p = self.processors(running)
        transfer, computation = self.counted.pieces(p) @ self.counted.ended(p)[self.row[jobs]]
        return float(computation) * p, float(transfer) * self.counted.arrangement.disks
