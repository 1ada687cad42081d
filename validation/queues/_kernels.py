"""Compiled loops of one queue: jobs in the order of a key, or the servers shared equally.

Which job comes next is kept in a heap. Jobs in service are few, so the one that ends first is looked for.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED
from qmodels.heaps import put, take


@njit(**COMPILED)
def in_order(arrival, work, keys, servers, preemptive, shrinking, start, end):
    """Serve jobs by their keys, the least first; write when each first began and when it ended.

    With `preemptive` a job takes the server of the one with the greatest key, if that is above its own. With
    `shrinking` the key of a job is the work that is left of it.
    """
    jobs = arrival.size
    left, order, waiting = work.copy(), np.empty(jobs), np.empty(jobs, np.int64)
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
            job = take(order, waiting, queued)
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
                    put(order, waiting, queued, keys[job], job)
                    queued += 1
                    continue
                gone = running[worst]
                left[gone] = until[worst] - now
                put(order, waiting, queued, keys[gone], gone)
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
            ends = now + max(0.0, target[0] - served) / pace
        if arrived == jobs or ends <= arrival[arrived]:
            served, now = target[0], ends
            end[take(target, inside, there)] = now
            there -= 1
            if there == 0:
                served = 0.0
        else:
            served += pace * (arrival[arrived] - now)
            now = arrival[arrived]
            put(target, inside, there, served + work[arrived], arrived)
            there += 1
            arrived += 1
