"""Subcommand `qmodels fit`: from a column of a file to a phase-type law."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmodels.commands.answers import AsJson, Seed, print_json
from qmodels.commands.choices import CRITERIA, FAMILIES, choice
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogStatus,
    LogUnit,
    LogZone,
    log_choices,
    say_of_log,
)
from qmodels.commands.options import MaxBytes, written_to
from qmodels.errors import ModelError

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
        str, choice(FAMILIES, "--family", help="Of which laws one is chosen.")
    ] = "hyper-erlang",
    criterion: Annotated[str, choice(CRITERIA, "--criterion", help="What chooses among orders.")] = "bic",
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
    seed: Seed = 0,
    seconds: Annotated[
        float,
        typer.Option(help="Seconds of computing that may be begun, by an estimate."),
    ] = 5.0,
    output: Annotated[Path | None, written_to("Folder for the figure and the tables.")] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Fit a phase-type law to a column of a job log, a CSV file or a list of numbers.

    For example: qmodels fit jobs.swf --column runtime -o fitted
    """
    from phasefit.fitting import fit
    from qmodels.commands.progress import at_work
    from qmodels.io.outputs import claim_output
    from qmodels.io.samples import read_samples

    if output is not None:
        claim_output(output)
    samples, name, remarks = read_samples(
        file,
        column=column,
        status=status,
        max_bytes=max_bytes,
        **log_choices(log_format, unit, log_columns, timezone),
    )
    say_of_log(remarks)
    if process:
        of_laws = {
            "--order": order,
            "--max-order": max_order,
            "--family": family != "hyper-erlang",
            "--criterion": criterion != "bic",
            "--hold-moments": hold_moments,
            "--bootstrap": bootstrap,
        }
        if given := [option for option, value in of_laws.items() if value]:
            raise ModelError(
                f"an arrival process is fitted without {', '.join(given)}; leave that out, or --process"
            )
        _fit_process(samples, name, file, as_json, output)
        return
    with at_work("fitting"):
        report = fit(
            samples,
            order=order,
            family=family,
            criterion=criterion,
            hold_moments=hold_moments,
            max_order=max_order,
            bootstrap=bootstrap,
            rng=seed,
            seconds=seconds,
        )
    if output is not None:
        _write(report, output)
    if as_json:
        print_json({"file": str(file), "column": name} | report.record())
    else:
        typer.echo(report.table())


def _fit_process(
    samples: NDArray[np.float64], name: str, file: Path, as_json: bool, output: Path | None
) -> None:
    """Fit an arrival process and print what was met and what was moved."""
    from phasefit import fit_map

    if output is not None:
        raise ModelError("an arrival process is printed, not drawn; leave -o out, or --process")
    found = fit_map(samples)
    if not as_json:
        typer.echo(found.table())
        typer.echo(f"D0 = {found.process.D0.tolist()}\nD1 = {found.process.D1.tolist()}")
        return
    print_json({"file": str(file), "column": name} | found.record())


def _write(report: FitReport, output: Path) -> None:
    import pandas as pd

    from qmodels.io.outputs import output_folder
    from qmodels.plotting.fonts import save

    with output_folder(output) as made:
        save(report.figure(), made / "fit.png")
        report.to_frame().to_csv(made / "fit.csv")
        pd.DataFrame(report.candidates).to_csv(made / "candidates.csv", index=False)
    typer.echo(str(output / "fit.png"), err=True)
