"""Subcommand `qmodels balance`: balancers of a cluster compared on the same jobs, and checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, Workers, print_json
from qmodels.commands.set_option import SetOption, say_changes
from validation.commands.own_classes import find_own_modules, within_seconds

if TYPE_CHECKING:
    from validation.cluster.runs import BalancerComparison
    from validation.cluster.scenario import BalancePlan

FAILED = 1  #: exit code when a balancer breaks a promise


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("balance", cls=_Command)(_balance)


class _Command(TyperCommand):
    """The subcommand; its help names the balancers that there are."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Read the registry only here: loading it takes longer than any other command's help."""
        from validation.cluster import BALANCERS

        for option in self.params:
            if option.name == "balancers":
                option.help = (  # type: ignore[attr-defined]
                    f"Some of {', '.join(BALANCERS)}, separated by commas; module:Class names one "
                    f"of your own."
                )
        super().format_help(ctx, formatter)


def _balance(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A scenario (TOML, see docs/reference/cluster-scenario.md) or a job log with "
            "columns of I/O (CSV); without one, jobs are drawn."
        ),
    ] = None,
    balancers: Annotated[str | None, typer.Option(help="Names separated by commas, or module:Class.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes, all alike.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Jobs of each run.")] = None,
    parallel: Annotated[
        float | None, typer.Option(help="Share of the jobs that are parallel, 0 to 1.")
    ] = None,
    io_rate: Annotated[
        float | None, typer.Option(help="Mean disk accesses for each CPU-millisecond.")
    ] = None,
    page_faults: Annotated[
        float | None, typer.Option(help="Page faults per million instructions without memory.")
    ] = None,
    disk_load: Annotated[
        float | None,
        typer.Option(help="Load of the disks at one access for each CPU-millisecond."),
    ] = None,
    cpu_load: Annotated[float | None, typer.Option(help="Instead: load of the CPUs.")] = None,
    replications: Annotated[int | None, typer.Option(min=1, help="Independent runs.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers.")] = None,
    workers: Workers = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for figures and tables.")
    ] = None,
    as_json: AsJson = False,
    check: Annotated[
        str | None,
        typer.Option(help="Only check that this balancer keeps the rules of balancers, and stop."),
    ] = None,
    check_seconds: Annotated[
        float, typer.Option(min=0.1, help="With --check: stop a balancer that takes longer.")
    ] = 120.0,
    settings: SetOption = None,
) -> None:
    """Compare balancers of a cluster on the same jobs: slowdowns, and where the time went.

    For example: qmodels balance --balancers IOCM-RE,NLB --nodes 16 --jobs 500
    """
    find_own_modules()
    if check is not None:
        _check(check, check_seconds, as_json)
        return
    from qmodels.commands.progress import progress_shown
    from qmodels.io.outputs import claim_output
    from validation.cluster import compare_balancers

    given: dict[str, Any] = {
        "": {
            "balancers": None if balancers is None else [b for b in balancers.split(",") if b],
            "nodes": None if nodes is None else [{"count": nodes}],
            "seed": seed,
        },
        "jobs": {
            "count": jobs,
            "parallel": parallel,
            "io_rate": io_rate,
            "page_faults": page_faults,
            "disk_load": disk_load,
            "cpu_load": cpu_load,
        },
        "study": {"replications": replications},
    }
    if output is not None:
        claim_output(output)
    plan, changes = _plan(source, given, settings)
    say_changes(changes, err=as_json)
    with progress_shown() as progress:
        found = compare_balancers(
            plan.cluster,
            plan.traces,
            plan.balancers,
            replications=plan.replications,
            seed=plan.seed,
            workers=workers,
            progress=progress,
        )
    answers.remarks(found.warnings)
    if output is not None:
        from qmodels.commands.shell import shell_line
        from validation.cluster.report import write_balance_report

        report = write_balance_report(
            plan.cluster,
            plan.traces,
            plan.balancers,
            found,
            output,
            seed=plan.seed,
            command=shell_line(["qmodels", *sys.argv[1:]]),
        )
    print_json(_record(found)) if as_json else typer.echo(found.table())
    if output is not None:
        typer.echo(str(report), err=as_json)


def _check(name: str, seconds: float, as_json: bool) -> None:
    from validation.cluster import BALANCERS, check_balancer

    balancer = BALANCERS.find(name)
    with within_seconds(seconds, f"balancer {balancer.name}"):
        found = check_balancer(balancer)
    print_json(found) if as_json else typer.echo(found.table())
    if not found.passed:
        raise typer.Exit(FAILED)


def _plan(
    source: Path | None, given: dict[str, dict[str, Any]], settings: list[str] | None
) -> tuple[BalancePlan, tuple[str, ...]]:
    """The file, if there is one, with the options of the command line over it; what was set."""
    from qmodels.commands.set_option import over_file
    from validation.cluster.scenario import ClusterFile, plan_of

    name, spec, changes = over_file(ClusterFile, source, given, settings)
    return plan_of(name, spec), changes


def _record(found: BalancerComparison) -> dict[str, Any]:
    """What is known of every balancer, as plain data."""
    best = found.best()
    record: dict[str, Any] = {}
    for name, run in found.runs.items():
        gap = found.compare(name, best)
        wide = run.replications > 1
        record[name] = {
            key: {"mean": run[key].mean, "half_width": run[key].half_width if wide else None}
            for key in run.values
        } | {
            "slowdown_minus_best": {
                "mean": gap.mean,
                "half_width": gap.half_width if wide else None,
                "verdict": gap.verdict,
            },
            "warnings": list(run.warnings),
        }
    return record
