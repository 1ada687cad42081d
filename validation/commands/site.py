"""Subcommand `qmodels site`: what a job log says of its machine, and what changes would do to its waits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qmodels.commands.answers import AsJson, Seed, print_json
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogPartition,
    LogStatus,
    LogUnit,
    LogZone,
    log_choices,
    say_of_log,
)
from qmodels.commands.options import MaxBytes
from validation.commands.comparing import Output, write_report


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("site")(_site)


def _site(
    log: Annotated[Path, typer.Argument(help="Job log of a batch system or in SWF.")],
    processors: Annotated[
        int | None, typer.Option(min=1, help="Of the machine; by default as the log says.")
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            "--what-if",
            help="A change to look at, such as 'nodes=+5%, depth=50'; may be repeated. Keys: load, nodes, "
            "depth, cap, limits, queue, backfilling.",
        ),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=5, max=1000, help="Times that days are drawn anew for the intervals.")
    ] = 20,
    seed: Seed = 0,
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    status: LogStatus = None,
    partition: LogPartition = None,
    output: Output = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Read a site's waits: what saturates it, whether backfilling explains it, what changes would do.

    For example: qmodels site sacct.txt --unit cores --what-if nodes=+10% -o report
    """
    from qmodels.commands.progress import progress_shown
    from qmodels.io import read_jobs
    from qmodels.io.outputs import claim_output
    from qmodels.pages.report import PAGE
    from validation.rigid.changes import SiteChange
    from validation.rigid.months import site_log
    from validation.rigid.report import site_report
    from validation.rigid.site import read_site

    asked = [SiteChange.of(text) for text in what_if or ()]
    if output is not None:
        claim_output(output)
    choices = log_choices(log_format, unit, log_columns, timezone, status=status, partition=partition or None)
    held = read_jobs(log, max_bytes=max_bytes, keep=None, **choices)
    say_of_log(held.warnings)
    site = site_log(held, processors=processors)
    with progress_shown() as progress:
        reading = read_site(site, what_ifs=asked, resamples=resamples, seed=seed, progress=progress)
    report = site_report(reading, log.name)
    write_report(report, output)
    if as_json:
        print_json({**reading.record(), "findings": report.findings, "notes": report.notes})
    else:
        typer.echo(report.text())
    if output is not None:
        typer.echo(str(output / PAGE), err=as_json)
