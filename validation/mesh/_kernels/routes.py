"""Dimension-ordered routes, straight piece by straight piece."""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED


@njit(**UNCOUNTED)
def piece(grid, router, target, leg):
    """Next straight piece of a route: first channel, step, further hops, end router, leg."""
    coordinates = grid.coordinates
    for k in range(leg >> 1, grid.directions >> 1):
        x, y = coordinates[router, k], coordinates[target, k]
        if x == y:
            continue
        along = grid.dimensions[k]
        side, stride = along.side, along.stride
        hops, lane, beyond = abs(y - x), 0, 0
        up = y > x
        end = router + (y - x) * stride
        if grid.wraps:
            ahead = (y - x) % side
            # Half the way round, both directions are as short: the parity of the place decides.
            up = 2 * ahead < side or (2 * ahead == side and x % 2 == 0)
            crosses = y < x if up else y > x
            if crosses:
                # The piece ends at the dateline, and the next one goes on along the same ring.
                hops = side - x if up else x + 1
                end = router + (-x if up else side - 1 - x) * stride
                beyond = 1
            # Whoever crosses keeps to lane 1 all along the ring, so that no cycle of waiting forms.
            if grid.datelines and (crosses or (leg & 1 and k == leg >> 1)):
                lane = 1
        first = np.int64(grid.upwards[router, k]) + lane
        if up:
            return first, along.step, hops - 1, end, 2 * k + beyond
        return first + along.down, -along.step, hops - 1, end, 2 * k + beyond
    return grid.routers + target, 0, 0, target, 6


@njit(**UNCOUNTED)
def route(grid, source, target, out):
    """Fill `out` with the channels from source to target router; returns how many there are."""
    out[0] = source
    n, leg, router = 1, np.int64(0), source
    while leg < 6:
        at, step, left, router, leg = piece(grid, router, target, leg)
        out[n] = at
        for _ in range(left):
            n += 1
            at += step
            out[n] = at
        n += 1
    return n


@njit(**UNCOUNTED)
def add_loads(grid, sources, targets, flits, loads):
    """Add the flits (messages,) of each message to every channel of its route."""
    for i in range(sources.size):
        loads[sources[i]] += flits[i]
        leg, router = np.int64(0), sources[i]
        while leg < 6:
            at, step, left, router, leg = piece(grid, router, targets[i], leg)
            loads[at] += flits[i]
            for _ in range(left):
                at += step
                loads[at] += flits[i]
