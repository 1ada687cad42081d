"""Six strategies on the same jobs at chosen utilisations, and the claims that are checked there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from phasefit.arrays import Array
from validation.allocation.base import find_strategy
from validation.analysis.comparison import Comparison, compare
from validation.analysis.seeding import stream as random_stream
from validation.jobs import AbstractStreams
from validation.machine import StrategyComparison, compare_strategies
from validation.machine.runs import one_run
from validation.papers.base import RunOptions
from validation.papers.mache.search import Cell, Found, find
from validation.papers.mache.setup import STRATEGIES, Choices, machine

#: What the stream of the trial runs' own seed is for, below the seed of the plan.
_TRIALS: Final = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Loads at which six strategies are to be compared.

    The interarrival time of each is searched for by trial runs of the strategies `tried`, until
    their mean utilisation is the target (`search.find`). Trials and record differ in their jobs and
    messages.
    """

    io_share: float
    streams: AbstractStreams  #: with a field mean_interarrival, which is replaced
    targets: tuple[float, ...]  #: utilisations, rising
    choices: Choices
    seed: int
    replications: int
    trials: int  #: replications that the utilisation is the mean of
    tried: tuple[str, ...] = STRATEGIES
    tolerance: float = 0.01


@dataclass(frozen=True, eq=False)
class Load:
    """Six strategies at one load."""

    io_share: float
    target: float  #: utilisation that was aimed at
    trial: float  #: utilisation in the trials, see `search.Found`
    interarrival: float
    runs: StrategyComparison

    def mean_of(self, strategy: str, quantity: str) -> float:
        """Mean of a quantity over the replications."""
        return self.runs.mean_of(strategy, quantity)

    def values(self, strategy: str, quantity: str) -> Array:
        """A quantity of every replication."""
        return self.runs.values(strategy, quantity)

    def ranks(self, quantity: str = "service") -> dict[str, int]:
        """Place of every strategy, the smallest mean first."""
        order = sorted(STRATEGIES, key=lambda name: self.mean_of(name, quantity))
        return {name: order.index(name) + 1 for name in STRATEGIES}

    def spread(self, quantity: str = "service") -> np.ndarray[Any, Any]:
        """Largest over smallest of the strategies in every replication, (replications,)."""
        values = np.array([self.values(name, quantity) for name in STRATEGIES])
        widest: np.ndarray[Any, Any] = values.max(axis=0) / values.min(axis=0)
        return widest

    @property
    def utilisation(self) -> float:
        """Mean over the strategies."""
        return float(np.mean([self.mean_of(name, "utilisation") for name in STRATEGIES]))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each strategy."""
        ranks = self.ranks()
        best = self.runs.best("service")
        rows: list[dict[str, Any]] = []
        for name in STRATEGIES:
            gap = self.runs.compare(name, best, "service")
            row = {
                "io_percent": round(100 * self.io_share),
                "target_utilisation": self.target,
                "interarrival_cycles": self.interarrival,
                "strategy": name,
                "rank": ranks[name],
                "to_mc_elongated": self.mean_of(name, "service") / self.mean_of(STRATEGIES[0], "service"),
                "service_less_best_cycles": gap.mean,
                "service_less_best_half_width_cycles": 0.0 if name == best else gap.half_width,
                "service_less_best_verdict": gap.verdict,
            }
            rows.append(row | self.runs.row(name, _KEPT))
        return rows


_KEPT: Final = {
    "service": "_cycles",
    "turnaround": "_cycles",
    "utilisation": "",
    "nodes_affected": "",
    "system_balance": "",
    "job_balance": "",
    "contention": "",
}


def campaign(plans: Sequence[Plan], options: RunOptions, *, what: str) -> list[Load]:
    """Find the interarrival times of all plans, then make the runs of record."""
    # A plan of one target takes long to search: both stages are spread over the processes.
    found = options.spread(_interarrivals, plans, f"{what}: interarrival times")
    points = [
        _Point(plan, target, own)
        for plan, places in zip(plans, found, strict=True)
        for target, own in zip(plan.targets, places, strict=True)
    ]
    return options.spread(_load, points, what)


@dataclass(frozen=True, eq=False)
class _Point:
    plan: Plan
    target: float
    found: Found


def _load(point: _Point) -> Load:
    plan, found = point.plan, point.found
    runs = compare_strategies(
        machine(plan.io_share, plan.choices),
        STRATEGIES,
        plan.streams.spaced(found.interarrival),
        replications=plan.replications,
        seed=plan.seed,
    )
    return Load(plan.io_share, point.target, found.utilisation, found.interarrival, runs)


def _interarrivals(plan: Plan) -> list[Found]:
    """For each target the interarrival time, by trial runs on jobs that the record has not."""
    seed = int(random_stream(plan.seed, _TRIALS).integers(1 << 48))
    network = machine(plan.io_share, plan.choices)
    machines = [replace(network, strategy=find_strategy(name)) for name in plan.tried]

    def trials(interarrival: float, cells: Sequence[Cell]) -> list[float]:
        streams = plan.streams.spaced(interarrival)
        return [
            one_run(machines[k], streams, seed=seed, replication=run).summary["utilisation"]
            for run, k in cells
        ]

    return find(
        trials,
        plan.targets,
        streams=plan.trials,
        strategies=len(plan.tried),
        tolerance=plan.tolerance,
        # Where the first trial is matters for its cost only.
        first=plan.choices.flits * (16.0 + 84.0 * plan.io_share),
    )


def change(first: Load, last: Load, strategy: str, quantity: str) -> Comparison:
    """Compare a quantity at two loads, the last with the first, replication by replication."""
    return compare(last.values(strategy, quantity), first.values(strategy, quantity))


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's tau-b, which counts ties half.

    Examples
    --------
    >>> kendall([1, 2, 3], [10, 30, 20]).__round__(3)
    0.333
    """
    concordant, untied = 0.0, [0, 0]
    for i, j in combinations(range(len(first)), 2):
        a, b = np.sign(first[i] - first[j]), np.sign(second[i] - second[j])
        concordant += float(a * b)
        untied[0] += a != 0
        untied[1] += b != 0
    return concordant / math.sqrt(untied[0] * untied[1]) if all(untied) else 0.0
