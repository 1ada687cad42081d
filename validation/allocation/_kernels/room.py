"""Boxes at multiples of their sides, and how large a box is left free; names as in `free_boxes`."""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN
from validation.allocation._kernels.free_boxes import (
    along,
    box_nodes,
    free_bases,
    lowest_bit,
    pack,
    shift_and,
)


@njit(**UNCOUNTED_WITHIN)
def aligned_base(busy, sides, box, wraps, rows, base):
    """Fill ``base`` with the first base of a free box that lies at multiples of the box's sides."""
    a, b, c = box
    layers, lines = free_bases(busy, sides, along(sides), box, wraps, rows)
    for k in range(0, layers, c):
        for j in range(0, lines, b):
            for i in range(0, sides[0] if wraps else sides[0] - a + 1, a):
                if rows[k, j, i >> 6] >> np.uint64(i & 63) & np.uint64(1):
                    base[0], base[1], base[2] = i, j, k
                    return True
    return False


@njit(**UNCOUNTED)
def words_for_room(sides, wraps):
    """Words that `largest_free_box` needs as ``room``: three copies of the mesh, made longer."""
    if wraps:
        across, back, up = 2 * sides[0] - 1, 2 * sides[1] - 1, 2 * sides[2] - 1
    else:
        across, back, up = sides[0], sides[1], sides[2]
    return 3 * ((across + 63) // 64) * back * up


@njit(**UNCOUNTED_WITHIN)
def copy_words(rows, other, lines):
    """Copy the first `lines` lines of every layer."""
    for k in range(rows.shape[0]):
        for j in range(lines):
            for w in range(rows.shape[2]):
                other[k, j, w] = rows[k, j, w]


@njit(**UNCOUNTED)
def largest_free_box(busy, sides, wraps, room):
    """Nodes of the largest free box; ``room`` (`words_for_room`,) of uint64 is for working.

    The bases of boxes one longer come from those of the boxes before by one shift, along x, then
    along y, then along z: O(n / 64) words for every box that is free somewhere.
    """
    wide, deep, high = sides
    words = ((2 * wide - 1 if wraps else wide) + 63) // 64
    lines, layers = (2 * deep - 1, 2 * high - 1) if wraps else (deep, high)
    size = words * lines * layers
    by_x = room[:size].reshape(layers, lines, words)
    by_y = room[size : 2 * size].reshape(layers, lines, words)
    by_z = room[2 * size : 3 * size].reshape(layers, lines, words)
    pack(busy, sides, along(sides), wide - 1 if wraps else 0, by_x)
    largest = 0
    for a in range(1, wide + 1):
        if a > 1:
            for k in range(layers):
                for j in range(lines):
                    shift_and(by_x[k, j], 1)
        copy_words(by_x, by_y, lines)
        in_y = lines
        for b in range(1, deep + 1):
            if b > 1:
                in_y -= 1
                for k in range(layers):
                    for j in range(in_y):
                        for w in range(words):
                            by_y[k, j, w] &= by_y[k, j + 1, w]
            if a * b * high <= largest:
                continue
            copy_words(by_y, by_z, in_y)
            in_z, found = layers, True
            for c in range(1, high + 1):
                if c > 1:
                    in_z -= 1
                found = False
                for k in range(in_z):
                    for j in range(in_y):
                        for w in range(words):
                            if c > 1:
                                by_z[k, j, w] &= by_z[k + 1, j, w]
                            found |= by_z[k, j, w] != 0
                if not found:
                    break
                largest = max(largest, a * b * c)
    return largest


@njit(**UNCOUNTED_WITHIN)
def roomiest_base(busy, sides, box, wraps, rows, room, nodes, least, base):
    """Fill ``base`` with the free box after which the largest free box is largest, first of equals.

    Returns the nodes of that largest box, or -1 where none leaves more than `least`, which is -1 to
    begin with. ``nodes`` has room for the box; ``busy`` is changed and restored.
    """
    layers, lines = free_bases(busy, sides, along(sides), box, wraps, rows)
    most, best = largest_free_box(busy, sides, wraps, room), least
    found, size = False, box[0] * box[1] * box[2]
    for k in range(layers):
        for j in range(lines):
            for w in range(rows.shape[2]):
                bits = rows[k, j, w]
                while bits:
                    i = 64 * w + lowest_bit(bits)
                    bits &= bits - np.uint64(1)
                    box_nodes((i, j, k), box, sides, nodes)
                    for n in range(size):
                        busy[nodes[n]] = True
                    left = largest_free_box(busy, sides, wraps, room)
                    for n in range(size):
                        busy[nodes[n]] = False
                    if left > best:
                        best, found = left, True
                        base[0], base[1], base[2] = i, j, k
                        if best == most:
                            return best
    return best if found else -1
