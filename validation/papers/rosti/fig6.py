"""Figure 6 of Rosti et al.: space sharing, static and dynamic, over the load."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from qmodels.policies import AbstractPolicy, DynamicPartitioning, SpaceSharing
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, whether
from validation.papers.rosti import plotting
from validation.papers.rosti.load_sweep import COMMON, agreement, common_loads, sweep
from validation.papers.rosti.reference_workload import (
    DISK_PARTITIONS,
    PROCESSOR_PARTITIONS,
    SHOWN,
    reference_machine,
    reference_workload,
)

if TYPE_CHECKING:
    import pandas as pd


def run(options: RunOptions) -> Outcome:
    """Predict and simulate SP and DP for every number of partitions of the source."""
    policies: list[AbstractPolicy] = []
    for disks in SHOWN if options.quick else DISK_PARTITIONS:
        policies += [SpaceSharing(k, disks) for k in PROCESSOR_PARTITIONS]
        policies.append(DynamicPartitioning(disks))
    table = sweep(policies, reference_machine(), reference_workload(), options, what="figure 6")
    findings = (*_claims(table), *agreement(table))
    return Outcome(table, findings, lambda: plotting.response_panels(table, SHOWN))


def _claims(table: pd.DataFrame) -> Iterator[Finding]:
    times = common_loads(table)
    disks = sorted(int(k) for k in table.disk_partitions.unique())
    for k in (d for d in disks if d >= 8):
        best = _best_sizes(times, k)
        rising = best == sorted(best)
        visits = sorted(set(best))
        enough = k < 16 or visits == [1, 2, 4, 8]
        yield Finding(
            "R-45" if k >= 16 else "R-48",
            f"K_D = {k}: the best of 1, 2, 4, 8 processor partitions grows with the load",
            whether(rising and enough),
            f"best in turn: {', '.join(map(str, visits))}",
        )
    if 16 in disks:
        worse = [times["SP(16,16)"][x] >= times["SP(8,16)"][x] for x in COMMON]
        yield Finding(
            "R-46",
            "SP(16,16) is worse than SP(8,16) at every load",
            whether(all(worse)),
            f"{sum(worse)} of {len(worse)} loads",
        )
    order = [f"SP({k},1)" for k in PROCESSOR_PARTITIONS]
    strict = [all(_less(times[a][x], times[b][x]) for a, b in pairwise(order)) for x in COMMON]
    yield Finding(
        "R-49",
        "K_D = 1: SP(1,1) < SP(2,1) < SP(4,1) < SP(8,1) < SP(16,1) at every load",
        whether(all(strict)),
        f"{sum(strict)} of {len(strict)} loads",
    )
    leads = {k: max(takewhile(partial(_dynamic_leads, times, k), COMMON), default=0) for k in disks}
    yield Finding(
        "R-51",
        "dynamic partitioning is best at light load",
        whether(all(_dynamic_leads(times, k, x) for k in disks for x in COMMON[:3])),
        "up to load " + ", ".join(f"{x:g} (K_D = {k})" for k, x in leads.items()),
    )
    beaten = [k for k in disks if any(_static_leads(times, k, x) for x in COMMON)]
    yield Finding(
        "R-53",
        "at higher load some static policy beats dynamic partitioning for K_D = 1 and 4",
        whether({1, 4} <= set(beaten)),
        "seen for K_D = " + ", ".join(map(str, beaten)),
    )


def _best_sizes(times: dict[str, dict[float, float]], disks: int) -> list[int]:
    """Best number of processor partitions at each common load that some policy can carry."""
    best = []
    for load in COMMON:
        here = {k: times[f"SP({k},{disks})"][load] for k in (1, 2, 4, 8)}
        if min(here.values()) < float("inf"):
            best.append(min(here, key=here.__getitem__))
    return best


def _less(a: float, b: float) -> bool:
    """Whether a < b, two saturated policies counting as in order."""
    return a < b or a == b == float("inf")


def _static_leads(times: dict[str, dict[float, float]], disks: int, load: float) -> bool:
    static = min(times[f"SP({k},{disks})"][load] for k in PROCESSOR_PARTITIONS)
    return static < times[f"DP({disks})"][load]


def _dynamic_leads(times: dict[str, dict[float, float]], disks: int, load: float) -> bool:
    static = min(times[f"SP({k},{disks})"][load] for k in PROCESSOR_PARTITIONS)
    return times[f"DP({disks})"][load] <= min(static, 1e300)


EXPERIMENT = Experiment(
    name="rosti-fig6",
    source="Rosti, Serazzi, Smirni, Squillante, SIGMETRICS 1998, figure 6",
    claim="contention for shared disks reverses the order of static partitionings, and dynamic "
    "partitioning leads at light load only",
    run=run,
)
