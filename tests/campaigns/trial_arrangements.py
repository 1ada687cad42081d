"""A cell whose arrangement stays while jobs wait: predicted by means of speeds and by several.

``python -m tests.campaigns.trial_arrangements`` takes about two minutes of CPU.
"""

from __future__ import annotations

import sys

from qmodels.policies import predict
from tests.campaigns.record import write_record
from validation.trial import TrialPoint, frozen_speeds, loss_run, run_one, with_arrangements
from validation.trial.bursts import workload
from validation.trial.replications import control_mean, controlled
from validation.trial.scenario import Cell

GIVEN = {
    "rows": 8,
    "columns": 8,
    "policy": "DP",
    "policy_options": {"disk_partitions": 2},
    "min_processors": 16,
    "cpu_to_io": 2.0,
    "strategy": "MC",
}
LOADS = (0.6, 0.8)
#: Of the measured speeds, and of the jobs that the predictions are held against.
SEED, JOBS_SEED = 1, 5
REPLICATIONS = 32


def main() -> None:
    """Predict with speeds of a loss system, of one with a queue, and of arrangements; simulate."""
    cell, rows = Cell.of(**GIVEN), []
    mean = loss_run(cell, starts=8, jobs=120, seed=SEED, waiting=0.0).measured
    waiting = loss_run(cell, starts=8, jobs=120, seed=SEED).measured
    several = with_arrangements(mean, frozen_speeds(cell, jobs=30, seed=SEED))
    for load in LOADS:
        rate = load * float(mean.throughput[-1])
        speeds = tuple(mean.throughput.tolist())
        at = {"arrival_rate": rate, "speeds": speeds, "jobs": 250, "warm_up": 80, "seed": JOBS_SEED}
        point = TrialPoint(cell=cell, **at)
        found = [run_one(point, replication) for replication in range(REPLICATIONS)]
        simulated, _ = controlled(
            [run.response for run in found],
            [run.control for run in found],
            control_mean(cell, mean.throughput, rate),
        )
        row: dict[str, object] = {
            "cell": cell.label,
            "load": load,
            "simulated": simulated.mean,
            "half_width": simulated.half_width / simulated.mean,
        }
        for name, table in (("mean", mean), ("waiting", waiting), ("arrangements", several)):
            made = predict(cell.policy, cell.system, workload(cell), arrival_rate=rate, running=table)
            row[f"error_{name}"] = made.mean_response / simulated.mean - 1.0
            row[f"half_width_{name}"] = (made.half_width or 0.0) / simulated.mean
        row["slowest"], row["fastest"] = several.factors.min(), several.factors.max()
        rows.append(row)
        print(row, file=sys.stderr)
    write_record(
        "trial-arrangements",
        rows,
        command="python -m tests.campaigns.trial_arrangements",
        seed=SEED,
    )


if __name__ == "__main__":
    main()
