"""`Cell`: one scenario of the trial, as the mesh machine and as the models are given it."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from phasefit import PhaseType, match_moments
from phasefit.arrays import Ints
from phasefit.checks import check_fields, one_of, real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.policies import AbstractPolicy, Arrangement, System, find_policy
from validation.allocation import AbstractStrategy
from validation.allocation.base import find_strategy
from validation.mesh import Mesh
from validation.mesh.traffic import Traffic, TrafficPhase
from validation.sweeps.plain import PlainDataError, canonical

#: Cycles that a disk needs for a flit: 11.65 MB/s of a link over 4.545 MB/s of a disk [1].
DISK_PACE: Final = 2.563
PACKET: Final = 64  #: flits


@dataclass(frozen=True, kw_only=True)
class JobPlan(Record):
    """What a job of mean demand does: phases of I/O and then computation with an exchange.

    Parameters
    ----------
    phases : int
        N.
    io_flits : float
        V, flits that a phase moves between the job's nodes and its disks, in all.
    cpu_cycles : float
        C, processor-cycles of computation in a phase, in all.
    exchange_flits : float
        M, flits that the nodes exchange after computing, in all.
    packet : int
        L, flits of a packet; the last one of each pair may be shorter.
    io : {"write", "read"}

    Raises
    ------
    ModelError
        If that describes no job.

    Notes
    -----
    A job's demand multiplies V, C and M. What each pair of nodes moves is rounded to whole flits.
    """

    phases: int = 5
    io_flits: float
    cpu_cycles: float
    exchange_flits: float = 0.0
    packet: int = PACKET
    io: str = "write"

    def __post_init__(self) -> None:
        whole_number("phases", self.phases, least=1)
        whole_number("packet", self.packet, least=1)
        one_of("io", self.io, ("write", "read"))
        check_fields(self, real_number, "io_flits", "cpu_cycles", "exchange_flits", least=0.0)
        if self.io_flits + self.cpu_cycles == 0.0:
            raise ModelError("a job must transfer or compute; io_flits and cpu_cycles are both 0")

    @classmethod
    def of_ratio(
        cls,
        mesh: Mesh,
        *,
        cpu_to_io: float,
        io_flits: float,
        exchange_share: float = 0.25,
        disk_pace: float = DISK_PACE,
        **options: Any,
    ) -> JobPlan:
        """A job whose computation on all nodes takes `cpu_to_io` times its I/O on all disks.

        That is (C / P) : (V / (D b)), before the exchange, which moves `exchange_share` of V.
        """
        seconds = io_flits * disk_pace / mesh.io_nodes.size
        return cls(
            io_flits=io_flits,
            cpu_cycles=cpu_to_io * seconds * mesh.nodes,
            exchange_flits=exchange_share * io_flits,
            **options,
        )

    def transfer(self, flits: float, processors: int, disks: int) -> Traffic | None:
        """Traffic of an I/O burst of so many flits in all; None where that rounds to nothing."""
        return self._packets(self.io, flits / (processors * disks))

    def exchange(self, flits: float, processors: int) -> Traffic | None:
        """Traffic of an exchange of so many flits in all, every node with every other."""
        if processors == 1:
            return None
        return self._packets("all-to-all", flits / (processors * (processors - 1)))

    def _packets(self, pattern: str, each: float) -> Traffic | None:
        flits = round(each)
        return None if flits == 0 else _in_packets(pattern, flits, self.packet)


@lru_cache(maxsize=4096)  # a phase each, of a dozen numbers: all phases of a job ask for the same
def _in_packets(pattern: str, flits: int, packet: int) -> Traffic:
    """Traffic of so many flits between each pair, in whole packets but for the last."""
    rounds = -(-flits // packet)
    last = flits - (rounds - 1) * packet
    if rounds == 1:
        return Traffic.of(TrafficPhase(pattern=pattern, flits=flits))
    return Traffic.of(
        TrafficPhase(
            pattern=pattern,
            flits=packet,
            rounds=rounds,
            last_flits=0 if last == packet else last,
        )
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell(Record):
    """One scenario: machine, jobs, policy and strategy; the load is chosen with each run.

    Cells of equal parts are equal, in whatever process they were made: what was measured of one
    serves all.

    Parameters
    ----------
    mesh : Mesh
        Two-dimensional, with its I/O nodes on the west side.
    shape : JobPlan
    policy : AbstractPolicy
        SP, DP or TS.
    strategy : AbstractStrategy
        Which nodes a job gets.
    demand : PhaseType
        Law of the factor by which jobs differ, of mean one.
    disk : {"buffer", "ejection"}
        See `validation.mesh.Network`.
    disk_pace : float
        Cycles per flit.
    min_processors : int
        M_P, which under DP says how many jobs run at most.

    Raises
    ------
    ModelError
        If that describes no scenario.

    Examples
    --------
    >>> cell = Cell.of(rows=8, columns=8, policy="SP", policy_options={"processor_partitions": 4,
    ...     "disk_partitions": 1}, strategy="MC", cpu_to_io=2.0)
    >>> cell.label, cell.most_running, cell.nodes_of(4)
    ('8x8 SP(4,1) MC', 4, 16)
    """

    mesh: Mesh
    shape: JobPlan
    policy: AbstractPolicy
    strategy: AbstractStrategy
    demand: PhaseType = field(default_factory=lambda: PhaseType.exponential(mean=1.0))
    disk: str = "buffer"
    disk_pace: float = DISK_PACE
    min_processors: int = 1

    def __post_init__(self) -> None:
        one_of("disk", self.disk, ("buffer", "ejection"))
        if self.mesh.depth != 1 or self.mesh.io_nodes.size == 0:
            raise ModelError("a cell needs a 2-D mesh with I/O nodes; give it an io_side")
        self.policy.check(self.system)
        if self.arrangement.sizes is not None:
            raise ModelError(f"{self.policy.label}: the trial knows partitions of one size only")
        whole = self.system.disks % self.policy_disks == 0
        if not whole or (not self.repartitioned and self.mesh.nodes % self.partitions):
            raise ModelError(
                f"{self.policy.label} on {self.mesh.nodes} nodes and {self.system.disks} disks: "
                f"the trial needs partitions of whole and equal sizes"
            )

    @classmethod
    def of(
        cls,
        *,
        rows: int,
        columns: int,
        policy: AbstractPolicy | str,
        policy_options: Mapping[str, Any] | None = None,
        strategy: AbstractStrategy | str,
        cpu_to_io: float,
        io_flits: float | None = None,
        exchange_share: float = 0.25,
        demand_scv: float = 1.0,
        phases: int = 5,
        packet: int = PACKET,
        io: str = "write",
        disk: str = "buffer",
        disk_pace: float = DISK_PACE,
        min_processors: int = 1,
        io_nodes: int | None = None,
    ) -> Cell:
        """A scenario from plain data, with an I/O node on every row or so many, evenly spaced.

        By default every node writes 32 flits to each disk in each phase of a job that has the
        whole machine. A policy is given as it is, or by its name and its options.
        """
        places = None
        if io_nodes is not None:
            if whole_number("io_nodes", io_nodes, least=1) > rows:
                raise ModelError(f"{io_nodes} I/O nodes do not fit on the west side of {rows} rows")
            places = [(2 * k + 1) * rows // (2 * io_nodes) for k in range(io_nodes)]
        mesh = Mesh(rows, columns, io_side="west", io_places=places)
        volume = 32.0 * mesh.nodes * mesh.io_nodes.size if io_flits is None else io_flits
        shape = JobPlan.of_ratio(
            mesh,
            cpu_to_io=cpu_to_io,
            io_flits=volume,
            exchange_share=exchange_share,
            disk_pace=disk_pace,
            phases=phases,
            packet=packet,
            io=io,
        )
        return cls(
            mesh=mesh,
            shape=shape,
            policy=find_policy(policy)(**policy_options or {}) if isinstance(policy, str) else policy,
            strategy=find_strategy(strategy),
            demand=match_moments(1.0, 1.0 + demand_scv),
            disk=disk,
            disk_pace=disk_pace,
            min_processors=min_processors,
        )

    @cached_property
    def _content(self) -> str:
        """All that makes up the cell as text; where a part has none, one that no other cell has."""
        try:
            return canonical(self)
        except PlainDataError:  # a strategy of the user's own that holds an open file, say
            return secrets.token_hex()

    def __eq__(self, other: object) -> bool:
        return self._content == other._content if isinstance(other, Cell) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def label(self) -> str:
        """Machine, policy and strategy."""
        return f"{self._place} {self.policy.label} {self.strategy.name}"

    @property
    def name(self) -> str:
        """Machine, policy and jobs: what a cell is called whatever its strategy."""
        parts = [
            self._place,
            self.policy.label,
            f"{self.cpu_to_io:g}:1",
            f"N={self.shape.phases}",
            f"scv={self.demand.scv:g}",
            self.shape.io,
        ]
        return " ".join([*parts, *([self.disk] if self.disk != "buffer" else [])])

    @property
    def _place(self) -> str:
        """Rows and columns, as names have them."""
        return f"{self.mesh.rows}x{self.mesh.columns}"

    @property
    def cpu_to_io(self) -> float:
        """How many times longer all nodes compute than all disks transfer, before the exchange."""
        on_disks = self.shape.io_flits * self.disk_pace / self.mesh.io_nodes.size
        return self.shape.cpu_cycles / self.mesh.nodes / on_disks if on_disks else math.inf

    @cached_property
    def system(self) -> System:
        """The machine as the models know it, in processors and disks."""
        return System(
            processors=self.mesh.nodes,
            disks=self.mesh.io_nodes.size,
            min_processors=self.min_processors,
        )

    @cached_property
    def arrangement(self) -> Arrangement:
        """Who may run where."""
        return self.policy.arrangement(self.system)

    @property
    def policy_disks(self) -> int:
        """K_D."""
        return self.arrangement.disk_partitions

    @property
    def partitions(self) -> int:
        """Processor partitions, at most."""
        return self.arrangement.processor_partitions

    @property
    def most_running(self) -> int:
        """The most jobs that run."""
        return self.arrangement.max_running

    @property
    def repartitioned(self) -> bool:
        """Whether all running jobs are placed anew when their number changes."""
        return self.arrangement.repartitioned

    def nodes_of(self, running: int) -> int:
        """Nodes of a job while so many run; under DP rounded down from P / running."""
        return self.mesh.nodes // (running if self.repartitioned else self.partitions)

    @cached_property
    def groups(self) -> tuple[Ints, ...]:
        """The I/O nodes of each disk partition, consecutive ones."""
        return tuple(np.split(self.mesh.io_nodes, self.policy_disks))

    def with_options(self, **changes: Any) -> Cell:
        """The same cell with some of its parts replaced."""
        return replace(self, **changes)
