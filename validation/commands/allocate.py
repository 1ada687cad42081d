"""Subcommand `qmodels allocate`: strategies compared on the same jobs, and checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, Workers, print_json
from qmodels.commands.choices import NETWORKS, SIDES, choice
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogUnit,
    LogZone,
    log_choices,
)
from qmodels.commands.options import MaxBytes
from qmodels.commands.set_option import SetOption, say_changes
from validation.commands.kept_work import KeepJournal, Reuse, kept_work
from validation.commands.own_classes import find_own_modules, within_seconds

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from qmodels.progress import Progress
    from validation.machine import MachineRun, StrategyComparison
    from validation.machine.scenario import AllocationPlan

FAILED = 1  #: exit code when a strategy breaks a promise


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("allocate", cls=_Command)(_allocate)


class _Command(TyperCommand):
    """The subcommand; its help names the disciplines that there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Read the registry only here: loading it takes longer than any other command's help."""
        from validation.jobs.disciplines import disciplines_by_number

        for option in self.params:
            if option.name == "discipline":
                option.help = (  # type: ignore[attr-defined]
                    f"{', '.join(disciplines_by_number())}; module:Class names one of your own."
                )
        super().format_help(ctx, formatter)


def _allocate(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario (TOML, see docs/reference/allocation-scenario.md) or a job log; "
            "without one, jobs come as a Poisson process."
        ),
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(help="Names separated by commas; module:Class names one of your own."),
    ] = None,
    mesh: Annotated[
        str | None,
        typer.Option(help="Rows x columns, by default 16x22, or x by y by z, such as 8x8x8."),
    ] = None,
    torus: Annotated[
        bool, typer.Option("--torus", help="Close every side to a ring; then without I/O nodes.")
    ] = False,
    io: Annotated[str | None, choice(SIDES, "--io", help="Side with I/O nodes, by default west.")] = None,
    io_share: Annotated[float | None, typer.Option(help="Share of I/O among the messages, 0 to 1.")] = None,
    flits: Annotated[int | None, typer.Option(min=1, help="Length of a message.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Messages of each node.")] = None,
    discipline: Annotated[str | None, typer.Option(help="In which order waiting jobs are tried.")] = None,
    network: Annotated[
        str | None,
        choice(NETWORKS, "--network", help="What ends a job; with none its own demand."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Jobs of each run.")] = None,
    mean_interarrival: Annotated[
        float | None, typer.Option(help="Mean time between arrivals [cycles; s with none].")
    ] = None,
    utilisation: Annotated[
        float | None,
        typer.Option(
            help="Choose the arrival rate so that the first strategy keeps this share of the "
            "processors busy, 0 to 1."
        ),
    ] = None,
    replications: Annotated[int | None, typer.Option(min=1, help="Independent runs.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers.")] = None,
    workers: Workers = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for figures and tables.")
    ] = None,
    as_json: AsJson = False,
    reuse: Reuse = False,
    keep_journal: KeepJournal = False,
    check: Annotated[
        str | None,
        typer.Option(help="Only check that this strategy keeps the rules of strategies, and stop."),
    ] = None,
    check_seconds: Annotated[
        float, typer.Option(min=0.1, help="With --check: stop a strategy that takes longer.")
    ] = 120.0,
    max_bytes: MaxBytes = None,
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    settings: SetOption = None,
) -> None:
    """Compare processor-allocation strategies on the same jobs, with paired differences.

    With an output folder the same command goes on where it was broken off.

    For example: qmodels allocate --strategies MC,PLAS,MBS --jobs 500 --utilisation 0.6
    """
    find_own_modules()
    if check is not None:
        _check(check, check_seconds, as_json)
        return
    from qmodels.commands.progress import progress_shown
    from qmodels.io.outputs import claim_output
    from validation.machine import compare_strategies

    given = {
        "machine": {
            "strategies": None if strategies is None else [s for s in strategies.split(",") if s],
            "discipline": discipline,
            "network": network,
        },
        "mesh": _sides(mesh) | {"io_side": io, "torus": torus or None},
        "traffic": {"io_share": io_share, "flits": flits, "slots": slots},
        "jobs": {
            "count": jobs,
            "mean_interarrival": mean_interarrival,
            "utilisation": utilisation,
        }
        | log_choices(log_format, unit, log_columns, timezone),
        "study": {"replications": replications},
        "": {"seed": seed},
    }
    if output is not None:
        claim_output(output)
    plan, changes = _plan(source, given, settings, max_bytes)
    say_changes(changes, err=as_json)
    answers.remarks(plan.warnings)
    modules = ("validation.machine.runs", "validation.machine.loads")
    with (
        progress_shown() as progress,
        kept_work(output, *modules, workers=workers, reuse=reuse, keep=keep_journal) as working,
    ):
        plan = _timed(plan, workers, working.processes, progress)
        found = compare_strategies(
            plan.machine,
            plan.strategies,
            plan.streams,
            replications=plan.replications,
            seed=plan.seed,
            completions=plan.completions,
            workers=workers,
            executor=working.processes,
            progress=progress,
        )
        if output is not None:
            _write(plan, found, output)
    if as_json:
        print_json({name: _record(found, name) for name in found.runs})
    else:
        # Without a network the service is the job's own demand, whatever the strategy.
        timed = plan.machine.network == "none"
        typer.echo(found.table("turnaround" if timed else "service"))


def _check(name: str, seconds: float, as_json: bool) -> None:
    from validation.allocation import check_strategy, load_strategy

    strategy = load_strategy(name)
    with within_seconds(seconds, f"strategy {strategy.name}"):
        found = check_strategy(strategy)
    print_json(found) if as_json else typer.echo(found.table())
    if not found.passed:
        raise typer.Exit(FAILED)


def _sides(mesh: str | None) -> dict[str, Any]:
    if mesh is None:
        return {}
    from validation.commands.mesh import parsed_sides
    from validation.machine.scenario import sides_table

    return sides_table(parsed_sides(mesh))


def _plan(
    source: Path | None,
    given: dict[str, dict[str, Any]],
    settings: list[str] | None,
    max_bytes: int | None,
) -> tuple[AllocationPlan, tuple[str, ...]]:
    """The file, if there is one, with the options of the command line over it; what was set."""
    from qmodels.commands.set_option import over_file
    from validation.machine.scenario import AllocationFile, make_plan

    name, spec, changes = over_file(AllocationFile, source, given, settings)
    return make_plan(name, spec, max_bytes=max_bytes), changes


def _timed(
    plan: AllocationPlan, workers: int | None, executor: Executor | None, progress: Progress
) -> AllocationPlan:
    """The plan with jobs that come as fast as is wanted."""
    if plan.utilisation is None:
        return plan
    from dataclasses import replace

    from validation.machine.loads import interarrival_for

    mean = interarrival_for(
        plan.machine,
        plan.streams,
        plan.utilisation,
        seed=plan.seed,
        workers=workers,
        executor=executor,
        progress=progress,
    )
    unit = "s" if plan.machine.network == "none" else "cycles"
    answers.remark(
        f"Jobs arrive every {mean:g} {unit} on average, so that {plan.strategies[0].name} keeps "
        f"{plan.utilisation:.0%} of the processors busy."
    )
    streams: Any = replace(plan.streams, mean_interarrival=mean)  # type: ignore[type-var]
    return replace(plan, streams=streams)


def _record(found: StrategyComparison, name: str) -> dict[str, Any]:
    run: MachineRun = found.runs[name]
    gap = found.compare(name, found.best())
    wide = run.replications > 1
    return {
        key: {"mean": run[key].mean, "half_width": run[key].half_width if wide else None}
        for key in run.values
    } | {
        "unit": run.unit,
        "service_minus_best": {
            "mean": gap.mean,
            "half_width": gap.half_width if wide else None,
            "verdict": gap.verdict,
        },
    }


def _write(plan: AllocationPlan, found: StrategyComparison, output: Path) -> None:
    """Tables, and the first run of each strategy in pictures."""
    import numpy as np
    import pandas as pd

    from qmodels.io.outputs import output_folder
    from validation.machine.plotting import gantt, strategy_strips

    runs = found.runs
    first = [run.first for run in runs.values()]
    times = plan.times
    if times is None:
        end = min(float(history.end) for history in first)
        times = tuple(float(f"{end * part:.3g}") for part in (0.25, 0.5, 0.75))
    with output_folder(output) as folder:
        found.to_frame().to_csv(folder / "strategies.csv", index=False)
        frames = {name: run.to_frame() for name, run in runs.items()}
        pd.concat(frames, names=["strategy"]).reset_index(level=0).to_csv(
            folder / "replications.csv", index=False
        )
        for quantity in ("service", "turnaround"):
            _save(found.plot(quantity=quantity).get_figure(), folder / f"{quantity}.png")
        _save(strategy_strips(first, np.array(times)), folder / "layouts.png")
        for k, history in enumerate(first):
            _save(gantt(history).get_figure(), folder / f"gantt-{k + 1}.png")
            history.to_frame().to_csv(folder / f"jobs-{k + 1}.csv", index=False)
    for k, name in enumerate(runs):
        print(f"- gantt-{k + 1}.png, jobs-{k + 1}.csv: {name}", file=sys.stderr)
    print(f"- {output / 'layouts.png'}", file=sys.stderr)


def _save(figure: Any, file: Path) -> None:
    from qmodels.plotting.fonts import save

    save(figure, file, dpi=150)
