"""Compiled loop of rigid jobs: who starts when, on nodes with several resources.

The queue is a segment tree over the places of its order. A node of the tree holds the least need
and the least limit below it, and how many wait there, so the next job that may pass is found
without looking at those that may not. A machine that is a number of processors is one node with
one resource. Nothing is allocated here, and tables are packed into few arrays: each costs time when
the loop is compiled.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from phasefit.arrays import Array, Ints
from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN
from validation.rigid._kernels import planning

# A literal that is handed on makes a copy of all that it is handed to, hence `np.int64(1)`.

NOBODY = 2.0**62  #: need of a place where nobody waits
IN_ORDER, EASY, ANY, PLANNED = 0, 1, 2, 3  #: who may pass a job that has to wait


@njit(**UNCOUNTED_WITHIN)
def _set(tree, place, need, limit, count):
    """Write a leaf and mend what stands above it."""
    node = place + tree.shape[0] // 2
    change = count - tree[node, 2]
    tree[node, 0], tree[node, 1], tree[node, 2] = need, limit, count
    while node > 1:
        other = node ^ 1
        node >>= 1
        need, limit = min(need, tree[other, 0]), min(limit, tree[other, 1])
        if change == 0.0 and need == tree[node, 0] and limit == tree[node, 1]:
            return
        tree[node, 0], tree[node, 1] = need, limit
        tree[node, 2] += change
        other = node


@njit(**UNCOUNTED_WITHIN)
def _next(tree, place, free, extra, now, shadow, strict):
    """Return the first place from this one on whose job may start; -1 for none."""
    half = tree.shape[0] // 2
    if place >= half:
        return -1
    node = place + half
    while True:
        need, end = tree[node, 0], now + tree[node, 1]
        if need <= free and (need <= extra or end < shadow or (end == shadow and not strict)):
            if node >= half:
                return node - half
            node *= 2
            continue
        while node & 1:
            node >>= 1
        if node == 0:
            return -1
        node += 1


@njit(**UNCOUNTED_WITHIN)
def _behind(tree, place, depth):
    """Return the place of the job that is so many behind the one at this place."""
    half = tree.shape[0] // 2
    node, rank = place + half, depth
    while node > 1:
        if node & 1:
            rank += tree[node - 1, 2]
        node >>= 1
    if rank >= tree[1, 2]:
        return half
    while node < half:
        node *= 2
        if rank >= tree[node, 2]:
            rank -= tree[node, 2]
            node += 1
    return node - half


@njit(**UNCOUNTED_WITHIN)
def _copy(table, to, row):
    """Write a row of two over another."""
    table[to, 0], table[to, 1] = table[row, 0], table[row, 1]


@njit(**UNCOUNTED_WITHIN)
def _push(heap, size, time, job):
    """Put an end into the heap of ends."""
    at = size
    while at and heap[(at - 1) // 2, 0] > time:
        _copy(heap, at, (at - 1) // 2)
        at = (at - 1) // 2
    heap[at, 0], heap[at, 1] = time, job


@njit(**UNCOUNTED_WITHIN)
def _pop(heap, size):
    """Take the first end out of the heap of `size` ends; return its job."""
    first, time, job = int(heap[0, 1]), heap[size - 1, 0], heap[size - 1, 1]
    at, child = 0, 1
    while child < size - 1:
        if child + 1 < size - 1 and heap[child + 1, 0] < heap[child, 0]:
            child += 1
        if heap[child, 0] >= time:
            break
        _copy(heap, at, child)
        at, child = child, 2 * child + 1
    heap[at, 0], heap[at, 1] = time, job
    return first


@njit(**UNCOUNTED_WITHIN)
def _first(ends, running, end):
    """Return the first row of a sorted table that is not before an end."""
    low, high = 0, running
    while low < high:
        middle = (low + high) // 2
        if ends[middle, 0] < end:
            low = middle + 1
        else:
            high = middle
    return low


@njit(**UNCOUNTED_WITHIN)
def _move(job, free, nodes, per_node, held, sign):
    """Give back (+1) or take (-1) what a job holds; return by how much more is spare, see `_spare`."""
    more = np.int64(0)
    for k in range(nodes):
        node = held[job, k]
        more -= max(free[node, 0], 0)
        for r in range(free.shape[1]):
            free[node, r] += sign * per_node[job, r]
        more += max(free[node, 0], 0)
    return more


@njit(**UNCOUNTED_WITHIN)
def _spare(free):
    """Return the processors that are free; a drained node on which jobs still run has none, not fewer."""
    spare = 0
    for node in range(free.shape[0]):
        spare += max(free[node, 0], 0)
    return spare


@njit(**UNCOUNTED_WITHIN)
def _write(later, free):
    """Copy what is free."""
    for node in range(free.shape[0]):
        for r in range(free.shape[1]):
            later[node, r] = free[node, r]


@njit(**UNCOUNTED_WITHIN)
def _fits(job, free, nodes, per_node, admitted, held):
    """Return whether enough nodes have room for a job, and note the first of them."""
    found = 0
    for node in range(free.shape[0]):
        if not admitted[job, node]:
            continue
        room = True
        for r in range(free.shape[1]):
            room = room and free[node, r] >= per_node[job, r]
        if room:
            held[job, found] = node
            found += 1
            if found == nodes:
                return True
    return False


@njit(**UNCOUNTED_WITHIN)
def _reserve(head, later, ends, running, now, jobs, per_node, admitted, held):
    """Return when by the limits the head fits; `later`, what is free now, becomes what is free then."""
    at = 0
    while at < running:
        end = ends[at, 0]
        while at < running and ends[at, 0] == end:
            job = int(ends[at, 1])
            _move(job, later, jobs[job, 3], per_node, held, np.int64(1))
            at += 1
        if _fits(head, later, jobs[head, 3], per_node, admitted, held):
            return max(end, now)
    return math.inf


@njit(**UNCOUNTED_WITHIN)
def _order(waiting, queued, now, jobs, times, weights, usage, score):
    """Sort those that wait by class, then by weight, then by their order."""
    all_usage = 0.0
    for used in usage:
        all_usage += used
    for k in range(queued):
        job = waiting[k]
        value = weights[0] * (jobs[job, 0] * weights[5] + jobs[job, 3] * weights[8])
        value += weights[1] * min((now - times[job, 0]) / weights[2], 1.0)
        if weights[3] != 0.0 and all_usage > 0.0:
            part = usage[jobs[job, 2]] / all_usage
            value += weights[3] * 2.0 ** (-part / weights[7] / weights[6])
        score[job] = value
    for k in range(1, queued):  # by insertion: the queue is nearly sorted from the last time
        job, at = waiting[k], k
        while at:
            other = waiting[at - 1]
            ahead = jobs[other, 4] - jobs[job, 4]
            if ahead < 0 or (ahead == 0 and score[other] > score[job]):
                break
            if ahead == 0 and score[other] == score[job] and jobs[other, 1] < jobs[job, 1]:
                break
            waiting[at] = other
            at -= 1
        waiting[at] = job


class Tables(NamedTuple):
    """What the loop works on."""

    tree: Array
    heap: Array  #: what runs, by what happens
    ends: Array  #: the same, by the limits
    held: Ints
    later: Ints
    when: Array
    room: Ints
    score: Array
    usage: Array
    place: Ints
    job_at: Ints
    waiting: Ints
    use: Ints
    kept_back: Ints
    kept_next: Ints


def tables(count: int, users: int, free: Ints, *, slots: int, most: int, dynamic: bool, rows: int) -> Tables:
    """Return what the loop works on.

    Parameters
    ----------
    count, users : int
        Jobs and users.
    free : (nodes, resources) ndarray
        What the machine has.
    slots, most : int
        Rows for jobs that run, and most nodes of a job.
    dynamic : bool
        Whether the order is made anew at every event.
    rows : int
        Of the plan of all that wait; 0 where none is made.
    """
    half = 1 << max(count - 1, 0).bit_length()
    tree = np.empty((2 * half, 3))
    tree[:] = NOBODY, math.inf, 0.0
    waiting, whole = count if dynamic else 1, np.int64
    return Tables(
        tree, np.empty((slots, 2)), np.empty((slots, 2)), np.empty((count, most), np.int32),
        np.empty_like(free), np.empty(rows), np.empty((rows, *free.shape), whole), np.empty(waiting),
        np.zeros(users), np.empty(count, whole), np.empty(count, whole), np.empty(waiting, whole),
        np.zeros(users, whole), np.full(users, -1, whole), np.empty(count, whole),
    )  # fmt: skip


@njit(**UNCOUNTED_WITHIN)
def _leave(tree, at, waiting, queued, dynamic, job):
    """Take a job at a place out of the queue of so many; return how many are left."""
    _set(tree, at, NOBODY, math.inf, 0.0)
    queued -= 1
    if dynamic:
        k = 0
        while waiting[k] != job:
            k += 1
        waiting[k] = waiting[queued]
    return queued


@njit(**UNCOUNTED)
def simulate(
    jobs, times, per_node, admitted, free, leaves, step_time, steps, caps, rules, weights, start, kept
):  # fmt: skip
    """Fill `start` with the start of each job; NaN where it never starts.

    Columns of `jobs`: processors, place in the order, user, nodes, class; of `times`: submission, run,
    limit, withdrawal. `leaves` are jobs in order of withdrawal; `steps` are changes of the machine,
    a node and what its resources change by. `rules`: who may pass, whether strictly in time (or, where
    all are planned, by whole nodes), jobs looked at, jobs that always wait (until there are no more),
    whether there are caps. With `weights` (as `Weights.numbers`) the order is made anew at every
    event. `free` is used up, and so is `kept`, from `tables`.
    """
    n, half = start.size, kept.tree.shape[0] // 2
    tree, heap, ends, held, later, when, room, score, usage = kept[:9]
    place, job_at, waiting, use, kept_back, kept_next = kept[9:]
    passing, strict, depth, backlog, capped = rules
    dynamic, leaving = weights.size > 0, leaves.size > 0
    for job in range(n):
        place[job], job_at[jobs[job, 1]] = jobs[job, 1], job
    running = queued = came = left = step = filled = 0
    now, total = 0.0, _spare(free)
    head, shadow, extra, last, stale = -1, math.inf, NOBODY, half, False
    rows, planned = 0, passing == PLANNED
    for job in range(n):
        start[job] = math.nan
    while True:
        time = heap[0, 0] if running else (0.0 if backlog and came == 0 else math.inf)
        if backlog == 0 and came < n:
            time = min(time, times[came, 0])
        if step < step_time.size and (running or queued or came < n):
            time = min(time, step_time[step])
        while leaving and left < n and not math.isnan(start[leaves[left]]):
            left += 1  # who has started leaves no queue: nothing happens then
        if leaving and left < n and queued:
            time = min(time, times[leaves[left], 3])
        if time == math.inf:
            return
        if dynamic:
            rate = math.log(2.0) / weights[4]
            kept = math.exp(-rate * (time - now))
            for u in range(use.size):
                usage[u] = usage[u] * kept + use[u] * (1.0 - kept) / rate
        now, anew, new = time, dynamic or stale or planned, came
        while running and heap[0, 0] == now:
            job = _pop(heap, running)
            at = _first(ends, running, start[job] + times[job, 2])
            while ends[at, 1] != job:
                at += 1
            running -= 1
            for k in range(at, running):
                _copy(ends, k, k + 1)
            total += _move(job, free, jobs[job, 3], per_node, held, np.int64(1))
            u, anew = jobs[job, 2], True
            use[u] -= jobs[job, 0]
            # Those of this user that the cap kept back wait again, as far as they have room now.
            other, kept_back[u] = kept_back[u], -1
            while other >= 0:
                following, at = kept_next[other], place[other]
                if use[u] == 0 or use[u] + jobs[other, 0] <= caps[u]:
                    if tree[at + half, 2] > 0.0:
                        _set(tree, at, float(jobs[other, 0]), times[other, 2], 1.0)
                else:
                    kept_next[other], kept_back[u] = kept_back[u], other
                other = following
        while step < step_time.size and step_time[step] <= now:
            for r in range(free.shape[1]):
                free[steps[step, 0], r] += steps[step, 1 + r]
            anew, total = True, _spare(free)
            step += 1
        while leaving and left < n and times[leaves[left], 3] <= now:
            job = leaves[left]
            left += 1
            if job < came and math.isnan(start[job]):
                queued, anew = _leave(tree, place[job], waiting, queued, dynamic, job), True
        begun = True  # lets the first of a backlog come
        if not backlog:
            while came < n and times[came, 0] == now:
                anew = anew or head < 0 or place[came] < place[head]
                if dynamic:
                    waiting[queued] = came
                else:
                    _set(tree, place[came], float(jobs[came, 0]), times[came, 2], 1.0)
                came += 1
                queued += 1
        if dynamic:
            _order(waiting, queued, now, jobs, times, weights, usage, score)
            for u in range(caps.size):
                kept_back[u] = -1
            for k in range(max(queued, filled)):
                if k < queued:
                    job = waiting[k]
                    place[job], job_at[k] = k, job
                    _set(tree, k, float(jobs[job, 0]), times[job, 2], 1.0)
                else:
                    _set(tree, k, NOBODY, math.inf, 0.0)
            filled = queued
        if anew or backlog:
            head, stale, at = -1, False, -1
        elif passing == 0 or new == came:
            continue
        else:
            # Behind a head that waits nothing has changed but that these came.
            at = half
            for job in range(new, came):
                at = min(at, place[job] - 1)
            if depth >= 0:
                last = _behind(tree, place[head], depth)
        while True:
            if begun:
                begun = False
                while queued < backlog and came < n:
                    _set(tree, place[came], float(jobs[came, 0]), times[came, 2], 1.0)
                    came += 1
                    queued += 1
                if backlog and came == n:
                    return
            if head < 0:  # from the front while it fits
                at = _next(tree, np.int64(0), NOBODY / 2, NOBODY / 2, now, math.inf, np.int64(0))
            else:
                most_need = NOBODY / 2 if planned else float(total)
                at = _next(tree, at + 1, most_need, extra, now, shadow, np.int64(0) if planned else strict)
            if at < 0 or (head >= 0 and at > last):
                break
            job = job_at[at]
            u = jobs[job, 2]
            if capped and use[u] > 0 and use[u] + jobs[job, 0] > caps[u]:
                # A job over its user's cap keeps nobody back; it counts as looked at.
                _set(tree, at, NOBODY, math.inf, 1.0)
                kept_next[job], kept_back[u] = kept_back[u], job
                continue
            fits = jobs[job, 0] <= total and _fits(job, free, jobs[job, 3], per_node, admitted, held)
            if planned and (head >= 0 or not fits):
                if head < 0:
                    rows = planning.plan_nothing(when, room, now, free, ends, running, jobs, per_node, held)
                row = planning.earliest(
                    when, room, rows, job, times[job, 2], jobs[job, 3], per_node, admitted, held
                )
                if row >= 0:
                    whole = strict and row > 0  # what runs keeps what it holds
                    rows = planning.reserve(
                        when, room, rows, row, job, times[job, 2], jobs[job, 3], per_node, held, whole
                    )
                fits = row == 0
            if not fits and head >= 0:
                continue
            if not fits:
                head = job
                if passing == 0:
                    break
                shadow, extra, last = math.inf, NOBODY / 2, half
                if passing == 1:
                    _write(later, free)
                    shadow = _reserve(head, later, ends, running, now, jobs, per_node, admitted, held)
                    if shadow < math.inf:
                        extra = float(_spare(later) - jobs[head, 0])
                if depth >= 0:
                    last = _behind(tree, at, depth)
                continue
            end = now + times[job, 2]
            if head >= 0:
                if shadow < math.inf and not (end < shadow or (end == shadow and not strict)):
                    _move(job, later, jobs[job, 3], per_node, held, np.int64(-1))
                    if not _fits(head, later, jobs[head, 3], per_node, admitted, held):
                        _move(job, later, jobs[job, 3], per_node, held, np.int64(1))
                        continue
                    extra -= jobs[job, 0]
                # At the next event what was out of sight may be in sight, the head over its cap, what
                # ends with the shadow counted as free then, or another node the first that has room.
                stale = stale or depth >= 0 or (capped and u == jobs[head, 2]) or (strict and end == shadow)
                stale = stale or free.shape[0] > 1
            total += _move(job, free, jobs[job, 3], per_node, held, np.int64(-1))
            start[job] = now
            queued, begun = _leave(tree, at, waiting, queued, dynamic, job), True
            use[u] += jobs[job, 0]
            _push(heap, running, now + times[job, 1], job)
            k = running
            while k and ends[k - 1, 0] > end:
                _copy(ends, k, k - 1)
                k -= 1
            ends[k, 0], ends[k, 1] = end, job
            running += 1
