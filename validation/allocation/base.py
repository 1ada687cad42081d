"""What a strategy is, what may be asked of one, and the registry of all of them."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, final, overload

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Ints, read_only
from phasefit.checks import check_fields, whole_number
from qmodels.errors import ModelError
from qmodels.registry import Registry
from validation.mesh import Mesh, Occupancy, Sides
from validation.mesh.occupancy import as_mesh, as_occupancy

Free = NDArray[np.bool_]

#: What a strategy promises about how much it gives and when it refuses; see `AbstractStrategy`.
Kind = Literal["exact", "bounded", "contiguous", "pages"]


@dataclass(frozen=True)
class Request:
    """What one job asks for: a number of nodes, and a shape where it insists on one.

    Parameters
    ----------
    size : int
        Nodes, at least one.
    shape : tuple of int, optional
        (rows, columns), or three sides x, y, z, with as many nodes. Only MC and the strategies for
        boxes look at it.

    Raises
    ------
    ModelError
        If a number is not a whole number >= 1, or the shape has not `size` nodes.

    Examples
    --------
    >>> Request.of_shape(2, 4)
    Request(size=8, shape=(2, 4))
    """

    size: int
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "size", least=1)
        if self.shape is None:
            return
        if not isinstance(self.shape, tuple) or len(self.shape) not in (2, 3):
            raise ModelError(f"shape must be a tuple of 2 or 3 sides, got {self.shape!r:.60}")
        sides = tuple(whole_number("shape", side, least=1) for side in self.shape)
        if math.prod(sides) != self.size:
            raise ModelError(
                f"a shape of {' x '.join(map(str, sides))} has {math.prod(sides)} nodes, the "
                f"request {self.size}; leave out the shape or use Request.of_shape"
            )
        object.__setattr__(self, "shape", sides)

    @classmethod
    def of_shape(cls, *sides: int) -> Request:
        """Request for a shape of `sides`: rows and columns, or x, y and z."""
        checked = tuple(whole_number("shape", side, least=1) for side in sides)
        return cls(math.prod(checked), checked)

    @property
    def box(self) -> Sides | None:
        """The shape along x, y and z, whichever way it was given; None without one."""
        return None if self.shape is None else Sides.of(*self.shape)


def as_request(request: Request | int) -> Request:
    """`request` itself, or one for so many nodes."""
    return request if isinstance(request, Request) else Request(request)


class AbstractStrategy(abc.ABC):
    """Chooses free nodes for one request; an `Occupancy` of the mesh records who holds what.

    A subclass has a `name`, a `kind` and the method `choose`, a pure function of the occupancy and
    the request: it changes neither and remembers nothing. (`Random` alone advances its
    generator.) Whoever calls it gives the nodes to the job with `Occupancy.occupy`.

    Notes
    -----
    The kinds, with j the size of the request and f the number of free nodes:

    - "exact": gives j nodes and refuses only if f < j;
    - "bounded": gives j nodes, all in one block of its own making, and may refuse with f >= j;
    - "contiguous": gives exactly one free box;
    - "pages": gives j nodes or more, in whole pages, and may refuse with f >= j.
    """

    name: ClassVar[str]  #: short name used on the command line and in figure legends
    kind: ClassVar[Kind] = "exact"  #: what it promises

    @abc.abstractmethod
    def choose(self, mesh: Occupancy, request: Request) -> Ints | None:
        """Choose nodes for a request.

        Parameters
        ----------
        mesh : Occupancy
            Says who holds what (`busy`, `free`, `jobs`) and answers for the place as well (`rows`,
            `columns`, `io_side` and whatever else a `Mesh` has). The built-in strategies take a `Mesh`
            as well, which nobody holds.
        request : Request
            What is asked for. The built-in strategies take a number of nodes as well.

        Returns
        -------
        nodes : (n,) ndarray of int or None
            Different free nodes, ascending, or None to leave the request waiting.

        Raises
        ------
        ModelError
            If the strategy is not defined on this mesh, or `request` is none.
        """

    def fresh(self, rng: np.random.Generator) -> AbstractStrategy:
        """The strategy for a run of its own; one that draws takes its draws from `rng`."""
        return self


def answer(strategy: AbstractStrategy, occupancy: Occupancy, request: Request) -> Ints | None:
    """What a strategy chooses, if that is as much as its kind allows; booking checks the rest.

    A strategy that gave fewer nodes than were asked for would look fast for no merit of its own.

    Raises
    ------
    ModelError
        If the strategy fails or its answer is wrong; names it, the request and what is wrong.
    """

    def wrong(what: str) -> ModelError:
        shape = "" if request.shape is None else f" as {' x '.join(map(str, request.shape))}"
        asked = f"{request.size} node{'s' if request.size > 1 else ''}{shape}"
        return ModelError(
            f"strategy {strategy.name}, asked for {asked}: {what}; try `qmodels allocate --check`"
        )

    try:
        nodes = strategy.choose(occupancy, request)
        size = None if nodes is None else len(nodes)
    except ModelError as error:
        raise wrong(str(error)) from error
    except Exception as error:  # the code of a user's own: whatever goes wrong in it
        raise wrong(f"{type(error).__name__}: {error}") from error
    # Only whole pages may be more than was asked for: a part of the last one lies idle.
    if size is not None and (size < request.size or (size > request.size and strategy.kind != "pages")):
        raise wrong(f"it gave {size} nodes")
    return nodes


class PlaneStrategy(AbstractStrategy):
    """A strategy for 2-D meshes: it sees a grid of free places with the I/O nodes in the west.

    Where the mesh has its I/O nodes on another side, the grid is turned, so that "column" always
    means a line of nodes parallel to the I/O nodes. The links that close a torus are ignored.
    """

    #: Whether it works on 3-D meshes too; see `GridStrategy`.
    layered: ClassVar[bool] = False

    @abc.abstractmethod
    def places(self, free: Free, request: Request) -> Ints | None:
        """Places ``row * columns + column`` of `free` (rows, columns), in any order, or None.

        Called only where `check_sides` passes and at least ``request.size`` places are free.
        """

    def check_sides(self, rows: int, columns: int) -> None:
        """Raise ModelError where the strategy is not defined on a mesh of these sides."""

    def check_grid(self, shape: tuple[int, ...]) -> None:
        """The same for a grid, which has layers too where the strategy sees them."""
        self.check_sides(*shape[-2:])

    def free_grid(self, mesh: Mesh | Occupancy) -> Free:
        """Which places are free, as `places` gets them."""
        place = as_mesh(mesh)
        if place.depth > 1 and not self.layered:
            raise ModelError(
                f"{self.name} works on 2-D meshes, this one has {place.depth} layers; use a mesh of depth 1"
            )
        busy = as_occupancy(mesh).busy
        seen = busy if place.depth > 1 else turned(busy, place.io_side)
        free: Free = np.logical_not(seen, order="C")
        self.check_grid(free.shape)
        return free

    @final
    def choose(self, mesh: Mesh | Occupancy, request: Request | int) -> Ints | None:
        """See `AbstractStrategy.choose`."""
        request, place = as_request(request), as_mesh(mesh)
        free = self.free_grid(mesh)
        if request.size > np.count_nonzero(free):
            return None
        if place.depth > 1:
            nodes = self.places(free, request)  # places of the grid are numbers of nodes
            return None if nodes is None else np.sort(nodes)
        if request.shape is not None and place.io_side in ("north", "south"):
            rows, columns, *layers = request.shape
            request = Request(request.size, (columns, rows, *layers))
        places = self.places(free, request)
        if places is None:
            return None
        nodes = node_order(place.rows, place.columns, place.io_side)[places]
        nodes.sort()
        return nodes


class GridStrategy(PlaneStrategy):
    """A strategy for meshes of two and three dimensions: it sees which places are free.

    On a 2-D mesh it is a `PlaneStrategy`. On a 3-D mesh `places` gets ``free`` (layers, rows,
    columns), which lies as the mesh does wherever the I/O nodes are; a place is an index of
    ``free.ravel()``. What it demands of the sides it says by `check_grid`.
    """

    layered = True


@overload
def turned(grid: Free, side: str | None) -> Free: ...
@overload
def turned(grid: Ints, side: str | None) -> Ints: ...
def turned(grid: NDArray[Any], side: str | None) -> NDArray[Any]:
    """`grid` (rows, columns) of a mesh, turned so that what lies on `side` lies in the west."""
    if side == "east":
        return grid[:, ::-1]
    if side == "north":
        return grid.T
    if side == "south":
        return grid[::-1].T
    return grid


@lru_cache(maxsize=32)  # who plays a machine asks for those of its mesh at every start
def node_order(rows: int, columns: int, side: str | None) -> Ints:
    """Numbers of the nodes of a 2-D mesh by their places in the grid that strategies see."""
    order = turned(np.arange(rows * columns, dtype=np.int64).reshape(rows, columns), side).ravel().copy()
    return read_only(order)


@lru_cache(maxsize=32)
def place_order(rows: int, columns: int, side: str | None) -> Ints:
    """Places in the grid that strategies see by the numbers of the nodes."""
    where = np.empty(rows * columns, dtype=np.int64)
    where[node_order(rows, columns, side)] = np.arange(rows * columns)
    return read_only(where)


#: Every strategy by name; the command line, the experiments and the contract tests read this.
STRATEGIES: Registry[AbstractStrategy] = Registry(AbstractStrategy, "strategy")

register, load_strategy, find_strategy = STRATEGIES.register, STRATEGIES.find, STRATEGIES.made
