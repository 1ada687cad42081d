"""Squares of the quad-trees: MBS and the measure of compactness.

Names as in `validation.allocation._kernels`.
"""

from __future__ import annotations

from numba import njit


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
