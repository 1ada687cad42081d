"""What a job sends: its traffic as a function of its size and its demand."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from phasefit.arrays import Ints
from phasefit.checks import boolean, check_fields, check_given, one_of, share, whole_number
from qmodels.errors import ModelError
from validation.allocation.boxes import near_cubic
from validation.mesh import Mesh, Occupancy, Traffic, TrafficPhase
from validation.mesh.traffic import count_messages


class AbstractJobTraffic(abc.ABC):
    """Traffic of every job of a machine."""

    name: ClassVar[str]

    @abc.abstractmethod
    def of(self, mesh: Mesh, size: int, demand: float) -> Traffic:
        """What a job of so many nodes sends; `demand` is relative, 1 where none is known."""

    def placed(self, mesh: Mesh, nodes: Ints, demand: float) -> tuple[Ints, Traffic]:
        """A job's nodes in order of rank, by default as they come, and what they send."""
        return nodes, self.of(mesh, len(nodes), demand)

    def alone(self, mesh: Mesh, size: int, demand: float) -> float:
        """Cycles that a node needs on average to send it all: what is known of a job beforehand."""
        traffic = self.of(mesh, size, demand)
        io = mesh.io_nodes.size
        flits = sum(phase.flits * count_messages(Traffic.of(phase), size, io) for phase in traffic.phases)
        return max(1.0, flits * traffic.repeat / size)


@dataclass(frozen=True)
class MixedTraffic(AbstractJobTraffic):
    """Every node sends a number of messages, each I/O with a given probability.

    Parameters
    ----------
    io_share : float
        Share of I/O among the messages, from 0 to 1. I/O goes to all I/O nodes in turn from a
        random start, the rest to the job's other nodes in turn: complete bipartite writes and
        all-to-all [1]_.
    slots : int, optional
        Messages of each node; by default one for each I/O node of the mesh (16 without any).
    flits : int
        Length of a message. Without I/O nodes, messages go to random others.
    by_demand : bool
        Whether a job sends ``slots`` times its demand, at least one, instead of ``slots``.

    Raises
    ------
    ModelError
        If that describes no traffic.

    References
    ----------
    .. [1] J. Mache, V. Lo, S. Garg, "Job scheduling that minimizes network contention due to both
       communication and I/O", *Proc. IPDPS* 2000, section 4.1.

    Examples
    --------
    >>> MixedTraffic(0.2).of(Mesh(16, 22, io_side="west"), 9, 1.0).phases[0].rounds
    16
    """

    io_share: float = 0.5
    slots: int | None = None
    flits: int = 5
    by_demand: bool = False

    name = "mixed"

    def __post_init__(self) -> None:
        check_fields(self, share, "io_share")
        check_given(self, whole_number, "slots", least=1)
        check_fields(self, whole_number, "flits", least=1)
        check_fields(self, boolean, "by_demand")

    def of(self, mesh: Mesh, size: int, demand: float) -> Traffic:
        """See `AbstractJobTraffic.of`."""
        return _mixed(self.io_share, self._slots(mesh, demand), self.flits, mesh.io_nodes.size > 0)

    def _slots(self, mesh: Mesh, demand: float) -> int:
        slots = (mesh.io_nodes.size or 16) if self.slots is None else self.slots
        return max(1, round(slots * demand)) if self.by_demand else slots


@lru_cache(maxsize=1024)
def _mixed(share: float, slots: int, flits: int, io: bool) -> Traffic:
    """One object for equal traffic, for networks keep a table of them."""
    if share == 0.0 and not io:
        return Traffic.of(TrafficPhase(pattern="random", flits=flits, rounds=slots))
    return Traffic.of(TrafficPhase(pattern="mixed", flits=flits, rounds=slots, io_share=share))


@dataclass(frozen=True)
class Alternating(AbstractJobTraffic):
    """Some communications, then one I/O operation, the same for every job.

    Parameters
    ----------
    communications : int
        How often the nodes exchange `pattern` before they write or read; 0 for I/O alone.
    pattern : str
        One of `validation.mesh.PATTERNS` without I/O.
    io : {"write", "read"}
        Complete bipartite between the job's nodes and all I/O nodes.
    flits, io_flits : int
        Lengths of both kinds of messages.
    repeat : int
        How often all of it is done.
    by_demand : bool
        Whether a job repeats it as often as its demand says, at least once.

    Raises
    ------
    ModelError
        If that describes no traffic.

    References
    ----------
    .. [1] P. Liu, C.-C. Hsu, J.-J. Wu, "I/O processor allocation for mesh cluster computers",
       *Proc. ICPADS* 2005, section 5.

    Examples
    --------
    >>> Alternating(communications=4).of(Mesh(4, 4, io_side="west"), 9, 1.0).runs
    2
    """

    communications: int = 4
    pattern: str = "all-to-all"
    io: str = "write"
    flits: int = 5
    io_flits: int = 5
    repeat: int = 1
    by_demand: bool = False

    name = "alternating"

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "communications", least=0)
        check_fields(self, whole_number, "flits", "io_flits", "repeat", least=1)
        one_of("io", self.io, ("write", "read"))
        if self.pattern in ("write", "read", "mixed"):
            raise ModelError(f"pattern must be communication, got {self.pattern!r}; see io")
        check_fields(self, boolean, "by_demand")
        _alternating(self, self.repeat)

    def of(self, mesh: Mesh, size: int, demand: float) -> Traffic:
        """See `AbstractJobTraffic.of`."""
        return _alternating(self, self._repeat(demand))

    def _repeat(self, demand: float) -> int:
        return max(1, round(self.repeat * demand)) if self.by_demand else self.repeat


@lru_cache(maxsize=1024)
def _alternating(plan: Alternating, repeat: int) -> Traffic:
    io = TrafficPhase(pattern=plan.io, flits=plan.io_flits)
    if plan.communications == 0:
        return Traffic.of(io, repeat=repeat)
    talk = TrafficPhase(pattern=plan.pattern, flits=plan.flits, rounds=plan.communications)
    return Traffic.of(talk, io, repeat=repeat)


@dataclass(frozen=True)
class PatternTraffic(AbstractJobTraffic):
    """One pattern, the same for every job.

    Parameters
    ----------
    pattern : str
        One of `validation.mesh.PATTERNS`, such as "all-to-all", "halo" or "write".
    flits : int
        Length of a message.
    rounds : int
        How often the pattern is gone through.
    by_demand : bool
        Whether a job goes through it as often as its demand says, at least once.

    Raises
    ------
    ModelError
        If that describes no traffic.

    Notes
    -----
    "halo" is the exchange with the six neighbours in space. A job that holds a box exchanges over
    the grid of that box, so that every message goes to a neighbouring node; one that holds other
    nodes exchanges over the grid nearest to a cube that has its size and fits the mesh, its ranks
    in order of the nodes.

    Examples
    --------
    >>> mesh = Mesh.of_sides((8, 8, 8))
    >>> box = np.array([0, 1, 8, 9, 16, 17])
    >>> _, traffic = PatternTraffic("halo").placed(mesh, box, 1.0)
    >>> traffic.phases[0].grid
    (2, 3)
    """

    pattern: str = "all-to-all"
    flits: int = 8
    rounds: int = 1
    by_demand: bool = False

    name = "pattern"

    def __post_init__(self) -> None:
        check_fields(self, whole_number, "flits", "rounds", least=1)
        check_fields(self, boolean, "by_demand")
        _pattern(self.pattern, self.flits, self.rounds, None)

    def of(self, mesh: Mesh, size: int, demand: float) -> Traffic:
        """See `AbstractJobTraffic.of`."""
        box = near_cubic(size, mesh.sides) if self.pattern == "halo" else None
        return self._on(None if box is None else (box.x, box.y), demand)

    def placed(self, mesh: Mesh, nodes: Ints, demand: float) -> tuple[Ints, Traffic]:
        """See `AbstractJobTraffic.placed`: in a box ranks go along x, then y, then z."""
        if self.pattern == "halo":
            alone = Occupancy(mesh)
            alone.occupy("job", nodes)
            if len(alone.boxes) == 1:
                box = alone.boxes[0]
                # From the box's first node on, which on a torus need not be the lowest number.
                within = (mesh.coordinates(nodes) - box[:3]) % np.array(mesh.sides)
                order = np.lexsort(within.T)
                return nodes[order], self._on((int(box[3]), int(box[4])), demand)
        return nodes, self.of(mesh, len(nodes), demand)

    def _on(self, grid: tuple[int, int] | None, demand: float) -> Traffic:
        rounds = max(1, round(self.rounds * demand)) if self.by_demand else self.rounds
        return _pattern(self.pattern, self.flits, rounds, grid)


@lru_cache(maxsize=4096)
def _pattern(pattern: str, flits: int, rounds: int, grid: tuple[int, int] | None) -> Traffic:
    return Traffic.of(TrafficPhase(pattern=pattern, flits=flits, rounds=rounds, grid=grid))
