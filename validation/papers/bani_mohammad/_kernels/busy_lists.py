"""Where a box is free, from the list of busy boxes: planes of candidates, less what is prohibited.

Bani-Mohammad and others 2007, section 3. ``boxes`` (m, 6) are rows of x, y, z and sides; a
rectangle of a plane is a row of y, z of its first node and of its last. Operations are counted in
``work``: pairs of a plane and a prohibited region [0], regions subtracted from what is left of a
plane [1], rectangles looked at in doing so [2].
"""

from __future__ import annotations

from numba import njit

from validation.allocation.searches import base_sides, candidate_plane


@njit(cache=True)
def pieces(first, length, side, wraps, out):
    """Cut `length` places from `first` on into intervals within [0, side); returns how many.

    ``out`` (2, 2) receives their ends. On a torus what reaches over an end goes on at the other.
    """
    if not wraps:
        low, high = max(first, 0), min(first + length - 1, side - 1)
        out[0, 0], out[0, 1] = low, high
        return 1 if low <= high else 0
    if length >= side:
        out[0, 0], out[0, 1] = 0, side - 1
        return 1
    low = first % side
    if low + length <= side:
        out[0, 0], out[0, 1] = low, low + length - 1
        return 1
    out[0, 0], out[0, 1] = 0, low + length - side - 1
    out[1, 0], out[1, 1] = low, side - 1
    return 2


@njit(cache=True)
def subtract(rectangles, count, other, y1, y2, z1, z2, work):
    """Take a rectangle out of disjoint ones; ``other`` gets what is left; returns how many."""
    kept = 0
    for r in range(count):
        a1, b1, a2, b2 = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        work[2] += 1
        if y1 > a2 or y2 < a1 or z1 > b2 or z2 < b1:
            kept = put(other, kept, a1, b1, a2, b2)
            continue
        if z1 > b1:
            kept = put(other, kept, a1, b1, a2, z1 - 1)
        if z2 < b2:
            kept = put(other, kept, a1, z2 + 1, a2, b2)
        if y1 > a1:
            kept = put(other, kept, a1, max(b1, z1), y1 - 1, min(b2, z2))
        if y2 < a2:
            kept = put(other, kept, y2 + 1, max(b1, z1), a2, min(b2, z2))
    return kept


@njit(cache=True)
def put(rectangles, at, a1, b1, a2, b2):
    """Enter a rectangle at a place of a list; returns the next place."""
    row = rectangles[at]
    row[0], row[1], row[2], row[3] = a1, b1, a2, b2
    return at + 1


@njit(cache=True)
def leftmost_base(boxes, sides, box, wraps, lists, spans, work, base):
    """Fill ``base`` with the first base of a free box on a candidate plane; returns whether any.

    The planes are x = 0 and, for each busy box in turn, the one right of it, as far as a box there
    could touch it. Of what no region prohibits, the first place by z, then y, is taken.

    ``lists`` (2, y * z + 4, 4) and ``spans`` (2, 2, 2) are room to work in: disjoint rectangles of
    a plane are at most as many as its nodes.
    """
    a, b, c = box
    wide, deep, high = base_sides(sides, box, wraps)
    m = boxes.shape[0]
    along_y, along_z = spans[0], spans[1]
    for plane in range(-1, m):
        x = candidate_plane(boxes, plane, wide, wraps)
        if x < 0:
            continue
        in_y, in_z = 1, 1
        along_y[0, 0], along_y[0, 1], along_z[0, 0], along_z[0, 1] = 0, deep - 1, 0, high - 1
        if plane >= 0:
            own = boxes[plane]
            in_y = pieces(own[1] - b + 1, own[4] + b - 1, deep, wraps, along_y)
            in_z = pieces(own[2] - c + 1, own[5] + c - 1, high, wraps, along_z)
        now, count = 0, 0
        for i in range(in_y):
            for k in range(in_z):
                count = put(lists[0], count, along_y[i, 0], along_z[k, 0], along_y[i, 1], along_z[k, 1])
        for region in range(m):
            if count == 0:
                break
            work[0] += 1
            busy = boxes[region]
            beyond = x - (busy[0] - a + 1)
            if wraps:
                beyond %= wide
            if beyond < 0 or beyond >= busy[3] + a - 1:
                continue
            work[1] += 1
            in_y = pieces(busy[1] - b + 1, busy[4] + b - 1, deep, wraps, along_y)
            in_z = pieces(busy[2] - c + 1, busy[5] + c - 1, high, wraps, along_z)
            for i in range(in_y):
                for k in range(in_z):
                    count = subtract(
                        lists[now],
                        count,
                        lists[1 - now],
                        along_y[i, 0],
                        along_y[i, 1],
                        along_z[k, 0],
                        along_z[k, 1],
                        work,
                    )
                    now = 1 - now
        if count:
            best = 0
            for r in range(1, count):
                z, y = lists[now, r, 1], lists[now, r, 0]
                if (z, y) < (lists[now, best, 1], lists[now, best, 0]):
                    best = r
            base[0], base[1], base[2] = x, lists[now, best, 0], lists[now, best, 1]
            return True
    return False
