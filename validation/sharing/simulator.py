"""`simulate`: the same policy, machine and workload as `qmodels.predict`, played out job by job."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from phasefit.checks import whole_number
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import AbstractPolicy, System, Workload, capacity, work_bound
from qmodels.policies.prediction import chosen_rate
from qmodels.programs import Program
from validation.jobs import AbstractJobs, RenewalJobs
from validation.sharing import _kernels
from validation.sharing.layout import layout
from validation.stats import Estimate, estimate, stream

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What was measured over independent replications, each quantity with its interval."""

    policy: str  #: such as SP(4,16)
    arrival_rate: float  #: jobs per second
    load: float  #: arrival rate over `qmodels.policies.work_bound`
    mean_response: Estimate  #: seconds from arrival to departure
    mean_wait: Estimate  #: seconds from arrival to the start
    mean_jobs: Estimate  #: jobs in the system
    mean_running: Estimate  #: jobs running
    processor_utilisation: Estimate  #: fraction of the processors in a computation burst
    disk_utilisation: Estimate  #: fraction of the disks transferring
    replications: int
    jobs: int  #: jobs measured in each replication, after the warm-up
    warm_up: int  #: jobs left out at the start of each replication
    events: int  #: events of all replications
    seconds: float  #: time the simulation took
    seed: int
    method: str = "simulated"

    def table(self) -> str:
        """Name and value, one to a line."""
        return "\n".join(f"{f.name:<22} {getattr(self, f.name)}" for f in fields(self))

    def to_frame(self) -> pd.DataFrame:
        """One row; an estimate becomes three columns, the mean and _low and _high."""
        import pandas as pd

        row: dict[str, Any] = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Estimate):
                row |= {
                    f.name: value.mean,
                    f"{f.name}_low": value.low,
                    f"{f.name}_high": value.high,
                }
            else:
                row[f.name] = value
        return pd.DataFrame([row])


def simulate(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    stream_of_jobs: AbstractJobs | None = None,
    bursts: Any = None,
    cpu_sharing: bool = False,
    draw_phases: bool = False,
    replications: int = 10,
    jobs: int | None = None,
    warm_up: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    point: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Simulate a policy job by job.

    Parameters
    ----------
    policy, system, workload
        As for `qmodels.predict`.
    arrival_rate, load : float
        Jobs per second, or its fraction of `qmodels.policies.work_bound`; give one.
    stream_of_jobs : AbstractJobs
        Where interarrival times and demands come from instead of the laws of `workload`: other
        laws, or a log replayed.
    bursts : PhaseType, frozen scipy.stats law or sample
        Law of a further factor, drawn for every single burst. By default there is none: the
        bursts of a job are its program's means times the job's demand.
    cpu_sharing : bool
        Under time sharing, whether the computation bursts on a partition share it instead of
        taking turns in order of arrival.
    draw_phases : bool
        Whether a `Program` with a random number of phases draws it for each job. By default every
        job has the same number, since `workload.demand` is the law of its whole work.
    replications : int
        Independent runs, each started empty; at least 2 for an interval.
    jobs : int
        Jobs measured in each run. By default 100 relaxation times of the queue, between 1,000
        and a million jobs.
    warm_up : int
        Jobs left out at the start of each run. By default 10 relaxation times.
    confidence : float
        Coverage of the Student t intervals.
    seed, point : int
        Replication r draws from ``stream(seed, point, r)``: policies simulated with the same
        seed and point meet the same jobs (common random numbers).
    workers : int
        Threads; by default one per core. The result does not depend on it.
    progress : callable
        Called as ``progress(done, replications)`` after each replication.

    Returns
    -------
    Simulation

    Raises
    ------
    UnstableError
        If the load is at or beyond the capacity that `qmodels.policies.capacity` predicts.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Jobs wait in order of arrival. Static partitions get whole processors, larger partitions
    first, and a job takes a free partition whose disk partition has the fewest jobs. Under
    dynamic partitioning every job holds P / i. Time sharing places a job by the four cases of
    [1]_, sec. 3.5. Disks are shared by processor sharing.

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
    most = capacity(policy, system, workload)
    bound = work_bound(system, workload.program)
    rate = chosen_rate(arrival_rate, load, bound)
    if rate >= most:
        raise UnstableError(policy.label, rate, most, load=rate / bound, largest_load=most / bound)
    replications = whole_number("replications", replications, least=1)
    for name, value in (("jobs", jobs), ("warm_up", warm_up), ("workers", workers)):
        if value is not None:
            whole_number(name, value, least=0 if name == "warm_up" else 1)
    program = workload.program
    drawn_phases, times = None, program.phase_times
    if draw_phases:
        if not isinstance(program, Program):
            raise ModelError("draw_phases needs a Program; a mix has its mean number of phases")
        drawn_phases, times = program.draw_phase_counts, program.listed_times
    plan = layout(policy, system, times)
    scvs = (workload.arrivals.scv, workload.demand.scv)
    relaxation = relaxation_jobs(rate / most, len(plan.processors_of), *scvs)
    measured = jobs or min(max(1000, math.ceil(100 * relaxation)), 1_000_000)
    first = max(100, math.ceil(10 * relaxation)) if warm_up is None else warm_up
    # Jobs that come after the measured ones keep the machine as busy as it was for them.
    total = first + measured + max(100, math.ceil(2 * relaxation)) + 1
    source = stream_of_jobs or RenewalJobs(workload.arrivals, workload.demand)
    if not isinstance(source, AbstractJobs):
        raise ModelError(f"stream_of_jobs must be RenewalJobs or ReplayedJobs, got {source!r:.60}")
    burst_law = None if bursts is None else RenewalJobs(bursts, bursts)

    def one(replication: int) -> tuple[Array, int]:
        rng = stream(seed, point, replication)
        gaps, demands = source.draw(total, rng=rng)
        phases = plan.io_time.shape[1]
        counts = drawn_phases(total, rng=rng) if drawn_phases else np.full(total, phases)
        first_phase = np.concatenate([[0], np.cumsum(counts)])
        io_factor = cpu_factor = np.repeat(demands, counts)
        if burst_law:
            io_law, cpu_law = burst_law.draw(io_factor.size, rng=rng)
            io_factor, cpu_factor = io_factor * io_law, cpu_factor * cpu_law
        response, wait, busy = np.full(total, np.nan), np.full(total, np.nan), np.zeros(5)
        window = np.array([first, first + measured])
        events = _kernels.run(
            plan.kind, plan.limit, cpu_sharing, np.cumsum(gaps) / rate, first_phase, io_factor,
            cpu_factor, plan.io_time, plan.cpu_time, plan.disk_of, plan.processors_of,
            plan.disks_of, window, response, wait, busy,
        )  # fmt: skip
        inside = slice(*window)
        per_second = busy[:4] / busy[4]
        return np.array([response[inside].mean(), wait[inside].mean(), *per_second]), int(events)

    results = []
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        for done, result in enumerate(pool.map(one, range(replications)), start=1):
            results.append(result)
            if progress:
                progress(done, replications)
    columns = np.array([values for values, _ in results]).T
    columns[4] /= system.processors
    columns[5] /= system.disks
    response, wait, in_system, running, computing, moving = (
        estimate(column.tolist(), confidence=confidence) for column in columns
    )
    return Simulation(
        policy=policy.label,
        arrival_rate=rate,
        load=rate / bound,
        mean_response=response,
        mean_wait=wait,
        mean_jobs=in_system,
        mean_running=running,
        processor_utilisation=computing,
        disk_utilisation=moving,
        replications=replications,
        jobs=measured,
        warm_up=first,
        events=sum(events for _, events in results),
        seconds=time.perf_counter() - started,
        seed=seed,
    )


def relaxation_jobs(
    utilisation: float, servers: int, arrival_scv: float, demand_scv: float
) -> float:
    """Arrivals in one relaxation time of the queue, roughly.

    The diffusion that approximates a queue in heavy traffic forgets its start within
    ``2 rho (c_a^2 + c_s^2) / (1 - rho)^2`` arrivals (4 rho / (1 - rho)^2 for M/M/1); at light
    load a job's own stay counts, about one service of every server.
    """
    queueing = 2 * utilisation * (arrival_scv + demand_scv) / (1 - utilisation) ** 2
    return queueing + servers * (1 + demand_scv)
