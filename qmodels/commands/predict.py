"""Subcommand `qmodels predict`: every policy of a scenario over its loads, nothing simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("predict")(_predict)


def _predict(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    load: Annotated[
        float | None, typer.Option(help="Only this load, between 0 and 1, of every policy.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="auto, speed-scaled, decomposition or exact; by default the scenario's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")] = False,
) -> None:
    """Predict every policy of a scenario over its loads; nothing is simulated."""
    from qmodels.errors import UnstableError
    from qmodels.io.scenario import load_scenario
    from qmodels.policies import predict

    plan = load_scenario(scenario)
    if model is not None:
        plan = plan.with_model(model)
    workload = plan.workload
    rows: list[dict[str, object]] = []
    refused: list[UnstableError] = []
    for policy in plan.policies:
        for asked in plan.loads if load is None else (load,):
            try:
                found = predict(policy, plan.system, workload, load=asked, model=plan.model)
                rows.append(found.to_dict())
            except UnstableError as error:
                refused.append(error)
                rows.append({"policy": policy.label, "load": asked, "capacity": error.capacity})
    if len(refused) == len(rows):
        raise max(refused, key=lambda error: error.capacity)
    if plan.mix_note:
        typer.echo(plan.mix_note, err=True)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, allow_nan=False))
        return
    typer.echo(f"{'policy':<14} {'load':>6} {'response [s]':>14} {'jobs':>10} method")
    for row in rows:
        line = f"{row['policy']:<14} {row['load']:>6.3g} "
        if "method" in row:
            line += f"{row['mean_response']:>14.6g} {row['mean_jobs']:>10.5g} {row['method']}"
        else:
            line += f"{'saturated':>14}"
        typer.echo(line)
