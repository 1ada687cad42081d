"""How many of the running jobs are on the larger ones of partitions that are as equal as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qmodels.markov import solve_chain
from qmodels.policies.models.disk_crowding import completions
from qmodels.policies.system import Arrangement
from qmodels.programs import AbstractProgram

Array = NDArray[np.float64]


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
    on = on_the_larger(larger, c - larger, speeds, arrival_rate, c)
    share = on / np.maximum(jobs, 1)
    share[0] = share[1]
    return np.asarray(share * kinds[0] + (1.0 - share) * kinds[1])


def on_the_larger(larger: int, others: int, speeds: Array, arrival_rate: float | None, most: int) -> Array:
    """Return the mean number of jobs on the larger partitions by that of all, (most + 1,).

    A job starts on a larger one if there is one free, and stays there. `speeds` are those of a job on
    either, by the number of all. While jobs always wait (None) only the last number is meant.
    """
    first = np.minimum(np.arange(most + 1), larger)
    if arrival_rate is None:
        return first.astype(float)
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
    return np.where(seen > 0.0, on / np.maximum(seen, 1e-300), first)
