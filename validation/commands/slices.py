"""Subcommand `qmodels slices`: what contiguity costs a pod, and what overtaking gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qmodels.commands.answers import AsJson, Workers, print_json


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("slices")(_slices)


def _slices(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="TOML file with [pod], [jobs], [study], under the options."),
    ] = None,
    pod: Annotated[str | None, typer.Option(help="Blocks of the pod, by default 4x4x4.")] = None,
    block: Annotated[
        str | None,
        typer.Option(help="Chips of a block, such as 4x4x4; slices are then given in chips."),
    ] = None,
    wrap: Annotated[
        bool | None, typer.Option("--wrap/--no-wrap", help="Whether sides close to rings.")
    ] = None,
    turning: Annotated[
        bool | None, typer.Option("--turning/--no-turning", help="Whether slices may be turned.")
    ] = None,
    mix: Annotated[str | None, typer.Option(help="halving, or slices and weights: 1x1x1:3,2x2x2:1.")] = None,
    load: Annotated[
        float | None, typer.Option(help="Share of all chips asked for; 0.5, or that of the log.")
    ] = None,
    hold: Annotated[
        str | None,
        typer.Option(help="Mean time that a job holds its slice, such as 6h; by default the unit."),
    ] = None,
    log: Annotated[Path | None, typer.Option(help="Take the jobs of a log (SWF) instead of a mix.")] = None,
    processors: Annotated[
        int | None,
        typer.Option(min=1, help="Of a log, those that count as one chip; by default the largest job fits."),
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(help="any-blocks, FF, TFF, BF, TBF, aligned, MFP, 3d-torus, block; with commas."),
    ] = None,
    disciplines: Annotated[str | None, typer.Option(help="FCFS, first-fit, EASY-places.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Jobs of each run; 4000, or the log's.")] = None,
    replications: Annotated[int | None, typer.Option(min=2, help="Independent runs; 8.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers.")] = None,
    workers: Workers = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Play jobs that ask a pod for slices, as boxes or any blocks, in order or overtaking.

    For example: qmodels slices --pod 4x4x4 --mix halving --load 0.5 -o slices
    """
    from qmodels.commands.progress import progress_shown
    from qmodels.commands.shell import shell_line
    from qmodels.io.outputs import claim_output
    from validation.slices.report import findings, write_slice_report
    from validation.slices.scenario import slice_plan
    from validation.slices.study import compare_slices

    plan = slice_plan(
        scenario,
        {
            "pod": {"blocks": pod, "block": block, "wrap": wrap, "turning": turning},
            "jobs": {
                "mix": mix,
                "load": load,
                "hold": hold,
                "processors": processors,
                "count": jobs,
                "log": None if log is None else str(log.resolve()),
            },
            "study": {
                "strategies": _listed(strategies),
                "disciplines": _listed(disciplines),
                "replications": replications,
                "seed": seed,
            },
        },
    )
    if output is not None:
        claim_output(output)
    with progress_shown() as progress:
        study = compare_slices(
            plan.pod,
            plan.jobs,
            plan.load,
            strategies=plan.strategies,
            disciplines=plan.disciplines,
            count=plan.count,
            replications=plan.replications,
            processors=plan.processors,
            unit=plan.unit,
            title=plan.title,
            notes=plan.notes,
            seed=plan.seed,
            workers=workers,
            progress=progress,
        )
    if output is not None:
        again = ["qmodels", *sys.argv[1:]]
        write_slice_report(study, output, command=shell_line(again))
    if as_json:
        print_json(study.record() | {"findings": findings(study)})
    else:
        for line in (*findings(study), *(f"Note: {note}" for note in study.notes)):
            typer.echo(f"- {line}")
    if output is not None:
        typer.echo(str(output / "report.html"), err=as_json)


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
