"""A log of jobs replayed on the mesh, held against a prediction, and what its dependence costs."""

from __future__ import annotations

import math

import numpy as np

from phasefit import match_moments
from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from qmodels.policies import SpeedTable, Workload, predict
from qmodels.progress import Progress, no_progress
from validation.analysis.estimates import Estimate, estimate
from validation.analysis.seeding import stream, word
from validation.jobs.renewal import ReplayedJobs
from validation.trial.agreement import DEPENDENCE, Agreement, Cause, Measured
from validation.trial.bursts import MeasuredProgram
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell


def replay_on_mesh(
    cell: Cell,
    log: ReplayedJobs,
    arrival_rate: float,
    running: SpeedTable,
    *,
    shuffles: int = 8,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Agreement[Measured]:
    """Play the jobs of a log in their own order and in random orders, and predict.

    Parameters
    ----------
    cell : Cell
        Its law of demand plays no part; the log's work does.
    log : ReplayedJobs
        Times between arrivals and work, both relative to their means.
    arrival_rate : float
        Jobs per cycle.
    running : SpeedTable
        Of a loss run.
    shuffles : int
        Random orders, at least 2, of the times between arrivals and of the work, each by itself.
    seed : int
    progress : callable
        Called as ``progress("orders", done, shuffles + 1)``.

    Returns
    -------
    Agreement
        The prediction is of independent times with the first two moments of the log's. Its cause
        is the dependence: the log in its own order less the mean of the random orders, with
        their interval; `Agreement.unexplained` is what the prediction is off on random orders. A
        log is one history, so no interval is claimed for its own mean.

    Raises
    ------
    UnstableError
        If the arrival rate is beyond the capacity that `running` states.
    ModelError
        If the arguments make no run.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 2}, strategy="MC", cpu_to_io=2.0)
    >>> log = ReplayedJobs(np.tile([0.2, 1.8], 10), np.tile([0.5, 1.5, 1.5, 0.5], 5))
    >>> found = replay_on_mesh(cell, log, 5e-6, SpeedTable([5e-6, 1e-5]), shuffles=2)
    >>> [cause.name for cause in found.causes], found.verdict
    (['dependence of arrivals and demands'], 'undecided')
    """
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    shuffles = whole_number("shuffles", shuffles, least=2)
    gaps, work = np.asarray(log.interarrivals), np.asarray(log.demands)
    arrivals, demand = (match_moments(1.0, 1.0 + scv) for scv in log.scvs)
    workload = Workload(MeasuredProgram(cell), demand=demand, arrivals=arrivals)
    prediction = predict(cell.policy, cell.system, workload, arrival_rate=rate, running=running)
    own = _mean_response(cell, gaps / rate, work, seed)
    progress("orders", 1, shuffles + 1)
    found = []
    for number in range(shuffles):
        rng = stream(seed, "orders", number)
        orders = rng.permutation(gaps.size), rng.permutation(gaps.size)
        found.append(_mean_response(cell, gaps[orders[0]] / rate, work[orders[1]], seed))
        progress("orders", number + 2, shuffles + 1)
    apart = estimate(found)
    effect = Estimate(own - apart.mean, apart.half_width, apart.confidence, shuffles)
    held = Measured(Estimate(own, math.inf, apart.confidence, 1), "one history, replayed")
    return Agreement(prediction=prediction, simulation=held, causes=(Cause(DEPENDENCE, effect),))


def _mean_response(cell: Cell, gaps: Array, work: Array, seed: int) -> float:
    """Mean over all jobs, once round, after its last quarter has filled the machine."""
    n, before = gaps.size, gaps.size // 4
    order = (np.arange(before + n + 10 * cell.most_running) - before) % n
    arrival = np.cumsum(gaps[order])
    played = play_cell(cell, arrival, work[order], seed=word(seed, "replayed"))
    return float(played.response[before : before + n].mean())
