"""What a cluster is: its nodes, and what it costs to run a job elsewhere on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import boolean, check_fields, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError

#: Nodes of the largest cluster: tables of who moved whence and where have so many squares.
MOST_NODES = 20_000
#: Megabytes of an access by which a monitor judges the bandwidth of a disk.
TYPICAL_REQUEST = 0.256


@dataclass(frozen=True, kw_only=True)
class Node(Record):
    """A workstation.

    Parameters
    ----------
    speed : float
        CPU-seconds of work that it does in a second, > 0; the demands of jobs are those of a node
        of speed 1.
    memory : float
        MB, > 0.
    access : float
        Milliseconds of a disk access without its transfer, >= 0.
    disk_rate : float
        MB/s of a transfer, > 0.
    fault : float
        Milliseconds of disk that a page fault takes, >= 0.
    link : float
        MB/s of the link to the network, > 0.

    Raises
    ------
    ModelError
        If a parameter is out of its range.

    Examples
    --------
    An access of 256 KB takes 14.4 ms, so that the disk gives 17.8 MB/s:

    >>> round(Node().access_time(0.256), 4), round(Node().bandwidth, 2)
    (0.0144, 17.78)
    """

    speed: float = 1.0
    memory: float = 640.0
    access: float = 8.0
    disk_rate: float = 40.0
    fault: float = 8.1
    link: float = 12.5

    def __post_init__(self) -> None:
        check_fields(self, real_number, "speed", "memory", "disk_rate", "link", above=0.0)
        check_fields(self, real_number, "access", "fault", least=0.0)

    def access_time(self, request: float) -> float:
        """Seconds of disk that an access of so many MB takes."""
        return self.access / 1000.0 + request / self.disk_rate

    @property
    def bandwidth(self) -> float:
        """MB/s of the disk in accesses of 256 KB, as a monitor would measure it."""
        return TYPICAL_REQUEST / self.access_time(TYPICAL_REQUEST)


@dataclass(frozen=True)
class Cluster(Record):
    """Nodes of a network, shared by all jobs that run on them.

    Parameters
    ----------
    nodes : sequence of Node
        At least one.
    remote_cost : float
        Seconds of starting a job elsewhere than at home, besides moving its data (e of the paper).
    preemption_cost : float
        Seconds of moving a running task, besides its data and memory (f of the paper).
    barrier : float
        CPU-milliseconds between two barriers of a parallel job, > 0.
    barrier_cost : float
        Milliseconds of a barrier itself.
    access_dispersion : float
        How irregular the disk accesses of a task are: the variance of the time that those between
        two barriers take, for each access, over the squared mean time of an access; >= 0. The more,
        the longer the tasks of a job wait at barriers for the one that happens to be the slowest.
        2 (the default) if accesses come at random and are exponential, one more than the scv of an
        access if they come at random, 0 if all tasks always take their means.
    broadcast : float
        Seconds between two broadcasts of all loads; 0 if balancers always see them as they are.
    remaining_known : bool
        Whether balancers know how much work a task has left. Else they expect as much as it has
        done, and of a job that has just come the mean of all.

    Raises
    ------
    ModelError
        If there is no node, or a parameter is out of its range.

    References
    ----------
    .. [1] X. Qin, H. Jiang, Y. Zhu, D. R. Swanson, "Towards load balancing support for
       I/O-intensive parallel jobs in a cluster of workstations", *Proc. IEEE Cluster* 2003.

    Examples
    --------
    >>> cluster = Cluster.of(32)
    >>> len(cluster.nodes), cluster.remote_cost
    (32, 0.1)
    """

    nodes: Sequence[Node]
    _: KW_ONLY
    remote_cost: float = 0.1
    preemption_cost: float = 0.3
    barrier: float = 100.0
    barrier_cost: float = 1.0
    access_dispersion: float = 2.0
    broadcast: float = 0.0
    remaining_known: bool = True

    def __post_init__(self) -> None:
        given = tuple(self.nodes) if isinstance(self.nodes, Iterable) else ()
        if not given or not all(isinstance(node, Node) for node in given):
            raise ModelError(f"nodes must be one Node or more, got {self.nodes!r:.60}")
        if len(given) > MOST_NODES:
            raise ModelError(f"a cluster may have {MOST_NODES:,} nodes, got {len(given):,}")
        object.__setattr__(self, "nodes", given)
        costs = "remote_cost", "preemption_cost", "barrier_cost"
        check_fields(self, real_number, *costs, "access_dispersion", "broadcast", least=0.0)
        check_fields(self, real_number, "barrier", above=0.0)
        boolean("remaining_known", self.remaining_known)

    @classmethod
    def of(cls, count: int, node: Node | None = None, **options: float) -> Cluster:
        """Make a cluster of `count` nodes that are alike.

        Raises
        ------
        ModelError
            See `Cluster`.
        """
        count = whole_number("count", count, least=1)
        if count > MOST_NODES:
            raise ModelError(f"a cluster may have {MOST_NODES:,} nodes, got {count:,}")
        return cls((Node() if node is None else node,) * count, **options)  # type: ignore[arg-type]

    @property
    def sync(self) -> float:
        """Seconds of barriers for each CPU-second of a parallel job."""
        return self.barrier_cost / self.barrier

    def column(self, name: str) -> Array:
        """A parameter of every node, (nodes,)."""
        return np.array([getattr(node, name) for node in self.nodes], dtype=float)
