"""Where a slice of a pod goes, and who holds what.

Boxes are found by the kernels of `validation.allocation`; what is particular to pods is parts of
blocks, blocks behind a switch, and runs of blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from phasefit.compiled import COUNTED, INLINED, UNCOUNTED, UNCOUNTED_WITHIN
from validation.allocation.searches import (
    BEST_FIT,
    aligned_base,
    box_nodes,
    first_base,
    interval,
    roomiest_base,
    snuggest_base,
)

#: Strategies; those from `ANY` on take blocks that need not lie in a box.
FIRST, BEST, ALIGNED, ROOMIEST, ANY, CURVE, RUNS = 0, 1, 2, 3, 4, 5, 6
# A function that is compiled by itself is optimised again with each that calls it: what calls
# `finds` is made a part of `play`, so that the placing of boxes is optimised twice, not ten times. What is
# called from several places and does not call `finds` is compiled by itself: its copies took nearly half of
# the compilation of `play`.
# A literal that is handed on makes another type of its own, and another copy of all that it is handed to:
# hence `np.int64(-1)` and `np.bool_(True)`.


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


@njit(**INLINED)
def triple(row):
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
    most = np.int64(-1)
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
            left = roomiest_base(busy, sides, box, wraps, rows, held.room, held.nodes, most, held.spot)
            if left > most:
                most = left
                held.spot[3] = way
        else:
            found = first_base(busy, sides, box, wraps, rows, held.spot)
        if found:
            held.spot[3] = way
            most = np.int64(0)
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


@njit(**UNCOUNTED)
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


@njit(**COUNTED)
def listed(place, held, c):
    """Fill ``held.nodes`` with the blocks, or chips of the block, that ``held.spot`` stands for."""
    size = place.volume[c]
    if place.small[c] or place.strategy < ANY:
        sides = place.block if place.small[c] else place.sides
        box = triple(place.turns[c, held.spot[3]])
        box_nodes(triple(held.spot), box, sides, held.nodes)
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


@njit(**UNCOUNTED_WITHIN)
def takes(place, held, c, job):
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


@njit(**UNCOUNTED_WITHIN)
def gives_back(place, held, c, job):
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
def copied(held, other):
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
