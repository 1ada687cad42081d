"""A real Slurm as the referee: waits measured, replayed in our simulators, and predicted from its log.

No paper: a Slurm of virtual nodes on this machine runs jobs of known bursts under policies as an
operator sets them. What it adds to each job, the time to start one and to give nodes to the next,
is measured by the lab before the row; nothing is fitted to the row itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from validation.papers.base import Experiment, Finding, Outcome, RunOptions, whether
from validation.slurm.campaign import ROWS
from validation.slurm.comparison import ComparedRow, compare_row, quantile_of_errors
from validation.slurm.plotting import referee_figure
from validation.slurm.rows import Measurement, Row, measure
from validation.sweeps.results import to_frame

#: Errors of the simulators that half and nine tenths of the rows are to keep, and gang scheduling.
MEDIAN, NINE_OF_TEN, GANG = 0.03, 0.06, 0.05
#: Share of the rows whose prediction's interval is to hold what was measured.
COVERED = 0.85
#: Processor seconds that a row may take beside its jobs.
CPU_SECONDS = 15.0
#: Rows of a quick run: few jobs, of a second.
QUICK: Final = (
    Row("SP(4,1)", 0.7, 1.0, 2.0, jobs=40),
    Row("SP(4,1)", 0.6, 1.0, 1.5, disks=1, io_share=0.3, bursts=4, jobs=40),
    Row("FCFS", 0.5, 1.0, nodes=8, jobs=40),
)


def run(options: RunOptions) -> Outcome:
    """Measure the rows on labs of their own, and compare each; see `RunOptions`."""
    rows = QUICK if options.quick else ROWS
    seeded = [replace(row, seed=row.seed + 1000 * options.seed) for row in rows]
    return outcome_of(options.spread(measure, seeded, "rows"))


def outcome_of(measured: Sequence[Measurement]) -> Outcome:
    """Return the table and the findings of rows that were measured."""
    compared = [compare_row(each) for each in measured]
    table = to_frame([each.record() for each in compared])
    return Outcome(table, tuple(_findings(compared)), lambda: referee_figure(table))


def _findings(rows: Sequence[ComparedRow]) -> Iterator[Finding]:
    half, most = (quantile_of_errors(rows, share) for share in (0.5, 0.9))
    yield Finding(
        "SL-1",
        f"measured mean responses are within {MEDIAN:.0%} of the replayed ones in the median and "
        f"{NINE_OF_TEN:.0%} in nine of ten rows",
        whether(half <= MEDIAN and most <= NINE_OF_TEN),
        f"{half:.1%} in the median, {most:.1%} in nine of ten of {len(rows)} rows, "
        f"{quantile_of_errors(rows, 1.0):.1%} at worst",
    )
    gang = [row for row in rows if row.policy.startswith("TS")]
    if gang:
        errors = [row.simulator_error for row in gang]
        yield Finding(
            "SL-2",
            f"gang scheduling is within {GANG:.0%} of processors shared equally",
            whether(max(map(abs, errors)) <= GANG),
            ", ".join(f"{error:+.1%}" for error in errors),
        )
    steady = [row for row in rows if np.isfinite(row.predicted)]
    inside = [row.covered for row in steady]
    yield Finding(
        "SL-3",
        f"intervals stated with predictions from sacct alone hold what was measured in {COVERED:.0%} of rows",
        whether(float(np.mean(inside)) >= COVERED),
        f"{sum(inside)} of {len(inside)}; {len(rows) - len(steady)} rows have no steady state, as is said",
    )
    taken = [row.cpu_seconds for row in rows if np.isfinite(row.cpu_seconds)]
    yield Finding(
        "SL-4",
        f"a row takes at most {CPU_SECONDS:g} processor seconds beside its jobs",
        whether(bool(taken) and max(taken) <= CPU_SECONDS),
        f"{np.median(taken):.1f} in the median, {max(taken):.1f} at most, of {len(taken)} rows"
        if taken
        else "not measured",
    )


EXPERIMENT = Experiment(
    name="slurm",
    source="no paper: the specification of the referee, a real Slurm on this machine",
    claim="what a real scheduler does to jobs is what our simulators do with the latencies of its own",
    run=run,
)
