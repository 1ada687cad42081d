"""Constant times without failures: what a known start makes of them, and what starts could."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from qmodels.checkpoints.model import Checkpointing, Storage


@dataclass(frozen=True, eq=False)
class FromStart:
    """Means of the state that lasts for ever after some time; seconds."""

    goodput: float  #: share of kept work in the time
    write: float  #: mean
    stall: float  #: mean
    utilisation: float  #: used share of the bandwidth
    stalls: Array | None  #: equally frequent values; None where only their mean is known


def is_constant(job: Checkpointing) -> bool:
    """Return whether neither intervals nor transfers vary, and nothing fails.

    Parameters
    ----------
    job : Checkpointing
        The job.
    """
    return math.isinf(job.mtbf) and job.jitter == 0.0 and job.size_law is None


def from_start(job: Checkpointing, storage: Storage, jobs: int) -> FromStart | None:
    """Follow constant times from the start that `Checkpointing.stagger` says, for ever.

    Parameters
    ----------
    job : Checkpointing
        Each of the jobs.
    storage : Storage
        Where they write.
    jobs : int
        How many share it.

    Returns
    -------
    FromStart or None
        Exact. None where the start is random and matters, or where jobs get out of step.

    Notes
    -----
    Turns in order of request are a system of maxima and sums: a cycle takes the longest of what a
    job needs and what the storage needs for all of them, whatever the start. Where transfers
    share, jobs that start together stay together (in groups of those that are admitted), and jobs
    that are spread so that the storage is never full never meet.

    Examples
    --------
    >>> two = Checkpointing(1.0, interval=10.0, stagger="together")
    >>> found = from_start(two, Storage(1.0), 2)
    >>> round(found.goodput, 4), found.write
    (0.8333, 2.0)
    """
    if not is_constant(job) or storage.order not in ("fcfs", "reads-first"):
        return None
    most = storage.admitted(jobs)
    write, turns = job.write_alone(storage), most <= storage.full_at
    if job.timer == "work" and turns and job.mode != "asynchronous":
        cycle = max(job.interval + write, jobs * write / most)
        asks = cycle - job.interval
        # A file at one writer is as long for everybody; at several it may not be.
        same = most == 1 or asks == write or job.mode == "waiting-works"
        stall = write if job.mode == "waiting-works" else asks
        return _lasting_state(job, storage, jobs, cycle, asks, stall, same=same)
    held = _write_and_transfer_times(job, storage, jobs)
    if held is None:
        behind = job.timer == "work" and turns and job.mode == "asynchronous"
        return _state_behind_turns(job, storage, jobs) if behind else None
    writes, transfers = held
    if job.timer == "clock":
        return _state_of_clocks(job, storage, jobs, writes, transfers)
    late = np.maximum(writes - job.interval, 0.0)
    if job.mode != "asynchronous":
        # Once in file, groups come back one after the other; a smaller one gets out of step, and
        # where the storage is full they wait for each other for ever.
        if np.ptp(transfers) > 0.0 or writes[-1] > job.interval + transfers[0]:
            return None
        stall = float(transfers[0])
        return _lasting_state(job, storage, jobs, job.interval + stall, stall, stall, same=True)
    if late.any() and np.ptp(writes) > 0.0:
        return _state_behind_turns(job, storage, jobs) if turns else None
    stall = job.snapshot + float(late[0])
    mean = float(writes.mean())
    return _lasting_state(job, storage, jobs, job.interval + stall, mean, stall, same=True)


def _write_and_transfer_times(job: Checkpointing, storage: Storage, jobs: int) -> tuple[Array, Array] | None:
    """Time from request to the end of each job's write, and of the transfer in it."""
    write, most = job.write_alone(storage), storage.admitted(jobs)
    apart = jobs <= min(storage.full_at, most)
    if job.stagger == "even" and not apart:
        period = job.interval
        if job.timer == "work":
            period += job.snapshot if job.mode == "asynchronous" else write
        at_once = math.ceil(write * jobs / period * (1.0 - 1e-12))
        apart = at_once <= min(storage.full_at, most)
    if apart:
        alone = np.full(jobs, write)
        return alone, alone
    return _times_if_together(job, storage, jobs) if job.stagger == "together" else None


def _times_if_together(job: Checkpointing, storage: Storage, jobs: int) -> tuple[Array, Array]:
    """The same where all ask at once: in groups of those that are admitted, one after the other."""
    most = storage.admitted(jobs)
    places = np.arange(jobs) // most
    sizes = np.bincount(places)
    each = job.write_alone(storage) * np.maximum(1.0, sizes / storage.full_at)
    return np.cumsum(each)[places], each[places]


def _lasting_state(
    job: Checkpointing,
    storage: Storage,
    jobs: int,
    cycle: float,
    write: float,
    stall: float,
    *,
    same: bool,
) -> FromStart:
    used = jobs * job.write_alone(storage) / cycle / storage.full_at
    stalls = np.array([stall]) if same else None
    return FromStart((cycle - stall) / cycle, write, stall, used, stalls)


def _state_behind_turns(job: Checkpointing, storage: Storage, jobs: int) -> FromStart:
    """Turns behind the work that are late, or of a random start: a write's mean is not known."""
    write = job.write_alone(storage)
    cycle = job.snapshot + max(job.interval, write)
    cycle = max(cycle, jobs * write / storage.admitted(jobs))
    same = storage.admitted(jobs) == 1 or cycle == job.snapshot + max(job.interval, write)
    return _lasting_state(job, storage, jobs, cycle, math.nan, cycle - job.interval, same=same)


def _state_of_clocks(
    job: Checkpointing, storage: Storage, jobs: int, writes: Array, transfers: Array
) -> FromStart | None:
    """Clocks that strike together, or evenly spread, where all is written before the next time."""
    behind = np.full(jobs, job.snapshot)
    stands = {"blocking": writes, "waiting-works": transfers}.get(job.mode, behind)
    if float(writes.max()) + job.snapshot >= job.interval:
        return None
    tau = job.interval
    used = jobs * job.write_alone(storage) / tau / storage.full_at
    stall = float(stands.mean())
    return FromStart((tau - stall) / tau, float(writes.mean()), stall, used, np.sort(stands))


def range_of_starts(job: Checkpointing, storage: Storage, jobs: int) -> tuple[float, float]:
    """Return the least and the largest goodput that a start could lead to.

    Zero and one where times vary or fail, or a clock's writes take longer than its interval.

    Parameters
    ----------
    job : Checkpointing
        Each of the jobs.
    storage : Storage
        Where they write.
    jobs : int
        How many share it.

    Examples
    --------
    >>> low, high = range_of_starts(Checkpointing(1.0, interval=10.0), Storage(1.0), 8)
    >>> round(low, 4), round(high, 4)
    (0.5556, 0.9091)
    """
    if not is_constant(job):
        return 0.0, 1.0
    most, full, tau = storage.admitted(jobs), storage.full_at, job.interval
    write = job.write_alone(storage)
    transfer, busy = write * max(1.0, most / full), jobs * write / min(full, float(most))
    file = float(_times_if_together(job, storage, jobs)[0][-1])
    if job.timer == "clock":
        if file + job.snapshot >= tau:
            return 0.0, 1.0
        if job.mode == "asynchronous":
            return (1.0 - job.snapshot / tau,) * 2
        files, transfers = _times_if_together(job, storage, jobs)
        stands = files if job.mode == "blocking" else transfers
        return 1.0 - float(stands.mean()) / tau, 1.0 - write / tau
    if job.mode == "asynchronous":
        fast = max(job.snapshot + max(tau, write), busy)
        slow = fast if most <= full else max(job.snapshot + max(tau, file), fast)
        return tau / slow, tau / fast
    slow, fast = max(tau + transfer, busy), max(tau + write, busy)
    if job.mode == "waiting-works" and most < jobs:  # what is waited for is worked
        return (slow - transfer) / slow, (fast - write) / fast
    return tau / slow, tau / fast
