"""MBS, the multiple buddy strategy: free squares of 2^i x 2^i, split and merged by fours.

On 3-D meshes the same with cubes, split and merged by eights; that is ours, the paper has 2-D ones.

V. Lo, K. Windisch, W. Liu, B. Nitzberg, "Noncontiguous processor allocation algorithms for
mesh-connected multicomputers", *IEEE Trans. Parallel Distrib. Syst.* 8 (1997) 712-726.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from phasefit.arrays import Ints
from validation.allocation import _kernels
from validation.allocation.base import Free, GridStrategy, Request, register

Levels = Ints


@register
class MBS(GridStrategy):
    """Writes the request in base 4 and serves each digit from the squares of its size.

    The mesh is cut into initial squares: the largest 2^i x 2^i in the north-west corner, then in
    the same way the strip to its right (all rows) and the strip below it. Each is a quad-tree of
    buddies, and its free squares follow from which nodes are free. From the largest size
    needed: the first free square of that size by row and column, else the first child of the
    smallest larger one, else four squares of the next size down. On a 3-D mesh squares are cubes,
    in order of layer, row and column, and four are eight.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> MBS().choose(Mesh(4, 4), 5).tolist()
    [0, 1, 2, 4, 5]
    """

    name = "MBS"

    def places(self, free: Free, request: Request) -> Ints:
        """See `GridStrategy.places`."""
        grid = free if free.ndim == 3 else free[None]
        starts = quad_tree(*free.shape)
        squares = np.zeros(starts[-1], dtype=np.bool_)
        _kernels.free_squares(grid, starts, squares)
        out = np.empty(request.size, dtype=np.int64)
        _kernels.buddies(squares, starts, grid.shape, request.size, out)
        return out


@lru_cache(maxsize=16)
def quad_tree(*shape: int) -> Levels:
    """Where the blocks of each level of a grid of this shape start in a list of all, (levels + 1,).

    Each strip begins where a square at least as large as its own ends. So the initial squares and
    their quarters are just the squares of the mesh that lie at multiples of their own sides, up to
    the largest that fits; and so with cubes.
    """
    top = min(shape).bit_length() - 1
    sizes = [math.prod(side >> level for side in shape) for level in range(top + 1)]
    return np.concatenate([[0], np.cumsum(sizes)])
