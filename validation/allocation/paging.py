"""Paging(s): whole pages of 2^s x 2^s nodes, in row-major order of the pages.

V. Lo, K. Windisch, W. Liu, B. Nitzberg, "Noncontiguous processor allocation algorithms for
mesh-connected multicomputers", *IEEE Trans. Parallel Distrib. Syst.* 8 (1997) 712-726.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.allocation.base import Free, Ints, Kind, PlaneStrategy, Request, register


@register
@dataclass(frozen=True)
class Paging(PlaneStrategy):
    """Gives the first pages that are wholly free, in O(n).

    Parameters
    ----------
    s : int
        Pages have sides of 2^s nodes; both sides of the mesh must be multiples of that. With
        s = 0 a page is a node and nothing is wasted.

    Notes
    -----
    Row-major pages lie perpendicular to I/O nodes in the west.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> Paging(s=1).choose(Mesh(4, 4), 3).tolist()
    [0, 1, 4, 5]
    """

    s: int = 0

    name = "Paging"

    def __post_init__(self) -> None:
        s = whole_number("s", self.s, least=0)
        if s > 20:
            raise ModelError(f"s must be <= 20, got {s}; pages of 2^s must fit the mesh")
        object.__setattr__(self, "s", s)

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """Exact for pages of one node."""
        return "pages" if self.s else "exact"

    def check_sides(self, rows: int, columns: int) -> None:
        """Sides must be multiples of a page's."""
        side = 1 << self.s
        if rows % side or columns % side:
            raise ModelError(
                f"pages of {side} x {side} do not tile a mesh of {rows} x {columns}; both sides "
                f"must be multiples of {side}, or use a smaller s"
            )

    def places(self, free: Free, request: Request) -> Ints | None:
        """See `PlaneStrategy.places`."""
        if self.s == 0:
            return np.flatnonzero(free)[: request.size]
        (rows, columns), side = free.shape, 1 << self.s
        paged: Any = free.reshape(rows // side, side, columns // side, side)
        whole = np.argwhere(paged.all(axis=(1, 3)))[: -(-request.size // side**2)]
        if len(whole) * side**2 < request.size:
            return None
        row, column = (whole.T * side)[:, :, None, None]
        inside = np.arange(side)
        return np.asarray((row + inside[:, None]) * columns + column + inside).ravel()
