"""Paging(s): whole pages with sides of 2^s nodes, in row-major order of the pages.

V. Lo, K. Windisch, W. Liu, B. Nitzberg, "Noncontiguous processor allocation algorithms for
mesh-connected multicomputers", *IEEE Trans. Parallel Distrib. Syst.* 8 (1997) 712-726.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from phasefit.arrays import Ints
from phasefit.checks import whole_number
from qmodels.errors import ModelError
from validation.allocation.base import Free, GridStrategy, Kind, Request, register


@register
@dataclass(frozen=True)
class Paging(GridStrategy):
    """Gives the first pages that are wholly free, in O(n).

    Parameters
    ----------
    s : int
        Pages have sides of 2^s nodes, along z too on a 3-D mesh; all sides of the mesh must be
        multiples of that. With s = 0 a page is a node and nothing is wasted.

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

    def check_grid(self, shape: tuple[int, ...]) -> None:
        """Sides must be multiples of a page's."""
        side = 1 << self.s
        if any(along % side for along in shape):
            raise ModelError(
                f"pages of {' x '.join([str(side)] * len(shape))} do not tile a mesh of "
                f"{' x '.join(map(str, shape))}; {'both' if len(shape) == 2 else 'all'} sides "
                f"must be multiples of {side}, or use a smaller s"
            )

    def places(self, free: Free, request: Request) -> Ints | None:
        """See `GridStrategy.places`."""
        if self.s == 0:
            return np.flatnonzero(free)[: request.size]
        side, axes = 1 << self.s, free.ndim
        pages = [along // side for along in free.shape]
        cut = [length for count in pages for length in (count, side)]
        whole: Any = free.reshape(cut).all(axis=tuple(range(1, 2 * axes, 2)))
        first = np.argwhere(whole)[: -(-request.size // side**axes)]
        if len(first) * side**axes < request.size:
            return None
        within = np.indices((side,) * axes).reshape(axes, -1)
        corners = first.T[:, :, None] * side + within[:, None, :]
        return np.asarray(np.ravel_multi_index(tuple(corners), free.shape)).ravel()
