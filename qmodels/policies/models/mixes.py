"""Jobs that are each one of several programs: how long each of them is, and when that matters."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit import PhaseType, mixture
from phasefit.arrays import Array, read_only
from qmodels.errors import ModelError
from qmodels.policies.system import Arrangement, System, Workload
from qmodels.programs import AbstractProgram
from qmodels.programs.model import parts
from qmodels.programs.side_by_side import times_of_parts, times_unlike

#: Ratios this near are one ratio.
_ROUNDING: Final = 1e-12


@lru_cache(maxsize=1024)  # asked for at every load and law of demand; two numbers for a program
def relative_times(program: AbstractProgram, p: float, d: float) -> tuple[Array, Array]:
    """Probability and mean time, over that of the mix, of the programs that differ in it.

    Raises
    ------
    ModelError
        If a program takes no time: jobs of no length have no place in the models.
    """
    given = parts(program)
    point = np.array([float(p)]), np.array([float(d)])
    ratios = times_of_parts(program, *point)[:, 0] / float(program.mean_time(p, d))
    if ratios.min() <= 0.0:
        none = given[int(ratios.argmin())][1]
        raise ModelError(
            f"program {getattr(none, 'name', '')!r:.60} of the mix takes no time on {p:g} "
            f"processors and {d:g} disks; leave it out and lower the arrival rate instead"
        )
    first = _first_of_equals(ratios)
    kept, place = np.unique(first, return_inverse=True)
    weights = np.zeros(kept.size)
    np.add.at(weights, place, [weight for weight, _ in given])
    return read_only(weights), read_only(ratios[kept])


def _first_of_equals(ratios: Array) -> NDArray[np.intp]:
    """Of each ratio the first in the list that is the same to rounding."""
    order = np.argsort(ratios, kind="stable")
    leader, group = 0.0, -1
    groups = np.empty(order.size, dtype=np.intp)
    for i in order.tolist():
        if group < 0 or ratios[i] > leader * (1.0 + _ROUNDING):
            leader, group = ratios[i], group + 1
        groups[i] = group
    firsts = np.full(group + 1, order.size)
    np.minimum.at(firsts, groups, np.arange(order.size))
    return np.asarray(firsts[groups])


def mixed_demand(workload: Workload, p: float, d: float) -> PhaseType:
    """Law of a job's time alone on an allotment, of mean one: its program's times its factor."""
    weights, ratios = relative_times(workload.program, p, d)
    if workload.mix == "mean" or ratios.size == 1:
        return workload.demand
    laws = [workload.demand.scale(ratio) for ratio in ratios.tolist()]
    law = mixture(weights / weights.sum(), laws)
    return law.scale(1.0 / law.mean)


def allotments(arrangement: Arrangement) -> list[tuple[float, float]]:
    """Processors and disks that a job may hold at one time or another."""
    numbers = range(1, arrangement.max_running + 1) if arrangement.repartitioned else (1,)
    counts = range(len(arrangement.slots[0]))
    sizes = {arrangement.processors(kind, k) for kind in counts for k in numbers}
    return [(p, arrangement.disks) for p in sorted(sizes)]


def machine_allotments(system: System) -> list[tuple[float, float]]:
    """Least and most of a machine, and the powers of two between, of processors and of disks."""

    def between(least: int, most: int) -> list[int]:
        powers = [2**i for i in range(most.bit_length())]
        return sorted({least, *(n for n in powers if least <= n <= most), most})

    return [
        (float(p), float(d))
        for p in between(system.min_processors, system.processors)
        for d in between(system.min_disks, system.disks)
    ]


def scale_alike(program: AbstractProgram, points: Iterable[tuple[float, float]], *, by_burst: bool) -> bool:
    """Whether each program, or each of its bursts, takes the same part of the whole everywhere."""
    p, d = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    whole = program.mean_time(p, d)
    if not by_burst:
        shares = times_of_parts(program, p, d) / whole
        return np.allclose(shares, shares[:, :1], rtol=_ROUNDING, atol=0.0)
    return all(
        np.allclose(time(p, d) / whole, time(p[:1], d[:1]) / whole[0], rtol=_ROUNDING, atol=0.0)
        for time in times_unlike(each for _, each in parts(program))
    )
