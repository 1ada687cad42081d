"""Points whose simulation is the record of the models' errors, and points outside of that record.

The rules, their seeds and the ways out were written down before the first of them was simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from phasefit import MAP, PhaseType, match_moments, moment_bounds
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
)
from qmodels.programs import (
    AbstractProgram,
    Burst,
    Geometric,
    Phase,
    Program,
    WorkingSet,
    WorkloadMix,
)
from tests.campaigns.policy_points import GridPoint

#: Kinds of points of the record, and how many of each are drawn.
RECORDED: Final = {
    "SP bursts": 160,
    "DP bursts": 140,
    "SP demand": 120,
    "DP demand": 100,
    "TS turns": 480,
    "TS shared": 160,
}
#: Seeds of the record, and of the fresh points on which it is judged.
SEED, FRESH_SEED = 261_123, 320_001
#: Ways in which a point may lie outside of the record, one at a time.
WAYS: Final = (
    "demand of scv 12 to 100",
    "more than four jobs in turns",
    "a mix of programs",
    "unequal partitions",
    "partitions that do not divide",
    "bursts with laws in turns",
    "disks in order of arrival",
    "no I/O",
    "arrivals that depend on those before",
    "bursts of scv 4 to 30",
    "from 92 to 98 % of the capacity",
    "arrivals of scv 8 to 40",
)
#: Kinds that each way is tried on; all where there is none.
_KINDS_OF: Final = {
    "demand of scv 12 to 100": ("SP demand", "DP demand", "TS turns", "TS shared"),
    "more than four jobs in turns": ("TS turns", "TS shared"),
    "unequal partitions": ("SP demand", "SP bursts"),
    "partitions that do not divide": ("SP demand", "SP bursts", "TS turns"),
    "bursts with laws in turns": ("TS turns",),
    "no I/O": ("TS turns", "SP demand", "DP demand"),
    "bursts of scv 4 to 30": ("SP bursts", "DP bursts"),
}


@dataclass(frozen=True, eq=False)
class Draw:
    """What a point is made of, before it is put together."""

    kind: str
    rng: np.random.Generator
    partitions: int
    disk_partitions: int
    processors: int
    disks: int
    disk_discipline: str
    multiprogramming: int
    ts_cap: Literal["product", "min"]
    ratio: float  #: seconds of computation for each of I/O of a job on its allotment; inf: no I/O
    fraction: float
    arrivals: PhaseType | MAP
    demand_scv: float
    io_scv: float
    cpu_scv: float
    with_bursts: bool
    sizes: tuple[int, ...] | None = None
    several_programs: bool = False
    growing: bool = False  #: whether bursts depend on the number of processors


def recorded_point(kind: str, number: int, *, seed: int = SEED) -> GridPoint:
    """Return the point of a kind with a number, inside of the record: see `drawn`.

    Notes
    -----
    K_P is 2 to 64 under SP, 2 to 16 under DP and 1 to 16 under TS, K_D from 1 to K_P, rather few;
    1, 2, 4 or 8 processors and 1, 2 or 4 disks on each partition; computation over transfer of a
    job on its allotment log-uniform from 1/10 to 30. One to three different phases, of lengths that
    differ by factors of up to some twenty, repeated so that a job has up to 48 bursts of each
    kind; under DP each scales with processors by a law and a sequential part of its own. M is 2,
    3 or 4. The load is uniform from .05 to .92 of the capacity. Laws of bursts have an scv of
    1/4, 1/2, 1, 2 or 4 each; laws of demand one that is log-uniform from .1 to 12, half of those
    above one with a third moment of up to ten times the least. Arrivals are Poisson (half of
    them), or of scv 1/2, 3 or 8.

    Examples
    --------
    >>> point = recorded_point("SP bursts", 0)
    >>> point.policy.name, 0.05 <= point.fraction <= 0.92
    ('SP', True)
    """
    return _put_together(_drawn(kind, number, seed), number)


def point_outside(number: int, *, seed: int = FRESH_SEED) -> tuple[str, GridPoint]:
    """Return a point that lies outside of the record in one way, and which way.

    Examples
    --------
    >>> way, point = point_outside(2)
    >>> way, len(point.workload.program.programs) > 1
    ('a mix of programs', True)
    """
    way = WAYS[number % len(WAYS)]
    kinds = _KINDS_OF.get(way, tuple(RECORDED))
    drawn = _drawn(kinds[number // len(WAYS) % len(kinds)], 10_000 + number, seed)
    return way, _put_together(_left(drawn, way), number)


def point_changed(
    kind: str, number: int, change: Callable[[Draw], dict[str, Any]], *, seed: int
) -> GridPoint:
    """Return the point of a kind with a number, with parts of its draw changed.

    Parameters
    ----------
    kind, number, seed
        As for `recorded_point`.
    change : callable
        From what the point is made of, whose ``rng`` draws on, to the parts that are other ones.
    """
    drawn = _drawn(kind, number, seed)
    return _put_together(replace(drawn, **change(drawn)), number)


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _drawn(kind: str, number: int, seed: int) -> Draw:
    place = list(RECORDED).index(kind)
    rng = np.random.default_rng([seed, place, number])
    choices = {
        "SP": [2, 3, 4, 6, 8, 12, 16, 32, 64],
        "DP": [2, 3, 4, 5, 6, 8, 12, 16],
        "TS": [1, 1, 2, 3, 4, 6, 8, 16],
    }
    partitions = int(rng.choice(choices[kind[:2]]))
    disk_partitions = 1 + int(partitions * rng.random() ** 2)
    arrival_scv = float(rng.choice([1.0, 1.0, 1.0, 0.5, 3.0, 8.0]))
    return Draw(
        kind=kind,
        rng=rng,
        partitions=partitions,
        disk_partitions=disk_partitions,
        processors=partitions * int(rng.choice([1, 2, 4, 8])),
        disks=disk_partitions * int(rng.choice([1, 2, 4])),
        disk_discipline="ps",
        multiprogramming=int(rng.choice([2, 2, 3, 4])),
        ts_cap="min" if rng.random() < 0.15 else "product",
        ratio=log_uniform(rng, 0.1, 30.0),
        fraction=float(rng.uniform(0.05, 0.92)),
        arrivals=match_moments(1.0, 1.0 + arrival_scv),
        demand_scv=log_uniform(rng, 0.1, 12.0),
        io_scv=float(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0])),
        cpu_scv=float(rng.choice([0.25, 0.5, 1.0, 2.0, 4.0])),
        with_bursts=kind.endswith("bursts"),
        growing=kind.startswith("DP"),
    )


def _left(drawn: Draw, way: str) -> Draw:
    """A draw that lies outside of the record in one way."""
    rng = drawn.rng
    more: dict[str, Any] = {}
    if way == "demand of scv 12 to 100":
        more["demand_scv"] = log_uniform(rng, 15.0, 100.0)
    elif way == "more than four jobs in turns":
        more["multiprogramming"] = int(rng.integers(5, 9))
    elif way == "a mix of programs":
        more["several_programs"] = True
    elif way == "unequal partitions":
        least = drawn.processors // drawn.partitions
        first = least * int(rng.integers(4, 14))
        more["sizes"] = (first, *(least,) * (drawn.partitions - 1))
        more |= {"processors": sum(more["sizes"]), "growing": True}
    elif way == "partitions that do not divide":
        more |= {"processors": drawn.processors + 1, "disks": drawn.disks + 1, "growing": True}
    elif way == "bursts with laws in turns":
        more["with_bursts"] = True
    elif way == "disks in order of arrival":
        more["disk_discipline"] = str(rng.choice(["fcfs", "siro"]))
        more["disk_partitions"] = more["disks"] = max(1, drawn.partitions // 2)
    elif way == "no I/O":
        more["ratio"] = np.inf
    elif way == "arrivals that depend on those before":
        stay = log_uniform(rng, 10.0, 300.0)
        busy = float(rng.uniform(1.3, 1.9))
        more["arrivals"] = MAP.modulated([[0.0, 1.0 / stay], [1.0 / stay, 0.0]], rates=[busy, 2.0 - busy])
    elif way == "bursts of scv 4 to 30":
        more |= {name: log_uniform(rng, 5.0, 30.0) for name in ("io_scv", "cpu_scv")}
    elif way == "from 92 to 98 % of the capacity":
        more["fraction"] = float(rng.uniform(0.925, 0.98))
    else:
        more["arrivals"] = match_moments(1.0, 1.0 + log_uniform(rng, 10.0, 40.0))
    return replace(drawn, **more)


def _put_together(drawn: Draw, number: int) -> GridPoint:
    rng, kind = drawn.rng, drawn.kind
    dynamic = kind.startswith("DP")
    least = drawn.processors // drawn.partitions if dynamic else 1
    system = System(
        drawn.processors, drawn.disks, min_processors=least, disk_discipline=drawn.disk_discipline
    )
    policy: AbstractPolicy
    if dynamic:
        policy = DynamicPartitioning(drawn.disk_partitions)
    elif kind.startswith("SP"):
        policy = SpaceSharing(drawn.partitions, drawn.disk_partitions, sizes=drawn.sizes)
    else:
        policy = TimeSharing(
            drawn.partitions,
            drawn.disk_partitions,
            drawn.multiprogramming,
            ts_cap=drawn.ts_cap,
            cpu_discipline="ps" if kind == "TS shared" else "fcfs",
        )
    one = _program(drawn, policy, system, drawn.ratio)
    program: AbstractProgram = one
    facts: dict[str, Any] = {}
    if drawn.several_programs:
        times = log_uniform(rng, 0.05, 20.0)
        other = _program(drawn, policy, system, log_uniform(rng, 0.1, 30.0), times)
        share = float(rng.uniform(0.05, 0.95))
        program = WorkloadMix([one, other], weights=[share, 1.0 - share])
        facts |= {"times": times, "share": share}
    if drawn.with_bursts:
        laws = [match_moments(1.0, 1.0 + scv) for scv in (drawn.io_scv, drawn.cpu_scv)]
        workload = Workload(program, arrivals=drawn.arrivals, io_bursts=laws[0], cpu_bursts=laws[1])
        facts |= {"io_scv": drawn.io_scv, "cpu_scv": drawn.cpu_scv}
    else:
        workload = Workload(program, _demand(drawn), drawn.arrivals)
        facts |= {"demand_scv": drawn.demand_scv}
    facts |= {
        "ratio": drawn.ratio,
        "fraction": drawn.fraction,
        "arrival_scv": drawn.arrivals.scv,
        "partitions": drawn.partitions,
        "disk_partitions": drawn.disk_partitions,
        "disk_discipline": drawn.disk_discipline,
    }
    return GridPoint(kind, number, policy, system, workload, drawn.fraction, facts)


def _demand(drawn: Draw) -> PhaseType:
    """A law of demand of the scv, half of those above one with a third moment that is drawn."""
    m2 = 1.0 + drawn.demand_scv
    higher = log_uniform(drawn.rng, 1.05, 10.0)
    if drawn.demand_scv <= 1.0 or drawn.rng.random() < 0.5:
        return match_moments(1.0, m2)
    least, _ = moment_bounds(2, 1.0, m2)
    return match_moments(1.0, m2, higher * least)


#: Laws of a burst of I/O and of one of computation; under DP they depend on the processors.
_FIXED: Final = (("1", "1"),)
_GROWING: Final = (
    ("min(d, p/2)", "p"),
    ("1", "p"),
    ("d", "p"),
    ("min(d, p/4)", "p/(1+0.05*(p-1))"),
)


def _program(
    drawn: Draw, policy: AbstractPolicy, system: System, ratio: float, times: float = 1.0
) -> Program:
    """One to three different phases, of the ratio on the policy's mean allotment.

    A job transfers `times` seconds there, or without I/O computes so long.
    """
    rng = drawn.rng
    different, often = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 1, 2, 4, 8, 16]))
    random_number = drawn.with_bursts and different == 1 and rng.random() < 0.5
    known = _GROWING if drawn.growing else _FIXED
    lengths = rng.lognormal(0.0, 0.7, (different, 2))
    laws = [known[int(rng.integers(len(known)))] for _ in range(different)]
    sequential = rng.uniform(0.0, 0.4, (different, 2)) * (len(known) > 1)

    def build(io: float, cpu: float) -> Program:
        bursts = [
            [
                Burst(a, sequential=share * a, law=law)
                for a, share, law in zip(row * (io, cpu), parts, pair, strict=True)
            ]
            for row, parts, pair in zip(lengths, sequential, laws, strict=True)
        ]
        phases = [Phase(io=transfer, cpu=compute) for transfer, compute in bursts]
        if random_number:
            return Program(phases, phase_count=Geometric(float(often)))
        return Program([WorkingSet(often, [phase]) for phase in phases])

    plain, at = build(1.0, 1.0), policy.allotment(system)
    if not np.isfinite(ratio):
        return build(0.0, times / float(plain.mean_cpu(*at)))
    return build(times / float(plain.mean_io(*at)), times * ratio / float(plain.mean_cpu(*at)))
