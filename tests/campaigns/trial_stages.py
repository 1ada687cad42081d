"""The first steps of the chain of approximations, on infinite links, for every policy and machine.

M0 is the job-level simulation of the models' own assumptions; S1 the mesh machine with infinite
links and disks by processor sharing, which is to equal it within 1 %; S2 has packets served in
order of arrival instead, which is to change no more than 3 %. All three play the same jobs, at
eight tenths of the capacity on infinite links. Where jobs take turns at the same nodes, they share
the nodes' injection channels too: those cells are played without the exchange as well.

``python -m tests.campaigns.trial_stages`` takes about fifteen minutes of CPU.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise

import numpy as np

from qmodels.policies.base import running_jobs
from tests.campaigns.record import write_record
from validation.analysis.comparison import relative_differences
from validation.analysis.estimates import estimate
from validation.analysis.seeding import word
from validation.papers.trial.campaign import bounded
from validation.papers.trial.grid import PLACES, RATIOS, kinds
from validation.trial.bursts import workload
from validation.trial.chain import stage_responses
from validation.trial.replications import TrialPoint
from validation.trial.scenario import Cell

STAGES = ("M0", "S1", "S2")
LOAD, JOBS, WARM_UP, SEED = 0.8, 150, 40, 0
#: Replications after which to stop if both changes are known to half of their bounds.
LOOKS = (8, 16, 32)
EXCHANGE = 0.25
BOUNDS = {"S1": 0.01, "S2": 0.03}


def points():
    """Cells, ratios and shares: every policy and machine, and turns without an exchange as well."""
    for rows, columns in PLACES:
        for kind in kinds(rows, columns):
            on = partial(Cell.of, rows=rows, columns=columns, **kind, strategy="MC")
            for ratio in RATIOS if (rows, columns) == PLACES[0] else (2.0,):
                for share in (EXCHANGE, 0.0) if kind["policy"].name == "TS" else (EXCHANGE,):
                    yield on(cpu_to_io=ratio, exchange_share=share), ratio, share


def played(cell, ratio, share):
    """One cell in all stages."""
    speeds = running_jobs(cell.policy, cell.system, workload(cell, "infinite")).throughput
    rate = LOAD * float(speeds[-1])
    point = TrialPoint(cell=cell, arrival_rate=rate, jobs=JOBS, warm_up=WARM_UP, seed=SEED)
    found = {stage: [] for stage in STAGES}
    for count in range(1, LOOKS[-1] + 1):
        replication = count - 1
        arrival, demand = point.jobs_of(replication)
        for stage, means in found.items():
            response = stage_responses(
                cell,
                stage,
                arrival,
                demand,
                word(SEED, "trial", replication),
                awaited=point.measured.stop,
            )
            means.append(response[point.measured].mean())
        if count in LOOKS:
            changes = {
                after: estimate(relative_differences(found[after], found[before]).tolist())
                for before, after in pairwise(STAGES)
            }
            if all(changes[k].half_width <= BOUNDS[k] / 2 for k in BOUNDS):
                break
    row = {
        "machine": f"{cell.mesh.rows}x{cell.mesh.columns}",
        "policy": cell.policy.label,
        "cpu_to_io": ratio,
        "exchange_share": share,
        "arrival_rate": rate,
        "jobs": count * JOBS,
        "mean_M0": float(np.mean(found["M0"])),
    }
    for stage, change in changes.items():
        size, half = abs(change.mean), change.half_width
        row |= {f"change_{stage}": change.mean, f"half_width_{stage}": half}
        row[f"verdict_{stage}"] = bounded(size + half, size - half, BOUNDS[stage])
    return row


def main() -> None:
    """Play every cell and write the record."""
    rows = []
    for point in points():
        rows.append(played(*point))
        print(rows[-1], file=sys.stderr, flush=True)
    write_record("trial-stages", rows, command="python -m tests.campaigns.trial_stages", seed=SEED)


if __name__ == "__main__":
    main()
