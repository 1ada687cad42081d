"""How many of the running jobs are on the larger ones of partitions that are as equal as can be."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from qmodels.policies.models.disk_crowding import completions, occupancy_law, saturated_law
from qmodels.policies.system import Arrangement
from qmodels.programs import AbstractProgram

Array = NDArray[np.float64]

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

    A job starts on a larger one if there is one free, and stays there; beyond `most` jobs wait, and
    start as soon as one ends. `speeds` are those of a job on either, by the number of all. While
    jobs always wait (None) only the last number is meant.
    """
    levels = [np.arange(max(0, k - others), min(k, larger) + 1) for k in range(most + 1)]
    down, up = [], []
    for k in range(1, most + 1):
        here, below = levels[k], levels[k - 1]
        block = np.zeros((here.size, below.size))
        for row, i in enumerate(here):
            for left, rate in ((i - 1, i * speeds[0, k]), (i, (k - i) * speeds[1, k])):
                if rate > 0.0:
                    block[row, left - below[0]] += rate
        down.append(block)
        start = np.minimum(below + 1, larger) - here[0]
        up.append((start[:, None] == np.arange(here.size)).astype(float))
    again = down[-1] @ up[-1]  # with a job waiting, the next starts at once
    first = np.minimum(np.arange(most + 1), larger).astype(float)
    always = saturated_law(again)
    if arrival_rate is not None:
        rate = min(arrival_rate, _WITHIN * float(always @ again.sum(axis=1)))
        laws = occupancy_law(up, down, again, rate)
        first = np.array([law @ own / law.sum() for law, own in zip(laws, levels, strict=True)])
    else:
        first[-1] = always @ levels[-1]
    return first
