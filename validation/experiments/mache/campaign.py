"""Six strategies on the same jobs at chosen utilisations, and the claims that are checked there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Final, cast

import numpy as np

from validation.analysis.comparison import Comparison, compare
from validation.analysis.seeding import stream as random_stream
from validation.experiments.base import RunOptions
from validation.experiments.mache.setup import STRATEGIES, Choices, machine
from validation.jobs import AbstractStreams
from validation.machine import StrategyComparison, compare_strategies
from validation.sweeps.executors import parallel_map

#: What the stream of the trial runs' own seed is for, below the seed of the plan.
_TRIALS: Final = 1
_MAX_TRIALS: Final = 12
#: Replications of a rough search, where a fine one follows.
_ROUGH: Final = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """Loads at which six strategies are to be compared.

    The interarrival time of each is searched for by trial runs of the strategies `tried`, until
    their mean utilisation is the target. Trials and record differ in their jobs and messages.
    """

    io_share: float
    streams: AbstractStreams  #: with a field mean_interarrival, which is replaced
    targets: tuple[float, ...]  #: utilisations, rising
    choices: Choices
    seed: int
    replications: int
    trials: int  #: replications of each trial
    tried: tuple[str, ...] = STRATEGIES
    tolerance: float = 0.01


@dataclass(frozen=True, eq=False)
class Load:
    """Six strategies at one load."""

    io_share: float
    target: float  #: utilisation that was aimed at
    trial: float  #: utilisation in the trials
    interarrival: float
    runs: StrategyComparison

    def mean(self, strategy: str, quantity: str) -> float:
        """Mean of a quantity over the replications."""
        return self.runs.runs[strategy][quantity].mean

    def values(self, strategy: str, quantity: str) -> tuple[float, ...]:
        """A quantity of every replication."""
        return self.runs.runs[strategy].values[quantity]

    def ranks(self, quantity: str = "service") -> dict[str, int]:
        """Place of every strategy, the smallest mean first."""
        order = sorted(STRATEGIES, key=lambda name: self.mean(name, quantity))
        return {name: order.index(name) + 1 for name in STRATEGIES}

    def spread(self, quantity: str = "service") -> np.ndarray[Any, Any]:
        """Largest over smallest of the strategies in every replication, (replications,)."""
        values = np.array([self.values(name, quantity) for name in STRATEGIES])
        widest: np.ndarray[Any, Any] = values.max(axis=0) / values.min(axis=0)
        return widest

    @property
    def utilisation(self) -> float:
        """Mean over the strategies."""
        return float(np.mean([self.mean(name, "utilisation") for name in STRATEGIES]))

    def rows(self) -> list[dict[str, Any]]:
        """One row for each strategy."""
        ranks = self.ranks()
        best = self.runs.best("service")
        rows = []
        for name in STRATEGIES:
            run = self.runs.runs[name]
            gap = self.runs.compare(name, best, "service")
            row: dict[str, Any] = {
                "io_percent": round(100 * self.io_share),
                "target_utilisation": self.target,
                "interarrival_cycles": self.interarrival,
                "strategy": name,
                "rank": ranks[name],
                "to_mc_elongated": self.mean(name, "service") / self.mean(STRATEGIES[0], "service"),
                "service_less_best_cycles": gap.mean,
                "service_less_best_half_width_cycles": 0.0 if name == best else gap.half_width,
                "service_less_best_verdict": gap.verdict,
            }
            for quantity, unit in _KEPT.items():
                row[f"{quantity}{unit}"] = run[quantity].mean
                row[f"{quantity}_half_width{unit}"] = run[quantity].half_width
            rows.append(row)
        return rows


_KEPT: Final = {
    "service": "_cycles", "turnaround": "_cycles", "utilisation": "", "nodes_affected": "",
    "system_balance": "", "job_balance": "", "contention": "",
}  # fmt: skip


def campaign(plans: Sequence[Plan], options: RunOptions, *, what: str) -> list[Load]:
    """Find the interarrival times of all plans, then make the runs of record."""
    # A plan of one target takes long to search: both stages are spread over the processes.
    found = parallel_map(
        _interarrivals, plans, workers=_workers(options), executor=options.processes,
        progress=options.progress, what=f"{what}: interarrival times",
    )  # fmt: skip
    points = [
        _Point(plan, target, *trial)
        for plan, trials in zip(plans, found, strict=True)
        for target, trial in zip(plan.targets, trials, strict=True)
    ]
    return parallel_map(
        _load, points, workers=_workers(options), executor=options.processes,
        progress=options.progress, what=what,
    )  # fmt: skip


def _workers(options: RunOptions) -> int | None:
    return 1 if options.quick else options.workers


@dataclass(frozen=True, eq=False)
class _Point:
    plan: Plan
    target: float
    interarrival: float
    trial: float


def _load(point: _Point) -> Load:
    plan = point.plan
    runs = _compared(plan, point.interarrival, STRATEGIES, plan.replications, plan.seed)
    return Load(plan.io_share, point.target, point.trial, point.interarrival, runs)


def _compared(
    plan: Plan, interarrival: float, strategies: Sequence[str], replications: int, seed: int
) -> StrategyComparison:
    streams = replace(cast(Any, plan.streams), mean_interarrival=interarrival)
    return compare_strategies(
        machine(plan.io_share, plan.choices), strategies, streams,
        replications=replications, seed=seed,
    )  # fmt: skip


def _interarrivals(plan: Plan) -> list[tuple[float, float]]:
    """For each target the interarrival time and the utilisation of the nearest trial."""
    # Where the first trial is matters for its cost only; so does a rough search before.
    place, step = math.log(plan.choices.flits * (16.0 + 84.0 * plan.io_share)), 0.5
    slope = 0.0
    if plan.trials >= 2 * _ROUGH and len(plan.targets) == 1:
        known: dict[float, float] = {}
        [(rough, _)] = _search(plan, _ROUGH, place, step, known)
        place, step, slope = math.log(rough), 0.06, _slope(known, math.log(rough))
    return _search(plan, plan.trials, place, step, {}, slope)


def _slope(known: dict[float, float], at: float) -> float:
    """How utilisation changes with the logarithm of the interarrival time; 0 if it is not known.

    From the trial at a place to the nearest other one.
    """
    others = [place for place in known if place != at]
    if not others:
        return 0.0
    other = min(others, key=lambda place: abs(place - at))
    return (known[other] - known[at]) / (other - at)


def _search(
    plan: Plan,
    trials: int,
    first: float,
    step: float,
    known: dict[float, float],
    slope: float = 0.0,
) -> list[tuple[float, float]]:
    """Search from a logarithm of the interarrival time until there is a bracket, then within it.

    The jobs of all trials are the same up to the scale of their gaps, so that utilisation falls
    as the interarrival time rises; the search is by regula falsi in its logarithm. `known` is
    filled: the utilisation by that logarithm. Before there is a bracket it goes as far as `slope`,
    if that is known to be negative, says, but at most two steps, and else one step.
    """
    seed = int(random_stream(plan.seed, _TRIALS).integers(1 << 48))

    def look(place: float) -> None:
        trial = _compared(plan, math.exp(place), plan.tried, trials, seed)
        uses = [run["utilisation"].mean for run in trial.runs.values()]
        known[place] = float(np.mean(uses))

    look(first)
    chosen = []
    for target in plan.targets:
        for _ in range(_MAX_TRIALS):
            nearest = min(known, key=lambda place: abs(known[place] - target))
            if abs(known[nearest] - target) <= plan.tolerance:
                break
            busier = [place for place, use in known.items() if use >= target]
            idler = [place for place, use in known.items() if use < target]
            if not busier or not idler:
                edge = max(known) if busier else min(known)
                away = step if busier else -step
                if slope < 0.0:
                    away = (target - known[edge]) / slope
                    away = math.copysign(min(max(abs(away), step / 4), 2 * step), away)
                look(edge + away)
            else:
                low, high = max(busier), min(idler)
                if abs(high - low) < 1e-3:
                    break
                part = (known[low] - target) / (known[low] - known[high])
                look(low + (high - low) * min(max(part, 0.15), 0.85))
        nearest = min(known, key=lambda place: abs(known[place] - target))
        chosen.append((math.exp(nearest), known[nearest]))
    return chosen


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
