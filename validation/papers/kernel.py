"""The kernel of this machine as the referee of time sharing: turns counted and predicted.

No paper: processes that compute and read or write a real disk by turns share one or two processors, as
jobs do under time sharing in Rosti et al. (1998), with all the overlap that the kernel gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from validation.kernel.comparison import IO_SHARES, PROCESSES, KernelRow, compare_turns
from validation.kernel.plotting import kernel_figure
from validation.kernel.processes import file_on_disk
from validation.papers.base import UNDECIDED, Experiment, Finding, Outcome, RunOptions, whether
from validation.sweeps.results import to_frame

#: Error of the turns in a second that half and nine tenths of the rows are to keep; our own aim.
MEDIAN, NINE_OF_TEN = 0.05, 0.10
#: Share of a processor that others may take before a row tells of them rather than of the model.
OTHERS: Final = 0.03


def run(options: RunOptions) -> Outcome:
    """Measure on one processor, and on two where the machine has them; see `RunOptions`."""
    measure = partial(compare_turns, seed=options.seed)
    if options.quick:
        measure = partial(measure, io_shares=(0.5,), processes=(1, 2, 4), seconds=2.0, rounds=1)
    expected = 3 if options.quick else 2 * len(IO_SHARES) * len(PROCESSES)
    rows: list[KernelRow] = []
    with file_on_disk() as path:
        for cores in (1,) if options.quick else (1, 2):
            for row in measure(path, cores):
                rows.append(row)
                options.progress("rows", len(rows), expected)
    return outcome_of(rows)


def outcome_of(rows: Sequence[KernelRow]) -> Outcome:
    """Return the table and the finding of rows that were measured.

    Parameters
    ----------
    rows : sequence of KernelRow
        At least one.
    """
    table = to_frame([each.record() for each in rows])
    table["error"] = [row.error for row in rows]
    calm = [abs(row.error) for row in rows if row.others <= OTHERS]
    half, most = (float(np.quantile(calm or [np.nan], share, method="inverted_cdf")) for share in (0.5, 0.9))
    gained = max(row.measured / row.without_overlap for row in rows)
    finding = Finding(
        "SL-7",
        "turns in a second of processes that share processors and a disk are predicted within "
        f"{MEDIAN:.0%} in the median and {NINE_OF_TEN:.0%} in nine of ten rows, from one process alone",
        whether(half <= MEDIAN and most <= NINE_OF_TEN) if calm else UNDECIDED,
        f"{half:.1%} and {most:.1%} of {len(calm)} rows of which others took at most {OTHERS:.0%} of "
        f"the processors, {len(rows) - len(calm)} rows left out; overlap brought up to {gained:.2f} "
        "times the turns",
    )
    return Outcome(table, (finding,), lambda: kernel_figure(table))


EXPERIMENT = Experiment(
    name="kernel",
    source="no paper: the specification of the referee, processes on this machine's kernel and disk",
    claim="a closed network of processors and a flow-equivalent disk says how fast real processes are",
    run=run,
)
