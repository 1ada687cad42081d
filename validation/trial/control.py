"""Control variate: the queue of the prediction on the very jobs that the machine was given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qmodels.errors import ModelError
from qmodels.policies import predict
from qmodels.policies.system import Workload
from validation.analysis.estimates import Estimate
from validation.sharing.draws import Draw
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout_at_speeds
from validation.trial.bursts import MeasuredProgram
from validation.trial.scenario import Cell

Array = NDArray[np.float64]


def speed_scaled_responses(throughput: Array, arrival: Array, demand: Array) -> Array:
    """Response times of jobs of which any k that run do throughput[k - 1] of mean demand.

    Parameters
    ----------
    throughput : (c,) ndarray
    arrival, demand : (jobs,) ndarray
        The demand of a mean job is 1.

    Returns
    -------
    (jobs,) ndarray

    Examples
    --------
    Alone at half a job per second, then two together at one job per second:

    >>> speed_scaled_responses(np.array([0.5, 1.0]), np.zeros(2), np.ones(2)).tolist()
    [2.0, 2.0]
    """
    plan, work = layout_at_speeds(throughput), drawn(arrival, demand, 1)
    return play_jobs(plan, work, np.asarray(arrival, float), (0, arrival.size)).response


def drawn(arrival: Array, demand: Array, phases: int, pauses: Array | None = None) -> Draw:
    """Given jobs as the job-level simulator takes them, every burst in proportion to demand."""
    return Draw(
        gaps=np.diff(arrival, prepend=0.0),
        demand=np.asarray(demand, dtype=float),
        first_phase=np.arange(arrival.size + 1, dtype=np.int64) * phases,
        io_factor=np.ones(1),
        cpu_factor=np.ones(1),
        pauses=np.empty((0, 0)) if pauses is None else pauses,
        picks=np.zeros(1),
    )


def controlled(
    responses: ArrayLike,
    controls: ArrayLike,
    known: float,
    *,
    known_error: float = 0.0,
    confidence: float = 0.95,
) -> tuple[Estimate, Array]:
    """Mean of the responses with what their controls miss of a known mean taken off.

    Parameters
    ----------
    responses, controls : (replications,) array_like
        Paired, of independent replications; at least 4.
    known : float
        The mean of the controls in the long run.
    known_error : float
        Standard error of that, if it was played itself; 0 if it is exact.
    confidence : float

    Returns
    -------
    estimate : Estimate
        By linear regression; its degrees of freedom are two less than the replications.
    values : (replications,) ndarray
        The responses less what the regression explains, for paired differences.

    Raises
    ------
    ModelError
        If there are fewer than 4 replications.

    References
    ----------
    .. [1] S. S. Lavenberg, P. D. Welch, "A perspective on the use of control variables to increase
       the efficiency of Monte Carlo simulations", *Management Science* 27 (3), 1981.

    Examples
    --------
    >>> found, _ = controlled([3.1, 4.9, 7.0, 9.1], [1.0, 2.0, 3.0, 4.0], 2.0)
    >>> round(found.mean, 3), found.half_width < 0.4
    (5.02, True)
    """
    from scipy.special import stdtrit

    y, x = (np.asarray(values, dtype=float) for values in (responses, controls))
    n = y.size
    if n < 4 or x.shape != y.shape:
        raise ModelError(f"a control variate needs 4 or more pairs, got {y.size} and {x.size}")
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float((x - x.mean()) @ y / spread) if spread > 0.0 else 0.0
    values = y - slope * (x - known)
    error = float(((values - values.mean()) ** 2).sum() / (n - 2))
    leverage = (x.mean() - known) ** 2 / spread if spread > 0.0 else 0.0
    variance = error * (1.0 / n + leverage) + (slope * known_error) ** 2
    half = float(stdtrit(n - 2, (1.0 + confidence) / 2.0) * variance**0.5)
    return Estimate(float(values.mean()), half, confidence, n - 1), values


def control_mean(cell: Cell, throughput: Array, rate: float) -> float:
    """Mean response of that queue in the long run, exactly, in cycles.

    The jobs' own factors are its demand, whose law is known; Poisson arrivals. All running jobs
    have one speed, as in `speed_scaled_responses`, whatever model the policy has otherwise.
    """
    work = Workload(MeasuredProgram(cell), demand=cell.demand)
    return predict(
        cell.policy, cell.system, work, arrival_rate=rate, model="speed-scaled", running=throughput
    ).mean_response
