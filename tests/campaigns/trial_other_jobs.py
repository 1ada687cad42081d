"""Time sharing at load .8 on other jobs and more of them than the grid has.

All cells of the grid meet the same jobs, five replications of sixty, on every machine: where most
errors of a kind have one sign, that may be those jobs alone. So cells of 8x8 whose errors at load
.8 were mostly too high are played with another seed and sixteen times as many jobs.

``python -m tests.campaigns.trial_other_jobs`` takes about two minutes of CPU.
"""

from __future__ import annotations

import sys

import pandas as pd

from tests.campaigns.record import write_record
from validation.papers.trial import compare_predictions
from validation.papers.trial.grid import cells

#: Policy and ratio of the cells.
CHOSEN = (("TS(2,2;M=2)", 2.0), ("TS(4,1;M=2)", 8.0), ("TS(4,1;M=2)", 2.0))
STRATEGIES, LOAD, SEED = ("MC", "Random"), 0.8, 7
REPLICATIONS, JOBS, WARM_UP, STARTS, LOSS_JOBS = 24, 200, 60, 10, 240
KEPT = (
    "cell",
    "strategy",
    "load",
    "simulated",
    "half_width",
    "corrected",
    "corrected_half_width",
    "error",
    "error_equal_shares",
    "error_seen_speeds",
    "error_uncorrected",
    "covers",
)


def main() -> None:
    """Predict and simulate the cells, and write the record."""
    frames = []
    for cell in cells([(8, 8)]):
        if (cell.policy.label, round(cell.cpu_to_io, 9)) not in CHOSEN:
            continue
        frames.append(
            compare_predictions(
                cell,
                STRATEGIES,
                (LOAD,),
                replications=REPLICATIONS,
                jobs=JOBS,
                warm_up=WARM_UP,
                starts=STARTS,
                loss_jobs=LOSS_JOBS,
                seed=SEED,
            )
        )
        print(frames[-1][["cell", "strategy", "error", "half_width"]], file=sys.stderr)
    rows = pd.concat(frames, ignore_index=True)[list(KEPT)].to_dict("records")
    write_record("trial-other-jobs", rows, command="python -m tests.campaigns.trial_other_jobs", seed=SEED)


if __name__ == "__main__":
    main()
