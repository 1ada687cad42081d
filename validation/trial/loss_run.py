"""The mesh as a flow-equivalent server: how fast k running jobs get on, measured by a loss run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from phasefit.arrays import Array
from phasefit.checks import positive_vector, real_array, real_number, share, whole_number
from phasefit.records import Result
from qmodels.errors import ModelError
from qmodels.policies import SpeedTable
from qmodels.policies.base import running_jobs
from qmodels.progress import Progress, no_progress
from validation.analysis.seeding import stream, word
from validation.trial.bursts import alone, workload
from validation.trial.history import COMPUTE, TRANSFER, LossArrivals, Played
from validation.trial.machine import play_cell
from validation.trial.scenario import Cell
from validation.trial.size_shares import SizeShares, scores_in_parts, shares_of_parts

if TYPE_CHECKING:
    import pandas as pd

#: Fresh starts, and jobs of each for every number of running jobs that there may be.
STARTS: Final = 10
JOBS_EACH: Final = 40
#: Least jobs of a start, and of the pilot that finds rates at which all numbers are seen.
LEAST_JOBS, PILOT_JOBS = 120, 60
#: Parts of each start whose spread says how well all are known, and jobs of a part, at the least,
#: for each that may run.
PARTS, PART_JOBS = 4, 2
#: Load of the queue that a loss run is, see `loss_run`; 0 is the plain loss system of the
#: specification. With three quarters a full machine is left after four ends in the mean, between
#: those of loads .6 and .9.
WAITING: Final = 0.75
#: Standard deviation of the factor by which speeds in a queue differ from those of a loss run, by
#: what a policy does with its partitions: `errors_of_rows` of the record before that of today, with
#: its rows of DP(2) and TS made anew, rounded up. So docs/record/trial.csv judges intervals that
#: were fixed before it; of itself it says .0025, .0035 and .0064.
SPACE, DIVIDED, TURNS = 0.0022, 0.0040, 0.0065


@dataclass(frozen=True, eq=False)
class LossRun(Result):
    """What a loss run measured: how much k running jobs do, and who of them does it."""

    #: (starts, parts, 2, c) demand done while k = 1..c ran, in jobs of mean demand, and for how
    #: many cycles, in equal parts of the time of each start
    parts: Array
    part_scores: Array  #: (starts, parts, c, powers) of how running jobs share that work
    rates: Array  #: (c,) at which jobs came while 0..c-1 ran
    jobs: int  #: simulated, the pilot's included
    seconds: float  #: of a processor that it took
    label: str
    model_error: float = 0.0  #: share by which they are off in a queue, see `model_error`

    @property
    def spans(self) -> Array:
        """Cycles of each start with k = 1..c running, (starts, c)."""
        summed: Array = self.parts[:, :, 1].sum(axis=1)
        return summed

    @property
    def measured(self) -> SpeedTable:
        """X(k) with their covariance over all parts of the starts."""
        return speeds_of_parts(self.parts, f"loss run of {len(self.parts)} starts, {self.label}")

    @property
    def shares(self) -> SizeShares:
        """By what power of their demand the running jobs share those speeds."""
        return shares_of_parts(self.part_scores)

    @property
    def table(self) -> SpeedTable:
        """The same with what is known of their error in a queue, for `qmodels.predict`."""
        return self.measured.less_sure(self.model_error)

    def plot(self, ax: Any = None) -> Any:
        """Draw the speeds with their intervals; see `SpeedTable.plot`."""
        return self.table.plot(ax)

    def record(self) -> dict[str, Any]:
        """The speeds and what they took."""
        return {"label": self.label, "jobs": self.jobs, "seconds": self.seconds} | {
            "speeds": self.table.to_frame(),
            "shares": self.shares.powers,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row for each number of running jobs."""
        return self.table.to_frame()


def loss_run(
    cell: Cell,
    *,
    starts: int = STARTS,
    jobs: int | None = None,
    rates: ArrayLike | None = None,
    drive: float | None = None,
    waiting: float = WAITING,
    links: str = "shared",
    disks: str = "packets",
    seed: int = 0,
    progress: Progress = no_progress,
) -> LossRun:
    """Measure how fast k = 1..c running jobs get on together.

    Parameters
    ----------
    cell : Cell
    starts : int
        Independent runs from an empty machine, at least 2. The spread of their parts goes into the
        interval.
    jobs : int, optional
        Jobs of each start; by default `JOBS_EACH` for each number of running jobs.
    rates : (c,) array_like, optional
        At which jobs come while 0..c-1 run, per cycle; by default `waiting` times X(c) for all,
        as a pilot run measures it. With ``waiting=0`` what that measures for X(1..c), which has
        the machine spend about as much time with every number.
    drive : float, optional
        One rate of arrival for all numbers instead, such as the one of interest.
    waiting : float
        Jobs come, and wait, while c run too, at this share of the rate X(c); below 1. With 0 it
        is the loss system of the specification. Of given `rates` or `drive` it is the share of
        the last.
    links, disks
        See `play_cell`.
    seed : int
    progress : callable
        Called as ``progress("loss run", done, starts)``.

    Returns
    -------
    LossRun

    Raises
    ------
    ModelError
        If some number of running jobs was seen in one part of a start at most, or the arguments
        make no run.

    Notes
    -----
    X(k) is the demand credited while k jobs run over the time with k running. Permanent jobs in a
    closed system would freeze their placements, for the only free nodes would always be those of
    the job that just left. In a plain loss system, ``waiting=0``, placements mix more than in a
    busy queue, where a waiting job takes the place of one that leaves; and under dynamic
    partitioning every start on the last place divides the processors, which in a busy queue is
    rare. So X(c) was 1 % below that of a queue there. With jobs that wait it is measured in busy
    periods of medium length, and longer, since it is what a response time hangs on most.

    Each start is cut into `PARTS` parts of equal time, fewer where that would leave less than
    `PART_JOBS` jobs to a part for each that may run. Parts of a start are as good as independent:
    on 4x8 the variance of a start was .6 to 1.35 times what its four parts say, .97 on average (SP
    and TS by Random, 60 and 300 jobs, 48 speeds). So two starts know their own error by three to
    five degrees of freedom instead of one, as many as `speeds_of_runs` says.

    Where k jobs may lie on the partitions in several ways, as under time sharing, X(k) is a mean
    over these, and hangs on how k is reached. In a plain loss system, whose arrivals are faster the
    more jobs run, k is reached from above more often than in a queue. So jobs come at one rate, as
    in the queue of that load.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 2}, strategy="MC", cpu_to_io=2.0)
    >>> run = loss_run(cell, starts=2, jobs=20)
    >>> run.spans.shape
    (2, 2)
    """
    began = time.thread_time()
    starts, most = whole_number("starts", starts, least=2), cell.most_running
    waiting = share("waiting", waiting, one=False)
    play = partial(play_start, cell, links=links, disks=disks, seed=seed)
    if jobs is None:
        jobs = max(LEAST_JOBS, JOBS_EACH * most)
    jobs = whole_number("jobs", jobs, least=1)
    chosen, spent = _arrival_rates(cell, rates, drive, waiting, play)
    found, scores = [], []
    for start in range(starts):
        times, score = play(chosen, jobs, start)
        found.append(times)
        scores.append(score)
        progress("loss run", start + 1, starts)
    run = LossRun(
        np.array(found),
        np.array(scores),
        chosen[:-1],
        starts * jobs + spent,
        time.thread_time() - began,
        cell.label,
        model_error(cell),
    )
    _ = run.measured  # tells of a number of running jobs that was not seen
    return run


def _arrival_rates(
    cell: Cell,
    rates: ArrayLike | None,
    drive: float | None,
    waiting: float,
    play: Callable[[Array, int, str], tuple[Array, Array]],
) -> tuple[Array, int]:
    """Rates at which jobs come while 0..c run, (c + 1,), and the jobs of a pilot run for them."""
    most = cell.most_running
    if rates is not None or drive is not None:
        if drive is None:
            chosen = positive_vector("rates", np.asarray(rates))
        elif rates is None:
            chosen = np.full(most, real_number("drive", drive, above=0.0))
        else:
            raise ModelError("give rates or drive, one rate for all, not both")
        if chosen.size != most:
            raise ModelError(f"{chosen.size} rates for 0 to {most - 1} running jobs; give {most}")
        return np.append(chosen, waiting * chosen[-1]), 0
    speeds = running_jobs(cell.policy, cell.system, workload(cell)).throughput
    spent = max(PILOT_JOBS, 6 * most)
    done, lasted = play(np.append(speeds, 0.0), spent, "pilot")[0].sum(axis=0)
    speeds = np.divide(done, lasted, out=speeds, where=done > 0.0)
    if waiting > 0.0:
        return np.full(most + 1, waiting * speeds[-1]), spent
    return np.append(speeds, 0.0), spent


def play_start(
    cell: Cell, rates: Array, jobs: int, start: int | str, *, links: str, disks: str, seed: int
) -> tuple[Array, Array]:
    """Work done and cycles with 1..c running, in parts of one run from an empty machine.

    Jobs come at `rates` (c + 1,) while 0..c run. Returned are (parts, 2, c), and the scores of how
    running jobs shared the work in each part, (parts, c, powers).
    """
    rng = stream(seed, "loss run", start)
    demands = cell.demand.rvs(jobs, random_state=rng)
    # The last jobs to come find the machine as full as the others did, so the run ends with them.
    played = play_cell(
        cell,
        LossArrivals(rates, rng),
        demands,
        links=links,
        disks=disks,
        seed=word(seed, "loss run messages", start),
        completions=max(1, jobs - cell.most_running),
    )
    where = "infinite" if links == "infinite" else "finite"
    credits, most = credits_of(cell, played, demands, where), cell.most_running
    parts = max(1, min(PARTS, jobs // (PART_JOBS * most)))
    return (
        played.in_parts(credits, most, parts)[:, :, 1:],
        scores_in_parts(played, credits, demands, most, parts),
    )


def work_and_time(cell: Cell, played: Played, demands: Array, links: str = "finite") -> tuple[Array, Array]:
    """Demand done while k = 1..c jobs ran, in jobs of mean demand, and for how many cycles."""
    most = cell.most_running
    done, lasted = played.in_parts(credits_of(cell, played, demands, links), most, 1)[0]
    return done[1:], lasted[1:]


def credits_of(cell: Cell, played: Played, demands: Array, links: str = "finite") -> Array:
    """Share of a mean job's demand that each piece of a burst is, (pieces,).

    Bursts count by the time that they take alone on the allotment with all partitions taken.
    """
    bursts, shape = alone(cell, cell.partitions, links), cell.shape
    nodes = cell.nodes_of(cell.partitions)
    factor = demands[played.pieces[:, 0].astype(int)]
    kind, share = played.pieces[:, 2].astype(int), played.pieces[:, 5]
    io = np.maximum(bursts.io.fixed + bursts.io.slope * factor, 0.0)
    work = shape.cpu_cycles * factor / nodes
    talk = np.maximum(bursts.cpu.fixed + bursts.cpu.slope * factor - work, 0.0)
    worth = np.where(kind == TRANSFER, io, np.where(kind == COMPUTE, work, talk))
    result: Array = share * worth / bursts.job(shape.phases)
    return result


def speeds_of_runs(work: ArrayLike, spans: ArrayLike, source: str = "") -> SpeedTable:
    """X(k) as work over time of all runs together, with the covariance of their spread.

    Parameters
    ----------
    work, spans : (runs, c) array_like
        Demand done while k = 1..c jobs ran, in mean jobs, and for how long; a number of jobs that
        some run did not see has 0 in both.
    source : str
        Where they come from, for `SpeedTable`.

    Returns
    -------
    SpeedTable

    Raises
    ------
    ModelError
        If there are fewer than two runs, or fewer than two saw some number of jobs.

    Notes
    -----
    A mean of quotients would be off by the order of one over the jobs of a run, and a response
    time is several times as sensitive; a quotient of sums, as in renewal reward processes, is off
    only by one over all jobs. Its errors are those of ``work - X spans``, linearised [1]_. The
    variance of these is taken to grow with the time, so that their squares come to 1 - sum h^2 of
    what they stand for, h being the share of each run in the time with k jobs. Where few runs saw
    most of it that is much less than 1 - 1 / runs. The degrees of freedom are 1 / sum h^2 - 1 for
    each number of jobs: one less than the runs where all saw it alike.

    References
    ----------
    .. [1] W. G. Cochran, *Sampling Techniques*, 3rd ed., Wiley 1977, ch. 6.

    Examples
    --------
    Ten jobs in a hundred seconds, and two in ten; each second counts alike, whoever saw it:

    >>> found = speeds_of_runs([[10.0], [2.0]], [[100.0], [10.0]])
    >>> round(float(found.throughput[0]), 4)
    0.1091
    """
    done, lasted = real_array("work", work), real_array("spans", spans)
    if done.ndim != 2 or len(done) < 2 or done.shape != lasted.shape:
        raise ModelError(
            f"work and spans must have a row for each of two or more runs; got {done.shape} and "
            f"{lasted.shape}"
        )
    seen = (lasted > 0.0).sum(axis=0)
    if seen.min() < 2:
        raise ModelError(
            f"all runs but {int(seen.min())} never had {1 + int(seen.argmin())} jobs running; use "
            f"more jobs, or rates that lead there"
        )
    whole = lasted.sum(axis=0)
    speeds, share = done.sum(axis=0) / whole, lasted / whole
    crowding = (share**2).sum(axis=0)  # 1 / runs where all saw it alike, 1 where only one did
    errors = (done - speeds * lasted) / whole / np.sqrt(1.0 - crowding)
    return SpeedTable(speeds, errors.T @ errors, np.maximum(1.0 / crowding - 1.0, 1.0), source)


def speeds_of_parts(parts: ArrayLike, source: str = "") -> SpeedTable:
    """The same of runs that are cut into parts as good as independent, (runs, parts, 2, c)."""
    rows = real_array("parts", parts)
    work, spans = np.moveaxis(rows, 2, 0).reshape(2, -1, rows.shape[-1])
    return speeds_of_runs(work, spans, source)


def model_error(cell: Cell) -> float:
    """The share by which the speeds of a loss run are off in a queue, as recorded for such cells.

    Examples
    --------
    >>> cell = Cell.of(rows=4, columns=4, policy="SP", policy_options={"processor_partitions": 2,
    ...     "disk_partitions": 2}, strategy="MC", cpu_to_io=2.0)
    >>> model_error(cell) == SPACE
    True
    """
    if cell.repartitioned:
        return DIVIDED
    return TURNS if cell.arrangement.multiprogramming > 1 else SPACE
