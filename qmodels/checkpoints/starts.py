"""Constant times without failures: what a known start makes of them, and what starts could."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from qmodels.checkpoints.model import EqualJobs


@dataclass(frozen=True, eq=False)
class FromStart:
    """Means of the state that lasts for ever after some time; seconds."""

    goodput: float  #: share of kept work in the time
    write: float  #: mean
    stall: float  #: mean
    utilisation: float  #: used share of the bandwidth
    stalls: Array | None  #: equally frequent values; None where only their mean is known


def from_start(jobs: EqualJobs) -> FromStart | None:
    """Follow constant times from the start that `Checkpointing.stagger` says, for ever.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.

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
    >>> from qmodels.checkpoints import Checkpointing, Storage
    >>> two = Checkpointing(1.0, interval=10.0, stagger="together")
    >>> found = from_start(EqualJobs(two, Storage(1.0), 2))
    >>> round(found.goodput, 4), found.write
    (0.8333, 2.0)
    """
    job, storage, number = jobs
    if not (jobs.constant and jobs.never_fail) or storage.order not in ("fcfs", "reads-first"):
        return None
    most, write = jobs.admitted, jobs.write
    turns = most <= storage.full_at
    if job.timer == "work" and turns and job.mode != "asynchronous":
        cycle = max(job.interval + write, number * write / most)
        asks = cycle - job.interval
        # A file at one writer is as long for everybody; at several it may not be.
        same = most == 1 or asks == write or job.mode == "waiting-works"
        stall = write if job.mode == "waiting-works" else asks
        return _lasting_state(jobs, cycle, asks, stall, same=same)
    held = _write_and_transfer_times(jobs)
    if held is None:
        behind = job.timer == "work" and turns and job.mode == "asynchronous"
        return _state_behind_turns(jobs) if behind else None
    writes, transfers = held
    if job.timer == "clock":
        return _state_of_clocks(jobs, writes, transfers)
    late = np.maximum(writes - job.interval, 0.0)
    if job.mode != "asynchronous":
        # Once in file, groups come back one after the other; a smaller one gets out of step, and
        # where the storage is full they wait for each other for ever.
        if np.ptp(transfers) > 0.0 or writes[-1] > job.interval + transfers[0]:
            return None
        stall = float(transfers[0])
        return _lasting_state(jobs, job.interval + stall, stall, stall, same=True)
    if late.any() and np.ptp(writes) > 0.0:
        return _state_behind_turns(jobs) if turns else None
    stall = job.snapshot + float(late[0])
    mean = float(writes.mean())
    return _lasting_state(jobs, job.interval + stall, mean, stall, same=True)


def _write_and_transfer_times(jobs: EqualJobs) -> tuple[Array, Array] | None:
    """Time from request to the end of each job's write, and of the transfer in it."""
    (job, storage, number), write, most = jobs, jobs.write, jobs.admitted
    apart = number <= min(storage.full_at, most)
    if job.stagger == "even" and not apart:
        period = job.interval
        if job.timer == "work":
            period += job.snapshot if job.mode == "asynchronous" else write
        at_once = math.ceil(write * number / period * (1.0 - 1e-12))
        apart = at_once <= min(storage.full_at, most)
    if apart:
        alone = np.full(number, write)
        return alone, alone
    return _times_if_together(jobs) if job.stagger == "together" else None


def _times_if_together(jobs: EqualJobs) -> tuple[Array, Array]:
    """The same where all ask at once: in groups of those that are admitted, one after the other."""
    places = np.arange(jobs.number) // jobs.admitted
    sizes = np.bincount(places)
    each = jobs.write * np.maximum(1.0, sizes / jobs.storage.full_at)
    return np.cumsum(each)[places], each[places]


def _lasting_state(jobs: EqualJobs, cycle: float, write: float, stall: float, *, same: bool) -> FromStart:
    stalls = np.array([stall]) if same else None
    return FromStart((cycle - stall) / cycle, write, stall, jobs.used(cycle), stalls)


def _state_behind_turns(jobs: EqualJobs) -> FromStart:
    """Turns behind the work that are late, or of a random start: a write's mean is not known."""
    job, write = jobs.job, jobs.write
    cycle = job.snapshot + max(job.interval, write)
    cycle = max(cycle, jobs.number * write / jobs.admitted)
    same = jobs.admitted == 1 or cycle == job.snapshot + max(job.interval, write)
    return _lasting_state(jobs, cycle, math.nan, cycle - job.interval, same=same)


def _state_of_clocks(jobs: EqualJobs, writes: Array, transfers: Array) -> FromStart | None:
    """Clocks that strike together, or evenly spread, where all is written before the next time."""
    job = jobs.job
    behind = np.full(jobs.number, job.snapshot)
    stands = {"blocking": writes, "waiting-works": transfers}.get(job.mode, behind)
    if float(writes.max()) + job.snapshot >= job.interval:
        return None
    tau, stall = job.interval, float(stands.mean())
    return FromStart((tau - stall) / tau, float(writes.mean()), stall, jobs.used(tau), np.sort(stands))


def range_of_starts(jobs: EqualJobs) -> tuple[float, float]:
    """Return the least and the largest goodput that a start could lead to.

    Zero and one where times vary or fail, or a clock's writes take longer than its interval.

    Parameters
    ----------
    jobs : EqualJobs
        The jobs and their storage.

    Examples
    --------
    >>> from qmodels.checkpoints import Checkpointing, Storage
    >>> low, high = range_of_starts(EqualJobs(Checkpointing(1.0, interval=10.0), Storage(1.0), 8))
    >>> round(low, 4), round(high, 4)
    (0.5556, 0.9091)
    """
    if not (jobs.constant and jobs.never_fail):
        return 0.0, 1.0
    (job, storage, number), write, most = jobs, jobs.write, jobs.admitted
    full, tau = storage.full_at, job.interval
    transfer, busy = write * max(1.0, most / full), number * write / min(full, float(most))
    file = float(_times_if_together(jobs)[0][-1])
    if job.timer == "clock":
        if file + job.snapshot >= tau:
            return 0.0, 1.0
        if job.mode == "asynchronous":
            return (1.0 - job.snapshot / tau,) * 2
        files, transfers = _times_if_together(jobs)
        stands = files if job.mode == "blocking" else transfers
        return 1.0 - float(stands.mean()) / tau, 1.0 - write / tau
    if job.mode == "asynchronous":
        fast = max(job.snapshot + max(tau, write), busy)
        slow = fast if most <= full else max(job.snapshot + max(tau, file), fast)
        return tau / slow, tau / fast
    slow, fast = max(tau + transfer, busy), max(tau + write, busy)
    if job.mode == "waiting-works" and most < number:  # what is waited for is worked
        return (slow - transfer) / slow, (fast - write) / fast
    return tau / slow, tau / fast
