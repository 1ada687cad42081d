"""The machine and the tasks of Liu, Hsu and Wu, and what we chose where the paper is silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

from validation.allocation import (
    BT,
    DBT,
    MBS,
    PLAS,
    SBT,
    AbstractStrategy,
    DependentBT,
    DependentDBT,
    DependentSBT,
    IndependentBT,
    IndependentDBT,
    IndependentSBT,
)
from validation.jobs import BatchStreams
from validation.machine import Alternating, Machine
from validation.mesh import Mesh, Router

ROWS, COLUMNS = 16, 16
#: Bandwidth of a link and writing speed of a disk, 10^6 bytes per second.
LINK, DISK = 11.65, 4.545
TASKS, MEAN_SIZE = 16, 16.0
#: Imbalance tolerated by SBT, processors; by DBT, as a share of the rectangle.
TOLERANCES: Final = (4, 16, 64, 256)
RATIOS: Final = (Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2))
#: Runs of each case in the paper.
RUNS: Final = 1000
#: Not in the paper: communications before the I/O, and bytes of every message.
COMMUNICATIONS: Final = (0, 1, 2, 4, 8, 16)
MESSAGE: Final = 64_000
#: Where communication begins to weigh more than I/O, in communications.
MUCH: Final = 4
IDEAL: Final = Router()


@dataclass(frozen=True)
class Choices:
    """What the paper leaves open, each with what we take.

    Messages have 64 flits of 1 kB, about what an Ethernet frame carries: the unit that a switch
    passes on, so one cycle for each hop is the time of one frame. Messages of I/O and of
    communication are equally long; that disks are slower is their pace. A longer message makes
    hops cheaper and else changes the unit of time only.
    """

    flits: int = 64
    pattern: str = "all-to-all"
    router: Router = IDEAL
    network: str = "worm"
    #: Milliseconds that a disk needs for each message beyond writing it.
    disk_delay: float = 0.0
    io: str = "write"
    #: Round which piece the dependent strategies place later ones.
    anchor: str = "first"

    @property
    def cycle(self) -> float:
        """Seconds in which a link carries one flit."""
        return MESSAGE / self.flits / (LINK * 1e6)

    @property
    def disk_pace(self) -> float:
        """Cycles that an I/O node takes for each flit."""
        writing = MESSAGE / (DISK * 1e6)
        return LINK / DISK * (1.0 + self.disk_delay * 1e-3 / writing)


class Variant(NamedTuple):
    """An algorithm with its parameter."""

    algorithm: str
    parameter: str  #: "" where it has none

    @property
    def label(self) -> str:
        """As the paper would write it."""
        return f"{self.algorithm}({self.parameter})" if self.parameter else self.algorithm


_PLAIN: Final[Mapping[str, Callable[[], AbstractStrategy]]] = {
    "BT": BT,
    "ind-BT": IndependentBT,
    "MBS": MBS,
    "PLAS": PLAS,
}
_STATIC: Final[Mapping[str, Callable[[float], AbstractStrategy]]] = {
    "SBT": SBT,
    "ind-SBT": IndependentSBT,
}
_DYNAMIC: Final[Mapping[str, Callable[[float], AbstractStrategy]]] = {
    "DBT": DBT,
    "ind-DBT": IndependentDBT,
}


def variants(*algorithms: str) -> list[Variant]:
    """Every algorithm with each of its parameters."""
    found = []
    for name in algorithms:
        kind = name.rpartition("-")[2]
        values = {"SBT": TOLERANCES, "DBT": RATIOS}.get(kind, ("",))
        found += [Variant(name, str(value)) for value in values]
    return found


def strategy(variant: Variant, choices: Choices) -> AbstractStrategy:
    """The strategy of a variant."""
    name, value = variant.algorithm, variant.parameter
    if name in _PLAIN:
        return _PLAIN[name]()
    if name in _STATIC:
        return _STATIC[name](float(value))
    if name in _DYNAMIC:
        return _DYNAMIC[name](float(Fraction(value)))
    anchor = choices.anchor
    if name == "d-BT":
        return DependentBT(anchor=anchor)  # type: ignore[arg-type]
    if name == "d-SBT":
        return DependentSBT(alpha=float(value), anchor=anchor)  # type: ignore[arg-type]
    return DependentDBT(ratio=float(Fraction(value)), anchor=anchor)  # type: ignore[arg-type]


def machine(variant: Variant, communications: int, choices: Choices) -> Machine:
    """The mesh with 16 I/O nodes in the west; tasks communicate, then write once."""
    return Machine(
        mesh=Mesh(ROWS, COLUMNS, io_side="west"),
        strategy=strategy(variant, choices),
        discipline="FCFS",
        network=choices.network,
        traffic=Alternating(
            communications=communications,
            pattern=choices.pattern,
            io=choices.io,
            flits=choices.flits,
            io_flits=choices.flits,
        ),
        router=choices.router,
        disk_pace=choices.disk_pace,
    )


def tasks() -> BatchStreams:
    """Sixteen tasks at time 0; an exponential law of mean 16, rounded up, at most the mesh."""
    return BatchStreams(jobs=TASKS, mean_size=MEAN_SIZE, largest=ROWS * COLUMNS)
