"""How long the bursts of a job take when nothing else moves: measured alone on the mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit import PhaseType, match_moments
from phasefit.arrays import Array, Ints
from phasefit.checks import one_of
from qmodels.policies import Workload
from qmodels.programs import AbstractProgram
from validation.allocation import Request
from validation.allocation.base import answer
from validation.analysis.seeding import stream, word
from validation.mesh import Network, Occupancy
from validation.mesh.traffic import Traffic
from validation.mesh.wormhole import LINKS
from validation.trial.scenario import Cell

#: Demands at which a burst is measured; between and beyond them it is taken as a straight line.
DEMANDS: Final = (0.5, 2.0)
#: Placements measured for each number of silent jobs.
PLACEMENTS: Final = 4


@dataclass(frozen=True)
class Line:
    """A time that grows with demand: ``fixed + slope * demand`` cycles."""

    fixed: float
    slope: float

    def at(self, demand: float) -> float:
        """Cycles at a demand, at least 0."""
        return max(self.fixed + self.slope * demand, 0.0)


@dataclass(frozen=True)
class Alone:
    """Bursts of one phase of a job that has the links and its disks for itself."""

    io: Line
    cpu: Line  #: computation with its exchange

    def job(self, phases: int, demand: float = 1.0) -> float:
        """Cycles of a whole job of so many phases."""
        return phases * (self.io.at(demand) + self.cpu.at(demand))


@lru_cache(maxsize=256)  # four numbers each
def alone(cell: Cell, running: int, links: str = "finite", seed: int = 0) -> Alone:
    """Measure the bursts of a job alone, as one of `running` by its size and its place.

    Parameters
    ----------
    cell : Cell
    running : int
        Jobs that hold nodes, itself included, when its size is chosen; under SP and TS sizes do
        not depend on it.
    links : {"finite", "infinite"}
        See `validation.mesh.Network`.
    seed : int
        Of the placements.

    Returns
    -------
    Alone
        Means over placements beside 0, 1, ... silent jobs, as many as can run beside it, and over
        the disk groups: on an empty machine a strategy would always show its best columns.
    """
    one_of("links", links, LINKS)
    nodes = cell.nodes_of(running)
    places = [np.arange(nodes)] if links == "infinite" else _placements(cell, running, seed)
    network = Network(
        cell.mesh,
        disk=cell.disk,
        disk_pace=cell.disk_pace,
        links=links,
        seed=word(seed, "alone", running),
    )
    times = np.zeros((2, len(DEMANDS)))
    for number, held in enumerate(places):
        group = cell.groups[number % len(cell.groups)]
        for at, demand in enumerate(DEMANDS):
            io = cell.shape.transfer(cell.shape.io_flits * demand, nodes, group.size)
            times[0, at] += _lasts(network, held, group, io)
            talk = cell.shape.exchange(cell.shape.exchange_flits * demand, nodes)
            times[1, at] += demand * cell.shape.cpu_cycles / nodes
            times[1, at] += _lasts(network, held, group, talk)
    return Alone(*(_line(row / len(places)) for row in times))


def _lasts(network: Network, nodes: Ints, group: Ints, traffic: Traffic | None) -> float:
    if traffic is None:
        return 0.0
    began = network.clock
    network.start("job", nodes, traffic, io_nodes=group)
    network.advance()
    return float(network.clock - began)


def _line(times: Array) -> Line:
    slope = float((times[1] - times[0]) / (DEMANDS[1] - DEMANDS[0]))
    return Line(float(times[0]) - slope * DEMANDS[0], slope)


def _placements(cell: Cell, running: int, seed: int) -> list[Ints]:
    """Where the strategy places a job beside silent ones, some of which have left since."""
    most = running if cell.repartitioned else cell.partitions
    rng = stream(seed, "placements", running)
    strategy, request = cell.strategy.fresh(rng), Request(cell.nodes_of(running))
    found = []
    for silent in range(most):
        for _ in range(PLACEMENTS):
            held = Occupancy(cell.mesh)
            for job in range(most):
                nodes = answer(strategy, held, request)
                if nodes is None:
                    break
                held.occupy(job, nodes)
            there = rng.permutation(len(held.jobs))
            for job in there[silent:].tolist():
                held.release(job)
            nodes = answer(strategy, held, request)
            if nodes is not None:
                found.append(nodes)
    return found


@dataclass(frozen=True, eq=False)
class MeasuredProgram(AbstractProgram):
    """The job of a cell with bursts as measured alone, and linear scaling where none was measured.

    Seconds are cycles. Allotments that were not measured serve only to say what *load* means.
    """

    cell: Cell
    links: str = "finite"
    seed: int = 0
    name: str = "measured"

    @property
    def mean_phases(self) -> float:
        """See `AbstractProgram.mean_phases`."""
        return float(self.cell.shape.phases)

    @property
    def method(self) -> str:
        """See `AbstractProgram.method`."""
        return "exact"

    def parallel_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.parallel_io`."""
        return self._totals(0, p, d)

    def parallel_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.parallel_cpu`."""
        return self._totals(1, p, d)

    def sequential_io(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.sequential_io`."""
        return np.zeros(np.broadcast(p, d).shape)[()]

    def sequential_cpu(self, p: ArrayLike, d: ArrayLike) -> Array:
        """See `AbstractProgram.sequential_cpu`."""
        return np.zeros(np.broadcast(p, d).shape)[()]

    def phase_times(self, p: float, d: float) -> tuple[Array, Array]:
        """See `AbstractProgram.phase_times`."""
        each = np.ones(self.cell.shape.phases)
        io, cpu = self._phase(float(p), float(d))
        return io * each, cpu * each

    def _totals(self, kind: int, p: ArrayLike, d: ArrayLike) -> Array:
        p, d = np.broadcast_arrays(np.asarray(p, float), np.asarray(d, float))
        points = zip(p.ravel().tolist(), d.ravel().tolist(), strict=True)
        found = [self._phase(*at)[kind] for at in points]
        return np.asarray(self.cell.shape.phases * np.array(found).reshape(p.shape))[()]

    def _phase(self, p: float, d: float) -> tuple[float, float]:
        """I/O and computation of one phase, cycles."""
        cell, nodes = self.cell, self.cell.mesh.nodes
        running = round(nodes / p) if cell.repartitioned else cell.partitions
        measured = 1 <= running <= cell.partitions and abs(nodes / running - p) < 1e-9
        if measured and d == cell.arrangement.disks:
            bursts = alone(cell, running, self.links, self.seed)
            return bursts.io.at(1.0), bursts.cpu.at(1.0)
        return cell.shape.io_flits * cell.disk_pace / d, cell.shape.cpu_cycles / p


def demand_of(cell: Cell, bursts: Alone) -> PhaseType:
    """Law of a job's time alone, of mean one, matched to its scv.

    With T = a + b X it varies less than the factor X does; bursts add nothing, being fixed by X.
    """
    fixed, slope = bursts.io.fixed + bursts.cpu.fixed, bursts.io.slope + bursts.cpu.slope
    scv = cell.demand.scv * (slope / (fixed + slope)) ** 2
    if abs(scv - cell.demand.scv) < 1e-9:
        return cell.demand
    return match_moments(1.0, 1.0 + scv)


def workload(cell: Cell, links: str = "finite", seed: int = 0) -> Workload:
    """The jobs of a cell as the models are given them."""
    bursts = alone(cell, cell.partitions, links, seed)
    return Workload(MeasuredProgram(cell, links, seed), demand=demand_of(cell, bursts))
