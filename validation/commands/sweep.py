"""Subcommand `qmodels sweep`: a scenario over many settings, kept in a journal as it goes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, OtherSeed, Workers, print_json
from qmodels.commands.choices import SWEEPS, choice
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.errors import ModelError
from validation.commands.axes import Varied
from validation.commands.kept_work import say_others

if TYPE_CHECKING:
    from validation.study.sweep import Sweep, SweepPlan
    from validation.sweeps.journal import Journal
    from validation.sweeps.pools import MendedPool

FAILED = 1  #: exit code when runs failed
PRECISION_NOT_REACHED = 4  #: when the budget was spent first, or a precision given up
RESULTS: Final = "results"
#: Combinations of settings from which on workers are started before all else.
_MANY: Final = 100


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("sweep")(_sweep)


def _sweep(
    scenario: Annotated[
        Path,
        typer.Argument(
            help="TOML file of policies or of strategies; or the word results, and then a journal."
        ),
    ],
    axes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUES]...",
            help="Values for a key, such as load=.1:.9:.1 machine.disks=8,16 policy='DP(1),DP(8)'.",
        ),
    ] = None,
    over: Varied = None,
    kind: Annotated[
        str | None,
        choice(SWEEPS, "--kind", help="By default the first, or of strategies the last."),
    ] = None,
    replications: Annotated[
        int | None, typer.Option(min=1, help="Runs of each point, where they are random.")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Instead: runs until every interval is so narrow, such as 1%."),
    ] = None,
    at_most: Annotated[
        int, typer.Option(min=2, help="Runs of a point at which its precision is given up.")
    ] = 1000,
    budget: Annotated[
        str | None, typer.Option(help="Begin nothing new after this time, such as 30min or 2h.")
    ] = None,
    seed: OtherSeed = None,
    workers: Workers = None,
    cluster: Annotated[
        str | None, typer.Option(help="Dask scheduler to use: its address, or its scheduler file.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Table to write, .csv or .parquet; else it is printed."),
    ] = None,
    runs: Annotated[bool, typer.Option("--runs", help="A row for each run instead of each point.")] = False,
    journal: Annotated[
        Path | None,
        typer.Option(help="The journal, kept at the end; else it lies beside the table until then."),
    ] = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Go on with results of another version of the code.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say points, runs, time and memory, and stop.")
    ] = False,
    settings: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Predict, simulate or allocate at every combination of some settings of a scenario.

    What is finished is never lost: the same command goes on after any end. Exit code 1 if runs
    failed, 4 if a budget or a precision was given up. `qmodels sweep results JOURNAL` prints what
    there is so far.

    For example: qmodels sweep site.toml --over load=.1:.9:.1 disks=8,16,32 -o sweep.csv
    """
    from validation.sweeps.results import check_writer

    if output is not None:
        check_writer(output)
    if str(scenario) == RESULTS and not scenario.exists():
        _results(axes or [], output, runs, as_json)
        return
    from qmodels.io.settings import parse_settings
    from validation.commands.axes import parsed_axes
    from validation.commands.own_classes import find_own_modules
    from validation.sweeps.engines import processes

    find_own_modules()
    words, over_axes = parse_settings(settings), parsed_axes([*(over or []), *(axes or [])])
    spent = None if budget is None else _budget(budget)
    wanted = None if precision is None else _share(precision)
    place = output.name if output is not None else f"{scenario.stem}-sweep"
    beside = (output.parent if output is not None else Path()) / f"{place}.journal"
    with processes(1 if dry_run or cluster is not None else workers) as pool:
        points = math.prod(map(len, over_axes.values()))
        if pool is not None and points >= _MANY and scenario.is_file():
            _begin(pool, scenario)
        from validation.study.sweep import plan_sweep  # takes a second: the workers' start as well

        plan = plan_sweep(
            scenario,
            over_axes,
            kind=kind,
            replications=replications,
            precision=wanted,
            at_most=at_most,
            seed=seed,
            settings=words,
        )
        if words:
            _say_settings(scenario, words)
        if dry_run:
            _say_forecast(plan, workers, cluster, spent, as_json)
            return
        with _journal(plan, journal or beside, reuse) as kept_runs:
            found = _carried_out(plan, kept_runs, workers, cluster, pool, spent)
            _write(found, output, runs, as_json)
            if journal is None and found.complete:
                others = kept_runs.others()
                kept_runs.close(ended=True)
                say_others(beside, others)
            else:
                typer.echo(f"{journal or beside}", err=True)
    _end(found)


def _begin(pool: MendedPool, scenario: Path) -> None:
    """Have the workers of a sweep import what they need, while this process lays out its points."""
    from qmodels.io.toml_tables import unchecked_tables
    from validation.sweeps.tables import of_strategies

    what = "machine" if of_strategies(unchecked_tables(scenario)) else "sharing"
    pool.begin(_MANY, f"validation.{what}.points")


def _say_settings(scenario: Path, words: Mapping[str, Any]) -> None:
    from qmodels.io.settings import told
    from qmodels.io.toml_tables import unchecked_tables

    say_changes(told(unchecked_tables(scenario), words), err=True)


@contextmanager
def _journal(plan: SweepPlan, file: Path, reuse: bool) -> Iterator[Journal]:
    """The journal, which a command that is stopped says it has."""
    from qmodels.commands.shell import shell_line
    from qmodels.process import kept
    from validation.sweeps.journal import Journal

    with (
        Journal(
            file,
            version=plan.points[0].version,
            campaign=plan.campaign,
            reuse=reuse,
            command=shell_line(["qmodels", *sys.argv[1:]]),
        ) as journal,
        kept(journal.finished),
    ):
        yield journal


def _carried_out(
    plan: SweepPlan,
    journal: Journal,
    workers: int | None,
    cluster: str | None,
    pool: MendedPool | None,
    budget: float | None,
) -> Sweep:
    from qmodels.commands.progress import progress_shown
    from validation.study.sweep import run_sweep

    with progress_shown() as progress:
        return run_sweep(
            plan,
            journal,
            workers=workers,
            cluster=cluster,
            executor=pool,
            budget=budget,
            progress=progress,
        )


def _results(words: list[str], output: Path | None, runs: bool, as_json: bool) -> None:
    """Export a journal, of a sweep that may still go on."""
    from validation.study.sweep import kept_sweeps, read_sweep

    if len(words) not in (1, 2) or not all(word.isdecimal() for word in words[1:]):
        raise ModelError(
            "qmodels sweep results takes one journal, and after it the number of one of its sweeps"
        )
    file = Path(words[0])
    held = kept_sweeps(file)
    number = int(words[1]) if words[1:] else held[0].number
    found = read_sweep(file, number)
    for each in held:
        if each.number != number:
            answers.remark(f"{file} also has sweep {each.number}, {each.results:,} runs: {each.command}")
    _write(found, output, runs, as_json)
    if not found.complete:
        done = sum(len(each) for each in found.points.values)
        answers.remark(f"{done:,} of {found.points.total():,} runs are done")


def _write(found: Sweep, output: Path | None, runs: bool, as_json: bool) -> None:
    from validation.sweeps.results import to_csv, write_table

    table = found.runs_frame() if runs else found.to_frame()
    if output is not None:
        write_table(table, output)
        typer.echo(str(output), err=True)
    if as_json:
        print_json(found.record() | {"rows": table})
    elif output is None:
        typer.echo(to_csv(table), nl=False)


def _end(found: Sweep) -> None:
    """Say what is missing, and end with the exit code of it."""
    for what in dict.fromkeys(found.failures.values()):
        count = sum(each == what for each in found.failures.values())
        answers.remark(f"{count:,} runs could not be done: {what}")
    if found.failures:
        raise typer.Exit(FAILED)
    if found.complete and found.points.effort.precision is None:
        return
    rows = found.points.rows()
    wide = sum(row.get("precise") is False and row.get("status") == "ok" for row in rows)
    missing = sum(row.get("status") == "not done" for row in rows)
    if not found.complete:
        rest = "not precise enough"
        if found.points.effort.precision is None:
            wide, rest = found.points.unfinished() - missing, "begun and not done"
        typer.echo(
            f"- the budget is spent: {missing:,} points are not begun, {wide:,} {rest}; the same "
            f"command goes on",
            err=True,
        )
    elif wide:
        typer.echo(f"- {wide:,} points did not reach their precision; see --at-most", err=True)
    if not found.complete or wide:
        raise typer.Exit(PRECISION_NOT_REACHED)


def _say_forecast(
    plan: SweepPlan, workers: int | None, cluster: str | None, budget: float | None, as_json: bool
) -> None:
    from qmodels.words import in_words
    from validation.study.sweep import forecast
    from validation.sweeps.executors import worker_count

    told, count = forecast(plan), worker_count(workers)
    # more processes than cores share them; those of a cluster are not known here
    cores = count if cluster is not None else worker_count(None)
    spent = told.cpu_seconds / min(count, cores)
    if as_json:
        print_json(told.record() | {"workers": count})
        return
    typer.echo(f"{told.points:,} points")
    more = " to begin with, more until they are precise" if plan.effort.precision else ""
    typer.echo(f"{told.runs:,} runs{more}")
    who = f"{count} {'process' if count == 1 else 'processes'}"
    if count > cores:
        who += f" on {cores} {'core' if cores == 1 else 'cores'}"
    typer.echo(
        f"{in_words(told.cpu_seconds)} of computing, {in_words(spent, like=told.cpu_seconds)} with "
        f"{who} (from {told.tried} points that were tried; others may take longer)"
    )
    if budget is not None and spent > budget:
        typer.echo(f"the budget of {in_words(budget)} is less than that")
    typer.echo(f"{told.memory_bytes / 1e6:,.0f} MB for each process")


def _share(text: str) -> float:
    """A precision such as 1% or 0.01."""
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        found = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        found = 0.0
    if not 0.0 < found < 1.0:
        raise ModelError(f"--precision: {text!r:.40} must lie between 0 and 100 %, such as 1%")
    return found


def _budget(text: str) -> float:
    """Seconds of a time such as 30min or 1h30min."""
    from phasefit.checks import real_number
    from qmodels.units import quantity, seconds

    return real_number("--budget", quantity("--budget", seconds, text), above=0.0)
