"""Cells of the figures, each run until its mean turnaround is known, on jobs that they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from phasefit.arrays import Array
from validation.analysis.comparison import Comparison, compare, ratios
from validation.analysis.estimates import Estimate, estimate, until_precise
from validation.analysis.seeding import stream as random_stream
from validation.machine import play
from validation.papers.bani_mohammad.counted import (
    CountedList,
    CountedScan,
    operations_per_job,
)
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


@dataclass(frozen=True, eq=False)
class Campaign:
    """Runs of cells; replication r of all cells of one size has the same boxes."""

    cells: Mapping[Cell, Mapping[str, Array]] = field(repr=False)

    def values(self, cell: Cell, quantity: str) -> Array:
        """A quantity of every replication."""
        return self.cells[cell][quantity]

    def estimate(self, cell: Cell, quantity: str) -> Estimate:
        """Its mean with the 95 % interval."""
        return estimate(self.values(cell, quantity).tolist())

    def paired(self, cell: Cell, to: Cell, quantity: str) -> tuple[Array, Array]:
        """A quantity of two cells, for the replications that both have."""
        one, other = self.values(cell, quantity), self.values(to, quantity)
        n = min(one.size, other.size)
        return one[:n], other[:n]

    def compare(
        self, cell: Cell, to: Cell, quantity: str = "turnaround", *, more: bool = False
    ) -> Comparison:
        """The relative paired difference of a cell to another; with `more`, more is better."""
        one, other = self.paired(cell, to, quantity)
        return compare(one, other, smaller_is_better=not more, relative=True)

    def ratio(self, cell: Cell, to: Cell, quantity: str = "turnaround") -> Estimate:
        """Mean of a cell over that of another, paired."""
        return estimate(ratios(*self.paired(cell, to, quantity)).tolist())

    def table(self) -> pd.DataFrame:
        """One row for each cell: means and half-widths of 95 % intervals."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for cell in self.cells:
            known = {name: self.estimate(cell, name) for name in KEPT}
            row: dict[str, Any] = {
                "label": cell.label,
                "strategy": cell.strategy,
                "discipline": cell.discipline,
                "load": cell.load,
                "side": cell.side,
                "demand": cell.demand,
                "replications": known["turnaround"].replications,
            }
            for name, value in known.items():
                row |= {name: value.mean, f"{name}_half_width": value.half_width}
            rows.append(row)
        return pd.DataFrame(rows)


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

    return Campaign(options.shared.all_of(keys, simulated))


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
    values = {name: np.array([run[name] for run in runs]) for name in KEPT}
    for array in values.values():
        array.flags.writeable = False
    return values


def run_one(cell: Cell, seed: int, replication: int, jobs: int = JOBS) -> dict[str, float]:
    """What one run of a cell gives, by the names of `KEPT`."""
    drawn = streams(cell, jobs).draw(rng=random_stream(seed, _JOBS, cell.side, replication))
    at = machine(cell)
    history = play(at, drawn, seed=0)
    assert isinstance(at.strategy, CountedScan | CountedList)
    known = history.summary
    return {
        "turnaround": known["turnaround"],
        "utilisation": known["utilisation"],
        "running": history.mean_running,
        "operations": operations_per_job(at.strategy, history),
        "makespan": known["makespan"],
    }
