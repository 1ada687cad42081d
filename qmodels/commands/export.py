"""Subcommand `qmodels export`: a fitted law or a predicted queue for another tool."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json
from qmodels.commands.choices import FORMS, Model, choice
from qmodels.commands.log_options import (
    LogColumns,
    LogFormat,
    LogUnit,
    LogZone,
    log_choices,
    say_of_log,
)
from qmodels.commands.options import MaxBytes, check_load
from qmodels.errors import ModelError

if TYPE_CHECKING:
    from phasefit import PhaseType
    from qmodels.policies import Prediction


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("export")(_export)


def _export(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="Scenario (.toml), whose queue is exported; a law in JSON (.json); or a job log, "
            "CSV or list of numbers, to which a law is fitted.",
        ),
    ],
    form: Annotated[
        str,
        choice(FORMS, "--form", help="Of a queue not butools and matlab; Storm reads prism too."),
    ] = "json",
    policy: Annotated[str | None, typer.Option(help='Of a scenario: its policy, such as "SP(4,4)".')] = None,
    load: Annotated[float | None, typer.Option(help="Of a scenario: the load; by default its first.")] = None,
    model: Model = None,
    column: Annotated[
        str | None, typer.Option(help="Of a job log or CSV: its column, as for qmodels fit.")
    ] = None,
    order: Annotated[
        int | None, typer.Option(min=1, help="Of a fit: number of phases; else chosen by BIC.")
    ] = None,
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    seed: Annotated[int, typer.Option(min=0, help="Of a fit: seed of its starts.")] = 0,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
) -> None:
    """Print a law or a queue as text that JMT, LINE, BuTools, PRISM, Storm or a program reads.

    For example: qmodels export site.toml --policy "SP(4,4)" --load 0.5 --form prism > queue.prism
    """
    check_load(load)
    of_scenario = {"--policy": policy, "--load": load, "--model": model}
    of_samples = {
        "--column": column,
        "--order": order,
        "--format": log_format,
        "--unit": unit,
        "--log-columns": log_columns,
        "--timezone": timezone,
    }
    if source.suffix == ".toml":
        _without(source, "scenario", of_samples)
        prediction = _predicted(source, policy, load, model, max_bytes)
        from qmodels.exports import export_prediction
        from qmodels.policies.models.described import described_times

        text = export_prediction(prediction, form)
        if described_times(prediction.solved) is not None:
            answers.remark(
                f"the queue is of independent jobs with the gaps and sizes of the log, and so is the answer "
                f"in it; the prediction draws its jobs from the log: {prediction.mean_response:.6g} s"
            )
    else:
        _without(source, "law or a table of samples", of_scenario)
        if source.suffix == ".json":
            _without(source, "law", of_samples)
            text = _read_law(source).to(form)
        else:
            how = log_choices(log_format, unit, log_columns, timezone)
            text = _fitted(source, column, order, seed, max_bytes, how).to(form)
    if as_json:
        print_json({"file": str(source), "form": form, "text": text})
        return
    typer.echo(text, nl=False)


def _without(source: Path, kind: str, options: Mapping[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ModelError(f"{source} is a {kind}; {' and '.join(given)} cannot apply, leave it out")


def _predicted(
    source: Path, policy: str | None, load: float | None, model: str | None, max_bytes: int | None
) -> Prediction:
    from phasefit.checks import named
    from qmodels.commands.progress import at_work
    from qmodels.io.scenario import load_scenario
    from qmodels.policies import predict

    plan = load_scenario(source, max_bytes=max_bytes).with_model(model)
    known = {each.label: each for each in plan.policies}
    if policy is None and len(known) > 1:
        raise ModelError(f"give --policy, one of {', '.join(known)}")
    chosen = known[named("--policy", policy or next(iter(known)), list(known))]
    at = plan.loads[0] if load is None else load
    with at_work("predicting"):
        return predict(chosen, plan.system, plan.workload, load=at, model=plan.model)


def _read_law(source: Path) -> PhaseType:
    from phasefit import PhaseType
    from qmodels.io.files import open_regular

    with open_regular(str(source), what="a law in JSON") as stream:
        content = stream.read(100_000_001)
    if len(content) > 100_000_000:
        raise ModelError(f"{source} is larger than any law, 100 MB")
    return PhaseType.from_json(content.decode("utf-8-sig", errors="replace"))


def _fitted(
    source: Path,
    column: str | None,
    order: int | None,
    seed: int,
    max_bytes: int | None,
    how: Mapping[str, Any],
) -> PhaseType:
    from phasefit.fitting import fit
    from qmodels.commands.progress import at_work
    from qmodels.io.samples import read_samples

    samples, name, remarks = read_samples(source, column=column, max_bytes=max_bytes, **how)
    say_of_log(remarks)
    with at_work("fitting"):
        law = fit(samples, order=order, rng=seed).distribution
    answers.remark(f"{name}: {len(samples)} values, {law!r}")
    return law
