"""Dimension-ordered routes as channel numbers."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Ints
from phasefit.checks import whole_number
from validation.mesh._kernels import routes
from validation.mesh.topology import Mesh


def route(mesh: Mesh, source: int, destination: int) -> Ints:
    """Return the channels that a message takes, in order.

    Parameters
    ----------
    mesh : Mesh
        Where it travels.
    source, destination : int
        Numbers of nodes or I/O nodes; they may be the same.

    Returns
    -------
    (k,) ndarray of int
        Injection, links and ejection: two more than there are hops.

    Raises
    ------
    ModelError
        If there is no such node.

    Notes
    -----
    First along the row (x), then along the column (y), then between layers (z), the shorter way
    round on a torus. Half-way round, an even coordinate goes up and an odd one down, so that both
    directions carry the same. A message that crosses from the last to the first place of a ring,
    or back, takes virtual channel 1 all along that ring, others take 0: no cycle of waiting
    messages can arise, because none of them goes more than half-way round [1]_.

    References
    ----------
    .. [1] W. J. Dally, C. L. Seitz, "Deadlock-free message routing in multiprocessor
       interconnection networks", *IEEE Trans. Computers* C-36 (1987) 547-553.

    Examples
    --------
    >>> mesh = Mesh(4, 4, io_side="west")
    >>> for channel in route(mesh, 1, mesh.io_nodes[1]).tolist():
    ...     print(mesh.channel_name(channel))
    injection at (0, 1)
    link (0, 1) -> (0, 0)
    link (0, 0) -> I/O (0, -1)
    link I/O (0, -1) -> I/O (1, -1)
    ejection at I/O (1, -1)
    """
    ends = []
    for name, node in (("source", source), ("destination", destination)):
        ends.append(int(mesh.routers_of[whole_number(name, node, least=0, most=mesh.routers_of.size - 1)]))
    channels = np.empty(2 + mesh.rows + mesh.columns + mesh.depth, dtype=np.int64)
    length = routes.route(mesh.grid, *ends, channels)
    return channels[:length].copy()
