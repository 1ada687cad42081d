"""The binary-tree strategies: BT, SBT, DBT, their pieces apart or together, and SCBT.

P. Liu, C.-C. Hsu, J.-J. Wu, "I/O processor allocation for mesh cluster computers", *Proc. 11th
Int. Conf. Parallel and Distributed Systems* 2005. Where the paper leaves a rule open: left means
west or upper, equal loads go left, and the tolerance of DBT is a share of the rectangle divided.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Literal, NamedTuple

import numpy as np

from phasefit.arrays import Ints, read_only
from phasefit.checks import check_fields, one_of, real_number
from qmodels.errors import ModelError
from validation.allocation import _kernels
from validation.allocation.base import Free, PlaneStrategy, Request, register


class Rule(NamedTuple):
    """Which half is tried first: the left one, or the fuller one within a tolerance."""

    left_first: bool
    alpha: float = 0.0  #: processors
    ratio: float = 0.0  #: share of the rectangle that is divided


class TreeStrategy(PlaneStrategy):
    """Divides the mesh into halves, the longer side first (columns if equal), down to nodes."""

    def check_sides(self, rows: int, columns: int) -> None:
        """Both sides must be powers of two."""
        if rows & (rows - 1) or columns & (columns - 1):
            raise ModelError(
                f"{self.name} halves the mesh down to single nodes, so both sides must be powers "
                f"of two, got {rows} x {columns}; use MBS, PLAS or a curve there"
            )


class RuledTree(TreeStrategy):
    """A tree strategy that chooses between halves by a rule."""

    @property
    @abc.abstractmethod
    def rule(self) -> Rule:
        """Which half is tried first."""


class LeftFirst(RuledTree):
    """The rule of BT."""

    @property
    def rule(self) -> Rule:
        """The left half first."""
        return Rule(left_first=True)


@dataclass(frozen=True)
class StaticTolerance(RuledTree):
    """The rule of SBT: the fuller half first, unless that leaves the halves too unequal.

    Parameters
    ----------
    alpha : float
        Imbalance tolerated, in free processors; may be infinite.
    """

    alpha: float = 16.0

    def __post_init__(self) -> None:
        if not (isinstance(self.alpha, float) and self.alpha == inf):
            check_fields(self, real_number, "alpha", least=0.0)

    @property
    def rule(self) -> Rule:
        """The same tolerance everywhere."""
        return Rule(left_first=False, alpha=self.alpha)


@dataclass(frozen=True)
class DynamicTolerance(RuledTree):
    """The rule of DBT: as that of SBT, with a tolerance that grows with the rectangle.

    Parameters
    ----------
    ratio : float
        Imbalance tolerated as a share of the rectangle that is divided.
    """

    ratio: float = 0.25

    def __post_init__(self) -> None:
        check_fields(self, real_number, "ratio", least=0.0)

    @property
    def rule(self) -> Rule:
        """A tolerance in proportion to the rectangle."""
        return Rule(left_first=False, ratio=self.ratio)


class InOneRectangle(RuledTree):
    """Gives nodes of one rectangle of the tree, the smallest that may hold the request.

    Inside it the first free nodes are taken column by column, top to bottom. It refuses if no
    rectangle of that size has enough free nodes.
    """

    kind = "bounded"

    def places(self, free: Free, request: Request) -> Ints | None:
        """See `PlaneStrategy.places`."""
        out = np.empty(request.size, dtype=np.int64)
        block = 1 << (request.size - 1).bit_length()
        order = tree_order(*free.shape)
        found = _kernels.in_rectangle(free, order, request.size, block, *self.rule, out)
        return out if found else None


class InPieces(RuledTree):
    """Gives free blocks of the tree for the binary digits of the request, largest first.

    Where no free block of a piece's size is left, the piece becomes two of half the size.
    """

    @property
    def search(self) -> int:
        """Where a piece is looked for: everywhere, or round the first or last piece."""
        return _kernels.FROM_ROOT

    def places(self, free: Free, request: Request) -> Ints:
        """See `PlaneStrategy.places`."""
        out = np.empty(request.size, dtype=np.int64)
        order = tree_order(*free.shape)
        _kernels.in_pieces(free, order, request.size, self.search, *self.rule, out)
        return out


@dataclass(frozen=True)
class InPiecesTogether(InPieces):
    """Looks for later pieces near the first: in the sibling of its block, then its parent's, ...

    Parameters
    ----------
    anchor : {"first", "last"}
        Round which of the pieces placed so far the search climbs.
    """

    anchor: Literal["first", "last"] = "first"

    def __post_init__(self) -> None:
        one_of("anchor", self.anchor, ("first", "last"))
        after = getattr(super(), "__post_init__", None)
        if after is not None:
            after()

    @property
    def search(self) -> int:
        """Round the first or the last piece."""
        return _kernels.FROM_FIRST if self.anchor == "first" else _kernels.FROM_LAST


@register
class BT(LeftFirst, InOneRectangle):
    """The first rectangle from the left that has room.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> BT().choose(Mesh(4, 4), 3).tolist()
    [0, 1, 4]
    """

    name = "BT"


@register
class SBT(StaticTolerance, InOneRectangle):
    """BT with a static tolerance of imbalance."""

    name = "SBT"


@register
class DBT(DynamicTolerance, InOneRectangle):
    """BT with a tolerance of imbalance that grows with the rectangle."""

    name = "DBT"


@register
class IndependentBT(LeftFirst, InPieces):
    """Pieces from the left, each for itself.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> IndependentBT().choose(Mesh(4, 4), 5).tolist()
    [0, 1, 4, 5, 8]
    """

    name = "ind-BT"


@register
class IndependentSBT(StaticTolerance, InPieces):
    """Pieces with a static tolerance, each for itself."""

    name = "ind-SBT"


@register
class IndependentDBT(DynamicTolerance, InPieces):
    """Pieces with a dynamic tolerance, each for itself."""

    name = "ind-DBT"


@register
@dataclass(frozen=True)
class DependentBT(InPiecesTogether, LeftFirst):
    """Pieces near the first one, from the left."""

    name = "d-BT"


@register
@dataclass(frozen=True)
class DependentSBT(InPiecesTogether, StaticTolerance):
    """Pieces near the first one, with a static tolerance."""

    name = "d-SBT"


@register
@dataclass(frozen=True)
class DependentDBT(InPiecesTogether, DynamicTolerance):
    """Pieces near the first one, with a dynamic tolerance."""

    name = "d-DBT"


@register
class SCBT(TreeStrategy):
    """The spatially compact one: nothing from a subtree while its sibling is partly allocated.

    Notes
    -----
    The paper's descent takes the first free leaves of the tree from the left, in every history.

    Examples
    --------
    >>> from validation.mesh import Mesh
    >>> SCBT().choose(Mesh(4, 4), 6).tolist()
    [0, 1, 4, 5, 8, 12]
    """

    name = "SCBT"

    def places(self, free: Free, request: Request) -> Ints:
        """See `PlaneStrategy.places`."""
        out = np.empty(request.size, dtype=np.int64)
        _kernels.leaves(free, tree_order(*free.shape), request.size, out)
        return out


@lru_cache(maxsize=16)
def tree_order(rows: int, columns: int) -> Ints:
    """Places as leaves of the tree from left to right; every tree node is a run of them."""
    row, column = np.divmod(np.arange(rows * columns, dtype=np.int64), columns)
    rank = np.zeros(rows * columns, dtype=np.int64)
    height, width = rows, columns
    while height * width > 1:
        if width >= height:
            width //= 2
            rank = 2 * rank + column // width % 2
        else:
            height //= 2
            rank = 2 * rank + row // height % 2
    order = np.argsort(rank)
    return read_only(order)
