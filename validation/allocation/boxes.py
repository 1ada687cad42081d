"""Boxes of nodes, and what strategies that give each job one free box have in common."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import ClassVar, final

import numpy as np

from phasefit.arrays import Ints
from phasefit.checks import boolean
from qmodels.errors import ModelError
from validation.allocation import _kernels
from validation.allocation.base import AbstractStrategy, Kind, Request, as_request
from validation.mesh import Mesh, Occupancy, Sides
from validation.mesh.occupancy import as_mesh, as_occupancy


@dataclass(frozen=True)
class BoxStrategy(AbstractStrategy):
    """Gives each job one free box of the sides that it asks for.

    A subclass says by `base` where the box goes. It works on meshes of two and three dimensions
    and on tori, where a box may reach over the end of a side and go on at the other.

    A request for a number of nodes without a shape asks for the box of just so many nodes that is
    nearest to a cube and fits the mesh, see `near_cubic`; where there is none, as for 17 nodes on
    8 x 8 x 8, it is refused even on an empty mesh.

    The boxes lie as the mesh is described, wherever its I/O nodes are.

    Parameters
    ----------
    turning : bool
        Whether the sides of a request are tried in every order, the given one first.
    """

    kind: ClassVar[Kind] = "contiguous"
    turning: bool = False

    def __post_init__(self) -> None:
        boolean("turning", self.turning)

    @abc.abstractmethod
    def base(self, held: Occupancy, box: Sides) -> Ints | None:
        """First node (x, y, z) of a free box, or None if the strategy finds none.

        Called only with sides that fit the mesh, and at least as many nodes free.
        """

    @final
    def choose(self, mesh: Mesh | Occupancy, request: Request | int) -> Ints | None:
        """See `AbstractStrategy.choose`; the nodes are those of one box."""
        wanted, place, held = as_request(request), as_mesh(mesh), as_occupancy(mesh)
        if wanted.size > held.free:
            return None
        sides = place.sides
        box = near_cubic(wanted.size, sides) if wanted.shape is None else wanted.box
        if box is None:
            return None
        for oriented in orientations(box) if self.turning else (box,):
            if not oriented.fit(sides):
                continue
            base = self.base(held, oriented)
            if base is not None:
                return nodes_of_box(place, base, oriented)
        return None


@lru_cache(maxsize=4096)
def orientations(box: Sides) -> tuple[Sides, ...]:
    """A box turned: (a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a); no two alike.

    Examples
    --------
    >>> [tuple(turned) for turned in orientations(Sides(3, 2, 2))]
    [(3, 2, 2), (2, 3, 2), (2, 2, 3)]
    """
    return tuple(dict.fromkeys(Sides(*turned) for turned in permutations(box)))


@lru_cache(maxsize=4096)
def near_cubic(size: int, within: Sides) -> Sides | None:
    """The box of `size` nodes that fits and has the least surface; None if there is none.

    Of boxes that differ in their order alone, the longest side lies along the longest of the mesh,
    x before y before z where those are equal.

    Examples
    --------
    >>> near_cubic(12, Sides(8, 8, 8)), near_cubic(12, Sides(8, 8, 1))
    (Sides(x=3, y=2, z=2), Sides(x=4, y=3, z=1))
    >>> near_cubic(17, Sides(8, 8, 8)) is None
    True
    """
    if size > within.nodes:
        return None
    found = [
        Sides(a, b, size // (a * b))
        for a in _divisors(size, within.x)
        for b in _divisors(size // a, within.y)
        if size // (a * b) <= within.z
    ]
    order = sorted(range(3), key=lambda axis: -within[axis])

    def surface(box: Sides) -> tuple[int, ...]:
        a, b, c = box
        return (a * b + b * c + a * c, *(-box[axis] for axis in order))

    return min(found, key=surface, default=None)


def _divisors(number: int, most: int) -> Iterator[int]:
    return (d for d in range(1, min(number, most) + 1) if number % d == 0)


def nodes_of_box(place: Mesh, base: Ints | tuple[int, int, int], box: Sides) -> Ints:
    """Numbers of the nodes of a box, ascending; on a torus it may go on at the other end.

    Parameters
    ----------
    place : Mesh
    base : (3,) sequence of int
        x, y, z of its first node.
    box : Sides

    Returns
    -------
    (n,) ndarray of int

    Raises
    ------
    ModelError
        If the base is no node, or the box leaves a mesh or is larger than a torus.

    Examples
    --------
    >>> nodes_of_box(Mesh(2, 4, 2), (2, 0, 1), Sides(2, 2, 1)).tolist()
    [10, 11, 14, 15]
    >>> nodes_of_box(Mesh(1, 4, torus=True), (3, 0, 0), Sides(2, 1, 1)).tolist()
    [0, 3]
    """
    sides = place.sides
    x, y, z = (int(at) for at in base)
    a, b, c = box
    inside = 0 <= x < sides.x and 0 <= y < sides.y and 0 <= z < sides.z and box.fit(sides)
    if not inside or not (place.torus or (x + a <= sides.x and y + b <= sides.y and z + c <= sides.z)):
        raise ModelError(f"a box of {box} at ({x}, {y}, {z}) leaves the mesh of {sides}")
    nodes = np.empty(a * b * c, dtype=np.int64)
    _kernels.box_nodes((x, y, z), (a, b, c), tuple(sides), nodes)
    return nodes
