"""Subcommand `qmodels fit`: from a column of a file to a phase-type law."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands.byte_counts import MaxBytes
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogStatus,
    LogUnit,
    LogZone,
    log_choices,
    say_of_log,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from phasefit.diagnostics import FitReport


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("fit")(_fit)


def _fit(
    file: Annotated[
        Path,
        typer.Argument(help="Job log of a batch system or in SWF, or text or CSV with a column."),
    ],
    column: Annotated[
        str | None,
        typer.Option(help="interarrival, runtime, work or size of a job log; a name in a CSV."),
    ] = None,
    order: Annotated[
        int | None,
        typer.Option(min=1, help="Number of phases; by default chosen by the criterion."),
    ] = None,
    max_order: Annotated[
        int | None,
        typer.Option(min=1, help="Largest order tried; by default 8, or what the time allows."),
    ] = None,
    family: Annotated[
        str, typer.Option(help="hyper-erlang, coxian, general or moments.")
    ] = "hyper-erlang",
    criterion: Annotated[str, typer.Option(help="bic, aic or cv.")] = "bic",
    hold_moments: Annotated[
        int, typer.Option(min=0, max=2, help="How many moments of the data to match exactly.")
    ] = 0,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Bootstrap samples for bands and the p-value; slow.")
    ] = 0,
    process: Annotated[
        bool,
        typer.Option(
            "--process",
            help="Fit an arrival process (MAP), whose times may depend on those before, to "
            "successive interarrival times; counts decide.",
        ),
    ] = False,
    status: LogStatus = None,
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    seconds: Annotated[
        float,
        typer.Option(help="Seconds of computing that may be begun, by an estimate."),
    ] = 5.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the figure and the tables.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Fit a phase-type law to a column of a job log, a CSV file or a list of numbers."""
    from phasefit.fitting import fit
    from qmodels.io.outputs import claim_output
    from qmodels.io.samples import read_samples

    if output is not None:
        claim_output(output)
    samples, name, remarks = read_samples(
        file, column=column, status=status, max_bytes=max_bytes,
        **log_choices(log_format, unit, log_columns, timezone),
    )  # fmt: skip
    say_of_log(remarks)
    if process:
        _fit_process(samples, name, file, as_json, output)
        return
    report = fit(
        samples, order=order, family=family, criterion=criterion, hold_moments=hold_moments,
        max_order=max_order, bootstrap=bootstrap, random_state=seed, seconds=seconds,
    )  # fmt: skip
    if output is not None:
        _write(report, output)
    if as_json:
        record = {"file": str(file), "column": name} | _record(report)
        typer.echo(json.dumps(record, allow_nan=False))
    else:
        typer.echo(report.table())


def _fit_process(
    samples: NDArray[np.float64], name: str, file: Path, as_json: bool, output: Path | None
) -> None:
    """Fit an arrival process and print what was met and what was moved."""
    from phasefit import fit_map
    from qmodels.errors import ModelError

    if output is not None:
        raise ModelError("an arrival process is printed, not drawn; leave -o out, or --process")
    found = fit_map(samples)
    if not as_json:
        typer.echo(found.table())
        typer.echo(f"D0 = {found.process.D0.tolist()}\nD1 = {found.process.D1.tolist()}")
        return
    record = {
        "file": str(file), "column": name, "n": found.size, "family": found.family,
        "D0": found.process.D0.tolist(), "D1": found.process.D1.tolist(),
        "targets": [target._asdict() for target in found.targets],
    }  # fmt: skip
    typer.echo(json.dumps(record, allow_nan=False))


def _record(report: FitReport) -> dict[str, Any]:
    """The report as plain values; what is not known is null."""
    from dataclasses import asdict

    law = report.distribution
    record: dict[str, Any] = {
        "n": report.size,
        "label": report.label,
        "order": law.order,
        "alpha": law.alpha.tolist(),
        "T": law.T.tolist(),
        "atom": law.atom,
        "mean": law.mean,
        "scv": law.scv,
        "log_likelihood": report.log_likelihood,
        "parameters": report.parameters,
        "aic": report.aic,
        "bic": report.bic,
        "ks": report.ks,
        "ks_pvalue": report.ks_pvalue,
        "moment_errors": list(report.moment_errors),
        "tail_errors": list(report.tail_errors),
        "converged": report.converged,
        "criterion": report.criterion,
        "candidates": [asdict(candidate) for candidate in report.candidates],
        "warnings": list(report.warnings),
    }
    return {name: _plain(value) for name, value in record.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(report: FitReport, output: Path) -> None:
    import pandas as pd

    from qmodels.io.outputs import output_folder

    with output_folder(output) as made:
        report.plot().savefig(made / "fit.png", dpi=150)
        report.to_frame().to_csv(made / "fit.csv")
        pd.DataFrame(report.candidates).to_csv(made / "candidates.csv", index=False)
    typer.echo(str(output / "fit.png"), err=True)
