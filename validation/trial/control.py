"""Control variate: the speed-scaled queue on the very jobs that the machine was given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qmodels.policies import predict
from qmodels.policies.system import Workload
from validation.sharing import _kernels
from validation.sharing.draws import Draw
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import Layout
from validation.trial.bursts import MeasuredProgram
from validation.trial.scenario import Cell

Array = NDArray[np.float64]


def speed_scaled_responses(throughput: Array, arrival: Array, demand: Array) -> Array:
    """Response times if k running jobs always did throughput[k - 1] of mean demand per unit of time.

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
    c, jobs = throughput.size, arrival.size
    # Equal shares of the whole machine among k jobs, of one burst of computation each.
    plan = Layout(
        kind=_kernels.DYNAMIC,
        slots=c,
        limit=c,
        disciplines=np.array([_kernels.PS, _kernels.PS]),
        io_time=np.zeros((c, 1)),
        cpu_time=(np.arange(1, c + 1) / throughput).reshape(c, 1),
        disk_of=np.zeros(c, np.int64),
        processors_of=np.ones(c),
        disks_of=np.ones(1),
        pause_of=np.zeros(c, np.int64),
    )
    return play_jobs(plan, drawn(arrival, demand, 1), np.asarray(arrival, float), (0, jobs)).response


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


def control_mean(cell: Cell, throughput: Array, rate: float) -> float:
    """Mean response of that queue in the long run, exactly, in cycles.

    The jobs' own factors are its demand, whose law is known; Poisson arrivals.
    """
    work = Workload(MeasuredProgram(cell), demand=cell.demand)
    return predict(
        cell.policy, cell.system, work, arrival_rate=rate, running=throughput
    ).mean_response
