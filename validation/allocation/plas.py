"""PLAS: columns from the I/O side, inside a column from the middle outwards.

J. Mache, V. Lo, M. Livingston, S. Garg, "The impact of spatial layout of jobs on parallel I/O
performance", *Proc. IOPADS* 1999, 45-56.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from validation.allocation.base import Free, Ints, PlaneStrategy, Request, register


@register
class PLAS(PlaneStrategy):
    """Gives the first free nodes of one fixed scan, parallel to the I/O nodes.

    Rows are taken middle-out, of two equally far from the middle the upper first, so half of a
    job's nodes lie above the middle I/O link and half below.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> PLAS().choose(Mesh(4, 4), 6).tolist()
    [0, 4, 5, 8, 9, 12]
    """

    name = "PLAS"

    def places(self, free: Free, request: Request) -> Ints:
        """See `PlaneStrategy.places`."""
        scan = _scan(*free.shape)
        return scan[np.flatnonzero(free.ravel()[scan])[: request.size]]


def middle_out(rows: int) -> Ints:
    """Rows by distance from the middle, the upper of two first."""
    return np.argsort(np.abs(2 * np.arange(rows) - (rows - 1)), kind="stable")


@lru_cache(maxsize=16)
def _scan(rows: int, columns: int) -> Ints:
    return (middle_out(rows) * columns + np.arange(columns)[:, None]).ravel()
