"""One replication of a cell at a load, and the queue on the same jobs that makes its mean sharper."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.policies import predict
from qmodels.policies.system import Workload
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream, word
from validation.sharing.draws import Draw
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout_at_speeds
from validation.trial.bursts import MeasuredProgram
from validation.trial.loss_run import work_and_time
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell

#: Jobs measured in a replication, and those before them that fill the machine.
JOBS, WARM_UP = 600, 150


@dataclass(frozen=True, kw_only=True)
class TrialPoint(Record):
    """A cell at a rate of arrival, and how it is simulated.

    Parameters
    ----------
    cell : Cell
    arrival_rate : float
        Jobs per cycle.
    jobs, warm_up : int
        Measured in a replication, and those before them that fill the machine.
    seed : int
    speeds : tuple of float, optional
        X(1) to X(c) of a control variate, jobs per cycle.
    links, disks : str
        See `validation.trial.play_cell`.
    """

    cell: Cell
    arrival_rate: float
    jobs: int = JOBS
    warm_up: int = WARM_UP
    seed: int = 0
    speeds: tuple[float, ...] | None = None
    links: str = "shared"
    disks: str = "packets"

    @property
    def measured(self) -> slice:
        """The jobs that count, by their order of arrival."""
        return slice(self.warm_up, self.warm_up + self.jobs)

    def jobs_of(self, replication: int) -> tuple[Array, Array]:
        """Arrivals and demands of the jobs that a replication meets."""
        # jobs after the measured ones, so that these do not find the machine emptier than others
        count = self.jobs + self.warm_up + 10 * self.cell.most_running
        return draw_jobs(self.cell, self.arrival_rate, count, self.seed, replication)


@dataclass(frozen=True, eq=False)
class Replication(Record):
    """What one replication of a point found."""

    response: float  #: mean cycles over the measured jobs
    jobs: int  #: that came before the last of the measured ones left, where the run ends
    seconds: float  #: of a processor
    done: Array  #: (c,) demand done, in mean jobs, while 1 to c jobs ran
    cycles: Array  #: (c,) passed while so many ran
    control: float | None = None  #: mean cycles by the speeds of the point, if it has some


def run_one(point: TrialPoint, replication: int) -> Replication:
    """Simulate one replication of a point: the machine, and a queue at given speeds on the same jobs.

    Parameters
    ----------
    point : TrialPoint
    replication : int

    Returns
    -------
    Replication

    Notes
    -----
    The jobs hang on the seed and the replication alone: all strategies, policies and loads meet the
    same demands and, but for their unit, the same times between arrivals.
    """
    began = time.process_time()
    arrival, demand = point.jobs_of(replication)
    # What the jobs of the tail do once the measured ones have left is a quarter of the work.
    played = play_cell(
        point.cell,
        arrival,
        demand,
        seed=word(point.seed, "trial", replication),
        awaited=point.measured.stop,
        links=point.links,
        disks=point.disks,
    )
    control = None
    if point.speeds is not None:
        by_speeds = speed_scaled_responses(np.asarray(point.speeds), arrival, demand)
        control = float(by_speeds[point.measured].mean())
    links = "infinite" if point.links == "infinite" else "finite"
    done, spent = work_and_time(point.cell, played, demand, links)
    return Replication(
        float(played.response[point.measured].mean()),
        int(np.isfinite(played.arrival).sum()),
        time.process_time() - began,
        done,
        spent,
        control,
    )


def draw_jobs(cell: Cell, rate: float, count: int, seed: int, replication: int) -> tuple[Array, Array]:
    """Times of arrival and demands of so many jobs: a Poisson stream, the same for all cells."""
    gaps = stream(seed, "gaps", replication).exponential(1.0, count)
    # The uniform variates behind the demands are the same; the law turns them into factors.
    demand = cell.demand.rvs(count, random_state=stream(seed, "demands", replication))
    return np.ceil(np.cumsum(gaps) / rate), demand


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
        pauses=np.empty((0, 0)) if pauses is None else pauses,
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
