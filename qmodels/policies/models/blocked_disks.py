"""Disks in turn that a large job holds up while small ones come and go on the others."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import MOST_CROWDS
from qmodels.policies.models.disk_crowding import Crowding, DiskRooms, completions, crowding
from qmodels.policies.models.job_classes import CountedJobs, counted_jobs, needs_classes
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.state_search import explored

#: Small jobs on disk partitions without a large one and beside one, and large jobs that transfer and
#: that compute.
State = tuple[int, int, int, int]

#: Probability of more large jobs at a time than are followed.
_MORE: Final = 1e-4
#: Large jobs at a time up to which they are followed, and in the mean at the capacity, if none had to
#: wait; and states of all levels.
_MOST_LARGE, _MOST_OFFERED = 8, 3.0
_MOST_STATES: Final = 60_000
#: Part of what disk partitions can carry at which it is looked how jobs lie on few of them.
_NEARLY_ALL: Final = 0.95


@MODELS.register
class BlockedDisks(AbstractModel):
    """Small, beside a large job or not, or large; those beside one wait until its transfer ends."""

    name = "blocked-disks"
    rank = 25
    placement = "fewest-at-disk"
    followed_by = ("job-classes",)

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: very variable demands in turn at several disk partitions."""
        return needs_classes(case) and _counted(case) is not None

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If disks are not served in turn, demands vary too little, or jobs are of several programs.

        Notes
        -----
        Small jobs are counted on the disk partitions without a large job, where they lie as in
        `disk_crowding`, and beside large ones, which are taken as on one partition each. A small job
        starts where the fewest are, and once it is beside a transfer of a large one it stays there until
        that ends. More large jobs at a time than the arrival rate makes likely are taken as small; where
        they are too many the jobs are those of `JobClasses`.
        """
        counted = _counted(case)
        if counted is None:
            raise ModelError(
                f'model="{self.name}" follows demands of two sizes on several disk partitions in turn; use '
                f'model="job-classes" or "speed-scaled", or simulate'
            )
        blocked = _Blocked(counted, case)
        saturated = counted.running(None) if counted.fits else None
        most = case.capacity if saturated is None else min(saturated.capacity, case.capacity)
        running = blocked.chain(0.5 * most) if saturated is None else saturated
        said, held_up = counted.simplifications, blocked.transfer
        return BuiltModel(self, running, False, most, said, at_rate=blocked.chain, held_up=held_up)


def _counted(case: Case) -> CountedJobs | None:
    """Return small jobs and large ones, whose transfers hold up others; None for other jobs."""
    at = case.arrangement
    if at.private or at.used_disk_partitions == 1 or at.repartitioned:
        return None
    for counted in counted_jobs(case):
        parts = [x.part for x in counted.kinds]
        if sorted(parts) == ["computation", "transfer", "whole"] and counted.order == 3:
            return counted if _Blocked(counted, case).offered(case.capacity) <= _MOST_OFFERED else None
    return None


class _Blocked:
    """The running jobs of a case, small ones and a few large ones."""

    def __init__(self, counted: CountedJobs, case: Case) -> None:
        self.counted, self.at = counted, counted.arrangement
        self.partitions, self.room = self.at.used_disk_partitions, counted.most
        small, large = (next(x.of for x in counted.kinds if x.part == part) for part in ("whole", "transfer"))
        io, cpu = counted.times(self.at.mean_processors(1))
        self.small_io, self.small_cpu = float(io[small]), float(cpu[small])
        #: a burst of a large job, how many it has of each kind, and the probability of one
        self.phases, self.chance = counted.classes[large].phases, counted.classes[large].weight
        self.transfer, self.computation = float(io[large]) / self.phases, float(cpu[large]) / self.phases
        self.done = completions(self.small_cpu, self.small_io, self.room)

    def offered(self, arrival_rate: float) -> float:
        """Return the mean number of large jobs at an arrival rate, were none held up."""
        return arrival_rate * self.chance * self.phases * (self.transfer + self.computation)

    def chain(self, arrival_rate: float) -> RunningChain:
        """Return the chain of the running jobs at an arrival rate."""
        offered = self.offered(arrival_rate)
        most = next((n for n in range(1, _MOST_LARGE + 1) if _more_than(n, offered) < _MORE), None)
        if most is None and self.counted.fits:
            return self.counted.running(arrival_rate)
        most = next(n for n in range(most or _MOST_LARGE, 0, -1) if n == 1 or self._count(n) <= _MOST_STATES)
        moves = _Moves(self, arrival_rate, most)
        return explored((0, 0, 0, 0), self.at.max_running, moves, moves.busy)

    def _count(self, large: int) -> float:
        """Return the states of all levels with so many large jobs, at most."""
        beside = [(g + 1) * (1 + min(g, self.partitions) * (self.room - 1)) for g in range(large + 1)]
        return float(sum(beside)) * self.at.max_running


def _more_than(number: int, mean: float) -> float:
    """Return the probability of a larger number by a Poisson law."""
    terms = np.cumprod([1.0, *(mean / np.arange(1, number + 1))])
    return float(max(1.0 - np.exp(-mean) * terms.sum(), 0.0))


class _Moves:
    """What may happen to the jobs of a state."""

    def __init__(self, jobs: _Blocked, arrival_rate: float, most: int) -> None:
        self.jobs, self.arrival_rate, self.most = jobs, arrival_rate, most
        self.free = cache(self._free)

    def _free(self, partitions: int) -> tuple[Array, list[list[tuple[int, int, float]]]]:
        """Return what small jobs do on partitions without a large one, by how many jobs they are.

        Completions per second; and the fewest jobs on one of them, how many hold as few, and the
        probability of that.
        """
        room, done = self.jobs.room, self.jobs.done
        rooms = DiskRooms((room,) * partitions, room * partitions)
        if rooms.count() > MOST_CROWDS:
            lying = Crowding.even(rooms)
        else:
            most = _NEARLY_ALL * partitions * float(done[room])
            lying = crowding(rooms, lambda k: done, min(self.arrival_rate, most))
        rates, fewest = [lying.together(k, done) for k in range(len(lying.crowds))], []
        for crowds, chances in zip(lying.crowds, lying.probabilities, strict=True):
            found: dict[tuple[int, int], float] = {}
            for crowd, x in zip(crowds, chances.tolist(), strict=True):
                least = min(crowd)
                at = least, crowd.count(least)
                found[at] = found.get(at, 0.0) + x
            fewest.append([(*at, x) for at, x in found.items()])
        return np.array(rates), fewest

    def _beside(self, state: State) -> tuple[int, float, float]:
        """Return partitions with a large job, those where one transfers, and what small ones beside do."""
        _, s, gi, gc = state
        with_large = min(gi + gc, self.jobs.partitions)
        if not with_large:
            return 0, 0.0, 0.0
        blocked = float(gi)
        if gi + gc > self.jobs.partitions:  # several on one
            blocked = with_large * (1.0 - (1.0 - 1.0 / with_large) ** gi)
        each = np.interp(s / with_large, np.arange(self.jobs.done.size), self.jobs.done)
        return with_large, blocked, (with_large - blocked) * float(each)

    def __call__(self, state: State, k: int) -> Iterator[tuple[int, State, float]]:
        """Yield jobs afterwards, state and rate of what may happen; of a start, its probability."""
        f, s, gi, gc = state
        jobs, (with_large, blocked, done) = self.jobs, self._beside(state)
        if f:
            yield k - 1, (f - 1, s, gi, gc), float(self.free(jobs.partitions - with_large)[0][f])
        if s and done > 0.0:
            yield k - 1, (f, s - 1, gi, gc), done
        if gi:
            yield k, (f, s, gi - 1, gc + 1), blocked / jobs.transfer
        if gc:
            rate = gc / jobs.computation
            if jobs.phases > 1.0:
                yield k, (f, s, gi + 1, gc - 1), rate * (1.0 - 1.0 / jobs.phases)
            # who was beside it is on a partition without a large job then, unless there are others
            here, more = divmod(s, with_large) if gi + gc <= jobs.partitions else (0, 0)
            for y, chance in ((here, 1.0 - more / with_large), (here + 1, more / with_large)):
                if chance > 0.0:
                    yield k - 1, (f + y, s - y, gi, gc - 1), rate * chance / jobs.phases
        if k < jobs.at.max_running:
            for to, chance in self._starts(state, with_large):
                yield k + 1, to, chance

    def _starts(self, state: State, with_large: int) -> Iterator[tuple[State, float]]:
        """Yield where a start leads, and the probability of that."""
        f, s, gi, gc = state
        jobs, free = self.jobs, self.jobs.partitions - with_large
        large = jobs.chance if gi + gc < self.most else 0.0
        each, more = divmod(s + gi + gc, with_large) if with_large else (jobs.room, 0)
        fewest = self.free(free)[1][f] if free else [(jobs.room, 1, 1.0)]
        for least, alike, chance in fewest:
            if least >= jobs.room or (each < least and each < jobs.room):
                share = 0.0
            elif least < each:
                share = 1.0
            else:
                share = alike / (alike + with_large - more)
            if share:
                yield (f + 1, s, gi, gc), chance * share * (1.0 - large)
            if share < 1.0:
                yield (f, s + 1, gi, gc), chance * (1.0 - share) * (1.0 - large)
            if large:  # each on a partition without another while there is one
                taken = least if free else 0
                yield (f - taken, s + taken, gi + 1, gc), chance * large

    def busy(self, state: State, k: int) -> tuple[float, float]:
        """Return processors that compute and disks that transfer."""
        f, _, _, gc = state
        jobs, (with_large, blocked, done) = self.jobs, self._beside(state)
        if f:
            done += float(self.free(jobs.partitions - with_large)[0][f])
        processors = jobs.at.mean_processors(1)
        return processors * (done * jobs.small_cpu + gc), jobs.at.disks * (done * jobs.small_io + blocked)
