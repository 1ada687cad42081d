"""What ends a job, behind one interface: its own demand, or the last of its messages."""

from __future__ import annotations

import abc
import heapq
from dataclasses import dataclass
from typing import final

from phasefit.arrays import Ints
from validation.machine.machine import Machine
from validation.machine.traffic import AbstractJobTraffic
from validation.mesh import FlowNetwork, Network


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that has ended, and what its messages went through; zeros without a network."""

    number: int
    messages: int = 0
    mean_latency: float = 0.0
    mean_network_latency: float = 0.0
    mean_blocking: float = 0.0


class AbstractLinks(abc.ABC):
    """Running jobs, from their start to their end."""

    @property
    @abc.abstractmethod
    def clock(self) -> float:
        """Now."""

    @abc.abstractmethod
    def start(self, number: int, nodes: Ints, size: int, demand: float) -> None:
        """Start a job now."""

    @abc.abstractmethod
    def advance(self, until: float | None) -> list[Ended]:
        """The jobs that end first, if that is before `until`; `clock` then shows when."""


@final
class DemandLinks(AbstractLinks):
    """Every job takes its demand, whatever the others do."""

    def __init__(self) -> None:
        self._clock = 0.0
        self._ends: list[tuple[float, int]] = []

    @property
    def clock(self) -> float:
        """See `AbstractLinks.clock`."""
        return self._clock

    def start(self, number: int, nodes: Ints, size: int, demand: float) -> None:
        """See `AbstractLinks.start`."""
        heapq.heappush(self._ends, (self._clock + demand, number))

    def advance(self, until: float | None) -> list[Ended]:
        """See `AbstractLinks.advance`."""
        if not self._ends or (until is not None and self._ends[0][0] >= until):
            self._clock = self._clock if until is None else until
            return []
        self._clock = self._ends[0][0]
        ended = []
        while self._ends and self._ends[0][0] == self._clock:
            ended.append(Ended(heapq.heappop(self._ends)[1]))
        return ended


@final
class MessageLinks(AbstractLinks):
    """A job ends when its last message has been delivered, by worms or by fluids."""

    def __init__(self, machine: Machine, traffic: AbstractJobTraffic, seed: int) -> None:
        self._mesh, self._traffic = machine.mesh, traffic
        make = Network if machine.network == "worm" else FlowNetwork
        self._network: Network | FlowNetwork = make(
            machine.mesh, machine.router, disk_pace=machine.disk_pace, seed=seed
        )
        self._whole = machine.network == "worm"

    @property
    def clock(self) -> float:
        """See `AbstractLinks.clock`."""
        return float(self._network.clock)

    def start(self, number: int, nodes: Ints, size: int, demand: float) -> None:
        """See `AbstractLinks.start`.

        The job's number says which random messages it draws, so that it sends the same under
        every strategy. Pages may hold more nodes than the job asked for; those stay silent.
        """
        members, traffic = self._traffic.placed(self._mesh, nodes[:size], demand)
        self._network.start(number, members, traffic, draw=number)

    def advance(self, until: float | None) -> list[Ended]:
        """See `AbstractLinks.advance`."""
        limit = int(until) if until is not None and self._whole else until
        return [
            Ended(
                int(str(done.job)),
                done.messages,
                done.mean_latency,
                done.mean_network_latency,
                done.mean_blocking,
            )
            for done in self._network.advance(limit)  # type: ignore[arg-type]
        ]


def links(machine: Machine, seed: int) -> AbstractLinks:
    """The links of a machine, nobody on them."""
    if machine.traffic is None:
        return DemandLinks()
    return MessageLinks(machine, machine.traffic, seed)
