"""The cheap correction: speeds of running jobs from the loads of links, without any simulation."""

from __future__ import annotations

import time
from typing import Final

import numpy as np

from phasefit.arrays import Array, Ints
from qmodels.policies import SpeedTable
from validation.allocation import Request
from validation.allocation.base import answer
from validation.analysis.seeding import stream
from validation.mesh import Occupancy
from validation.mesh.link_load import link_load
from validation.mesh.traffic import Messages
from validation.trial.bursts import alone
from validation.trial.scenario import Cell

#: Sets of placements over which the loads are averaged.
SAMPLES: Final = 12


def link_speeds(cell: Cell, *, samples: int = SAMPLES, seed: int = 0) -> tuple[SpeedTable, float]:
    """X(k) from how much the busiest channel has to carry when several jobs transfer at once.

    Parameters
    ----------
    cell : Cell
    samples : int
        Sets of placements.
    seed : int

    Returns
    -------
    table : SpeedTable
        Without an interval: what is left out is no random error.
    seconds : float
        Of a processor that it took.

    Notes
    -----
    A burst alone takes as long as `alone` measures. When y jobs transfer at once, the busiest
    channel or disk has b(y) to do instead of b(1), so that all y last b(y) / b(1) times as long;
    under processor sharing of one disk that would be y times. The transfers of k jobs and their
    computations are then a closed network of a station of rate y b(1) / b(y) and a delay. Left out
    are waiting that a full queue of worms makes before a channel is full, and the exchanges of
    different jobs that meet.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 2}, strategy="MC", cpu_to_io=2.0)
    >>> table, _ = link_speeds(cell)
    >>> bool(1.8 < table.throughput[1] / table.throughput[0] <= 2.0)
    True
    """
    began = time.process_time()
    most = cell.most_running
    rng = stream(seed, "link speeds")
    stretch: dict[int, Array] = {}
    speeds = np.zeros(most)
    for k in range(1, most + 1):
        size = cell.nodes_of(k)
        if size not in stretch:
            stretch[size] = _stretch(cell, most if not cell.repartitioned else k, size, samples, rng)
        bursts = alone(cell, k if cell.repartitioned else cell.partitions)
        speeds[k - 1] = _closed(cell, k, bursts.io.at(1.0), bursts.cpu.at(1.0), stretch[size])
    table = SpeedTable(speeds / cell.shape.phases, source="link loads")
    return table, time.process_time() - began


def _stretch(cell: Cell, jobs: int, size: int, samples: int, rng: np.random.Generator) -> Array:
    """How many times longer transfers last when 1, 2, ... jobs have one at once, (jobs,)."""
    found = np.zeros(jobs)
    places = min(jobs, cell.partitions)
    strategy = cell.strategy.fresh(rng)
    each = round(cell.shape.io_flits / (size * cell.groups[0].size))
    for _ in range(samples):
        held = Occupancy(cell.mesh)
        for place in _churned(range(places), rng):
            nodes = answer(strategy, held, Request(size))
            if nodes is not None:
                if place in held.jobs:
                    held.release(place)
                    nodes = answer(strategy, held, Request(size))
                assert nodes is not None
                held.occupy(place, nodes)
        # Jobs beyond the partitions are on the nodes of others, as under time sharing.
        nodes_of = list(held.jobs.values())
        order = rng.permutation(len(nodes_of))
        loads = np.zeros(cell.mesh.channels + cell.mesh.io_nodes.size)
        bounds = np.zeros(jobs)
        for y in range(jobs):
            group = cell.groups[y % len(cell.groups)]
            loads += _loads(cell, nodes_of[order[y % order.size]], group, max(each, 1))
            bounds[y] = loads.max()
        found += bounds / bounds[0]
    return found / samples


def _churned(places: range, rng: np.random.Generator) -> list[int]:
    """Fill all places, and then some of them again, as when jobs leave and others come."""
    again = rng.integers(0, len(places), 2 * len(places) if len(places) > 1 else 0)
    return [*places, *again.tolist()]


def _loads(cell: Cell, nodes: Ints, group: Ints, flits: int) -> Array:
    """Cycles of work that a transfer gives every channel, and every disk after them."""
    pairs = np.array(np.meshgrid(nodes, group, indexing="ij")).reshape(2, -1)
    ends = pairs if cell.shape.io == "write" else pairs[::-1]
    zeros = np.zeros(pairs.shape[1], np.int64)
    listed = Messages(zeros, ends[0], ends[1], zeros + flits)
    carried = link_load(cell.mesh, listed).flits.astype(float)
    at_disks = np.zeros(cell.mesh.io_nodes.size)
    at_disks[group - cell.mesh.nodes] = nodes.size * flits * cell.disk_pace
    return np.concatenate([carried, at_disks])


def _closed(cell: Cell, k: int, io: float, cpu: float, stretch: Array) -> float:
    """Phases per cycle of k jobs that transfer at a station that slows down and compute apart."""
    turns = cell.arrangement.multiprogramming > 1
    y = np.arange(1, k + 1)
    transfers = y / (io * stretch[:k])  # bursts per cycle with y transferring
    computing = np.arange(k, 0, -1)  # with y - 1 transferring
    if turns:  # at most one of a partition computes
        computing = np.minimum(computing, cell.partitions)
    weights = np.concatenate([[1.0], np.cumprod(computing / cpu / transfers)])
    return float(weights[1:] @ transfers / weights.sum())
