"""Times of the programs and bursts that a job may be, side by side: whether they scale alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from phasefit.arrays import Array
from qmodels.programs.model import AbstractProgram, Program, parts
from qmodels.programs.phases import COMPONENTS, Burst
from qmodels.programs.sums import Sum, times_of_each, unlike


def times_of_parts(program: AbstractProgram, p: Array, d: Array) -> Array:
    """Return the mean time of each program that a job may be, on k allotments, (n, k).

    Parameters
    ----------
    program : Program or WorkloadMix
        The program.
    p, d : (k,) ndarray
        The allotments.
    """
    programs = [each for _, each in parts(program)]
    if not all(isinstance(each, Program) for each in programs):
        return np.array([each.mean_time(p, d) for each in programs])
    sums = [Sum.mixed((each.sums[kind], 1.0) for kind in COMPONENTS) for each in programs]  # type: ignore[attr-defined]
    return times_of_each(sums, p, d)


def times_unlike(
    programs: Iterable[AbstractProgram], *, listed: bool = True
) -> Iterator[Callable[[Array, Array], Array]]:
    """Yield the mean times of the different bursts, one of each kind that are proportional.

    Without `listed` all I/O of a random number of phases counts as one burst.

    Parameters
    ----------
    programs : iterable of AbstractProgram
        The programs.
    listed : bool
        Whether each listed phase counts; else all I/O of a random number of phases is one burst.

    Yields
    ------
    callable
        Seconds on rows of allotments.
    """
    bursts: list[Burst] = []
    for each in programs:
        if isinstance(each, Program) and (listed or each.phase_count is None):
            bursts += [phase.burst(kind) for phase, _ in each.visits for kind in COMPONENTS]
        else:
            yield from (each.mean_io, each.mean_cpu)
    for burst in unlike(bursts):
        yield burst.mean_time
