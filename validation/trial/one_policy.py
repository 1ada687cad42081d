"""One policy on the mesh, from plain data to what a study asks of it: a task for a process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from qmodels.policies import SpeedTable
from validation.trial.chain import Chain, approximation_chain
from validation.trial.loss_run import loss_run
from validation.trial.partition_mix import speeds_at
from validation.trial.replications import cell_of
from validation.trial.shared_queue import corrected_response, share_factor

#: Jobs of a start of the loss run, at least, and for each pair of numbers of running jobs: the
#: machine wanders through them all.
_LEAST_JOBS, _JOBS_EACH_PAIR = 40, 2


@dataclass(frozen=True)
class MeshTask:
    """What is asked of the mesh for one policy, as plain data."""

    given: dict[str, Any]  #: arguments of `Cell.of`
    fraction: float
    replications: int
    jobs: int
    seed: int


@dataclass(frozen=True, eq=False)
class MeshFound:
    """What the mesh answered; times in cycles."""

    speeds: SpeedTable  #: of the loss run, at the load of interest
    chain: Chain
    corrected: float
    corrected_half_width: float
    seconds_loss_run: float  #: of a processor
    seconds_simulated: float  #: of a processor, all stages


def try_on_mesh(task: MeshTask) -> MeshFound:
    """Measure the speeds of running jobs, predict with them, and simulate every stage."""
    cell = cell_of(task.given)
    jobs = max(_LEAST_JOBS, task.jobs, _JOBS_EACH_PAIR * cell.most_running**2)
    run = loss_run(cell, starts=task.replications, jobs=jobs, seed=task.seed)
    rate = task.fraction * float(run.table.throughput[-1])
    speeds = speeds_at(cell, run.table, rate, float(run.rates[0]))
    factor = share_factor(cell, speeds.throughput, run.shares, rate)
    began = time.thread_time()
    chain = approximation_chain(
        cell,
        rate,
        speeds,
        replications=task.replications,
        jobs=task.jobs,
        warm_up=max(5, task.jobs // 4),
        seed=task.seed,
        factor=factor,
    )
    spent = time.thread_time() - began
    corrected = corrected_response(cell, speeds, rate, factor)
    return MeshFound(speeds, chain, corrected.mean, corrected.half_width, run.seconds, spent)
