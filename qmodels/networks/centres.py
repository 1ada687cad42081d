"""The two centres of a closed network, as its solvers take them: sizes, states and rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array
from qmodels.networks.occupancy import (
    Centre,
    NetworkChain,
    assembled,
    sharing_centre,
    stack_centre,
    waiting_centre,
)
from qmodels.networks.sizes import network_size, tagged_size


@dataclass(frozen=True, eq=False)
class TwoCentres:
    """A delay and a disk queue with a fixed number of jobs; arguments were checked before.

    `ClosedNetwork` solves it and `ClosedSolution` follows a job through it. Both build on this
    record, so neither file needs the other's.
    """

    population: int  #: number of jobs
    delay: PhaseType  #: in its essential phases
    disk: PhaseType  #: in its essential phases
    discipline: str  #: of the disk, as in `ClosedNetwork`
    servers: int  #: of the disk

    def size(self) -> tuple[float, float]:
        """Return the states of the exact chain, and the bytes to build and to solve it."""
        return network_size(self.disk, self.delay, self.population, self.discipline, self.servers)

    def tagged_size(self) -> tuple[float, float]:
        """Return the states of the chain that follows one job, and the bytes to build and to solve it."""
        return tagged_size(self.disk, self.delay, self.population, self.discipline, self.servers)

    def speeds(self) -> Array:
        """Return the speed of each job while 0, 1, ... are at the disk under processor sharing."""
        present = np.arange(self.population + 1)
        return np.asarray(np.minimum(present, self.servers) / np.maximum(present, 1))

    def disk_centre(self) -> Centre:
        """Return the disk under its discipline, as a chain of its own."""
        jobs = self.population
        if self.discipline == "ps":
            return sharing_centre(self.disk, jobs, self.speeds())
        if self.discipline == "lcfs-pr":
            return stack_centre(self.disk, jobs)
        return waiting_centre(self.disk, jobs, self.servers)

    def delay_centre(self) -> Centre:
        """Return the delay, where every job is served at once, as a chain of its own."""
        return sharing_centre(self.delay, self.population, np.ones(self.population + 1))

    def chain(self) -> NetworkChain:
        """Return the exact chain of both centres."""
        return assembled(self.disk_centre(), self.delay_centre(), self.population)
