"""What carries the bursts of the trial's machine: packets on links, or shares of a disk."""

from __future__ import annotations

import math
from typing import Any, Final

from phasefit.arrays import Ints
from phasefit.checks import one_of
from validation.mesh import Mesh, Network
from validation.mesh.traffic import Traffic
from validation.trial.scenario import Cell

#: How links are shared: by all jobs, each job having its own copy of them, or not scarce at all.
LINKS: Final = ("shared", "private", "infinite")


class Packets:
    """A network that carries the packets of the running jobs.

    With private links every job moves on a layer of its own, all of them alike, and the disks
    behind the layers are the same: what is left is contention inside a job, and at the disks.
    """

    def __init__(self, cell: Cell, links: str, seed: int) -> None:
        one_of("links", links, LINKS)
        self.cell, layers = cell, cell.most_running if links == "private" else 1
        mesh = cell.mesh
        if layers > 1:
            mesh = Mesh(mesh.rows, mesh.columns, depth=layers, io_side=mesh.io_side)
        where = mesh.router_coordinates[mesh.routers_of[mesh.io_nodes]]
        disks = where[:, 1] if cell.disk == "buffer" else None
        self._of_layer = [mesh.io_nodes[where[:, 2] == layer] for layer in range(layers)]
        self.free = list(range(layers))[::-1] if links == "private" else []
        self.network = Network(
            mesh,
            disk=cell.disk,
            disk_pace=cell.disk_pace,
            disks=disks,
            seed=seed,
            links="infinite" if links == "infinite" else "finite",
        )

    def start(self, name: Any, nodes: Ints, group: Ints, layer: int, traffic: Traffic, draw: int) -> None:
        """Begin a burst now."""
        io = self._of_layer[layer][group - self.cell.mesh.nodes]
        self.network.start(name, nodes + layer * self.cell.mesh.nodes, traffic, draw=draw, io_nodes=io)

    @staticmethod
    def number_of(name: Any) -> int:
        """The job that a burst belongs to, from the burst's name (job, serial number)."""
        return int(name[0])


class SharedDisks:
    """Disk partitions that serve all bursts at them at once, in equal shares of their speed."""

    def __init__(self, groups: int) -> None:
        self._left: list[dict[int, float]] = [{} for _ in range(groups)]
        self._seen = [0.0] * groups

    def start(self, job: int, group: int, cycles: float, now: float) -> None:
        """Begin a burst that takes so many cycles alone."""
        self._bring_up(group, now)
        self._left[group][job] = cycles

    def stop(self, job: int, group: int, now: float) -> float:
        """End a burst or interrupt it; returns the cycles that it would still take alone."""
        self._bring_up(group, now)
        return max(self._left[group].pop(job), 0.0)

    def next_end(self) -> tuple[float, int, int]:
        """When the next burst ends, at which group, and whose it is; infinite for none."""
        soonest, where, whose = math.inf, -1, -1
        for group, left in enumerate(self._left):
            if left:
                job = min(left, key=left.__getitem__)
                end = self._seen[group] + max(left[job], 0.0) * len(left)
                if end < soonest:
                    soonest, where, whose = end, group, job
        return soonest, where, whose

    def _bring_up(self, group: int, now: float) -> None:
        left = self._left[group]
        if left:
            each = (now - self._seen[group]) / len(left)
            for job in left:
                left[job] -= each
        self._seen[group] = now
