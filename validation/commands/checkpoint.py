"""Subcommand `qmodels checkpoint`: what jobs that write to one storage keep of their time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, Workers, print_json, with_changes
from qmodels.commands.choices import WRITE_MODES, choice
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.commands.trace_options import Events, Module, event_choices
from qmodels.errors import ModelError


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("checkpoint")(_checkpoint)


def _checkpoint(
    scenario: Annotated[
        Path | None,
        typer.Argument(help="TOML file with [job] and [storage], instead of or under the options."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Jobs that share the storage.")] = None,
    size: Annotated[str | None, typer.Option(help="Of a checkpoint, such as 5.29TB.")] = None,
    model: Annotated[
        str | None, typer.Option(help="Take the size of a known model, such as llama3-405b.")
    ] = None,
    bandwidth: Annotated[str | None, typer.Option(help="Of the storage in all, such as 20GB/s.")] = None,
    per_job: Annotated[str | None, typer.Option(help="The most that one job can use, such as 5GB/s.")] = None,
    system: Annotated[
        str | None, typer.Option(help="Take bandwidth and failures of a known system: llama3.")
    ] = None,
    writers: Annotated[int | None, typer.Option(min=1, help="Transfers at once; the others wait.")] = None,
    interval: Annotated[
        str | None,
        typer.Option(help="Work between two checkpoints, such as 2h; by default Daly's."),
    ] = None,
    mtbf: Annotated[
        str | None, typer.Option(help="Mean time between failures of one job, such as 24.7h.")
    ] = None,
    downtime: Annotated[
        str | None, typer.Option(help="From a failure to the restore, such as 10min.")
    ] = None,
    mode: Annotated[
        str | None, choice(WRITE_MODES, "--mode", help="Whether the job works while it writes.")
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(help="Time to copy the state aside, for writing behind the work; 5s."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Take size, interval and rate of the checkpoints found in a trace (Darshan, "
            "DFTracer, CSV), but for what is given."
        ),
    ] = None,
    module: Module = None,
    event: Events = None,
    replications: Annotated[int, typer.Option(min=2, max=10_000, help="Independent runs.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    workers: Workers = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for the report.")] = None,
    as_json: AsJson = False,
    settings: SetOption = None,
) -> None:
    """Predict and play jobs that write checkpoints to one storage, in all the ways they could.

    For example: qmodels checkpoint --jobs 8 --model llama3-405b --system llama3
    """
    from qmodels.commands.progress import progress_shown
    from qmodels.commands.shell import shell_line
    from qmodels.io.outputs import claim_output
    from qmodels.io.settings import parse_settings, told
    from qmodels.io.toml_tables import unchecked_tables
    from validation.checkpoints.report import findings, write_checkpoint_report
    from validation.checkpoints.scenario import checkpoint_plan
    from validation.checkpoints.ways import compare_ways

    words = parse_settings(settings)
    found, said = _traced(trace, module, event)
    answers.remarks(said)
    plan = checkpoint_plan(
        scenario,
        found=found,
        job={
            "size": size,
            "model": model,
            "interval": interval,
            "mtbf": mtbf,
            "downtime": downtime,
            "mode": mode,
            "jobs": jobs,
            "snapshot": snapshot,
        },
        storage={"bandwidth": bandwidth, "per_job": per_job, "system": system, "writers": writers},
        settings=words,
    )
    changes = told({} if scenario is None else unchecked_tables(scenario), words)
    if output is not None:
        claim_output(output)
    with progress_shown() as progress:
        study = compare_ways(
            plan.job,
            plan.storage,
            plan.jobs,
            snapshot=plan.snapshot,
            replications=replications,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    if output is not None:
        again = ["qmodels", *sys.argv[1:]]
        write_checkpoint_report(study, output, command=shell_line(again))
    if as_json:
        print_json(with_changes(study.record(), changes))
    else:
        say_changes(changes)
        for line in (*findings(study), *(f"Note: {warning}" for warning in study.warnings)):
            typer.echo(f"- {line}")
    if output is not None:
        typer.echo(str(output / "report.html"), err=as_json)


def _traced(
    file: Path | None, module: str | None, event: list[str] | None
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Values of the checkpoints of a trace, by table and key, and what there is to say."""
    if file is None:
        if module is not None or event:
            raise ModelError("--module and --event go with --trace only")
        return {}, []
    from qmodels.io.darshan import POSIX
    from qmodels.io.traces import read_trace
    from qmodels.programs.bursts import find_checkpoints
    from qmodels.words import in_words

    trace = read_trace(file, module=module or POSIX, events=dict(event_choices(event)))
    found = find_checkpoints(trace)
    values = {
        "job": {"size": f"{found.size:.0f}B", "interval": f"{found.interval:.6f}s"},
        "storage": {"bandwidth": f"{found.rate:.0f}B/s"},
    }
    said = [
        f"{file} has {len(found)} checkpoints of {found.size / 1e9:.4g} GB, each after "
        f"{in_words(found.interval)} of work and written in {in_words(found.duration)}, at "
        f"{found.rate / 1e9:.3g} GB/s: the storage's bandwidth unless --bandwidth says another.",
        *found.remarks,
        *trace.warnings,
    ]
    return values, said
