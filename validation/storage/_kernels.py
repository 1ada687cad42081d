"""Event loop of programs that share a storage: bursts in, times of their stages out."""

from __future__ import annotations

import numpy as np
from numba import njit

WORKING, SERVED, QUEUED, DONE, AWAY = 0, 1, 2, 3, 4


@njit(cache=True)
def play(work, moved, weight, stage, creep, level, loss, think, fcfs, switches, neighbours, ends):
    """Play programs from time zero until the last has ended.

    work, moved, weight (n, r): seconds of each round's own work and transfer, alone, and the share of the
    storage that its stream uses; stage (r,): which stage a round belongs to, ascending; creep, level, loss
    (m,): of stages 0, m, 2 m, ... the first, and so on; think (n, s): seconds away before each stage;
    switches (k,): times at which the neighbours come and go, first come; neighbours: the share of the
    storage that they use. Fills ends (n, s): when each stage of each program has ended.
    """
    n, rounds = work.shape
    kinds = creep.size
    state = np.zeros(n, np.int64)
    at = np.zeros(n, np.int64)
    until = np.zeros(n)
    left = np.zeros(n)
    asked = np.zeros(n)
    inside = np.zeros(kinds, np.int64)
    inside[stage[0]] = n
    others = n - 1.0
    for p in range(n):
        stretch = 1.0 + creep[stage[0]] * others / (1.0 + others / level[stage[0]])
        until[p] = work[p, 0] * stretch
    now, toggled, running, on = 0.0, 0, n, False
    while running > 0:
        crowd, lossy = 0.0, 0.0
        for p in range(n):
            if state[p] == SERVED:
                crowd += weight[p, at[p]]
                lossy = max(lossy, loss[stage[at[p]] % kinds])
        if on:
            crowd += neighbours
        full = max(crowd, 1.0)
        slow = full / (1.0 - lossy * (1.0 - 1.0 / full))
        step, who = np.inf, -1
        for p in range(n):
            if state[p] == WORKING or state[p] == AWAY:
                ahead = until[p] - now
            elif state[p] == SERVED:
                ahead = left[p] * slow
            else:
                continue
            if ahead < step:
                step, who = ahead, p
        if toggled < switches.size and switches[toggled] - now < step:
            step, who = switches[toggled] - now, -1
        step = max(step, 0.0)
        now += step
        for p in range(n):
            if state[p] == SERVED:
                left[p] -= step / slow
        if who < 0:
            on = not on
            toggled += 1
        elif state[who] == WORKING and moved[who, at[who]] > 0.0:  # who moves nothing asks for nothing
            state[who], left[who], asked[who] = QUEUED, moved[who, at[who]], now
        else:
            here = then = stage[at[who]]
            if state[who] != AWAY:
                at[who] += 1
                then = stage[at[who]] if at[who] < rounds else -1
                if then != here:
                    ends[who, here] = now
                    inside[here % kinds] -= 1
            if then < 0:
                state[who] = DONE
                running -= 1
            elif then != here and think[who, then] > 0.0:
                state[who], until[who] = AWAY, now + think[who, then]
            else:
                kind = then % kinds
                if then != here or state[who] == AWAY:
                    inside[kind] += 1
                others = inside[kind] - 1.0
                stretch = 1.0 + creep[kind] * others / (1.0 + others / level[kind])
                state[who] = WORKING
                until[who] = now + work[who, at[who]] * stretch
        while True:
            first = -1
            for p in range(n):
                if state[p] == QUEUED and (first < 0 or asked[p] < asked[first]):
                    first = p
            if first < 0:
                break
            if fcfs:  # the storage takes no more than it can serve at full speed
                used = neighbours if on else 0.0
                for p in range(n):
                    if state[p] == SERVED:
                        used += weight[p, at[p]]
                if used > 0.0 and used + weight[first, at[first]] > 1.0 + 1e-9:
                    break
            state[first] = SERVED
