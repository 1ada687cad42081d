"""Policies that a site cannot run today, simulated on its own programs and arrivals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from phasefit import MAP, PhaseType
from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.policies import System, Workload
from qmodels.programs import AbstractProgram
from qmodels.words import in_words
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream
from validation.malleable.base import AbstractMalleable
from validation.malleable.jobs import Curve, Jobs
from validation.malleable.policies.equal_shares import EqualShares
from validation.malleable.policies.hesrpt import HighEfficiencySRPT
from validation.malleable.simulator import simulate_jobs

#: Replications and jobs in each, of which some three quarters are measured.
REPLICATIONS, JOBS = 40, 1000
#: Exponents of the speed curve that are used for shares.
_LEAST, _MOST = 0.05, 0.98


@dataclass(frozen=True)
class Unrunnable(Record):
    """Mean response of a policy that the site cannot run today."""

    policy: str  #: label
    mean_response: Estimate | None  #: seconds, simulated; None if it has no steady state
    needs: str  #: what a site would have to know or do
    legend: str  #: what the policy does

    def sentence(self, label: str, value: float) -> str:
        """Return it beside a policy that can be run.

        Parameters
        ----------
        label : str
            Of the policy that can be run.
        value : float
            Its mean response, seconds.
        """
        if self.mean_response is None:
            return (
                f"{self.policy}: carries no such load, for it would run so many jobs at once that few "
                f"processors are left to each; needs {self.needs}"
            )
        mean, half = self.mean_response.mean, self.mean_response.half_width
        ratio = value / mean
        beside = f"{ratio:.2g} times as fast as {label}" if ratio >= 1.0 else f"no faster than {label}"
        sure = "" if self.mean_response.high < value or ratio < 1.0 else " (within the interval of it)"
        return (
            f"{self.policy}: {in_words(mean)} +- {in_words(half, like=mean)}, {beside}{sure}; "
            f"needs {self.needs}"
        )


def machine_curve(system: System, program: AbstractProgram) -> Curve:
    """Return how a program speeds up with its part of a machine, one on the whole of it.

    Parameters
    ----------
    system : System
        Processors and disks.
    program : Program or WorkloadMix
        Of a mix the mean of its programs.

    Returns
    -------
    callable
        Speed on x processors with the same part of the disks, but one set of `min_disks` at least;
        below `min_processors` in proportion, as by turns.

    Examples
    --------
    >>> from qmodels import Phase, Program
    >>> curve = machine_curve(System(16, 4), Program([Phase(io=0.0, cpu=8.0)]))
    >>> curve(np.array([0.5, 4.0, 16.0]))
    array([0.03125, 0.25   , 1.     ])
    """
    whole = float(program.mean_time(system.processors, system.disks))

    def curve(x: Array) -> Array:
        p = np.clip(x, system.min_processors, system.processors)
        d = np.maximum(system.disks * p / system.processors, system.min_disks)
        return np.asarray(whole / program.mean_time(p, d) * np.minimum(x / system.min_processors, 1.0))

    return curve


def unrunnable(
    system: System,
    workload: Workload,
    arrival_rate: float,
    *,
    replications: int = REPLICATIONS,
    jobs: int = JOBS,
    seed: int = 0,
) -> tuple[Unrunnable, ...]:
    """Simulate policies that would need preemption, or sizes, on a site's jobs.

    Parameters
    ----------
    system : System
        Processors and disks.
    workload : Workload
        Programs, of which `machine_curve` says how they speed up, demand and arrivals.
    arrival_rate : float
        Jobs per second.
    replications, jobs : int
        How many replications of how many jobs.
    seed : int
        The same jobs for every policy.

    Returns
    -------
    tuple of Unrunnable
        Equal shares, and shares by what is left of each job.

    Raises
    ------
    ModelError
        If bursts have laws of their own, which such a job, one piece of work, has not.

    Examples
    --------
    >>> from qmodels import Phase, Program
    >>> work = Workload.from_scv(Program([Phase(io=4.0, cpu=60.0)]), demand_scv=4.0)
    >>> found = unrunnable(System(16, 16), work, 0.1, replications=10, jobs=200)
    >>> [(each.policy, each.needs) for each in found]
    [('EQUI', 'preemption; no sizes'), ('heSRPT(0.98)', 'preemption and known sizes')]
    """
    if workload.has_bursts:
        raise ModelError(
            "bursts have laws of their own; what policies would buy is simulated of jobs that are one "
            "piece of work: give demand instead"
        )
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    whole_number("replications", replications, least=2)
    whole_number("jobs", jobs, least=10)
    curve = machine_curve(system, workload.program)
    drawn = _drawn(system, workload, rate, curve, replications, jobs, seed)
    ends = np.array([float(system.min_processors), float(system.processors)])
    slow, fast = curve(ends).tolist()
    growth = ends[1] / ends[0]
    exponent = math.log(fast / slow) / math.log(growth) if growth > 1.0 else _LEAST
    policies: list[AbstractMalleable] = [
        EqualShares(),
        HighEfficiencySRPT(min(max(exponent, _LEAST), _MOST)),
    ]
    # Equal shares of ever more jobs come down to the least allotment.
    whole = float(workload.program.mean_time(system.processors, system.disks))
    carries = {"EQUI": system.processors / system.min_processors * slow / whole}
    return tuple(
        Unrunnable(
            each.label,
            simulate_jobs(each, drawn, system.processors).mean_response
            if rate < carries.get(each.name, math.inf)
            else None,
            each.needs,
            each.legend,
        )
        for each in policies
    )


def _drawn(
    system: System, workload: Workload, rate: float, curve: Curve, replications: int, jobs: int, seed: int
) -> Jobs:
    """Draw the jobs, a piece of work each, in seconds on the whole machine."""
    rng, law = stream(seed, "unrunnable"), workload.arrivals
    size = (replications, jobs)
    gaps = np.array([_gaps(law, jobs, rng) for _ in range(replications)])
    whole = float(workload.program.mean_time(system.processors, system.disks))
    demand = workload.demand.rvs(size=replications * jobs, random_state=rng).reshape(size)
    return Jobs(
        arrival=np.cumsum(gaps, axis=1) / rate,
        work=(whole * demand)[:, :, None],
        curve=np.zeros((*size, 1), np.int64),
        curves=(curve,),
        need=np.ones(size),
    )


def _gaps(law: PhaseType | MAP, jobs: int, rng: np.random.Generator) -> Array:
    return np.asarray(law.rvs(size=jobs, random_state=rng))
