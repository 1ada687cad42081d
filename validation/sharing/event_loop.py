"""The event loop with its tables made: a policy's layout and drawn jobs in, response times out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from phasefit.arrays import Array
from validation.sharing import _kernels
from validation.sharing._kernels import BUSY, COUNTERS, DYNAMIC, SLOT, STATION
from validation.sharing.draws import Draw
from validation.sharing.layout import Layout


class Outcome(NamedTuple):
    """What `play_jobs` found."""

    response: Array  #: (jobs,) seconds, NaN for jobs that did not finish
    wait: Array  #: (jobs,) seconds until each job started, NaN if it did not
    busy: Array  #: (5,) time integrals over the measured window, see `_kernels.BUSY`
    events: int


def play_jobs(plan: Layout, work: Draw, arrival: Array, window: tuple[int, int]) -> Outcome:
    """Play drawn jobs through one machine until every measured one has finished.

    Parameters
    ----------
    plan : Layout
        The policy on the machine.
    work : Draw
        The jobs. The factors of single bursts have one entry for each phase of each job, or one
        for all.
    arrival : (jobs,) ndarray
        Seconds, increasing.
    window : tuple of int
        First and one-past-last measured job.

    Returns
    -------
    Outcome
    """
    dynamic, jobs = plan.kind == DYNAMIC, arrival.size
    partitions, disks = plan.slots if dynamic else plan.disk_of.size, plan.disks_of.size
    stations = np.zeros(partitions + disks, STATION)
    stations["discipline"][:partitions], stations["discipline"][partitions:] = plan.disciplines
    counters = np.zeros(1, COUNTERS)
    counters["unfinished"] = window[1] - window[0]
    one_program = np.array([0, plan.io_time.shape[1]], dtype=np.int64)
    state = _kernels.State(
        kind=plan.kind,
        limit=plan.limit,
        first=int(window[0]),
        last=int(window[1]),
        slots=np.zeros(plan.slots, SLOT),
        free=np.arange(plan.slots)[::-1].copy(),
        stations=stations,
        ends=np.full(stations.size + 1, np.inf),
        members=np.zeros((stations.size, plan.slots + 1), np.int64),
        on_partition=np.zeros(partitions, np.int64),
        on_disk=np.zeros(disks, np.int64),
        counters=counters,
        io_time=plan.io_time,
        cpu_time=plan.cpu_time,
        disk_of=plan.disk_of,
        processors_of=plan.processors_of,
        disks_of=plan.disks_of,
        pauses=work.pauses,
        pause_of=np.zeros(1, np.int64) if plan.pause_of is None else plan.pause_of,
        arrival=arrival,
        demand=work.demand,
        first_phase=work.first_phase,
        io_factor=work.io_factor,
        cpu_factor=work.cpu_factor,
        picks=work.picks,
        program_of=work.program_of,
        columns=one_program if work.columns is None else work.columns,
        response=np.full(jobs, np.nan),
        wait=np.full(jobs, np.nan),
        busy=np.zeros(BUSY),
    )
    _kernels.run(state)
    return Outcome(state.response, state.wait, state.busy, int(counters["events"][0]))
