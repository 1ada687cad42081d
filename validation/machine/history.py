"""`History`: what happened to every job of one run, and what that says of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from phasefit.arrays import Array, Ints
from phasefit.checks import real_vector
from phasefit.records import Result
from validation.mesh import Mesh, Occupancy

if TYPE_CHECKING:
    import pandas as pd


#: What `History.summary` tells, and in which unit; "T" is the unit of the job stream.
QUANTITIES: Final[Mapping[str, str]] = {
    "service": "T",
    "turnaround": "T",
    "wait": "T",
    "slowdown": "1",
    "utilisation": "1",
    "throughput": "1/T",
    "makespan": "T",
    "queue": "jobs",
    "contention": "1",
    "nodes_affected": "nodes",
    "dispersal": "1",
    "job_balance": "nodes",
    "system_balance": "nodes",
    "completed": "jobs",
    "rejected": "jobs",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class History(Result):
    """One run of a machine. Times are in the unit of the job stream.

    Arrays have one entry for each job, in order of arrival; those of jobs that did not start or
    did not end hold NaN (times) or zero.
    """

    mesh: Mesh = field(repr=False)  #: the place
    label: str  #: strategy, discipline and network
    unit: str  #: of time: "cycles" with a network, "s" without
    arrival: Array = field(repr=False)
    start: Array = field(repr=False)
    finish: Array = field(repr=False)
    size: Ints = field(repr=False)  #: nodes asked for
    rejected: NDArray[np.bool_] = field(repr=False)  #: more than the empty machine could give
    nodes: tuple[Ints, ...] = field(repr=False)  #: held by each job; empty if it never started
    messages: Ints = field(repr=False)
    latency: Array = field(repr=False)  #: mean of a job's messages, from making to delivery
    network_latency: Array = field(repr=False)  #: the same from injection
    blocking: Array = field(repr=False)  #: mean time that a message's header waited for channels
    affected: Ints = field(repr=False)  #: nodes in the rectangle that encloses each job
    balance: Ints = field(repr=False)  #: of each job; 0 on 3-D meshes
    busy_time: float  #: node-time held by jobs
    balance_time: float  #: system balance, integrated over time
    queue_time: float  #: waiting jobs, integrated over time
    end: float  #: when the run ended

    @property
    def completed(self) -> NDArray[np.bool_]:
        """Which jobs ended, (n,)."""
        return np.isfinite(self.finish)

    @property
    def service(self) -> Array:
        """From start to finish, (completed,)."""
        return (self.finish - self.start)[self.completed]

    @property
    def turnaround(self) -> Array:
        """From arrival to finish, (completed,)."""
        return (self.finish - self.arrival)[self.completed]

    @property
    def slowdown(self) -> Array:
        """Turnaround over service, the service at least one unit of time, (completed,)."""
        return np.maximum(self.turnaround / np.maximum(self.service, 1.0), 1.0)

    @property
    def mean_running(self) -> float:
        """Mean number of jobs that hold nodes, over the time of `summary`; of those completed."""
        span = max(self.end - float(self.arrival.min()), 1e-300)
        return float(self.service.sum()) / span

    @property
    def makespan(self) -> float:
        """From the first arrival to the last finish."""
        done = self.completed
        return float(self.finish[done].max() - self.arrival.min()) if done.any() else 0.0

    @cached_property
    def summary(self) -> dict[str, float]:
        """Means of this run by name, see `QUANTITIES`.

        Utilisation, queue and system balance are averages over the time from the first arrival to
        the end; the others over the completed jobs. "contention" is the share of the messages'
        time in the network that their headers spent waiting for channels.
        """
        done = self.completed
        span = max(self.end - float(self.arrival.min()), 1e-300)
        count = int(done.sum())

        def mean(values: Any) -> float:
            return float(np.mean(values)) if count else 0.0

        travelled = float((self.network_latency * self.messages)[done].sum())
        waited = float((self.blocking * self.messages)[done].sum())
        held = np.array([nodes.size for nodes in self.nodes])[done]
        return {
            "service": mean(self.service),
            "turnaround": mean(self.turnaround),
            "wait": mean((self.start - self.arrival)[done]),
            "slowdown": mean(self.slowdown),
            "utilisation": self.busy_time / (span * self.mesh.nodes),
            "throughput": count / span,
            "makespan": self.makespan,
            "queue": self.queue_time / span,
            "contention": waited / travelled if travelled > 0 else 0.0,
            "nodes_affected": mean(self.affected[done]),
            "dispersal": mean(1.0 - held / np.maximum(self.affected[done], 1)),
            "job_balance": mean(self.balance[done]),
            "system_balance": self.balance_time / span,
            "completed": float(count),
            "rejected": float(self.rejected.sum()),
        }

    def record(self) -> dict[str, Any]:
        """What the run came to; its jobs are in `to_frame`."""
        return {"label": self.label, "unit": self.unit} | self.summary

    def plot(self, ax: Any = None) -> Any:
        """Draw who ran when; see `validation.machine.plotting.gantt`."""
        from validation.machine.plotting import gantt

        return gantt(self, ax=ax)

    def table(self) -> str:
        """Name, value and unit, one to a line."""
        units = (unit.replace("T", self.unit) for unit in QUANTITIES.values())
        return "\n".join(
            f"{name:<16} {value:<12.6g} {'' if unit == '1' else unit}".rstrip()
            for (name, value), unit in zip(self.summary.items(), units, strict=True)
        )

    def to_frame(self) -> pd.DataFrame:
        """One row for each job; times in the unit of the stream."""
        import pandas as pd

        names = [f.name for f in fields(self) if getattr(self, f.name) is not None]
        per_job = {name: getattr(self, name) for name in names if isinstance(getattr(self, name), np.ndarray)}
        return pd.DataFrame(per_job).rename_axis("job").reset_index()

    def mesh_at(self, times: ArrayLike) -> list[Occupancy]:
        """Who held which nodes of the mesh at some times; jobs have their numbers as names.

        Parameters
        ----------
        times : (k,) array_like
            In the unit of the stream; a job that ends at a time is gone by then.

        Returns
        -------
        list of Occupancy
        """
        found = []
        for time in real_vector("times", times).tolist():
            occupancy = Occupancy(self.mesh)
            with np.errstate(invalid="ignore"):
                here = (self.start <= time) & ~(self.finish <= time)
            for job in np.flatnonzero(here).tolist():
                occupancy.occupy(job, self.nodes[job])
            found.append(occupancy)
        return found
