"""Why a prediction and a job-level simulation differ: each reason switched off in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qmodels.policies import AbstractPolicy, System, Workload, predict
from qmodels.policies.models.demand import demand_law
from validation.analysis.comparison import compare
from validation.jobs.renewal import AbstractJobs, RenewalJobs, ReplayedJobs, drawn_jobs
from validation.sharing import Simulation, simulate
from validation.trial.agreement import Agreement, Cause

#: What each reason is called.
DISCIPLINE = "order of service at the disks"
DEPENDENCE = "dependence of arrivals and demands"
REDUCTION = "reduction of the law of demand"


def explain(
    policy: AbstractPolicy,
    system: System,
    workload: Workload,
    *,
    arrival_rate: float,
    stream_of_jobs: AbstractJobs | None = None,
    replications: int = 20,
    jobs: int = 2000,
    seed: int = 0,
    **options: Any,
) -> Agreement[Simulation]:
    """Predict, simulate, and say which simplification of the model costs how much.

    Parameters
    ----------
    policy, system, workload, arrival_rate
        As for `qmodels.predict`.
    stream_of_jobs : AbstractJobs, optional
        As for `validation.simulate`, such as a log replayed.
    replications, jobs, seed
        As for `validation.simulate`; so are further options.

    Returns
    -------
    Agreement
        With a cause for each of these that there is: the order of service at the disks, if it is
        not the model's processor sharing; dependence, if a log is replayed, against its gaps and
        demands drawn anew each by itself; the reduction of the law of demand, if the model had to
        simplify it. What is left is that running jobs are taken as spread evenly over the disks
        and in equilibrium at every number of them.

    Raises
    ------
    ModelError, UnstableError
        As `qmodels.predict` and `validation.simulate`.

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=64.0)]))
    >>> machine = System(processors=16, disks=16, disk_discipline="fcfs")
    >>> found = explain(SpaceSharing(4, 1), machine, work, arrival_rate=0.1, jobs=300)
    >>> [cause.name for cause in found.causes]
    ['order of service at the disks']
    """
    prediction = predict(policy, system, workload, arrival_rate=arrival_rate)

    def play(system: System, workload: Workload, stream: AbstractJobs | None) -> Simulation:
        return simulate(
            policy,
            system,
            workload,
            arrival_rate=arrival_rate,
            replications=replications,
            jobs=jobs,
            seed=seed,
            stream_of_jobs=stream,
            **options,
        )

    whole = play(system, workload, stream_of_jobs)
    without: dict[str, Simulation] = {}
    if system.disk_discipline != "ps":
        sharing = replace(system, disk_discipline="ps")
        without[DISCIPLINE] = play(sharing, workload, stream_of_jobs)
    if isinstance(stream_of_jobs, ReplayedJobs):
        apart = RenewalJobs(np.asarray(stream_of_jobs.interarrivals), np.asarray(stream_of_jobs.demands))
        without[DEPENDENCE] = play(system, workload, apart)
    if not workload.has_bursts and stream_of_jobs is None:
        law, reduced = demand_law(policy, system, workload)
        if reduced:
            # A law of the whole job takes the place of that of its demand: the mix is in it.
            simple = drawn_jobs(workload.arrivals, law)
            without[REDUCTION] = play(system, replace(workload, mix="mean"), simple)
    causes = tuple(
        Cause(name, compare(whole.responses, other.responses).difference) for name, other in without.items()
    )
    return Agreement(prediction=prediction, simulation=whole, causes=causes)
