"""Event loop of the job-level simulator: arrays in, arrays filled.

The time to the next event is found by looking at every running job. There are at most a few
dozen, so a scan beats a heap, and shares that change with every event cost nothing extra.
"""

from __future__ import annotations

import numpy as np
from numba import njit

STATIC, DYNAMIC, TIMED = 0, 1, 2
TRANSFER, COMPUTE = 0, 1


@njit(cache=True, nogil=True)
def _place(kind, held, limit, on_cpu, disk_of, on_disk, transferring):
    """Processor partition (static, timed) or disk partition (dynamic) for the next job, or -1.

    held, on_cpu (partitions,): jobs of each processor partition, and those in a computation
    burst; disk_of (partitions,): its disk partition; on_disk, transferring (disks,): jobs of
    each disk partition, and those in an I/O burst.
    """
    best, best_rank, best_jobs = -1, 4, 0
    if kind == DYNAMIC:
        for disk in range(on_disk.size):
            if best < 0 or on_disk[disk] < best_jobs:
                best, best_jobs = disk, on_disk[disk]
        return best
    for c in range(held.size):
        if held[c] >= limit:
            continue
        disk = disk_of[c]
        if kind == STATIC:
            rank, jobs = 0, on_disk[disk]
        else:  # both idle, one idle, both busy
            rank, jobs = int(on_cpu[c] > 0) + int(transferring[disk] > 0), held[c]
        if rank < best_rank or (rank == best_rank and jobs < best_jobs):
            best, best_rank, best_jobs = c, rank, jobs
    return best


@njit(cache=True, nogil=True)
def run(
    kind,
    limit,
    cpu_sharing,
    arrival,
    first_phase,
    io_factor,
    cpu_factor,
    io_time,
    cpu_time,
    disk_of,
    processors_of,
    disks_of,
    window,
    response,
    wait,
    busy,
):
    """Simulate jobs through one machine.

    kind: STATIC, DYNAMIC or TIMED; limit: jobs per processor partition, or jobs running at most
    (dynamic); cpu_sharing: whether co-resident computation bursts share instead of taking turns.
    arrival (jobs,) in s, increasing; first_phase (jobs + 1,): where the phases of each job begin
    in io_factor and cpu_factor, which multiply the mean bursts io_time, cpu_time (allotments,
    phases) in s; an allotment is a processor partition, or the number running less one
    (dynamic). disk_of, processors_of (allotments,), disks_of (disk partitions,). window (2,):
    first and one-past-last measured job. Fills response and wait (jobs,) in s, NaN for jobs not
    finished, and busy (5,): time integrals between the two window arrivals of jobs in the
    system, jobs running, processors computing, disks transferring, and the time itself.
    Returns the number of events.
    """
    jobs = arrival.size
    phases = io_time.shape[1]
    partitions = disk_of.size if kind != DYNAMIC else 1
    slots = limit if kind == DYNAMIC else limit * partitions
    job = np.empty(slots, np.int64)
    phase = np.empty(slots, np.int64)
    stage = np.empty(slots, np.int64)
    left = np.empty(slots)  # seconds of the burst still to go, were it alone on its allotment
    where = np.empty(slots, np.int64)  # processor partition
    disk = np.empty(slots, np.int64)
    turn = np.empty(slots, np.int64)  # order in which computation bursts came
    head = np.empty(partitions, np.int64)
    held = np.zeros(partitions, np.int64)
    on_cpu = np.zeros(partitions, np.int64)
    on_disk = np.zeros(disks_of.size, np.int64)
    transferring = np.zeros(disks_of.size, np.int64)

    first, last = window[0], window[1]
    opens, closes = arrival[first], arrival[last]
    unfinished = last - first
    now, turns, events = 0.0, 0, 0
    running, arrived, started = 0, 0, 0
    while unfinished > 0:
        # The next event: an arrival, or the burst that ends first.
        dt, who = np.inf, -1
        if arrived < jobs:
            dt = arrival[arrived] - now
        if kind == TIMED and not cpu_sharing:
            head[:] = -1
            for s in range(running):
                c = where[s]
                if stage[s] == COMPUTE and (head[c] < 0 or turn[s] < turn[head[c]]):
                    head[c] = s
        computing = 0.0
        for s in range(running):
            if stage[s] == TRANSFER:
                ends = left[s] * transferring[disk[s]]
            elif kind == TIMED and not cpu_sharing:
                ends = left[s] if head[where[s]] == s else np.inf
            elif kind == TIMED:
                ends = left[s] * on_cpu[where[s]]
            else:
                ends = left[s]
                computing += processors_of[running - 1 if kind == DYNAMIC else where[s]]
            if ends < dt:
                dt, who = ends, s
        if kind == TIMED:
            for c in range(partitions):
                if on_cpu[c] > 0:
                    computing += processors_of[c]

        overlap = min(now + dt, closes) - max(now, opens)
        if overlap > 0.0:
            moving = 0.0
            for k in range(disks_of.size):
                if transferring[k] > 0:
                    moving += disks_of[k]
            busy[0] += overlap * (arrived - started + running)
            busy[1] += overlap * running
            busy[2] += overlap * computing
            busy[3] += overlap * moving
            busy[4] += overlap

        for s in range(running):
            if stage[s] == TRANSFER:
                done = dt / transferring[disk[s]]
            elif kind == TIMED and cpu_sharing:
                done = dt / on_cpu[where[s]]
            elif kind == TIMED and head[where[s]] != s:
                done = 0.0
            else:
                done = dt
            left[s] = max(left[s] - done, 0.0)
        events += 1

        before = running
        if who < 0:
            now = arrival[arrived]
            arrived += 1
        else:
            now += dt
            left[who] = 0.0
            # Bursts of no length are passed over at once.
            finished = False
            while left[who] <= 0.0 and not finished:
                if stage[who] == TRANSFER:
                    transferring[disk[who]] -= 1
                    stage[who] = COMPUTE
                    on_cpu[where[who]] += 1
                    turn[who] = turns
                    turns += 1
                else:
                    on_cpu[where[who]] -= 1
                    phase[who] += 1
                    if phase[who] == first_phase[job[who] + 1]:
                        finished = True
                    else:
                        stage[who] = TRANSFER
                        transferring[disk[who]] += 1
                if not finished:
                    n = (phase[who] - first_phase[job[who]]) % phases
                    row = running - 1 if kind == DYNAMIC else where[who]
                    if stage[who] == TRANSFER:
                        left[who] = io_factor[phase[who]] * io_time[row, n]
                    else:
                        left[who] = cpu_factor[phase[who]] * cpu_time[row, n]
            if finished:
                j = job[who]
                response[j] = now - arrival[j]
                if first <= j < last:
                    unfinished -= 1
                held[where[who]] -= 1
                on_disk[disk[who]] -= 1
                running -= 1
                for array in (job, phase, stage, where, disk, turn):
                    array[who] = array[running]
                left[who] = left[running]

        # Whoever waits first starts, as long as there is room.
        joined = running
        while started < arrived and running < slots:
            place = _place(kind, held, limit, on_cpu, disk_of, on_disk, transferring)
            if place < 0:
                break
            s = running
            job[s] = started
            phase[s] = first_phase[started]
            stage[s] = TRANSFER
            where[s] = 0 if kind == DYNAMIC else place
            disk[s] = place if kind == DYNAMIC else disk_of[place]
            held[where[s]] += 1
            on_disk[disk[s]] += 1
            transferring[disk[s]] += 1
            wait[started] = now - arrival[started]
            started += 1
            running += 1
        for s in range(joined, running):
            row = running - 1 if kind == DYNAMIC else where[s]
            left[s] = io_factor[phase[s]] * io_time[row, 0]
        if kind == DYNAMIC and running != before:
            # A new share: what is left of each burst keeps its fraction of the whole.
            for s in range(joined):
                n = (phase[s] - first_phase[job[s]]) % phases
                table = io_time if stage[s] == TRANSFER else cpu_time
                if table[before - 1, n] > 0.0:
                    left[s] *= table[running - 1, n] / table[before - 1, n]
    return events
