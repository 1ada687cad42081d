"""Event loop of jobs that ask for slices of a pod: arrays in, arrays filled.

Nothing is drawn here: jobs come as arrays, so that strategies and disciplines are compared on the
same jobs. Where a class of jobs does not fit it will not fit before something ends, whichever
strategy chooses, so each class is tried once after each end: a pass over the queue costs as many
placements as there are classes, however many jobs wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from phasefit.compiled import INLINED, UNCOUNTED, UNCOUNTED_WITHIN
from validation.allocation.searches import largest_free_box
from validation.slices._kernels.placing import copied, finds, gives_back, listed, takes

LOSS, FCFS, FIRST_FIT, EASY = 0, 1, 2, 3


class Jobs(NamedTuple):
    """The jobs in order of arrival; `starts` is filled, NaN where a job never starts."""

    arrivals: np.ndarray
    of: np.ndarray
    demands: np.ndarray
    estimates: np.ndarray
    starts: np.ndarray


class Queue(NamedTuple):
    """Who waits, class by class, and who runs."""

    first: np.ndarray  #: (classes,) who has waited longest, -1 for nobody
    last: np.ndarray
    after: np.ndarray  #: (jobs,) who waits behind it
    failed: np.ndarray  #: (classes,) whether it cannot start before something ends
    at: np.ndarray  #: (classes,) whom a pass of backfilling has come to, and who is before it
    before: np.ndarray
    #: (classes,) whether a job of it that ends late would take the place reserved, as long as
    #: nothing starts
    spoils: np.ndarray
    running: np.ndarray  #: (most,) jobs
    ends: np.ndarray
    expected: np.ndarray  #: ends by the estimates
    numbers: np.ndarray  #: (4,) running, waiting, entered, started


class Tally(NamedTuple):
    """What is integrated from `window[0]` to `window[1]`, and the pod at the end of it."""

    window: np.ndarray  #: (2,)
    held: np.ndarray  #: (5,) chips held, time when the first fits by count alone, jobs waiting,
    #: shares lost to scatter, and the time in which those were looked at
    picture: np.ndarray  #: (blocks,) owners, -2 where small jobs share a block
    events: np.ndarray  #: (2,) events, looks


@njit(**UNCOUNTED_WITHIN)
def _oldest(queue):
    """Who has waited longest of all, or -1."""
    oldest = np.int64(-1)
    for c in range(queue.first.size):
        j = queue.first[c]
        if j >= 0 and (oldest < 0 or j < oldest):
            oldest = j
    return oldest


@njit(**UNCOUNTED_WITHIN)
def _waits(queue, jobs, j):
    c = jobs.of[j]
    queue.after[j] = -1
    if queue.first[c] < 0:
        queue.first[c] = j
    else:
        queue.after[queue.last[c]] = j
    queue.last[c] = j
    queue.numbers[1] += 1


@njit(**UNCOUNTED_WITHIN)
def _leaves(queue, c, before):
    """Take the job behind `before` (-1: the first) out of the queue of its class."""
    j = queue.first[c] if before < 0 else queue.after[before]
    if before < 0:
        queue.first[c] = queue.after[j]
    else:
        queue.after[before] = queue.after[j]
    if queue.last[c] == j:
        queue.last[c] = before
    queue.numbers[1] -= 1


@njit(**UNCOUNTED_WITHIN)
def _runs(place, held, queue, jobs, j, now):
    """Job j takes the place that was found for it."""
    listed(place, held, jobs.of[j])
    takes(place, held, jobs.of[j], j)
    jobs.starts[j] = now
    n = queue.numbers[0]
    queue.running[n] = j
    queue.ends[n] = now + jobs.demands[j]
    queue.expected[n] = now + jobs.estimates[j]
    queue.numbers[0] = n + 1
    queue.numbers[3] += 1


@njit(**UNCOUNTED_WITHIN)
def _tops_up(queue, jobs, window, now):
    """Let jobs in until so many wait."""
    while queue.numbers[1] < window and queue.numbers[2] < jobs.of.size:
        j = queue.numbers[2]
        jobs.arrivals[j] = now
        queue.numbers[2] += 1
        _waits(queue, jobs, j)


@njit(**INLINED)
def _starts(place, held, queue, jobs, c, j, window, now):
    """Start the first job of a class, for which a place was found."""
    _leaves(queue, c, np.int64(-1))
    _runs(place, held, queue, jobs, j, now)
    if window > 0:
        _tops_up(queue, jobs, window, now)


@njit(**INLINED)
def _starts_heads(place, held, queue, jobs, window, now):
    """Start the first of the queue as long as it fits; who is first then, or -1."""
    j = _oldest(queue)
    while j >= 0:
        c = jobs.of[j]
        if queue.failed[c] or not finds(place, held, c, np.bool_(True)):
            queue.failed[c] = True
            break
        _starts(place, held, queue, jobs, c, j, window, now)
        j = _oldest(queue)
    return j


@njit(**INLINED)
def _starts_any(place, held, queue, jobs, window, now):
    """Start whatever fits, in order of arrival."""
    while True:
        j = np.int64(-1)
        for c in range(queue.first.size):
            other = queue.first[c]
            if other >= 0 and not queue.failed[c] and (j < 0 or other < j):
                j = other
        if j < 0:
            break
        c = jobs.of[j]
        if finds(place, held, c, np.bool_(True)):
            _starts(place, held, queue, jobs, c, j, window, now)
        else:
            queue.failed[c] = True


@njit(**INLINED)
def _reserved(place, held, later, queue, jobs, head, now):
    """When the head fits by the estimates; ``later`` is then the pod without what has ended."""
    copied(held, later)
    gone, reserved = -np.inf, np.inf
    while reserved == np.inf:
        # One that has outlived its estimate is expected to end now.
        moment = np.inf
        for i in range(queue.numbers[0]):
            ends = max(queue.expected[i], now)
            if gone < ends < moment:
                moment = ends
        if moment == np.inf:
            break
        for i in range(queue.numbers[0]):
            if max(queue.expected[i], now) == moment:
                gives_back(place, later, jobs.of[queue.running[i]], queue.running[i])
        gone = moment
        if finds(place, later, jobs.of[head], np.bool_(False)):
            reserved = moment
    return reserved


@njit(**INLINED)
def _backfills(place, held, later, queue, jobs, head, now):
    """Start what does not make the head wait longer than its reservation, by the estimates."""
    classes = queue.first.size
    reserved = _reserved(place, held, later, queue, jobs, head, now)
    before, at, spoils = queue.before, queue.at, queue.spoils
    for c in range(classes):
        before[c], at[c], spoils[c] = -1, queue.first[c], False
    at[jobs.of[head]] = queue.after[head]
    before[jobs.of[head]] = head
    while True:
        j = np.int64(-1)
        for c in range(classes):
            if at[c] >= 0 and not queue.failed[c] and (j < 0 or at[c] < j):
                j = at[c]
        if j < 0:
            break
        c = jobs.of[j]
        in_time = now + jobs.estimates[j] <= reserved
        starts = in_time or not spoils[c]
        if starts:
            starts = finds(place, held, c, np.bool_(True))
            queue.failed[c] = not starts
        if starts:
            listed(place, held, c)
            if not in_time:
                later.spot[4] = held.spot[4]
                for i in range(place.volume[c]):
                    later.nodes[i] = held.nodes[i]
                takes(place, later, c, j)
                starts = finds(place, later, jobs.of[head], np.bool_(False))
                if not starts:
                    gives_back(place, later, c, j)
                    spoils[c] = True
        if starts:
            at[c] = queue.after[j]
            _leaves(queue, c, before[c])
            _runs(place, held, queue, jobs, j, now)
            for k in range(classes):
                spoils[k] = False
        else:
            before[c] = j
            at[c] = queue.after[j]


@njit(**INLINED)
def _schedules(place, held, later, queue, jobs, discipline, window, now):
    """Start what the discipline lets start."""
    if window > 0:
        _tops_up(queue, jobs, window, now)
    if discipline in (FIRST_FIT, LOSS):
        _starts_any(place, held, queue, jobs, window, now)
    again = discipline in (FCFS, EASY)
    while again:
        again = False
        head = _starts_heads(place, held, queue, jobs, window, now)
        if discipline == EASY and head >= 0 and queue.numbers[1] > 1:
            _backfills(place, held, later, queue, jobs, head, now)
            if queue.numbers[1] < window and queue.numbers[2] < jobs.of.size:
                _tops_up(queue, jobs, window, now)
                again = True


@njit(**UNCOUNTED_WITHIN)
def _next_end(queue):
    best, soonest = -1, np.inf
    for i in range(queue.numbers[0]):
        if queue.ends[i] < soonest:
            best, soonest = i, queue.ends[i]
    return best


@njit(**INLINED)
def _ends(place, held, queue, jobs, i):
    j = queue.running[i]
    gives_back(place, held, jobs.of[j], j)
    n = queue.numbers[0] - 1
    queue.running[i] = queue.running[n]
    queue.ends[i] = queue.ends[n]
    queue.expected[i] = queue.expected[n]
    queue.numbers[0] = n


@njit(**INLINED)
def _pictured(held, tally):
    """Keep who holds which block."""
    for b in range(held.busy.size):
        tally.picture[b] = -2 if held.used[b] > 0 else held.owner[b]


@njit(**INLINED)
def _passes(place, held, queue, jobs, tally, now, until, every):
    """Integrate from `now` to `until`, as far as it lies in the window."""
    low, high = max(now, tally.window[0]), min(until, tally.window[1])
    if until > tally.window[1] >= now:
        _pictured(held, tally)
    span = high - low
    if span > 0.0:
        chips = place.block[0] * place.block[1] * place.block[2]
        tally.held[0] += span * (held.busy.size * chips - held.free[1])
        tally.held[2] += span * queue.numbers[1]
        head = _oldest(queue)
        if head >= 0:
            c = jobs.of[head]
            tally.held[1] += span * (place.volume[c] <= held.free[1 if place.small[c] else 0])
        tally.events[1] += 1
        if held.free[0] > 0 and tally.events[1] % every == 0:
            largest = largest_free_box(held.busy, place.sides, place.wraps, held.room)
            tally.held[3] += span * (1.0 - largest / held.free[0])
            tally.held[4] += span


@njit(**UNCOUNTED)
def play(place, held, later, queue, jobs, tally, discipline, window, warm, enough, every):
    """Play the jobs until those before `enough` have started, or all have come and gone.

    With `window` > 0 so many always wait, whatever their arrivals say, and the window of the tally
    opens when `warm` jobs have started and closes when no more come.
    """
    now, open_jobs = 0.0, 0
    total = jobs.of.size
    while True:
        j = queue.numbers[2]
        arrives = jobs.arrivals[j] if j < total and window == 0 else np.inf
        i = _next_end(queue)
        ends = queue.ends[i] if i >= 0 else np.inf
        if window > 0 and j == total and queue.numbers[1] < window:
            tally.window[1] = now
            _pictured(held, tally)
            return
        if arrives == np.inf and ends == np.inf:
            if window == 0 or queue.numbers[2] == total:
                return
            ends = now  # the first jobs of a full queue
        until = min(arrives, ends)
        _passes(place, held, queue, jobs, tally, now, until, every)
        now = until
        tally.events[0] += 1
        if ends <= arrives:
            while i >= 0 and queue.ends[i] == now:
                _ends(place, held, queue, jobs, i)
                i = _next_end(queue)
            for c in range(queue.failed.size):
                queue.failed[c] = False
        else:
            queue.numbers[2] += 1
            c = jobs.of[j]
            if discipline == LOSS:
                if finds(place, held, c, np.bool_(True)):
                    _runs(place, held, queue, jobs, j, now)
                continue
            _waits(queue, jobs, j)
        _schedules(place, held, later, queue, jobs, discipline, window, now)
        while open_jobs < enough and not np.isnan(jobs.starts[open_jobs]):
            open_jobs += 1
        if window == 0 and open_jobs >= enough and now > tally.window[1]:
            return
        if window > 0 and tally.window[0] == np.inf and queue.numbers[3] >= warm:
            tally.window[0] = now
