"""Jobs of malleable policies: when they come, what their phases ask for, and how these speed up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit import PhaseType
from phasefit.arrays import Array, Ints
from phasefit.checks import real_number
from qmodels.errors import ModelError
from validation.analysis.seeding import stream

#: Work per second of a phase on so many processors, over that on one; any shape.
Curve = Callable[[Array], Array]


def inelastic(x: Array) -> Array:
    """Return the speed of a phase that uses one processor at most, and a part of it as such.

    Parameters
    ----------
    x : ndarray
        Processors.
    """
    return np.minimum(x, 1.0)


def power(exponent: float, *, below_one: bool = False) -> Curve:
    """Return the speed curve x^p; below one processor x, unless that is a power as well.

    Parameters
    ----------
    exponent : float
        p, above 0, at most 1.
    below_one : bool
        Whether the power holds for parts of a processor, too.

    Returns
    -------
    callable
        A `Curve`.

    Raises
    ------
    ModelError
        If the exponent is out of its range.

    Examples
    --------
    >>> power(0.5)(np.array([0.25, 4.0])), power(0.5, below_one=True)(np.array([0.25, 4.0]))
    (array([0.25, 2.  ]), array([0.5, 2. ]))
    """
    p = real_number("exponent", exponent, above=0.0)
    if p > 1.0:
        raise ModelError(f"exponent must be at most 1, got {p:.6g}: no more than so many times as fast")
    if below_one:
        return lambda x: x**p
    return lambda x: np.where(x > 1.0, np.maximum(x, 1.0) ** p, x)


#: Number of the curve of a rigid job: full speed on all that it needs, none on less.
RIGID: Final = -1


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs of r replications, j in each, in order of arrival, of up to k phases."""

    arrival: Array  #: (r, j) seconds, rising
    work: Array  #: (r, j, k) seconds of each phase on one processor (of a rigid job on its own)
    curve: Ints  #: (r, j, k) which of `curves` each phase follows, or `RIGID`
    curves: tuple[Curve, ...]  #: speeds by number
    need: Array  #: (r, j) processors of rigid jobs

    def __post_init__(self) -> None:
        if not self.work.shape == self.curve.shape == (*self.arrival.shape, self.work.shape[-1]):
            raise ModelError(
                f"arrival {self.arrival.shape}, work {self.work.shape} and curve {self.curve.shape} must be "
                f"of the same jobs"
            )


def random_jobs(
    arrival_rate: float,
    shapes: Sequence[tuple[float, Sequence[tuple[float, int]]]],
    curves: Sequence[Curve],
    *,
    demand: PhaseType | None = None,
    needs: Sequence[float] | None = None,
    replications: int,
    jobs: int,
    seed: int = 0,
    key: tuple[int | str, ...] = (),
) -> Jobs:
    """Draw Poisson arrivals of jobs of several classes.

    Parameters
    ----------
    arrival_rate : float
        Jobs per second.
    shapes : sequence of (weight, phases)
        Of each class its frequency and its phases, each (mean seconds on one processor, curve).
    curves : sequence of callable
        Speeds by number, each a `Curve`.
    demand : PhaseType, optional
        Law of a factor of mean one, drawn for every phase; exponential by default.
    needs : sequence of float, optional
        Processors of a rigid job of each class.
    replications, jobs : int
        How many replications of how many jobs.
    seed : int
        The same jobs come of the same seed and key.
    key : tuple of int or str
        Numbers and words that tell streams of a seed apart.

    Returns
    -------
    Jobs
        In order of arrival.

    Examples
    --------
    Half of the jobs compute on one processor, the others on many:

    >>> shapes = [(1.0, [(1.0, 0)]), (1.0, [(1.0, 1)])]
    >>> random_jobs(2.0, shapes, (inelastic, power(1.0)), replications=3, jobs=5).work.shape
    (3, 5, 1)
    """
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    rng = stream(seed, *key)
    size = (replications, jobs)
    weights = np.array([weight for weight, _ in shapes], dtype=float)
    kind = rng.choice(len(shapes), size=size, p=weights / weights.sum())
    most = max(len(phases) for _, phases in shapes)
    means, which = np.zeros((len(shapes), most)), np.zeros((len(shapes), most), np.int64)
    for at, (_, phases) in enumerate(shapes):
        for place, (mean, curve) in enumerate(phases):
            means[at, place], which[at, place] = mean, curve
    law = PhaseType.exponential(mean=1.0) if demand is None else demand
    factors = law.rvs(size=replications * jobs * most, random_state=rng).reshape(*size, most)
    return Jobs(
        arrival=np.cumsum(rng.exponential(1.0 / rate, size), axis=1),
        work=means[kind] * factors,
        curve=which[kind],
        curves=tuple(curves),
        need=np.ones(size) if needs is None else np.asarray(needs, dtype=float)[kind],
    )
