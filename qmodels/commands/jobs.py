"""Subcommand `qmodels jobs`: what a job log holds, what was left out of it, and what load it is."""

from __future__ import annotations

import contextlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands.byte_counts import MaxBytes
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogPartition,
    LogStatus,
    LogUnit,
    LogZone,
    log_choices,
)

if TYPE_CHECKING:
    from qmodels.io import JobLog


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
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the jobs in SWF; gzip where it ends in .gz."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Describe the jobs of a log: format, unit, what was left out and why, moments, load."""
    from qmodels.errors import ModelError
    from qmodels.io import read_jobs, write_swf

    choices = log_choices(
        log_format, unit, log_columns, timezone, status=status, partition=partition or None
    )
    log = read_jobs(file, max_bytes=max_bytes, keep=None if output else (), **choices)
    if output is not None:
        if output.exists() and output.samefile(file):
            raise ModelError(f"{output} is the log itself; name another file")
        write_swf(output, log.jobs, header=log.header)
        typer.echo(str(output), err=True)
    record = _record(log)
    if as_json:
        typer.echo(json.dumps({"file": str(file)} | record, allow_nan=False))
        return
    typer.echo(log.table())
    if record["arrival_rate"] is not None:
        typer.echo(
            f"Load: {record['arrival_rate']:.4g} jobs/s of known work keep "
            f"{record['offered_processors']:,.1f} {record['unit']} busy on average."
        )


def _record(log: JobLog) -> dict[str, Any]:
    """What is known of a log as plain values; null where it is not defined."""
    from qmodels.errors import ModelError

    rate = busy = None
    with contextlib.suppress(ModelError):  # no two jobs of known work apart in time
        rate, busy = log.with_work.arrival_rate, log.offered_processors
    rows = log.summary().to_dict(orient="index")
    return {
        "format": log.header.get("Format", "swf"),
        "unit": log.header.get("Unit", "processors"),
        "jobs": len(log.jobs),
        "arrival_rate": rate,
        "offered_processors": busy,
        "summary": {
            str(name): {
                str(key): value if math.isfinite(value) else None for key, value in row.items()
            }
            for name, row in rows.items()
        },
        "warnings": list(log.warnings),
        "doubts": log.doubts(),
    }
