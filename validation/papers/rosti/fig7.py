"""Figure 7 of Rosti et al.: space sharing with time sharing, over the load."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from qmodels.policies import AbstractPolicy, SpaceSharing, TimeSharing, capacity, predict
from qmodels.policies.base import work_bound
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, all_below_zero, whether
from validation.papers.rosti import plotting
from validation.papers.rosti.load_sweep import COMMON, agreement, common_loads, sweep
from validation.papers.rosti.reference_workload import (
    DISK_PARTITIONS,
    PROCESSOR_PARTITIONS,
    SHOWN,
    reference_machine,
    reference_workload,
)
from validation.sharing import simulate_candidates

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 2  #: multiprogramming level of the source
SAME = 1e-9  #: relative difference below which two predictions are a tie
FRACTIONS = (0.4, 0.8)  #: of the capacity of space sharing, where both are simulated
MISSED = 0.01  #: how often one of all intervals misses its difference


def run(options: RunOptions) -> Outcome:
    """Predict and simulate TS with two jobs on a partition, for every number of partitions."""
    disks = SHOWN if options.quick else DISK_PARTITIONS
    policies: list[AbstractPolicy] = [TimeSharing(k, d, LEVEL) for d in disks for k in PROCESSOR_PARTITIONS]
    table = sweep(policies, reference_machine(), reference_workload(), options, what="figure 7")
    findings = (*_claims(table), _side_by_side(options), *agreement(table))
    return Outcome(table, findings, lambda: plotting.response_panels(table, SHOWN))


def _claims(table: pd.DataFrame) -> Iterator[Finding]:
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
            workers=options.workers,
            executor=options.threads,
        )
        gap = both.compare(timed, static)
        found.append(gap.difference)
        options.progress("figure 7, side by side", len(found), len(cases))
        if gap.verdict == "worse":
            share = gap.mean / both.mean(both.best())
            later.append((share, f"{share:.1%} at ({k},{disks}), {fraction:.0%} of its capacity"))
    sooner = sum(each.high < 0.0 for each in found)
    return Finding(
        "R-56",
        "simulated on the same jobs, time sharing answers sooner than space sharing on the same partitions",
        all_below_zero(*found),
        f"beyond noise sooner in {sooner} and later in {len(later)} "
        f"of {len(found)} cases" + (f", at most by {max(later)[1]}" if later else ""),
    )


EXPERIMENT = Experiment(
    name="rosti-fig7",
    source="Rosti, Serazzi, Smirni, Squillante, SIGMETRICS 1998, figure 7",
    claim="overlapping the I/O of some jobs with the computation of others uses the machine best, "
    "and outweighs the contention that it adds",
    run=run,
)
