"""Sizes of the chains of networks and queues, counted before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.memory import (
    FEWER_STATES,
    MOST_SECONDS,
    check_memory,
    check_seconds,
    memory_limit,
)

#: Bytes for one rate of the chain of a tagged job: forward, transposed and once more in between;
#: and for one of its states.
_RATE, _STATE = 36.0, 150.0
#: Bytes for a rate of a network or of one of its centres, which are stored once; for a state of the
#: network, twenty vectors; for a state of a centre, where its rates begin.
_ONCE, _VECTORS, _BEGIN = 12.0, 167.0, 12.0
#: Seconds that `solve_qbd` takes: for the cube of the phases of the homogeneous levels, for the
#: product of two levels of the boundary and the lower again, and for a level. Measured on one core
#: of a shared machine, 5 million to 2 thousand million such products, loads of 70 to 99 %.
_REPEATED, _CENSORED, _LEVEL = 2.5e-9, 0.5e-9, 8e-5


def occupancy_counts(jobs: int, stages: int) -> Array:
    """Return the number of ways to place 0..jobs jobs in stages, as floats, (jobs + 1,).

    Parameters
    ----------
    jobs : int
        Largest number of jobs.
    stages : int
        Number of stages.
    """
    counts = np.ones(jobs + 1)
    with np.errstate(over="ignore"):
        for _ in range(stages - 1):
            counts = np.cumsum(counts)
    return counts


def network_size(
    disk: PhaseType, delay: PhaseType, jobs: int, discipline: str, servers: int
) -> tuple[float, float]:
    """Return the states of the chain of a network, and the bytes to build and to solve it.

    Parameters
    ----------
    disk, delay : PhaseType
        Laws of the two centres.
    jobs : int
        Number of jobs.
    discipline : str
        Of the disk, as in `ClosedNetwork`.
    servers : int
        Servers of the disk.
    """
    _check_levels(jobs, max(disk.order, delay.order))
    with np.errstate(over="ignore", invalid="ignore"):
        disks = _disk_counts(disk, jobs, discipline, servers)
        delays = occupancy_counts(jobs, delay.order)
        queue = _rate_counts(disk, disks, jobs, discipline, servers)
        think = _rate_counts(delay, delays, jobs, "ps", jobs)
        states, away = float(disks @ delays[::-1]), {key: x[::-1] for key, x in think.items()}
        rates = queue["local"] @ delays[::-1] + disks @ away["local"]
        rates += queue["leave"] @ away["enter"] + queue["enter"] @ away["leave"]
        apart = sum(float(x.sum()) for moves in (queue, think) for x in moves.values())
        apart = _ONCE * apart + _BEGIN * float(disks.sum() + delays.sum())
        return states, _ONCE * float(rates) + _VECTORS * states + apart


def _rate_counts(law: PhaseType, states: Array, jobs: int, discipline: str, servers: int) -> dict[str, Array]:
    """Number of rates of a centre with 0..jobs jobs within its level, out of it and into it."""
    exits, starts = (float(np.count_nonzero(x)) for x in (law.exit, law.alpha))
    inner = float(np.count_nonzero(law.jumps))
    # states with a job in a given stage: those of one job fewer; a stack shows the last stage only
    held = np.append(0.0, states[:-1])
    if discipline == "lcfs-pr":
        return {"local": inner * held, "leave": exits * held, "enter": law.order * states}
    enter, leave = starts * states, exits * held
    full = min(servers, jobs) if discipline != "ps" else jobs
    if full < jobs:  # the waiting have no stage: whoever leaves is followed by a start
        held[full:] = held[full]
        leave = exits * held
        leave[full + 1 :] *= starts
        enter[full:] = states[full:]
    return {"local": inner * held, "leave": leave, "enter": enter}


def tagged_size(
    disk: PhaseType, delay: PhaseType, jobs: int, discipline: str, servers: int
) -> tuple[float, float]:
    """Return the states of the chain of a tagged job, and the bytes to build and to solve it.

    Parameters
    ----------
    disk, delay : PhaseType
        Laws of the two centres.
    jobs : int
        Number of jobs, the tagged one included.
    discipline : str
        Of the disk, as in `ClosedNetwork`.
    servers : int
        Servers of the disk.
    """
    _check_levels(jobs, max(disk.order, delay.order))
    with np.errstate(over="ignore", invalid="ignore"):
        disks = _disk_counts(disk, jobs - 1, discipline, servers)
        if discipline == "fcfs":  # what comes later does not matter, nor where it comes from
            states = float(disks.sum()) + disk.order
            return states, states * (_RATE * disk.order * (disk.order + 1.0) + _STATE)
        if discipline == "ps":
            disks = disk.order * disks
        elif discipline == "lcfs-pr":
            disks = np.cumsum(disk.order * disks)
        return _chain_size(disks, disk, delay, jobs - 1)


def _check_levels(jobs: int, stages: int) -> None:
    """Refuse what could not even be counted."""
    check_memory(f"a chain of {jobs} levels", _STATE * (jobs + 1.0) * stages, 2e10, FEWER_STATES)


def _disk_counts(disk: PhaseType, jobs: int, discipline: str, servers: int) -> Array:
    """States of the disk with 0..jobs jobs."""
    present = np.arange(jobs + 1)
    if discipline == "lcfs-pr":
        return np.asarray(float(disk.order) ** present)
    counts = occupancy_counts(jobs, disk.order)
    return counts if discipline == "ps" else counts[np.minimum(present, min(servers, jobs))]


def _chain_size(disks: Array, disk: PhaseType, delay: PhaseType, jobs: int) -> tuple[float, float]:
    delays = occupancy_counts(jobs, delay.order)
    one_less = np.append(0.0, delays[:-1])  # states of the delay with a job in a given stage
    states = float(disks @ delays[::-1])
    out = [float(np.count_nonzero(law.exit)) for law in (disk, delay)]
    into = [float(np.count_nonzero(law.alpha)) for law in (disk, delay)]
    moves = [float(np.count_nonzero(law.jumps)) for law in (disk, delay)]
    # of the jobs at the disk about half are in a given stage; under a queue one is in service
    per_disk = (moves[0] + out[0] * into[1] * max(1.0, into[0])) / min(2.0, disk.order)
    rates = per_disk * states + (moves[1] + out[1] * into[0]) * float(disks @ one_less[::-1])
    return states, _RATE * rates + _STATE * states


def check_queue(law: str, servers: int, order: int, stages: int, memory: float | None) -> None:
    """Check that a queue can be solved in the memory that there is.

    Parameters
    ----------
    law : str
        Name of the law of service, for the message.
    servers : int
        Jobs served at a time.
    order : int
        Phases of the law of service.
    stages : int
        Phases of the arrivals.
    memory : float or None
        Bytes; None for half of the machine's, and then half a minute of computing.

    Raises
    ------
    MemoryBudgetError
        If that would not do; it names an order and a number of servers that would.
    """
    limit = memory_limit(memory)

    def sizes(count: int, phases: int) -> Array:
        return stages * occupancy_counts(count, phases)

    def fits(count: int, phases: int) -> bool:
        blocks = sizes(count, phases)
        in_time = memory is not None or queue_seconds(blocks) <= MOST_SECONDS
        return queue_memory(blocks) <= limit and in_time

    lower = most_that(lambda phases: fits(servers, phases), order)
    fewer = most_that(lambda count: fits(count, order), servers)
    smaller = [f"a {law} law of lower order, at most {lower:,}"] if lower else []
    if fewer:
        smaller.append(f"fewer servers or partitions, at most {fewer:,}")
    fix = f"use {', or '.join(smaller) or 'arrivals of lower order'}"
    blocks = sizes(servers, order)
    what = (
        f"{servers:,} jobs in service of order {order:,} with arrivals of order {stages:,}, blocks "
        f"of {blocks[-1]:.6g} states,"
    )
    check_memory(what, queue_memory(blocks), limit, fix)
    check_seconds(what, queue_seconds(blocks), memory, fix)


def most_that(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to `most` that fits, 0 for none.

    Parameters
    ----------
    fits : callable
        Tells of a number whether it fits; a smaller one fits if a larger does.
    most : int
        Largest number to consider.
    """
    low, high = 0, 1
    while high <= most and fits(high):  # not from the middle: the large ones take long to judge
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def queue_seconds(sizes: Sequence[float] | Array) -> float:
    """Return about the seconds of computing that solving a queue takes.

    To within a factor of two of what was measured, and rather more than less.

    Parameters
    ----------
    sizes : sequence of float
        Phases of its levels 0 to c.
    """
    phases = np.asarray(sizes, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):
        censored = float((phases[1:] ** 2 * phases[:-1]).sum())
        return _REPEATED * float(phases[-1]) ** 3 + _CENSORED * censored + _LEVEL * phases.size


def queue_memory(sizes: Sequence[float] | Array) -> float:
    """Return the bytes that solving a queue takes; inf if too many to count.

    Parameters
    ----------
    sizes : sequence of float
        Phases of its levels 0 to c.
    """
    phases = np.asarray(sizes, dtype=float)
    with np.errstate(over="ignore"):
        squares = phases**2
        # numbers held at the same time: for the square of each level, and of the largest
        return 8.0 * (4.0 * float(squares.sum()) + 12.0 * float(squares[-1]))


def compositions(jobs: int, stages: int) -> NDArray[np.int64]:
    """Return all ways to put so many equal jobs into stages, one a row, in lexicographic order.

    Parameters
    ----------
    jobs, stages : int
        How many there are, at least one stage.

    Examples
    --------
    >>> compositions(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    bars = np.array(list(combinations(range(jobs + stages - 1), stages - 1)), dtype=np.int64)
    bars = bars.reshape(-1, stages - 1)
    low = np.hstack([np.full((len(bars), 1), -1), bars])
    high = np.hstack([bars, np.full((len(bars), 1), jobs + stages - 1)])
    return np.asarray(high - low - 1)
