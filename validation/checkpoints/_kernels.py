"""Event loop of jobs that write checkpoints to one storage: arrays in, arrays filled.

Every job has one next event of its own (a checkpoint falls due, a snapshot or a downtime ends, it
fails), kept in a heap. Transfers share the bandwidth by the nodes of their jobs, so those of one
class move alike: they count in virtual time (bytes that each of them has moved), and the one that
ends first is found in a heap of its class. An event costs a few steps in each, whatever the number
of jobs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from phasefit.arrays import record
from phasefit.compiled import INLINED, UNCOUNTED, UNCOUNTED_WITHIN

#: What a job does: it works; it stands still for a checkpoint; it copies its state aside; it is
#: down; it waits for its restore or reads it.
WORKING, STILL, COPYING, DOWN, RESTORING = 0, 1, 2, 3, 4
#: Its transfer: none, waiting to be admitted, moving bytes.
NO_TRANSFER, QUEUED, MOVING = 0, 1, 2
BLOCKING, WAITING_WORKS, ASYNCHRONOUS = 0, 1, 2
FCFS, READS_FIRST, RANDOM, LEAST_WASTE = 0, 1, 2, 3
#: Kinds of law: a constant, uniform about its mean, phase-type.
CONSTANT, UNIFORM, STAGED = 0, 1, 2
#: Share of its interval by which a clock's time may lie ahead and count as now.
_NOW = 1e-9

#: A job. `kept_back` is work done and not yet written, up to `since`, from when on it works;
#: `captured` is what the transfer under way will save; `owed` says that a checkpoint is due and
#: waits for its predecessor. Times are absolute, in seconds.
JOB = record(
    ("kind transfer reads of owed turn", np.int64),
    ("due fails until since kept_back captured asked stood last offset", np.float64),
)
#: A class of jobs: how it writes, and what it is worth; `virtual` counts the bytes of a transfer
#: that never ends, `rate` bytes per second now of each of the `moving`. Its jobs are those
#: from `first` to before `after`.
CLASS = record(
    ("mode clock", np.int64),
    ("nodes interval mtbf snapshot downtime write read virtual rate", np.float64),
    ("moving first after", np.int64),
)
#: What the storage is and does; `nodes` are those of the jobs whose transfers move, `used` is the
#: integral of the used share of the bandwidth, and from `from_` on there is counting.
STORAGE = record(
    ("bandwidth per_job", np.float64),
    ("writers order moving queued turn", np.int64),
    ("nodes now from_ used", np.float64),
    ("events stalls", np.int64),
)
#: What is counted for a class from `from_` on: work kept, checkpoints, restores, failures, stalls
#: for checkpoints; sums of seconds from request to completion and of seconds still.
TALLY = record(
    ("work", np.float64),
    ("writes reads failures stalls", np.int64),
    ("write_seconds stall_seconds", np.float64),
)
#: Columns of the laws of a class: its interval, the bytes of a transfer, its downtime. (Of plain
#: numbers each would be a type of its own, and `_drawn` be compiled for each.)
INTERVAL, SIZE, DOWNTIME = np.int64(0), np.int64(1), np.int64(2)


class Laws(NamedTuple):
    """Laws by class and column; phase-type ones as cumulated starts and moves, and mean holds."""

    kind: np.ndarray  #: (classes, 3)
    width: np.ndarray  #: (classes, 3): half-width of a uniform law, relative
    stages: np.ndarray  #: (classes, 3)
    start: np.ndarray  #: (classes, 3, m)
    hold: np.ndarray  #: (classes, 3, m), of a law of mean one
    move: np.ndarray  #: (classes, 3, m, m): cumulated; beyond the last entry the law ends


class State(NamedTuple):
    """The tables of a run."""

    jobs: np.ndarray
    classes: np.ndarray
    storage: np.ndarray
    tally: np.ndarray
    laws: Laws
    waiting: np.ndarray  #: jobs that wait, in no order
    timed: np.ndarray  #: heap of jobs by their own next event, and where each job stands in it
    timed_at: np.ndarray
    timed_key: np.ndarray
    moved: np.ndarray  #: of each class, a heap of its jobs by the virtual time of their end
    moved_at: np.ndarray
    moved_key: np.ndarray
    stalls: np.ndarray  #: seconds still of every checkpoint counted, as long as there is room
    stall_of: np.ndarray  #: class of each


@njit(**UNCOUNTED_WITHIN)
def _rekey(heap, at, key, job, value):
    """Give a job another key and restore the order of the heap."""
    old = key[job]
    key[job] = value
    i = at[job]
    if value < old:
        while i > 0:
            above = (i - 1) >> 1
            other = heap[above]
            if key[other] <= value:
                break
            heap[i] = other
            at[other] = i
            i = above
    else:
        n = heap.size
        while True:
            below = 2 * i + 1
            if below >= n:
                break
            if below + 1 < n and key[heap[below + 1]] < key[heap[below]]:
                below += 1
            other = heap[below]
            if key[other] >= value:
                break
            heap[i] = other
            at[other] = i
            i = below
    heap[i] = job
    at[job] = i


@njit(**INLINED)
def _transfers(state, j, ends):
    """Note the virtual time at which the job's transfer ends; infinite where it has none."""
    of = state.classes[state.jobs[j].of]
    here = slice(of.first, of.after)
    _rekey(state.moved[here], state.moved_at[here], state.moved_key[here], j - of.first, ends)


@njit(**UNCOUNTED_WITHIN)
def _shares(state):
    """Bytes per second of a transfer of each class, from now on."""
    storage = state.storage[0]
    for c in range(state.classes.size):
        of = state.classes[c]
        if storage.moving == 0:
            of.rate = 0.0
            of.virtual = 0.0  # so that it does not outgrow its digits
        else:
            of.rate = min(storage.per_job, storage.bandwidth * of.nodes / storage.nodes)


@njit(**UNCOUNTED_WITHIN)
def _drawn(laws, of, column, rng):
    """A variate of mean one."""
    kind = laws.kind[of, column]
    if kind == CONSTANT:
        return 1.0
    if kind == UNIFORM:
        return 1.0 + laws.width[of, column] * (2.0 * rng.random() - 1.0)
    stages = laws.stages[of, column]
    u = rng.random()
    stage = 0
    while stage < stages and u >= laws.start[of, column, stage]:
        stage += 1
    total = 0.0
    while stage < stages:
        total += laws.hold[of, column, stage] * rng.standard_exponential()
        u = rng.random()
        into = 0
        while into < stages and u >= laws.move[of, column, stage, into]:
            into += 1
        stage = into
    return total


@njit(**INLINED)
def _set_timer(state, j):
    """The job's own next event, whichever comes first."""
    job = state.jobs[j]
    soonest = job.fails
    if job.kind == WORKING:
        soonest = min(soonest, job.due)
    elif job.kind == COPYING or job.kind == DOWN:
        soonest = min(soonest, job.until)
    _rekey(state.timed, state.timed_at, state.timed_key, j, soonest)


@njit(**UNCOUNTED_WITHIN)
def _works_on(state, j, rng):
    """From now on the job works, and its next checkpoint falls due."""
    job, now = state.jobs[j], state.storage[0].now
    of = state.classes[job.of]
    job.kind = WORKING
    job.since = now
    length = of.interval * _drawn(state.laws, job.of, INTERVAL, rng)
    if of.clock:
        # A time that strikes now has passed, whatever rounding makes of it.
        passed = np.floor((now - job.offset) / of.interval + _NOW) + 1.0
        length = job.offset + passed * of.interval - now
    job.due = now + length
    _set_timer(state, j)


@njit(**INLINED)
def _stops(state, j, kind):
    """The job stops working; what it has done since it began is kept back."""
    job, now = state.jobs[j], state.storage[0].now
    if job.kind == WORKING:
        job.kept_back += now - job.since
    job.kind = kind


@njit(**UNCOUNTED_WITHIN)
def _moves(state, j, rng):
    """The job's transfer is admitted."""
    job, storage = state.jobs[j], state.storage[0]
    of = state.classes[job.of]
    job.transfer = MOVING
    storage.moving += 1
    storage.nodes += of.nodes
    of.moving += 1
    if not job.reads and of.mode == WAITING_WORKS:
        _stops(state, j, STILL)
        job.stood = storage.now
        job.captured = job.kept_back
        _set_timer(state, j)
    size = of.read if job.reads else of.write
    _transfers(state, j, of.virtual + size * _drawn(state.laws, job.of, SIZE, rng))
    _shares(state)


@njit(**UNCOUNTED_WITHIN)
def _ends_moving(state, j):
    storage = state.storage[0]
    storage.moving -= 1
    of = state.classes[state.jobs[j].of]
    storage.nodes -= of.nodes
    of.moving -= 1
    _transfers(state, j, np.inf)
    _shares(state)


@njit(**UNCOUNTED_WITHIN)
def _asks(state, j, reads, rng):
    """The job asks for a transfer and is admitted where nobody waits and there is room."""
    job, storage = state.jobs[j], state.storage[0]
    job.reads = reads
    job.asked = storage.now
    job.due = np.inf
    if storage.queued == 0 and storage.moving < storage.writers:
        _moves(state, j, rng)
    else:
        job.transfer = QUEUED
        job.turn = storage.turn
        storage.turn += 1
        state.waiting[storage.queued] = j
        storage.queued += 1
    _set_timer(state, j)


@njit(**UNCOUNTED_WITHIN)
def _waste(state, i):
    """What the others that wait lose while job i is served (Herault et al. 2018)."""
    storage = state.storage[0]
    rate = min(storage.per_job, storage.bandwidth)
    of = state.classes[state.jobs[i].of]
    length = (of.read if state.jobs[i].reads else of.write) / rate
    total = 0.0
    for k in range(storage.queued):
        m = state.waiting[k]
        if m == i:
            continue
        other = state.jobs[m]
        theirs = state.classes[other.of]
        if other.kind == WORKING:
            own = theirs.write / rate
            behind = own + storage.now - other.last + length / 2.0
            total += theirs.nodes * length / theirs.mtbf * behind
        else:
            total += theirs.nodes * length
    return total


@njit(**UNCOUNTED_WITHIN)
def _next_waiting(state, rng):
    """Place in `waiting` of who is admitted next."""
    storage = state.storage[0]
    if storage.order == RANDOM:
        return int(rng.random() * storage.queued)
    best, least = 0, np.inf
    for k in range(storage.queued):
        j = state.waiting[k]
        rank = float(state.jobs[j].turn)
        if storage.order == READS_FIRST and not state.jobs[j].reads:
            rank += 1e18
        elif storage.order == LEAST_WASTE:
            rank = _waste(state, j)
        if rank < least or (rank == least and state.jobs[j].turn < state.jobs[state.waiting[best]].turn):
            best, least = k, rank
    return best


@njit(**INLINED)
def _leaves_queue(state, k):
    storage = state.storage[0]
    storage.queued -= 1
    state.waiting[k] = state.waiting[storage.queued]


@njit(**UNCOUNTED_WITHIN)
def _admit(state, rng):
    """Admit who waits, as long as there is room."""
    storage = state.storage[0]
    while storage.queued > 0 and storage.moving < storage.writers:
        k = _next_waiting(state, rng)
        j = state.waiting[k]
        _leaves_queue(state, k)
        _moves(state, j, rng)


@njit(**UNCOUNTED_WITHIN)
def _stall_counted(state, j, seconds):
    of = state.jobs[j].of
    tally = state.tally[of]
    tally.stall_seconds += seconds
    tally.stalls += 1
    n = state.storage[0].stalls
    if n < state.stalls.size:
        state.stalls[n] = seconds
        state.stall_of[n] = of
    state.storage[0].stalls = n + 1


@njit(**UNCOUNTED_WITHIN)
def _copied(state, j, rng):
    """The state lies aside: the job works on and writes behind its work."""
    job, storage = state.jobs[j], state.storage[0]
    if storage.now >= storage.from_:
        _stall_counted(state, j, storage.now - job.stood)
    job.captured = job.kept_back
    _asks(state, j, np.int64(0), rng)
    _works_on(state, j, rng)


@njit(**UNCOUNTED_WITHIN)
def _falls_due(state, j, rng):
    job, now = state.jobs[j], state.storage[0].now
    of = state.classes[job.of]
    if of.mode == WAITING_WORKS:
        _asks(state, j, np.int64(0), rng)
        return
    _stops(state, j, STILL)
    job.stood = now
    if of.mode == BLOCKING:
        job.captured = job.kept_back
        _asks(state, j, np.int64(0), rng)
    elif job.transfer != NO_TRANSFER:
        job.owed = 1
        _set_timer(state, j)
    else:
        _copies(state, j, rng)


@njit(**UNCOUNTED_WITHIN)
def _copies(state, j, rng):
    job = state.jobs[j]
    snapshot = state.classes[job.of].snapshot
    if snapshot == 0.0:
        _copied(state, j, rng)
        return
    job.kind = COPYING
    job.until = state.storage[0].now + snapshot
    _set_timer(state, j)


@njit(**UNCOUNTED_WITHIN)
def _ends_transfer(state, j, rng):
    job, storage = state.jobs[j], state.storage[0]
    of, tally = state.classes[job.of], state.tally[job.of]
    counted = storage.now >= storage.from_
    job.transfer = NO_TRANSFER
    job.last = storage.now
    _ends_moving(state, j)
    if job.reads:
        tally.reads += counted
        job.kept_back = 0.0
        _works_on(state, j, rng)
    else:
        job.kept_back -= job.captured
        if counted:
            tally.work += job.captured
            tally.writes += 1
            tally.write_seconds += storage.now - job.asked
            if of.mode != ASYNCHRONOUS:
                _stall_counted(state, j, storage.now - job.stood)
        if of.mode != ASYNCHRONOUS:
            _works_on(state, j, rng)
        elif job.owed:
            job.owed = 0
            _copies(state, j, rng)
    _admit(state, rng)


@njit(**UNCOUNTED_WITHIN)
def _fails(state, j, rng):
    """The job loses its transfer and all work since the last state written."""
    job, storage = state.jobs[j], state.storage[0]
    of = state.classes[job.of]
    state.tally[job.of].failures += storage.now >= storage.from_
    if job.transfer == MOVING:
        _ends_moving(state, j)
    elif job.transfer == QUEUED:
        k = 0
        while state.waiting[k] != j:
            k += 1
        _leaves_queue(state, k)
    job.transfer = NO_TRANSFER
    job.owed = 0
    job.kept_back = 0.0
    job.captured = 0.0
    job.kind = DOWN
    job.fails = np.inf
    job.until = storage.now + of.downtime * _drawn(state.laws, job.of, DOWNTIME, rng)
    _set_timer(state, j)
    _admit(state, rng)


@njit(**UNCOUNTED_WITHIN)
def _comes_back(state, j, rng):
    job, storage = state.jobs[j], state.storage[0]
    job.kind = RESTORING
    job.fails = storage.now + state.classes[job.of].mtbf * rng.standard_exponential()
    _asks(state, j, np.int64(1), rng)


@njit(**INLINED)
def _own_event(state, j, rng):
    """What a job's timer stood for."""
    job = state.jobs[j]
    if job.fails <= state.timed_key[j]:
        _fails(state, j, rng)
    elif job.kind == WORKING:
        _falls_due(state, j, rng)
    elif job.kind == COPYING:
        _copied(state, j, rng)
    else:
        _comes_back(state, j, rng)


@njit(**UNCOUNTED_WITHIN)
def _used(state):
    """Used share of the bandwidth."""
    total = 0.0
    for c in range(state.classes.size):
        total += state.classes[c].rate * state.classes[c].moving
    return total / state.storage[0].bandwidth


@njit(**UNCOUNTED)
def start(state, rng):
    """Set the first timers: jobs begin to work at time zero, their offsets are given."""
    for j in range(state.jobs.size):
        first = state.classes[state.jobs[j].of].first
        state.timed[j] = j
        state.timed_at[j] = j
        state.timed_key[j] = np.inf
        state.moved[j] = j - first
        state.moved_at[j] = j - first
        state.moved_key[j] = np.inf
    for j in range(state.jobs.size):
        job = state.jobs[j]
        job.fails = state.classes[job.of].mtbf * rng.standard_exponential()
        job.due = job.offset
        _set_timer(state, j)


@njit(**UNCOUNTED)
def play(state, until, rng):
    """Play events up to the time `until`."""
    storage = state.storage[0]
    classes = state.classes
    while True:
        own = state.timed_key[state.timed[0]]
        time, ending = own, np.int64(-1)  # a literal would make a copy of all that it is handed to
        if storage.moving > 0:
            for c in range(classes.size):
                first = classes[c].first
                soonest = first + state.moved[first]
                left = state.moved_key[soonest] - classes[c].virtual
                at = storage.now + max(left, 0.0) / classes[c].rate
                if at < time:
                    time, ending = at, soonest
        end = min(time, until)
        if storage.moving > 0:
            step = end - storage.now
            for c in range(classes.size):
                classes[c].virtual += step * classes[c].rate
            if end > storage.from_:
                counted = end - max(storage.now, storage.from_)
                storage.used += counted * _used(state)
        storage.now = end
        if time >= until:
            return
        storage.events += 1
        if ending >= 0:
            _ends_transfer(state, ending, rng)
        else:
            _own_event(state, state.timed[0], rng)
