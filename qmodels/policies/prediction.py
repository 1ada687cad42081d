"""`predict`: what a policy will do under a workload, and how far the answer can be trusted."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from phasefit.checks import real_number
from qmodels.errors import ModelError, UnstableError
from qmodels.markov import solve_qbd
from qmodels.policies.base import AbstractPolicy, System, Workload, running_jobs, work_bound
from qmodels.policies.speed_scaled import speed_scaled_queue

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Long-run averages of a policy under a workload."""

    policy: str  #: such as SP(4,16)
    arrival_rate: float  #: jobs per second
    load: float  #: arrival rate over the rate that no policy can exceed (`work_bound`)
    capacity: float  #: largest stable arrival rate of this policy, jobs per second
    mean_response: float  #: seconds from arrival to departure
    mean_wait: float  #: seconds from arrival to the start
    mean_jobs: float  #: jobs in the system
    mean_running: float  #: jobs running
    throughput: float  #: jobs per second
    processor_utilisation: float  #: fraction of the processors in a computation burst
    disk_utilisation: float  #: fraction of the disks transferring
    method: str  #: "exact" for the model as stated, else "approximate"
    error_bound: float | None  #: relative numerical error of the means where exact, else None
    states: int  #: phases of a level of the chain once all partitions are taken
    seconds: float  #: time the solution took

    def table(self) -> str:
        """Name, value and unit, one to a line."""
        units = {
            "arrival_rate": "jobs/s",
            "capacity": "jobs/s",
            "throughput": "jobs/s",
            "mean_response": "s",
            "mean_wait": "s",
            "seconds": "s",
        }
        lines = []
        for f in fields(self):
            value = getattr(self, f.name)
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            lines.append(f"{f.name:<22} {shown} {units.get(f.name, '')}".rstrip())
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """One row with a column per quantity."""
        import pandas as pd

        return pd.DataFrame([{f.name: getattr(self, f.name) for f in fields(self)}])


def predict(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    model: str = "auto",
) -> Prediction:
    """Predict the steady state of a policy under a workload.

    Parameters
    ----------
    policy : SpaceSharing, DynamicPartitioning or TimeSharing
    system : System
    workload : Workload
    arrival_rate : float
        Jobs per second. Give this or `load`.
    load : float
        Arrival rate as a fraction of `work_bound`, the rate that no policy can exceed.
    model : {"auto", "speed-scaled"}
        Every running job proceeds at the speed that k jobs have in equilibrium.

    Returns
    -------
    Prediction
        `method` is "exact" where no disk partition is ever shared (and, under dynamic
        partitioning, every burst gains alike from processors), "approximate" otherwise.

    Raises
    ------
    UnstableError
        If the load is at or beyond the policy's capacity; names the largest stable load.
    MemoryBudgetError
        If the chain would not fit in memory.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Arrivals and demand are phase-type; the chain is a quasi-birth-death process whose level is
    the number of jobs, solved by `solve_qbd`. "Exact" means exact for that model: jobs of one
    demand law whose bursts all scale with it.

    References
    ----------
    .. [1] E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program
       behavior and parallel scheduling", *Proc. ACM SIGMETRICS* 1998, secs. 3.2-3.5.

    Examples
    --------
    Jobs that compute for 64 s and transfer for 1 s on the whole machine:

    >>> from qmodels import Phase, Program, SpaceSharing
    >>> program = Program([Phase(io=16.0, cpu=1024.0)])
    >>> machine = System(processors=16, disks=16)
    >>> whole = predict(SpaceSharing(1, 1), machine, Workload(program), load=0.5)
    >>> round(whole.mean_response, 6), whole.method
    (132.063492, 'exact')
    """
    if model not in ("auto", "speed-scaled"):
        raise ModelError(f'model must be "auto" or "speed-scaled", got {model!r}')
    started = time.perf_counter()
    running = running_jobs(policy, system, workload)
    bound = work_bound(system, workload.program)
    rate = chosen_rate(arrival_rate, load, bound)
    largest = float(running.throughput[-1])
    if rate >= largest:
        raise UnstableError(
            policy.label, rate, largest, load=rate / bound, largest_load=largest / bound
        )
    queue = speed_scaled_queue(workload.arrivals.scale(1.0 / rate), workload.demand, running.speeds)
    solution = solve_qbd(queue)
    mean_jobs = solution.mean_level()
    mean_running = solution.mean_of(np.arange(running.throughput.size + 1))
    return Prediction(
        policy=policy.label,
        arrival_rate=rate,
        load=rate / bound,
        capacity=largest,
        mean_response=mean_jobs / rate,
        mean_wait=solution.mean_excess() / rate,
        mean_jobs=mean_jobs,
        mean_running=mean_running,
        throughput=rate,
        processor_utilisation=solution.mean_of([0.0, *running.processors_busy]) / system.processors,
        disk_utilisation=solution.mean_of([0.0, *running.disks_busy]) / system.disks,
        method="exact" if running.exact else "approximate",
        error_bound=solution.error_bound if running.exact else None,
        states=queue.local[-1].shape[0],
        seconds=time.perf_counter() - started,
    )


def chosen_rate(arrival_rate: float | None, load: float | None, bound: float) -> float:
    """Jobs per second from whichever of the two was given; ModelError for neither or both."""
    if (arrival_rate is None) == (load is None):
        raise ModelError("give either arrival_rate (jobs/s) or load (fraction of the work bound)")
    if load is not None:
        return real_number("load", load, above=0.0) * bound
    return real_number("arrival_rate", arrival_rate, above=0.0)  # type: ignore[arg-type]
