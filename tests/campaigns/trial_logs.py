"""Public job logs replayed on the mesh, with the part of the gap due to dependence, as a record.

``python -m tests.campaigns.trial_logs`` takes a few minutes; it wants the logs that
``tests/conftest.py`` looks for.
"""

from __future__ import annotations

import sys

from qmodels.io import read_swf
from tests.campaigns.record import write_record
from tests.conftest import SHARED
from validation.jobs.renewal import ReplayedJobs
from validation.papers.trial.replay import replay_on_mesh
from validation.trial import loss_run
from validation.trial.scenario import Cell

LOGS = {"SDSC": "SDSC-Par-1996-3.1-cln.swf.gz", "KTH": "KTH-SP2-1996-2.1-cln.swf.gz"}
GIVEN = {
    "rows": 8,
    "columns": 8,
    "policy": "SP",
    "strategy": "MC",
    "cpu_to_io": 2.0,
    "policy_options": {"processor_partitions": 4, "disk_partitions": 1},
}
JOBS, LOAD, SHUFFLES, SEED = 2000, 0.6, 14, 1


def main() -> None:
    """Replay the first jobs of each log, in their order and in random ones."""
    cell, rows = Cell.of(**GIVEN), []
    table = loss_run(cell, starts=8, jobs=120, seed=SEED).table
    rate = LOAD * float(table.throughput[-1])
    for name, file in LOGS.items():
        log = read_swf(SHARED / "swf" / file).with_work
        jobs = ReplayedJobs(log.interarrivals[:JOBS], log.work_by_job[1 : JOBS + 1])
        held = replay_on_mesh(cell, jobs, rate, table, shuffles=SHUFFLES, seed=SEED)
        mean, [cause] = held.simulation.mean_response.mean, held.causes
        rows.append(
            {
                "log": name,
                "jobs": JOBS,
                "load": LOAD,
                "arrivals_scv": jobs.scvs[0],
                "demand_scv": jobs.scvs[1],
                "replayed": mean,
                "predicted": held.prediction.mean_response,
                "error": held.prediction.mean_response / mean - 1.0,
                "dependence": cause.effect.mean / mean,
                "dependence_half_width": cause.effect.half_width / mean,
                "rest": held.unexplained / mean,
            }
        )
        print(rows[-1], file=sys.stderr)
    write_record(
        "trial-logs",
        rows,
        command="python -m tests.campaigns.trial_logs",
        seed=SEED,
        note="one history each: no interval is claimed for a log's own mean",
    )


if __name__ == "__main__":
    main()
