"""The jobs of a row replayed in our simulators, with what the lab measured of Slurm and nothing else.

A job holds its nodes for its bursts and the dead time after them, in which Slurm takes them back
and gives them to the next; it comes later than it was submitted by the time that Slurm needs to
start a job on an idle machine. Both are means that the lab measured before the row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phasefit.arrays import Array, Ints
from phasefit.records import Record
from qmodels.policies import TimeSharing, parse_policy
from validation.rigid import RigidJobs, simulate_rigid
from validation.sharing.draws import Draw
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout
from validation.slurm.rows import TICK, Measurement, Row
from validation.slurm.scheduler import simulate_slurm

#: One second for each burst, whatever the allotment: the factors of bursts are their seconds.
_ONE: Final = np.ones(1)
#: Moments of the backfill scheduler's first look that are tried: when it really looked is not known.
LOOKS: Final = 8


@dataclass(frozen=True)
class Latencies(Record):
    """Times that Slurm adds to each job, seconds; none by default."""

    start: float = 0.0  #: from submission to the first moment, on an idle machine
    dead: float = 0.0  #: from the end of a job to the first moment of the next one that waits

    @classmethod
    def of(cls, measured: Measurement) -> Latencies:
        """Return the means that the lab of a row measured before it.

        Parameters
        ----------
        measured : Measurement
            As its lab left it.
        """
        dead = float(np.mean(measured.dead)) if measured.dead else 0.0
        return cls(float(np.mean(measured.start)), dead)


def replay(measured: Measurement, latencies: Latencies | None = None) -> Array:
    """Return the response times of a row's jobs in our simulator of its policy.

    Parameters
    ----------
    measured : Measurement
        Gives submissions, sizes, widths, limits and classes; nothing of when jobs began or ended.
    latencies : Latencies, optional
        By default those that the lab measured; `Latencies()` for a Slurm without any.

    Returns
    -------
    (jobs,) ndarray
        Seconds from submission to the end of the job's own work.
    """
    added = Latencies.of(measured) if latencies is None else latencies
    arrival = _submitted(measured) + added.start
    if measured.row.rigid:
        run, widths, limits = _rigid_jobs(measured, added.dead)
        urgent = np.array([bool(job.qos) for job in measured.jobs])
        left_at = simulate_rigid_row(measured.row, arrival, widths, run, limits, urgent)
    else:
        left_at = _partitioned(measured, arrival, added.dead)
    response: Array = left_at - added.dead - _submitted(measured)
    return response


def _submitted(measured: Measurement) -> Array:
    """Return when each job was submitted, seconds from the first."""
    submit: Array = np.array([run.submit for run in measured.runs])
    return np.asarray(submit - submit[0])


def _rigid_jobs(measured: Measurement, dead: float) -> tuple[Array, Ints, Array]:
    """Return how long jobs hold their nodes, how many, and their limits."""
    run = np.array([each.end - each.begin for each in measured.runs]) + dead
    widths = np.array([job.nodes for job in measured.jobs])
    return run, widths, np.array([60.0 * job.limit for job in measured.jobs])


def responses(measured: Measurement) -> Array:
    """Return the response times (jobs,) that were measured, seconds.

    Parameters
    ----------
    measured : Measurement
        As its lab left it.
    """
    return np.array([run.end - run.submit for run in measured.runs])


def _partitioned(measured: Measurement, arrival: Array, dead: float) -> Array:
    """Return when each job leaves its partition, under space or time sharing."""
    row = measured.row
    system = replace(row.system, disk_discipline=row.disk_discipline) if row.disks else row.system
    policy = parse_policy(row.policy)
    if isinstance(policy, TimeSharing):  # turns of a length that many jobs are longer than
        policy = replace(policy, cpu_discipline="ps")
    plan = layout(policy, system, lambda p, d: (_ONE, _ONE))
    io, cpu, first = [], [], [0]
    for job, run in zip(measured.jobs, measured.runs, strict=True):
        transfer = 0.0
        for (kind, _), seconds in zip(job.phases, run.bursts, strict=True):
            if kind == "d":
                transfer = seconds
            else:
                io.append(transfer)
                cpu.append(seconds)
                transfer = 0.0
        io.append(transfer)
        cpu.append(dead)
        first.append(len(io))
    work = Draw(
        gaps=_ONE,
        demand=np.ones(arrival.size),
        first_phase=np.array(first, dtype=np.int64),
        io_factor=np.array(io),
        cpu_factor=np.array(cpu),
    )
    return arrival + play_jobs(plan, work, arrival, (0, arrival.size)).response


def simulate_rigid_row(
    row: Row,
    arrival: Array,
    widths: Ints,
    run: Array,
    limits: Array,
    urgent: NDArray[np.bool_],
    *,
    looks: int = LOOKS,
) -> Array:
    """Return when each of so many rigid jobs ends under the order of a row.

    Parameters
    ----------
    row : Row
        Gives the nodes and the order.
    arrival : (jobs,) ndarray
        Seconds.
    widths : (jobs,) ndarray of int
        Nodes.
    run, limits : (jobs,) ndarray
        Seconds.
    urgent : (jobs,) ndarray of bool
        Whether a job comes before those that are not.
    looks : int
        Moments of the backfill scheduler's first look, apart by equal parts of its tick.

    Returns
    -------
    (jobs,) ndarray
        Under backfilling the mean over those moments.
    """
    limits = np.maximum(limits, run)
    if row.policy == "backfill":
        ends = [
            simulate_slurm(arrival, widths, run, limits, row.nodes, tick=TICK, phase=TICK * k / looks)
            for k in range(looks)
        ]
        return np.asarray(np.mean(ends, axis=0))
    if "priorities" in row.policy:
        return simulate_slurm(arrival, widths, run, limits, row.nodes, urgent=urgent)
    return simulate_rigid(RigidJobs(arrival, widths, run), row.nodes, "FCFS").start + run


def replay_easy(measured: Measurement) -> Array:
    """Return the response times of a backfilling row's jobs under EASY, with the lab's latencies.

    Parameters
    ----------
    measured : Measurement
        As its lab left it.

    Returns
    -------
    (jobs,) ndarray
        Seconds.
    """
    added = Latencies.of(measured)
    arrival = _submitted(measured) + added.start
    run, widths, limits = _rigid_jobs(measured, added.dead)
    jobs = RigidJobs(arrival, widths, run, limit=np.maximum(limits, run))
    left_at = simulate_rigid(jobs, measured.row.nodes, "EASY").start + run
    response: Array = left_at - added.dead - _submitted(measured)
    return response
