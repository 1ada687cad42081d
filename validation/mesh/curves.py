"""Latency against load: messages made at random times, up to saturation and beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phasefit.checks import positive_vector, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from validation.mesh.router import Router
from validation.mesh.topology import Mesh
from validation.mesh.traffic import Traffic, TrafficPhase
from validation.mesh.wormhole import Network


@dataclass(frozen=True, kw_only=True)
class LoadPoint(Record):
    """One offered load. Loads are flits per node and cycle, times cycles."""

    offered: float  #: load that was made
    accepted: float  #: delivered within the window
    mean_latency: float  #: from a message's making to its delivery, its wait at the source included
    mean_network_latency: float  #: from its injection
    messages: int  #: measured


def latency_curve(
    mesh: Mesh,
    loads: Sequence[float],
    *,
    flits: int = 8,
    targets: ArrayLike | None = None,
    router: Router | None = None,
    warm_up: int = 5_000,
    window: int = 20_000,
    seed: int = 0,
) -> list[LoadPoint]:
    """Return the mean latency of messages that every node makes at random times for random nodes.

    Parameters
    ----------
    mesh : Mesh
        Where the messages travel.
    loads : sequence of float
        Flits that each node makes per cycle; at most 1.
    flits : int
        Length of a message.
    targets : (k,) array_like of int
        Nodes among which destinations are drawn, senders not excluded; by default all.
    router : Router
        By default `Router.pipelined`.
    warm_up, window : int
        Cycles before the measurement and of it. Messages made in the window count; others keep
        coming until the last of them has been delivered.
    seed : int
        Root of all randomness.

    Returns
    -------
    list of LoadPoint
        One for each load.

    Raises
    ------
    ModelError
        If an argument is out of range.

    Notes
    -----
    A node makes a message in each cycle with probability load / flits. Beyond saturation the
    latency grows with the window and means nothing; `accepted` is then the throughput.

    Examples
    --------
    >>> low, high = latency_curve(Mesh(4, 4), [0.01, 0.2], window=2000, warm_up=500)
    >>> low.mean_latency < high.mean_latency
    True
    """
    offered = positive_vector("loads", np.asarray(loads))
    flits = whole_number("flits", flits, least=1)
    if offered.max() > 1.0:
        raise ModelError(f"loads must be at most 1 flit per node and cycle, got {offered.max():g}")
    warm_up = whole_number("warm_up", warm_up, least=0)
    window = whole_number("window", window, least=1)
    every = np.arange(mesh.nodes)
    hot = every if targets is None else mesh.checked_nodes(targets)
    nodes = np.concatenate([hot, np.setdiff1d(every, hot)])
    # Keyed by seed and number here, as the words of a job's messages are: the mesh stands below
    # the rooms that know of studies.
    seeds = [int(np.random.SeedSequence((seed, k)).generate_state(1)[0]) for k in range(offered.size)]
    return [
        _load_point(mesh, nodes, hot.size, float(load), flits, router, warm_up, window, own_seed)
        for load, own_seed in zip(offered, seeds, strict=True)
    ]


def _load_point(
    mesh: Mesh,
    nodes: np.ndarray,
    targets: int,
    load: float,
    flits: int,
    router: Router | None,
    warm_up: int,
    window: int,
    seed: int,
) -> LoadPoint:
    end = warm_up + window
    # Half as long again, and eight standard deviations, outlast the window.
    mean = 1.5 * end * load / flits
    phase = TrafficPhase(
        pattern="random",
        flits=flits,
        rounds=int(np.ceil(mean + 8 * np.sqrt(mean) + 8)),
        interval=max(flits / load, 1.0),
        targets=targets,
    )
    network = Network(mesh, Router.pipelined() if router is None else router, seed=seed, record=True)
    network.start("load", nodes, Traffic.of(phase))
    network.advance(until=end)
    while True:
        frame = network.messages()
        inside = frame[(frame.created >= warm_up) & (frame.created < end)]
        arrived = frame[(frame.delivered >= warm_up) & (frame.delivered < end)]
        if network.clock >= 4 * end or not network.owes(end):
            break
        network.advance(until=network.clock + window)
    latency = inside.delivered - inside.created
    return LoadPoint(
        offered=load,
        accepted=len(arrived) * flits / (window * mesh.nodes),
        mean_latency=float(latency.mean()) if len(inside) else float("nan"),
        mean_network_latency=(
            float((inside.delivered - inside.injected).mean()) if len(inside) else float("nan")
        ),
        messages=len(inside),
    )
