"""Subcommand `qmodels simulate`: the policies of a scenario, simulated job by job."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, OtherSeed, Workers, print_json, with_changes
from qmodels.commands.options import MaxBytes, check_load
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.words import label_width

if TYPE_CHECKING:
    from qmodels.policies import AbstractPolicy
    from validation.malleable.worth import Unrunnable
    from validation.sharing import Simulation

NOT_PRECISE = 4  #: exit code when a precision was asked for and not reached


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("simulate")(_simulate)


def _simulate(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    load: Annotated[
        list[float] | None,
        typer.Option(help="Load, between 0 and 1; may be repeated. By default the scenario's."),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help='Policy such as "SP(4,16)"; also "EQUI", "heSRPT" or "LPS(4)", which no site runs '
            "today; may be repeated. By default all."
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Half-width of the interval, relative to the mean, at which to stop."),
    ] = None,
    replications: Annotated[int | None, typer.Option(min=2, help="Independent runs; 10 by default.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Jobs measured in each run; by default as needed.")
    ] = None,
    seed: OtherSeed = None,
    workers: Workers = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder for simulations.csv.")] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
    settings: SetOption = None,
) -> None:
    """Simulate the policies of a scenario over its loads, job by job.

    Exit code 4 if a precision was asked for and one of the simulations did not reach it.

    For example: qmodels simulate site.toml --policy "SP(4,4)" --load 0.5 --precision 0.02
    """
    from phasefit.checks import named
    from qmodels.commands.progress import progress_shown
    from qmodels.errors import UnstableError
    from qmodels.io.outputs import claim_output
    from qmodels.io.scenario import load_scenario
    from qmodels.io.settings import parse_settings
    from qmodels.policies.base import work_bounds
    from qmodels.policies.choice.overload import unstable_under_all
    from validation.malleable.worth import check_asked, is_malleable, unrunnable
    from validation.sharing import simulate

    check_load(load)
    if output is not None:
        claim_output(output)
    plan = load_scenario(scenario, max_bytes=max_bytes, settings=parse_settings(settings))
    known = {each.label: each for each in plan.policies}
    beside = list(plan.validation.beside) if plan.validation and not policy else []
    beside += {name.strip().casefold(): name for name in policy or () if is_malleable(name)}.values()
    check_asked(beside, plan.workload)
    asked = [named("--policy", name, list(known)) for name in policy or known if not is_malleable(name)]
    chosen = [known[name] for name in dict.fromkeys(asked)]
    loads = list(dict.fromkeys(load or plan.loads))
    runs: list[Simulation] = []
    rows: list[dict[str, Any]] = []
    unlike: list[dict[str, Any]] = []  # rows of the table that are no `Simulation`
    refused: dict[AbstractPolicy, float] = {}
    total = (len(chosen) + len(beside)) * len(loads)
    bounds = work_bounds(plan.system, plan.program)
    seed = plan.seed if seed is None else seed
    with progress_shown() as progress:
        progress("simulating", 0, total)
        for each, at in product(chosen, loads):
            try:
                # Policies meet the same jobs at the same load: common random numbers.
                run = simulate(
                    each,
                    plan.system,
                    plan.workload,
                    load=at,
                    precision=precision,
                    replications=replications,
                    jobs=jobs,
                    workers=workers,
                    seed=seed,
                    point=loads.index(at),
                )
            except UnstableError as error:
                refused[each] = error.capacity
                rows.append({"policy": each.label, "load": at, "capacity": error.capacity})
            else:
                runs.append(run)
                rows.append(_row(each, run))
            progress("simulating", len(rows), total)
        for at in loads if beside else ():
            options = {key: value for key, value in (("replications", replications), ("jobs", jobs)) if value}
            found = unrunnable(
                plan.system, plan.workload, at * min(bounds.values()), policies=beside, seed=seed, **options
            )
            rows.extend(_beside(each, at, seed) for each in found)
            unlike.extend(_beside_in_table(each, at, seed) for each in found)
            progress("simulating", len(rows), total)
    if not runs and not beside:
        raise unstable_under_all(refused, min(loads) * min(bounds.values()), bounds)
    if plan.mix_note:
        answers.remark(plan.mix_note, mark="")
    if plan.demand.fitted_to is not None:
        answers.remark(
            f"Jobs are drawn from laws with the {plan.demand.fitted_to.how} of the log: p95 is "
            f"that of such jobs, not of the log's, whose tail `predict` and `recommend` follow.",
            mark="",
        )
    if beside and precision is not None:
        answers.remark(
            f"{', '.join(beside)}: simulated in replications of a fixed number; --precision is of the others",
            mark="",
        )
    for run in runs:
        for text in run.warnings:
            answers.remark(f"{run.policy} at load {run.load:.3g}: {text}", mark="")
    if output is not None:
        _write(runs, unlike, output)
    if as_json:
        print_json([with_changes(row, plan.changes) for row in rows])
    else:
        say_changes(plan.changes)
        typer.echo(_text(rows))
    if any(run.precise is False for run in runs):
        raise typer.Exit(NOT_PRECISE)


def _row(policy: AbstractPolicy, run: Simulation) -> dict[str, Any]:
    """What one simulation found, as plain values."""
    return {
        "policy": policy.label,
        "load": run.load,
        "mean_response": run.mean_response.mean,
        "half_width": run.mean_response.half_width,
        "mean_wait": run.mean_wait.mean,
        "mean_jobs": run.mean_jobs.mean,
        "percentiles": {f"{100 * q:g}": law.mean for q, law in run.percentiles.items()},
        "replications": run.replications,
        "jobs": run.jobs,
        "precise": run.precise,
        "saturated": run.saturated,
        "seed": run.seed,
    }


def _beside(found: Unrunnable, load: float, seed: int) -> dict[str, Any]:
    """What was found of a policy that no site runs, in the words of the others."""
    mean = found.mean_response
    known = {} if mean is None else {"mean_response": mean.mean, "half_width": mean.half_width}
    size = {} if mean is None else {"replications": mean.replications, "jobs": found.jobs}
    return {"policy": found.policy, "load": load, **known, **size, "needs": found.needs, "seed": seed}


def _beside_in_table(found: Unrunnable, load: float, seed: int) -> dict[str, Any]:
    """The same in the columns of `Simulation.to_frame`, as far as it has them."""
    mean, row = found.mean_response, {"policy": found.policy, "load": load, "seed": seed}
    if mean is None:
        return row
    ends = {"mean_response": mean.mean, "mean_response_low": mean.low, "mean_response_high": mean.high}
    return row | ends | {"replications": mean.replications, "jobs": found.jobs}


def _text(rows: list[dict[str, Any]]) -> str:
    wide = label_width(row["policy"] for row in rows)
    head = f"{'policy':<{wide}} {'load':>6} {'response [s]':>13} {'±':>9} {'p95 [s]':>10} {'runs':>5}"
    lines = [head]
    for row in rows:
        line = f"{row['policy']:<{wide}} {row['load']:>6.3g} "
        if "mean_response" in row and "needs" in row:
            line += (
                f"{row['mean_response']:>13.6g} {row['half_width']:>9.2g} {'':>10} {row['replications']:>5}"
            )
        elif "mean_response" in row:
            line += (
                f"{row['mean_response']:>13.6g} {row['half_width']:>9.2g} "
                f"{row['percentiles']['95']:>10.5g} {row['replications']:>5}"
            )
            line += "  saturated" if row["saturated"] else ""
        else:
            line += f"{'saturated':>13}"
        lines.append(line + (f"  needs {row['needs']}" if "needs" in row else ""))
    return "\n".join([*lines, "±: half-width of the 95 % interval of the mean"])


def _write(runs: list[Simulation], unlike: list[dict[str, Any]], output: Path) -> None:
    import pandas as pd

    from qmodels.io.outputs import output_folder

    with output_folder(output) as made:
        tables = [run.to_frame() for run in runs] + ([pd.DataFrame(unlike)] if unlike else [])
        table = pd.concat(tables, ignore_index=True)
        table.to_csv(made / "simulations.csv", index=False)
    typer.echo(str(output / "simulations.csv"), err=True)
