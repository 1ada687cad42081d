"""Contiguous strategies for 3-D meshes: first fit, best fit, busy lists, with turning or without.

S. Bani-Mohammad, M. Ould-Khaoua, I. Ababneh, L. M. Mackenzie, "A performance comparison of the
contiguous allocation strategies in 3D mesh connected multicomputers", *LNCS* 4742 (2007) 645-656.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Ints
from validation.allocation import _kernels
from validation.allocation.base import register
from validation.allocation.boxes import BoxStrategy
from validation.mesh import Occupancy, Sides


def in_scan_order(held: Occupancy, box: Sides) -> Ints | None:
    """The first free box, z outermost, then y, x innermost; see `BoxStrategy.base`."""
    base, mesh = np.empty(3, dtype=np.int64), held.mesh
    found = _kernels.first_base(
        held.busy.reshape(-1), mesh.sides, box, mesh.torus, _bit_rows(held, box), base
    )
    return base if found else None


def snuggest(held: Occupancy, box: Sides) -> Ints | None:
    """The free box that touches most busy nodes and walls; see `BoxStrategy.base`."""
    base, mesh = np.empty(3, dtype=np.int64), held.mesh
    more = [side + 2 if mesh.torus else 3 for side in box]
    room = [side + own for side, own in zip(mesh.sides, more, strict=True)]
    sums = np.empty(room[::-1], dtype=np.int32)
    found = _kernels.snuggest_base(
        held.busy.reshape(-1),
        mesh.sides,
        box,
        mesh.torus,
        _bit_rows(held, box),
        sums,
        base,
    )
    return base if found else None


def beside_a_busy_box(held: Occupancy, box: Sides) -> Ints | None:
    """The first free box on a candidate plane of the busy list; see `BoxStrategy.base`."""
    base, mesh = np.empty(3, dtype=np.int64), held.mesh
    rows = _bit_rows(held, Sides(box.y, box.x, box.z), Sides(mesh.rows, mesh.columns, mesh.depth))
    found = _kernels.leftmost_base(held.busy.reshape(-1), held.boxes, mesh.sides, box, mesh.torus, rows, base)
    return base if found else None


def _bit_rows(held: Occupancy, box: Sides, sides: Sides | None = None) -> NDArray[np.uint64]:
    """Room for the mesh as rows of bits, and on a torus for what a box may reach over its ends."""
    sides = held.mesh.sides if sides is None else sides
    a, b, c = (side - 1 for side in box) if held.mesh.torus else (0, 0, 0)
    return np.empty((sides.z + c, sides.y + b, (sides.x + a + 63) // 64), dtype=np.uint64)


@register
@dataclass(frozen=True)
class FF(BoxStrategy):
    """First fit: the first free box, z outermost, then y, x innermost.

    Parameters
    ----------
    turning : bool
        Whether the sides of a request are tried in every order, the given one first.

    Notes
    -----
    All bases at once, from bits: O(n / 64) words times the logarithms of the box's sides. An
    array that is scanned node by node, as in the paper, takes O(n^2).

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> held = Occupancy(Mesh(2, 4, 2))
    >>> held.occupy("other", [0])
    >>> FF().choose(held, Request.of_shape(2, 1, 2)).tolist()
    [1, 2, 9, 10]
    """

    name = "FF"

    def base(self, held: Occupancy, box: Sides) -> Ints | None:
        """See `BoxStrategy.base`."""
        return in_scan_order(held, box)


@register
@dataclass(frozen=True)
class TFF(FF):
    """`FF` with turning: the first order of the sides for which there is a free box.

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> TFF().choose(Mesh(3, 3, 2), Request.of_shape(1, 1, 3)).tolist()
    [0, 3, 6]
    """

    turning: bool = True

    name = "TFF"


@register
@dataclass(frozen=True)
class BF(BoxStrategy):
    """Best fit: the free box with most face-adjacent nodes that are busy or outside the mesh.

    Parameters
    ----------
    turning : bool
        Whether the sides of a request are tried in every order, the given one first.

    Notes
    -----
    Of equals the first in the order of `FF`. The nodes next to a base's faces are counted by sums
    over corners, in constant time for each free base.

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> held = Occupancy(Mesh(2, 4, 2))
    >>> held.occupy("other", [0])
    >>> BF().choose(held, Request.of_shape(2, 1, 2)).tolist()
    [4, 5, 12, 13]
    """

    name = "BF"

    def base(self, held: Occupancy, box: Sides) -> Ints | None:
        """See `BoxStrategy.base`."""
        return snuggest(held, box)


@register
@dataclass(frozen=True)
class TBF(BF):
    """`BF` with turning: the first order of the sides for which there is a free box.

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> TBF().choose(Mesh(3, 3, 2), Request.of_shape(1, 1, 3)).tolist()
    [0, 3, 6]
    """

    turning: bool = True

    name = "TBF"


@register
@dataclass(frozen=True)
class BL(BoxStrategy):
    """Busy list: a free box with its left face against a busy box or the wall.

    Parameters
    ----------
    turning : bool
        Whether the sides of a request are tried in every order, the given one first.

    Notes
    -----
    The busy list is that of the occupancy, in order of allocation (`Occupancy.boxes`). From the
    planes x = 0 and right of each busy box all places are taken that some busy box prohibits; the
    first that is left, by z, then y, is the base. It finds a box just where `FF` does: from any
    free box one can slide left until a busy box or the wall is met.

    On a torus planes and regions go on at the other end of a side, and the same holds: a box that
    never meets a busy one may as well begin at x = 0.

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> held = Occupancy(Mesh(2, 4, 2))
    >>> held.occupy("other", [0])
    >>> BL().choose(held, Request.of_shape(2, 1, 2)).tolist()
    [4, 5, 12, 13]
    """

    name = "BL"

    def base(self, held: Occupancy, box: Sides) -> Ints | None:
        """See `BoxStrategy.base`."""
        return beside_a_busy_box(held, box)


@register
@dataclass(frozen=True)
class TBL(BL):
    """`BL` with turning: the first order of the sides for which there is a free box.

    Examples
    --------
    >>> from validation.allocation import Request
    >>> from validation.mesh import Mesh
    >>> TBL().choose(Mesh(3, 3, 2), Request.of_shape(1, 1, 3)).tolist()
    [0, 3, 6]
    """

    turning: bool = True

    name = "TBL"
