"""Several policies simulated on the same jobs: which is best, and which cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from phasefit.checks import whole_number
from qmodels.errors import ModelError, UnstableError
from qmodels.policies import AbstractPolicy, System, Workload, capacity, work_bound
from qmodels.policies.prediction import chosen_rate
from qmodels.progress import Progress, no_progress
from validation.analysis.alternatives import Alternatives, Quantity
from validation.sharing.results import Simulation
from validation.sharing.simulator import simulate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class PolicyComparison(Alternatives[AbstractPolicy, Simulation]):
    """Policies that met the same jobs, the least simulated mean response time [s] first."""

    kind = "policy"

    #: without a steady state at this rate, as predicted or, if the capacity is in doubt, as seen
    saturated: tuple[AbstractPolicy, ...] = ()

    def to_frame(self, quantity: str | None = None) -> pd.DataFrame:
        """Return one row for each stable policy, fastest first: its simulation, and how far behind it is.

        The verdict is on the policy against the fastest, see `verdict`.
        """
        import pandas as pd

        ahead = super().to_frame(quantity)
        rows = pd.concat([run.to_frame() for run in self.runs.values()], ignore_index=True)
        rows["behind_s"], rows["behind_half_width_s"] = ahead.difference, ahead.difference_half_width
        rows["tie"] = [policy in self.leaders(quantity) for policy in self.runs]
        rows["verdict"] = ahead.verdict
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
) -> PolicyComparison:
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
    PolicyComparison

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
    >>> simulate_candidates(some, machine, work, load=0.1, jobs=500, seed=1).best().label
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
        raise _too_much(capacities, rate)
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
        raise _too_much(capacities, rate)
    stable, runs = [stable[i] for i in settled], [runs[i] for i in settled]
    found = sorted(zip(stable, runs, strict=True), key=lambda pair: pair[1].mean_response.mean)
    return PolicyComparison(
        dict(found),
        {"mean_response": Quantity("s")},
        saturated=tuple(policy for policy in capacities if policy not in stable),
    )


def _too_much(capacities: Mapping[AbstractPolicy, float], rate: float) -> UnstableError:
    """Say what the policy of the largest capacity carries."""
    largest = max(capacities, key=capacities.__getitem__)
    return UnstableError(largest.label, rate, capacities[largest])
