"""`contend`: one description of traffic, three fidelities."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of, real_number, whole_number
from phasefit.records import Result
from qmodels.errors import ModelError
from validation.mesh.fluid import fluid
from validation.mesh.link_load import Job, link_load
from validation.mesh.results import Completion, link_table, named_lines
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.wormhole import Network

if TYPE_CHECKING:
    import pandas as pd


#: Fidelities, from the fastest to the most faithful.
FIDELITIES: Final = ("static", "fluid", "worm")


@dataclass(frozen=True, eq=False, kw_only=True)
class Contention(Result):
    """Effect of the network on some jobs. Times are cycles; one cycle moves a flit over a link."""

    mesh: Mesh = field(repr=False)  #: where the jobs ran
    fidelity: str  #: "static", "fluid" or "worm"
    makespan: float  #: until the last message has been delivered; with "static" a lower bound
    messages: int  #: of all jobs
    mean_latency: float | None  #: of a message, from its source's turn; None with "static"
    mean_blocking: float | None  #: of that, waiting for channels; "worm" only
    channel_flits: Ints = field(repr=False)  #: (channels,)
    completions: tuple[Completion, ...] = field(repr=False)  #: "worm" only

    @property
    def utilisation(self) -> Array:
        """Flits per cycle of every channel, (channels,)."""
        return self.channel_flits / max(self.makespan, 1.0)

    @property
    def worst_link(self) -> int:
        """Number of the busiest link."""
        links = self.channel_flits[2 * self.mesh.routers :]
        return int(links.argmax()) + 2 * self.mesh.routers

    @property
    def _worst_name(self) -> str | None:
        """The busiest link by name; None where no link carried anything."""
        worst = self.worst_link
        return self.mesh.channel_name(worst) if self.channel_flits[worst] else None

    def record(self) -> dict[str, Any]:
        """Return means, the busiest link and the response of every job."""
        return {
            "fidelity": self.fidelity,
            "makespan": self.makespan,
            "messages": self.messages,
            "mean_latency": self.mean_latency,
            "mean_blocking": self.mean_blocking,
            "worst_link": self._worst_name,
            "worst_utilisation": float(self.utilisation[self.worst_link]),
            "jobs": {str(job.job): job.response for job in self.completions},
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each link: its number, its ends, its flits and its utilisation."""
        columns = {"flits": self.channel_flits, "utilisation": self.utilisation}
        return link_table(self.mesh, columns)

    def table(self) -> str:
        """Return name and value as text, one to a line."""
        rows: list[tuple[str, Any]] = [
            ("fidelity", self.fidelity),
            ("makespan", self.makespan),
            ("messages", self.messages),
            ("mean_latency", self.mean_latency),
            ("mean_blocking", self.mean_blocking),
            ("worst_link", self._worst_name),
            ("worst_link_flits", int(self.channel_flits[self.worst_link])),
            ("worst_utilisation", float(self.utilisation[self.worst_link])),
        ]
        return named_lines((row for row in rows if row[1] is not None), 18)

    def plot(self, ax: Any = None) -> Any:
        """Draw the link map; see `validation.mesh.plotting.link_map`."""
        from validation.mesh.plotting import link_map

        return link_map(self.mesh, self.utilisation, ax=ax)


def contend(
    mesh: Mesh,
    jobs: Mapping[Hashable, Job],
    *,
    fidelity: str = "worm",
    router: Router | None = None,
    disk_pace: float = 1.0,
    seed: int = 0,
) -> Contention:
    """Let jobs that all start at 0 contend for the links.

    Parameters
    ----------
    mesh : Mesh
        Where the jobs run.
    jobs : mapping
        For each job its nodes, in the order of their ranks, and its `Traffic`.
    fidelity : {"static", "fluid", "worm"}
        Link loads alone; max-min fair fluids; worms, see `Network`.
    router : Router
        For "worm"; by default the ideal one.
    disk_pace : float
        Cycles that an I/O node needs for each flit.
    seed : int
        Root of all randomness; every fidelity draws the same messages.

    Returns
    -------
    Contention
        Responses of the jobs and use of the links.

    Raises
    ------
    ModelError
        If an argument is out of range or a job cannot send its traffic on this mesh.

    Examples
    --------
    >>> from validation.mesh import TrafficPhase, Traffic
    >>> mesh = Mesh(8, 8)
    >>> jobs = {"a": (range(16), Traffic.of(TrafficPhase(pattern="all-to-all", flits=64)))}
    >>> [round(contend(mesh, jobs, fidelity=f).makespan) for f in ("static", "fluid", "worm")]
    [2048, 2112, 3068]
    """
    one_of("fidelity", fidelity, FIDELITIES)
    if not isinstance(jobs, Mapping) or not jobs:
        raise ModelError(f"jobs must map names to (nodes, Traffic), at least one; got {jobs!r:.60}")
    pace = real_number("disk_pace", disk_pace, least=1.0)
    seed = whole_number("seed", seed, least=0)
    listed = {name: _job_record(name, job) for name, job in jobs.items()}
    if fidelity == "worm":
        return _contention_of_worms(mesh, listed, router, pace, seed)
    load = link_load(mesh, listed, disk_pace=pace, seed=seed)
    latency, makespan = None, load.bound
    if fidelity == "fluid":
        run = fluid(mesh, listed, disk_pace=pace, seed=seed)
        latency, makespan = run.mean_latency, max(run.finish.values())
    return Contention(
        mesh=mesh,
        fidelity=fidelity,
        makespan=makespan,
        messages=load.messages,
        mean_latency=latency,
        mean_blocking=None,
        channel_flits=load.flits,
        completions=(),
    )


def _job_record(name: Hashable, job: Any) -> Job:
    if not isinstance(job, tuple) or len(job) != 2:
        raise ModelError(f"job {name!r:.40} must be (nodes, Traffic), got {job!r:.60}")
    nodes = list(job[0]) if isinstance(job[0], range) else job[0]
    return nodes, job[1]


def _contention_of_worms(
    mesh: Mesh, jobs: dict[Hashable, Job], router: Router | None, pace: float, seed: int
) -> Contention:
    network = Network(mesh, router, disk_pace=pace, seed=seed)
    for name, (nodes, traffic) in jobs.items():
        network.start(name, nodes, traffic)
    done: list[Completion] = []
    while network.jobs:
        done += network.advance()
    messages = sum(job.messages for job in done)

    def mean(name: str) -> float:
        total = sum(float(getattr(job, name)) * job.messages for job in done)
        return total / max(messages, 1)

    return Contention(
        mesh=mesh,
        fidelity="worm",
        makespan=float(max(job.finish for job in done)),
        messages=messages,
        mean_latency=mean("mean_latency"),
        mean_blocking=mean("mean_blocking"),
        channel_flits=network.channel_use().flits,
        completions=tuple(done),
    )
