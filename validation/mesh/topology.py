"""Meshes and tori: nodes and their numbers, I/O nodes on a side, and channels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Ints, read_only
from phasefit.checks import boolean, check_fields, one_of, whole_number
from phasefit.records import Record
from qmodels.errors import MemoryBudgetError, ModelError
from validation.mesh._kernels.records import DIMENSION, Grid

if TYPE_CHECKING:
    import networkx as nx


#: Sides on which I/O nodes may lie: dimension and end.
SIDES: Final = {
    "west": (0, 0),
    "east": (0, 1),
    "north": (1, 0),
    "south": (1, 1),
    "front": (2, 0),
    "back": (2, 1),
}
#: Routers of the largest mesh that is built; its tables take about 1 GB.
MAX_ROUTERS: Final = 1 << 20
#: What a mesh knew before `Occupancy` was there, named in the error to whoever still asks it.
_ASK_THE_OCCUPANCY = ("busy", "free", "jobs", "occupy", "release")


class Sides(NamedTuple):
    """Lengths of a mesh or a box along x, y and z, in nodes.

    Two orders are in use, and `of` is the one place where they meet: **two** numbers are rows and
    columns, as of a matrix; **three** are x, y and z, as in the papers on 3-D meshes. x runs along
    a row, so that ``rows x columns`` is ``Sides(x=columns, y=rows, z=1)``.

    Examples
    --------
    >>> Sides.of(2, 4), Sides.of(4, 2, 1)
    (Sides(x=4, y=2, z=1), Sides(x=4, y=2, z=1))
    >>> Mesh(5, 6, 4).sides
    Sides(x=6, y=5, z=4)
    """

    x: int  #: columns
    y: int  #: rows
    z: int  #: layers

    @classmethod
    def of(cls, *numbers: int) -> Sides:
        """Return sides from rows and columns, or from x, y and z.

        Parameters
        ----------
        *numbers : int
            Two or three of them.

        Raises
        ------
        ModelError
            If there are not two or three whole numbers >= 1.
        """
        if len(numbers) not in (2, 3):
            raise ModelError(f"give rows and columns, or x, y and z; got {numbers!r:.60}")
        sides = [whole_number("a side", number, least=1) for number in numbers]
        return cls(sides[1], sides[0], 1) if len(sides) == 2 else cls(*sides)

    @property
    def nodes(self) -> int:
        """Number of nodes within."""
        return self.x * self.y * self.z

    def fit(self, within: Sides) -> bool:
        """Return whether no side is longer than that of another place.

        Parameters
        ----------
        within : Sides
            Of the other place.
        """
        return self.x <= within.x and self.y <= within.y and self.z <= within.z

    def __str__(self) -> str:
        return f"{self.x} x {self.y} x {self.z}"


@dataclass(frozen=True)
class Mesh(Record):
    """A 2-D or 3-D mesh or torus and its I/O nodes: a place, at which nothing ever changes.

    Parameters
    ----------
    rows, columns : int
        Sides; node (r, c) has number ``r * columns + c``.
    depth : int
        Layers of a 3-D mesh; node (x, y, z) has number ``x + columns * (y + rows * z)``.
    torus : bool
        Whether every row, column and pile closes to a ring.
    io_side : {"west", "east", "north", "south", "front", "back"}, optional
        Where a further line (in 3-D, plane) of routers lies that carries the I/O nodes; north is
        before row 0, front before layer 0. They are linked with each other and each with the
        node beside it. Not on a torus.
    io_places : sequence of int, optional
        Places along that side with an I/O node (rows on the west side); by default all. The
        others keep their router, so that every row can reach every I/O node.
    virtual_channels : int, optional
        Of each link, which share its wire: 1 on a mesh, 2 on a torus. A torus with 1 may deadlock.

    Raises
    ------
    ModelError
        If that describes no mesh.
    MemoryBudgetError
        If it has more than a million routers.

    Notes
    -----
    I/O nodes are numbered after the nodes, in order of their places. Meshes that are described
    alike are equal and have equal hashes. Which job holds which node is no property of the place:
    an `Occupancy` of the mesh keeps it.

    Channels are directed and numbered: injection (into the network) of each router, ejection of
    each router, then the links; see `channel_name`. The I/O line of [1]_ is ``io_side="west"``.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to
       both communication and I/O", *Proc. IPPS* 2000.

    Examples
    --------
    >>> mesh = Mesh(4, 4, io_side="west")
    >>> mesh.nodes, mesh.io_nodes.tolist()
    (16, [16, 17, 18, 19])
    >>> mesh == Mesh(4, 4, io_side="west", io_places=range(4))
    True
    """

    rows: int
    columns: int
    depth: int = 1
    torus: bool = False
    io_side: str | None = None
    io_places: Iterable[int] | None = None
    virtual_channels: int | None = None
    #: (routers, 3) x, y, z of every router on the grid with the I/O line.
    router_coordinates: Ints = field(init=False, repr=False, compare=False)
    #: (nodes + I/O nodes,) router of each.
    routers_of: Ints = field(init=False, repr=False, compare=False)
    #: (nodes,) numbers of the I/O nodes.
    io_nodes: Ints = field(init=False, repr=False, compare=False)
    _sides: tuple[int, int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "rows", "columns", "depth", least=1)
        check_fields(self, boolean, "torus")
        lanes = (2 if self.torus else 1) if self.virtual_channels is None else self.virtual_channels
        if whole_number("virtual_channels", lanes, least=1) > (2 if self.torus else 1):
            raise ModelError(f"virtual_channels must be 1, or 1 or 2 on a torus, got {lanes}")
        object.__setattr__(self, "virtual_channels", int(lanes))
        sides, origin = [self.columns, self.rows, self.depth], [0, 0, 0]
        if self.io_side is not None:
            dimension, end = self._io_line()
            sides[dimension] += 1
            origin[dimension] = 1 - end
        if math.prod(sides) > MAX_ROUTERS:
            raise MemoryBudgetError(
                f"a mesh with {math.prod(sides):,} routers would need over 1 GB; at most "
                f"{MAX_ROUTERS:,} are allowed"
            )
        every = np.indices(sides[::-1]).reshape(3, -1)[::-1].T
        coordinates = np.ascontiguousarray(every, dtype=np.int64)
        strides = np.array([1, sides[0], sides[0] * sides[1]])
        inner = np.indices((self.depth, self.rows, self.columns)).reshape(3, -1)[::-1].T
        routers_of = (inner + np.array(origin)) @ strides
        places: Ints = np.zeros(0, np.int64)
        if self.io_side is not None:
            dimension, end = SIDES[self.io_side]
            at = sides[dimension] - 1 if end else 0
            line = np.flatnonzero(coordinates[:, dimension] == at)
            places = self._io_places(line.size)
            routers_of = np.concatenate([routers_of, line[places]])
            object.__setattr__(self, "io_places", tuple(places.tolist()))
        elif self.io_places is not None:
            raise ModelError("io_places are given but no io_side; say on which side they are")
        nodes = math.prod((self.rows, self.columns, self.depth))
        for name, value in (
            ("router_coordinates", coordinates),
            ("routers_of", routers_of.astype(np.int64)),
            ("io_nodes", np.arange(nodes, nodes + places.size)),
        ):
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_sides", tuple(sides))

    @classmethod
    def of_sides(cls, sides: Sequence[int], **options: Any) -> Mesh:
        """Return a mesh with these sides: rows and columns, or x, y and z; see `Sides`.

        Parameters
        ----------
        sides : sequence of int
            Two or three numbers.
        **options : object
            As for `Mesh`.

        Examples
        --------
        >>> Mesh.of_sides((6, 5, 4), torus=True) == Mesh(5, 6, 4, torus=True)
        True
        """
        lengths = sides if isinstance(sides, Sides) else Sides.of(*sides)
        return cls(rows=lengths.y, columns=lengths.x, depth=lengths.z, **options)

    def __reduce__(self) -> tuple[type[Mesh], tuple[Any, ...]]:
        """Copies and pickles are built anew from the description: small, and read-only again."""
        described = tuple(getattr(self, f.name) for f in fields(self) if f.init)
        return type(self), described

    if not TYPE_CHECKING:  # so that a type checker still reports attributes that do not exist

        def __getattr__(self, name: str) -> Any:
            """Tell whoever asks the place who is there to ask an `Occupancy`."""
            if name in _ASK_THE_OCCUPANCY:
                raise AttributeError(
                    f"a Mesh is a place and has no {name!r}: make `Occupancy(mesh)`, from "
                    f"validation.mesh, and ask it for {name!r}"
                )
            raise AttributeError(f"a Mesh has no attribute {name!r}")

    def _io_line(self) -> tuple[int, int]:
        side = one_of("io_side", self.io_side, SIDES)
        if self.torus:
            raise ModelError("a torus has no side for I/O nodes; use a mesh, or io_side=None")
        if SIDES[side][0] == 2 and self.depth == 1:
            raise ModelError(f"io_side {side!r} needs a 3-D mesh, depth is 1")
        return SIDES[side]

    def _io_places(self, length: int) -> Ints:
        if self.io_places is None:
            return np.arange(length)
        try:
            places = [whole_number("io_places", place, least=0) for place in self.io_places]
        except TypeError:
            raise ModelError(f"io_places must be places, got {self.io_places!r:.60}") from None
        if not places or max(places) >= length or len(set(places)) < len(places):
            raise ModelError(
                f"io_places must be different places from 0 to {length - 1} and at least one, "
                f"got {places!r:.80}"
            )
        return np.array(sorted(places), dtype=np.int64)

    @property
    def nodes(self) -> int:
        """Number of nodes that compute."""
        return self.rows * self.columns * self.depth

    @property
    def routers(self) -> int:
        """Routers, those of the I/O line among them."""
        return len(self.router_coordinates)

    @property
    def sides(self) -> Sides:
        """Number of nodes along x (columns), y (rows) and z (layers)."""
        return Sides(self.columns, self.rows, self.depth)

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return 3 if self.depth > 1 else 2

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows, columns), or (depth, rows, columns) of a 3-D mesh."""
        return (self.depth, self.rows, self.columns)[0 if self.depth > 1 else 1 :]

    @property
    def channels(self) -> int:
        """Number of channel numbers; links that would leave the mesh have unused ones."""
        return self.routers * (2 + 2 * self.dimensions * (self.virtual_channels or 1))

    @cached_property
    def grid(self) -> Grid:
        """Sizes that the kernels need for routing."""
        width, height, _ = self._sides
        dimensions = np.zeros(3, DIMENSION)
        dimensions["side"], dimensions["stride"] = self._sides, (1, width, width * height)
        ports, lanes = 2 * self.dimensions, self.virtual_channels or 1
        dimensions["step"], dimensions["down"] = dimensions["stride"] * ports * lanes, lanes
        first = 2 * self.routers + np.arange(self.routers) * ports * lanes
        upwards = first[:, np.newaxis] + 2 * lanes * np.arange(3)
        return Grid(
            routers=self.routers,
            directions=ports,
            virtual=lanes,
            wraps=int(self.torus),
            datelines=int(self.virtual_channels == 2),
            disks=self.channels,
            dimensions=dimensions,
            coordinates=self.router_coordinates.astype(np.int32),
            upwards=upwards.astype(np.uint32),
        )

    def checked_nodes(self, nodes: ArrayLike, *, io: bool = False) -> Ints:
        """Return nodes as a fresh read-only array of different numbers, at least one.

        Parameters
        ----------
        nodes : (n,) array_like of int
            Numbers of nodes.
        io : bool
            Whether I/O nodes are allowed, too.

        Raises
        ------
        ModelError
            If they are no such numbers.
        """
        numbers = np.asarray(nodes)
        count = self.nodes + (self.io_nodes.size if io else 0)
        if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu":
            raise ModelError(f"nodes must be a list of node numbers, got {nodes!r:.60}")
        # What strategies give is ascending; looking for its ends, or sorting it once more, would
        # cost more than choosing it.
        ascends = bool((numbers[1:] > numbers[:-1]).all())
        low, high = (numbers[0], numbers[-1]) if ascends else (numbers.min(), numbers.max())
        if low < 0 or high >= count:
            wrong = numbers[(numbers < 0) | (numbers >= count)][0]
            raise ModelError(f"nodes must be numbers from 0 to {count - 1}, got {wrong}")
        if not ascends and np.unique(numbers).size < numbers.size:
            raise ModelError("nodes must be different; a number comes twice")
        checked = numbers.astype(np.int64)
        return read_only(checked)

    def rectangle(self, row: int, column: int, height: int, width: int) -> Ints:
        """Return the numbers of the nodes of a rectangle in layer 0, row by row.

        Parameters
        ----------
        row, column : int
            First node.
        height, width : int
            Sides, in nodes.

        Raises
        ------
        ModelError
            If it leaves the mesh.
        """
        for name, value, most in (
            ("row", row, self.rows - 1),
            ("column", column, self.columns - 1),
            ("height", height, self.rows - row),
            ("width", width, self.columns - column),
        ):
            if whole_number(name, value, least=0 if name in ("row", "column") else 1) > most:
                raise ModelError(f"{name} must be <= {most}, or it leaves the mesh; got {value}")
        r, c = np.mgrid[row : row + height, column : column + width]
        return np.asarray(r * self.columns + c, dtype=np.int64).ravel()

    def coordinates(self, nodes: ArrayLike) -> Ints:
        """Return column, row and layer (x, y, z) of nodes, (k, 3); I/O nodes lie one beyond the mesh.

        Parameters
        ----------
        nodes : (k,) array_like of int
            Numbers of nodes or I/O nodes.
        """
        numbers = self.checked_nodes(np.unique(np.asarray(nodes)), io=True)
        where = np.searchsorted(numbers, np.asarray(nodes))
        origin = self.router_coordinates[self.routers_of[0]]
        return np.asarray(self.router_coordinates[self.routers_of[numbers]][where] - origin)

    def node_name(self, router: int) -> str:
        """Return (row, column) or (x, y, z) of a router, with "I/O" before one of the I/O line.

        Parameters
        ----------
        router : int
            Number of the router.
        """
        x, y, z = self.router_coordinates[router] - self.router_coordinates[self.routers_of[0]]
        inside = 0 <= x < self.columns and 0 <= y < self.rows and 0 <= z < self.depth
        place = f"({x}, {y}, {z})" if self.dimensions == 3 else f"({y}, {x})"
        return place if inside else f"I/O {place}"

    def link_ends(self) -> tuple[Ints, Ints, Ints]:
        """Return number, first and last router of every link, (links,) each."""
        sides, strides = np.array(self._sides), np.array([1, self._sides[0], 0])
        strides[2] = self._sides[0] * self._sides[1]
        lanes, ports = self.virtual_channels or 1, 2 * self.dimensions
        parts: list[tuple[Ints, Ints, Ints]] = []
        router = np.arange(self.routers)
        for port in range(ports):
            k, step = port // 2, 1 - 2 * (port % 2)
            place = self.router_coordinates[:, k]
            moved = place + step
            inside = (moved >= 0) & (moved < sides[k])
            if self.torus and sides[k] > 1:
                moved, inside = moved % sides[k], np.ones(self.routers, dtype=bool)
            to = router + (moved - place) * strides[k]
            for lane in range(lanes):
                number = 2 * self.routers + (router * ports + port) * lanes + lane
                parts.append((number[inside], router[inside], to[inside]))
        numbers, begins, ends = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(numbers)
        return numbers[order], begins[order], ends[order]

    def channel_name(self, channel: int) -> str:
        """Return the name of a channel, such as "link (0, 0) -> (0, 1)".

        Parameters
        ----------
        channel : int
            Number of the channel.

        Raises
        ------
        ModelError
            If there is no such channel.
        """
        whole_number("channel", channel, least=0, most=self.channels - 1)
        if channel < 2 * self.routers:
            kind = "injection at" if channel < self.routers else "ejection at"
            return f"{kind} {self.node_name(channel % self.routers)}"
        numbers, begins, ends = self.link_ends()
        at = int(np.searchsorted(numbers, channel))
        if at == numbers.size or numbers[at] != channel:
            return f"no link (channel {channel} would leave the mesh)"
        lanes = self.virtual_channels or 1
        lane = f", virtual channel {(channel - 2 * self.routers) % lanes}" if lanes > 1 else ""
        return f"link {self.node_name(int(begins[at]))} -> {self.node_name(int(ends[at]))}{lane}"

    def to_networkx(self) -> nx.MultiDiGraph[Any]:
        """Return the graph of the nodes and I/O nodes (by number; "r<router>" where a router has none).

        Each edge is a link, its key the channel number.
        """
        import networkx as nx

        label: list[Any] = [f"r{router}" for router in range(self.routers)]
        for node, router in enumerate(self.routers_of.tolist()):
            label[router] = node
        graph: nx.MultiDiGraph[Any] = nx.MultiDiGraph()
        for router, name in enumerate(label):
            graph.add_node(name, router=router, io=isinstance(name, str) or name >= self.nodes)
        for number, begin, end in zip(*(part.tolist() for part in self.link_ends()), strict=True):
            graph.add_edge(label[begin], label[end], key=number)
        return graph
