"""Consequences of predictions: the best interval, and how many jobs fit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from phasefit.checks import share, whole_number
from phasefit.records import Drawing, Result
from qmodels.checkpoints.formulas import best_alone, daly, young
from qmodels.checkpoints.model import Checkpointing, EqualJobs, Storage
from qmodels.checkpoints.prediction import predict_checkpoints
from qmodels.errors import ModelError
from qmodels.networks.sizes import most_that

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class BestInterval(Result):
    """Interval of the largest goodput, beside the classical ones, in seconds."""

    drawing = Drawing("", ("interval", "young", "daly"), labels=("", "interval [s]"))

    interval: float  #: at which most work is done
    goodput: float  #: at that interval
    young: float  #: Young's interval
    daly: float  #: Daly's interval
    method: str  #: of the prediction at the best interval
    low: float  #: from here ...
    high: float  #: ... to here the goodput is within a thousandth of the best


def best_interval(job: Checkpointing, storage: Storage, jobs: int = 1) -> BestInterval:
    """Return the interval at which equal jobs get most work done.

    Parameters
    ----------
    job : Checkpointing
        Its own interval does not count.
    storage : Storage
        Where they write.
    jobs : int
        How many share the storage.

    Returns
    -------
    BestInterval
        In seconds, beside the classical intervals of a job by itself.

    Raises
    ------
    ModelError
        If nothing fails: then a longer interval is always better.

    Notes
    -----
    One job by itself has ``M (1 + W0(-e^{-C/M-1}))``, which depends neither on the downtime nor
    on the restore. More jobs write more seldom, because they wait for each other.

    References
    ----------
    .. [1] Young 1974.
    .. [2] Daly 2006.

    Examples
    --------
    >>> job = Checkpointing(300.0, interval=1.0, mtbf=10800.0)
    >>> found = best_interval(job, Storage(1.0))
    >>> round(found.interval, 3), round(found.daly, 3)
    (2349.638, 2349.513)
    """
    if math.isinf(job.mtbf):
        raise ModelError("without failures a longer interval is always better: give mtbf")
    number = whole_number("jobs", jobs, least=1)
    these = EqualJobs(job, storage, number)
    write = these.write
    stands = job.snapshot if job.mode == "asynchronous" else write
    first, second = young(stands, job.mtbf), daly(stands, job.mtbf)

    def goodput(logarithm: float) -> float:
        trial = replace(job, interval=math.exp(logarithm))
        model = "auto" if these._replace(job=trial).undisturbed else "dilation"  # no chain each time
        return predict_checkpoints(trial, storage, number, model=model).goodput

    by_formula = these.constant and job.timer == "work" and these.apart
    if by_formula and job.mode != "asynchronous":
        best = best_alone(write, job.mtbf)
    elif by_formula:
        best = max(write, best_alone(job.snapshot, job.mtbf) if job.snapshot else 0.0)
    else:
        low = math.log(max(min(first, write) * 1e-2, 1e-9 * job.mtbf))
        high = math.log(max(job.mtbf, first, write) * (4.0 + number / storage.full_at))
        best = math.exp(_place_of_maximum(goodput, low, high))
    prediction = predict_checkpoints(replace(job, interval=best), storage, number)
    top, near = goodput(math.log(best)), 1e-3
    below = _place_of_level(goodput, math.log(best), -1, top * (1.0 - near))
    above = _place_of_level(goodput, math.log(best), +1, top * (1.0 - near))
    return BestInterval(best, prediction.goodput, first, second, prediction.method, below, above)


def jobs_that_fit(job: Checkpointing, storage: Storage, *, goodput: float, at_most: int = 100_000) -> int:
    """Return the largest number of equal jobs up to which all keep at least some goodput.

    Parameters
    ----------
    job : Checkpointing
        As for `predict_checkpoints`.
    storage : Storage
        As for `predict_checkpoints`.
    goodput : float
        Share of the time, between 0 and 1.
    at_most : int
        Jobs beyond which the search ends.

    Returns
    -------
    int
        Zero where even one job does not reach it.

    Notes
    -----
    Goodput falls with the number of jobs, but for jobs that work on while they wait, at a storage
    that is full, and for clocks: a larger number may reach it again there, which does not count.
    ``(tau + C) B / V`` jobs keep the storage busy all the time.

    Examples
    --------
    >>> job = Checkpointing(5.29e12, interval=6689.0, mtbf=89081.0, downtime=600.0)
    >>> jobs_that_fit(job, Storage(20e9), goodput=0.85)
    19
    """
    wanted = share("goodput", goodput, zero=False, one=False)
    most = whole_number("at_most", at_most, least=1)

    def reaches(number: int) -> bool:
        return predict_checkpoints(job, storage, number).goodput >= wanted

    # where more than fill the storage may reach it again, those that just do are judged first
    fill = min(storage.full_at, storage.admitted(most))
    full = math.ceil((job.interval / job.write_alone(storage) + 1.0) * fill)
    found = most_that(reaches, min(full, most))
    return found if found < full else most_that(reaches, most)


def _place_of_maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the place of the maximum of a function that has one: a grid first, then Brent's method."""
    grid = np.linspace(low, high, 60)
    values = [function(x) for x in grid]
    top = int(np.argmax(values))
    inside = (float(grid[max(top - 1, 0)]), float(grid[min(top + 1, len(grid) - 1)]))
    result = minimize_scalar(lambda x: -function(x), bounds=inside, method="bounded", options={"xatol": 1e-7})
    return float(result.x)


def _place_of_level(function: Callable[[float], float], top: float, side: int, level: float) -> float:
    """Return where a function falls to `level` on one side of its maximum; arguments are logarithms."""
    far = 1e-3
    while function(top + side * far) > level and far < 30.0:
        far *= 2.0
    near = far / 2.0 if far > 1e-3 else 0.0
    for _ in range(40):
        middle = 0.5 * (near + far)
        near, far = (middle, far) if function(top + side * middle) > level else (near, middle)
    return math.exp(top + side * far)
