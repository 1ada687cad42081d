"""Hold simulators and predictions against a real Slurm: ``python -m tests.campaigns.slurm FOLDER``.

Measures the rows of `validation.slurm.campaign` that FOLDER does not hold yet, several labs at a time, and
writes ``docs/record/slurm.csv`` with its findings. Latencies are measured by each row's lab before the row,
by jobs of their own; nothing is fitted to a row. The rule of backfilling was found on rows of seeds 1 and 2;
those of seed 3 were measured later. ``qmodels validate slurm`` does the same, but keeps no row for later.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from tests.campaigns.record import FOLDER
from validation.papers.record import Measured, write_record
from validation.papers.slurm import EXPERIMENT, outcome_of
from validation.slurm.campaign import measure_all

PAGE: Final = FOLDER.parent / "explanation" / "real-scheduler.md"
BEGIN, END = "<!-- table -->", "<!-- /table -->"


def page_table(table: pd.DataFrame) -> str:
    """Return the table of all rows that the page shows."""
    lines = [
        "| policy | disks | load | measured mean response [s] | measured / replayed | without latencies "
        "| predicted from sacct (90 %) [s] |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in table.sort_values(["policy", "disks", "load", "seed"]).itertuples():
        error, bare = row.measured / row.replayed - 1.0, row.measured / row.replayed_bare - 1.0
        easy = row.measured / row.replayed_easy - 1.0
        by_easy = "" if np.isnan(easy) else f" (by EASY {easy:+.1%})"
        high = f"to {row.predicted_high:.3g}" if np.isfinite(row.predicted_high) else "or more"
        predicted = f"{row.predicted:.3g} ({row.predicted_low:.3g} {high})"
        if not np.isfinite(row.predicted):
            predicted = "no steady state"
        lines.append(
            f"| {row.policy} | {row.disks} | {row.load:g} | {row.measured:.3g} +- "
            f"{row.measured_half_width:.2g} | {error:+.1%}{by_easy} | {bare:+.1%} | {predicted} |"
        )
    return "\n".join(lines)


def write_page(table: pd.DataFrame) -> None:
    """Put the table of all rows between its marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{page_table(table)}\n{END}{rest.split(END)[1]}", encoding="utf-8")


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
        command="qmodels validate slurm",
        modules=[EXPERIMENT.module, "validation.slurm.rows"],
        seed=0,
        cpu_seconds=spent.cpu_seconds + float(outcome.table.cpu_seconds.sum(skipna=True)),
        findings=outcome.findings,
    )
    write_page(outcome.table)
    outcome.figure().savefig(FOLDER.parent / "images" / "slurm.png", dpi=150)
    print("\n".join(map(str, outcome.findings)))


if __name__ == "__main__":
    main()
