"""Subcommand `qmodels jobs`: what a job log holds, what was left out of it, and what load it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogPartition,
    LogStatus,
    LogUnit,
    LogZone,
    log_choices,
)
from qmodels.commands.options import MaxBytes, written_to
from qmodels.commands.shell import shell_line

#: What to ask of the log then: a command, options of it, and what it answers.
_NEXT: Final = (
    ("site", (), "why its jobs wait, and what would change it"),
    ("fit", ("--column", "runtime"), "which law its run times have"),
)


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("jobs")(_jobs)


def _jobs(
    file: Annotated[Path, typer.Argument(help="Job log of a batch system or in SWF.")],
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    status: LogStatus = None,
    partition: LogPartition = None,
    output: Annotated[Path | None, written_to("Write the jobs in SWF; gzip where it ends in .gz.")] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Describe the jobs of a log: format, unit, what was left out and why, moments, load.

    For example: qmodels jobs sacct.txt --unit cores -o jobs.swf.gz
    """
    from qmodels.errors import ModelError
    from qmodels.io import read_jobs, write_swf
    from qmodels.io.swf import numbered_apart

    choices = log_choices(log_format, unit, log_columns, timezone, status=status, partition=partition or None)
    log = read_jobs(file, max_bytes=max_bytes, keep=None if output else ("wait",), **choices)
    if output is not None:
        if output.exists() and output.samefile(file):
            raise ModelError(f"{output} is the log itself; name another file")
        jobs, renumbered = numbered_apart(log.jobs)
        if renumbered:
            answers.remark(
                f"Jobs that share a number with another (elements of an array, later runs of a "
                f"job), written under numbers of their own: {renumbered:,}."
            )
        write_swf(output, jobs, header=log.header)
        typer.echo(str(output), err=True)
    record = log.record()
    if as_json:
        print_json(record | {"file": str(file)})
        return
    typer.echo(log.table())
    if record["arrival_rate"] is not None:
        typer.echo(
            f"Load: {record['arrival_rate']:.4g} jobs/s of known work keep "
            f"{record['offered_processors']:,.1f} {record['unit']} busy on average."
        )
    # what the log was read by
    said = {"--format": log_format, "--unit": unit, "--log-columns": log_columns, "--timezone": timezone}
    said |= {"--status": status, "--max-bytes": f"{max_bytes}B" if max_bytes else None}
    chosen = [word for option, value in said.items() if value is not None for word in (option, value)]
    of = [word for name in partition or () for word in ("--partition", name)]
    for words, more, what in _NEXT:
        if not (log.jobs["wait"].max() >= 0 if words == "site" else not of):
            continue  # a site is read by waits, and a law is fitted to all partitions
        typer.echo(f"Next: {shell_line(['qmodels', words, file, *chosen, *of, *more])} says {what}.")
