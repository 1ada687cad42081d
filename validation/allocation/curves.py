"""Allocation along a curve through the mesh, Hilbert's or the snake.

V. J. Leung, E. M. Arkin, M. A. Bender, J. Johnston, A. Lal, J. S. B. Mitchell, C. Phillips, S. S.
Seiden, "Processor allocation on Cplant: achieving general processor locality using one-dimensional
allocation strategies", *Proc. 4th IEEE Int. Conf. Cluster Computing* 2002, 296-304.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from phasefit.arrays import Ints, read_only
from phasefit.checks import one_of, whole_number
from qmodels.errors import MemoryBudgetError
from validation.allocation import _kernels
from validation.allocation.base import Free, GridStrategy, Request, register
from validation.mesh import Sides

#: How an interval of free ranks is chosen: first fit, best fit, least sum of squares.
FITS = {"ff": _kernels.FIRST_FIT, "bf": _kernels.BEST_FIT, "ss": _kernels.SUM_OF_SQUARES}


@lru_cache(maxsize=16)
def hilbert_curve(rows: int, columns: int) -> Ints:
    """Places ``row * columns + column`` in the order of Hilbert's curve.

    Parameters
    ----------
    rows, columns : int
        Sides of the mesh.

    Returns
    -------
    order : (rows * columns,) ndarray of int
        The curve of the enclosing square with sides of a power of two, without the cells outside.

    Notes
    -----
    Quarters are visited top left, top right, bottom right, bottom left if ``columns >= rows``,
    else in the transposed order. Neighbours on the curve are neighbours on squares with sides of a
    power of two and on two of them side by side; elsewhere the curve may jump.

    Examples
    --------
    >>> hilbert_curve(2, 4).tolist()
    [0, 4, 5, 1, 2, 3, 7, 6]
    """
    rows, columns = (whole_number("rows", rows, least=1), whole_number("columns", columns, least=1))
    row, column = np.divmod(np.arange(rows * columns, dtype=np.int64), columns)
    if columns < rows:
        row, column = column, row
    key = np.zeros(rows * columns, dtype=np.int64)
    for level in range((max(rows, columns) - 1).bit_length() - 1, -1, -1):
        side = 1 << level
        below, right = row >= side, column >= side
        row, column = row - side * below, column - side * right
        key = 4 * key + np.where(below, 3 - right, right)
        first, last = ~below & ~right, below & ~right
        row, column = (
            np.select([first, last], [column, side - 1 - column], row),
            np.select([first, last], [row, side - 1 - row], column),
        )
    return read_only(np.argsort(key, kind="stable"))


@lru_cache(maxsize=16)
def snake_curve(rows: int, columns: int) -> Ints:
    """Places in the order of the snake: even rows to the right, odd rows to the left.

    Examples
    --------
    >>> snake_curve(2, 3).tolist()
    [0, 1, 2, 5, 4, 3]
    """
    rows, columns = (whole_number("rows", rows, least=1), whole_number("columns", columns, least=1))
    order = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    order[1::2] = order[1::2, ::-1].copy()
    return read_only(order.ravel())


@lru_cache(maxsize=16)
def hilbert_curve_in_space(sides: Sides) -> Ints:
    """Nodes in the order of Hilbert's curve through a 3-D mesh.

    Parameters
    ----------
    sides : Sides

    Returns
    -------
    order : (nodes,) ndarray of int
        The curve of the enclosing cube with sides of a power of two, without the cells outside.

    Notes
    -----
    By the exchanges and inversions of [1]_, from the position along the curve. Neighbours on the
    curve are neighbours on cubes with sides of a power of two; elsewhere the curve may jump.

    References
    ----------
    .. [1] J. Skilling, "Programming the Hilbert curve", *AIP Conf. Proc.* 707 (2004) 381-387.

    Examples
    --------
    >>> from validation.mesh import Sides
    >>> hilbert_curve_in_space(Sides(2, 2, 2)).tolist()
    [0, 4, 6, 2, 3, 7, 5, 1]
    """
    bits = (max(sides) - 1).bit_length()
    count = 1 << (3 * bits)
    if count > _MOST_CELLS:
        raise MemoryBudgetError(
            f"the curve through {sides} nodes runs through a cube of {count:,} cells; at most "
            f"{_MOST_CELLS:,} are listed"
        )
    place = np.arange(count, dtype=np.int64)
    # Every third bit of the place belongs to one axis.
    axes = [
        sum((place >> (3 * b + 2 - i) & 1) << b for b in range(bits)) + np.zeros_like(place) for i in range(3)
    ]
    last = axes[2] >> 1  # undo the Gray code
    axes = [axes[0] ^ last, axes[1] ^ axes[0], axes[2] ^ axes[1]]
    for b in range(1, bits):
        low = (1 << b) - 1
        for i in (2, 1, 0):
            inverted = (axes[i] >> b & 1).astype(bool)
            swapped = (axes[0] ^ axes[i]) & low
            axes[0] ^= np.where(inverted, low, swapped)
            axes[i] ^= np.where(inverted, 0, swapped)
    x, y, z = axes
    inside = (x < sides.x) & (y < sides.y) & (z < sides.z)
    return read_only((x + sides.x * (y + sides.y * z))[inside])


@lru_cache(maxsize=16)
def snake_curve_in_space(sides: Sides) -> Ints:
    """Nodes of a 3-D mesh in the order of the snake: rows and layers to and fro.

    Neighbours on it are neighbours on the mesh.

    Examples
    --------
    >>> from validation.mesh import Sides
    >>> snake_curve_in_space(Sides(2, 2, 2)).tolist()
    [0, 1, 3, 2, 6, 7, 5, 4]
    """
    order = np.arange(sides.nodes, dtype=np.int64).reshape(sides.z, sides.y, sides.x)
    order[1::2] = order[1::2, ::-1].copy()
    lines = order.reshape(-1, sides.x)
    lines[1::2] = lines[1::2, ::-1].copy()
    return read_only(order.ravel())


#: Cells of the largest cube whose curve is listed: about 400 MB while it is made.
_MOST_CELLS = 1 << 21

#: Every curve by name: through rows and columns, and through the sides of a 3-D mesh.
CURVES: dict[str, Callable[[int, int], Ints]] = {"hilbert": hilbert_curve, "snake": snake_curve}
CURVES_IN_SPACE: dict[str, Callable[[Sides], Ints]] = {
    "hilbert": hilbert_curve_in_space,
    "snake": snake_curve_in_space,
}


@dataclass(frozen=True)
class CurveStrategy(GridStrategy):
    """Takes an interval of free ranks on a curve, or the window with the least span.

    Parameters
    ----------
    fit : {"ff", "bf", "ss"}
        Of the intervals (maximal runs of free ranks) that are long enough: the first, the
        shortest, or the one after which the sum over lengths g of N(g)^2 is least, N(g) being how
        many intervals have length g; the lowest of equals. The job takes its beginning.

    Notes
    -----
    If no interval is long enough, the job takes the free ranks of the shortest window with
    enough of them. O(n) for each request.
    """

    fit: Literal["ff", "bf", "ss"] = "ff"

    def __post_init__(self) -> None:
        one_of("fit", self.fit, FITS)

    def places(self, free: Free, request: Request) -> Ints:
        """See `GridStrategy.places`."""
        if free.ndim == 3:
            layers, rows, columns = free.shape
            order = CURVES_IN_SPACE[self.name](Sides(columns, rows, layers))
        else:
            order = CURVES[self.name](*free.shape)
        ranks = np.flatnonzero(free.ravel()[order])
        at = _kernels.interval(ranks, request.size, FITS[self.fit])
        return order[ranks[at : at + request.size]]


@register
class Hilbert(CurveStrategy):
    """Along Hilbert's curve, on 3-D meshes the one through space.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> Hilbert(fit="bf").choose(Mesh(4, 4), 5).tolist()
    [0, 1, 2, 4, 5]
    """

    name: ClassVar[str] = "hilbert"


@register
class Snake(CurveStrategy):
    """Along the snake, on 3-D meshes layer by layer.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> Snake().choose(Mesh(4, 4), 5).tolist()
    [0, 1, 2, 3, 7]
    """

    name: ClassVar[str] = "snake"
