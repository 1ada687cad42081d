"""Several policies simulated on the same jobs: which is best, and which cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phasefit.checks import whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import AbstractPolicy, System, Workload, capacity, work_bound
from qmodels.policies.prediction import chosen_rate
from qmodels.progress import Progress, no_progress
from validation.analysis.comparison import Comparison, compare
from validation.analysis.estimates import Estimate
from validation.sharing.results import Simulation
from validation.sharing.simulator import simulate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Contest(Result):
    """Policies in order of their simulated mean response time, all having met the same jobs."""

    drawing = Drawing("policy", "mean_response", labels=("policy", "mean response [s]"))

    policies: tuple[AbstractPolicy, ...]  #: fastest first; saturated ones are left out
    simulations: tuple[Simulation, ...]  #: of each
    comparisons: tuple[Comparison, ...]  #: mean response of each less that of the fastest [s]
    #: without a steady state at this rate, as predicted or, if the capacity is in doubt, as seen
    saturated: tuple[AbstractPolicy, ...]

    @property
    def best(self) -> AbstractPolicy:
        """The policy with the least simulated mean response time; see `ties` before crowning it."""
        return self.policies[0]

    @property
    def behind(self) -> tuple[Estimate, ...]:
        """Mean response of each less that of the fastest, seconds, by paired replications."""
        return tuple(each.difference for each in self.comparisons)

    @property
    def ties(self) -> tuple[AbstractPolicy, ...]:
        """The fastest and those whose difference from it is undecided."""
        pairs = zip(self.policies, self.comparisons, strict=True)
        return tuple(policy for policy, each in pairs if each.verdict == "undecided")

    def compare(self, policy: AbstractPolicy, to: AbstractPolicy) -> Comparison:
        """Compare the mean response of two policies [s], replication by replication.

        Raises
        ------
        ModelError
            If one of them was not simulated.
        """
        for each in (policy, to):
            if each not in self.policies:
                raise ModelError(
                    f"{each!r:.60} was not simulated; there are "
                    f"{', '.join(known.label for known in self.policies)}"
                )
        here, there = (self.simulations[self.policies.index(each)] for each in (policy, to))
        return compare(here.responses, there.responses, confidence=here.mean_response.confidence)

    def to_frame(self) -> pd.DataFrame:
        """One row for each stable policy, fastest first.

        The verdict is on the policy against the fastest: "worse" or "undecided". The fastest itself
        is "best" if every other is worse, and "undecided" if it has ties.
        """
        import pandas as pd

        rows = pd.concat([run.to_frame() for run in self.simulations], ignore_index=True)
        rows["behind_s"] = [each.mean for each in self.comparisons]
        rows["behind_half_width_s"] = [each.half_width for each in self.comparisons]
        rows["tie"] = [policy in self.ties for policy in self.policies]
        alone = len(self.ties) == 1
        rows["verdict"] = [
            "best" if alone and policy == self.best else each.verdict
            for policy, each in zip(self.policies, self.comparisons, strict=True)
        ]
        return rows


def simulate_candidates(
    policies: Sequence[AbstractPolicy],
    system: System,
    workload: Workload,
    *,
    arrival_rate: float | None = None,
    load: float | None = None,
    jobs: int = 20_000,
    warm_up: int | None = None,
    replications: int = 20,
    confidence: float = 0.95,
    progress: Progress | None = None,
    **options: Any,
) -> Contest:
    """Simulate several policies on the same jobs and rank them by mean response time.

    Parameters
    ----------
    policies : sequence of policies
        Those that have no steady state at the rate are reported, not simulated.
    system, workload, arrival_rate, load
        As for `validation.simulate`; further options too.
    jobs, warm_up : int
        Jobs of each replication that are measured and left out, for all policies alike; the
        warm-up is half of `jobs` by default.
    replications : int
        At least 2.
    confidence : float
        Coverage of the intervals, those of the differences included.
    progress : callable
        Called as ``progress("candidates", done, policies)`` after each policy.

    Returns
    -------
    Contest

    Raises
    ------
    UnstableError
        If no policy has a steady state.
    ModelError
        If the arguments make no model.

    Notes
    -----
    Common random numbers: replication r brings the same jobs to every policy, so a difference
    is known better than either mean, and its interval is that of the paired differences.

    References
    ----------
    .. [1] A. M. Law, *Simulation Modeling and Analysis*, 5th ed., McGraw-Hill 2015, secs. 10.2.1
       (paired intervals) and 11.2 (common random numbers).

    Examples
    --------
    >>> from qmodels import Phase, Program, SpaceSharing
    >>> work = Workload(Program([Phase(io=16.0, cpu=1024.0)]))
    >>> machine = System(processors=16, disks=16)
    >>> some = [SpaceSharing(1, 1), SpaceSharing(16, 16)]
    >>> simulate_candidates(some, machine, work, load=0.1, jobs=500, seed=1).best.label
    'SP(1,1)'
    """
    if not isinstance(policies, Sequence) or isinstance(policies, str) or not policies:
        raise ModelError(f"give a list of at least one policy, got {policies!r:.60}")
    whole_number("replications", replications, least=2)
    whole_number("jobs", jobs, least=1)
    rate = chosen_rate(arrival_rate, load, work_bound(system, workload.program))
    capacities = {p: capacity(p, system, workload) for p in dict.fromkeys(policies)}
    stable = [p for p, most in capacities.items() if rate < most * (1.0 + p.capacity_error(workload))]
    if not stable:
        largest = max(capacities, key=capacities.__getitem__)
        raise UnstableError(largest.label, rate, capacities[largest])
    report = no_progress if progress is None else progress
    runs = []
    for policy in stable:
        runs.append(
            simulate(
                policy,
                system,
                workload,
                arrival_rate=rate,
                jobs=jobs,
                warm_up=math.ceil(jobs / 2) if warm_up is None else warm_up,
                replications=replications,
                confidence=confidence,
                **options,
            )
        )
        report("candidates", len(runs), len(stable))
    # one whose capacity is in doubt was played to see whether it has a steady state
    settled = [i for i, run in enumerate(runs) if not run.saturated]
    if not settled:
        largest = max(capacities, key=capacities.__getitem__)
        raise UnstableError(largest.label, rate, capacities[largest])
    stable, runs = [stable[i] for i in settled], [runs[i] for i in settled]
    order = sorted(range(len(runs)), key=lambda i: runs[i].mean_response.mean)
    first = runs[order[0]].responses
    comparisons = [compare(runs[i].responses, first, confidence=confidence) for i in order]
    return Contest(
        policies=tuple(stable[i] for i in order),
        simulations=tuple(runs[i] for i in order),
        comparisons=tuple(comparisons),
        saturated=tuple(policy for policy in capacities if policy not in stable),
    )
