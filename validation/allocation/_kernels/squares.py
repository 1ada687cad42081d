"""Squares of the quad-trees, and cubes of the octrees: MBS and the measure of compactness.

Names as in `validation.allocation._kernels`, but ``free`` is (layers, rows, columns): with one
layer blocks are squares and split by fours, with several they are cubes and split by eights.
"""

from __future__ import annotations

from numba import njit

from phasefit.compiled import COMPILED, WITHIN


@njit(**COMPILED)
def free_squares(free, starts, squares):
    """Flag in ``squares`` the largest free blocks of the trees; returns how many there are.

    Level i begins at ``starts[i]`` of ``squares`` and is a grid of (layers >> i, rows >> i,
    columns >> i), with one layer of one layer.
    """
    layers, rows, columns = free.shape
    thick = 2 if layers > 1 else 1
    count = 0
    for k in range(layers):
        for r in range(rows):
            for c in range(columns):
                squares[(k * rows + r) * columns + c] = free[k, r, c]
                count += free[k, r, c]
    for level in range(1, starts.shape[0] - 1):
        high, wide = rows >> level, columns >> level
        for k in range(max(layers >> level, 1)):
            for r in range(high):
                for c in range(wide):
                    if all_children(squares, starts, free.shape, level, k, r, c):
                        squares[starts[level] + (k * high + r) * wide + c] = True
                        count -= 4 * thick - 1
    return count


@njit(**WITHIN)
def all_children(squares, starts, shape, level, k, r, c):
    """Whether all children of a block are flagged; takes their flags away if so."""
    layers, rows, columns = shape
    high, wide = rows >> (level - 1), columns >> (level - 1)
    thick = 2 if layers > 1 else 1
    first = starts[level - 1] + (thick * k * high + 2 * r) * wide + 2 * c
    for i in range(thick):
        a = first + i * high * wide
        b = a + wide
        if not (squares[a] and squares[a + 1] and squares[b] and squares[b + 1]):
            return False
    for i in range(thick):
        a = first + i * high * wide
        b = a + wide
        squares[a] = squares[a + 1] = squares[b] = squares[b + 1] = False
    return True


@njit(**WITHIN)
def next_flag(flags, start, stop):
    """First index in [start, stop) that is flagged, or -1."""
    for i in range(start, stop):
        if flags[i]:
            return i
    return -1


@njit(**COMPILED)
def buddies(squares, starts, shape, size, out):
    """Serve the digits of `size`, base 4 or 8, from ``squares``, as `free_squares` leaves them."""
    layers, rows, columns = shape
    deep = layers > 1
    digit = 3 if deep else 2  # bits of one
    top = starts.shape[0] - 2
    need, n = size >> (digit * top), 0
    for level in range(top, -1, -1):
        high, wide, cursor = rows >> level, columns >> level, starts[level]
        side = 1 << level
        while need > 0:
            at = next_flag(squares, cursor, starts[level + 1])
            if at < 0:
                at = split_for(squares, starts, shape, level)
                if at < 0:
                    break
            squares[at] = False
            cursor = at + 1
            line, c = divmod(at - starts[level], wide)
            k, r = divmod(line, high)
            for z in range(k * side, (k + 1) * side) if deep else range(1):
                for i in range(r * side, (r + 1) * side):
                    for j in range(c * side, (c + 1) * side):
                        out[n] = (z * rows + i) * columns + j
                        n += 1
            need -= 1
        if level:
            need = (need << digit) + ((size >> (digit * (level - 1))) & ((1 << digit) - 1))


@njit(**WITHIN)
def split_for(squares, starts, shape, level):
    """Split the smallest larger free block, the first of its size; returns its first child."""
    layers, rows, columns = shape
    thick = 2 if layers > 1 else 1
    for larger in range(level + 1, starts.shape[0] - 1):
        at = next_flag(squares, starts[larger], starts[larger + 1])
        if at < 0:
            continue
        squares[at] = False
        line, c = divmod(at - starts[larger], columns >> larger)
        k, r = divmod(line, rows >> larger)
        for below in range(larger - 1, level - 1, -1):
            high, wide = rows >> below, columns >> below
            k, r, c = thick * k, 2 * r, 2 * c
            at = starts[below] + (k * high + r) * wide + c
            for i in range(thick):
                a = at + i * high * wide
                squares[a] = squares[a + 1] = squares[a + wide] = squares[a + wide + 1] = True
            squares[at] = False
        return at
    return -1
