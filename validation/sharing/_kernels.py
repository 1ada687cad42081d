"""Event loop of the job-level simulator: arrays in, arrays filled.

Every processor partition and every disk partition is a station that knows when its next burst
ends. Shared stations count in virtual time, so an event touches the station where it happens and
no other; the next event is found by looking at all stations, at most a few dozen. The loop is one
function because every call would count references to all the arrays it hands over, which takes
longer than an event.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STATIC, DYNAMIC, TIMED = 0, 1, 2
TRANSFER, COMPUTE = 0, 1
PS, FCFS, SIRO = 0, 1, 2


@njit(cache=True, nogil=True, error_model="numpy")
def _place(kind, held, limit, disk_of, on_disk, count):
    """Processor partition (static, timed) or disk partition (dynamic) for the next job, or -1.

    held (partitions,): jobs of each processor partition; disk_of (partitions,): its disk
    partition; on_disk (disks,): jobs of each disk partition; count (partitions + disks,): bursts
    in progress or waiting at each.
    """
    best, best_rank, best_jobs, best_disk = -1, 0, 0, 0
    if kind == DYNAMIC:
        for k in range(on_disk.size):
            if best < 0 or on_disk[k] < best_jobs:
                best, best_jobs = k, on_disk[k]
        return best
    for c in range(held.size):
        if held[c] >= limit:
            continue
        k = disk_of[c]
        if kind == STATIC:
            rank, jobs, disk = 0, on_disk[k], k
        else:  # both idle, one idle, both busy
            rank, jobs, disk = int(count[c] > 0) + int(count[held.size + k] > 0), held[c], 0
        if (
            best < 0
            or rank < best_rank
            or (
                rank == best_rank and (jobs < best_jobs or (jobs == best_jobs and disk < best_disk))
            )
        ):
            best, best_rank, best_jobs, best_disk = c, rank, jobs, disk
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def run(
    kind,
    slots,
    limit,
    disciplines,
    arrival,
    demand,
    first_phase,
    io_factor,
    cpu_factor,
    io_time,
    cpu_time,
    disk_of,
    processors_of,
    disks_of,
    pauses,
    pause_of,
    picks,
    window,
    response,
    wait,
    busy,
):
    """Simulate jobs through one machine.

    kind: STATIC, DYNAMIC or TIMED; slots: jobs that run at most; limit: of them on a processor
    partition. disciplines (2,): PS, FCFS or SIRO at the processor and at the disk partitions.
    arrival (jobs,) in s, increasing; demand (jobs,): multiplies every burst of a job;
    first_phase (jobs + 1,): where the phases of each job begin in io_factor and cpu_factor,
    which multiply single bursts (one entry for all: (1,)). io_time, cpu_time (allotments,
    phases): mean bursts in s; an allotment is a processor partition, or the number running less
    one (dynamic). disk_of, processors_of (allotments,), disks_of (disk partitions,). pauses
    (rows, changes): seconds that nothing is served when the number running changes, row
    pause_of[number - 1] (dynamic; no rows for none). picks (n,): numbers in [0, 1) that choose
    who is next (SIRO), gone through in turn. window (2,): first and one-past-last measured job.

    Fills response and wait (jobs,) in s, NaN for jobs not finished, and busy (5,): time
    integrals between the two window arrivals of jobs in the system, jobs running, processors
    computing, disks transferring, and the time itself. Returns the number of events.
    """
    jobs = arrival.size
    phases = io_time.shape[1]
    dynamic = kind == DYNAMIC
    partitions = slots if dynamic else disk_of.size
    disks = disks_of.size
    stations = partitions + disks

    job = np.zeros(slots, np.int64)
    phase = np.zeros(slots, np.int64)
    column = np.zeros(slots, np.int64)  # of the phase in io_time and cpu_time
    stage_of = np.zeros(slots, np.int64)
    where = np.zeros(slots, np.int64)
    disk = np.zeros(slots, np.int64)
    free = np.arange(slots)[::-1].copy()
    work = np.zeros(slots)  # seconds of the burst alone; at a shared station, where it ends
    held = np.zeros(partitions, np.int64)
    on_disk = np.zeros(disks, np.int64)
    discipline_of = np.full(stations, disciplines[0])
    discipline_of[partitions:] = disciplines[1]
    members = np.zeros((stations, slots + 1), np.int64)
    count = np.zeros(stations, np.int64)
    ends = np.full(stations + 1, np.inf)  # the last: of a pause
    virtual, seen = np.zeros(stations), np.zeros(stations)
    soonest = np.zeros(stations, np.int64)

    one_io, one_cpu = io_factor.size == 1, cpu_factor.size == 1
    first, last = window[0], window[1]
    unfinished = last - first
    now, events, picked, changes = 0.0, 0, 0, 0
    running, arrived, started = 0, 0, 0
    computing, moving = 0.0, 0.0  # processors (dynamic: jobs) and disks at work
    measuring, paused = False, False
    in_system_s, running_s, computing_s, moving_s, window_s = 0.0, 0.0, 0.0, 0.0, 0.0
    while unfinished > 0:
        then = arrival[arrived] if arrived < jobs else np.inf
        i = -1
        for k in range(stations + 1):
            if ends[k] < then:
                then, i = ends[k], k
        if measuring:
            dt = then - now
            window_s += dt
            in_system_s += dt * (arrived - started + running)
            running_s += dt * running
            if not paused:
                each = processors_of[running - 1] if dynamic and running > 0 else 1.0
                computing_s += dt * computing * each
                moving_s += dt * moving
        now = then
        events += 1

        # What happens: an arrival, the end of a pause, or the end of a burst of slot s.
        before = running
        resuming = False
        s, j, stage, n, c, row = -1, 0, TRANSFER, 0, 0, 0
        if i < 0:
            if arrived == first:
                measuring = True
            elif arrived == last:
                measuring = False
            arrived += 1
        elif i == stations:
            paused, resuming = False, True
            ends[i] = np.inf
        else:
            left = count[i] - 1
            count[i] = left
            if discipline_of[i] == PS:
                s = members[i, soonest[i]]
                clock = work[s]
                virtual[i], seen[i] = clock, now
                members[i, soonest[i]] = members[i, left]
                if left > 0:
                    at, least = 0, work[members[i, 0]]
                    for k in range(1, left):
                        if work[members[i, k]] < least:
                            at, least = k, work[members[i, k]]
                    soonest[i] = at
                    ends[i] = now + max(least - clock, 0.0) * left
            else:
                s = members[i, 0]
                if left > 0:
                    at = 1
                    if discipline_of[i] == SIRO:
                        at += min(int(picks[picked] * left), left - 1)
                        picked = picked + 1 if picked + 1 < picks.size else 0
                    members[i, 0] = members[i, at]
                    for k in range(at, left):
                        members[i, k] = members[i, k + 1]
                    ends[i] = now + work[members[i, 0]]
            if left == 0:
                ends[i] = np.inf
                if i >= partitions:
                    moving -= disks_of[i - partitions]
                else:
                    computing -= 1.0 if dynamic else processors_of[i]
            j, n, c = job[s], phase[s], column[s]
            row = running - 1 if dynamic else where[s]
            if i >= partitions:
                stage = COMPUTE
            else:
                n += 1
                c = c + 1 if c + 1 < phases else 0

        # Who begins a burst: slot s its next one, or whoever waits first if there is room. Bursts
        # of no length are passed over, and so are jobs without any work.
        seconds = 0.0
        while True:
            if s < 0:
                if started == arrived or running == slots:
                    break
                place = _place(kind, held, limit, disk_of, on_disk, count)
                j = started
                started += 1
                stage, n, c = TRANSFER, first_phase[j], 0
                row = running if dynamic else place
                wait[j] = now - arrival[j]
            end = first_phase[j + 1]
            while n < end:
                if stage == TRANSFER:
                    seconds = demand[j] * io_factor[0 if one_io else n] * io_time[row, c]
                    if seconds > 0.0:
                        break
                    stage = COMPUTE
                else:
                    seconds = demand[j] * cpu_factor[0 if one_cpu else n] * cpu_time[row, c]
                    if seconds > 0.0:
                        break
                    stage = TRANSFER
                    n += 1
                    c = c + 1 if c + 1 < phases else 0
            if n < end:
                if s < 0:
                    s = free[slots - 1 - running]
                    running += 1
                    job[s] = j
                    where[s] = s if dynamic else place
                    disk[s] = place if dynamic else disk_of[place]
                    held[where[s]] += 1
                    on_disk[disk[s]] += 1
                phase[s], column[s], stage_of[s] = n, c, stage
                break
            response[j] = now - arrival[j]
            if first <= j < last:
                unfinished -= 1
            if s >= 0:
                held[where[s]] -= 1
                on_disk[disk[s]] -= 1
                running -= 1
                free[slots - 1 - running] = s
                s = -1

        if dynamic and running != before:
            # A new share: what is left of each burst keeps its fraction of the whole.
            for k in range(stations):
                clock = 0.0
                if count[k] > 0 and discipline_of[k] == PS:
                    clock = virtual[k] + (now - seen[k]) / count[k]
                for m in range(count[k]):
                    r = members[k, m]
                    if not paused:
                        if discipline_of[k] == PS:
                            work[r] = max(work[r] - clock, 0.0)
                        elif m == 0:
                            work[r] = max(ends[k] - now, 0.0)
                    table = cpu_time if stage_of[r] == COMPUTE else io_time
                    work[r] *= table[running - 1, column[r]] / table[before - 1, column[r]]
            paused, resuming = False, running > 0
            ends[stations] = np.inf
            if pauses.shape[0] > 0 and running > 0:
                pause = pauses[pause_of[running - 1], changes]
                changes = changes + 1 if changes + 1 < pauses.shape[1] else 0
                if pause > 0.0:
                    paused, resuming = True, False
                    ends[stations] = now + pause
                    for k in range(stations):
                        ends[k] = np.inf
        if s >= 0:
            k = where[s] if stage == COMPUTE else partitions + disk[s]
            present = count[k]
            if present == 0:
                if stage == COMPUTE:
                    computing += 1.0 if dynamic else processors_of[k]
                else:
                    moving += disks_of[k - partitions]
            members[k, present] = s
            count[k] = present + 1
            work[s] = seconds
            if not (paused or resuming):
                if discipline_of[k] != PS:
                    if present == 0:
                        ends[k] = now + seconds
                else:
                    clock = 0.0
                    if present > 0:
                        clock = virtual[k] + (now - seen[k]) / present
                    virtual[k], seen[k] = clock, now
                    work[s] = clock + seconds
                    if present == 0 or work[s] < work[members[k, soonest[k]]]:
                        soonest[k] = present
                    least = work[members[k, soonest[k]]]
                    ends[k] = now + max(least - clock, 0.0) * (present + 1)
        if resuming:
            for k in range(stations):
                present = count[k]
                if present == 0:
                    ends[k] = np.inf
                elif discipline_of[k] != PS:
                    ends[k] = now + work[members[k, 0]]
                else:
                    virtual[k], seen[k] = 0.0, now
                    at = 0
                    for m in range(1, present):
                        if work[members[k, m]] < work[members[k, at]]:
                            at = m
                    soonest[k] = at
                    ends[k] = now + work[members[k, at]] * present
    busy[0], busy[1], busy[2], busy[3] = in_system_s, running_s, computing_s, moving_s
    busy[4] = window_s
    return events
