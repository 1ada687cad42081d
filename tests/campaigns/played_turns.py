"""What a processor partition gets done while jobs take turns on it, played: a table for the models.

`qmodels.policies.models.turns` reads the table that `write` makes here. It is not computed where
it is used, since `qmodels` draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

from phasefit import match_moments
from qmodels.policies import AbstractPolicy, System, TimeSharing, Workload, capacity
from qmodels.programs import Burst, Phase, Program, WorkingSet
from qmodels.progress import Progress, no_progress
from validation.sharing.draws import draw, job_source
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import layout

#: Points of the table: squared coefficient of variation of the demand, phases of a job, jobs on
#: the partition, transfer over computation of a job.
SCVS: Final = (0.1, 0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 8.0, 12.0, 20.0)
PHASES: Final = (1, 2, 4, 8)
HELD: Final = (2, 3, 4, 6, 8)
RATIOS: Final = tuple(2.0 ** (x / 2) for x in (-10, -8, -6, -4, *range(-3, 4), 4, 6, 8, 10))

#: Jobs played for a point, and independent runs that they are divided into.
JOBS: Final = 400_000
RUNS: Final = 8
SEED: Final = 190_720


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


def played(
    scv: float, phases: int, held: int, ratio: float, *, jobs: int = JOBS, seed: int = SEED
) -> tuple[float, float]:
    """Share of the time that the processors compute, and its standard error.

    One partition always holds `held` jobs, each of one size for all its phases, and has its disk
    to itself: computation bursts take turns, transfers share. With C the computation of a mean
    job, the result over C is the work done per second.

    Parameters
    ----------
    scv : float
        Squared coefficient of variation of the jobs' sizes, whose law is `match_moments` of it.
    phases : int
        Bursts of transfer, and of computation, of a job.
    held : int
        Jobs on the partition.
    ratio : float
        Transfer over computation of a job alone.
    jobs : int
        Jobs played, over all runs.
    seed : int

    Returns
    -------
    mean, standard_error : float

    Examples
    --------
    >>> mean, error = played(1.0, 8, 2, 1.0, jobs=10_000)
    >>> abs(mean - 0.6957) < 4 * error + 0.001
    True
    """
    phase = Phase(io=Burst(ratio, law="1"), cpu=Burst(1.0, law="1"))
    program = Program([WorkingSet(phases, [phase])])
    work = Workload(program, match_moments(1.0, 1.0 + scv))
    policy = TimeSharing(1, 1, held)
    rate, error = played_capacity(policy, System(1, 1), work, jobs=jobs, runs=RUNS, seed=seed)
    return rate * phases, error * phases  # a job computes for one second in each phase


def rows(progress: Progress = no_progress) -> Iterator[str]:
    """Lines of the table, one for each of its points, with its head."""
    yield (
        f"# Share of the time that the processors of one partition compute while jobs take turns: "
        f"{JOBS} jobs a point in {RUNS} runs, seed {SEED}; see tests.campaigns.played_turns"
    )
    yield "scv,phases,held,ratio,computing,standard_error"
    points = list(product(SCVS, PHASES, HELD, RATIOS))
    for done, (scv, phases, held, ratio) in enumerate(points, start=1):
        mean, error = played(scv, phases, held, ratio)
        yield f"{scv:g},{phases},{held},{ratio:.8g},{mean:.5f},{error:.5f}"
        progress("turns played", done, len(points))


def write(file: Path, progress: Progress = no_progress) -> None:
    """Write the whole table, which takes some ten minutes."""
    file.write_text("\n".join([*rows(progress), ""]), encoding="utf-8")
