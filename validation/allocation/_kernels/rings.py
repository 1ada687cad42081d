"""Rings round a rectangle: MC.

Names as in `validation.allocation._kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED, WITHIN


@njit(**WITHIN)
def corner_sums(free):
    """Free places north-west of each corner, (rows + 1, columns + 1)."""
    rows, columns = free.shape
    sums = np.zeros((rows + 1, columns + 1), np.int32)
    for r in range(rows):
        row = 0
        for c in range(columns):
            row += free[r, c]
            sums[r + 1, c + 1] = sums[r, c + 1] + row
    return sums


@njit(**WITHIN)
def layout_cost(sums, row, column, height, width, size, limit):
    """Cost of `size` free places ring by ring round a window, or `limit` if it is no less.

    ``sums`` comes from `corner_sums`; the window begins at (row, column), perhaps outside.
    """
    rows, columns = sums.shape[0] - 1, sums.shape[1] - 1
    top, bottom, left, right = row, row + height, column, column + width
    found, shell, cost = 0, 0, 0
    while True:
        t, b, l, r = max(top, 0), min(bottom, rows), max(left, 0), min(right, columns)
        inside = min(size, sums[b, r] - sums[t, r] - sums[b, l] + sums[t, l])
        cost += shell * (inside - found)
        found = inside
        shell += 1
        # What is still missing costs at least the next ring.
        if cost + shell * (size - found) >= limit:
            return limit
        if found == size:
            return cost
        top, bottom, left, right = top - 1, bottom + 1, left - 1, right + 1


@njit(**COMPILED)
def concentric(free, size, height, width, both, out):
    """Take the cheapest layout over all free centres, and over both orientations if `both`."""
    rows, columns = free.shape
    sums = corner_sums(free)
    turns = 2 if both else 1
    # A cost that some centre certainly reaches lets the ordered search leave most centres early.
    limit = np.int64(1) << 60
    for step in range(rows * columns // 61 + 1):
        c, r = divmod(step * 61, rows)
        if free[r, c]:
            cost = layout_cost(sums, r - (height - 1) // 2, c - (width - 1) // 2, height, width, size, limit)
            limit = min(limit, cost)
    if limit < np.int64(1) << 60:
        limit += 1
    at_row, at_column, at_turn = 0, 0, 0
    for c in range(columns):
        for r in range(rows):
            if not free[r, c]:
                continue
            for turn in range(turns):
                h, w = (height, width) if turn == 0 else (width, height)
                cost = layout_cost(sums, r - (h - 1) // 2, c - (w - 1) // 2, h, w, size, limit)
                if cost < limit:
                    limit, at_row, at_column, at_turn = cost, r, c, turn
    h, w = (height, width) if at_turn == 0 else (width, height)
    gather(free, at_row - (h - 1) // 2, at_column - (w - 1) // 2, h, w, out)


@njit(**COMPILED)
def gather(free, row, column, height, width, out):
    """Take the free places of a window column by column, then ring by ring.

    Of a ring, the sides along the window's shorter sides come first, each from its middle outwards,
    then the other two, and the corners last.
    """
    rows, columns = free.shape
    n = 0
    for c in range(max(column, 0), min(column + width, columns)):
        for r in range(max(row, 0), min(row + height, rows)):
            if free[r, c]:
                out[n] = r * columns + c
                n += 1
                if n == out.shape[0]:
                    return
    shell = 0
    while True:
        shell += 1
        top, bottom = row - shell, row + height - 1 + shell
        left, right = column - shell, column + width - 1 + shell
        for turn in range(2):
            upright = (height <= width) == (turn == 0)
            first, last = (top + 1, bottom - 1) if upright else (left + 1, right - 1)
            for end in range(2):
                for k in range(last - first + 1):
                    # The middle, or the two middles, then one step out on either side in turn.
                    step = (k + 1) // 2
                    middle = (first + last) // 2
                    odd = (first + last) % 2
                    x = middle + (step if (k % 2 == 1) == (odd == 1) else -step)
                    if upright:
                        r, c = x, left if end == 0 else right
                    else:
                        r, c = top if end == 0 else bottom, x
                    if 0 <= r < rows and 0 <= c < columns and free[r, c]:
                        out[n] = r * columns + c
                        n += 1
                        if n == out.shape[0]:
                            return
        for corner in range(4):
            r = top if corner % 2 == 0 else bottom
            c = left if corner < 2 else right
            if 0 <= r < rows and 0 <= c < columns and free[r, c]:
                out[n] = r * columns + c
                n += 1
                if n == out.shape[0]:
                    return
