"""Policies that a site cannot run today, simulated on its own programs and arrivals."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phasefit.arrays import Array
from phasefit.checks import real_number, whole_number
from phasefit.records import Record
from qmodels.errors import ModelError
from qmodels.policies import System, Workload
from qmodels.programs import AbstractProgram
from qmodels.words import in_words
from validation.analysis.estimates import Estimate
from validation.analysis.seeding import stream
from validation.malleable.base import MALLEABLE, AbstractMalleable
from validation.malleable.jobs import Curve, Jobs
from validation.malleable.policies.equal_shares import EqualShares
from validation.malleable.policies.hesrpt import HighEfficiencySRPT
from validation.malleable.policies.limited_sharing import LimitedSharing
from validation.malleable.simulator import simulate_jobs

#: Replications and jobs in each, of which some three quarters are measured.
REPLICATIONS, JOBS = 40, 1000
#: What stands beside the policies of a site where nothing else is asked for.
ASKED: Final = ("EQUI", "heSRPT")
#: Why the others cannot be asked for on a site's programs.
_NOT_OF_PROGRAMS: Final = {
    "IF": "knows phases that use one processor and phases that use many; simulate_jobs takes such",
    "EF": "knows phases that use one processor and phases that use many; simulate_jobs takes such",
    "GREEDY": "with one speed curve is EQUI in whole processors; ask for EQUI",
    "ServerFilling": "is of rigid jobs, whose needs a program does not tell; simulate_jobs takes such",
    "ServerFilling-SRPT": "is of rigid jobs, whose needs a program does not tell; simulate_jobs takes such",
}
#: Exponents of the speed curve that are used for shares.
_LEAST, _MOST = 0.05, 0.98


@dataclass(frozen=True)
class Unrunnable(Record):
    """Mean response of a policy that the site cannot run today."""

    policy: str  #: label
    mean_response: Estimate | None  #: seconds, simulated; None if it has no steady state
    needs: str  #: what a site would have to know or do
    legend: str  #: what the policy does
    jobs: int = JOBS  #: of each replication

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
            f"{self.policy}: {in_words(mean)} ± {in_words(half, like=mean)}, {beside}{sure}; "
            f"needs {self.needs}"
        )


def is_malleable(label: str) -> bool:
    """Return whether a label is that of a malleable policy, whatever stands in its brackets.

    Parameters
    ----------
    label : str
        Such as "heSRPT(0.7)".
    """
    return MALLEABLE.spelling(label.strip().partition("(")[0]) is not None


def named_policy(label: str, exponent: float) -> AbstractMalleable:
    """Return the policy that a label means.

    Parameters
    ----------
    label : str
        "EQUI"; "heSRPT" or "heSRPT(0.7)"; "LPS(4)".
    exponent : float
        Of the programs' speed curve, where the label of heSRPT gives none.

    Returns
    -------
    AbstractMalleable
        Whose shares are by jobs of one piece of work.

    Raises
    ------
    ModelError
        If there is no such policy, or it needs to know what such jobs do not tell.

    Examples
    --------
    >>> named_policy("heSRPT", 0.5).label, named_policy("LPS(2)", 0.5).label
    ('heSRPT(0.5)', 'LPS(2)')
    """
    name, _, number = label.strip().partition("(")
    kind = MALLEABLE.find(name)
    if kind.name in _NOT_OF_PROGRAMS:
        raise ModelError(f"{kind.name} {_NOT_OF_PROGRAMS[kind.name]}")
    given = re.fullmatch(r"([0-9.]+)\)", number) if number else None
    if kind is HighEfficiencySRPT and (given or not number):
        return HighEfficiencySRPT(float(given[1]) if given else exponent)
    if kind is LimitedSharing and given and given[1].isdigit():
        return LimitedSharing(int(given[1]))
    if number or kind is LimitedSharing:
        raise ModelError(f"{label!r}: write EQUI, heSRPT, heSRPT(0.7) or LPS(4)")
    return kind()


def check_asked(policies: Sequence[str], workload: Workload) -> None:
    """Refuse what `unrunnable` would refuse, before other work is done.

    Parameters
    ----------
    policies : sequence of str
        Labels, see `named_policy`.
    workload : Workload
        What would be simulated.

    Raises
    ------
    ModelError
        If a policy is not known, or bursts have laws of their own, which such a job, one piece of work,
        has not.
    """
    for label in policies:
        named_policy(label, _LEAST)
    if policies and workload.has_bursts:
        raise ModelError(
            "bursts have laws of their own; what policies would buy is simulated of jobs that are one "
            "piece of work: give demand instead"
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
    policies: Sequence[str] = ASKED,
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
    policies : sequence of str
        Labels, see `named_policy`.
    replications, jobs : int
        How many replications of how many jobs.
    seed : int
        The same jobs for every policy.

    Returns
    -------
    tuple of Unrunnable
        In the order of `policies`; by default equal shares, and shares by what is left of each job.

    Raises
    ------
    ModelError
        If a policy is not known, or bursts have laws of their own; such a job is one piece of work.

    Examples
    --------
    >>> from qmodels import Phase, Program
    >>> work = Workload.from_scv(Program([Phase(io=4.0, cpu=60.0)]), demand_scv=4.0)
    >>> found = unrunnable(System(16, 16), work, 0.1, replications=10, jobs=200)
    >>> [(each.policy, each.needs) for each in found]
    [('EQUI', 'preemption; no sizes'), ('heSRPT(0.98)', 'preemption and known sizes')]
    """
    check_asked(policies, workload)
    rate = real_number("arrival_rate", arrival_rate, above=0.0)
    whole_number("replications", replications, least=2)
    whole_number("jobs", jobs, least=10)
    curve = machine_curve(system, workload.program)
    drawn = _drawn(system, workload, rate, curve, replications, jobs, seed)
    ends = np.array([float(system.min_processors), float(system.processors)])
    slow, fast = curve(ends).tolist()
    growth = ends[1] / ends[0]
    exponent = math.log(fast / slow) / math.log(growth) if growth > 1.0 else _LEAST
    chosen = [named_policy(label, min(max(exponent, _LEAST), _MOST)) for label in policies]
    # Equal shares of ever more jobs come down to the least allotment, limited ones to that of so many.
    whole = float(workload.program.mean_time(system.processors, system.disks))
    carries = {EqualShares().label: system.processors / system.min_processors * slow / whole}
    for each in chosen:
        if isinstance(each, LimitedSharing):
            part = np.array([system.processors / each.limit])
            carries[each.label] = float(each.limit * curve(part)[0]) / whole
    return tuple(
        Unrunnable(
            each.label,
            simulate_jobs(each, drawn, system.processors).mean_response
            if rate < carries.get(each.label, math.inf)
            else None,
            each.needs,
            each.legend,
            jobs,
        )
        for each in chosen
    )


def _drawn(
    system: System, workload: Workload, rate: float, curve: Curve, replications: int, jobs: int, seed: int
) -> Jobs:
    """Draw the jobs, a piece of work each, in seconds on the whole machine."""
    rng, law = stream(seed, "unrunnable"), workload.arrivals
    size = (replications, jobs)
    gaps = np.array([law.rvs(size=jobs, random_state=rng) for _ in range(replications)])
    whole = float(workload.program.mean_time(system.processors, system.disks))
    demand = workload.demand.rvs(size=replications * jobs, random_state=rng).reshape(size)
    return Jobs(
        arrival=np.cumsum(gaps, axis=1) / rate,
        work=(whole * demand)[:, :, None],
        curve=np.zeros((*size, 1), np.int64),
        curves=(curve,),
        need=np.ones(size),
    )
