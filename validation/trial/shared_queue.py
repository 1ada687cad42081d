"""A queue whose running jobs share by size, played; and what that makes of a predicted response."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Final, NamedTuple

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import positive_vector, real_number, whole_number
from qmodels.errors import ModelError
from qmodels.policies import SpeedTable, predict
from qmodels.policies.models.time_sharing_loads import Machine
from qmodels.policies.prediction import CONFIDENCE
from validation.analysis.seeding import stream
from validation.trial.bursts import workload
from validation.trial.scenario import Cell
from validation.trial.size_shares import SizeShares

#: Queues that are played side by side, jobs measured in each, and those before that fill it.
QUEUES, MEASURED, BEFORE = 96, 400, 150
SEED: Final = 190_816
#: Nearest that a load may come to the capacity, for how jobs lie there.
_FULL: Final = 0.99


class ShareFactor(NamedTuple):
    """Mean response under shares by size over that under equal ones."""

    mean: float
    standard_error: float  #: of the queues played, and of the powers
    played_error: float = 0.0  #: of the queues played alone


class CorrectedResponse(NamedTuple):
    """Mean response that is predicted of measured speeds and shares, in cycles."""

    mean: float
    half_width: float  #: of its interval, of the confidence of all predictions


def shared_responses(speeds: Array, powers: Array, arrival: Array, demand: Array) -> Array:
    """Response times of jobs, k of which do speeds[k - 1] and share it by demand ** powers[k - 1].

    Parameters
    ----------
    speeds, powers : (c,) or (queues, c) ndarray
        At most c run, the others wait in order of arrival.
    arrival, demand : (queues, jobs) ndarray
        A row for each queue, times in order; demands > 0, a mean job's is 1.

    Returns
    -------
    (queues, jobs) ndarray

    Raises
    ------
    ModelError
        If a demand is not positive.

    Examples
    --------
    Jobs of 1 and 3 that share by size end together; in equal shares the first is done at 2:

    >>> at, work = np.zeros((1, 2)), np.array([[1.0, 3.0]])
    >>> one = np.ones(2)
    >>> [shared_responses(one, power * one, at, work).round(9).tolist() for power in (1, 0)]
    [[[4.0, 4.0]], [[2.0, 4.0]]]
    """
    if not (demand > 0.0).all():
        raise ModelError("demands must be positive: a power of nothing is no share")
    queues, jobs = arrival.shape
    places = np.asarray(speeds).shape[-1]
    speeds, powers = (
        np.broadcast_to(np.asarray(given, float), (queues, places)) for given in (speeds, powers)
    )
    rows = np.arange(queues)
    left = np.full((queues, places), np.inf)  # inf: no job there
    size = np.zeros((queues, places))  # its logarithm
    owner = np.zeros((queues, places), np.int64)
    come, begun = np.zeros(queues, np.int64), np.zeros(queues, np.int64)
    now, finish = np.zeros(queues), np.empty((queues, jobs))
    count = np.zeros(queues, np.int64)
    ahead = np.column_stack([arrival, np.full(queues, np.inf)])
    logs = np.log(demand)
    for _ in range(2 * jobs):  # every job comes once and ends once
        k = np.maximum(count, 1) - 1
        there = np.isfinite(left)
        power = powers[rows, k][:, None]
        weight = np.where(there, np.exp(np.clip(power * size, -300.0, 300.0)), 0.0)
        rate = weight * (speeds[rows, k] / np.maximum(weight.sum(axis=1), 1e-300))[:, None]
        lasts = np.where(there, left / np.maximum(rate, 1e-300), np.inf)
        first = lasts.argmin(axis=1)
        ends, comes = now + lasts[rows, first], ahead[rows, come]
        arrives = comes < ends
        then = np.minimum(comes, ends)
        left = np.where(there, left - rate * (then - now)[:, None], np.inf)
        now = then
        gone = rows[~arrives]
        finish[gone, owner[gone, first[gone]]] = now[gone]
        left[gone, first[gone]] = np.inf
        count[gone] -= 1
        come[arrives] += 1
        starts = rows[(begun < come) & (count < places)]
        if starts.size:
            place, job = np.isinf(left[starts]).argmax(axis=1), begun[starts]
            left[starts, place], size[starts, place] = demand[starts, job], logs[starts, job]
            owner[starts, place] = job
            begun[starts] += 1
            count[starts] += 1
    return finish - arrival


def share_factor(
    cell: Cell,
    speeds: Array,
    shares: SizeShares,
    arrival_rate: float,
    *,
    queues: int = QUEUES,
    jobs: int = MEASURED,
    seed: int = SEED,
) -> ShareFactor:
    """What shares by size make of the mean response, played on the same jobs as equal shares.

    Parameters
    ----------
    cell : Cell
        For its law of demand.
    speeds : (c,) ndarray
        X(1) to X(c), jobs of mean demand per cycle.
    shares : SizeShares
    arrival_rate : float
        Jobs per cycle, below the last speed.
    queues, jobs : int
        Played side by side, at least 2, and measured in each.
    seed : int

    Returns
    -------
    ShareFactor
        1 for equal shares.

    Raises
    ------
    ModelError
        If powers and speeds are not of one length, or the queue has no steady state.

    Notes
    -----
    In a symmetric queue [1]_ the number of jobs does not depend on how demand is distributed. Where
    larger jobs get more it does: short ones stay longer, there are more of them, and the mean
    response is longer at the same speeds.

    References
    ----------
    .. [1] F. P. Kelly, *Reversibility and Stochastic Networks*, Wiley 1979, section 3.3.
    """
    speeds = positive_vector("speeds", speeds)
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    queues, jobs = whole_number("queues", queues, least=2), whole_number("jobs", jobs, least=1)
    if shares.powers.size != speeds.size:
        raise ModelError(f"{shares.powers.size} powers for speeds of {speeds.size} running jobs")
    if rate >= speeds[-1]:
        raise ModelError(f"{rate:g} jobs per cycle come, and no more than {speeds[-1]:g} end")
    if not shares.powers[1:].any():
        return ShareFactor(1.0, 0.0)
    rng, count = stream(seed, "shared queues"), BEFORE + jobs + 10 * speeds.size
    arrival = np.cumsum(rng.exponential(1.0 / rate, (queues, count)), axis=1)
    law = cell.demand.rvs(queues * count, random_state=rng).reshape(queues, count)
    demand = np.maximum(law, 1e-9)
    powers = np.repeat([shares.powers, np.zeros(speeds.size)], queues, axis=0)
    both = shared_responses(speeds, powers, np.tile(arrival, (2, 1)), np.tile(demand, (2, 1)))
    by_size, equal = both[:, BEFORE : BEFORE + jobs].mean(axis=1).reshape(2, queues)
    factor = float(by_size.sum() / equal.sum())
    off = by_size - factor * equal
    played = float(off.std(ddof=1)) / queues**0.5 / float(equal.mean())
    return ShareFactor(factor, float(np.hypot(played, (factor - 1.0) * shares.error)), played)


def corrected_response(
    cell: Cell, table: SpeedTable, arrival_rate: float, factor: ShareFactor | None = None
) -> CorrectedResponse:
    """Mean response at measured speeds, and at measured shares of them, in cycles.

    Parameters
    ----------
    cell : Cell
    table : SpeedTable
        How much all running jobs do.
    arrival_rate : float
        Jobs per cycle.
    factor : ShareFactor, optional
        Of `share_factor`: who of them does it. None for equal shares.

    Returns
    -------
    CorrectedResponse
        Its interval carries those of the speeds and of the shares.

    Raises
    ------
    UnstableError
        If the arrival rate is beyond the capacity that `table` states.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 2}, strategy="MC", cpu_to_io=2.0)
    >>> table = SpeedTable([5e-6, 1e-5])
    >>> by_size = share_factor(cell, table.throughput, SizeShares([0.0, 0.6]), 8e-6)
    >>> equal, unequal = (corrected_response(cell, table, 8e-6, f) for f in (None, by_size))
    >>> unequal.mean > equal.mean
    True
    """
    ask = partial(predict, cell.policy, cell.system, workload(cell), model="speed-scaled")
    made = ask(arrival_rate=arrival_rate, running=table)
    mean, half = made.mean_response, made.half_width or 0.0
    times, error, _ = factor or ShareFactor(1.0, 0.0)
    width = float(np.hypot(times * half, table.quantile(CONFIDENCE) * mean * error))
    return CorrectedResponse(times * mean, width)


def speeds_at(cell: Cell, table: SpeedTable, rate: float, measured_rate: float) -> SpeedTable:
    """The speeds of k running jobs at a rate of arrival, measured at another.

    Parameters
    ----------
    cell : Cell
    table : SpeedTable
        As measured while jobs came at `measured_rate`, whoever ran.
    rate, measured_rate : float
        Jobs per cycle.

    Returns
    -------
    SpeedTable
        `table` itself where each partition has one job.

    Notes
    -----
    Under time sharing k jobs may lie on k partitions, or in pairs on fewer. The busier the machine
    is, the more often it comes to k from above, with pairs left over, so that at load .3 two jobs
    are up to 7 % faster than in a loss run at .75. The model of time sharing follows how jobs lie
    on the partitions. What it says of k jobs at both loads is put on the measured speeds; how fast
    they are at all is not taken from it.

    Examples
    --------
    >>> options = {"processor_partitions": 2, "disk_partitions": 2}
    >>> cell = Cell.of(rows=4, columns=4, policy="TS", policy_options=options, strategy="MC",
    ...     cpu_to_io=8.0)
    >>> table = SpeedTable([1e-5, 1.8e-5, 2e-5, 2.1e-5])
    >>> seldom = speeds_at(cell, table, 0.3 * 2.1e-5, 0.75 * 2.1e-5)
    >>> (seldom.throughput / table.throughput).round(3).tolist()
    [1.0, 1.053, 1.0, 1.0]
    """
    if cell.arrangement.multiprogramming == 1:
        return table
    capacity = float(table.throughput[-1])
    factors = _work(cell, rate / capacity) / _work(cell, measured_rate / capacity)
    spread = table.covariance
    return replace(
        table,
        throughput=table.throughput * factors,
        covariance=None if spread is None else spread * np.outer(factors, factors),
    )


# A row of a comparison asks for the same ones for each strategy; a few numbers each.
@lru_cache(maxsize=256)
def _work(cell: Cell, load: float) -> Array:
    """Work per cycle of 1..c running jobs at a share of the capacity, as the model has it, (c,)."""
    # which jobs are long does not matter for how they lie
    machine = Machine.of(cell.arrangement.at_mean_sizes(), workload(cell), scv=1.0)
    capacity = machine.partitions(None).work[-1]
    return machine.partitions(min(load, _FULL) * float(capacity)).work[1:]
