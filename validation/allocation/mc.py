"""MC, minimizing contention: shells around a rectangle, best fit over all centres.

J. Mache, V. Lo, K. Windisch, "Minimizing message-passing contention in fragmentation-free
processor allocation", *Proc. 10th Int. Conf. Parallel and Distributed Computing Systems* 1997.
The order inside a ring is the simplest choice that is known to fit; the paper was not at hand.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

import numpy as np

from phasefit.arrays import Ints
from qmodels.errors import ModelError
from validation.allocation import _kernels
from validation.allocation.base import Free, PlaneStrategy, Request, register


@register
class MC(PlaneStrategy):
    """Puts a job where its nodes lie in the fewest and smallest rings round a rectangle.

    The rectangle h x w is the request's shape, upright and lying, or the shape asked for. It is
    centred on every free node in turn and may protrude from the mesh. Free nodes are taken ring by
    ring, and a node in ring s costs s; the cheapest centre wins, the westernmost, then the
    northernmost of equals.

    Notes
    -----
    Counts of free nodes in rectangles come from sums over corners, so a centre costs O(rings);
    those that cannot beat the best so far are left early. A free h x w rectangle is always found.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> MC().choose(Mesh(4, 8), 8).tolist()
    [0, 1, 8, 9, 16, 17, 24, 25]
    """

    name = "MC"

    def places(self, free: Free, request: Request) -> Ints:
        """See `PlaneStrategy.places`."""
        if request.shape is None:
            shape = compact_shape(request.size)
        elif len(request.shape) == 2:
            shape = request.shape
        else:
            raise ModelError(f"MC needs a shape of 2 sides, got {request.shape}")
        out = np.empty(request.size, dtype=np.int64)
        both = request.shape is None and shape[0] != shape[1]
        _kernels.concentric(free, request.size, *shape, both, out)
        return out


@lru_cache(maxsize=4096)
def compact_shape(size: int) -> tuple[int, int]:
    """Sides h <= w <= 2 h of the rectangle with the fewest spare nodes, then the squarest.

    >>> [compact_shape(size) for size in (1, 2, 3, 5, 8, 16)]
    [(1, 1), (1, 2), (2, 2), (2, 3), (2, 4), (4, 4)]
    """
    found = []
    for h in range(1, isqrt(size - 1) + 2):
        w = max(h, -(-size // h))
        if w <= 2 * h:
            found.append((h * w - size, w - h, h, w))
    return min(found)[2:]
