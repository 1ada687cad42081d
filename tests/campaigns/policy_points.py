"""Points on which the models of the policies are judged, drawn by a rule that was fixed first.

The rule and its seed were written down before the models that it judges: see `drawn`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phasefit import match_moments
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
)
from qmodels.programs import Burst, Geometric, Phase, Program, WorkingSet

#: Kinds of points, and how many of each are drawn.
KINDS: Final = {
    "SP bursts": 40,
    "DP bursts": 20,
    "TS turns, scv > 1": 40,
    "TS turns, scv <= 1": 20,
    "TS shared": 20,
    "SP or DP demand": 20,
}
SEED: Final = 190_719


@dataclass(frozen=True, eq=False)
class GridPoint:
    """One policy on one machine under one workload, and how busy it is to be."""

    kind: str  #: one of `KINDS`
    number: int  #: which of its kind
    policy: AbstractPolicy
    system: System
    workload: Workload
    fraction: float  #: of the policy's capacity
    facts: dict[str, Any]  #: what was drawn, as plain values


def drawn(kind: str, number: int, *, seed: int = SEED) -> GridPoint:
    """Return the point of a kind with a number.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    number : int
        0, 1, 2, ...
    seed : int
        The default is that of the recorded campaign; another one makes fresh points.

    Returns
    -------
    GridPoint

    Notes
    -----
    K_P is 2, 3, 4, 6, 8 or 12, K_D uniform from 1 to K_P, the processors 2 K_P and the disks 1 or 2
    on each disk partition; computation over transfer of a job is log-uniform from 1/4 to 8; the
    number of phases 1, 2, 4 or 8, of a geometric number or listed; the load uniform from .3 to .92
    of the capacity. Laws of bursts have an scv of 1/2, 1, 2 or 4 each, laws of demand one that is
    log-uniform from .2 to 1 or from 1.2 to 12. One point in four has arrivals of scv 3, the others
    are Poisson.

    Examples
    --------
    >>> point = drawn("SP bursts", 0)
    >>> point.policy.name, 0.3 <= point.fraction <= 0.92
    ('SP', True)
    """
    place = list(KINDS).index(kind)
    rng = np.random.default_rng([seed, place, number])
    partitions = int(rng.choice([2, 3, 4, 6, 8, 12]))
    disk_partitions = int(rng.integers(1, partitions + 1))
    ratio = float(np.exp(rng.uniform(np.log(0.25), np.log(8.0))))
    phases = int(rng.choice([1, 2, 4, 8]))
    fraction = float(rng.uniform(0.3, 0.92))
    arrival_scv = 3.0 if rng.random() < 0.25 else 1.0
    level = int(rng.choice([2, 2, 2, 3, 4]))
    each_disks = int(rng.choice([1, 2]))
    io_scv, cpu_scv = (float(x) for x in rng.choice([0.5, 1.0, 2.0, 4.0], 2))
    low, high = (0.2, 1.0) if kind == "TS turns, scv <= 1" else (1.2, 12.0)
    demand_scv = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    if kind == "TS shared" and rng.random() < 0.5:
        demand_scv = float(rng.uniform(0.2, 1.0))
    dynamic = kind == "DP bursts" or (kind == "SP or DP demand" and rng.random() < 0.4)
    listed = phases <= 2 and rng.random() < 0.3

    least = 1
    processors = 2 * partitions
    if dynamic:
        least = 2
        partitions = min(partitions, 8)
        processors, disk_partitions = 2 * partitions, min(disk_partitions, partitions)
    system = System(processors, disk_partitions * each_disks, min_processors=least)
    # seconds of a whole job on its allotment are near `ratio` and 1
    cpu = Burst(ratio, law="1")
    io = Burst(1.0, law="1")
    if dynamic:
        cpu = Burst(ratio * processors / 2, sequential=0.2 * ratio, law="p")
        io = Burst(1.0, law="min(d, p/2)")
    bursts = kind in ("SP bursts", "DP bursts")
    if bursts and not listed:
        program = Program([Phase(io=io, cpu=cpu)], phase_count=Geometric(phases))
    else:
        program = Program([WorkingSet(phases, [Phase(io=io, cpu=cpu)])])
    arrivals = match_moments(1.0, 1.0 + arrival_scv)
    if bursts:
        workload = Workload(
            program,
            arrivals=arrivals,
            io_bursts=match_moments(1.0, 1.0 + io_scv),
            cpu_bursts=match_moments(1.0, 1.0 + cpu_scv),
        )
    else:
        workload = Workload(program, match_moments(1.0, 1.0 + demand_scv), arrivals)
    policy: AbstractPolicy
    if kind.startswith("TS"):
        policy = TimeSharing(partitions, disk_partitions, level)
        if kind == "TS shared":
            policy = TimeSharing(partitions, disk_partitions, level, cpu_discipline="ps")
    elif dynamic:
        policy = DynamicPartitioning(disk_partitions)
    else:
        policy = SpaceSharing(partitions, disk_partitions)
    facts = {
        "ratio": ratio,
        "phases": phases,
        "listed": listed or not bursts,
        "fraction": fraction,
        "arrival_scv": arrival_scv,
    }
    facts |= {"io_scv": io_scv, "cpu_scv": cpu_scv} if bursts else {"demand_scv": demand_scv}
    return GridPoint(kind, number, policy, system, workload, fraction, facts)


def grid(*, seed: int = SEED) -> list[GridPoint]:
    """Return all points of the campaign, 160 of them, kind after kind."""
    return [drawn(kind, n, seed=seed) for kind, count in KINDS.items() for n in range(count)]
