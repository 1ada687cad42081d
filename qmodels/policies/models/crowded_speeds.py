"""One speed for all jobs that run, by how they lie on disk partitions that they share or that differ."""

from __future__ import annotations

from functools import partial

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.networks.sizes import check_queue
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import MOST_CROWDS, chain_at_one_speed
from qmodels.policies.models.disk_crowding import DiskRooms, completions, crowding
from qmodels.policies.models.larger_partitions import mean_sizes, on_the_larger
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.time_sharing_loads import TAKEN_AS_SHARED


@MODELS.register
class CrowdedSpeeds(AbstractModel):
    """In a stage of its demand, at the mean speed of so many jobs, by how they crowd on the partitions."""

    name = "crowded-speeds"
    rank = 45
    by_demand = True

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: several shared disk partitions, or partitions as equal as can be."""
        return not case.given and _lying(case) is not None

    def family(self, *, turns: bool) -> str:
        """See `AbstractModel.family`: as all models of one speed."""
        return "speed-scaled"

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If partitions were given sizes, all alike are not shared, hold several jobs at a time, or
            jobs may lie in too many ways.

        Notes
        -----
        Jobs start on the disk partition with the fewest, there on the largest processor partition, and
        leave as fast as these allow, so that the slower ones hold more of them; see `disk_crowding`.
        All that run get on at their mean speed.
        """
        lying = _lying(case)
        if lying is None:
            raise ModelError(
                f'model="{self.name}" is for few disk partitions that jobs share, or that are as equal as '
                f'can be; use model="speed-scaled"'
            )
        arrangement, (demand, reduced) = case.arrangement, case.demand
        order = case.workload.arrivals.order
        check_queue("demand", arrangement.max_running, demand.order, order, case.memory)
        saturated = lying.chain(demand, None)
        said = [*case.approximation, *reduced]
        if arrangement.disks_in_turn:
            said.append(TAKEN_AS_SHARED)
        made = partial(lying.chain, demand)
        return BuiltModel(self, saturated, False, saturated.capacity, tuple(said), at_rate=made)


def _lying(case: Case) -> _Lying | None:
    """Return how jobs lie on the partitions; None where that does not matter, or for too many ways."""
    at = case.arrangement
    if at.multiprogramming > 1:
        return None
    alike = at.repartitioned or len(set(at.partition_sizes)) == 1
    alike = alike and len(set(at.disk_sizes)) == 1
    if at.unequal_sizes or (alike and (at.private or at.used_disk_partitions == 1)):
        return None
    lying = _Lying(case)
    return lying if lying.rooms.count() <= MOST_CROWDS else None


class _Lying:
    """How jobs lie on disk partitions, some of which may have more disks or larger processor partitions."""

    def __init__(self, case: Case) -> None:
        self.at, self.program = case.arrangement, case.workload.program
        used = self.at.used_disk_partitions
        # a disk partition has the processor partitions of its number, and `used` more, and so on; those
        # of processors that are divided anew are as large as the number of jobs says
        sizes = [() if self.at.repartitioned else self.at.partition_sizes[n::used] for n in range(used)]
        rooms = [sum(slots) for slots in self.at.slots]
        each = sorted(zip(rooms, self.at.disk_sizes, sizes, strict=True), key=lambda x: -x[0])
        #: number, and what tells them apart, of unlike disk partitions; and of which kind each is
        self.unlike = list(dict.fromkeys(each))
        self.kind = [self.unlike.index(x) for x in each]
        self.rooms = DiskRooms(tuple(x[0] for x in each), self.at.max_running, tuple(x[1:] for x in each))

    def _work(self, arrival_rate: float | None, processors: float | None = None) -> Array:
        """Return completions, processors and disks at work by the jobs of each kind, (kinds, 3, y).

        Those on processor partitions of one size get on as if all were on such; given `processors`,
        every job has so many.
        """
        most, found = max(self.rooms.rooms), []
        jobs = np.arange(most + 1)
        for _, d, sizes in self.unlike:
            if processors is not None:
                sizes = (processors,) * most
            kinds = sorted(set(sizes), reverse=True)  # one or two, a processor apart
            each = np.zeros((len(kinds), 3, most + 1))
            for n, p in enumerate(kinds):
                cpu, io = float(self.program.mean_cpu(p, d)), float(self.program.mean_io(p, d))
                rate = completions(cpu, io, most) / np.maximum(jobs, 1)
                each[n] = rate, rate * cpu * p, rate * io * d
            on = jobs.astype(float)
            if len(kinds) == 2:
                larger = sizes.count(kinds[0])
                share = None if arrival_rate is None else arrival_rate / len(self.rooms.rooms)
                on = on_the_larger(larger, len(sizes) - larger, each[:, 0], share, most)
            found.append(on * each[0] + (jobs - on) * each[-1])
        return np.array(found)

    def chain(self, law: PhaseType, arrival_rate: float | None) -> RunningChain:
        """Return the chain of jobs of one law at an arrival rate, or while jobs always wait."""
        numbers = range(1, self.at.max_running + 1)
        if self.at.repartitioned or self.at.max_running < self.at.processor_partitions:
            # where a cap leaves some free, which are taken is a matter of all disk partitions
            mean = mean_sizes(self.at, self.program, arrival_rate)
            work = [self._work(arrival_rate, float(mean[k]))[self.kind] for k in numbers]
        else:
            work = [self._work(arrival_rate)[self.kind]] * len(numbers)
        lying = crowding(self.rooms, lambda k: work[k - 1][:, 0], arrival_rate)
        rows = [(0.0, 0.0, 0.0)]
        for k, own in zip(numbers, work, strict=True):
            done, processors, disks = (lying.together(k, own[:, n]) for n in range(3))
            rows.append((done, processors, disks))
        return chain_at_one_speed(law, rows)
