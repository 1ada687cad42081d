"""First fit as a scan of an array of nodes, base by base and node by node."""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def first_base(busy, sides, box, work, base):
    """Fill ``base`` with the first base of a free box; returns whether there is any.

    ``busy`` (nodes,) by node number. The nodes of a candidate box are looked at until one is busy;
    ``work[0]`` counts them.
    """
    wide, deep, high = sides
    a, b, c = box
    for z in range(high - c + 1):
        for y in range(deep - b + 1):
            for x in range(wide - a + 1):
                if is_free(busy, wide, deep, a, b, c, x, y, z, work):
                    base[0], base[1], base[2] = x, y, z
                    return True
    return False


@njit(cache=True)
def is_free(busy, wide, deep, a, b, c, x, y, z, work):
    """Whether no node of a box is busy."""
    for k in range(z, z + c):
        for j in range(y, y + b):
            for i in range(x, x + a):
                work[0] += 1
                if busy[i + wide * (j + deep * k)]:
                    return False
    return True
