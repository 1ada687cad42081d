"""Measured, replayed and predicted response times of a row beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.arrays import Array
from phasefit.records import Record
from validation.analysis.estimates import Estimate, estimate
from validation.slurm.prediction import predict_row
from validation.slurm.replay import Latencies, replay, replay_easy, responses
from validation.slurm.rows import Measurement

#: Parts of a row, side by side, whose means give the interval of what was measured.
PARTS = 10


@dataclass(frozen=True)
class ComparedRow(Record):
    """The three answers for one row; times in seconds.

    ``measured / replayed`` is what our simulator leaves out, ``replayed / predicted`` the model and
    its laws, ``predicted / measured`` what a user gets.
    """

    policy: str  #: label, or order of rigid jobs
    disks: str  #: how many are shared and how they serve, or "none"
    load: float  #: of the jobs alone
    seed: int  #: of the jobs
    jobs: int  #: their number
    nodes: int  #: of the lab
    mean_size: float  #: time of a job on its nodes
    start_latency: float  #: that the lab measured before
    dead_time: float  #: the same, from an end to the next start
    measured_wait: float  #: mean, until a job's first moment
    measured: float  #: mean response time
    measured_half_width: float  #: of the process behind, from ten parts of the row
    replayed: float  #: mean response time in our simulator, with the latencies
    replayed_bare: float  #: without latencies
    replayed_easy: float  #: under backfilling by EASY instead of Slurm's own rule; NaN for others
    predicted: float  #: mean response time from sacct alone; infinite without a steady state
    predicted_low: float  #: lower end of its interval
    predicted_high: float  #: upper end of its interval
    cpu_seconds: float  #: of the lab
    load_average: float  #: of the machine

    @property
    def simulator_error(self) -> float:
        """Measured over replayed, minus one."""
        return self.measured / self.replayed - 1.0

    @property
    def covered(self) -> bool:
        """True if the interval stated with the prediction holds what was measured."""
        return self.predicted_low <= self.measured <= self.predicted_high


def compare_row(measured: Measurement) -> ComparedRow:
    """Return a row's three answers.

    Parameters
    ----------
    measured : Measurement
        As its lab left it.
    """
    row, added = measured.row, Latencies.of(measured)
    response, predicted = responses(measured), predict_row(measured)
    return ComparedRow(
        policy=row.policy,
        disks=f"{row.disks} {row.disk_discipline}" if row.disks else "none",
        load=row.load,
        seed=row.seed,
        jobs=len(measured.jobs),
        nodes=row.nodes,
        mean_size=float(np.mean([run.end - run.begin - run.stopped for run in measured.runs])),
        start_latency=added.start,
        dead_time=added.dead,
        measured_wait=float(np.mean([run.begin - run.submit for run in measured.runs])),
        measured=float(response.mean()),
        measured_half_width=in_parts(response).half_width,
        replayed=float(replay(measured).mean()),
        replayed_bare=float(replay(measured, Latencies()).mean()),
        replayed_easy=float(replay_easy(measured).mean()) if row.policy == "backfill" else float("nan"),
        predicted=predicted.mean,
        predicted_low=predicted.low,
        predicted_high=predicted.high,
        cpu_seconds=measured.cpu_seconds,
        load_average=measured.load_average,
    )


def in_parts(values: Array) -> Estimate:
    """Return the mean of a series with the interval that its parts, side by side, give.

    Parameters
    ----------
    values : (n,) ndarray
        In their order.

    Examples
    --------
    >>> in_parts(np.arange(100.0)).mean
    49.5
    """
    return estimate([float(part.mean()) for part in np.array_split(values, PARTS)])


def quantile_of_errors(rows: Sequence[ComparedRow], share: float) -> float:
    """Return the error of the simulator that a share of the rows does not exceed.

    Parameters
    ----------
    rows : sequence of ComparedRow
        At least one.
    share : float
        Between 0 and 1.
    """
    return float(np.quantile([abs(row.simulator_error) for row in rows], share, method="inverted_cdf"))
