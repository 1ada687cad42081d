"""Traffic of a job: phases of patterns, described and never listed, or a list of messages."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Ints, read_only
from phasefit.checks import boolean, check_fields, one_of, real_number, share, whole_number
from phasefit.records import Record
from qmodels.errors import MemoryBudgetError, ModelError
from validation.mesh._kernels import records as rec
from validation.mesh._kernels import traffic as traffic_kernels
from validation.mesh.topology import Mesh

#: Patterns by name.
PATTERNS: Final = {
    "all-to-all": rec.ALL_TO_ALL,
    "one-to-all": rec.ONE_TO_ALL,
    "all-to-one": rec.ALL_TO_ONE,
    "random": rec.RANDOM,
    "nearest-neighbour": rec.NEIGHBOUR,
    "ring": rec.RING,
    "n-body": rec.N_BODY,
    "fft": rec.FFT,
    "write": rec.WRITE,
    "read": rec.READ,
    "mixed": rec.MIXED,
    "halo": rec.HALO,
}
_WITH_IO = ("write", "read", "mixed")
#: The longest message, and the most messages that a node sends in a phase.
MAX_FLITS, MAX_ROUNDS, MAX_PAUSE = 1 << 20, 1 << 24, 1 << 40
_LISTED_MOST = 1 << 40
#: Messages of the largest list that `expand` makes: 2 GB.
MAX_LISTED = 50_000_000


@dataclass(frozen=True, kw_only=True)
class TrafficPhase(Record):
    """All messages of one pattern; the next phase begins when the last has been delivered.

    Parameters
    ----------
    pattern : str
        One of `PATTERNS`, see Notes.
    flits : int
        Length of every message.
    rounds : int
        How often the pattern is gone through; for "random" and "mixed", messages of each node.
    pause : int
        Cycles of computation before the phase.
    lockstep : bool
        Whether all nodes wait for each other after each message, instead of sending theirs one
        after the other as fast as the network takes them.
    root : int
        Rank of the one in "one-to-all" and "all-to-one".
    io_share : float
        Probability that a slot of "mixed" is I/O.
    interval : float
        Mean cycles between two messages that a node makes, geometrically distributed; 0 if it
        makes the next when the last has left. Messages then wait at their source.
    targets : int
        If positive, "random" draws among so many of the first ranks, the sender not excluded;
        else among all others.
    grid : tuple of int, optional
        Sides x and y of the grid of "halo"; by default those nearest to a cube.
    last_flits : int
        Length of the messages of the last round, such as the short last packets of what is sent
        in packets; 0 if they are as long as the others.

    Raises
    ------
    ModelError
        If that describes no phase.

    Notes
    -----
    A job's nodes have ranks 0 to n - 1 in the order in which they are given. Rank r sends

    - "all-to-all": to r + 1, r + 2, ... r - 1 in turn;
    - "one-to-all": the root to all others; "all-to-one": all others to the root;
    - "random": to a rank drawn for each message;
    - "nearest-neighbour": right, left, below, above on the near-square grid of
      ceil(sqrt(n)) columns that the ranks fill row by row;
    - "ring": to r + 1; "n-body": (n-1) // 2 times to r + 1, then to r + n // 2;
    - "fft": to r xor 1, r xor 2, r xor 4, ... where there is such a rank;
    - "write": to every I/O node of the mesh, "read": every I/O node to every rank, both in turn
      from a random start (complete bipartite);
    - "halo": to its neighbours at x + 1, x - 1, y + 1, y - 1, z + 1 and z - 1 on the grid that the
      ranks fill along x, then y, then z;
    - "mixed": a slot is I/O with probability `io_share` and goes to the next I/O node, else to
      the next of the other ranks.

    Ranks are taken modulo n.

    Examples
    --------
    >>> TrafficPhase(pattern="write", flits=64).rounds
    1
    """

    pattern: str
    flits: int = 8
    rounds: int = 1
    pause: int = 0
    lockstep: bool = False
    root: int = 0
    io_share: float = 0.0
    interval: float = 0.0
    targets: int = 0
    grid: tuple[int, int] | None = None
    last_flits: int = 0

    def __post_init__(self) -> None:
        one_of("pattern", self.pattern, PATTERNS)
        check_fields(self, whole_number, "flits", least=1, most=MAX_FLITS)
        check_fields(self, whole_number, "rounds", least=1, most=MAX_ROUNDS)
        check_fields(self, whole_number, "pause", least=0, most=MAX_PAUSE)
        check_fields(self, whole_number, "root", "targets", least=0, most=MAX_ROUNDS)
        check_fields(self, whole_number, "last_flits", least=0, most=MAX_FLITS)
        check_fields(self, boolean, "lockstep")
        check_fields(self, real_number, "interval", least=0.0)
        if 0.0 < self.interval < 1.0 or self.interval > 1e9:
            raise ModelError(f"interval must be 0 or between 1 and 1e9 cycles, got {self.interval:.6g}")
        if self.interval and self.lockstep:
            raise ModelError("interval and lockstep exclude each other; give one")
        if self.targets and self.pattern != "random":
            raise ModelError(f"targets are for the pattern 'random', not {self.pattern!r}")
        if self.grid is not None:
            if self.pattern != "halo":
                raise ModelError(f"grid is for the pattern 'halo', not {self.pattern!r}")
            if not isinstance(self.grid, tuple) or len(self.grid) != 2:
                raise ModelError(f"grid must be two sides, x and y, got {self.grid!r:.40}")
            sides = tuple(whole_number("a side of grid", side, least=1) for side in self.grid)
            if max(sides) > MAX_ROUNDS:
                raise ModelError(f"sides of grid must be <= {MAX_ROUNDS}, got {max(sides)}")
            object.__setattr__(self, "grid", sides)
        check_fields(self, share, "io_share")

    def fits(self, nodes: int, io_nodes: int) -> None:
        """Raise ModelError unless a job can send this.

        Parameters
        ----------
        nodes : int
            Of the job.
        io_nodes : int
            Of the mesh.

        Raises
        ------
        ModelError
            If a rank is not of the job, or I/O nodes are missing.
        """
        if self.pattern in _WITH_IO and io_nodes == 0:
            raise ModelError(f"pattern {self.pattern!r} needs I/O nodes; give the mesh an io_side")
        for name, value in (("root", self.root + 1), ("targets", self.targets)):
            if value > nodes:
                raise ModelError(f"{name} must be among the {nodes} ranks of the job")


@dataclass(frozen=True)
class Traffic(Record):
    """The phases of a job in order, gone through `repeat` times.

    Examples
    --------
    >>> exchange = TrafficPhase(pattern="all-to-all", flits=16)
    >>> checkpoint = TrafficPhase(pattern="write", flits=64, pause=1000)
    >>> Traffic.of(exchange, exchange, checkpoint, repeat=3).runs
    9
    """

    phases: tuple[TrafficPhase, ...]  #: in their order
    repeat: int = 1  #: how often they are gone through

    def __post_init__(self) -> None:
        phases = tuple(self.phases) if isinstance(self.phases, Iterable) else ()
        if not phases or not all(isinstance(phase, TrafficPhase) for phase in phases):
            raise ModelError(f"phases must be at least one TrafficPhase, got {self.phases!r:.60}")
        object.__setattr__(self, "phases", phases)
        check_fields(self, whole_number, "repeat", least=1)
        if self.runs > MAX_ROUNDS:
            raise ModelError(f"repeat must be <= {MAX_ROUNDS // len(phases)}, got {self.repeat}")

    @classmethod
    def of(cls, *phases: TrafficPhase, repeat: int = 1) -> Traffic:
        """Return the traffic of some phases.

        Parameters
        ----------
        *phases : TrafficPhase
            In order.
        repeat : int
            How often they are gone through.
        """
        return cls(phases, repeat)

    @property
    def runs(self) -> int:
        """Phases run in all."""
        return len(self.phases) * self.repeat


@dataclass(frozen=True, eq=False)
class Messages(Record):
    """A list of messages, each made at its own time; every source sends its own in order.

    Parameters
    ----------
    created : (k,) array_like of int
        Cycle in which each message is made, not decreasing.
    source, destination : (k,) array_like of int
        Nodes or I/O nodes.
    flits : (k,) array_like of int
        Lengths.

    Raises
    ------
    ModelError
        If these are not such a list.
    """

    created: Ints
    source: Ints
    destination: Ints
    flits: Ints

    def __post_init__(self) -> None:
        size = None
        for name, least in (("created", 0), ("source", 0), ("destination", 0), ("flits", 1)):
            column = _whole_column(name, getattr(self, name), least)
            if size is not None and column.size != size:
                raise ModelError(f"{name} has {column.size} entries and created has {size}")
            size = column.size
            object.__setattr__(self, name, column)
        if self.flits.max() > MAX_FLITS:
            raise ModelError(f"flits must be <= {MAX_FLITS}, got {self.flits.max()}")
        order = np.argsort(self.source, kind="stable")
        back = (np.diff(self.created[order]) < 0) & (np.diff(self.source[order]) == 0)
        if back.any():
            late = int(order[int(np.argmax(back)) + 1])
            raise ModelError(
                f"created[{late}] is before the message that the same source sends before it; "
                f"sort the messages of each source by time"
            )


def _whole_column(name: str, values: ArrayLike, least: int) -> Ints:
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros(0)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ModelError(f"{name} must be a list of whole numbers, got {values!r:.60}")
    if array.min() < least or array.max() >= _LISTED_MOST:
        raise ModelError(f"{name} must be from {least} to 2**40, got {array.min()}, {array.max()}")
    column = array.astype(np.int64)
    return read_only(column)


def refuse_taken_name(job: Hashable, under_way: Container[Hashable]) -> None:
    """Check the name of a job that is about to start.

    Parameters
    ----------
    job : hashable
        Its name.
    under_way : container
        Names of the jobs that have not finished.

    Raises
    ------
    ModelError
        If it is not hashable, or taken.
    """
    try:
        taken = job in under_way
    except TypeError:
        raise ModelError(f"job must be hashable, got {job!r:.60}") from None
    if taken:
        raise ModelError(f"job {job!r:.40} is under way; name each job differently")


def phase_rows(traffic: Traffic) -> Any:
    """Return the phases as the kernels take them: (phases,) of `PHASE`.

    Parameters
    ----------
    traffic : Traffic
        The phases.
    """
    rows = np.zeros(len(traffic.phases), rec.PHASE)
    for row, phase in zip(rows, traffic.phases, strict=True):
        row["kind"] = PATTERNS[phase.pattern]
        for name in ("flits", "last_flits", "rounds", "pause", "lockstep", "root", "targets"):
            row[name] = getattr(phase, name)
        row["io_share"], row["interval"] = phase.io_share, phase.interval
        row["wide"], row["deep"] = (0, 0) if phase.grid is None else phase.grid
    return rows


def stream_rows(mesh: Mesh, nodes: Ints, *, seed: int, job: int, io_nodes: Ints | None = None) -> Any:
    """Return a stream for each of a job's nodes and each of its I/O nodes, each with random numbers.

    Parameters
    ----------
    mesh : Mesh
        Where the job runs.
    nodes : (n,) ndarray of int
        Its nodes, in the order of their ranks.
    seed : int
        Root of all randomness.
    job : int
        Number of its random sequence.
    io_nodes : (m,) ndarray of int, optional
        Its I/O nodes; by default all of the mesh.
    """
    served = mesh.io_nodes if io_nodes is None else io_nodes
    routers = mesh.routers_of[np.concatenate([nodes, served])]
    rows = np.zeros(routers.size, rec.STREAM)
    rows["router"], rows["rank"] = routers, np.arange(routers.size)
    words = np.random.SeedSequence((seed, job)).generate_state(routers.size, np.uint64)
    rows["draws"] = words.view(np.int64)
    # The start of each cycle through its destinations comes from the same words.
    start = rows["io_offset"]
    start[: nodes.size] = words[: nodes.size] % np.uint64(max(served.size, 1))
    start[nodes.size :] = words[nodes.size :] % np.uint64(nodes.size)
    return rows


@lru_cache(maxsize=4096)  # jobs of one size mostly send alike
def count_messages(traffic: Traffic, nodes: int, io_nodes: int) -> int:
    """Return the number of messages that a job sends.

    Parameters
    ----------
    traffic : Traffic
        What it sends.
    nodes : int
        Of the job.
    io_nodes : int
        Of the job.
    """
    rows = phase_rows(traffic)
    counts = np.zeros((len(rows), nodes + io_nodes), np.int64)
    return int(traffic_kernels.count(rows, counts, nodes, io_nodes)) * traffic.repeat


@dataclass(frozen=True, eq=False)
class Expansion:
    """Every message of one job, phase run by phase run."""

    run: Ints  #: (k,) which phase run each message belongs to
    step: Ints  #: (k,) its place among those of its source in that run
    source: Ints  #: (k,) routers
    target: Ints  #: (k,) routers
    flits: Ints  #: (k,)


def expand(mesh: Mesh, nodes: ArrayLike, traffic: Traffic, *, seed: int = 0, job: int = 0) -> Expansion:
    """List a job's messages, for fidelities and tests that want them all at once.

    The worm-level simulator does not: it takes each message from the same functions when its turn comes, and
    makes the same draws there.

    Parameters
    ----------
    mesh : Mesh
        Where the job runs.
    nodes : (n,) array_like of int
        Its nodes, in the order of their ranks.
    traffic : Traffic
        What it sends.
    seed : int
        Root of all randomness.
    job : int
        Number of its random sequence: that of the jobs started before.

    Returns
    -------
    Expansion
        The messages, in the order of their senders.

    Raises
    ------
    MemoryBudgetError
        If they are too many to list.
    """
    members = mesh.checked_nodes(nodes)
    for phase in traffic.phases:
        phase.fits(members.size, mesh.io_nodes.size)
    rows = phase_rows(traffic)
    streams = stream_rows(mesh, members, seed=seed, job=job)
    counts = np.zeros((traffic.runs, len(streams)), np.int64)
    total = traffic_kernels.count(rows, counts, members.size, mesh.io_nodes.size)
    if total > MAX_LISTED:
        raise MemoryBudgetError(
            f"the traffic has {total:,} messages; listing them is for at most {MAX_LISTED:,}, use "
            f"fidelity 'worm', which lists none"
        )
    out = np.zeros(total, rec.EXPANDED_MESSAGE)
    traffic_kernels.expand(streams, rows, counts, members.size, mesh.io_nodes.size, out)
    return Expansion(**{name: out[name] for name in rec.EXPANDED_MESSAGE.names or ()})
