"""Predictions for the jobs of a row as a user gets them: from sacct's log alone, by fitted laws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from phasefit import fit
from phasefit.records import Record
from qmodels import Phase, Program, TimeSharing, predict
from qmodels.errors import UnstableError
from qmodels.io import JobLog, read_jobs
from qmodels.io.log_scenario import scenario_of_log
from qmodels.io.scenario import Scenario
from qmodels.networks.replay import CONFIDENCE
from qmodels.policies import parse_policy
from validation.analysis.seeding import stream
from validation.jobs.renewal import drawn_jobs
from validation.slurm.replay import simulate_rigid_row
from validation.slurm.rows import Measurement

#: Histories of a row's length that are drawn of the fitted laws of rigid jobs.
HISTORIES: Final = 60


@dataclass(frozen=True)
class PredictedRow(Record):
    """Mean response that was predicted, and the interval that is stated with it; seconds."""

    mean: float  #: infinite where there is no steady state
    low: float  #: end of the interval
    high: float  #: the other end, infinite where the log does not bound it


def log_of(measured: Measurement) -> JobLog:
    """Return the jobs of a row as the reader has them of sacct's text, those before it left out.

    Parameters
    ----------
    measured : Measurement
        As its lab left it.

    Notes
    -----
    Under gang scheduling a job's end is moved back by the time for which Slurm had it stopped,
    which sacct tells (Elapsed).
    """
    lines = measured.sacct.splitlines()
    names, rows = lines[0].split("|"), [line.split("|") for line in lines[1:] if line]
    number = names.index("JobID")
    rows = sorted(rows, key=lambda row: int(row[number]))[-len(measured.jobs) :]
    if measured.row.gang:
        begin, end, elapsed = (names.index(name) for name in ("Start", "End", "ElapsedRaw"))
        for row in rows:
            row[end] = str(np.datetime64(row[begin]) + np.timedelta64(int(row[elapsed]), "s"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sacct.txt"
        path.write_text("\n".join([lines[0], *("|".join(row) for row in rows), ""]))
        return read_jobs(path, unit="nodes")


def predict_row(measured: Measurement) -> PredictedRow:
    """Return the mean response time that is predicted from the log alone.

    Parameters
    ----------
    measured : Measurement
        As its lab left it.

    Returns
    -------
    PredictedRow
        Its interval, for 90 % of cases, is that of `qmodels.Prediction.fit_error` under space and
        time sharing; the mean is infinite where there is no steady state. Rigid jobs have no
        model: as many jobs as the row has are drawn of the fitted laws, with widths and limits
        drawn of the log, 60 times, and simulated.
    """
    row, log = measured.row, log_of(measured)
    system = row.system
    # Jobs run on one number of nodes, so how they would scale does not matter.
    plan = scenario_of_log(log, system, Program([Phase(io=0.0, cpu=1.0)]))
    if row.rigid:
        return _simulated(measured, log, plan)
    policy = parse_policy(row.policy)
    if isinstance(policy, TimeSharing):
        policy = replace(policy, cpu_discipline="ps")
    try:
        found = predict(policy, system, plan.workload, arrival_rate=log.with_work.arrival_rate)
    except UnstableError:
        return PredictedRow(inf, nan, nan)
    error = found.fit_error()
    assert error is not None
    return PredictedRow(found.mean_response, error.low, error.high)


def _simulated(measured: Measurement, log: JobLog, plan: Scenario) -> PredictedRow:
    """Mean response of histories drawn of the fitted laws, and between what most of them lie."""
    row, jobs = measured.row, len(measured.jobs)
    rate = log.with_work.arrival_rate
    run_times = log.with_work.runtimes
    law = fit(run_times, family="moments").distribution
    source = drawn_jobs(plan.arrivals, law)
    limits = log.jobs["requested_time"].to_numpy(float)
    widths = log.sizes.astype(np.int64)
    share = float(np.mean([bool(job.qos) for job in measured.jobs]))
    means = []
    for k in range(HISTORIES):
        rng = stream(row.seed, "slurm histories", k)
        gaps, sizes = source.draw_apart(jobs, rng=rng)
        arrival = np.cumsum(gaps) / rate
        # A fitted law may hold jobs that take no time, as sacct's whole seconds do.
        run = np.maximum(sizes * float(run_times.mean()), 1e-3)
        of = rng.integers(widths.size, size=jobs)
        urgent = rng.random(jobs) < share
        end = simulate_rigid_row(row, arrival, widths[of], run, limits[of], urgent, looks=1)
        means.append(float((end - arrival).mean()))
    low, high = np.quantile(means, [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    return PredictedRow(float(np.mean(means)), float(low), float(high))
