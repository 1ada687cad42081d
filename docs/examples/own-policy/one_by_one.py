"""A policy in a module of one's own: `kind = "one_by_one:OneByOne"` in a scenario names it."""

from dataclasses import dataclass
from typing import ClassVar

from qmodels.policies import AbstractPolicy, Arrangement, RunningJobs
from qmodels.policies.base import check_disk_partitions, groups_at_work


@dataclass(frozen=True)
class OneByOne(AbstractPolicy):
    """One job at a time, on all processors and a part of the disks.

    Parameters
    ----------
    disk_partitions : int
        The job has one of so many partitions of the disks.
    """

    disk_partitions: int
    name: ClassVar[str] = "one-by-one"

    @property
    def label(self):
        """What tables call it."""
        return f"one-by-one({self.disk_partitions})"

    def check(self, system):
        """Refuse a machine that it does not fit."""
        check_disk_partitions(self.label, self.disk_partitions, system)

    def arrangement(self, system):
        """Say who may run where."""
        return Arrangement(system, 1, self.disk_partitions, max_running=1)

    def running(self, system, program):
        """Say how fast the job gets on."""
        disks = system.disks / self.disk_partitions
        row = groups_at_work([[1]], program, float(system.processors), disks)
        return RunningJobs.of([row], exact=system.disks % self.disk_partitions == 0)
