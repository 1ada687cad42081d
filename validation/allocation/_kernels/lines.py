"""Free places as a line of ranks, or as columns of a grid: curves and MC-Elongated.

Names as in `validation.allocation._kernels`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from phasefit.compiled import COMPILED

FIRST_FIT, BEST_FIT, SUM_OF_SQUARES = 0, 1, 2


@njit(**COMPILED)
def interval(ranks, size, fit):
    """Index in ``ranks`` (free ranks, ascending) of the first of `size` successive ones to take."""
    n = ranks.shape[0]
    counts = np.zeros(n + 1, np.int64)  # intervals of each length
    start = 0
    for i in range(1, n + 1):
        if i == n or ranks[i] != ranks[i - 1] + 1:
            counts[i - start] += 1
            start = i
    best, best_key = -1, 0
    start = 0
    for i in range(1, n + 1):
        if i < n and ranks[i] == ranks[i - 1] + 1:
            continue
        length = i - start
        if length >= size:
            key = 0
            if fit == BEST_FIT:
                key = length
            elif fit == SUM_OF_SQUARES:  # change of the sum; a remainder of 0 is no interval
                key = -2 * counts[length] + 1
                if length > size:
                    key += 2 * counts[length - size] + 1
            if best < 0 or key < best_key:
                best, best_key = start, key
        start = i
    if best >= 0:
        return best
    best = 0
    for i in range(1, n - size + 1):
        if ranks[i + size - 1] - ranks[i] < ranks[best + size - 1] - ranks[best]:
            best = i
    return best


@njit(**COMPILED)
def column_costs(idle, size, width, costs):
    """Cost of the cheapest `size` idle nodes round each column; ``idle`` (columns,) counts them.

    The window of column i has `width` columns from ``i - (width - 1) // 2``; a node costs the
    distance of its column from the window.
    """
    columns = idle.shape[0]
    for i in range(columns):
        low = i - (width - 1) // 2
        high = low + width - 1
        found, shell, cost = 0, 0, 0
        for c in range(max(low, 0), min(high, columns - 1) + 1):
            found += idle[c]
        while found < size:
            shell += 1
            more = 0
            if low - shell >= 0:
                more += idle[low - shell]
            if high + shell < columns:
                more += idle[high + shell]
            cost += shell * min(more, size - found)
            found += more
        costs[i] = cost


@njit(**COMPILED)
def columns_around(free, size, column, order, out):
    """Take nodes round a column: by shell, distance from the middle row, column, half.

    ``order`` (rows,) has the rows from the middle outwards, the preferred half of a pair first.
    """
    rows, columns = free.shape
    width = max(1, size // rows)
    low = column - (width - 1) // 2
    high = low + width - 1
    n, shell = 0, 0
    while True:
        left, right, step = max(low, 0), min(high, columns - 1), 1
        if shell:
            left, right, step = low - shell, high + shell, high - low + 2 * shell
        at = 0
        while at < rows:
            pair = 1 if at == 0 and rows % 2 else 2
            for c in range(left, right + 1, step):
                if 0 <= c < columns:
                    for k in range(at, at + pair):
                        if free[order[k], c]:
                            out[n] = order[k] * columns + c
                            n += 1
                            if n == size:
                                return
            at += pair
        shell += 1
