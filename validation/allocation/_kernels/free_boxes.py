"""Where a box is free, from bits: every base at once, by shifts of whole rows.

A mesh is kept as rows of bits along one axis, ``rows`` (layers, lines, words) of uint64; bit i of
word w is node 64 w + i. The axis is x, with lines along y and layers along z, but for busy lists,
which look at planes of equal x: there it is y, with lines along x.

The bits from which on `a` nodes in a row are free come from the row by about log2(a) shifts and
ands, and the same holds along the other axes with whole rows: O(n / 64) words and log2 of each
side. On a torus the rows are made longer by what a box may reach over the end.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import UNCOUNTED, UNCOUNTED_WITHIN


@njit(**UNCOUNTED_WITHIN)
def pack(busy, sides, strides, more, rows):
    """Fill ``rows`` with the free nodes; rows go on with their first `more` nodes.

    ``busy`` (nodes,) by node number, which grows by ``strides`` along the three axes. Rows and
    layers beyond the mesh repeat the first ones.
    """
    wide, deep, high = sides
    one = np.uint64(1)
    for k in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            at = strides[1] * (j % deep) + strides[2] * (k % high)
            for w in range(rows.shape[2]):
                bits = np.uint64(0)
                for i in range(64 * w, min(64 * w + 64, wide)):
                    bits |= np.uint64(not busy[at + strides[0] * i]) << np.uint64(i & 63)
                rows[k, j, w] = bits
            for i in range(wide, wide + more):
                free = np.uint64(not busy[at + strides[0] * (i - wide)])
                rows[k, j, i >> 6] |= (free & one) << np.uint64(i & 63)


@njit(**UNCOUNTED_WITHIN)
def shift_and(row, step):
    """Keep the bits of a row (words,) whose neighbour `step` bits on is set too, in place."""
    words = row.shape[0]
    skip, bits = step >> 6, np.uint64(step & 63)
    for w in range(words):
        low = row[w + skip] if w + skip < words else np.uint64(0)
        moved = low >> bits
        if bits and w + skip + 1 < words:
            moved |= row[w + skip + 1] << (np.uint64(64) - bits)
        row[w] &= moved


@njit(**UNCOUNTED_WITHIN)
def erode(rows, wide, deep, high, a, b, c):
    """Leave in ``rows`` the bases of free boxes of a x b x c alone, in place.

    ``rows`` is as `pack` leaves it, with `wide`, `deep` and `high` the places where a base may lie
    (on a mesh the sides less those of the box, plus one; on a torus all).
    """
    layers, lines, words = rows.shape
    erode_along_rows(rows, a)
    flat = rows.reshape(layers, lines * words)
    # What is beyond the last base is still read from but no longer kept up to date.
    reach, used = 1, lines * words
    while reach < b:
        step = min(reach, b - reach)
        used -= step * words
        for k in range(layers):
            for i in range(used):
                flat[k, i] &= flat[k, i + step * words]
        reach += step
    reach = 1
    while reach < c:
        step = min(reach, c - reach)
        layers -= step
        for k in range(layers):
            for i in range(used):
                flat[k, i] &= flat[k + step, i]
        reach += step
    every = np.uint64(0xFFFFFFFFFFFFFFFF)
    for k in range(high):
        for j in range(deep):
            for w in range(wide >> 6, words):
                left = wide - 64 * w  # bases in this word
                rows[k, j, w] &= every >> np.uint64(64 - left) if left > 0 else np.uint64(0)


@njit(**UNCOUNTED_WITHIN)
def erode_along_rows(rows, a):
    """Keep the bits from which on `a` bits are set."""
    layers, lines, words = rows.shape
    for k in range(layers):
        for j in range(lines):
            reach = 1
            if words == 1:
                bits = rows[k, j, 0]
                while reach < a:
                    step = min(reach, a - reach)
                    bits &= bits >> np.uint64(step)
                    reach += step
                rows[k, j, 0] = bits
            while reach < a:
                step = min(reach, a - reach)
                shift_and(rows[k, j], step)
                reach += step


@njit(**UNCOUNTED_WITHIN)
def free_bases(busy, sides, strides, box, wraps, rows):
    """Fill ``rows`` with the bases of the free boxes; returns how many layers and lines have any.

    ``sides`` and ``box`` go along the axes of ``strides``; ``rows`` has room for the mesh and, on a
    torus, for what a box may reach over its ends.
    """
    a, b, c = box
    pack(busy, sides, strides, a - 1 if wraps else 0, rows)
    wide, deep, high = base_sides(sides, box, wraps)
    erode(rows, wide, deep, high, a, b, c)
    return high, deep


@njit(**UNCOUNTED_WITHIN)
def base_sides(sides, box, wraps):
    """How many places the base of a box may have along each side."""
    if wraps:
        return sides[0], sides[1], sides[2]
    return sides[0] - box[0] + 1, sides[1] - box[1] + 1, sides[2] - box[2] + 1


@njit(**UNCOUNTED_WITHIN)
def lowest_bit(bits):
    """Place of the lowest bit that is set."""
    place = 0
    for half in (32, 16, 8, 4, 2, 1):
        if not bits & ((np.uint64(1) << np.uint64(half)) - np.uint64(1)):
            bits >>= np.uint64(half)
            place += half
    return place


@njit(**UNCOUNTED_WITHIN)
def any_base(rows, layers, lines):
    """Whether some bit is set in the first `layers` and `lines`."""
    for k in range(layers):
        for j in range(lines):
            for w in range(rows.shape[2]):
                if rows[k, j, w]:
                    return True
    return False


@njit(**UNCOUNTED)
def first_base(busy, sides, box, wraps, rows, base):
    """Fill ``base`` with the first base of a free box, z outermost and x innermost."""
    layers, lines = free_bases(busy, sides, along(sides), box, wraps, rows)
    for k in range(layers):
        for j in range(lines):
            for w in range(rows.shape[2]):
                if rows[k, j, w]:
                    base[0], base[1], base[2] = 64 * w + lowest_bit(rows[k, j, w]), j, k
                    return True
    return False


@njit(**UNCOUNTED_WITHIN)
def along(sides):
    """How node numbers grow along x, y and z."""
    return 1, sides[0], sides[0] * sides[1]


@njit(**UNCOUNTED_WITHIN)
def corner_sums(busy, sides, wraps, sums):
    """Sums of busy nodes up to each place, (z, y, x), from one place before the mesh on.

    On a mesh everything outside counts as busy; a torus goes on instead.
    """
    wide, deep, high = sides
    layers, lines, places = sums.shape
    sums[0] = 0
    for k in range(1, layers):
        sums[k, 0] = 0
        z = k - 2
        for j in range(1, lines):
            y, row, here = j - 2, 0, sums[k, j]
            here[0] = 0
            if wraps:
                at = wide * (y % deep + deep * (z % high))
                for i in range(1, places):
                    row += busy[at + (i - 2) % wide]
                    here[i] = row
            elif 0 <= y < deep and 0 <= z < high:
                at = wide * (y + deep * z)
                here[1] = row = 1
                for i in range(wide):
                    row += busy[at + i]
                    here[i + 2] = row
                here[wide + 2] = row + 1
            else:
                for i in range(1, places):
                    here[i] = i
        # Whole rows at a time: the sums along y and z need nothing of their neighbours along x.
        for j in range(1, lines):
            for i in range(places):
                sums[k, j, i] += sums[k, j - 1, i]
        for j in range(1, lines):
            for i in range(places):
                sums[k, j, i] += sums[k - 1, j, i]


@njit(**UNCOUNTED_WITHIN)
def within(sums, x, y, z, a, b, c):
    """Busy nodes of a box, from corner sums whose origin is one place before the mesh."""
    x, y, z = x + 1, y + 1, z + 1
    u, v, w = x + a, y + b, z + c
    return (
        sums[w, v, u]
        - sums[z, v, u]
        - sums[w, y, u]
        - sums[w, v, x]
        + sums[z, y, u]
        + sums[z, v, x]
        + sums[w, y, x]
        - sums[z, y, x]
    )


@njit(**UNCOUNTED)
def snuggest_base(busy, sides, box, wraps, rows, sums, base):
    """Fill ``base`` with the free box whose faces touch most busy nodes and walls, first of equals.

    Both faces along a side are counted at once: the box made longer by one at both ends holds
    nothing busy but them. On a torus a face may touch the box itself, which is free.
    """
    a, b, c = box
    layers, lines = free_bases(busy, sides, along(sides), box, wraps, rows)
    if not any_base(rows, layers, lines):
        return False
    corner_sums(busy, sides, wraps, sums)
    best, most = -1, 2 * (a * b + b * c + a * c)
    for k in range(layers):
        for j in range(lines):
            for w in range(rows.shape[2]):
                bits = rows[k, j, w]
                while bits:
                    i = 64 * w + lowest_bit(bits)
                    bits &= bits - np.uint64(1)
                    touching = (
                        within(sums, i - 1, j, k, a + 2, b, c)
                        + within(sums, i, j - 1, k, a, b + 2, c)
                        + within(sums, i, j, k - 1, a, b, c + 2)
                    )
                    if touching > best:
                        best = touching
                        base[0], base[1], base[2] = i, j, k
                        if best == most:
                            return True
    return best >= 0


@njit(**UNCOUNTED_WITHIN)
def span_of(first, length, places, wraps):
    """First place and length of the bases whose box meets `length` places from `first` on."""
    if wraps:
        return (first % places, length) if length < places else (0, places)
    low, high = max(first, 0), min(first + length, places)
    return low, high - low


@njit(**UNCOUNTED_WITHIN)
def candidate_plane(boxes, plane, wide, wraps):
    """Where bases lie whose box touches a busy one from the right; 0 without one, -1 beyond the mesh."""
    if plane < 0:
        return 0
    x = boxes[plane, 0] + boxes[plane, 3]
    if wraps:
        return x % wide
    return x if x < wide else -1


@njit(**UNCOUNTED_WITHIN)
def base_beside(boxes, sides, box, wraps, rows, base):
    """Fill ``base`` with the first base on a candidate plane of the busy list.

    ``boxes`` (m, 6) are rows of x, y, z and sides. Candidate planes are x = 0, then the one right
    of each busy box in turn, as far as a box there could touch it; on a plane the first base by z,
    then y, is taken. ``rows`` (z, x, words) are the bases of all free boxes as bits along y, from
    `free_bases`: just what is left of a plane when all prohibited regions are subtracted.
    """
    _, b, c = box
    wide, deep, high = base_sides(sides, box, wraps)
    for plane in range(-1, boxes.shape[0]):
        x = candidate_plane(boxes, plane, wide, wraps)
        if x < 0:
            continue
        y, in_y, z, in_z = 0, deep, 0, high
        if plane >= 0:
            own = boxes[plane]
            y, in_y = span_of(own[1] - b + 1, own[4] + b - 1, deep, wraps)
            z, in_z = span_of(own[2] - c + 1, own[5] + c - 1, high, wraps)
        # What goes on at the other end of a side comes first there.
        over = max(z + in_z - high, 0)
        for k in range(in_z):
            layer = k if k < over else z + k - over
            at = -1
            if y + in_y > deep:
                at = bit_between(rows[layer, x], np.int64(0), y + in_y - deep)
            if at < 0:
                at = bit_between(rows[layer, x], y, min(y + in_y, deep))
            if at >= 0:
                base[0], base[1], base[2] = x, at, layer
                return True
    return False


@njit(**UNCOUNTED_WITHIN)
def bit_between(row, start, stop):
    """Place of the first bit of a row (words,) in [start, stop) that is set, or -1."""
    for w in range(start >> 6, (stop + 63) >> 6):
        bits = row[w]
        if w == start >> 6:
            bits = (bits >> np.uint64(start & 63)) << np.uint64(start & 63)
        if bits:
            place = 64 * w + lowest_bit(bits)
            return place if place < stop else -1
    return -1


@njit(**UNCOUNTED)
def leftmost_base(busy, boxes, sides, box, wraps, rows, base):
    """Fill ``base`` as `base_beside` says; ``rows`` is room for the mesh as bits along y."""
    wide, deep, high = sides
    a, b, c = box
    layers, lines = free_bases(busy, (deep, wide, high), (wide, 1, wide * deep), (b, a, c), wraps, rows)
    if not any_base(rows, layers, lines):
        return False
    return base_beside(boxes, sides, box, wraps, rows, base)


@njit(**UNCOUNTED)
def box_nodes(base, box, sides, nodes):
    """Fill ``nodes`` (a * b * c,) with the numbers of a box's nodes, ascending.

    Where the box goes on at the other end of a side, what lies there has the lower numbers.
    """
    wide, deep, high = sides
    a, b, c = box
    over_x = max(base[0] + a - wide, 0)
    over_y = max(base[1] + b - deep, 0)
    over_z = max(base[2] + c - high, 0)
    n = 0
    for k in range(c):
        z = k if k < over_z else base[2] + k - over_z
        for j in range(b):
            y = j if j < over_y else base[1] + j - over_y
            line = wide * (y + deep * z)
            for i in range(a):
                nodes[n] = line + (i if i < over_x else base[0] + i - over_x)
                n += 1
