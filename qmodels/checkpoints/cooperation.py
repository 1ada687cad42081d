"""Least waste of a machine whose classes of jobs share its storage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.optimize import brentq

from phasefit.checks import real_number
from phasefit.records import Drawing, Result
from qmodels.checkpoints.model import Checkpointing, Storage
from qmodels.errors import ModelError


@dataclass(frozen=True)
class WasteBound(Result):
    """Periods that waste least while the storage keeps up; see `waste_bound`."""

    drawing = Drawing("", ("waste", "pressure"))

    periods: tuple[float, ...]  #: seconds between checkpoints, by class
    waste: float  #: share of the nodes' time
    pressure: float  #: 0 where the storage does not bind; the multiplier g


def waste_bound(
    classes: Sequence[tuple[Checkpointing, float]], storage: Storage, *, nodes: float, mtbf: float
) -> WasteBound:
    """Return the least waste of classes of jobs that take turns, to the first order in failures.

    Parameters
    ----------
    classes : sequence of (Checkpointing, float)
        Each class and its number of jobs, which need not be whole; `Checkpointing.nodes` says
        how large they are.
    storage : Storage
        Whose bandwidth they share.
    nodes : float
        Nodes of the machine.
    mtbf : float
        Mean time between failures of one node, seconds.

    Returns
    -------
    WasteBound
        The waste, and the interval of each class that reaches it.

    Raises
    ------
    ModelError
        If there is no class, or a number is not above zero.

    Notes
    -----
    Equations (6)-(8) of [1]_: ``P_i = sqrt(2 m N (q_i / N + g) C_i) / q_i`` with the least
    ``g >= 0`` at which ``sum n_i C_i / P_i <= 1``. Of the first order in C/P and P/m: it guides,
    and is no strict bound.

    References
    ----------
    .. [1] T. Herault et al., "Optimal cooperative checkpointing for shared high-performance
       computing platforms", *Proc. IPDPS Workshops* 2018.

    Examples
    --------
    >>> one = Checkpointing(1.0, interval=1.0, nodes=10)
    >>> found = waste_bound([(one, 2.0)], Storage(1.0), nodes=20, mtbf=2000.0)
    >>> [round(p, 6) for p in found.periods], found.pressure
    ([20.0], 0.0)
    """
    nodes, mtbf = real_number("nodes", nodes, above=0.0), real_number("mtbf", mtbf, above=0.0)
    if not classes:
        raise ModelError("give at least one class of jobs")
    rows = []
    for job, count in classes:
        number = real_number("jobs of a class", count, above=0.0)
        rows.append((number, job.nodes, job.write_alone(storage), job.read_alone(storage)))

    def periods(g: float) -> list[float]:
        return [math.sqrt(2 * mtbf * nodes * (q / nodes + g) * c) / q for _, q, c, _ in rows]

    def excess(g: float) -> float:
        return sum(n * c / p for (n, _, c, _), p in zip(rows, periods(g), strict=True)) - 1.0

    g = 0.0
    if excess(0.0) > 0.0:
        high = 1.0
        while excess(high) > 0.0:
            high *= 4.0
        g = float(brentq(excess, 0.0, high, xtol=1e-15, rtol=1e-13))
    waste = sum(
        n * q / nodes * (c / p + q / mtbf * (p / 2.0 + r))
        for (n, q, c, r), p in zip(rows, periods(g), strict=True)
    )
    return WasteBound(tuple(periods(g)), waste, g)
