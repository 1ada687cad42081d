"""PLAS and MC-Elongated: whole columns, inside of each from the middle row outwards.

PLAS scans them from the I/O side (J. Mache, V. Lo, M. Livingston, S. Garg, "The impact of spatial
layout of jobs on parallel I/O performance", *Proc. IOPADS* 1999, 45-56). MC-Elongated lays shells
of them around each column and takes the best fit over all (J. Mache, V. Lo, S. Garg, "Job
scheduling that minimizes network contention due to both communication and I/O", *Proc. 14th Int.
Parallel and Distributed Processing Symp.* 2000, 457-463).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from phasefit.arrays import Ints
from validation.allocation import _kernels
from validation.allocation.base import Free, PlaneStrategy, Request, as_request, register
from validation.mesh import Mesh, Occupancy


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


@register
class MCElongated(PlaneStrategy):
    """Takes the column around which the job's nodes lie in the nearest columns.

    Shell 0 of column i is a window of max(1, j // rows) columns from i - (that - 1) // 2; it may
    protrude from the mesh. A node costs the distance of its column from the window; the column
    with the cheapest j free nodes wins, the westernmost of equals. Inside a shell nodes are
    taken from the middle row outwards, in the half with fewer busy processors first.

    Notes
    -----
    The paper's formula for the window does not give its own example; the one here does. Only the
    free nodes per column matter for the costs, so all of them take O(rows columns + columns^2).

    Examples
    --------
    The example of the paper's figures 3 to 8:

    >>> mesh = Occupancy(Mesh(4, 8))
    >>> idle = [2, 3, 4, 5, 10, 11, 12, 13, 16, 18, 23, 24, 26, 31]
    >>> mesh.occupy("others", [node for node in range(32) if node not in idle])
    >>> MCElongated().costs(mesh, 8).tolist()
    [8, 4, 2, 4, 6, 8, 12, 18]
    >>> MCElongated().choose(mesh, 8).tolist()
    [2, 3, 4, 10, 11, 12, 18, 26]
    """

    name = "MC-Elongated"

    def costs(self, mesh: Mesh | Occupancy, request: Request | int) -> Ints | None:
        """Cost of the layout around each column, (columns,), or None if too few nodes are free.

        On a mesh with I/O nodes in the north or south these are its rows.
        """
        size = as_request(request).size
        free = self.free_grid(mesh)
        return _costs(free, size) if size <= np.count_nonzero(free) else None

    def places(self, free: Free, request: Request) -> Ints:
        """See `PlaneStrategy.places`."""
        rows = len(free)
        best = int(_costs(free, request.size).argmin())
        half = rows // 2
        upper, lower = np.count_nonzero(free[:half]), np.count_nonzero(free[rows - half :])
        order = middle_out(rows)
        if upper < lower:
            order = rows - 1 - order
        out = np.empty(request.size, dtype=np.int64)
        _kernels.columns_around(free, request.size, best, order, out)
        return out


def _costs(free: Free, size: int) -> Ints:
    costs = np.empty(free.shape[1], dtype=np.int64)
    _kernels.column_costs(free.sum(axis=0), size, max(1, size // free.shape[0]), costs)
    return costs
