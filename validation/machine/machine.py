"""`Machine`: a mesh, who is let in next, where, and what the network makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from phasefit.checks import one_of, real_number
from qmodels.errors import ModelError
from validation.allocation import AbstractStrategy, load_strategy
from validation.machine.disciplines import AbstractDiscipline, find_discipline
from validation.machine.traffic import AbstractJobTraffic, MixedTraffic
from validation.mesh import Mesh, Router

#: What decides how long a job holds its nodes, from the fastest to the most faithful.
NETWORKS: Final = ("none", "fluid", "worm")


@dataclass(frozen=True, eq=False, kw_only=True)
class Machine:
    """A space-shared machine: every job holds its nodes from its start to its end.

    Parameters
    ----------
    mesh : Mesh
        The place; jobs that hold its nodes already play no part.
    strategy : AbstractStrategy or str
        Which nodes a job gets, or its name: one of `STRATEGIES` or "module:Class".
    discipline : AbstractDiscipline or str
        Which job is tried next, or its name in `DISCIPLINES`.
    network : {"none", "fluid", "worm"}
        What ends a job. "none": its own demand. "worm": the delivery of its last message, worm by
        worm (see `validation.mesh.Network`). "fluid": the same with fluids that share the links
        (see `validation.mesh.FlowNetwork`), faster and less faithful.
    traffic : AbstractJobTraffic, optional
        What jobs send; by default `MixedTraffic`, half of it I/O where the mesh has I/O nodes.
        None with ``network="none"``.
    router : Router, optional
        Delays of the routers; by default the ideal ones.
    disk_pace : float
        Cycles that an I/O node needs for each flit.

    Raises
    ------
    ModelError
        If that describes no machine.

    Examples
    --------
    >>> machine = Machine(mesh=Mesh(16, 22, io_side="west"), strategy="MC-Elongated")
    >>> machine.label
    'MC-Elongated, FCFS, worm'
    """

    mesh: Mesh
    strategy: AbstractStrategy | str = "MC-Elongated"
    discipline: AbstractDiscipline | str = "FCFS"
    network: str = "worm"
    traffic: AbstractJobTraffic | None = None
    router: Router | None = None
    disk_pace: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.mesh, Mesh):
            raise ModelError(f"mesh must be a Mesh, got {self.mesh!r:.60}")
        if not isinstance(self.strategy, AbstractStrategy):
            object.__setattr__(self, "strategy", _made(self.strategy))
        object.__setattr__(self, "discipline", find_discipline(self.discipline))
        one_of("network", self.network, NETWORKS)
        if self.router is not None and not isinstance(self.router, Router):
            raise ModelError(f"router must be a Router, got {self.router!r:.60}")
        pace = real_number("disk_pace", self.disk_pace, least=1.0)
        object.__setattr__(self, "disk_pace", pace)
        traffic = self.traffic
        if self.network == "none":
            if traffic is not None:
                raise ModelError("with network 'none' jobs send nothing; leave out traffic")
        elif traffic is None:
            share = 0.5 if self.mesh.io_nodes.size else 0.0
            object.__setattr__(self, "traffic", MixedTraffic(share))
        elif not isinstance(traffic, AbstractJobTraffic):
            raise ModelError(f"traffic must say what jobs send, got {traffic!r:.60}")
        else:
            for phase in traffic.of(self.mesh, self.mesh.nodes, 1.0).phases:
                phase.fits(self.mesh.nodes, self.mesh.io_nodes.size)

    @property
    def label(self) -> str:
        """Strategy, discipline and network in short."""
        assert isinstance(self.strategy, AbstractStrategy)
        assert isinstance(self.discipline, AbstractDiscipline)
        return f"{self.strategy.name}, {self.discipline.name}, {self.network}"


def _made(name: str) -> AbstractStrategy:
    strategy = load_strategy(name)
    try:
        return strategy()
    except TypeError as error:
        raise ModelError(
            f"strategy {name!r:.80} cannot be made without arguments ({error}); make it and give "
            "it as it is"
        ) from error
