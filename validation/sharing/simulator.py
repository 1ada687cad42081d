"""`simulate`: the same policy, machine and workload as `qmodels.predict`, played out job by job."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qmodels.errors import ModelError, UnstableError
from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    System,
    TimeSharing,
    Workload,
    capacity,
    work_bound,
)
from qmodels.policies.prediction import chosen_rate
from qmodels.programs import AbstractProgram
from validation.jobs import AbstractJobs, RenewalJobs
from validation.sharing import _kernels
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
    bound = work_bound(system, workload.program)
    rate = chosen_rate(arrival_rate, load, bound)
    most = capacity(policy, system, workload)
    if rate >= most:
        raise UnstableError(policy.label, rate, most, load=rate / bound, largest_load=most / bound)
    source = stream_of_jobs or RenewalJobs(workload.arrivals, workload.demand)
    plan = layout(policy, system, workload.program)
    for name, value, least in (
        ("replications", replications, 1), ("jobs", jobs, 1), ("warm_up", warm_up, 0)
    ):  # fmt: skip
        _check_count(name, value, least)
    scvs = (workload.arrivals.scv, workload.demand.scv)
    relaxation = relaxation_jobs(rate / most, len(plan.processors_of), *scvs)
    measured = jobs or min(max(1000, math.ceil(100 * relaxation)), 1_000_000)
    first = max(100, math.ceil(10 * relaxation)) if warm_up is None else warm_up
    # Jobs that come after the measured ones keep the machine as busy as it was for them.
    drawn = first + measured + max(100, math.ceil(2 * relaxation)) + 1

    def one(replication: int) -> tuple[Array, int]:
        rng = stream(seed, point, replication)
        gaps, demands = source.draw(drawn, rng=rng)
        arrivals = np.cumsum(gaps) / rate
        phases = plan.io_time.shape[1]
        factor = np.repeat(demands, phases)
        extra = [
            factor
            if bursts is None
            else factor * RenewalJobs(bursts, bursts).draw(factor.size, rng=rng)[0]
            for _ in range(1 if bursts is None else 2)
        ]
        response, wait = np.full(drawn, np.nan), np.full(drawn, np.nan)
        busy = np.zeros(5)
        window = np.array([first, first + measured])
        events = _kernels.run(
            plan.kind, plan.limit, cpu_sharing, arrivals,
            np.arange(0, factor.size + 1, phases), extra[0], extra[-1],
            plan.io_time, plan.cpu_time, plan.disk_of,
            plan.processors_of, plan.disks_of, window, response, wait, busy,
        )  # fmt: skip
        inside = slice(*window)
        per_second = busy[:4] / busy[4]
        return np.array([response[inside].mean(), wait[inside].mean(), *per_second]), int(events)

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        results = []
        for done, result in enumerate(pool.map(one, range(replications)), start=1):
            results.append(result)
            if progress:
                progress(done, replications)
    columns = np.array([values for values, _ in results]).T
    columns[4] /= system.processors
    columns[5] /= system.disks
    names = (
        "mean_response", "mean_wait", "mean_jobs", "mean_running",
        "processor_utilisation", "disk_utilisation",
    )  # fmt: skip
    estimates = {
        n: estimate(c.tolist(), confidence=confidence) for n, c in zip(names, columns, strict=True)
    }
    return Simulation(
        policy=policy.label,
        arrival_rate=rate,
        load=rate / bound,
        **estimates,
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


@dataclass(frozen=True, eq=False)
class Layout:
    """A policy on a machine as the kernel wants it; an allotment is a row of the time tables."""

    kind: int
    limit: int
    io_time: Array
    cpu_time: Array
    disk_of: NDArray[np.int64]
    processors_of: Array
    disks_of: Array


@singledispatch
def layout(policy: AbstractPolicy, system: System, program: AbstractProgram) -> Layout:
    """Lay a policy out on a machine; a policy without an entry here cannot be simulated."""
    raise ModelError(f"no simulator for the policy {policy!r}; use SP, DP or TS")


@layout.register
def _(policy: SpaceSharing, system: System, program: AbstractProgram) -> Layout:
    return _partitions(policy, system, program, _kernels.STATIC, 1)


@layout.register
def _(policy: TimeSharing, system: System, program: AbstractProgram) -> Layout:
    return _partitions(policy, system, program, _kernels.TIMED, policy.multiprogramming)


@layout.register
def _(policy: DynamicPartitioning, system: System, program: AbstractProgram) -> Layout:
    c, disks = system.max_processor_partitions, policy.disk_partitions
    shares = system.processors / np.arange(1, c + 1)
    sizes = np.full(disks, system.disks / disks)
    io, cpu = _tables(program, shares, np.full(c, sizes[0]))
    return Layout(_kernels.DYNAMIC, c, io, cpu, np.zeros(c, np.int64), shares, sizes)


def _partitions(
    policy: SpaceSharing | TimeSharing,
    system: System,
    program: AbstractProgram,
    kind: int,
    limit: int,
) -> Layout:
    pairs = policy.processor_partitions
    disks = min(policy.disk_partitions, pairs)
    processors_of = _whole_sizes(system.processors, pairs)
    disks_of = _whole_sizes(system.disks, policy.disk_partitions)[:disks]
    disk_of = np.arange(pairs) % disks
    io, cpu = _tables(program, processors_of, disks_of[disk_of])
    return Layout(kind, limit, io, cpu, disk_of, processors_of, disks_of)


def _whole_sizes(units: int, partitions: int) -> Array:
    each, extra = divmod(units, partitions)
    return np.array([each + 1.0] * extra + [float(each)] * (partitions - extra))


def _tables(program: AbstractProgram, p: Array, d: Array) -> tuple[Array, Array]:
    rows = [program.phase_times(float(a), float(b)) for a, b in zip(p, d, strict=True)]
    io, cpu = (np.array([row[i] for row in rows], dtype=float) for i in (0, 1))
    return io, cpu


def _check_count(name: str, value: int | None, least: int) -> None:
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least
    ):
        raise ModelError(f"{name} must be a whole number >= {least}, got {value!r}")
