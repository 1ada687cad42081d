"""Machine, workload and loads of Rosti et al., predicted and simulated: what figures 6 and 7 share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qmodels.policies import AbstractPolicy, System, Workload, capacity, predict, work_bound
from qmodels.programs import Burst, Phase, Program, WorkingSet
from validation.papers.base import UNDECIDED, Finding, RunOptions, Verdict, whether
from validation.sharing import simulate
from validation.trial.agreement import DECISIVE_PRECISION

if TYPE_CHECKING:
    import pandas as pd

PROCESSOR_PARTITIONS = (1, 2, 4, 8, 16)
DISK_PARTITIONS = (1, 2, 4, 8, 16, 32)
SHOWN = (1, 4, 8, 16)  #: numbers of disk partitions that have a panel in figures 6 and 7
_PHASES = 8
#: Loads at which all policies are predicted, and fractions of its own capacity for each.
COMMON = (0.002, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OWN = (0.5, 0.75, 0.9, 0.97, 0.99, 0.999)
#: Fractions of its own capacity at which each policy is simulated.
SIMULATED, SIMULATED_QUICK = (0.2, 0.4, 0.6, 0.8), (0.5,)
PRECISION, PRECISION_QUICK = 0.03, 0.1


def reference_machine() -> System:
    """128 processors and 32 disks, at least 8 processors and 1 disk for each job: section 4."""
    return System(processors=128, disks=32, min_processors=8, min_disks=1)


def reference_workload() -> Workload:
    """W*, the synthetic workload that stands for theirs, whose measured parameters are lost.

    It computes for .1 + 512/p seconds, 2.2 times as long on 8 processors or fewer (the
    discontinuity of one of their programs), and transfers for 32/min(d, p/4) seconds, in eight
    equal phases; its demand has scv 2 and its arrivals are Poisson.
    """
    cpu = Burst(2.2 * 512.1 / _PHASES, sequential=2.2 * 0.1 / _PHASES, slowdown=(8, 2.2), law="p")
    io = Burst(128.0 / _PHASES, law="min(d, p/4)")
    program = Program([WorkingSet(_PHASES, [Phase(io=io, cpu=cpu)])], name="W*")
    return Workload.from_scv(program, demand_scv=2.0)


def sweep(
    policies: Sequence[AbstractPolicy],
    system: System,
    workload: Workload,
    options: RunOptions,
    *,
    what: str,
) -> pd.DataFrame:
    """Predict every policy at twenty loads and simulate it at some, with common random numbers.

    Parameters
    ----------
    policies : sequence of policies
    system, workload
        As for `qmodels.predict`.
    options : RunOptions
    what : str
        What progress is reported under.

    Returns
    -------
    pandas.DataFrame
        A row per policy and load: load, its fraction of the policy's capacity, the predicted
        mean response time, and the simulated one with its interval where there is one, in
        seconds.
    """
    import pandas as pd

    bound = work_bound(system, workload.program)
    fractions = SIMULATED_QUICK if options.quick else SIMULATED
    rows: list[dict[str, Any]] = []
    for done, policy in enumerate(policies, start=1):
        largest_rate = capacity(policy, system, workload)
        own = [fraction * largest_rate / bound for fraction in OWN]
        simulated = [fraction * largest_rate / bound for fraction in fractions]
        for load in sorted({*COMMON, *own, *simulated}):
            row: dict[str, Any] = {
                "policy": policy.label,
                "kind": policy.name,
                "processor_partitions": getattr(policy, "processor_partitions", 0),
                "disk_partitions": getattr(policy, "disk_partitions", 0),
                "load": load,
                "load_of_capacity": load * bound / largest_rate,
                "arrival_rate_per_s": load * bound,
                "capacity_per_s": largest_rate,
                "status": "stable" if load * bound < largest_rate else "saturated",
            }
            if row["status"] == "stable":
                found = predict(policy, system, workload, load=load)
                row |= {
                    "predicted_s": found.mean_response,
                    "method": found.method,
                    "model": found.model,
                }
            if load in simulated:
                run = simulate(
                    policy,
                    system,
                    workload,
                    load=load,
                    seed=options.seed,
                    point=simulated.index(load),
                    **options.by_threads,
                    precision=PRECISION_QUICK if options.quick else PRECISION,
                )
                row |= {
                    "simulated_s": run.mean_response.mean,
                    "simulated_low_s": run.mean_response.low,
                    "simulated_high_s": run.mean_response.high,
                    "replications": run.replications,
                    "precise": run.precise,
                    "z_score": run.mean_response.z_score(row["predicted_s"]),
                }
            rows.append(row)
        options.progress(what, done, len(policies))
    return pd.DataFrame(rows)


def common_loads(table: pd.DataFrame) -> dict[str, dict[float, float]]:
    """Predicted mean response of each policy by common load; infinite where it is saturated."""
    some = table[table.load.isin(COMMON)]
    return {
        str(label): dict(zip(rows.load, rows.predicted_s.fillna(np.inf), strict=True))
        for label, rows in some.groupby("policy")
    }


def agreement(table: pd.DataFrame) -> list[Finding]:
    """How well predictions and simulations agree, where the model is exact and where it is not.

    A point that is off decides whatever the others are worth. Where none is, points simulated less
    precisely than `DECISIVE_PRECISION` leave the finding undecided: they would allow anything.
    """
    from scipy.special import ndtri

    both = table[table.simulated_s.notna()]
    findings = []
    exact = both[both.method == "exact"]
    if len(exact):
        # One of so many scores lies beyond this once in a hundred runs of the experiment.
        bound = float(-ndtri(0.005 / len(exact)))
        worst = float(exact.z_score.abs().max())
        findings.append(
            Finding(
                "X-2",
                "where the model is exact the simulator agrees within its noise",
                _agree(worst <= bound, exact),
                f"largest |z| {worst:.2f} of {len(exact)} points, bound {bound:.2f}{_said_of_wide(exact)}",
            )
        )
    rest = both[both.method != "exact"]
    if len(rest):
        predicted, seen = rest.predicted_s.to_numpy(), rest.simulated_s.to_numpy()
        gap = predicted / seen - 1.0
        half_width = rest.simulated_high_s.to_numpy() - seen
        within = np.abs(predicted - seen) <= np.maximum(3 * half_width, 0.05 * seen)
        worst_at = rest.iloc[int(np.abs(gap).argmax())]
        findings.append(
            Finding(
                "X-2",
                "where it is approximate the gap is at most 5 % or three intervals",
                _agree(bool(within.all()), rest),
                f"{int(within.sum())} of {len(rest)} points, median gap {np.median(gap):+.1%}, "
                f"largest {gap[np.abs(gap).argmax()]:+.1%} at {worst_at.policy}, "
                f"{worst_at.load_of_capacity:.0%} of its capacity{_said_of_wide(rest)}",
            )
        )
    return findings


def _agree(none_is_off: bool, points: pd.DataFrame) -> Verdict:
    """The verdict on simulated points of which none is off, or some are."""
    return UNDECIDED if none_is_off and _wide(points) else whether(none_is_off)


def _wide(points: pd.DataFrame) -> int:
    """How many points have an interval too wide to confirm a prediction."""
    half_width = points.simulated_high_s - points.simulated_s
    return int((half_width > DECISIVE_PRECISION * points.simulated_s).sum())


def _said_of_wide(points: pd.DataFrame) -> str:
    wide = _wide(points)
    return f"; {wide} known to worse than {DECISIVE_PRECISION:.0%}" if wide else ""
