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

from phasefit.checks import one_of, whole_number
from validation.allocation import _kernels
from validation.allocation.base import Free, Ints, PlaneStrategy, Request, register

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
    rows, columns = (
        whole_number("rows", rows, least=1), whole_number("columns", columns, least=1)
    )  # fmt: skip
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
    return _read_only(np.argsort(key, kind="stable"))


@lru_cache(maxsize=16)
def snake_curve(rows: int, columns: int) -> Ints:
    """Places in the order of the snake: even rows to the right, odd rows to the left.

    Examples
    --------
    >>> snake_curve(2, 3).tolist()
    [0, 1, 2, 5, 4, 3]
    """
    rows, columns = (
        whole_number("rows", rows, least=1), whole_number("columns", columns, least=1)
    )  # fmt: skip
    order = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    order[1::2] = order[1::2, ::-1].copy()
    return _read_only(order.ravel())


def _read_only(order: Ints) -> Ints:
    order.flags.writeable = False
    return order


#: Every curve by name.
CURVES: dict[str, Callable[[int, int], Ints]] = {"hilbert": hilbert_curve, "snake": snake_curve}


@dataclass(frozen=True)
class CurveStrategy(PlaneStrategy):
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
        """See `PlaneStrategy.places`."""
        order = CURVES[self.name](*free.shape)
        ranks = np.flatnonzero(free.ravel()[order])
        at = _kernels.interval(ranks, request.size, FITS[self.fit])
        return order[ranks[at : at + request.size]]


@register
class Hilbert(CurveStrategy):
    """Along Hilbert's curve.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> Hilbert(fit="bf").choose(Mesh(4, 4), 5).tolist()
    [0, 1, 2, 4, 5]
    """

    name: ClassVar[str] = "hilbert"


@register
class Snake(CurveStrategy):
    """Along the snake.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> Snake().choose(Mesh(4, 4), 5).tolist()
    [0, 1, 2, 3, 7]
    """

    name: ClassVar[str] = "snake"
