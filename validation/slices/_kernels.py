"""Event loop of jobs that ask for slices of a pod: arrays in, arrays filled.

Nothing is drawn here: jobs come as arrays, so that strategies and disciplines are compared on the
same jobs. Where a class of jobs does not fit it will not fit before something ends, whichever
strategy chooses, so each class is tried once after each end: a pass over the queue costs as many
placements as there are classes, however many jobs wait.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from validation.allocation._kernels import (
    BEST_FIT,
    aligned_base,
    box_nodes,
    first_base,
    interval,
    largest_free_box,
    roomiest_base,
    snuggest_base,
)

#: Strategies; those from `ANY` on take blocks that need not lie in a box.
FIRST, BEST, ALIGNED, ROOMIEST, ANY, CURVE, RUNS = 0, 1, 2, 3, 4, 5, 6
LOSS, FCFS, FIRST_FIT, EASY = 0, 1, 2, 3

COMPILED: Any = {"cache": True, "nogil": True, "error_model": "numpy"}
# A function that is compiled by itself is optimised again with each that calls it: what calls
# `finds` is made a part of `play`, so that the placing of boxes is optimised twice, not ten times.
INLINED: Any = COMPILED | {"inline": "always"}


class Place(NamedTuple):
    """The pod, its strategy, and what the classes of jobs ask for."""

    sides: tuple[int, int, int]  #: of the pod, in blocks
    block: tuple[int, int, int]  #: of a block, in chips
    wraps: bool
    strategy: int
    order: np.ndarray  #: (blocks,) blocks along the curve, or in scan order
    small: np.ndarray  #: (classes,) whether a class lies inside one block
    volume: np.ndarray  #: (classes,) blocks, of small ones chips
    ways: np.ndarray  #: (classes,) ways to turn it that fit
    turns: np.ndarray  #: (classes, 6, 3) sides of each, in blocks, of small ones in chips


class Held(NamedTuple):
    """Who holds what, and room for working."""

    busy: np.ndarray  #: (blocks,) whether any chip of it is held
    owner: np.ndarray  #: (blocks,) job that holds it whole, or -1
    chips: np.ndarray  #: (blocks, chips of a block) held by small jobs
    chip_owner: np.ndarray
    used: np.ndarray  #: (blocks,) chips of it that small jobs hold
    free: np.ndarray  #: (2,) blocks with no chip held; chips of blocks that no job holds whole
    spot: np.ndarray  #: (6,) what was found: base, the turn, the block it lies in, its rank
    rows: np.ndarray
    sums: np.ndarray
    room: np.ndarray
    nodes: np.ndarray


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
    count: np.ndarray  #: (4,) running, waiting, entered, started


class Tally(NamedTuple):
    """What is integrated from `window[0]` to `window[1]`, and the pod at the end of it."""

    window: np.ndarray  #: (2,)
    held: np.ndarray  #: (5,) chips held, time when the first fits by count alone, jobs waiting,
    #: shares lost to scatter, and the time in which those were looked at
    picture: np.ndarray  #: (blocks,) owners, -2 where small jobs share a block
    events: np.ndarray  #: (2,) events, looks


@njit(**INLINED)
def _triple(row):
    return row[0], row[1], row[2]


@njit(**INLINED)
def _bit_rows(held, sides, box, wraps):
    """Room for the rows of bits of a mesh, as `free_bases` takes it."""
    a, b, c = box
    if not wraps:
        a, b, c = 1, 1, 1
    words, lines, layers = (sides[0] + a + 62) // 64, sides[1] + b - 1, sides[2] + c - 1
    return held.rows[: words * lines * layers].reshape(layers, lines, words)


@njit(**INLINED)
def _sum_room(held, sides, box, wraps):
    """Room for corner sums, as `snuggest_base` takes it."""
    a, b, c = box
    if not wraps:
        a, b, c = 1, 1, 1
    across, back, up = sides[0] + a + 2, sides[1] + b + 2, sides[2] + c + 2
    return held.sums[: across * back * up].reshape(up, back, across)


@njit(**INLINED)
def _base(strategy, held, busy, sides, wraps, turns, ways, choosing):
    """Fill ``held.spot`` with base and turn of the box that a strategy chooses, if there is one.

    Without `choosing` any free box that the strategy may give is as good.
    """
    most = -1
    for way in range(ways):
        box = (turns[way, 0], turns[way, 1], turns[way, 2])
        rows = _bit_rows(held, sides, box, wraps)
        found = False
        if strategy == ALIGNED:
            found = aligned_base(busy, sides, box, wraps, rows, held.spot)
        elif strategy == BEST and choosing:
            sums = _sum_room(held, sides, box, wraps)
            found = snuggest_base(busy, sides, box, wraps, rows, sums, held.spot)
        elif strategy == ROOMIEST and choosing:
            left = roomiest_base(
                busy, sides, box, wraps, rows, held.room, held.nodes, most, held.spot
            )
            if left > most:
                most = left
                held.spot[3] = way
        else:
            found = first_base(busy, sides, box, wraps, rows, held.spot)
        if found:
            held.spot[3] = way
            most = 0
            break
    return most >= 0


@njit(**INLINED)
def _aligned_run(place, held, size):
    """First block of the aligned run of 2^m >= size blocks with `size` free and fewest free."""
    length = 1
    while length < size:
        length *= 2
    best, fewest = -1, length + 1
    for at in range(0, held.busy.size, length):
        free = 0
        for b in range(at, min(at + length, held.busy.size)):
            free += not held.busy[b]
        if size <= free < fewest:
            best, fewest = at, free
    return best


@njit(**COMPILED)
def finds(place, held, c, choosing):
    """Whether class c can start now; ``held.spot`` says where.

    A small job is tried in the blocks that are opened already, then in free ones.
    """
    small, size = place.small[c], place.volume[c]
    if size > held.free[1 if small else 0]:
        return False
    if not small and place.strategy >= ANY:
        if place.strategy == RUNS:
            held.spot[5] = _aligned_run(place, held, size)
            return held.spot[5] >= 0
        return True
    blocks = held.busy.size
    chips = place.block[0] * place.block[1] * place.block[2]
    for i in range(2 * blocks if small else 1):
        b = i % blocks
        busy, sides, wraps = held.busy, place.sides, place.wraps
        if small:
            if held.owner[b] >= 0 or (held.used[b] > 0) != (i < blocks):
                continue
            if chips - held.used[b] < size:
                continue
            busy, sides, wraps = held.chips[b], place.block, False
        if _base(place.strategy, held, busy, sides, wraps, place.turns[c], place.ways[c], choosing):
            held.spot[4] = b
            return True
    return False


@njit(**COMPILED)
def listed(place, held, c):
    """Fill ``held.nodes`` with the blocks, or chips of the block, that ``held.spot`` stands for."""
    size = place.volume[c]
    if place.small[c] or place.strategy < ANY:
        sides = place.block if place.small[c] else place.sides
        box = _triple(place.turns[c, held.spot[3]])
        box_nodes(_triple(held.spot), box, sides, held.nodes)
        return
    n = 0
    if place.strategy == CURVE:
        ranks = np.empty(held.free[0], np.int64)
        for rank in range(place.order.size):
            if not held.busy[place.order[rank]]:
                ranks[n] = rank
                n += 1
        at = interval(ranks, size, BEST_FIT)
        for i in range(size):
            held.nodes[i] = place.order[ranks[at + i]]
        return
    b = held.spot[5] if place.strategy == RUNS else 0
    while n < size:
        if not held.busy[b]:
            held.nodes[n] = b
            n += 1
        b += 1


@njit(**COMPILED)
def _takes(place, held, c, job):
    """Book what ``held.nodes`` lists, in the block of ``held.spot`` for a small job."""
    size = place.volume[c]
    chips = place.block[0] * place.block[1] * place.block[2]
    if place.small[c]:
        b = held.spot[4]
        for i in range(size):
            held.chips[b, held.nodes[i]] = True
            held.chip_owner[b, held.nodes[i]] = job
        held.free[0] -= held.used[b] == 0
        held.busy[b] = True
        held.used[b] += size
        held.free[1] -= size
        return
    for i in range(size):
        held.busy[held.nodes[i]] = True
        held.owner[held.nodes[i]] = job
    held.free[0] -= size
    held.free[1] -= size * chips


@njit(**COMPILED)
def _gives_back(place, held, c, job):
    size = place.volume[c]
    chips = place.block[0] * place.block[1] * place.block[2]
    if place.small[c]:
        for b in range(held.busy.size):
            if held.used[b] == 0:
                continue
            gone = 0
            for i in range(chips):
                if held.chip_owner[b, i] == job:
                    held.chip_owner[b, i] = -1
                    held.chips[b, i] = False
                    gone += 1
            if gone:
                held.used[b] -= gone
                held.free[1] += gone
                if held.used[b] == 0:
                    held.busy[b] = False
                    held.free[0] += 1
                return
        return
    for b in range(held.busy.size):
        if held.owner[b] == job:
            held.owner[b] = -1
            held.busy[b] = False
    held.free[0] += size
    held.free[1] += size * chips


@njit(**INLINED)
def _copied(held, other):
    other.free[0], other.free[1] = held.free[0], held.free[1]
    for b in range(held.busy.size):
        # Of a block that neither has opened there is nothing else to copy.
        if held.used[b] > 0 or other.used[b] > 0:
            for i in range(held.chips.shape[1]):
                other.chips[b, i] = held.chips[b, i]
                other.chip_owner[b, i] = held.chip_owner[b, i]
        other.busy[b] = held.busy[b]
        other.owner[b] = held.owner[b]
        other.used[b] = held.used[b]


@njit(**INLINED)
def _oldest(queue):
    """Who has waited longest of all, or -1."""
    oldest = -1
    for c in range(queue.first.size):
        j = queue.first[c]
        if j >= 0 and (oldest < 0 or j < oldest):
            oldest = j
    return oldest


@njit(**INLINED)
def _waits(queue, jobs, j):
    c = jobs.of[j]
    queue.after[j] = -1
    if queue.first[c] < 0:
        queue.first[c] = j
    else:
        queue.after[queue.last[c]] = j
    queue.last[c] = j
    queue.count[1] += 1


@njit(**INLINED)
def _leaves(queue, c, before):
    """Take the job behind `before` (-1: the first) out of the queue of its class."""
    j = queue.first[c] if before < 0 else queue.after[before]
    if before < 0:
        queue.first[c] = queue.after[j]
    else:
        queue.after[before] = queue.after[j]
    if queue.last[c] == j:
        queue.last[c] = before
    queue.count[1] -= 1


@njit(**INLINED)
def _runs(place, held, queue, jobs, j, now):
    """Job j takes the place that was found for it."""
    listed(place, held, jobs.of[j])
    _takes(place, held, jobs.of[j], j)
    jobs.starts[j] = now
    n = queue.count[0]
    queue.running[n] = j
    queue.ends[n] = now + jobs.demands[j]
    queue.expected[n] = now + jobs.estimates[j]
    queue.count[0] = n + 1
    queue.count[3] += 1


@njit(**INLINED)
def _tops_up(queue, jobs, window, now):
    """Let jobs in until so many wait."""
    while queue.count[1] < window and queue.count[2] < jobs.of.size:
        j = queue.count[2]
        jobs.arrivals[j] = now
        queue.count[2] += 1
        _waits(queue, jobs, j)


@njit(**INLINED)
def _starts_heads(place, held, queue, jobs, window, now):
    """Start the first of the queue as long as it fits; who is first then, or -1."""
    j = _oldest(queue)
    while j >= 0:
        c = jobs.of[j]
        if queue.failed[c] or not finds(place, held, c, True):
            queue.failed[c] = True
            break
        _leaves(queue, c, -1)
        _runs(place, held, queue, jobs, j, now)
        if window > 0:
            _tops_up(queue, jobs, window, now)
        j = _oldest(queue)
    return j


@njit(**INLINED)
def _starts_any(place, held, queue, jobs, window, now):
    """Start whatever fits, in order of arrival."""
    while True:
        j = -1
        for c in range(queue.first.size):
            other = queue.first[c]
            if other >= 0 and not queue.failed[c] and (j < 0 or other < j):
                j = other
        if j < 0:
            break
        c = jobs.of[j]
        if finds(place, held, c, True):
            _leaves(queue, c, -1)
            _runs(place, held, queue, jobs, j, now)
            if window > 0:
                _tops_up(queue, jobs, window, now)
        else:
            queue.failed[c] = True


@njit(**INLINED)
def _reserved(place, held, later, queue, jobs, head, now):
    """When the head fits by the estimates; ``later`` is then the pod without what has ended."""
    _copied(held, later)
    gone, reserved = -np.inf, np.inf
    while reserved == np.inf:
        # One that has outlived its estimate is expected to end now.
        moment = np.inf
        for i in range(queue.count[0]):
            ends = max(queue.expected[i], now)
            if gone < ends < moment:
                moment = ends
        if moment == np.inf:
            break
        for i in range(queue.count[0]):
            if max(queue.expected[i], now) == moment:
                _gives_back(place, later, jobs.of[queue.running[i]], queue.running[i])
        gone = moment
        if finds(place, later, jobs.of[head], False):
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
        j = -1
        for c in range(classes):
            if at[c] >= 0 and not queue.failed[c] and (j < 0 or at[c] < j):
                j = at[c]
        if j < 0:
            break
        c = jobs.of[j]
        in_time = now + jobs.estimates[j] <= reserved
        starts = in_time or not spoils[c]
        if starts:
            starts = finds(place, held, c, True)
            queue.failed[c] = not starts
        if starts:
            listed(place, held, c)
            if not in_time:
                later.spot[4] = held.spot[4]
                for i in range(place.volume[c]):
                    later.nodes[i] = held.nodes[i]
                _takes(place, later, c, j)
                starts = finds(place, later, jobs.of[head], False)
                if not starts:
                    _gives_back(place, later, c, j)
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
    if discipline == FIRST_FIT or discipline == LOSS:
        _starts_any(place, held, queue, jobs, window, now)
    again = discipline == FCFS or discipline == EASY
    while again:
        again = False
        head = _starts_heads(place, held, queue, jobs, window, now)
        if discipline == EASY and head >= 0 and queue.count[1] > 1:
            _backfills(place, held, later, queue, jobs, head, now)
            if queue.count[1] < window and queue.count[2] < jobs.of.size:
                _tops_up(queue, jobs, window, now)
                again = True


@njit(**INLINED)
def _next_end(queue):
    best, soonest = -1, np.inf
    for i in range(queue.count[0]):
        if queue.ends[i] < soonest:
            best, soonest = i, queue.ends[i]
    return best


@njit(**INLINED)
def _ends(place, held, queue, jobs, i):
    j = queue.running[i]
    _gives_back(place, held, jobs.of[j], j)
    n = queue.count[0] - 1
    queue.running[i] = queue.running[n]
    queue.ends[i] = queue.ends[n]
    queue.expected[i] = queue.expected[n]
    queue.count[0] = n


@njit(**INLINED)
def _passes(place, held, queue, jobs, tally, now, until, every):
    """Integrate from `now` to `until`, as far as it lies in the window."""
    low, high = max(now, tally.window[0]), min(until, tally.window[1])
    if until > tally.window[1] >= now:
        for b in range(held.busy.size):
            tally.picture[b] = -2 if held.used[b] > 0 else held.owner[b]
    span = high - low
    if span > 0.0:
        chips = place.block[0] * place.block[1] * place.block[2]
        tally.held[0] += span * (held.busy.size * chips - held.free[1])
        tally.held[2] += span * queue.count[1]
        head = _oldest(queue)
        if head >= 0:
            c = jobs.of[head]
            tally.held[1] += span * (place.volume[c] <= held.free[1 if place.small[c] else 0])
        tally.events[1] += 1
        if held.free[0] > 0 and tally.events[1] % every == 0:
            largest = largest_free_box(held.busy, place.sides, place.wraps, held.room)
            tally.held[3] += span * (1.0 - largest / held.free[0])
            tally.held[4] += span


@njit(**COMPILED)
def play(place, held, later, queue, jobs, tally, discipline, window, warm, enough, every):
    """Play the jobs until those before `enough` have started, or all have come and gone.

    With `window` > 0 so many always wait, whatever their arrivals say, and the window of the tally
    opens when `warm` jobs have started and closes when no more come.
    """
    now, open_jobs = 0.0, 0
    total = jobs.of.size
    while True:
        j = queue.count[2]
        arrives = jobs.arrivals[j] if j < total and window == 0 else np.inf
        i = _next_end(queue)
        ends = queue.ends[i] if i >= 0 else np.inf
        if window > 0 and j == total and queue.count[1] < window:
            tally.window[1] = now
            for b in range(held.busy.size):
                tally.picture[b] = -2 if held.used[b] > 0 else held.owner[b]
            return
        if arrives == np.inf and ends == np.inf:
            if window == 0 or queue.count[2] == total:
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
            queue.count[2] += 1
            c = jobs.of[j]
            if discipline == LOSS:
                if finds(place, held, c, True):
                    _runs(place, held, queue, jobs, j, now)
                continue
            _waits(queue, jobs, j)
        _schedules(place, held, later, queue, jobs, discipline, window, now)
        while open_jobs < enough and not np.isnan(jobs.starts[open_jobs]):
            open_jobs += 1
        if window == 0 and open_jobs >= enough and now > tally.window[1]:
            return
        if window > 0 and tally.window[0] == np.inf and queue.count[3] >= warm:
            tally.window[0] = now
