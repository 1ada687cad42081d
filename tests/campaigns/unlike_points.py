"""Points whose jobs are unlike, or whose partitions are: the rule of a grid, and named systems.

Rule, seed and named systems were written down before any model was changed for them.
"""

from __future__ import annotations

from typing import Any, Final

from phasefit import match_moments
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
)
from qmodels.programs import Burst, Phase, Program, WorkingSet, WorkloadMix
from tests.campaigns.policy_points import GridPoint
from tests.campaigns.recorded_points import Draw, log_uniform, point_changed

#: Kinds of points, and how many of each are drawn: a third have demands of scv 10 to 100, a third
#: are mixes of two programs.
UNLIKE: Final = {
    "SP demand": 28,
    "DP demand": 14,
    "TS demand": 30,
    "SP mix": 28,
    "DP mix": 14,
    "TS mix": 30,
    "SP unequal": 16,
    "SP indivisible": 14,
    "DP bursts": 16,
    "TS without I/O": 14,
    "TS bursts": 6,
    "SP variable bursts": 6,
}
SEED: Final = 360_036
#: Kinds that are only drawn for fresh points, see `tests.campaigns.fresh_unlike`.
FRESH_KINDS: Final = ("TS ordinary",)
#: The kind of `recorded_point` that each starts from, where that is not its first word and "demand".
_BASE: Final = {
    "SP demand": "SP demand",
    "DP demand": "DP demand",
    "DP bursts": "DP bursts",
    "TS bursts": "TS turns",
    "SP variable bursts": "SP bursts",
}


def unlike_point(kind: str, number: int, *, seed: int = SEED) -> GridPoint:
    """Return the point of a kind with a number.

    Parameters
    ----------
    kind : str
        One of `UNLIKE` or of `FRESH_KINDS`.
    number : int
        0, 1, 2, ...
    seed : int
        The default is that of the recorded campaign.

    Notes
    -----
    As `recorded_point`, with a load uniform from .1 to .85 and changed by kind. Demands have an scv
    log-uniform from 10 to 100; mixes are two programs of unlike ratio and length. One of these
    points in four under SP and DP has disks in order of arrival or at random, one in four under SP
    and TS a processor and a disk more than divide. Under TS, M is 2, 3, 4, 6 or 8, and a point in
    five shares its processors. Unequal partitions are one of 4 to 13 times the size of the others.
    Laws of bursts have an scv from 5 to 30 where they are the kind. Ordinary ones have demands of an
    scv log-uniform from .3 to 4.

    Examples
    --------
    >>> point = unlike_point("TS mix", 0)
    >>> point.policy.name, len(point.workload.program.programs)
    ('TS', 2)
    """
    policy, what = kind[:2], kind[3:]

    def changed(draw: Draw) -> dict[str, Any]:
        rng = draw.rng
        more: dict[str, Any] = {"kind": kind, "fraction": float(rng.uniform(0.1, 0.85))}
        more["growing"] = policy == "DP"
        aside = rng.random()
        if what == "demand":
            more["demand_scv"] = log_uniform(rng, 10.0, 100.0)
        elif what == "ordinary":
            more["demand_scv"] = log_uniform(rng, 0.3, 4.0)
        elif what == "mix":
            more["several_programs"] = True
        if what in ("demand", "mix"):
            if policy != "TS" and aside < 0.25:
                more["disk_discipline"] = str(rng.choice(["fcfs", "siro"]))
            elif policy != "DP" and aside > 0.75:
                more |= _indivisible(draw)
        if policy == "TS":
            more["multiprogramming"] = int(rng.choice([2, 3, 4, 6, 8]))
            if what != "bursts" and rng.random() < 0.2:
                more["kind"] = "TS shared"
        if what == "unequal":
            least = draw.processors // draw.partitions
            first = least * int(rng.integers(4, 14))
            more["sizes"] = (first, *(least,) * (draw.partitions - 1))
            more |= {"processors": sum(more["sizes"]), "growing": True}
        elif what == "indivisible":
            more |= _indivisible(draw)
        elif what == "without I/O":
            more["ratio"] = float("inf")
        elif what in ("bursts", "variable bursts"):
            more["with_bursts"] = True
            if policy != "DP":
                more |= {name: log_uniform(rng, 5.0, 30.0) for name in ("io_scv", "cpu_scv")}
        return more

    base = _BASE.get(kind, "TS turns" if policy == "TS" else f"{policy} demand")
    # other numbers for each kind, so that no two kinds share a machine
    return point_changed(base, 1000 * [*UNLIKE, *FRESH_KINDS].index(kind) + number, changed, seed=seed)


def _indivisible(draw: Draw) -> dict[str, Any]:
    """A processor and a disk more than divide among the partitions, of bursts that scale."""
    return {"processors": draw.processors + 1, "disks": draw.disks + 1, "growing": True}


def named_points() -> dict[str, GridPoint]:
    """Return the systems that users met with, by a few words each.

    Examples
    --------
    >>> len(named_points())
    15
    """
    one = {"io": 1.0, "cpu": 1.0}
    mix = WorkloadMix([_fixed(8, 1.0, 50.0), _fixed(8, 5.0, 0.2)], weights=[0.1, 0.9])
    single = WorkloadMix([_fixed(1, 1.0, 50.0), _fixed(1, 5.0, 0.2)], weights=[0.1, 0.9])
    scaling = Program([WorkingSet(4, [Phase(io=Burst(8.0, law="min(d, p/2)"), cpu=Burst(24.0, law="p"))])])
    partly = Program([Phase(io=Burst(8.0, law="1"), cpu=Burst(24.0, sequential=2.4, law="p"))])
    scaling_io = Program([Phase(io=Burst(4.0, sequential=0.4, law="min(d, p/4)"), cpu=Burst(16.0, law="p"))])
    wide = System(16, 1)
    # policy, machine, workload, and the fraction of the capacity
    named: dict[str, tuple[AbstractPolicy, System, Workload, float]] = {
        "turns of three, scv 19": (TimeSharing(1, 1, 3), System(4, 1), _of_scv(19.0, 4, **one), 0.26),
        "turns of four, scv 100": (TimeSharing(1, 1, 4), System(4, 1), _of_scv(100.0, 4, **one), 0.3),
        "disks in turn, scv 10": (
            SpaceSharing(4, 1),
            System(4, 1, disk_discipline="fcfs"),
            _of_scv(10.0, 4, **one),
            0.6,
        ),
        "mix under SP": (SpaceSharing(4, 1), System(4, 1), Workload(mix), 0.8),
        "mix under DP": (DynamicPartitioning(1), System(4, 1), Workload(mix), 0.8),
        "mix in turns": (TimeSharing(1, 1, 2), System(4, 1), Workload(mix), 0.5),
        "mix of single bursts under SP": (SpaceSharing(4, 1), System(4, 1), Workload(single), 0.8),
        "mix of single bursts in turns": (TimeSharing(1, 1, 2), System(4, 1), Workload(single), 0.5),
        "turns with bursts of scv 20": (TimeSharing(1, 1, 2), System(4, 1), _of_bursts(1.0, 20.0), 0.6),
        "turns with both bursts of scv 10": (TimeSharing(1, 1, 2), System(4, 1), _of_bursts(10.0, 10.0), 0.6),
        "unequal partitions": (SpaceSharing(4, 1, sizes=(13, 1, 1, 1)), wide, Workload(partly), 0.5),
        "counts that do not divide": (SpaceSharing(3, 2), System(9, 3), Workload(scaling_io), 0.7),
        "bursts that scale under DP": (DynamicPartitioning(1), System(16, 8), Workload(partly), 0.7),
        "I/O that scales under DP": (DynamicPartitioning(2), System(16, 8), Workload(scaling), 0.7),
        "turns without disks": (TimeSharing(1, 1, 4), System(4, 1), _of_scv(4.0, 8, io=0.0, cpu=1.0), 0.53),
    }
    return {
        name: GridPoint("named", number, policy, system, workload, fraction, {"fraction": fraction})
        for number, (name, (policy, system, workload, fraction)) in enumerate(named.items())
    }


def _fixed(bursts: int, io: float, cpu: float) -> Program:
    """A program of so many bursts of each kind, so many seconds altogether on any allotment."""
    phase = Phase(io=Burst(io / bursts, law="1"), cpu=Burst(cpu / bursts, law="1"))
    return Program([WorkingSet(bursts, [phase])])


def _of_scv(scv: float, bursts: int, *, io: float, cpu: float) -> Workload:
    return Workload(_fixed(bursts, io, cpu), match_moments(1.0, 1.0 + scv))


def _of_bursts(io_scv: float, cpu_scv: float) -> Workload:
    io, cpu = (match_moments(1.0, 1.0 + scv) for scv in (io_scv, cpu_scv))
    return Workload(_fixed(4, 1.0, 1.0), io_bursts=io, cpu_bursts=cpu)
