"""Speeds of running jobs whose disks are a storage learnt from runs together on it."""

from __future__ import annotations

import numpy as np

from phasefit.arrays import Array
from qmodels.errors import ModelError
from qmodels.policies.base import AbstractPolicy, mean_times
from qmodels.policies.speed_table import SpeedTable
from qmodels.policies.system import System, Workload
from qmodels.storage.come_and_go import drawn_stages
from qmodels.storage.curves import StageCurve
from qmodels.storage.forecast import ShareForecast
from qmodels.storage.steady import closed_sharing, together


def storage_speeds(
    policy: AbstractPolicy, system: System, workload: Workload, forecast: ShareForecast
) -> SpeedTable:
    """Return the speeds of running jobs on a storage that was learnt from runs, for `qmodels.predict`.

    Parameters
    ----------
    policy : AbstractPolicy
        Space sharing in equal partitions or dynamic partitioning, with one partition of disks.
    system, workload : System, Workload
        The machine and its jobs. What a job does on its processors and at the disks, alone, is its program's.
    forecast : ShareForecast
        Of the storage that takes the place of the disks: how many streams fill it, and what contention takes.

    Returns
    -------
    SpeedTable
        With the covariance of what is not known of the storage, so that predictions have an interval.

    Raises
    ------
    ModelError
        If jobs take turns on processors, partitions are unequal, or disks are divided.

    Notes
    -----
    Each running job is a program of one stage on the storage, and k of them are a closed network (see
    `qmodels.storage.closed_sharing`), solved for draws of the storage's curves.

    References
    ----------
    .. [1] Chandy et al. 1975.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, predict
    >>> from qmodels.storage import SharedRuns, StageCurve, forecast_sharing
    >>> stage = StageCurve("io", 10.0, io_share=1.0, streams=2.0)
    >>> known = forecast_sharing(SharedRuns({"io": {n: [stage.time(n)] * 3 for n in (1, 2, 4, 8)}}), [8])
    >>> system, work = System(8, 4), Workload(Program([Phase(io=8.0, cpu=16.0)]))
    >>> speeds = storage_speeds(SpaceSharing(4, 1), system, work, known)
    >>> predict(SpaceSharing(4, 1), system, work, load=0.2, running=speeds).half_width > 0.0
    True
    """
    arrangement = policy.arrangement(system)
    sizes = set(arrangement.sizes or ())
    if arrangement.multiprogramming > 1 or len(sizes) > 1 or arrangement.disk_partitions > 1:
        raise ModelError(
            f"{policy.label}: a measured storage is shared by all jobs that run, each alone on equal "
            f"processors; take SP(k,1) or DP(1)"
        )
    processors = np.array([arrangement.mean_processors(k) for k in range(1, arrangement.max_running + 1)])
    times = mean_times(workload.program, processors, float(system.disks))
    rows = []
    for stages in drawn_stages(forecast):
        streams, loss = together(stages)
        rows.append(_throughputs(times, streams, loss))
    logs = np.log(np.array(rows))
    middle = np.exp(logs.mean(axis=0))
    spread = np.cov(logs, rowvar=False) * np.outer(middle, middle)
    numbers = ", ".join(map(str, forecast.measured))
    return SpeedTable(
        middle, np.atleast_2d(spread), source=f"learnt from runs of {numbers} programs on the storage"
    )


def _throughputs(times: list[tuple[float, float]], streams: float, loss: float) -> Array:
    """Jobs per second of 1, 2, ... running jobs with these times of computation and I/O."""
    return np.array(
        [
            closed_sharing(
                [StageCurve("job", cpu + io, io_share=io / (cpu + io), streams=streams, loss=loss)], k
            ).throughput
            for k, (cpu, io) in enumerate(times, 1)
        ]
    )
