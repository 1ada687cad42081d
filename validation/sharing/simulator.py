"""`simulate`: the same policy, machine and workload as `qmodels.predict`, played out job by job."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_vector, share, whole_number
from qmodels.errors import MemoryBudgetError, UnstableError
from qmodels.memory import check_memory, memory_limit
from qmodels.policies import AbstractPolicy, System, Workload, capacity, work_bound
from qmodels.policies.labels import as_policy
from qmodels.policies.prediction import chosen_rate
from qmodels.progress import Progress, no_progress
from validation.analysis.estimates import estimate, until_precise
from validation.jobs.renewal import AbstractJobs
from validation.sharing.draws import JobSource, draw, job_source
from validation.sharing.event_loop import play_jobs
from validation.sharing.layout import Layout, layout
from validation.sharing.results import Simulation
from validation.sweeps.executors import given_or, thread_pool, worker_count

PERCENTILES = (0.5, 0.9, 0.95, 0.99)

#: Replications, and the first number of them where a precision is asked for: with fewer than 20
#: an interval that happens to be narrow ends the run too often.
REPLICATIONS, AT_FIRST = 10, 20
#: Parts of the measured jobs that are compared to see whether the queue grows.
THIRDS = 3
#: Relaxation times of the queue: warm-up and measured part of a replication of fixed length, and
#: the measured part and the least sum of all where a precision is asked for.
WARM_UP, MEASURED, STEP, FLOOR = 10, 100, 30, 300
#: Seconds of computing that are begun unless `jobs` is given, and bursts that a core does in one.
MOST_SECONDS, BURSTS_A_SECOND = 1200.0, 2e7
#: Share of a capacity in doubt that the length of a run reckons with at most.
MOST_DOUBTFUL = 0.95


def simulate(
    policy: AbstractPolicy | str,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    precision: float | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    stream_of_jobs: AbstractJobs | None = None,
    bursts: Any = None,
    draw_phases: bool | None = None,
    replications: int | None = None,
    at_most: int = 1000,
    jobs: int | None = None,
    warm_up: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    point: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Simulation:
    """Simulate a policy job by job.

    Parameters
    ----------
    policy, system, workload
        As for `qmodels.predict`, with the same disciplines, sizes, caps and overheads.
    arrival_rate, load : float
        Jobs per second, or its fraction of `qmodels.policies.work_bound`; give one.
    precision : float
        Half-width of the interval of the mean response time, relative to the mean, at which to
        stop; replications are then added as they are needed.
    percentiles : sequence of float
        Probabilities between 0 and 1 whose response times are measured.
    stream_of_jobs : AbstractJobs
        Where interarrival times and demands come from instead of the laws of `workload`: other
        laws, or a log replayed. A log's work holds the differences between programs already, so
        a mix goes with ``Workload(..., mix="mean")`` there.
    bursts : law or sample, or tuple of two
        Law of a further factor, drawn for every single burst, of mean one: a PhaseType, a
        frozen scipy.stats law, a `BoundedPareto` or a list of values; a tuple gives one for I/O
        and one for computation. By default the laws of `workload`, if it has any.
    draw_phases : bool
        Whether the number of phases of a program is drawn for each job, or is the same for all
        jobs of it. By default drawn where `workload` has laws of bursts.
    replications : int
        Independent runs, each started empty; at least 2 for an interval. 10 by default; with a
        `precision` the number to begin with, 20 by default.
    at_most : int
        Replications at which a precision is given up.
    jobs : int
        Jobs measured in each run. By default 100 relaxation times of the queue, 30 with a
        `precision`, between 1,000 and a million jobs.
    warm_up : int
        Jobs left out at the start of each run. By default 10 relaxation times.
    confidence : float
        Coverage of the Student t intervals.
    seed, point : int
        Replication r draws from ``stream(seed, point, r)`` and streams below it: policies
        simulated with the same seed and point meet the same jobs (common random numbers).
    workers : int
        Threads; by default one per core. The result does not depend on it.
    executor : concurrent.futures.Executor
        Who runs the replications instead of threads of our own; it is left open. `workers` then
        says how many at a time, for the memory that they need.
    progress : callable
        Called as ``progress("replications", done, replications)`` after each replication; where a
        `precision` is asked for their number may grow.

    Returns
    -------
    Simulation

    Raises
    ------
    UnstableError
        If the load is at or beyond the capacity that `qmodels.policies.capacity` predicts, by
        more than the policy's `capacity_error`.
    MemoryBudgetError
        If the jobs of a replication would not fit in memory, or if the runs would take over
        twenty minutes and `jobs` is not given.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Jobs wait in order of arrival and are placed as the policy's own notes say. Static
    partitions get whole processors, larger partitions first. Time sharing places a job by the
    four cases of [1]_, sec. 3.5.

    Where the capacity is in doubt, under time sharing with turns, loads up to 2 % on both sides
    of it (10 % where bursts have laws of their own) are played and `warnings` says so. Runs whose
    response times still grow over the measured jobs, from one third of them to the next, are
    `saturated`: their means say how long the simulation was, not how the policy does.

    With a `precision` the run stops when the target is met at two looks in a row and at least
    300 relaxation times have been measured; see
    `validation.analysis.estimates.until_precise`. Percentiles are those of each replication,
    averaged; their intervals come from the replications too.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing, predict
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> machine, policy = System(processors=16, disks=16), SpaceSharing(1, 1)
    >>> run = simulate(policy, machine, work, load=0.5, seed=1)
    >>> run.mean_response.contains(predict(policy, machine, work, load=0.5).mean_response)
    True
    """
    started = time.perf_counter()
    policy = as_policy(policy)
    largest_rate = capacity(policy, system, workload)
    bound = work_bound(system, workload.program)
    rate = chosen_rate(arrival_rate, load, bound)
    doubt = policy.capacity_error(workload)
    if rate >= largest_rate * (1.0 + doubt):
        raise UnstableError(
            policy.label, rate, largest_rate, load=rate / bound, largest_load=largest_rate / bound
        )
    if replications is None:
        replications = REPLICATIONS if precision is None else AT_FIRST
    for name, count, least in (
        ("replications", replications, 1 if precision is None else 2),
        ("at_most", at_most, 1),
        ("seed", seed, 0),
        ("point", point, 0),
        ("jobs", jobs, 1),
        ("warm_up", warm_up, 0),
        ("workers", workers, 1),
    ):
        if count is not None or name in ("replications", "at_most", "seed", "point"):
            whole_number(name, count, least=least)  # type: ignore[arg-type]
    wanted = _checked_percentiles(percentiles)
    source = job_source(workload, stream_of_jobs, bursts, draw_phases, policy.allotment(system))
    plan = layout(policy, system, source.times)
    # next to a capacity in doubt the relaxation time is, too; a run that is long enough to see
    # growth will do
    busy = rate / largest_rate
    doubtful = busy >= 1.0 - doubt and doubt > 0.0
    busy = min(busy, MOST_DOUBTFUL) if doubtful else busy
    relaxation = relaxation_jobs(busy, len(plan.processors_of), *source.scvs)
    length = MEASURED if precision is None else STEP
    measured = jobs or min(max(1000, math.ceil(length * relaxation)), 1_000_000)
    first = max(100, math.ceil(WARM_UP * relaxation)) if warm_up is None else warm_up
    window = (first, first + measured)
    # Jobs that come after the measured ones keep the machine as busy as it was for them.
    total = first + measured + max(100, math.ceil(2 * relaxation)) + 1
    at_a_time = worker_count(workers)
    phases = workload.program.mean_phases * (source.bursts is not None)
    check_memory(
        f"{at_a_time} replications of {total:,} jobs",
        at_a_time * total * (64 + 32 * phases),
        memory_limit(),
        "give jobs and warm_up, fewer workers, or a lower load",
    )
    if jobs is None:
        _check_length(total, replications, 2.0 * workload.program.mean_phases)
    runs: list[tuple[Array, int]] = []
    report = no_progress if progress is None else progress
    # Of things at the top of a module only, so that an executor may be one of processes.
    replicate = partial(_replicate, source, plan, rate, total, window, wanted, seed, point)

    def first_replications(count: int) -> list[float]:
        for result in pool.map(replicate, range(len(runs), count)):
            runs.append(result)
            report("replications", len(runs), count)
        return [float(values[0]) for values, _ in runs]

    precise = None
    with given_or(executor, thread_pool, at_a_time) as pool:
        if precision is None:
            first_replications(replications)
        else:
            floor = max(replications, math.ceil(FLOOR * relaxation / measured))
            precise = until_precise(
                first_replications,
                precision=precision,
                confidence=confidence,
                at_least=floor,
                at_most=max(at_most, floor),
            )
    columns = np.array([values for values, _ in runs]).T
    columns[4] /= system.processors
    columns[5] /= system.disks
    response, wait, in_system, running, computing, moving, *quantiles = (
        estimate(column.tolist(), confidence=confidence) for column in columns[:-THIRDS]
    )
    saturated = doubtful and _grows(columns[-THIRDS:])
    return Simulation(
        policy=policy.label,
        arrival_rate=rate,
        load=rate / bound if load is None else float(load),
        mean_response=response,
        mean_wait=wait,
        mean_jobs=in_system,
        mean_running=running,
        processor_utilisation=computing,
        disk_utilisation=moving,
        percentiles=dict(zip(wanted.tolist(), quantiles, strict=True)),
        replications=len(runs),
        jobs=measured,
        warm_up=first,
        relaxations=len(runs) * measured / relaxation,
        precise=precise,
        events=sum(events for _, events in runs),
        seconds=time.perf_counter() - started,
        seed=seed,
        responses=tuple(columns[0].tolist()),
        warnings=_warnings(policy, doubt, rate / largest_rate, saturated) if doubtful else (),
        saturated=saturated,
    )


def _replicate(
    source: JobSource,
    plan: Layout,
    rate: float,
    total: int,
    window: tuple[int, int],
    percentiles: Array,
    seed: int,
    point: int,
    replication: int,
) -> tuple[Array, int]:
    """Means of one run, started empty, its percentiles, and the mean response by thirds of it.

    The second is the number of its events.
    """
    work = draw(source, plan, total, seed=seed, key=(point, replication))
    response, wait, busy, events = play_jobs(plan, work, np.cumsum(work.gaps) / rate, window)
    inside = slice(*window)
    means = [response[inside].mean(), wait[inside].mean(), *(busy[:4] / busy[4])]
    thirds = [part.mean() if part.size else 0.0 for part in np.array_split(response[inside], THIRDS)]
    return np.concatenate([means, np.quantile(response[inside], percentiles), thirds]), events


def _check_length(jobs: int, replications: int, bursts: float) -> None:
    """MemoryBudgetError for runs of a length that we chose which take longer than anybody expects.

    Whoever gives the number of jobs has chosen it, and is not held up.
    """
    seconds = replications * jobs * bursts / BURSTS_A_SECOND
    if seconds > MOST_SECONDS:
        fit = max(1, int(jobs * MOST_SECONDS / seconds))
        raise MemoryBudgetError(
            f"{replications} replications of {jobs:,} jobs with {bursts:,.6g} bursts each would "
            f"take some {seconds / 60:,.0f} minutes of computing; describe the program by fewer "
            f"phases, or give jobs ({fit:,} take 20 minutes), and wait"
        )


def _grows(thirds: Array) -> bool:
    """Whether mean responses by thirds of the measured jobs, (3, replications), keep growing.

    A queue that is still settling grows less and less, one without a steady state goes on.
    """
    early, late = thirds[1] - thirds[0], thirds[2] - thirds[1]
    if late.size < 2:
        return bool(late[0] > 0.5 * early[0] > 0.0)
    grew = estimate(late.tolist(), confidence=0.99).low > 0.0
    return grew and float(late.mean()) > 0.5 * float(early.mean())


def _warnings(policy: AbstractPolicy, doubt: float, busy: float, saturated: bool) -> tuple[str, ...]:
    """What to know about a run next to a capacity in doubt."""
    near = (
        f"the arrival rate is {busy:.1%} of a capacity that {policy.label} is only known to have "
        f"within {doubt:.0%}"
    )
    if saturated:
        return (
            f"{near}; response times grew from one third of the run to the next, so there is no "
            f"steady state and the means say only how long the run was",
        )
    return (f"{near}; no steady growth of the response times was seen, which does not prove a steady state",)


def _checked_percentiles(given: Sequence[float]) -> Array:
    if isinstance(given, (tuple, list)) and not given:
        return np.empty(0)
    wanted = real_vector("percentiles", given)
    for at, q in enumerate(wanted.tolist()):
        share(f"percentiles[{at}]", q, zero=False, one=False)
    return np.unique(wanted)


def relaxation_jobs(utilisation: float, servers: int, arrival_scv: float, demand_scv: float) -> float:
    """Arrivals in one relaxation time of the queue, roughly.

    The diffusion that approximates a queue in heavy traffic forgets its start within
    ``2 rho (c_a^2 + c_s^2) / (1 - rho)^2`` arrivals (4 rho / (1 - rho)^2 for M/M/1); at light
    load a job's own stay counts, about one service of every server. A law without a variance
    counts as one of scv 1000.
    """
    arrival_scv, demand_scv = min(arrival_scv, 1000.0), min(demand_scv, 1000.0)
    queueing = 2 * utilisation * (arrival_scv + demand_scv) / (1 - utilisation) ** 2
    return queueing + servers * (1 + demand_scv)
