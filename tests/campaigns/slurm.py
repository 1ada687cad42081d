"""Hold simulators and predictions against a real Slurm: ``python -m tests.campaigns.slurm FOLDER``.

Measures the rows of `validation.slurm.campaign` that FOLDER does not hold yet, several labs at a time, and
writes ``docs/record/slurm.csv`` with its findings. Latencies are measured by each row's lab before the row,
by jobs of their own; nothing is fitted to a row. The rule of backfilling was found on rows of seeds 1 and 2;
those of seed 3 were measured later.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.campaigns.record import FOLDER
from validation.papers.record import Measured, write_record
from validation.papers.slurm import EXPERIMENT, outcome_of
from validation.slurm.campaign import measure_all


def main() -> None:
    """Measure what is missing, compare, write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labs", type=int, default=6, help="labs side by side")
    given = parser.parse_args()
    with Measured() as spent:
        measured = measure_all(given.folder, at_a_time=given.labs)
        outcome = outcome_of(measured)
    write_record(
        FOLDER,
        "slurm",
        outcome.table,
        command="python -m tests.campaigns.slurm FOLDER",
        modules=[EXPERIMENT.module, "validation.slurm.rows"],
        seed=0,
        cpu_seconds=spent.cpu_seconds + float(outcome.table.cpu_seconds.sum(skipna=True)),
        findings=outcome.findings,
    )
    outcome.figure().savefig(FOLDER.parent / "images" / "slurm.png", dpi=150)
    print("\n".join(map(str, outcome.findings)))


if __name__ == "__main__":
    main()
