"""Cells of the figures, each run until its mean turnaround is known, on jobs that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from phasefit.arrays import Array, read_only
from validation.analysis.alternatives import Alternatives, Quantity, Replications
from validation.analysis.estimates import until_precise
from validation.analysis.seeding import stream as random_stream
from validation.machine import play
from validation.papers.bani_mohammad.counted import CountedStrategy, operations_per_job
from validation.papers.bani_mohammad.setup import JOBS, PRECISION, Cell, machine, streams
from validation.papers.base import RunOptions

if TYPE_CHECKING:
    import pandas as pd

#: What is kept of each run. Times are in the paper's units, the overhead in operations.
KEPT: Final = ("turnaround", "utilisation", "running", "operations", "makespan")
#: Fewest and most replications of a cell.
AT_LEAST, AT_MOST = 20, 200
QUICK_REPLICATIONS, QUICK_JOBS = 3, 120
#: What the streams of jobs are for, below the seed.
_JOBS: Final = "boxes of a replication"


def _quantities() -> dict[str, Quantity]:
    return {name: Quantity(smaller_is_better=name not in ("utilisation", "running")) for name in KEPT}


@dataclass(frozen=True, eq=False)
class Campaign(Alternatives[Cell, Replications]):
    """Runs of cells; replication r of all cells of one size has the same boxes."""

    kind = "cell"
    schema = "validation.bani-mohammad-campaign"

    quantities: Mapping[str, Quantity] = field(default_factory=_quantities, repr=False)

    def cells(self) -> pd.DataFrame:
        """One row for each cell: means and half-widths of 95 % intervals."""
        import pandas as pd

        return pd.DataFrame(
            {
                "label": cell.label,
                "strategy": cell.strategy,
                "discipline": cell.discipline,
                "load": cell.load,
                "side": cell.side,
                "demand": cell.demand,
                "replications": run.replications,
            }
            | self.row(cell, dict.fromkeys(KEPT, ""))
            for cell, run in self.runs.items()
        )


def campaign(cells: Sequence[Cell], options: RunOptions, *, what: str) -> Campaign:
    """Run the cells that experiments with these options have not run yet.

    Parameters
    ----------
    cells : sequence of Cell
    options : RunOptions
        A quick run has three replications of 120 jobs. Cells are kept in `options.shared`.
    what : str
        What progress is reported under.

    Returns
    -------
    Campaign
        Every cell has been replicated until the 95 % interval of its mean turnaround was within
        5 % twice in a row, or `AT_MOST` times.
    """
    keys = {cell: ("bani-mohammad", cell, options.seed, options.quick) for cell in cells}

    def simulated(missing: list[Cell]) -> list[Mapping[str, Array]]:
        return options.spread(_replicated, [(cell, options.seed, options.quick) for cell in missing], what)

    return Campaign.of_values(options.shared.all_of(keys, simulated))


def _replicated(task: tuple[Cell, int, bool]) -> Mapping[str, Array]:
    cell, seed, quick = task
    runs: list[dict[str, float]] = []

    def turnarounds(count: int) -> list[float]:
        while len(runs) < count:
            runs.append(run_one(cell, seed, len(runs), QUICK_JOBS if quick else JOBS))
        return [run["turnaround"] for run in runs]

    if quick:
        turnarounds(QUICK_REPLICATIONS)
    else:
        until_precise(turnarounds, precision=PRECISION, at_least=AT_LEAST, at_most=AT_MOST)
    return {name: read_only(np.array([run[name] for run in runs])) for name in KEPT}


def run_one(cell: Cell, seed: int, replication: int, jobs: int = JOBS) -> dict[str, float]:
    """What one run of a cell gives, by the names of `KEPT`."""
    drawn = streams(cell, jobs).draw(rng=random_stream(seed, _JOBS, cell.side, replication))
    at = machine(cell)
    history = play(at, drawn, seed=0)
    assert isinstance(at.strategy, CountedStrategy)
    known = history.summary
    return {
        "turnaround": known["turnaround"],
        "utilisation": known["utilisation"],
        "running": history.mean_running,
        "operations": operations_per_job(at.strategy, history),
        "makespan": known["makespan"],
    }
