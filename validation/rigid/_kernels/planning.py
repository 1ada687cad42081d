"""Compiled plan of all jobs that wait: what is free from when on, and the first time at which a job fits."""

from __future__ import annotations

from numba import njit

from phasefit.compiled import UNCOUNTED_WITHIN


@njit(**UNCOUNTED_WITHIN)
def _copy(room, to, row):
    """Write what is free from one row on over another row."""
    for node in range(room.shape[1]):
        for r in range(room.shape[2]):
            room[to, node, r] = room[row, node, r]


@njit(**UNCOUNTED_WITHIN)
def plan_nothing(when, room, now, free, ends, running, jobs, per_node, held):
    """Fill rows with what is free from each end, by the limits, of those that run; return their number."""
    when[0] = now
    for node in range(free.shape[0]):
        for r in range(free.shape[1]):
            room[0, node, r] = free[node, r]
    rows = 1
    for at in range(running):
        end, job = max(ends[at, 0], now), int(ends[at, 1])
        if end > when[rows - 1]:
            when[rows] = end
            _copy(room, rows, rows - 1)
            rows += 1
        for k in range(jobs[job, 3]):
            for r in range(free.shape[1]):
                room[rows - 1, held[job, k], r] += per_node[job, r]
    return rows


@njit(**UNCOUNTED_WITHIN)
def earliest(when, room, rows, job, limit, nodes, per_node, admitted, held):
    """Return the first row from which on enough nodes have room for a whole limit; note them. -1 for none."""
    row = 0
    while row < rows:
        end, found, beyond = when[row] + limit, 0, row + 1
        for node in range(room.shape[1]):
            if not admitted[job, node]:
                continue
            fits, at = True, row
            while fits and at < rows and (at == row or when[at] < end):
                for r in range(room.shape[2]):
                    fits = fits and room[at, node, r] >= per_node[job, r]
                at += 1
            if fits:
                held[job, found] = node
                found += 1
                if found == nodes:
                    return row
            elif room.shape[1] == 1:
                beyond = at  # the only node is too full in the row before this one
        row = beyond
    return -1


@njit(**UNCOUNTED_WITHIN)
def reserve(when, room, rows, row, job, limit, nodes, per_node, held, whole):
    """Take what a job holds from a row on for its limit, `whole` nodes if so; return the number of rows.

    There is to be room for one row more.
    """
    end, last = when[row] + limit, row
    while last < rows and when[last] < end:
        last += 1
    if last == rows or when[last] > end:
        for at in range(rows, last, -1):
            when[at] = when[at - 1]
            _copy(room, at, at - 1)
        when[last] = end
        _copy(room, last, last - 1)
        rows += 1
    for at in range(row, last):
        for k in range(nodes):
            for r in range(room.shape[2]):
                room[at, held[job, k], r] -= per_node[job, r]
                if whole:
                    room[at, held[job, k], r] = -1
    return rows
