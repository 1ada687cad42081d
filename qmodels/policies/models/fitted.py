"""Policies whose jobs are fitted to a log: how far an answer is from the log, and whose tail."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from phasefit import PhaseType, tail_law
from phasefit.arrays import Array
from phasefit.errors import ModelError
from qmodels.errors import MemoryBudgetError
from qmodels.networks.many_server import ManyServerQueue
from qmodels.networks.replay import (
    Asked,
    FitError,
    drawn,
    fit_error,
    mean_stay,
    mean_wait,
    percentile,
    unknown_error,
)
from qmodels.policies.base import running_jobs
from qmodels.policies.models.base import SolvedQueue
from qmodels.policies.models.demand import demand_law, simpler_laws, time_alone
from qmodels.policies.models.mixes import mixed_demand

#: Most phases of the law of a job that is followed beside others, in a chain that has a copy of all
#: their states for each; where it is not, some ten of all lengths cost nothing.
_MOST_FOLLOWED: Final = 5
#: Most phases of the law of a job's time alone that is followed where that of the others is simpler.
_MOST_ALONE: Final = 32
#: Speeds that agree to this are one speed.
_SAME: Final = 1e-12


def own_demand(solved: SolvedQueue) -> PhaseType | None:
    """Return the law of the demand of the one job whose response is asked for, of mean one.

    Jobs wait for each other by the moments of their demand, so the chain has a law with these. How
    long a job itself runs goes by the tail: of a demand that was fitted to data it is followed with
    a law that has the percentiles of the data.

    Parameters
    ----------
    solved : SolvedQueue

    Returns
    -------
    PhaseType or None
        None where the demand was given as the chain has it, where it is not all of the job, or the
        running jobs are counted by stage, which all have in common. Where the chain has a law that was
        simplified it is the law of a job's time alone.
    """
    whole = whole_time(solved)
    if whole is not None:
        return whole
    data, known = solved.workload.demand.fitted_to, solved.queue.running.at_one_speed
    if data is None or data.values is None or known is None or not is_all_of_the_job(solved):
        return None
    most = None if np.ptp(known[1]) <= _SAME * known[1].max() else _MOST_FOLLOWED
    name = f"tail law of {most} phases"
    if name not in data.kept:
        try:
            law = tail_law(_of_some_length(data.values), order=most)
            data.kept[name] = None if law.atom > 0.0 else law.scale(1.0 / law.mean)
        except ModelError:  # too few
            data.kept[name] = None
    found: PhaseType | None = data.kept[name]
    return found


def whole_time(solved: SolvedQueue) -> PhaseType | None:
    """Return the law of a job's time where the chain of all at one speed has a simpler one; else None.

    It is that of a mix's programs, or of bursts with laws of their own, on the allotment of a full
    machine, or a demand that was given; or the nearest to it that is not too large.

    Parameters
    ----------
    solved : SolvedQueue
    """
    workload, known = solved.workload, solved.queue.running.demand
    if known is None:
        return None
    full = time_alone(workload, *solved.policy.allotment(solved.system))
    if full is None or full is known or (full is workload.demand and full.fitted_to is not None):
        return None
    for law, _ in simpler_laws(full):
        if known.order < law.order <= _MOST_ALONE:
            return law.scale(1.0 / law.mean)
    return None


def _of_some_length(values: Array) -> Array:
    """The same with half of the shortest job in place of none, as a log of seconds has it."""
    some = values[values > 0.0]
    return np.maximum(values, 0.5 * some.min()) if some.size else values


def is_all_of_the_job(solved: SolvedQueue) -> bool:
    """Whether what a job needs is its demand times one program's time, the same for all jobs."""
    workload = solved.workload
    if workload.has_bursts:
        return False
    return mixed_demand(workload, *solved.policy.allotment(solved.system)) is workload.demand


def queue_alike(solved: SolvedQueue) -> tuple[Array, float | None, float | None] | None:
    """Speeds of 1..c running jobs in a queue like a model's, and the means that its laws have there.

    Parameters
    ----------
    solved : SolvedQueue

    Returns
    -------
    speeds : (c,) ndarray
        In mean jobs per second.
    wait, response : float or None
        Mean times in seconds; None where the model is this queue. None in place of all where the
        queue would not fit in memory.
    """
    known = solved.queue.running.at_one_speed
    if known is not None:
        return known[1], None, None
    jobs = running_jobs(solved.policy, solved.system, solved.workload)
    speeds = jobs.speeds * (solved.built.capacity / jobs.throughput[-1])
    demand = demand_law(solved.policy, solved.system, solved.workload)[0]
    try:
        alike = ManyServerQueue(solved.queue.arrivals, demand, speeds=speeds).solve()
    except MemoryBudgetError:
        return None
    return speeds, alike.mean_wait, alike.mean_response


def error_of_fit(
    solved: SolvedQueue,
    of: str,
    q: float | None,
    predicted: float,
    *,
    interval: bool = True,
    described: str = "",
) -> FitError | None:
    """How far an answer is from the data that the laws were fitted to; None for given laws.

    Parameters
    ----------
    solved : SolvedQueue
    of : {"wait", "response"}
    q : float or None
        Of the percentile that this share does not exceed; None for the mean.
    predicted : float
        The answer, seconds.
    interval : bool
        See `qmodels.networks.replay.fit_error`.
    described : str
        What the jobs that the answer is of were drawn as, where it is not that of the laws.

    Notes
    -----
    The jobs of the data are played through a queue in which each of k running ones gets on at the
    speed v(k) of the policy. Where the answer is that queue's, this is all. Where it is another
    model's, the ratio of the data to the laws in this queue is taken for that of the model.
    """
    workload = solved.workload
    if not workload.fitted:
        return None
    words = f"mean {of}" if q is None else f"p{100.0 * q:g} of the {of}"
    if not is_all_of_the_job(solved):
        return unknown_error(words, predicted)
    arrivals = solved.queue.arrivals
    asked: Asked
    asked = (mean_wait if of == "wait" else mean_stay) if q is None else partial(percentile, of == "wait", q)
    alike = queue_alike(solved)
    if alike is None:
        return unknown_error(words, predicted)
    speeds, by_wait, by_response = alike
    by_laws = by_wait if of == "wait" else by_response
    if by_laws is not None and described:
        # the answer is of jobs that were played, at the ratio of the model to this queue
        by_laws *= predicted / (
            (solved.chain.mean_excess() if of == "wait" else solved.chain.mean_level())
            / solved.queue.arrival_rate
        )
    elif by_laws is not None and q is not None:
        by_laws = drawn(arrivals, demand_law(solved.policy, solved.system, workload)[0], speeds, asked)
    return fit_error(
        arrivals,
        workload.demand,
        speeds,
        of=words,
        asked=asked,
        predicted=predicted,
        by_laws=by_laws,
        interval=interval,
        described=described,
    )
