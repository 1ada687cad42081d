"""Fidelity 0: how many flits each channel has to carry, and the time that this alone takes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array, Ints
from phasefit.checks import instance_of
from phasefit.records import Result
from qmodels.errors import ModelError
from validation.mesh._kernels import routes
from validation.mesh.results import link_table
from validation.mesh.topology import Mesh
from validation.mesh.traffic import Expansion, Messages, Traffic, expand

if TYPE_CHECKING:
    import pandas as pd


#: A job as every fidelity takes it: its nodes in the order of their ranks, and its traffic.
Job = tuple[ArrayLike, Traffic]


@dataclass(frozen=True, eq=False, kw_only=True)
class LinkLoad(Result):
    """Flits per channel, and a time that no schedule of these messages can beat."""

    mesh: Mesh  #: of the channels
    flits: Ints  #: (channels,)
    bound: float  #: cycles: of the busiest wire, or of a job's phases one after the other
    messages: int  #: that were counted

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each link: its number, its ends and its flits."""
        return link_table(self.mesh, {"flits": self.flits})

    def plot(self, ax: Any = None) -> Any:
        """Draw the flits of each link in units of the bound; see `link_map`."""
        from validation.mesh.plotting import link_map

        return link_map(self.mesh, self.flits / max(self.bound, 1.0), ax=ax)

    @property
    def worst_link(self) -> int:
        """Number of the link (no injection, no ejection) with most flits, the first of equals."""
        links = self.flits[2 * self.mesh.routers :]
        return int(links.argmax()) + 2 * self.mesh.routers


def link_load(
    mesh: Mesh,
    traffic: Messages | Mapping[Hashable, Job],
    *,
    disk_pace: float = 1.0,
    seed: int = 0,
) -> LinkLoad:
    """Count the flits that each channel carries; nothing is simulated.

    Parameters
    ----------
    mesh : Mesh
        Where the messages travel.
    traffic : Messages or mapping
        A list, or for each job its nodes and its `Traffic`.
    disk_pace : float
        Cycles that an I/O node needs for each flit.
    seed : int
        Of the patterns that draw.

    Returns
    -------
    LinkLoad
        Flits of each channel, and a bound of the time.

    Raises
    ------
    ModelError
        If the traffic does not fit the mesh.

    Examples
    --------
    >>> from validation.mesh.traffic import TrafficPhase
    >>> mesh, write = Mesh(4, 4, io_side="west"), Traffic.of(TrafficPhase(pattern="write", flits=1))
    >>> block = link_load(mesh, {"job": (mesh.rectangle(0, 0, 2, 2), write)})
    >>> print(block.flits[block.worst_link], mesh.channel_name(block.worst_link))
    8 link (0, 0) -> I/O (0, -1)
    """
    pace = channel_pace(mesh, disk_pace)
    total = np.zeros(mesh.channels, np.int64)
    if isinstance(traffic, Messages):
        last = mesh.routers_of.size - 1
        worst = max(int(traffic.source.max()), int(traffic.destination.max()))
        if worst > last:
            raise ModelError(f"source and destination must be <= {last}, got {worst}")
        ends = mesh.routers_of[traffic.source], mesh.routers_of[traffic.destination]
        routes.add_loads(mesh.grid, *ends, traffic.flits, total)
        bound, messages = float((by_wire(mesh, total) * pace).max()), traffic.created.size
        return LinkLoad(mesh=mesh, flits=total, bound=bound, messages=messages)
    bound, messages = 0.0, 0
    for number, listed in enumerate(expanded_jobs(mesh, traffic, seed=seed)):
        plan = list(traffic.values())[number][1]
        alone = 0.0
        edges = np.searchsorted(listed.run, np.arange(plan.runs + 1))
        for run in range(plan.runs):
            part = slice(edges[run], edges[run + 1])
            loads = np.zeros_like(total)
            routes.add_loads(mesh.grid, listed.source[part], listed.target[part], listed.flits[part], loads)
            alone += plan.phases[run % len(plan.phases)].pause + float((by_wire(mesh, loads) * pace).max())
            total += loads
        bound = max(bound, alone)
        messages += listed.source.size
    bound = max(bound, float((by_wire(mesh, total) * pace).max()))
    return LinkLoad(mesh=mesh, flits=total, bound=bound, messages=messages)


def wires(mesh: Mesh) -> Ints:
    """Return for each channel the first of those that share its wire, (channels,).

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    """
    channels, ends, lanes = np.arange(mesh.channels), 2 * mesh.routers, mesh.virtual_channels or 1
    return np.where(channels < ends, channels, channels - (channels - ends) % lanes)


def by_wire(mesh: Mesh, flits: Ints) -> Ints:
    """Return the flits of every wire at its first channel, 0 at its others, (channels,).

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    flits : (channels,) ndarray of int
        Flits of each channel.
    """
    summed = np.zeros_like(flits)
    np.add.at(summed, wires(mesh), flits)
    return summed


def expanded_jobs(mesh: Mesh, jobs: Mapping[Hashable, Job], *, seed: int) -> list[Expansion]:
    """Return each job's messages, in the order of the jobs.

    Parameters
    ----------
    mesh : Mesh
        Where they travel.
    jobs : mapping
        For each job its nodes and its `Traffic`.
    seed : int
        Of the patterns that draw.

    Raises
    ------
    ModelError
        If an argument is no such thing.
    """
    instance_of("mesh", mesh, Mesh)
    if not isinstance(jobs, Mapping) or not jobs:
        raise ModelError(f"jobs must map names to (nodes, Traffic), at least one; got {jobs!r:.60}")
    listed = []
    for number, (name, job) in enumerate(jobs.items()):
        if not isinstance(job, tuple) or len(job) != 2 or not isinstance(job[1], Traffic):
            raise ModelError(f"job {name!r:.40} must be (nodes, Traffic), got {job!r:.60}")
        listed.append(expand(mesh, job[0], job[1], seed=seed, job=number))
    return listed


def channel_pace(mesh: Mesh, disk_pace: float) -> Array:
    """Return the cycles per flit of every channel: those of I/O nodes are as slow as their disks.

    Parameters
    ----------
    mesh : Mesh
        The mesh.
    disk_pace : float
        Cycles that an I/O node needs for each flit.
    """
    pace = np.ones(mesh.channels)
    routers = mesh.routers_of[mesh.io_nodes]
    pace[routers] = pace[mesh.routers + routers] = disk_pace
    return pace
