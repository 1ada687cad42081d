"""Cells of the figures, each a source of traces under a balancer, run once for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.arrays import Array, read_only
from validation.analysis.alternatives import Alternatives, Replications
from validation.analysis.comparison import Comparison, ratios
from validation.analysis.estimates import Estimate, estimate
from validation.cluster import find_balancer
from validation.cluster.runs import ClusterPoint, Traces, run_one
from validation.papers.base import RunOptions
from validation.papers.qin.setup import QUICK_RUNS, RUNS, cluster

if TYPE_CHECKING:
    import pandas as pd

X = float | str


@dataclass(frozen=True, eq=False)
class Sweep(Alternatives[tuple[X, str], Replications]):
    """Balancers over the values of an axis; replication r draws the same numbers everywhere."""

    kind = "cell"
    schema = "validation.qin-sweep"

    axis: str = ""  #: what the values are, as a column of a table

    @property
    def xs(self) -> tuple[X, ...]:
        """Values of the axis."""
        return tuple(dict.fromkeys(x for x, _ in self.runs))

    @property
    def balancers(self) -> tuple[str, ...]:
        """Names of the balancers."""
        return tuple(dict.fromkeys(balancer for _, balancer in self.runs))

    def gap(self, x: X, one: str, other: str) -> Comparison:
        """How the slowdown under one balancer differs from that under another, relatively."""
        return self.compare((x, one), (x, other), relative=True)

    def gain(self, x: X, one: str, other: str) -> Estimate:
        """By how much the slowdown under `other` exceeds that under `one`, over that of `one`."""
        return estimate(ratios(self.values((x, other)), self.values((x, one))) - 1.0)

    def slope(self, balancer: str) -> Array:
        """Least-squares slope of the slowdown over the axis, of every replication, (runs,)."""
        x = np.array([float(value) for value in self.xs])
        x = x - x.mean()
        lines = np.array([self.values((value, balancer)) for value in self.xs])
        found: Array = x @ lines / (x @ x)
        return found

    def cells(self) -> pd.DataFrame:
        """One row for each cell; differences are paired with the first balancer."""
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for (x, balancer), run in self.runs.items():
            known = self.estimate((x, balancer))
            rows.append(
                {self.axis: x, "balancer": balancer, "runs": run.replications}
                | {name: self.mean_of((x, balancer), name) for name in run.values}
                | {
                    "slowdown_half_width": known.half_width,
                    "slowdown_geometric_over_runs": float(np.exp(np.log(self.values((x, balancer))).mean())),
                }
                | self.gap(x, balancer, self.balancers[0]).columns("above_first")
            )
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
            yield {name: read_only(np.array([summary[name] for summary in mine])) for name in mine[0]}

    return Sweep.of_values(options.shared.all_of(keys, simulated), axis=axis)


def _run(task: tuple[ClusterPoint, int]) -> dict[str, float]:
    return run_one(*task)
