"""Cells of the figures, each a source of traces under a balancer, run once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array
from validation.analysis.comparison import Comparison, compare, ratios
from validation.analysis.estimates import Estimate, estimate
from validation.cluster import find_balancer
from validation.cluster.runs import ClusterPoint, Traces, run_one
from validation.papers.base import RunOptions
from validation.papers.qin.setup import QUICK_RUNS, RUNS, cluster

if TYPE_CHECKING:
    import pandas as pd

X = float | str


@dataclass(frozen=True, eq=False)
class Sweep:
    """Balancers over the values of an axis; replication r draws the same numbers everywhere."""

    axis: str
    xs: tuple[X, ...]
    balancers: tuple[str, ...]
    runs: int
    cells: Mapping[tuple[X, str], Mapping[str, Array]] = field(repr=False)

    def values(self, x: X, balancer: str, quantity: str = "slowdown") -> Array:
        """A quantity of every replication, (runs,)."""
        return self.cells[x, balancer][quantity]

    def mean(self, x: X, balancer: str, quantity: str = "slowdown") -> float:
        """Its mean."""
        return float(self.values(x, balancer, quantity).mean())

    def gap(self, x: X, one: str, other: str) -> Comparison:
        """How the slowdown under one balancer differs from that under another, relatively."""
        return compare(self.values(x, one), self.values(x, other), relative=True)

    def gain(self, x: X, one: str, other: str) -> Estimate:
        """By how much the slowdown under `other` exceeds that under `one`, over that of `one`."""
        ours, theirs = self.values(x, one), self.values(x, other)
        return estimate((ratios(theirs, ours) - 1.0).tolist())

    def slope(self, balancer: str) -> Array:
        """Least-squares slope of the slowdown over the axis, of every replication, (runs,)."""
        x = np.array([float(value) for value in self.xs])
        x = x - x.mean()
        lines = np.array([self.values(value, balancer) for value in self.xs])
        found: Array = x @ lines / (x @ x)
        return found

    def table(self) -> pd.DataFrame:
        """One row for each cell; differences are paired with the first balancer."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for x in self.xs:
            for balancer in self.balancers:
                cell = self.cells[x, balancer]
                row: dict[str, Any] = {self.axis: x, "balancer": balancer, "runs": self.runs}
                for name, values in cell.items():
                    row[name] = float(values.mean())
                known = estimate(cell["slowdown"].tolist())
                row["slowdown_half_width"] = known.half_width
                logs = np.log(cell["slowdown"])
                row["slowdown_geometric_over_runs"] = float(np.exp(logs.mean()))
                gap = self.gap(x, balancer, self.balancers[0])
                row["above_first_percent"] = 100 * gap.mean
                row["above_first_half_width_percent"] = 100 * gap.half_width
                row["above_first_verdict"] = gap.verdict
                rows.append(row)
        return pd.DataFrame(rows)


def sweep(
    axis: str,
    sources: Mapping[X, Traces],
    balancers: Sequence[str],
    options: RunOptions,
    *,
    what: str,
) -> Sweep:
    """Run every cell that experiments with these options have not run yet.

    Parameters
    ----------
    axis : str
        What the values are, as a column of a table.
    sources : mapping
        Traces by the value of the axis.
    balancers : sequence of str
        Names in `BALANCERS`.
    options : RunOptions
        A quick run has two replications, of fewer jobs.
    what : str
        What progress is reported under.

    Returns
    -------
    Sweep
    """
    runs = QUICK_RUNS if options.quick else RUNS
    place = cluster()
    keys = {
        (x, name): ("qin", traces, name, options.seed, runs)
        for x, traces in sources.items()
        for name in balancers
    }

    def simulated(missing: list[tuple[Any, str]]) -> Iterator[dict[str, Array]]:
        points = [
            ClusterPoint(place, sources[x], find_balancer(name), options.seed, ("qin",))
            for x, name in missing
        ]
        found = options.spread(_run, [(point, r) for point in points for r in range(runs)], what)
        for first in range(0, len(found), runs):
            mine = found[first : first + runs]
            columns = {name: np.array([summary[name] for summary in mine]) for name in mine[0]}
            for column in columns.values():
                column.flags.writeable = False
            yield columns

    cells = options.shared.all_of(keys, simulated)
    return Sweep(axis, tuple(sources), tuple(balancers), runs, cells)


def _run(task: tuple[ClusterPoint, int]) -> dict[str, float]:
    return run_one(*task)
