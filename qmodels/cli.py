"""The command line: owns the parser, loads every package's subcommands, turns errors into words."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from qmodels.errors import ConvergenceError, ModelError

BAD_INPUT, PRECISION_NOT_REACHED = 3, 4

app = typer.Typer(
    name="qmodels",
    help="How does my I/O-intensive parallel program scale, and what response time will my "
    "machine give under this scheduling policy?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"qmodels {installed('qmodels-hpc')}")
        raise typer.Exit


@app.command("predict")
def _predict(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    load: Annotated[
        float | None, typer.Option(help="Only this load, between 0 and 1, of every policy.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line.")] = False,
) -> None:
    """Predict every policy of a scenario over its loads; nothing is simulated."""
    from qmodels.errors import UnstableError
    from qmodels.io.scenario import load_scenario
    from qmodels.policies import Workload, predict

    plan = load_scenario(scenario)
    workload = Workload(plan.program, plan.demand, plan.arrivals)
    rows: list[dict[str, object]] = []
    refused: list[UnstableError] = []
    for policy in plan.policies:
        for asked in plan.loads if load is None else (load,):
            try:
                rows.append(predict(policy, plan.system, workload, load=asked).to_dict())
            except UnstableError as error:
                refused.append(error)
                rows.append({"policy": policy.label, "load": asked, "capacity": error.capacity})
    if len(refused) == len(rows):
        raise max(refused, key=lambda error: error.capacity)
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


def main() -> None:
    """Run the command line; errors of the input come out as one line each, not as tracebacks."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # many small solves: threads only cost
    for plugin in entry_points(group="qmodels.commands"):
        plugin.load()(app)
    try:
        app()
    except (ModelError, OSError) as error:
        for line in (str(error) or type(error).__name__).splitlines():
            print(f"qmodels: {_printable(line)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except ConvergenceError as error:
        print(f"qmodels: {_printable(str(error))}", file=sys.stderr)
        sys.exit(PRECISION_NOT_REACHED)
    except BrokenPipeError:
        sys.exit(0)


def _printable(text: str) -> str:
    """Without control characters, so that a file name cannot drive the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
