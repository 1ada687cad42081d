"""The report on balancers: sentences, one page, tables and figures."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qmodels.io.outputs import output_folder
from qmodels.pages.report import PAGE, Picture, fill_report
from qmodels.plotting.style import axes_or_new
from qmodels.words import plain_number
from validation.analysis.comparison import Comparison
from validation.analysis.estimates import Estimate
from validation.cluster.balancing import AbstractBalancer
from validation.cluster.history import ClusterRun
from validation.cluster.node import Cluster
from validation.cluster.plotting import migration_map, timeline
from validation.cluster.runs import (
    BalancerComparison,
    BalancerRuns,
    ClusterPoint,
    Traces,
    trace_of,
)
from validation.cluster.simulator import simulate_cluster
from validation.cluster.trace import ClusterTrace

#: What adds to a slowdown, in words.
_PARTS = {
    "queueing": "waiting for processors and disks",
    "paging": "paging",
    "barrier": "waiting for the other tasks at barriers",
    "migration": "going elsewhere",
    "slower_nodes": "slower nodes",
}
#: Share of what is added from which on a part is worth a sentence.
_WORTH = 0.1


def findings(found: BalancerComparison) -> list[str]:
    """What the runs say, in sentences; a difference within its interval is no difference."""
    best = found.runs[found.best()]
    level = [name for name in found.leaders() if name != best.balancer]
    first = (
        f"Under {best.balancer} a job takes {_times(best['slowdown'])} as long as alone, the least "
        f"of {len(found.runs)}"
        if len(found.runs) > 1
        else f"Under {best.balancer} a job takes {_times(best['slowdown'])} as long as alone"
    )
    if level:
        first += f"; {_listed(level)} cannot be told from it in {best.replications} runs"
    said = [f"{first}."]
    others = [name for name in found.runs if name != best.balancer and name not in level]
    if best.replications == 1 and len(found.runs) > 1:
        said.append("These jobs were run once: how sure the order is is not known.")
    elif others:
        worst = max(others, key=lambda name: found.runs[name]["slowdown"].mean)
        gap = found.compare(worst, best.balancer)
        said.append(
            f"Under {worst} it is {_times(found.runs[worst]['slowdown'])}, by paired differences "
            f"{_estimated(gap)} more."
        )
    said.append(
        f"Under {best.balancer} one job in twenty takes more than "
        f"{plain_number(best['slowdown_p95'].mean, 3)} times as long as alone, one in a hundred "
        f"more than {plain_number(best['slowdown_p99'].mean, 3)} times."
    )
    parts = {part: best[part].mean for part in _PARTS if part in best.values}
    added = best["slowdown"].mean - 1.0
    heavy = [part for part, mean in parts.items() if mean > _WORTH * added]
    if heavy and added > 1e-3:
        heavy.sort(key=lambda part: -parts[part])
        said.append(
            f"What is added to the time alone is "
            f"{_listed([f'{_PARTS[part]} ({parts[part] / added:.0%})' for part in heavy])}."
        )
    return said


def _times(known: Estimate) -> str:
    return f"{_estimated(known)} times"


def _estimated(known: Estimate | Comparison) -> str:
    """A mean to the digits that its interval leaves, with that to two."""
    if not (np.isfinite(known.half_width) and known.half_width > 0.0):
        return plain_number(known.mean, 3)
    after = max(0, 1 - math.floor(math.log10(known.half_width)))
    return f"{known.mean:,.{after}f} ± {known.half_width:,.{after}f}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _moved(run: BalancerRuns) -> float:
    """Tasks of a run that started or went elsewhere, mean."""
    return run["started_elsewhere"].mean + run["preemptions"].mean


def _legend(balancer: AbstractBalancer) -> str:
    """What a balancer does: the first line of its class."""
    return (inspect.getdoc(type(balancer)) or "no word is said of it").splitlines()[0]


def _slowdown_words(runs: Sequence[BalancerRuns]) -> str:
    said = [f"{run.balancer} {_estimated(run['slowdown'])}" for run in runs]
    return f"Mean slowdown under each balancer, the least first: {', '.join(said)}."


def _tail_words(runs: Sequence[BalancerRuns]) -> str:
    said = [
        f"{run.balancer} {plain_number(run['slowdown_p95'].mean, 3)} and "
        f"{plain_number(run['slowdown_p99'].mean, 3)}"
        for run in runs
    ]
    return f"Slowdowns that 5 % and 1 % of the jobs exceed: {'; '.join(said)}."


def _task_words(run: ClusterRun) -> str:
    most = float(run.timeline().tasks.max())
    return (
        f"Tasks at each node over time under {run.balancer}: at most {plain_number(most, 3)} at "
        f"once, mean slowdown {plain_number(float(run.slowdown.mean()), 3)}."
    )


def write_balance_report(
    cluster: Cluster,
    traces: Traces,
    balancers: Sequence[AbstractBalancer],
    found: BalancerComparison,
    folder: Path,
    *,
    seed: int,
    command: str,
) -> Path:
    """Write report.html, tables and figures; the first run of each balancer in detail.

    Raises
    ------
    ModelError
        If `folder` cannot be written to.
    """
    ordered = sorted(found.runs.values(), key=lambda run: run["slowdown"].mean)
    best = ordered[0]
    frames = {name: pd.DataFrame(dict(run.values)) for name, run in found.runs.items()}
    with output_folder(folder) as made:
        pd.concat(frames, names=["balancer", "replication"]).to_csv(made / "replications.csv")
        panels = [
            _first_run(
                cluster, trace_of(ClusterPoint(cluster, traces, balancer, seed), 0), balancer, made, number
            )
            for number, balancer in enumerate(balancers, start=1)
        ]
        fill_report(
            made,
            Path(__file__).parent / "templates" / "balance.html.j2",
            pictures=[
                Picture("slowdown", found.plot(_axes()).get_figure(), _slowdown_words(ordered)),
                Picture("tails", found.plot_tails(ax=_axes()).get_figure(), _tail_words(ordered)),
                Picture("tasks", None, panels=tuple(panels)),
            ],
            tables={"balancers.csv": found.to_frame()},
            title="Balancers of a cluster",
            subtitle=_subtitle(cluster, best),
            findings=findings(found),
            gravest=found.warnings,
            command=command,
            runs=ordered,
            best=best,
            legends={balancer.name: _legend(balancer) for balancer in balancers},
            slower=any(abs(run["slower_nodes"].mean) > 1e-6 for run in ordered),
            estimated=_estimated,
            number=lambda value: plain_number(value, 3),
            moved=_moved,
            against_best=lambda run: _against(found, run, best),
        )
    return folder / PAGE


def _first_run(
    cluster: Cluster, trace: ClusterTrace, balancer: AbstractBalancer, made: Path, number: int
) -> tuple[Any, str]:
    """Write the first run of a balancer in tables and pictures; its tasks for the page."""
    from qmodels.plotting.fonts import save

    run = simulate_cluster(cluster, trace, balancer)
    run.to_frame().to_csv(made / f"jobs-{number}.csv", index=False)
    run.timeline().to_csv(made / f"nodes-{number}.csv", index=False)
    drawn = {what: timeline(run, what).get_figure() for what in ("tasks", "disk", "cpu")}
    if run.migrations.any():
        pd.DataFrame(run.migrations).to_csv(made / f"migrations-{number}.csv")
        drawn["migrations"] = migration_map(run.migrations).get_figure()
    for name, figure in drawn.items():
        save(figure, made / f"{name}-{number}.png", dpi=150)
    return timeline(run, "tasks", ax=_axes()).get_figure(), _task_words(run)


def _axes() -> Any:
    """Axes whose words can be read on a telephone."""
    return axes_or_new(None, figsize=(4.8, 3.3))


def _against(found: BalancerComparison, run: BalancerRuns, best: BalancerRuns) -> str:
    """What a balancer costs more than the best, by paired differences."""
    if run.balancer == best.balancer:
        return "best"
    gap = found.compare(run.balancer, best.balancer)
    decided = gap.verdict != "undecided" or not np.isfinite(gap.half_width)
    return _estimated(gap) if decided else f"{_estimated(gap)}, undecided"


def _subtitle(cluster: Cluster, best: BalancerRuns) -> str:
    runs = f"{best.replications} runs of the same jobs under each balancer"
    return f"{len(cluster.nodes)} nodes; " + ("one run" if best.replications == 1 else runs)
