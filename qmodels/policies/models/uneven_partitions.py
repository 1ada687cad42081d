"""Partitions as equal as can be: a job's speed is that of so many, by how they lie on the unequal ones."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from phasefit import PhaseType
from qmodels.errors import ModelError
from qmodels.markov import solve_chain
from qmodels.networks.sizes import check_queue
from qmodels.policies.models.base import MODELS, AbstractModel, BuiltModel, Case
from qmodels.policies.models.crowding import MOST_CROWDS, chain_at_one_speed
from qmodels.policies.models.disk_crowding import DiskRooms, completions, crowding
from qmodels.policies.models.policy_queue import RunningChain
from qmodels.policies.models.time_sharing_loads import TAKEN_AS_SHARED

Array = NDArray[np.float64]


@MODELS.register
class UnevenPartitions(AbstractModel):
    """In a stage of its demand, at the mean speed of so many jobs on partitions that are not all alike."""

    name = "uneven-partitions"
    rank = 45
    by_demand = True
    placement = "fewest-at-disk"

    def suits(self, case: Case) -> bool:
        """See `AbstractModel.suits`: processors or disks that do not divide among the partitions."""
        return not case.given and _lying(case) is not None

    def build(self, case: Case) -> BuiltModel:
        """See `AbstractModel.build`.

        Raises
        ------
        ModelError
            If all partitions are equal, were given sizes, or may hold jobs in too many ways.

        Notes
        -----
        Jobs start on the disk partition with the fewest, there on the largest processor partition, and
        leave as fast as these allow, so that the slower ones hold more of them; see `disk_crowding`.
        All that run get on at their mean speed.
        """
        lying = _lying(case)
        if lying is None:
            raise ModelError(
                f'model="{self.name}" is for processors and disks that do not divide among few '
                f'partitions; use model="speed-scaled"'
            )
        arrangement, (demand, reduced) = case.arrangement, case.demand
        order = case.workload.arrivals.order
        check_queue("demand", arrangement.max_running, demand.order, order, case.memory)
        saturated = lying.chain(demand, None)
        said = [*case.approximation, *reduced]
        if arrangement.system.disk_discipline != "ps" and not arrangement.private:
            said.append(TAKEN_AS_SHARED)
        at_rate = (lambda rate: lying.chain(demand, rate)) if len(lying.rooms.rooms) > 1 else None
        return BuiltModel(self, saturated, False, saturated.capacity, tuple(said), at_rate=at_rate)


def _lying(case: Case) -> _Lying | None:
    """Return how jobs lie on unequal partitions; None for equal ones, and for too many ways."""
    at = case.arrangement
    equal = len(set(at.partition_sizes)) == 1 and len(set(at.disk_sizes)) == 1
    if at.repartitioned or at.sizes or equal:
        return None
    lying = _Lying(case)
    return lying if lying.rooms.count() <= MOST_CROWDS else None


class _Lying:
    """How jobs lie on disk partitions that are unlike in disks or in processor partitions."""

    def __init__(self, case: Case) -> None:
        at, self.program = case.arrangement, case.workload.program
        used = at.used_disk_partitions
        # a disk partition has the processor partitions of its number, and `used` more, and so on
        each = sorted(
            ((at.partition_sizes[n::used], at.disk_sizes[n]) for n in range(used)),
            key=lambda x: -len(x[0]),
        )
        self.processors, self.disks = zip(*each, strict=True)
        rooms = tuple(len(sizes) for sizes in self.processors)
        self.rooms = DiskRooms(rooms, at.max_running, tuple(each))
        self.work = cache(self._work)

    def _work(self, at: int, arrival_rate: float | None) -> Array:
        """Return completions, processors and disks at work by the jobs of a disk partition, (3, y).

        Those on processor partitions of one size get on as if all were on such.
        """
        sizes, d, most = self.processors[at], self.disks[at], max(self.rooms.rooms)
        kinds = sorted(set(sizes), reverse=True)  # one or two, a processor apart
        room = [sizes.count(p) for p in kinds]
        jobs, each = np.arange(most + 1), np.zeros((len(kinds), 3, most + 1))
        for n, p in enumerate(kinds):
            cpu, io = float(self.program.mean_cpu(p, d)), float(self.program.mean_io(p, d))
            rate = completions(cpu, io, most) / np.maximum(jobs, 1)
            each[n] = rate, rate * cpu * p, rate * io * d
        on = np.minimum(jobs, room[0])[None] if len(kinds) == 2 else jobs[None]
        if len(kinds) == 2 and arrival_rate is not None:
            share = arrival_rate / len(self.rooms.rooms)
            on = _on_the_larger(room[0], room[1], each[:, 0], share, most)[None]
        on = np.concatenate([on, jobs[None] - on])[: len(kinds)]
        return np.asarray((on[:, None] * each).sum(axis=0))

    def chain(self, law: PhaseType, arrival_rate: float | None) -> RunningChain:
        """Return the chain of jobs of one law at an arrival rate, or while jobs always wait."""
        every = np.arange(len(self.rooms.rooms))
        first = {kind: n for n, kind in reversed(list(enumerate(self.rooms.kinds)))}
        work = np.array([self.work(first[kind], arrival_rate) for kind in self.rooms.kinds])
        lying = crowding(self.rooms, lambda k: work[:, 0], arrival_rate)
        rows = [(0.0, 0.0, 0.0)]
        for crowds, chances in zip(lying.crowds[1:], lying.probabilities[1:], strict=True):
            done = np.array([work[every, :, list(x)].sum(axis=0) for x in crowds])
            rows.append(tuple((chances @ done).tolist()))
        return chain_at_one_speed(law, rows)


def _on_the_larger(larger: int, others: int, speeds: Array, arrival_rate: float, most: int) -> Array:
    """Return the mean number of jobs on the larger partitions by that of all, (most + 1,).

    A job starts on a larger one if there is one free, and stays there. `speeds` are those of a job on
    either, by the number of all.
    """
    states = [(i, j) for i in range(larger + 1) for j in range(others + 1)]
    place = {state: n for n, state in enumerate(states)}
    rows, columns, rates = [], [], []
    for (i, j), here in place.items():
        to = [((i - 1, j), i * speeds[0, i + j]), ((i, j - 1), j * speeds[1, i + j])]
        to.append(((i + 1, j) if i < larger else (i, j + 1), arrival_rate))
        for state, rate in to:
            if state in place and rate > 0.0:
                rows.append(here)
                columns.append(place[state])
                rates.append(rate)
    total = np.array(states).sum(axis=1)
    chain = csr_array((rates, (rows, columns)), shape=(len(states),) * 2)
    law = solve_chain(chain, levels=total).probabilities
    seen = np.bincount(total, law, most + 1)
    on = np.bincount(total, law * np.array(states)[:, 0], most + 1)
    return np.where(seen > 0.0, on / np.maximum(seen, 1e-300), np.minimum(np.arange(most + 1), larger))
