"""The report on allocation strategies: sentences, one page, tables and figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from qmodels.pages.report import Drawn, Grid, Picture, Report, Section
from qmodels.plotting.embedded import page_axes
from qmodels.words import counted, in_words, plain_number
from validation.analysis.estimates import Estimate
from validation.analysis.sentences import against, estimated, legend, means_in_words, same_jobs, standings
from validation.machine.history import History
from validation.machine.plotting import gantt, strategy_strips
from validation.machine.runs import MachineRun, StrategyComparison
from validation.machine.scenario import AllocationPlan

#: Bars of a figure that is still drawn as shapes; more would make the page too long to load.
_MOST_SHAPES: Final = 2000


def findings(plan: AllocationPlan, found: StrategyComparison) -> list[str]:
    """Return what the runs say, in sentences; a difference within its interval is no difference.

    Parameters
    ----------
    plan : AllocationPlan
        What was run.
    found : StrategyComparison
        What came of it.

    Returns
    -------
    list of str
        Sentences.
    """
    quantity, what = _quantity(plan)
    unit = "s" if plan.machine.network == "none" else "cycles"

    def timed(number: str) -> str:
        return f"{number} {unit}"

    def takes(known: Estimate) -> str:
        return f"a job takes {timed(estimated(known))} {what}"

    said = standings(found, quantity, takes, timed)
    best = found.runs[found.best(quantity)]
    said.append(
        f"Under {found.best(quantity)} jobs hold {best['utilisation'].mean:.1%} of the processors, "
        f"and a job is there for {plain_number(best['slowdown'].mean, 3)} times as long as it runs."
    )
    turned_away = {name: run["rejected"].mean for name, run in found.runs.items() if run["rejected"].mean}
    if turned_away:
        said.append(
            "More than could ever be placed: "
            + ", ".join(f"{name} rejected {plain_number(n, 3)} jobs" for name, n in turned_away.items())
            + " of a replication; where these differ, not the same jobs were done."
        )
    return said


def _quantity(plan: AllocationPlan) -> tuple[str, str]:
    """Return what the strategies are held against each other by, and what that is."""
    if plan.machine.network == "none":  # the service is the job's own demand, whatever the strategy
        return "turnaround", "from its arrival to its end"
    return "service", "from its start to its end"


def allocation_report(plan: AllocationPlan, found: StrategyComparison) -> Report:
    """Return the report of the runs, with the first replication of each strategy in detail.

    Parameters
    ----------
    plan : AllocationPlan
        What was run.
    found : StrategyComparison
        What came of it.

    Returns
    -------
    Report
        Its files are strategies.csv, replications.csv, and jobs, layouts and bars of the first replication.
    """
    quantity, _ = _quantity(plan)
    runs = found.runs
    order = found.ranked(quantity)
    some = runs[order[0]]
    first = [run.first for run in runs.values()]
    times = _times(plan, first)
    shown = times[len(times) // 2]
    middle = in_words(shown) if some.unit == "s" else f"{shown:,.6g} {some.unit}"
    intervals = (
        "; thin: 95 % intervals of the means, thick: of the paired differences, which tell more"
        if some.replications > 1
        else ""
    )

    def compared(of: str) -> Picture:
        words = {"service": "from start to end", "turnaround": "from arrival to end"}[of]
        return Picture(
            of,
            f"Mean time of a job {words} under each strategy{intervals}.",
            lambda: (
                found.plot(page_axes(1.6 + 0.35 * len(runs)), quantity=of).get_figure(),
                means_in_words(found, of),
            ),
        )

    layouts = Picture(
        "layouts",
        f"Who holds which processors at {middle} in the first replication, each job in a colour, free "
        f"processors white; layouts.png has more moments.",
        lambda: (strategy_strips(first, np.array(times)), ""),
        panels=lambda: [_layout(name, run.first, shown, middle) for name, run in runs.items()],
    )
    columns = _columns(found, quantity, some.unit)
    bars: list[Drawn] = []  # of the first replications, filled as they are written

    def write_more(folder: Path) -> None:
        frames = {name: run.to_frame() for name, run in runs.items()}
        pd.concat(frames, names=["strategy"]).reset_index(level=0).to_csv(
            folder / "replications.csv", index=False
        )
        for number, (name, run) in enumerate(runs.items(), start=1):
            _write_first_run(run.first, folder, number)
            bars.append(_bars(name, run.first))

    return Report(
        title=plan.title,
        subtitle=_subtitle(plan, some),
        findings=findings(plan, found),
        notes=plan.warnings,
        notes_title="What to know of the jobs",
        sections=(
            Section(
                "strategies",
                "The strategies",
                (
                    compared(quantity),
                    Grid(
                        "Means by strategy, the best first",
                        [(name, runs[name]) for name in order],
                        columns,
                        (0, len(columns) - 1),
                    ),
                    *([same_jobs("strategies")] if some.replications > 1 else []),
                    {strategy.name: legend(strategy) for strategy in plan.strategies},
                    compared("service" if quantity == "turnaround" else "turnaround"),
                ),
            ),
            Section("layouts", "Where the jobs were", (layouts,)),
            Section(
                "times",
                "When they were there",
                (
                    Picture(
                        "bars",
                        "Which processors each job holds over time in the first replication; grey: how "
                        "many jobs wait.",
                        panels=lambda: bars,
                    ),
                ),
            ),
        ),
        tables={"strategies.csv": found.to_frame()},
        float_format=None,
        provenance="All means are in strategies.csv, those of each replication in replications.csv; the "
        "first replication of each strategy in jobs-1.csv, gantt-1.png and on, in the order of the "
        "list above.",
        more=write_more,
    )


def _columns(
    found: StrategyComparison, quantity: str, unit: str
) -> dict[str, Callable[[tuple[str, MachineRun]], str]]:
    """Columns of the table of strategies, a row for the name and the runs of each."""

    def of(key: str) -> Callable[[tuple[str, MachineRun]], str]:
        return lambda row: estimated(row[1][key])

    def share(key: str) -> Callable[[tuple[str, MachineRun]], str]:
        return lambda row: f"{100 * row[1][key].mean:.1f} %"

    return {
        "strategy": lambda row: row[0],
        f"service [{unit}]": of("service"),
        f"turnaround [{unit}]": of("turnaround"),
        "slowdown": of("slowdown"),
        "processors held": share("utilisation"),
        **({} if quantity == "turnaround" else {"time in the network spent waiting": share("contention")}),
        "jobs done": lambda row: plain_number(row[1]["completed"].mean),
        f"{quantity} more than {found.best(quantity)}": lambda row: against(found, row[0], quantity),
    }


def _times(plan: AllocationPlan, first: list[History]) -> tuple[float, ...]:
    """Moments at which the layouts are shown."""
    if plan.times is not None:
        return plan.times
    end = min(float(history.end) for history in first)
    return tuple(float(f"{end * part:.3g}") for part in (0.25, 0.5, 0.75))


def _subtitle(plan: AllocationPlan, some: MachineRun) -> str:
    mesh = plan.machine.mesh
    sides = (mesh.rows, mesh.columns) if mesh.depth == 1 else mesh.sides
    runs = f"{some.replications} replications of the same jobs under each strategy"
    return (
        f"{'x'.join(map(str, sides))} {'torus' if mesh.torus else 'mesh'}, "
        f"{plan.machine.discipline.name}; {'one replication' if some.replications == 1 else runs}"
    )


def _layout(name: str, history: History, time: float, when: str) -> Drawn:
    """Return the processors at a moment, for the page."""
    jobs = len(history.mesh_at(np.array([time]))[0].jobs)
    return strategy_strips([history], np.array([time])), (
        f"The mesh under {name} at {when}, with {counted(jobs, 'job')} on it."
    )


def _bars(name: str, history: History) -> Drawn:
    """Return which processors each job holds over time, for the page."""
    ax = gantt(history, ax=page_axes())
    for collection in ax.collections:
        collection.set_rasterized(len(collection.get_paths()) > _MOST_SHAPES)
    started = int(np.isfinite(history.start).sum())
    return ax.get_figure(), f"Who holds which processors when, {counted(started, 'job')} under {name}."


def _write_first_run(history: History, folder: Path, number: int) -> None:
    """Write a run in a table and a picture."""
    from qmodels.plotting.fonts import save

    save(gantt(history).get_figure(), folder / f"gantt-{number}.png")
    history.to_frame().to_csv(folder / f"jobs-{number}.csv", index=False)
