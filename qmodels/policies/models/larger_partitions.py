"""How many of the running jobs are on the larger ones of partitions that are as equal as can be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.policies.models.disk_crowding import completions, occupancy_law, saturated_law
from qmodels.policies.system import Arrangement
from qmodels.programs import AbstractProgram

#: Part of what they carry up to which jobs are followed; speeds here are not quite those of the queue.
_WITHIN: Final = 1.0 - 1e-6


def mean_sizes(arrangement: Arrangement, program: AbstractProgram, arrival_rate: float | None) -> Array:
    """Return the mean processors of a job by how many run, (c + 1,), on partitions of one or two sizes.

    At an arrival rate, or while jobs always wait (None).
    """
    c, sizes = arrangement.max_running, arrangement.partition_sizes
    kinds = sorted(set(sizes), reverse=True)
    if arrangement.repartitioned or len(kinds) != 2:
        return np.array([arrangement.mean_processors(max(k, 1)) for k in range(c + 1)])
    larger, jobs = sizes.count(kinds[0]), np.arange(c + 1)
    # each as on a disk partition that holds its share of them
    used, d = arrangement.used_disk_partitions, arrangement.disks
    most, there = -(-c // used), np.maximum(jobs / used, 1.0)
    rates = [completions(float(program.mean_cpu(p, d)), float(program.mean_io(p, d)), most) for p in kinds]
    speeds = np.array([np.interp(there, np.arange(most + 1), own) / there for own in rates])
    on = on_the_larger(larger, len(sizes) - larger, speeds, arrival_rate, c)
    share = on / np.maximum(jobs, 1)
    share[0] = share[1]
    return np.asarray(share * kinds[0] + (1.0 - share) * kinds[1])


def on_the_larger(larger: int, others: int, speeds: Array, arrival_rate: float | None, most: int) -> Array:
    """Return the mean number of jobs on the larger partitions by that of all, (most + 1,).

    See `on_each_kind`, of which this is the first of two.
    """
    return on_each_kind((larger, others), speeds, arrival_rate, most)[:, 0]


def on_each_kind(kinds: Sequence[int], speeds: Array, arrival_rate: float | None, most: int) -> Array:
    """Return the mean number of jobs on partitions of each kind by that of all, (most + 1, kinds).

    A job starts on the first kind of which one is free, and stays there; beyond `most` jobs wait, and
    start as soon as one ends. `speeds` are those of a job on each kind, by the number of all. While
    jobs always wait (None) only the last number is meant. More jobs than there are partitions are on
    all of them.
    """
    if most > sum(kinds):
        found = on_each_kind(kinds, speeds, arrival_rate, sum(kinds))
        return np.concatenate([found, np.tile(np.array(kinds, dtype=float), (most - sum(kinds), 1))])
    levels: list[dict[tuple[int, ...], int]] = [{} for _ in range(most + 1)]
    for held in product(*(range(min(most, count) + 1) for count in kinds)):
        if sum(held) <= most:
            level = levels[sum(held)]
            level[held] = len(level)
    down, up = [], []
    for k in range(1, most + 1):
        here, below = levels[k], levels[k - 1]
        block, start = np.zeros((len(here), len(below))), np.zeros((len(below), len(here)))
        for held, row in here.items():
            for n, jobs in enumerate(held):
                if jobs:
                    block[row, below[_changed(held, n, -1)]] += jobs * speeds[n, k]
        for held, row in below.items():
            first = next(n for n, count in enumerate(kinds) if held[n] < count)
            start[row, here[_changed(held, first, 1)]] = 1.0
        down.append(block)
        up.append(start)
    again = down[-1] @ up[-1]  # with a job waiting, the next starts at once
    always = saturated_law(again)
    jobs_on = [np.array(list(level), dtype=float) for level in levels]
    if arrival_rate is None:
        even = [own.mean(axis=0) for own in jobs_on[:-1]]
        return np.array([*even, always @ jobs_on[-1]])
    rate = min(arrival_rate, _WITHIN * float(always @ again.sum(axis=1)))
    laws = occupancy_law(up, down, again, rate)
    return np.array([law @ own / law.sum() for law, own in zip(laws, jobs_on, strict=True)])


def _changed(held: tuple[int, ...], kind: int, by: int) -> tuple[int, ...]:
    return (*held[:kind], held[kind] + by, *held[kind + 1 :])
