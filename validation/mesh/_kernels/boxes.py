"""Sets of nodes as boxes: the busy list of a mesh, from the nodes that its jobs hold.

A box is a row of six numbers: x, y, z of its first node and its sides along them. On a torus it may
reach over the end of a side and go on at the other.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def interval(flags, wraps):
    """First place and length of the flags that are set, if they lie in a row; length 0 if not."""
    n = flags.shape[0]
    first, length, runs = 0, 0, 0
    for i in range(n):
        if not flags[i]:
            continue
        length += 1
        begins = not flags[i - 1] if i > 0 else not (wraps and flags[n - 1])
        if begins:
            first = i
            runs += 1
    return (first, length) if runs <= 1 else (0, 0)


@njit(cache=True)
def as_one_box(nodes, wide, deep, high, wraps, box):
    """Fill ``box`` (6,) if ``nodes`` (n,), all different, are just one box; returns whether so."""
    along_x = np.zeros(wide, np.bool_)
    along_y = np.zeros(deep, np.bool_)
    along_z = np.zeros(high, np.bool_)
    for node in nodes:
        pile, x = divmod(node, wide)
        z, y = divmod(pile, deep)
        along_x[x] = along_y[y] = along_z[z] = True
    box[0], box[3] = interval(along_x, wraps)
    box[1], box[4] = interval(along_y, wraps)
    box[2], box[5] = interval(along_z, wraps)
    return box[3] * box[4] * box[5] == nodes.shape[0]


@njit(cache=True)
def cut_into_boxes(held, wide, deep, high, boxes):
    """Cut the nodes flagged in ``held`` (nodes,) into boxes; clears the flags, returns how many.

    From each node left, in order, the box grows along x, then y, then z as far as nodes are left.
    """
    count = 0
    for node in range(held.shape[0]):
        if not held[node]:
            continue
        pile, x = divmod(node, wide)
        z, y = divmod(pile, deep)
        a = b = c = np.int64(1)
        while x + a < wide and held[node + a]:
            a += 1
        while y + b < deep and all_held(held, wide, deep, x, y + b, z, a, 1, 1):
            b += 1
        while z + c < high and all_held(held, wide, deep, x, y, z + c, a, b, 1):
            c += 1
        for k in range(z, z + c):
            for j in range(y, y + b):
                for i in range(x, x + a):
                    held[i + wide * (j + deep * k)] = False
        row = boxes[count]
        row[0], row[1], row[2], row[3], row[4], row[5] = x, y, z, a, b, c
        count += 1
    return count


@njit(cache=True)
def all_held(held, wide, deep, x, y, z, a, b, c):
    """Whether every node of a box that lies within the mesh is flagged."""
    for k in range(z, z + c):
        for j in range(y, y + b):
            for i in range(x, x + a):
                if not held[i + wide * (j + deep * k)]:
                    return False
    return True
