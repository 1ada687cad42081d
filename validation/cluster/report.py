"""The report on balancers: sentences, one page, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from qmodels.pages.report import Drawn, Grid, Picture, Report, Section
from qmodels.plotting.embedded import page_axes
from qmodels.words import plain_number
from validation.analysis.sentences import (
    against,
    estimated,
    legend,
    listed,
    means_in_words,
    same_jobs,
    standings,
)
from validation.cluster.history import ClusterRun
from validation.cluster.plotting import migration_map, timeline
from validation.cluster.runs import BalancerComparison, BalancerRuns, ClusterPoint, trace_of
from validation.cluster.scenario import BalancePlan
from validation.cluster.simulator import simulate_cluster

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

    def times(number: str) -> str:
        return f"{number} times"

    said = standings(
        found,
        "slowdown",
        lambda known: f"a job takes {times(estimated(known))} as long as alone",
        times,
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
            f"{listed([f'{_PARTS[part]} ({parts[part] / added:.0%})' for part in heavy])}."
        )
    return said


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


def balance_report(plan: BalancePlan, found: BalancerComparison) -> Report:
    """Return the report of the runs, with the first run of each balancer in detail.

    Parameters
    ----------
    plan : BalancePlan
        What was run.
    found : BalancerComparison
        What came of it.
    """
    ordered = [found.runs[name] for name in found.ranked("slowdown")]
    best = ordered[0]

    drawn: list[Drawn] = []  # of the first runs, filled as they are written

    def write_first_runs(folder: Path) -> None:
        """Simulate the first replication again, as a comparison keeps no histories."""
        frames = {name: pd.DataFrame(dict(run.values)) for name, run in found.runs.items()}
        pd.concat(frames, names=["balancer", "replication"]).to_csv(folder / "replications.csv")
        for number, balancer in enumerate(plan.balancers, start=1):
            point = ClusterPoint(plan.cluster, plan.traces, balancer, plan.seed)
            run = simulate_cluster(plan.cluster, trace_of(point, 0), balancer)
            _write_first_run(run, folder, number)
            drawn.append((timeline(run, "tasks", ax=page_axes()).get_figure(), _task_words(run)))

    more = f" {same_jobs('balancers')}" if best.replications > 1 else ""
    slowdowns = (
        Picture(
            "slowdown",
            "Mean slowdown of a job, its response time over the time that it takes alone, and what "
            f"makes it up{'; lines: 95 % intervals' if best.replications > 1 else ''}.",
            lambda: (found.plot(page_axes()).get_figure(), means_in_words(found, "slowdown")),
        ),
        Grid("Slowdown by balancer, the best first", ordered, _columns(found, best), (0, 9)),
        f"One for the job alone, queueing for processors and disks, paging, barriers and migration"
        f"{_slower(ordered)} make up the mean slowdown.{more}",
        {balancer.name: legend(balancer) for balancer in plan.balancers},
    )
    tails = Picture(
        "tails",
        "Share of the jobs whose slowdown is larger, over that slowdown.",
        lambda: (found.plot_tails(ax=page_axes()).get_figure(), _tail_words(ordered)),
    )
    tasks = Picture(
        "tasks",
        "Tasks at each node over time in the first run; nodes by rising load, the line is the last "
        "arrival. An even shade is an even load; each picture has a scale of its own.",
        panels=lambda: drawn,
    )
    runs = f"{best.replications} runs of the same jobs under each balancer"
    return Report(
        title=plan.title,
        subtitle=f"{len(plan.cluster.nodes)} nodes; {'one run' if best.replications == 1 else runs}",
        findings=findings(found),
        notes=found.warnings,
        sections=(
            Section("slowdowns", "Slowdowns", slowdowns),
            Section("tails", "The unlucky ones", (tails,)),
            Section("nodes", "Where the tasks were", (tasks,)),
        ),
        tables={"balancers.csv": found.to_frame()},
        provenance="All numbers are in balancers.csv and replications.csv; the first run of each "
        "balancer in jobs-1.csv, nodes-1.csv and on, in the order of the list above.",
        more=write_first_runs,
    )


def _columns(found: BalancerComparison, best: BalancerRuns) -> dict[str, Callable[[BalancerRuns], str]]:
    """Columns of the table of slowdowns."""

    def mean(quantity: str) -> Callable[[BalancerRuns], str]:
        return lambda run: plain_number(run[quantity].mean, 3)

    return {
        "balancer": lambda run: run.balancer,
        "mean slowdown": lambda run: estimated(run["slowdown"]),
        "5 % of jobs exceed": mean("slowdown_p95"),
        "1 % of jobs exceed": mean("slowdown_p99"),
        **{part: mean(part) for part in ("queueing", "paging", "barrier", "migration")},
        "tasks elsewhere or moved": lambda run: plain_number(
            run["started_elsewhere"].mean + run["preemptions"].mean, 3
        ),
        f"more than {best.balancer}": lambda run: against(found, run.balancer, "slowdown"),
    }


def _slower(runs: Sequence[BalancerRuns]) -> str:
    """Name the part that nodes of different speeds add, where there are such."""
    return ", and slower nodes," if any(abs(run["slower_nodes"].mean) > 1e-6 for run in runs) else ""


def _write_first_run(run: ClusterRun, folder: Path, number: int) -> None:
    """Write a run in tables and pictures."""
    from qmodels.plotting.fonts import save

    run.to_frame().to_csv(folder / f"jobs-{number}.csv", index=False)
    run.timeline().to_csv(folder / f"nodes-{number}.csv", index=False)
    drawn = {what: timeline(run, what).get_figure() for what in ("tasks", "disk", "cpu")}
    if run.migrations.any():
        pd.DataFrame(run.migrations).to_csv(folder / f"migrations-{number}.csv")
        drawn["migrations"] = migration_map(run.migrations).get_figure()
    for name, figure in drawn.items():
        save(figure, folder / f"{name}-{number}.png")
