"""`Machine`: a mesh, who is let in next, where, and what the network makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from phasefit.checks import instance_of, one_of, real_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.allocation import AbstractStrategy
from validation.allocation.base import find_strategy
from validation.jobs.disciplines import AbstractDiscipline, find_discipline
from validation.machine.traffic import AbstractJobTraffic, MixedTraffic
from validation.mesh import Mesh, Router

#: What decides how long a job holds its nodes, from the fastest to the most faithful.
NETWORKS: Final = ("none", "fluid", "worm")


@dataclass(frozen=True, eq=False, init=False)
class Machine(Record):
    """A space-shared machine: every job holds its nodes from its start to its end.

    Parameters
    ----------
    mesh : Mesh
        The place.
    strategy : AbstractStrategy or str
        Which nodes a job gets. A name, one of `STRATEGIES` or "module:Class", is looked up once:
        the attribute is the strategy itself.
    discipline : AbstractDiscipline or str
        Which job is tried next. A name in `QUEUE_DISCIPLINES` is looked up in the same way.
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
    strategy: AbstractStrategy
    discipline: AbstractDiscipline
    network: str
    traffic: AbstractJobTraffic | None  #: None if, and only if, there is no network
    router: Router | None
    disk_pace: float

    # Written out so that names may be given while the fields above keep their final types.
    def __init__(
        self,
        *,
        mesh: Mesh,
        strategy: AbstractStrategy | str = "MC-Elongated",
        discipline: AbstractDiscipline | str = "FCFS",
        network: str = "worm",
        traffic: AbstractJobTraffic | None = None,
        router: Router | None = None,
        disk_pace: float = 1.0,
    ) -> None:
        instance_of("mesh", mesh, Mesh)
        found_strategy, found_discipline = find_strategy(strategy), find_discipline(discipline)
        one_of("network", network, NETWORKS)
        if router is not None and not isinstance(router, Router):
            raise ModelError(f"router must be a Router, got {router!r:.60}")
        for name, value in (
            ("mesh", mesh),
            ("strategy", found_strategy),
            ("discipline", found_discipline),
            ("network", network),
            ("traffic", _checked_traffic(mesh, network, traffic)),
            ("router", router),
            ("disk_pace", real_number("disk_pace", disk_pace, least=1.0)),
        ):
            object.__setattr__(self, name, value)

    @property
    def label(self) -> str:
        """Strategy, discipline and network in short."""
        return f"{self.strategy.name}, {self.discipline.name}, {self.network}"


def _checked_traffic(
    mesh: Mesh, network: str, traffic: AbstractJobTraffic | None
) -> AbstractJobTraffic | None:
    """What jobs send over this network, filled in where it was left out."""
    if network == "none":
        if traffic is not None:
            raise ModelError("with network 'none' jobs send nothing; leave out traffic")
        return None
    if traffic is None:
        return MixedTraffic(0.5 if mesh.io_nodes.size else 0.0)
    if not isinstance(traffic, AbstractJobTraffic):
        raise ModelError(f"traffic must say what jobs send, got {traffic!r:.60}")
    for phase in traffic.of(mesh, mesh.nodes, 1.0).phases:
        phase.fits(mesh.nodes, mesh.io_nodes.size)
    return traffic
