"""Replications of a cluster under several balancers, all of which meet the same jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from phasefit.arrays import Array, Ints
from phasefit.checks import one_of, whole_number
from phasefit.records import Drawing, Result
from qmodels.errors import ModelError
from qmodels.progress import Progress
from validation.analysis.alternatives import Alternatives, Quantity, Replications
from validation.analysis.estimates import plus_minus
from validation.analysis.seeding import stream
from validation.cluster.balancing.base import AbstractBalancer, find_balancer
from validation.cluster.history import QUANTITIES, TAIL, tails_of
from validation.cluster.node import Cluster
from validation.cluster.simulator import simulate_cluster
from validation.cluster.trace import ClusterTrace
from validation.sweeps.executors import parallel_map

if TYPE_CHECKING:
    import pandas as pd

#: What adds to a slowdown, in the table.
_PARTS = ("queueing", "paging", "barrier", "migration")


class Traces(Protocol):
    """What traces are drawn from."""

    def draw(self, *, rng: np.random.Generator) -> ClusterTrace:
        """Draw one."""


@dataclass(frozen=True, eq=False)
class SameTrace:
    """A source whose traces are all the same, as of a log."""

    trace: ClusterTrace

    def draw(self, *, rng: np.random.Generator) -> ClusterTrace:
        """The trace."""
        return self.trace


@dataclass(frozen=True, eq=False)
class ClusterPoint:
    """One balancer on one source of traces, of a campaign: plain data with everything in it."""

    cluster: Cluster
    traces: Traces
    balancer: AbstractBalancer
    seed: int
    key: tuple[int | str, ...] = ("cluster", "traces")


def trace_of(point: ClusterPoint, replication: int) -> ClusterTrace:
    """The jobs of a replication, the same for every balancer."""
    return point.traces.draw(rng=stream(point.seed, *point.key, replication))


def run_one(point: ClusterPoint, replication: int) -> dict[str, float]:
    """One replication of a point: its `ClusterRun.summary`."""
    return simulate_cluster(point.cluster, trace_of(point, replication), point.balancer).summary()


def _run_with_tails(task: tuple[ClusterPoint, int]) -> tuple[dict[str, float], Any, Any, Any]:
    """One replication with its tails by class, the matrix of who moved, and what to beware of."""
    point, replication = task
    run = simulate_cluster(point.cluster, trace_of(point, replication), point.balancer)
    return run.summary(), tails_of(run), run.migrations, run.warnings


@dataclass(frozen=True, eq=False, kw_only=True)
class BalancerRuns(Replications, Result):
    """What replications under one balancer gave."""

    drawing = Drawing("replication", "slowdown")

    balancer: str
    tails: Mapping[str, Array] = field(repr=False)  #: mean share of jobs above each of `TAIL`
    migrations: Ints = field(repr=False)  #: (nodes, nodes) over all replications
    warnings: tuple[str, ...]

    def record(self) -> dict[str, Any]:
        """Return every quantity as an estimate."""
        return {"balancer": self.balancer, "warnings": self.warnings} | super().record()


def _quantities() -> dict[str, Quantity]:
    return {name: Quantity(unit, not name.endswith("utilisation")) for name, unit in QUANTITIES.items()}


@dataclass(frozen=True, eq=False)
class BalancerComparison(Alternatives[str, BalancerRuns]):
    """Balancers fed the same jobs, replication by replication.

    Examples
    --------
    >>> from validation.cluster import Cluster, SyntheticTraces
    >>> traces = SyntheticTraces(jobs=100, nodes=8, parallel=0.0)
    >>> found = compare_balancers(Cluster.of(8), traces, ["IOCM-RE", "NLB"], replications=3, seed=1)
    >>> found.best()
    'IOCM-RE'
    """

    kind = "balancer"

    quantities: Mapping[str, Quantity] = field(default_factory=_quantities, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before using the numbers."""
        return tuple(f"{name}: {text}" for name, run in self.runs.items() for text in run.warnings)

    def _columns(self, name: str, quantity: str) -> dict[str, str]:
        run, known = self.runs[name], self.estimate(name, quantity)
        width = plus_minus(known.half_width) if run.replications > 1 else ""
        parts = {"p95": "slowdown_p95", "p99": "slowdown_p99"} | {part: part for part in _PARTS}
        moved = run["started_elsewhere"].mean + run["preemptions"].mean
        return (
            {quantity: f"{known.mean:.4g}{width}"}
            | {head: f"{self.mean_of(name, part):.3g}" for head, part in parts.items()}
            | {"moved": f"{moved:.4g}"}
        )

    def to_frame(self, quantity: str | None = None) -> pd.DataFrame:
        """Return one row for each balancer and quantity: mean, half-width, difference to the best."""
        import pandas as pd

        best, rows = self.best(quantity), []
        for name, run in self.runs.items():
            for each in run.values:
                known, gap = run[each], self.compare(name, best, each)
                rows.append(
                    {
                        "balancer": name,
                        "quantity": each,
                        "unit": self.unit(each),
                        "mean": known.mean,
                        "half_width": known.half_width,
                        "less_best": gap.mean,
                        "less_best_half_width": gap.half_width,
                        "verdict": gap.verdict,
                        "replications": run.replications,
                    }
                )
        return pd.DataFrame(rows)

    def plot(self, ax: Any = None, *, quantity: str | None = None) -> Any:
        """Draw the slowdown of every balancer, with what it is made of; or another quantity."""
        from validation.cluster.plotting import slowdown_parts

        return slowdown_parts(self.runs, ax=ax) if quantity is None else super().plot(ax, quantity=quantity)

    def plot_tails(self, kind: str = "all", *, ax: Any = None) -> Any:
        """Draw the share of jobs above a slowdown: of "all", "sequential" or "parallel" ones."""
        from validation.cluster.plotting import slowdown_tails

        tails = {name: run.tails for name, run in self.runs.items()}
        one_of("kind", kind, next(iter(tails.values())))
        return slowdown_tails({name: by[kind] for name, by in tails.items()}, TAIL, kind, ax=ax)


def compare_balancers(
    cluster: Cluster,
    traces: Traces | ClusterTrace,
    balancers: Sequence[AbstractBalancer | str],
    *,
    replications: int = 10,
    seed: int = 0,
    confidence: float = 0.95,
    workers: int | None = 1,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> BalancerComparison:
    """Run the same jobs under several balancers.

    Parameters
    ----------
    cluster : Cluster
    traces : ClusterTrace, or what draws one
        A trace is run once: every replication would be the same.
    balancers : sequence of AbstractBalancer or str
        All with different names.
    replications : int
    seed : int
        Of the jobs; nothing else is drawn.
    confidence : float
        Of the intervals.
    workers, executor, progress
        See `validation.sweeps.executors.parallel_map`.

    Returns
    -------
    BalancerComparison

    Raises
    ------
    ModelError
        See `simulate_cluster`; or if two balancers have the same name.
    """
    replications = whole_number("replications", replications, least=1)
    if isinstance(traces, ClusterTrace):
        traces = SameTrace(traces)
    if isinstance(traces, SameTrace):
        replications = 1
    found = [find_balancer(given) for given in balancers]
    names = [one.name for one in found]
    if not names or len(set(names)) < len(names):
        raise ModelError(f"give balancers with different names, got {', '.join(names) or 'none'}")
    points = [ClusterPoint(cluster, traces, one, seed) for one in found]
    tasks = [(point, r) for r in range(replications) for point in points]
    results = parallel_map(
        _run_with_tails, tasks, workers=workers, executor=executor, progress=progress, what="runs"
    )
    runs = {}
    for k, name in enumerate(names):
        mine = results[k :: len(names)]
        kept = [q for q in QUANTITIES if all(q in summary for summary, *_ in mine)]
        notes = dict.fromkeys(text for *_, warnings in mine[:1] for text in warnings)
        runs[name] = BalancerRuns(
            balancer=name,
            values={q: tuple(summary[q] for summary, *_ in mine) for q in kept},
            tails={
                key: np.mean([tails[key] for _, tails, _, _ in mine if key in tails], axis=0)
                for key in mine[0][1]
            },
            migrations=np.sum([matrix for _, _, matrix, _ in mine], axis=0),
            confidence=confidence,
            warnings=tuple(notes),
        )
    return BalancerComparison(runs)
