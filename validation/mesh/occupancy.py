"""`Occupancy`: which job holds which nodes of a mesh, the one thing about it that changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Ints, read_only
from phasefit.checks import instance_of
from qmodels.errors import ModelError
from validation.mesh._kernels import boxes as box_kernels
from validation.mesh.topology import Mesh


@final
class Occupancy:
    """The jobs that hold nodes of a mesh; at first none.

    Whatever a `Mesh` says of the place, its sides, its I/O nodes, its coordinates, can be asked of
    its occupancy as well, so that a strategy has one thing to look at.

    Parameters
    ----------
    mesh : Mesh
        The place.

    Raises
    ------
    ModelError
        If `mesh` is no `Mesh`.

    Examples
    --------
    >>> held = Occupancy(Mesh(4, 4))
    >>> held.occupy("job", held.rectangle(0, 0, 2, 3))
    >>> held.free, held.rows, held.release("job").tolist()
    (10, 4, [0, 1, 2, 4, 5, 6])
    """

    __slots__ = ("_busy", "_busy_list", "_free", "_is_busy", "_jobs", "_mesh")

    def __init__(self, mesh: Mesh) -> None:
        instance_of("mesh", mesh, Mesh)
        self._mesh = mesh
        self._is_busy = np.zeros(mesh.nodes, dtype=np.bool_)  # by node number
        self._busy = read_only(self._is_busy.reshape(mesh.shape))
        self._free = mesh.nodes
        self._jobs: dict[Hashable, Ints] = {}
        self._busy_list: _BusyList | None = None  # kept from the first time that it is asked for

    @property
    def mesh(self) -> Mesh:
        """The place."""
        return self._mesh

    @property
    def busy(self) -> NDArray[np.bool_]:
        """True for nodes that are held, (rows, columns) or (depth, rows, columns), read-only."""
        return self._busy

    @property
    def free(self) -> int:
        """Number of nodes that no job holds."""
        return self._free

    @property
    def jobs(self) -> Mapping[Hashable, Ints]:
        """The nodes of each job, in order of allocation."""
        return MappingProxyType(self._jobs)

    @property
    def boxes(self) -> Ints:
        """Nodes that are held, as boxes (k, 6): x, y, z of the first node, and the sides along them.

        In order of allocation, read-only: the busy list. A job that holds a box has one row, any
        other is cut into several. On a torus a box may go on at the other end of a side.
        """
        if self._busy_list is None:
            self._busy_list = _BusyList(self._mesh)
            for job, nodes in self._jobs.items():
                self._busy_list.add(job, nodes)
        return self._busy_list.rows

    @property
    def nodes(self) -> int:
        """Number of nodes that compute, see `Mesh.nodes`."""
        return self._mesh.nodes

    @property
    def rows(self) -> int:
        """Rows of the mesh."""
        return self._mesh.rows

    @property
    def columns(self) -> int:
        """Columns of the mesh."""
        return self._mesh.columns

    @property
    def depth(self) -> int:
        """Layers of the mesh."""
        return self._mesh.depth

    def __getattr__(self, name: str) -> Any:
        """Anything else is asked of the place."""
        # Copying asks an object without slots filled for names of its own; the place has none.
        if name.startswith("_"):
            raise AttributeError(f"an Occupancy has no attribute {name!r}")
        return getattr(self._mesh, name)

    def __repr__(self) -> str:
        """The place and how full it is."""
        return f"Occupancy({self._mesh!r}): {len(self._jobs)} jobs, {self._free} nodes free"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the same nodes, booked anew in the same order."""
        return _occupied, (self._mesh, tuple(self._jobs.items()))

    def occupy(self, job: Hashable, nodes: ArrayLike) -> None:
        """Give free nodes to a job.

        Parameters
        ----------
        job : hashable
            Its name, which no job that holds nodes may have.
        nodes : (n,) array_like of int
            Different free nodes.

        Raises
        ------
        ModelError
            If the job holds nodes already, or `nodes` are no free nodes; nothing has changed then.
        """
        if job in self._jobs:
            raise ModelError(f"job {job!r:.40} holds nodes already; release it first")
        wanted = self._mesh.checked_nodes(nodes)
        held = wanted[self._is_busy[wanted]]
        if held.size:
            raise ModelError(f"node {held[0]} is held by another job; choose free nodes")
        self._is_busy[wanted] = True
        self._free -= wanted.size
        self._jobs[job] = wanted
        if self._busy_list is not None:
            self._busy_list.add(job, wanted)

    def release(self, job: Hashable) -> Ints:
        """Take a job's nodes back.

        Parameters
        ----------
        job : hashable
            Name of the job.

        Returns
        -------
        (n,) ndarray of int
            The nodes that it held.

        Raises
        ------
        ModelError
            If no such job holds nodes.
        """
        if job not in self._jobs:
            raise ModelError(f"job {job!r:.40} holds no nodes; it holds some after `occupy`")
        nodes = self._jobs.pop(job)
        self._is_busy[nodes] = False
        self._free += nodes.size
        if self._busy_list is not None:
            self._busy_list.drop(job)
        return nodes


class _BusyList:
    """The boxes of the jobs, in order of allocation, in one array that grows when it must."""

    __slots__ = ("_counts", "_mesh", "_table", "_used")

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._counts: dict[Hashable, int] = {}  # boxes of each job
        self._table = np.empty((16, 6), dtype=np.int64)
        self._used = 0

    @property
    def rows(self) -> Ints:
        """All boxes, (k, 6), read-only."""
        rows = self._table[: self._used]
        return read_only(rows)

    def add(self, job: Hashable, nodes: Ints) -> None:
        """Append the boxes of a job."""
        sides, wraps = self._mesh.sides, self._mesh.torus
        one = np.empty((1, 6), dtype=np.int64)
        if not box_kernels.as_one_box(nodes, *sides, wraps, one[0]):
            held = np.zeros(self._mesh.nodes, dtype=np.bool_)
            held[nodes] = True
            one = np.empty((nodes.size, 6), dtype=np.int64)
            one = one[: box_kernels.cut_into_boxes(held, *sides, one)]
        end = self._used + len(one)
        if end > len(self._table):
            table = np.empty((max(2 * len(self._table), end), 6), dtype=np.int64)
            table[: self._used] = self._table[: self._used]
            self._table = table
        self._table[self._used : end] = one
        self._used, self._counts[job] = end, len(one)

    def drop(self, job: Hashable) -> None:
        """Take the boxes of a job out; the others keep their order."""
        at = 0
        for other, count in self._counts.items():
            if other == job:
                break
            at += count
        gone = self._counts.pop(job)
        self._table[at : self._used - gone] = self._table[at + gone : self._used]
        self._used -= gone


def as_occupancy(place: Mesh | Occupancy) -> Occupancy:
    """Return `place` itself if it says who is there; a mesh alone counts as one that nobody holds.

    Parameters
    ----------
    place : Mesh or Occupancy
        The place.
    """
    return place if isinstance(place, Occupancy) else Occupancy(place)


def as_mesh(place: Mesh | Occupancy) -> Mesh:
    """Return the place alone, whoever is there.

    Parameters
    ----------
    place : Mesh or Occupancy
        The place.
    """
    return place.mesh if isinstance(place, Occupancy) else place


def _occupied(mesh: Mesh, jobs: tuple[tuple[Hashable, Ints], ...]) -> Occupancy:
    occupancy = Occupancy(mesh)
    for job, nodes in jobs:
        occupancy.occupy(job, nodes)
    return occupancy
