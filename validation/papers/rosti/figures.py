"""Figures 6 and 7 of Rosti et al.: space sharing, and with time sharing, over the load."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product, takewhile
from typing import TYPE_CHECKING

from qmodels.policies import (
    AbstractPolicy,
    DynamicPartitioning,
    SpaceSharing,
    TimeSharing,
    capacity,
    predict,
)
from qmodels.policies.base import work_bound
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_below_zero, whether
from validation.papers.rosti import plotting
from validation.papers.rosti.load_sweep import (
    COMMON,
    DISK_PARTITIONS,
    PROCESSOR_PARTITIONS,
    SHOWN,
    agreement,
    common_loads,
    reference_machine,
    reference_workload,
    sweep,
)
from validation.sharing import simulate_candidates

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 2  #: multiprogramming level of the source
SAME = 1e-9  #: relative difference below which two predictions are a tie
FRACTIONS = (0.4, 0.8)  #: of the capacity of space sharing, where both are simulated
MISSED = 0.01  #: how often one of all intervals misses its difference


def space_sharing(options: RunOptions) -> Outcome:
    """Predict and simulate SP and DP for every number of partitions of the source."""
    policies: list[AbstractPolicy] = []
    for disks in SHOWN if options.quick else DISK_PARTITIONS:
        policies += [SpaceSharing(k, disks) for k in PROCESSOR_PARTITIONS]
        policies.append(DynamicPartitioning(disks))
    table = sweep(policies, reference_machine(), reference_workload(), options, what="figure 6")
    findings = (*_space_claims(table), *agreement(table))
    return Outcome(table, findings, lambda: plotting.response_panels(table, SHOWN))


def _space_claims(table: pd.DataFrame) -> Iterator[Finding]:
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


SPACE = Experiment(
    name="rosti-fig6",
    source="Rosti, Serazzi, Smirni, Squillante, SIGMETRICS 1998, figure 6",
    claim="contention for shared disks reverses the order of static partitionings, and dynamic "
    "partitioning leads at light load only",
    run=space_sharing,
)


def time_sharing(options: RunOptions) -> Outcome:
    """Predict and simulate TS with two jobs on a partition, for every number of partitions."""
    disks = SHOWN if options.quick else DISK_PARTITIONS
    policies: list[AbstractPolicy] = [TimeSharing(k, d, LEVEL) for d in disks for k in PROCESSOR_PARTITIONS]
    table = sweep(policies, reference_machine(), reference_workload(), options, what="figure 7")
    findings = (*_time_claims(table), _side_by_side(options), *agreement(table))
    return Outcome(table, findings, lambda: plotting.response_panels(table, SHOWN))


def _time_claims(table: pd.DataFrame) -> Iterator[Finding]:
    machine, work = reference_machine(), reference_workload()
    bound = work_bound(machine, work.program)
    times = common_loads(table)
    ratios, slower, compared = [], [], 0
    for disks in sorted(int(k) for k in table.disk_partitions.unique()):
        for k in PROCESSOR_PARTITIONS:
            timed, static = TimeSharing(k, disks, LEVEL), SpaceSharing(k, disks)
            static_rate = capacity(static, machine, work)
            ratios.append(capacity(timed, machine, work) / static_rate)
            for load in (x for x in COMMON if x * bound < static_rate):
                compared += 1
                alone = predict(static, machine, work, load=load).mean_response
                if times[timed.label][load] > alone * (1 + SAME):
                    slower.append(f"({k},{disks}) at {load:g}")
    yield Finding(
        "R-56",
        "time sharing saturates later than space sharing on the same partitions",
        whether(min(ratios) > 1.0),
        f"capacity {min(ratios):.3f} to {max(ratios):.3f} times as large",
    )
    yield Finding(
        "R-56",
        "time sharing answers no later in the model than space sharing on the same partitions, at "
        "any load that all policies are compared at",
        whether(not slower),
        f"{compared - len(slower)} of {compared} points"
        + (f"; not {', '.join(slower[:3])}" if slower else ""),
    )


def _side_by_side(options: RunOptions) -> Finding:
    """Both kinds of sharing simulated on the same jobs, at fractions of the static capacity.

    Every case has jobs of its own, so that what one draws does not decide for the others. With so
    many cases one in twenty intervals would miss its difference: they are widened for their
    number, so that one of all misses it once in a hundred runs of the experiment.
    """
    machine, work = reference_machine(), reference_workload()
    pairs = [(4, 4), (16, 16)] if options.quick else list(product(PROCESSOR_PARTITIONS, SHOWN))
    later: list[tuple[float, str]] = []
    found = []
    cases = list(product(pairs, FRACTIONS))
    for point, ((k, disks), fraction) in enumerate(cases):
        static, timed = SpaceSharing(k, disks), TimeSharing(k, disks, LEVEL)
        both = simulate_candidates(
            [static, timed],
            machine,
            work,
            arrival_rate=fraction * capacity(static, machine, work),
            jobs=4000,
            replications=12,
            confidence=1.0 - MISSED / len(cases),
            seed=options.seed,
            point=point,
            **options.by_threads,
        )
        gap = both.compare(timed, static)
        found.append(gap.difference)
        options.progress("figure 7, side by side", len(found), len(cases))
        if gap.verdict == "worse":
            share = gap.mean / both.mean_of(both.best())
            later.append((share, f"{share:.1%} at ({k},{disks}), {fraction:.0%} of its capacity"))
    sooner = sum(each.high < 0.0 for each in found)
    return Finding(
        "R-56",
        "simulated on the same jobs, time sharing answers sooner than space sharing on the same partitions",
        all_below_zero(*found),
        f"beyond noise sooner in {sooner} and later in {len(later)} "
        f"of {len(found)} cases" + (f", at most by {max(later)[1]}" if later else ""),
    )


TIME = Experiment(
    name="rosti-fig7",
    source="Rosti, Serazzi, Smirni, Squillante, SIGMETRICS 1998, figure 7",
    claim="overlapping the I/O of some jobs with the computation of others uses the machine best, "
    "and outweighs the contention that it adds",
    run=time_sharing,
)
