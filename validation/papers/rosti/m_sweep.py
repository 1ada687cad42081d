"""How many jobs a partition should hold: the multiprogramming level against the CPU : I/O ratio."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit import PhaseType
from qmodels.networks import disk_group_throughput
from qmodels.policies import System, TimeSharing, Workload, capacity, predict
from qmodels.programs import Burst, Phase, Program, WorkingSet
from validation.papers.base import Experiment, Finding, Outcome, RunOptions, whether
from validation.papers.rosti import plotting
from validation.papers.rosti.load_sweep import PRECISION, PRECISION_QUICK, agreement
from validation.sharing import simulate

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (1, 2, 3, 4, 6)
RATIOS = tuple(2.0**k for k in range(-4, 5))
PHASES = 4
#: Loads as fractions of what one job at a time can do, and ratios that are simulated.
LOADS = (0.5, 0.9)
SIMULATED, SIMULATED_QUICK = (0.125, 0.5, 1.0, 2.0, 8.0), (1.0,)
#: A level is good enough if its mean response time is within so much of the least.
TOLERANCE = 0.02


def run(options: RunOptions) -> Outcome:
    """One processor partition and one disk partition, exponential bursts, four phases of 1 s."""
    import pandas as pd

    machine = System(processors=1, disks=1)
    rows: list[dict[str, Any]] = []
    for done, ratio in enumerate(RATIOS, start=1):
        work = _workload(ratio)
        alone = capacity(TimeSharing(1, 1, 1), machine, work)
        for level in LEVELS:
            policy = TimeSharing(1, 1, level)
            largest_rate = capacity(policy, machine, work)
            for place, load in enumerate(LOADS):
                row: dict[str, Any] = {
                    "policy": policy.label,
                    "multiprogramming": level,
                    "cpu_to_io": ratio,
                    "load_of_one_job": load,
                    "load_of_capacity": load * alone / largest_rate,
                    "arrival_rate_per_s": load * alone,
                    "capacity_per_s": largest_rate,
                    "gain": largest_rate / alone,
                }
                found = predict(policy, machine, work, arrival_rate=load * alone)
                row |= {
                    "predicted_s": found.mean_response,
                    "method": found.method,
                    "model": found.model,
                    "reduction": found.reduction,
                }
                if ratio in (SIMULATED_QUICK if options.quick else SIMULATED):
                    measured = simulate(
                        policy,
                        machine,
                        work,
                        arrival_rate=load * alone,
                        seed=options.seed,
                        point=place,
                        **options.by_threads,
                        precision=PRECISION_QUICK if options.quick else PRECISION,
                    ).mean_response
                    row |= {
                        "simulated_s": measured.mean,
                        "simulated_low_s": measured.low,
                        "simulated_high_s": measured.high,
                        "replications": measured.replications,
                        "z_score": measured.z_score(found.mean_response),
                    }
                rows.append(row)
        options.progress("multiprogramming", done, len(RATIOS))
    table = pd.DataFrame(rows)
    best = best_levels(table)
    table["best_level"] = [
        best[load][ratio] for load, ratio in zip(table.load_of_one_job, table.cpu_to_io, strict=True)
    ]
    findings = (*_claims(table, best), *agreement(table))
    return Outcome(table, findings, lambda: plotting.multiprogramming_panels(table, best))


def best_levels(table: pd.DataFrame) -> dict[float, dict[float, int]]:
    """By load and ratio, the least level that is within the tolerance of the fastest."""
    best: dict[float, dict[float, int]] = {}
    for load in LOADS:
        for ratio in RATIOS:
            rows = table[(table.load_of_one_job == load) & (table.cpu_to_io == ratio)]
            enough = rows[rows.predicted_s <= (1 + TOLERANCE) * rows.predicted_s.min()]
            best.setdefault(load, {})[ratio] = int(enough.multiprogramming.min())
    return best


def _workload(ratio: float) -> Workload:
    """Phases of one second in all, exponential bursts in the given ratio."""
    cpu = ratio / (1 + ratio)
    phase = Phase(io=Burst(1 - cpu, law="1"), cpu=Burst(cpu, law="1"))
    one = PhaseType.exponential(mean=1.0)
    return Workload(Program([WorkingSet(PHASES, [phase])]), io_bursts=one, cpu_bursts=one)


def _claims(table: pd.DataFrame, best: dict[float, dict[float, int]]) -> Iterator[Finding]:
    two = table[table.multiprogramming == 2].drop_duplicates("cpu_to_io")
    r = two.cpu_to_io.to_numpy()
    error = np.abs(two.gain.to_numpy() / ((1 + r) ** 2 / (1 + r + r**2)) - 1.0).max()
    yield Finding(
        "R-57",
        "a second job raises the capacity by (1+r)^2/(1+r+r^2), r the ratio of CPU to I/O",
        whether(bool(error < 1e-10)),
        f"largest relative difference {error:.1e}",
    )
    tops = {}
    for level in LEVELS[1:]:
        rows = table[table.multiprogramming == level]
        tops[level] = rows.cpu_to_io.to_numpy()[rows.gain.to_numpy().argmax()]
    yield Finding(
        "R-57",
        "whatever the level, the gain is largest at a ratio of one",
        whether(set(tops.values()) == {1.0}),
        "largest at " + ", ".join(f"{x:g} (M = {level})" for level, x in tops.items()),
    )
    busy = [disk_group_throughput(1.0, 1.0, [level]) for level in LEVELS]
    yield Finding(
        "R-57",
        "at a ratio of one the overlap becomes total as the level grows",
        whether(all(a < b < 1.0 for a, b in pairwise(busy))),
        f"each resource is busy {busy[1]:.0%} of the time at M = 2, {busy[-1]:.0%} at M = {LEVELS[-1]}",
    )
    for load, levels in best.items():
        peak = max(levels, key=lambda ratio: (levels[ratio], -abs(np.log(ratio))))
        yield Finding(
            "R-57",
            f"the best level depends on the ratio, at {load:.0%} of what one job at a time can do",
            whether(len(set(levels.values())) > 1),
            f"M = {levels[RATIOS[0]]} at {RATIOS[0]:g}, {levels[peak]} at {peak:g}, "
            f"{levels[RATIOS[-1]]} at {RATIOS[-1]:g}",
        )


EXPERIMENT = Experiment(
    name="m-sweep",
    source="Rosti, Serazzi, Smirni, Squillante, SIGMETRICS 1998, section 4.2 (no figure)",
    claim="the best multiprogramming level depends on the ratio of computation to I/O in a phase; "
    "a ratio of one gives total overlap",
    run=run,
)
