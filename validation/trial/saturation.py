"""The capacity of a policy, played: jobs always wait, and what gets done is counted."""

from __future__ import annotations

import numpy as np

from qmodels.policies import AbstractPolicy, System, Workload, capacity
from validation.sharing.draws import draw, job_source
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout


def played_capacity(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    *,
    jobs: int = 160_000,
    runs: int = 8,
    seed: int = 0,
) -> tuple[float, float]:
    """Jobs per second that a policy completes while jobs always wait, and its standard error.

    Parameters
    ----------
    policy, system, workload
        As for `qmodels.predict`; with computation in the program.
    jobs : int
        Jobs that come at once, over all runs.
    runs : int
        Independent runs.
    seed : int

    Returns
    -------
    mean, standard_error : float

    Notes
    -----
    What is counted is the time that processors compute, over that of a mean job. That is less
    noisy than a count of jobs, whose sizes vary.

    Examples
    --------
    One partition that computes for 3 of 4 seconds of each job:

    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=1.0, cpu=3.0)]))
    >>> mean, error = played_capacity(SpaceSharing(1, 1), System(1, 1), work, jobs=8000)
    >>> abs(mean - 0.25) < 1e-3
    True
    """
    given = policy, system, workload
    source = job_source(workload, None, None, None, policy.allotment(system))
    plan = layout(policy, system, source.times)
    p, d = policy.allotment(system)
    each_job = p * float(workload.program.mean_cpu(p, d))
    each = max(jobs // runs, 50)
    # those of the product form; with jobs on all sides the time for all is hardly shorter
    pace = 0.8 / capacity(*given, model="speed-scaled")
    found = []
    for run in range(runs):
        drawn = draw(source, plan, each + 2, seed=seed, key=(run,))
        # all come at once; the arrivals of the last two open and close the measurement
        until = pace * float(drawn.demand[:-2].sum())
        arrival = np.zeros(each + 2)
        arrival[-2:] = 0.05 * until, until
        busy = play_jobs(plan, drawn, arrival, (each, each + 1)).busy
        found.append(busy[2] / busy[4] / each_job)
    return float(np.mean(found)), float(np.std(found, ddof=1) / runs**0.5)
