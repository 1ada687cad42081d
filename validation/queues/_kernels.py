"""Compiled loops of one queue: jobs in the order of a key, or the servers shared equally.

Which job comes next is kept in a heap. Jobs in service are few, so the one that ends first is looked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED, WITHIN


@njit(**WITHIN)
def _put(heap, keys, size, job):
    """Put a job into a heap of `size` others."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[heap[above]] <= keys[job]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = job


@njit(**WITHIN)
def _take(heap, keys, size):
    """Take the job of the least key out of a heap of `size`."""
    first, last = heap[0], heap[size - 1]
    at, size = 0, size - 1
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and keys[heap[below + 1]] < keys[heap[below]]:
            below += 1
        if keys[last] <= keys[heap[below]]:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return first


@njit(**COMPILED)
def in_order(arrival, work, keys, servers, preemptive, shrinking, start, end):
    """Serve jobs by their keys, the least first; write when each first began and when it ended.

    With `preemptive` a job takes the server of the one with the greatest key, if that is above its own. With
    `shrinking` the key of a job is the work that is left of it.
    """
    jobs = arrival.size
    left, waiting = work.copy(), np.empty(jobs, np.int64)
    running, until = np.empty(servers, np.int64), np.empty(servers)
    busy, queued, arrived = 0, 0, 0
    while arrived < jobs or busy > 0:
        first = -1
        for k in range(busy):
            if first < 0 or until[k] < until[first]:
                first = k
        if first >= 0 and (arrived == jobs or until[first] <= arrival[arrived]):
            now, done = until[first], running[first]
            end[done] = now
            busy -= 1
            running[first], until[first] = running[busy], until[busy]
            if queued == 0:
                continue
            job = _take(waiting, keys, queued)
            queued -= 1
        else:
            job, now = arrived, arrival[arrived]
            arrived += 1
            if busy == servers:
                worst = -1
                if preemptive:
                    for k in range(busy):
                        if shrinking:
                            keys[running[k]] = until[k] - now
                        if worst < 0 or keys[running[k]] > keys[running[worst]]:
                            worst = k
                if worst < 0 or keys[running[worst]] <= keys[job]:
                    _put(waiting, keys, queued, job)
                    queued += 1
                    continue
                gone = running[worst]
                left[gone] = until[worst] - now
                _put(waiting, keys, queued, gone)
                queued += 1
                busy -= 1
                running[worst], until[worst] = running[busy], until[busy]
        if np.isnan(start[job]):
            start[job] = now
        running[busy], until[busy] = job, now + left[job]
        busy += 1


@njit(**COMPILED)
def shared(arrival, work, servers, end):
    """Share the servers equally, none of them twice for one job; write when each job ended.

    All jobs have been served alike since any moment, so a job ends when the service that each has had
    reaches what it was at its arrival and its own work.
    """
    jobs = arrival.size
    target, inside = np.empty(jobs), np.empty(jobs, np.int64)
    served, now = 0.0, 0.0
    there, arrived = 0, 0
    while arrived < jobs or there > 0:
        pace = min(1.0, servers / there) if there > 0 else 0.0
        ends = np.inf
        if there > 0:
            ends = now + max(0.0, target[inside[0]] - served) / pace
        if arrived == jobs or ends <= arrival[arrived]:
            job = _take(inside, target, there)
            there -= 1
            served, now = target[job], ends
            end[job] = now
            if there == 0:
                served = 0.0
        else:
            served += pace * (arrival[arrived] - now)
            now = arrival[arrived]
            target[arrived] = served + work[arrived]
            _put(inside, target, there, arrived)
            there += 1
            arrived += 1
