"""Event loop of the job-level simulator: arrays in, arrays filled.

Every processor partition and every disk partition is a station that knows when its next burst
ends. Shared stations count in virtual time, so an event touches the station where it happens and
no other; the next event is found by looking at all stations, at most a few dozen. There is one
function for each kind of event, and the compiler puts all of them into the loop: a call that hands
over the tables would take longer than an event.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from phasefit.arrays import record
from phasefit.compiled import INLINED, UNCOUNTED

STATIC, DYNAMIC, TIMED = 0, 1, 2
TRANSFER, COMPUTE = 0, 1
PS, FCFS, SIRO = 0, 1, 2
NOBODY = -1

#: A running job: its number, the phase it is in (counted over all jobs), the column of that phase
#: in the tables of mean bursts, whether it transfers or computes, where, and its `work`: seconds of
#: the burst alone or, at a shared station, the virtual time at which it ends.
SLOT = record(
    ("job phase column stage partition disk", np.int64),
    ("work", np.float64),
)
#: A station: bursts there, its discipline, and of a shared one its virtual time, when that was
#: brought up to date, and the place of the burst that ends first.
STATION = record(
    ("count discipline soonest", np.int64),
    ("virtual seen", np.float64),
)
#: What the whole machine counts. `computing` are processors at work (with equal shares: jobs),
#: `moving` disks.
COUNTERS = record(
    ("now", np.float64),
    ("events running arrived started unfinished", np.int64),
    ("computing moving", np.float64),
    ("picked changes measuring paused", np.int64),
)
#: Time integrals over the measured window: jobs in the system, jobs running, processors computing,
#: disks transferring, and the time itself.
BUSY = 5


class State(NamedTuple):
    """The tables of a run, as the kernels take them; what `Layout` and `Draw` name is theirs."""

    kind: int
    limit: int
    first: int  # measured job
    last: int  # one past the last measured
    slots: Any  # (slots,) SLOT
    free: Any  # (slots,) numbers of the slots without a job, the next one last
    stations: Any  # (processor partitions + disk partitions,) STATION
    ends: Any  # (stations + 1,) when the first burst at each ends; the last: when a pause does
    members: Any  # (stations, slots + 1) slots at each station
    on_partition: Any  # (processor partitions,) jobs that hold it
    on_disk: Any  # (disk partitions,)
    counters: Any  # (1,) COUNTERS
    io_time: Any
    cpu_time: Any
    disk_of: Any
    processors_of: Any
    disks_of: Any
    pauses: Any
    pause_of: Any
    arrival: Any
    demand: Any
    first_phase: Any
    io_factor: Any
    cpu_factor: Any
    picks: Any
    program_of: Any
    columns: Any
    response: Any
    wait: Any
    busy: Any  # (BUSY,)


@njit(**INLINED)
def _place(state):
    """Processor partition (static, timed) or disk partition (dynamic) for the next job, or -1."""
    on_partition, on_disk = state.on_partition, state.on_disk
    best, best_rank, best_jobs, best_disk = NOBODY, 0, 0, 0
    if state.kind == DYNAMIC:
        for k in range(on_disk.size):
            if best < 0 or on_disk[k] < best_jobs:
                best, best_jobs = k, on_disk[k]
    else:
        for c in range(on_partition.size):
            if on_partition[c] >= state.limit:
                continue
            k = state.disk_of[c]
            # Static: any free partition will do, so the load of the disks decides. Timed: those
            # first that are idle with their disk, then half idle, then by jobs, then by disk.
            rank, jobs, disk = 0, on_disk[k], k
            if state.kind == TIMED:
                disk_station = state.stations[on_partition.size + k]
                rank = int(state.stations[c].count > 0) + int(disk_station.count > 0)
                jobs, disk = on_partition[c], 0
            if (
                best < 0
                or rank < best_rank
                or (rank == best_rank and (jobs < best_jobs or (jobs == best_jobs and disk < best_disk)))
            ):
                best, best_rank, best_jobs, best_disk = c, rank, jobs, disk
    return best


@njit(**INLINED)
def _next_event(state):
    """When something happens next, and at which station; -1 for an arrival."""
    counters, ends = state.counters[0], state.ends
    then, where = np.inf, NOBODY
    if counters.arrived < state.arrival.size:
        then = state.arrival[counters.arrived]
    for k in range(ends.size):
        if ends[k] < then:
            then, where = ends[k], k
    return then, where


@njit(**INLINED)
def _advance_clock(state, then):
    """Add what held until now to the integrals over time, and go on to `then`."""
    counters, busy = state.counters[0], state.busy
    if counters.measuring:
        dt, running = then - counters.now, counters.running
        busy[0] += dt * (counters.arrived - counters.started + running)
        busy[1] += dt * running
        if not counters.paused:
            # With equal shares `computing` counts jobs, whose share hangs on how many run.
            equal = state.kind == DYNAMIC and running > 0
            each = state.processors_of[running - 1] if equal else 1.0
            busy[2] += dt * counters.computing * each
            busy[3] += dt * counters.moving
        busy[4] += dt
    counters.now = then
    counters.events += 1


@njit(**INLINED)
def _arrive(state):
    """Count an arrival; the first and the last measured job open and close the window."""
    counters = state.counters[0]
    if counters.arrived == state.first:
        counters.measuring = 1
    elif counters.arrived == state.last:
        counters.measuring = 0
    counters.arrived += 1


@njit(**INLINED)
def _first_to_end(state, k, present):
    """Place among the members of a shared station of the burst that ends first."""
    slots, members = state.slots, state.members
    first, least = 0, slots[members[k, 0]].work
    for m in range(1, present):
        work = slots[members[k, m]].work
        if work < least:
            first, least = m, work
    return first


@njit(**INLINED)
def _program(state, job):
    """Which program a job is."""
    return state.program_of[0 if state.program_of.size == 1 else job]


@njit(**INLINED)
def _next_column(state, job, column):
    """Column of a job's next phase; after the last of its program comes the first again."""
    program = _program(state, job)
    return column + 1 if column + 1 < state.columns[program + 1] else state.columns[program]


@njit(**INLINED)
def _end_burst(state, k):
    """End the burst that is over at station k; returns the slot of its job."""
    counters, station, slots = state.counters[0], state.stations[k], state.slots
    members, now = state.members, counters.now
    left = station.count - 1
    station.count = left
    if station.discipline == PS:
        slot = members[k, station.soonest]
        clock = slots[slot].work
        station.virtual, station.seen = clock, now
        members[k, station.soonest] = members[k, left]
        if left > 0:
            station.soonest = _first_to_end(state, k, left)
            least = slots[members[k, station.soonest]].work
            state.ends[k] = now + max(least - clock, 0.0) * left
    else:
        # The burst in progress is the first member, the others wait in order of arrival.
        slot = members[k, 0]
        if left > 0:
            at = 1
            if station.discipline == SIRO:
                at += min(int(state.picks[counters.picked] * left), left - 1)
                again = counters.picked + 1 == state.picks.size
                counters.picked = 0 if again else counters.picked + 1
            members[k, 0] = members[k, at]
            for m in range(at, left):
                members[k, m] = members[k, m + 1]
            state.ends[k] = now + slots[members[k, 0]].work
    partitions = state.on_partition.size
    if left == 0:
        state.ends[k] = np.inf
        if k >= partitions:
            counters.moving -= state.disks_of[k - partitions]
        else:
            counters.computing -= 1.0 if state.kind == DYNAMIC else state.processors_of[k]
    job = slots[slot]
    if k >= partitions:
        job.stage = COMPUTE
    else:
        job.stage = TRANSFER
        job.phase += 1
        job.column = _next_column(state, job.job, job.column)
    return slot


@njit(**INLINED)
def _next_burst(state, job, allotment, stage, phase, column):
    """Next burst of a job that has any length: its stage, phase, column and seconds alone.

    Zero seconds say that the job has no work left.
    """
    seconds, end = 0.0, state.first_phase[job + 1]
    while phase < end:
        if stage == TRANSFER:
            factor = state.io_factor[0 if state.io_factor.size == 1 else phase]
            seconds = state.demand[job] * factor * state.io_time[allotment, column]
            if seconds > 0.0:
                break
            stage = COMPUTE
        else:
            factor = state.cpu_factor[0 if state.cpu_factor.size == 1 else phase]
            seconds = state.demand[job] * factor * state.cpu_time[allotment, column]
            if seconds > 0.0:
                break
            stage = TRANSFER
            phase += 1
            column = _next_column(state, job, column)
    return stage, phase, column, seconds


@njit(**INLINED)
def _finish(state, job):
    """Note the response of a job that has no work left."""
    counters = state.counters[0]
    state.response[job] = counters.now - state.arrival[job]
    if state.first <= job < state.last:
        counters.unfinished -= 1


@njit(**INLINED)
def _depart(state, slot):
    """Let a job go and take its slot and its places back."""
    counters, job = state.counters[0], state.slots[slot]
    state.on_partition[job.partition] -= 1
    state.on_disk[job.disk] -= 1
    counters.running -= 1
    state.free[state.slots.size - 1 - counters.running] = slot


@njit(**INLINED)
def _occupy(state, job, place):
    """Give a job the next free slot, at the place found for it; returns the slot."""
    counters = state.counters[0]
    slot = state.free[state.slots.size - 1 - counters.running]
    counters.running += 1
    here = state.slots[slot]
    here.job = job
    if state.kind == DYNAMIC:  # every job has processors of its own
        here.partition, here.disk = slot, place
    else:
        here.partition, here.disk = place, state.disk_of[place]
    state.on_partition[here.partition] += 1
    state.on_disk[here.disk] += 1
    return slot


@njit(**INLINED)
def _allotment(state, running, disk):
    """Row of the times of a job beside others on a disk partition, where processors are shared equally."""
    kinds = state.io_time.shape[0] // state.slots.size  # of disk partitions; 1 if all are alike
    return (running - 1) * kinds + (disk if kinds > 1 else 0)


@njit(**INLINED)
def _begin(state, slot):
    """Find who begins a burst now: the job in `slot`, if any, or whoever waits first.

    Returns the slot, -1 for nobody, and the seconds of the burst. Bursts of no length are passed
    over, and so are jobs without any work.
    """
    counters, slots, dynamic = state.counters[0], state.slots, state.kind == DYNAMIC
    seconds, place = 0.0, NOBODY
    while True:
        if slot >= 0:
            old = slots[slot]
            job, stage, phase, column = old.job, old.stage, old.phase, old.column
            allotment = _allotment(state, counters.running, old.disk) if dynamic else old.partition
        else:
            if counters.started == counters.arrived or counters.running == slots.size:
                break
            place = _place(state)
            job, stage = counters.started, TRANSFER
            column = state.columns[_program(state, job)]
            phase = state.first_phase[job]
            allotment = _allotment(state, counters.running + 1, place) if dynamic else place
            counters.started += 1
            state.wait[job] = counters.now - state.arrival[job]
        stage, phase, column, seconds = _next_burst(state, job, allotment, stage, phase, column)
        if seconds > 0.0:
            if slot < 0:
                slot = _occupy(state, job, place)
            new = slots[slot]
            new.stage, new.phase, new.column = stage, phase, column
            break
        _finish(state, job)
        if slot >= 0:
            _depart(state, slot)
            slot = NOBODY
    return slot, seconds


@njit(**INLINED)
def _share_anew(state, before):
    """Divide the processors among another number of jobs; returns whether service resumes now."""
    counters, slots, members = state.counters[0], state.slots, state.members
    now, running = counters.now, counters.running
    for k in range(state.stations.size):
        station = state.stations[k]
        clock = 0.0
        if station.count > 0 and station.discipline == PS:
            clock = station.virtual + (now - station.seen) / station.count
        for m in range(station.count):
            job = slots[members[k, m]]
            # Back from virtual time and ends to seconds that are left, unless a pause did it.
            if not counters.paused:
                if station.discipline == PS:
                    job.work = max(job.work - clock, 0.0)
                elif m == 0:
                    job.work = max(state.ends[k] - now, 0.0)
            # What is left of each burst keeps its fraction of the whole.
            now_at = _allotment(state, running, job.disk)
            was_at = _allotment(state, before, job.disk)
            if job.stage == COMPUTE:
                ratio = state.cpu_time[now_at, job.column] / state.cpu_time[was_at, job.column]
            else:
                ratio = state.io_time[now_at, job.column] / state.io_time[was_at, job.column]
            job.work *= ratio
    resumes, pause_end = running > 0, state.stations.size
    counters.paused = 0
    state.ends[pause_end] = np.inf
    if state.pauses.shape[0] > 0 and running > 0:
        pause = state.pauses[state.pause_of[running - 1], counters.changes]
        again = counters.changes + 1 == state.pauses.shape[1]
        counters.changes = 0 if again else counters.changes + 1
        if pause > 0.0:
            counters.paused, resumes = 1, False
            state.ends[:] = np.inf
            state.ends[pause_end] = now + pause
    return resumes


@njit(**INLINED)
def _join(state, slot, seconds, served):
    """Bring a burst to its station, where it is served at once unless service stands still."""
    counters, job, members = state.counters[0], state.slots[slot], state.members
    partitions, now = state.on_partition.size, counters.now
    k = job.partition if job.stage == COMPUTE else partitions + job.disk
    station = state.stations[k]
    present = station.count
    if present == 0:
        if k < partitions:
            counters.computing += 1.0 if state.kind == DYNAMIC else state.processors_of[k]
        else:
            counters.moving += state.disks_of[k - partitions]
    members[k, present] = slot
    station.count = present + 1
    job.work = seconds
    if served and station.discipline != PS:
        if present == 0:
            state.ends[k] = now + seconds
    elif served:
        # In virtual time, which runs at 1 / (bursts present), this burst ends `seconds` from now
        # whoever comes or goes; so only the order of these ends has to be kept.
        clock = 0.0
        if present > 0:
            clock = station.virtual + (now - station.seen) / present
        station.virtual, station.seen = clock, now
        job.work = clock + seconds
        if present == 0 or job.work < state.slots[members[k, station.soonest]].work:
            station.soonest = present
        least = state.slots[members[k, station.soonest]].work
        state.ends[k] = now + max(least - clock, 0.0) * (present + 1)


@njit(**INLINED)
def _resume(state):
    """Let every station serve again, from the seconds that are left of its bursts."""
    now = state.counters[0].now
    for k in range(state.stations.size):
        station = state.stations[k]
        present = station.count
        if present == 0:
            state.ends[k] = np.inf
        elif station.discipline != PS:
            state.ends[k] = now + state.slots[state.members[k, 0]].work
        else:
            # Virtual time begins anew at zero, so seconds left and virtual ends are the same.
            station.virtual, station.seen = 0.0, now
            station.soonest = _first_to_end(state, k, present)
            least = state.slots[state.members[k, station.soonest]].work
            state.ends[k] = now + least * present


@njit(**UNCOUNTED)
def run(state):
    """Play one event after the other until every measured job has finished."""
    counters, pause_end = state.counters[0], state.stations.size
    while counters.unfinished > 0:
        then, where = _next_event(state)
        _advance_clock(state, then)
        before, slot, resumes = counters.running, NOBODY, False
        if where < 0:
            _arrive(state)
        elif where == pause_end:
            state.ends[where] = np.inf
            counters.paused, resumes = 0, True
        else:
            slot = _end_burst(state, where)
        slot, seconds = _begin(state, slot)
        if state.kind == DYNAMIC and counters.running != before:
            resumes = _share_anew(state, before)
        if slot >= 0:
            _join(state, slot, seconds, not (counters.paused or resumes))
        if resumes:
            _resume(state)
