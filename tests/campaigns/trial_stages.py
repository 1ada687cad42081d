"""The first steps of the chain of approximations, on infinite links, for every policy and machine.

M0 is the job-level simulation of the models' own assumptions; S1 the mesh machine with infinite
links and disks by processor sharing, which is to equal it within 1 %; S2 has packets served in
order of arrival instead, which is to change no more than 3 %. All three play the same jobs, at
eight tenths of the capacity on infinite links. Where jobs take turns at the same nodes, they share
the nodes' injection channels too: those cells are played without the exchange as well.

``python -m tests.campaigns.trial_stages`` takes about ten minutes of CPU.
"""

from __future__ import annotations

import sys

import numpy as np

from qmodels.policies.base import running_jobs
from tests.campaigns.record import write_record
from validation.analysis.estimates import estimate
from validation.analysis.seeding import word
from validation.trial.bursts import workload
from validation.trial.chain import stage_responses
from validation.trial.grid import PLACES, RATIOS, policies
from validation.trial.replications import cell_of, draw_jobs

STAGES = ("M0", "S1", "S2")
LOAD, JOBS, WARM_UP, SEED = 0.8, 150, 40, 0
#: Replications double until both changes are known to half of what they may be.
FEWEST, MOST = 8, 32
BOUNDS = {"S1": 0.01, "S2": 0.03}


def points():
    """Cells as plain data: every policy and machine, and turns without an exchange as well."""
    for rows, columns in PLACES:
        for kind in policies(rows, columns):
            given = {"rows": rows, "columns": columns, **kind, "strategy": "MC"}
            for ratio in RATIOS if rows * columns == 64 else (2.0,):
                yield {**given, "cpu_to_io": ratio}
                if kind["policy"] == "TS":
                    yield {**given, "cpu_to_io": ratio, "exchange_share": 0.0}


def change(before, after):
    """Relative change of the mean and its half-width, of paired replications."""
    factor = float(after.mean() / before.mean())
    off = estimate((after - factor * before).tolist())
    return factor - 1.0, off.half_width / float(before.mean())


def verdict(size, half, bound):
    """Whether a change keeps to a bound, by its whole interval."""
    if abs(size) + half <= bound:
        return "holds"
    return "fails" if abs(size) - half > bound else "undecided"


def played(given):
    """One cell in all stages."""
    cell = cell_of(given)
    speeds = running_jobs(cell.policy, cell.system, workload(cell, "infinite")).throughput
    rate, jobs = LOAD * float(speeds[-1]), WARM_UP + JOBS + 10 * cell.most_running
    found = {stage: [] for stage in STAGES}
    while True:
        replication = len(found["M0"])
        arrival, demand = draw_jobs(cell, rate, jobs, SEED, replication)
        for stage, means in found.items():
            response = stage_responses(
                cell, stage, arrival, demand, word(SEED, "trial", replication),
                awaited=WARM_UP + JOBS,
            )  # fmt: skip
            means.append(response[WARM_UP : WARM_UP + JOBS].mean())
        count = replication + 1
        if count >= FEWEST and count & (count - 1) == 0:
            base, shared, packets = (np.array(found[stage]) for stage in STAGES)
            changes = {"S1": change(base, shared), "S2": change(shared, packets)}
            if count >= MOST or all(changes[k][1] <= BOUNDS[k] / 2 for k in BOUNDS):
                break
    row = {
        "machine": f"{given['rows']}x{given['columns']}", "policy": cell.policy.label,
        "cpu_to_io": given["cpu_to_io"], "exchange_share": given.get("exchange_share", 0.25),
        "arrival_rate": rate, "jobs": count * JOBS, "mean_M0": float(base.mean()),
    }  # fmt: skip
    for stage, (size, half) in changes.items():
        row |= {f"change_{stage}": size, f"half_width_{stage}": half}
        row[f"verdict_{stage}"] = verdict(size, half, BOUNDS[stage])
    return row


def main() -> None:
    """Play every cell and write the record."""
    rows = []
    for given in points():
        rows.append(played(given))
        print(rows[-1], file=sys.stderr, flush=True)
    write_record("trial-stages", rows, command="python -m tests.campaigns.trial_stages", seed=SEED)


if __name__ == "__main__":
    main()
