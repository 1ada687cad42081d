"""Measures of a layout: how far it is spread, how it is balanced, and what it leaves free.

Functions of a mesh and the nodes of one job, or of an occupancy: of what is busy and free on the
mesh. Each takes a `Mesh` or an `Occupancy`; a mesh counts as one whose nodes are all free. Rows and
columns are those that the strategies see: with the I/O nodes in the west (see `PlaneStrategy`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Ints, read_only
from phasefit.checks import one_of
from qmodels.errors import ModelError
from validation.allocation import _kernels
from validation.allocation.base import Free, place_order, turned
from validation.allocation.binary_tree import tree_order
from validation.allocation.curves import CURVES
from validation.allocation.mbs import quad_tree
from validation.mesh import Mesh, Occupancy
from validation.mesh.occupancy import as_mesh, as_occupancy


def nodes_affected(mesh: Mesh | Occupancy, nodes: ArrayLike) -> int:
    """Nodes in the smallest rectangle (in 3-D, box) that encloses a job.

    On a torus it may go on at the other end of a side.

    Parameters
    ----------
    mesh : Mesh or Occupancy
    nodes : (n,) array_like of int
        Nodes of the job.

    Returns
    -------
    int
        Nodes, free and busy.

    Raises
    ------
    ModelError
        If `nodes` are not different nodes of the mesh.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to both
       communication and I/O", *Proc. IPDPS* 2000, section 2.2.

    Examples
    --------
    >>> nodes_affected(Mesh(4, 4), [0, 6]), nodes_affected(Mesh(4, 4, torus=True), [0, 3])
    (6, 2)
    """
    place = as_mesh(mesh)
    held = place.checked_nodes(nodes)
    if not place.torus:
        return int(boxes_affected(place, [held])[0])
    used = [np.unique(along) for along in place.router_coordinates[place.routers_of[held]].T]
    # All but the longest gap between neighbours on the ring.
    gaps = [int(np.diff(at, append=at[0] + side).max()) for at, side in zip(used, place.sides, strict=True)]
    return math.prod(side - gap + 1 for side, gap in zip(place.sides, gaps, strict=True))


def boxes_affected(place: Mesh, jobs: Sequence[Ints]) -> Ints:
    """`nodes_affected` of jobs that hold these nodes, all in one go, on a mesh without rings."""
    first = np.cumsum([0, *(held.size for held in jobs[:-1])])
    places = place.router_coordinates[place.routers_of[np.concatenate(jobs)]]
    low, high = np.minimum.reduceat(places, first), np.maximum.reduceat(places, first)
    return np.asarray((high - low + 1).prod(axis=1))


def dispersal(mesh: Mesh | Occupancy, nodes: ArrayLike) -> float:
    """Share of the enclosing rectangle that does not belong to the job, 1 - n / nodes_affected.

    Examples
    --------
    >>> dispersal(Mesh(4, 4), [0, 1, 4, 5])
    0.0
    """
    count = as_mesh(mesh).checked_nodes(nodes).size
    return 1.0 - count / nodes_affected(mesh, nodes)


def pairwise_distance(mesh: Mesh | Occupancy, nodes: ArrayLike) -> int:
    """Sum over the unordered pairs of a job's nodes of the hops between them on a mesh.

    Examples
    --------
    >>> pairwise_distance(Mesh(4, 4), [0, 1, 5])
    4
    """
    place = as_mesh(mesh)
    places = np.sort(place.coordinates(place.checked_nodes(nodes)), axis=0)
    # In ascending order value i is added i times and subtracted n - 1 - i times.
    weights = 2 * np.arange(len(places)) - (len(places) - 1)
    return int((weights @ places).sum())


def mean_pairwise_distance(mesh: Mesh | Occupancy, nodes: ArrayLike) -> float:
    """Mean hops between two nodes of a job; 0 for a single node.

    Examples
    --------
    >>> mean_pairwise_distance(Mesh(4, 4), [0, 1, 4, 5]).__round__(6)
    1.333333
    """
    n = as_mesh(mesh).checked_nodes(nodes).size
    return pairwise_distance(mesh, nodes) / (n * (n - 1) / 2) if n > 1 else 0.0


def span(mesh: Mesh | Occupancy, nodes: ArrayLike, curve: str = "hilbert") -> int:
    """Last less first rank of a job's nodes on the Hilbert curve or the snake.

    Examples
    --------
    >>> span(Mesh(4, 4), [0, 1]), span(Mesh(4, 4), [0, 1], "snake")
    (3, 1)
    """
    one_of("curve", curve, CURVES)
    place = _flat(mesh)
    ranks = np.empty(place.nodes, dtype=np.int64)
    ranks[CURVES[curve](*_sides(place))] = np.arange(place.nodes)
    return int(np.ptp(ranks[_places(place, nodes)]))


def job_balance(mesh: Mesh | Occupancy, nodes: ArrayLike) -> int:
    """Difference between a job's nodes above and below the middle I/O link.

    Of an odd number of rows the middle one counts on neither side.

    Examples
    --------
    >>> job_balance(Mesh(4, 4), [0, 1, 4, 8])
    2
    """
    place = _flat(mesh)
    return abs(int(halves(place)[place.checked_nodes(nodes)].sum()))


def halves(place: Mesh) -> Ints:
    """1 for every node above the middle I/O link of a 2-D mesh, -1 below, 0 in a middle row."""
    return _halves(place.rows, place.columns, place.io_side)


@lru_cache(maxsize=32)
def _halves(rows: int, columns: int, side: str | None) -> Ints:
    deep, wide = (columns, rows) if side in ("north", "south") else (rows, columns)
    row = place_order(rows, columns, side) // wide
    found = (row < deep // 2).astype(np.int64) - (row >= deep - deep // 2)
    return read_only(found)


def system_balance(mesh: Mesh | Occupancy) -> int:
    """Difference between the busy nodes above and below the middle I/O link.

    Examples
    --------
    >>> mesh = Occupancy(Mesh(4, 4))
    >>> mesh.occupy("job", [0, 1, 4, 8])
    >>> system_balance(mesh)
    2
    """
    return abs(int(halves(_flat(mesh))[as_occupancy(mesh).busy.ravel()].sum()))


def free_squares(mesh: Mesh | Occupancy) -> int:
    """The number D of maximal free blocks of the quad-trees of MBS.

    References
    ----------
    .. [1] P. Liu, C.-C. Hsu, J.-J. Wu, "I/O processor allocation for mesh cluster computers",
       *Proc. ICPADS* 2005, definition 1.

    Examples
    --------
    >>> mesh = Occupancy(Mesh(4, 4))
    >>> mesh.occupy("job", [0])
    >>> free_squares(mesh)
    6
    """
    free = _free(mesh)
    starts = quad_tree(*free.shape)
    flags = np.zeros(starts[-1], dtype=np.bool_)
    return int(_kernels.free_squares(free[None], starts, flags))


def least_free_squares(mesh: Mesh | Occupancy) -> int:
    """The least D that any choice of as many busy nodes leaves.

    Raises
    ------
    ModelError
        Unless the shorter side is a power of two that divides the longer one; elsewhere the initial
        squares have several sizes and the digits of the free count do not give the least D.

    Examples
    --------
    >>> mesh = Occupancy(Mesh(4, 4))
    >>> mesh.occupy("job", [15])
    >>> least_free_squares(mesh)
    6
    """
    place = _flat(mesh)
    short, long = sorted((place.rows, place.columns))
    if short & (short - 1) or long % short:
        raise ModelError(
            f"the least number of free squares is known where the shorter side is a power of two "
            f"that divides the longer, not on {place.rows} x {place.columns}"
        )
    left, count = as_occupancy(mesh).free, 0
    side = short
    while side:
        count += left // side**2
        left %= side**2
        side //= 2
    return count


def is_compact(mesh: Mesh | Occupancy) -> bool:
    """Whether what is free falls into the fewest free squares that so many nodes allow.

    Examples
    --------
    >>> is_compact(Mesh(4, 4))
    True
    """
    return free_squares(mesh) == least_free_squares(mesh)


def free_tree_blocks(mesh: Mesh | Occupancy) -> Ints:
    """Sizes of the maximal free blocks of the binary tree, ascending.

    Raises
    ------
    ModelError
        If a side of the mesh is no power of two.

    Examples
    --------
    >>> mesh = Occupancy(Mesh(4, 4))
    >>> mesh.occupy("job", [0, 1, 4])
    >>> free_tree_blocks(mesh).tolist()
    [1, 4, 8]
    """
    return np.sort(_free_blocks(mesh)[:, 1])


def is_spatially_compact(mesh: Mesh | Occupancy) -> bool:
    """Whether no two siblings of the binary tree are both partly allocated.

    References
    ----------
    .. [1] P. Liu, C.-C. Hsu, J.-J. Wu, "I/O processor allocation for mesh cluster computers",
       *Proc. ICPADS* 2005, definition 2.

    Examples
    --------
    >>> mesh = Occupancy(Mesh(4, 4))
    >>> mesh.occupy("job", [0, 3])
    >>> is_spatially_compact(mesh)
    False
    """
    free, nodes = _leaves(mesh), as_mesh(mesh).nodes
    while free.size > 1:
        size = nodes // free.size
        partly = (free > 0) & (free < size)
        if (partly[::2] & partly[1::2]).any():
            return False
        free = free[::2] + free[1::2]
    return True


def has_nested_free_blocks(mesh: Mesh | Occupancy) -> bool:
    """Whether at most one free tree block of each size is left, each beside all smaller ones.

    That is the condition of lemma 1 of Liu, Hsu and Wu: the parent of a larger free block is an
    ancestor of every smaller one. It is equivalent to `is_spatially_compact`.

    Examples
    --------
    >>> has_nested_free_blocks(Mesh(4, 4))
    True
    """
    blocks = _free_blocks(mesh)
    blocks = blocks[np.argsort(-blocks[:, 1], kind="stable")]
    for (start, size), (below, smaller) in pairwise(blocks.tolist()):
        parent = 2 * size
        # Ancestors of the next block are ancestors of all that lie beside it.
        if smaller == size or start // parent != below // parent:
            return False
    return True


def _flat(mesh: Mesh | Occupancy) -> Mesh:
    """The place, which must be two-dimensional."""
    place = as_mesh(mesh)
    if place.depth > 1:
        raise ModelError(f"this needs a 2-D mesh, not one of {place.depth} layers")
    return place


def _sides(place: Mesh) -> tuple[int, int]:
    """Rows and columns of the grid that strategies see."""
    sides = place.rows, place.columns
    return sides[::-1] if place.io_side in ("north", "south") else sides


def _busy(mesh: Mesh | Occupancy) -> Free:
    """The busy grid as strategies see it."""
    return turned(as_occupancy(mesh).busy, _flat(mesh).io_side)


def _free(mesh: Mesh | Occupancy) -> Free:
    free: Free = np.logical_not(_busy(mesh), order="C")
    return free


def _places(place: Mesh, nodes: ArrayLike) -> Ints:
    """Places of nodes in the grid that strategies see."""
    return place_order(place.rows, place.columns, place.io_side)[place.checked_nodes(nodes)]


def _leaves(mesh: Mesh | Occupancy) -> Ints:
    """1 for every free leaf of the tree from left to right, 0 for the others."""
    free, place = _free(mesh), as_mesh(mesh)
    if any(side & (side - 1) for side in free.shape):
        raise ModelError(
            f"the binary tree needs sides that are powers of two, got {place.rows} x {place.columns}"
        )
    return free.ravel()[tree_order(*free.shape)].astype(np.int64)


def _free_blocks(mesh: Mesh | Occupancy) -> Ints:
    """First leaf and size of every maximal free tree block, (blocks, 2)."""
    found, size, free = [], 1, _leaves(mesh)
    whole = free == 1
    while True:
        above = whole[::2] & whole[1::2] if whole.size > 1 else np.zeros(1, dtype=np.bool_)
        alone = whole & ~np.repeat(above, 2)[: whole.size]
        starts = np.flatnonzero(alone) * size
        found.append(np.stack([starts, np.full(starts.size, size)], axis=1))
        if whole.size == 1:
            return np.concatenate(found)
        whole, size = above, 2 * size
