"""Partitions that jobs are spread over evenly: how fast each goes on, by what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from phasefit.arrays import Array
from qmodels.policies.models.partition_occupancy import Held
from qmodels.policies.models.turns import private_computing, ratio_of_computing
from qmodels.policies.system import spread

#: Computation of a job as part of its transfer, at least.
_LEAST: Final = 1e-9


def even_rates(
    rows: Sequence[list[float]],
    first: Sequence[int],
    at_disk: Callable[[Held, int], dict[int, float]],
    *,
    io: float,
    processor_partitions: int,
    disk_partitions: int,
) -> list[dict[int, float]]:
    """Jobs per second of a processor partition by its jobs, for each number k of all jobs.

    Parameters
    ----------
    rows : sequence of list
        Computation of a job by the jobs of its partition, 0, 1, ..., for k = 0, 1, ...
    first : sequence of int
        The first k with the same times: such levels share what their disk partitions do.
    at_disk : callable
        Called with the jobs of the processor partitions of a disk partition and such a k;
        returns the rates of these partitions by their jobs.
    io : float
        Transfer of a job alone.
    processor_partitions, disk_partitions : int

    Notes
    -----
    Few disk partitions hold different numbers of jobs, and all ratios are searched for at once:
    one by one they took nearly all the time of a prediction.
    """
    # programs that only transfer: as little computation as lets the ratio of the two be searched
    rows = [[max(cpu, _LEAST * io) for cpu in row] for row in rows]
    found = []  # of each k: jobs of a partition, its rate, and how many like it there are
    for k in range(len(rows)):
        jobs = spread(max(k, 1), processor_partitions)
        groups = Counter(
            tuple(n for n in jobs[disk::disk_partitions] if n) for disk in range(disk_partitions)
        )
        kinds = [
            (j, rate, alike * held.count(j))
            for held, alike in groups.items()
            if held
            for j, rate in at_disk(held, first[k]).items()
        ]
        found.append([np.array(column) for column in zip(*kinds, strict=True)])
    logs = _logs_of_transfer(rows, found) if io > 0.0 else None
    even = []
    for k, (row, (_, each, count)) in enumerate(zip(rows, found, strict=True)):
        transfer = 0.0 if logs is None else float(np.exp(count @ logs[k] / count.sum()))
        jobs = spread(max(k, 1), processor_partitions)
        even.append(_rates_of_transfer(row, jobs, transfer, float(count @ each)))
    return even


def _logs_of_transfer(rows: Sequence[list[float]], found: list[list[Array]]) -> list[Array]:
    """Logarithm of the transfer of a job, as slow as its disk is, for all that was found."""
    alone = [np.array(row)[there] for row, (there, _, _) in zip(rows, found, strict=True)]
    computing = np.concatenate(alone)
    rate = np.concatenate([each for _, each, _ in found])
    jobs = np.concatenate([there for there, _, _ in found])
    ratio = ratio_of_computing(jobs, np.minimum(computing * rate, 1.0))
    return np.split(np.log(ratio * computing), np.cumsum([x.size for x in alone])[:-1])


def _rates_of_transfer(cpu: list[float], jobs: list[int], transfer: float, total: float) -> dict[int, float]:
    """Rates of partitions whose jobs transfer so long, so that all complete `total`."""
    numbers = np.arange(1, len(cpu))
    computing = np.array(cpu[1:])
    rates = private_computing(numbers, transfer / computing) / computing
    # groups of unequal size have unequal disks, so that their mean is not that of all
    rates *= total / sum(float(rates[j - 1]) for j in jobs if j)
    return dict(zip(numbers.tolist(), rates.tolist(), strict=True))
