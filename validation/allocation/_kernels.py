"""Compiled kernels of the strategies: plain arrays in, plain arrays out.

``free`` (rows, columns) says which places are free, a place is ``row * columns + column``, and
``out`` (size,) receives the places chosen. Callers see to it that enough places are free.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FIRST_FIT, BEST_FIT, SUM_OF_SQUARES = 0, 1, 2
FROM_ROOT, FROM_FIRST, FROM_LAST = 0, 1, 2


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
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
            cost = layout_cost(
                sums, r - (height - 1) // 2, c - (width - 1) // 2, height, width, size, limit
            )
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


@njit(cache=True)
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


@njit(cache=True)
def free_squares(free, starts, squares):
    """Flag in ``squares`` the largest free squares of the quad-trees; returns how many there are.

    Level i begins at ``starts[i]`` of ``squares`` and is a grid of (rows >> i, columns >> i).
    """
    rows, columns = free.shape
    count = 0
    for r in range(rows):
        for c in range(columns):
            squares[r * columns + c] = free[r, c]
            count += free[r, c]
    for level in range(1, starts.shape[0] - 1):
        wide, below = columns >> level, columns >> (level - 1)
        for r in range(rows >> level):
            for c in range(wide):
                a = starts[level - 1] + 2 * r * below + 2 * c
                b = a + below
                if squares[a] and squares[a + 1] and squares[b] and squares[b + 1]:
                    squares[starts[level] + r * wide + c] = True
                    squares[a] = squares[a + 1] = squares[b] = squares[b + 1] = False
                    count -= 3
    return count


@njit(cache=True)
def next_flag(flags, start, stop):
    """First index in [start, stop) that is flagged, or -1."""
    for i in range(start, stop):
        if flags[i]:
            return i
    return -1


@njit(cache=True)
def buddies(squares, starts, columns, size, out):
    """Serve the base-4 digits of `size` from ``squares``, as `free_squares` leaves them."""
    top = starts.shape[0] - 2
    need, n = size >> (2 * top), 0
    for level in range(top, -1, -1):
        wide, cursor = columns >> level, starts[level]
        while need > 0:
            at = next_flag(squares, cursor, starts[level + 1])
            if at < 0:
                at = split_for(squares, starts, columns, level)
                if at < 0:
                    break
            squares[at] = False
            cursor = at + 1
            r, c = divmod(at - starts[level], wide)
            for i in range(r << level, (r + 1) << level):
                for k in range(c << level, (c + 1) << level):
                    out[n] = i * columns + k
                    n += 1
            need -= 1
        if level:
            need = 4 * need + ((size >> (2 * level - 2)) & 3)


@njit(cache=True)
def split_for(squares, starts, columns, level):
    """Split the smallest larger free square, the first of its size; returns its first child."""
    for larger in range(level + 1, starts.shape[0] - 1):
        at = next_flag(squares, starts[larger], starts[larger + 1])
        if at < 0:
            continue
        squares[at] = False
        r, c = divmod(at - starts[larger], columns >> larger)
        for below in range(larger - 1, level - 1, -1):
            wide = columns >> below
            r, c = 2 * r, 2 * c
            at = starts[below] + r * wide + c
            squares[at + 1] = squares[at + wide] = squares[at + wide + 1] = True
        return at
    return -1


@njit(cache=True)
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


@njit(cache=True)
def free_blocks(counts, largest):
    """Fill ``largest`` (2 n,) with the size of the largest free block at or below each node."""
    low, size = counts.shape[0] // 2, 1
    largest[low:] = counts[low:]
    while low > 1:
        low, size = low // 2, 2 * size
        for p in range(low, 2 * low):
            below = max(largest[2 * p], largest[2 * p + 1])
            largest[p] = size if counts[p] == size else below


@njit(cache=True)
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


@njit(cache=True)
def in_rectangle(free, order, size, block, left_first, alpha, ratio, out):
    """Take `size` free places of one tree rectangle of `block`; False if none has as many."""
    n, columns = order.shape[0], free.shape[1]
    counts, reach = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    tree_counts(free, order, counts)
    low = n // block
    for p in range(2 * low - 1, 0, -1):
        reach[p] = counts[p] if p >= low else max(reach[2 * p], reach[2 * p + 1])
    p = descend(counts, reach, 1, n, block, size, left_first, alpha, ratio)
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


@njit(cache=True)
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
                p = descend(counts, largest, 1, n, piece, piece, left_first, alpha, ratio)
            else:
                q, span = anchor, anchor_size
                while p == 0 and q > 1:
                    p = descend(
                        counts, largest, q ^ 1, span, piece, piece, left_first, alpha, ratio
                    )
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


@njit(cache=True)
def leaves(free, order, size, out):
    """Take what the descent of SCBT takes for each binary digit of `size`."""
    n = order.shape[0]
    counts = np.empty(2 * n, np.int32)
    tree_counts(free, order, counts)
    taken, piece = 0, n
    while piece:
        z = piece if size & piece else 0
        p = 1
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


@njit(cache=True)
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
