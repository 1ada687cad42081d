"""Rectangles of the binary tree: BT and its kin.

Names as in `validation.allocation._kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED, WITHIN

FROM_ROOT, FROM_FIRST, FROM_LAST = 0, 1, 2


@njit(**WITHIN)
def tree_counts(free, order, counts):
    """Fill ``counts`` (2 n,) with the free places of every tree node.

    ``order`` (n,) lists the places as leaves from left to right. They begin at index n;
    the children of node p are 2 p and 2 p + 1.
    """
    n, flat = order.shape[0], free.ravel()
    for i in range(n):
        counts[n + i] = flat[order[i]]
    for p in range(n - 1, 0, -1):
        counts[p] = counts[2 * p] + counts[2 * p + 1]


@njit(**WITHIN)
def free_blocks(counts, largest):
    """Fill ``largest`` (2 n,) with the size of the largest free block at or below each node."""
    low, size = counts.shape[0] // 2, 1
    largest[low:] = counts[low:]
    while low > 1:
        low, size = low // 2, 2 * size
        for p in range(low, 2 * low):
            below = max(largest[2 * p], largest[2 * p + 1])
            largest[p] = size if counts[p] == size else below


@njit(**WITHIN)
def descend(counts, reach, p, span, block, amount, left_first, alpha, ratio):
    """Tree node of size `block` for `amount` below p, whose size is `span`; 0 if there is none.

    ``reach[q] >= amount`` says that some node of that size at or below q serves, so the way down
    with backtracking never needs to turn back.
    """
    if span < block or reach[p] < amount:
        return 0
    while span > block:
        first = 2 * p
        if not left_first and counts[first] != counts[first + 1]:
            heavy = first if counts[first] < counts[first + 1] else first + 1
            delta = abs(counts[first] - counts[first + 1]) + amount
            first = heavy if delta <= alpha + ratio * span else heavy ^ 1
        p = first if reach[first] >= amount else first ^ 1
        span >>= 1
    return p


@njit(**COMPILED)
def in_rectangle(free, order, size, block, left_first, alpha, ratio, out):
    """Take `size` free places of one tree rectangle of `block`; False if none has as many."""
    n, columns = order.shape[0], free.shape[1]
    counts, reach = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    tree_counts(free, order, counts)
    low = n // block
    for p in range(2 * low - 1, 0, -1):
        reach[p] = counts[p] if p >= low else max(reach[2 * p], reach[2 * p + 1])
    p = descend(counts, reach, np.int64(1), n, block, size, left_first, alpha, ratio)
    if p == 0:
        return False
    first, last = order[(p - low) * block], order[(p - low) * block + block - 1]
    taken = 0
    for c in range(first % columns, last % columns + 1):
        for r in range(first // columns, last // columns + 1):
            if free[r, c] and taken < size:
                out[taken] = r * columns + c
                taken += 1
    return True


@njit(**COMPILED)
def in_pieces(free, order, size, search, left_first, alpha, ratio, out):
    """Take free blocks of the tree for the binary digits of `size`, halving what finds none.

    ``search`` says where a piece is looked for: from the root, or from the siblings of the
    ancestors of the first or the last block placed, nearest first.
    """
    n = order.shape[0]
    counts, largest = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    tree_counts(free, order, counts)
    free_blocks(counts, largest)
    taken, anchor, anchor_size, need = 0, 0, 0, 0
    piece = n
    while piece:
        need = 2 * need + (1 if size & piece else 0)
        while need:
            p = 0
            if search == FROM_ROOT or anchor == 0:
                p = descend(counts, largest, np.int64(1), n, piece, piece, left_first, alpha, ratio)
            else:
                q, span = anchor, anchor_size
                while p == 0 and q > 1:
                    p = descend(counts, largest, q ^ 1, span, piece, piece, left_first, alpha, ratio)
                    q, span = q >> 1, 2 * span
            if p == 0:
                break
            if anchor == 0 or search == FROM_LAST:
                anchor, anchor_size = p, piece
            start = p * piece - n
            for i in range(piece):
                out[taken] = order[start + i]
                taken += 1
            largest[p] = 0
            counts[p] = 0
            q = p >> 1
            while q:
                counts[q] -= piece
                largest[q] = max(largest[2 * q], largest[2 * q + 1])
                q >>= 1
            need -= 1
        piece >>= 1


@njit(**COMPILED)
def leaves(free, order, size, out):
    """Take what the descent of SCBT takes for each binary digit of `size`."""
    n = order.shape[0]
    counts = np.empty(2 * n, np.int32)
    tree_counts(free, order, counts)
    taken, piece = np.int64(0), n
    while piece:
        z = piece if size & piece else 0
        p = np.int64(1)
        while z:
            if p >= n or counts[p] == z:
                taken = take_all(counts, order, p, out, taken)
                break
            if counts[2 * p] >= z:
                p = 2 * p
            else:
                z -= counts[2 * p]
                taken = take_all(counts, order, 2 * p, out, taken)
                p = 2 * p + 1
        piece >>= 1


@njit(**WITHIN)
def take_all(counts, order, p, out, taken):
    """Take every free leaf below p; returns how many are taken by now."""
    n, gone = order.shape[0], counts[p]
    if gone == 0:
        return taken
    q = p >> 1
    while q:
        counts[q] -= gone
        q >>= 1
    stack = np.empty(64, np.int64)
    stack[0], depth = p, 1
    while depth:
        depth -= 1
        q = stack[depth]
        if counts[q] == 0:
            continue
        counts[q] = 0
        if q >= n:
            out[taken] = order[q - n]
            taken += 1
        else:
            stack[depth], stack[depth + 1] = 2 * q + 1, 2 * q
            depth += 2
    return taken
