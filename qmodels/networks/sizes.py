"""How large the chains of a closed network would be, counted before anything is built."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType
from qmodels.memory import FEWER_STATES, check_memory

Array = NDArray[np.float64]

#: Bytes for one rate: forward, transposed and once more in between; and for one state.
_RATE, _STATE = 36.0, 150.0


def occupancy_counts(jobs: int, stages: int) -> Array:
    """Number of ways to place 0..jobs jobs in so many stages, as floats, (jobs + 1,)."""
    counts = np.ones(jobs + 1)
    with np.errstate(over="ignore"):
        for _ in range(stages - 1):
            counts = np.cumsum(counts)
    return counts


def network_size(
    disk: PhaseType, delay: PhaseType, jobs: int, discipline: str, servers: int
) -> tuple[float, float]:
    """States of the chain of a network, and bytes to build and to solve it."""
    _check_levels(jobs, max(disk.order, delay.order))
    with np.errstate(over="ignore", invalid="ignore"):
        return _size(_disk_counts(disk, jobs, discipline, servers), disk, delay, jobs)


def tagged_size(
    disk: PhaseType, delay: PhaseType, jobs: int, discipline: str, servers: int
) -> tuple[float, float]:
    """States of the chain of a tagged job, and bytes; the others are one job fewer."""
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
        return _size(disks, disk, delay, jobs - 1)


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


def _size(disks: Array, disk: PhaseType, delay: PhaseType, jobs: int) -> tuple[float, float]:
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
