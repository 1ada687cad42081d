"""Subcommand `qmodels predict`: every policy of a scenario over its loads, nothing simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json, with_changes
from qmodels.commands.choices import Model
from qmodels.commands.effort import Long, check_predictions
from qmodels.commands.log_options import say_of_log
from qmodels.commands.options import MaxBytes, check_load
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.errors import ModelError
from qmodels.words import first_names, label_width

if TYPE_CHECKING:
    from qmodels.io.scenario import Scenario
    from qmodels.policies import AbstractPolicy, Prediction
    from qmodels.policies.backlog import Backlog
    from qmodels.policies.choice.ranking import RankedPolicy
    from qmodels.policies.speed_table import SpeedTable

#: Policies printed for each load unless more are asked for.
BEST_SHOWN = 3
#: What the column of the log's own jobs is called, and how wide it is.
OF_DATA, WIDE = "of the data [s]", 26


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("predict")(_predict)


def _predict(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    load: Annotated[
        list[float] | None,
        typer.Option(help="Only this load of every policy, between 0 and 1; may be repeated."),
    ] = None,
    model: Model = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help='Only this policy, such as "SP(4,16)", all its rows; may be repeated.'),
    ] = None,
    best: Annotated[
        int | None,
        typer.Option(min=1, help=f"So many policies for each load; {BEST_SHOWN} by default."),
    ] = None,
    storage: Annotated[
        Path | None,
        typer.Option(
            help="Runs alone and together on the storage that takes the disks' place, as of qmodels share; "
            "for SP(k,1) and DP(1)."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All policies, saturated ones too.")] = False,
    sensitivities: Annotated[
        bool,
        typer.Option(
            "--sensitivities",
            help="Also what more jobs, one more processor or disk and longer bursts would do.",
        ),
    ] = False,
    backlog: Annotated[
        int | None,
        typer.Option(min=1, help="Also how long so many jobs at hand take to drain while others arrive."),
    ] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
    long: Long = False,
    settings: SetOption = None,
) -> None:
    """Predict the policies of a scenario over its loads; nothing is simulated.

    The three with the least mean response time are printed for each load, and which of them tie;
    in JSON all, unless --best or --policy is given.

    For example: qmodels predict site.toml --load 0.6 --all
    """
    from phasefit.checks import named
    from qmodels.commands.progress import QUIET, progress_shown
    from qmodels.errors import UnstableError
    from qmodels.io.scenario import load_scenario
    from qmodels.io.settings import parse_settings
    from qmodels.policies import predict
    from qmodels.policies.base import work_bounds
    from qmodels.policies.choice.overload import unstable_under_all

    if everything and best is not None:
        raise ModelError("give either --all or --best, not both")
    check_load(load)
    plan = load_scenario(scenario, max_bytes=max_bytes, settings=parse_settings(settings)).with_model(model)
    known = {each.label: each for each in plan.policies}
    chosen = [known[named("--policy", name, list(known))] for name in dict.fromkeys(policy or known)]
    loads = tuple(dict.fromkeys(load)) if load else plan.loads
    check_predictions(plan, chosen, loads, long=long)
    speeds = {} if storage is None else _storage_speeds(storage, chosen, plan)
    if storage is not None:
        chosen = [each for each in chosen if each in speeds]
    found: dict[tuple[AbstractPolicy, float], Prediction] = {}
    refused: dict[AbstractPolicy, float] = {}
    total = len(chosen) * len(loads)
    with progress_shown(after=QUIET) as progress:
        for done, (each, at) in enumerate(product(chosen, loads)):
            progress("predicting", done, total)
            try:
                found[each, at] = predict(
                    each,
                    plan.system,
                    plan.workload,
                    load=at,
                    model=plan.model,
                    running=speeds.get(each),
                )
            except UnstableError as error:
                refused[each] = error.capacity
    bounds = work_bounds(plan.system, plan.program)
    if not found:
        raise unstable_under_all(refused, min(loads) * min(bounds.values()), bounds)
    if plan.log is not None:
        say_of_log(plan.log.warnings)
    if plan.mix_note:
        answers.remark(plan.mix_note, mark="")
    if best is None and not (everything or policy or as_json):
        best = BEST_SHOWN
    if best is None:
        shown = [(each, at) for each in chosen for at in loads]
    else:
        shown = _best(found, chosen, loads, best)
        for at in loads:
            if not any((each, at) in found for each in chosen):
                answers.remark(str(unstable_under_all(refused, at * min(bounds.values()), bounds)))
    rows: list[dict[str, Any]] = [
        found[each, at].record()
        if (each, at) in found
        else {"policy": each.label, "load": at, "capacity": refused[each]}
        for each, at in shown
    ]
    slopes = {key: found[key].sensitivities for key in shown if key in found} if sensitivities else {}
    drains = {} if backlog is None else _drains(found, shown, backlog)
    for key, row in zip(shown, rows, strict=True):
        if key in drains:
            drain = drains[key]
            if isinstance(drain, ModelError):
                row |= {"backlog": None, "backlog_note": str(drain)}
            else:
                row["backlog"] = drain.record()
        if key in slopes:
            row["sensitivities"] = [each.record() for each in slopes[key].rows]
            if slopes[key].note:
                row["sensitivities_note"] = slopes[key].note
    if as_json:
        print_json([with_changes(row, plan.changes) for row in rows])
        return
    say_changes(plan.changes)
    ties, why = _ties(found, chosen, loads, plan)
    fitted = plan.workload.fitted
    of_data = f" {OF_DATA:>{WIDE}}" if fitted else ""
    wide = label_width(row["policy"] for row in rows)
    typer.echo(f"{'policy':<{wide}} {'load':>6} {'response [s]':>14}{of_data} {'jobs':>10} method")
    for key, row in zip(shown, rows, strict=True):
        line = f"{row['policy']:<{wide}} {row['load']:>6.3g} "
        if "method" in row:
            of_data = f" {_told_of_data(row):>{WIDE}}" if fitted else ""
            line += f"{row['mean_response']:>14.6g}{of_data} {row['mean_jobs']:>10.5g} {_error(row)}"
        else:
            line += f"{'saturated':>14}"
        typer.echo(line + (" =" if key in ties else ""))
    if ties.intersection(shown):
        typer.echo(f"= cannot be told from the least of its load {why}")
    for doubt, labels in _doubts(rows).items():
        typer.echo(f"{', '.join(labels)}: {doubt}; simulate before you decide")
    for text in dict.fromkeys(row["description"] for row in rows if row.get("description")):
        typer.echo(f"jobs of the log are taken for {text}")
    if fitted:
        text = f"{OF_DATA}: of the jobs that laws were fitted to, in their own order"
        jobs = dict.fromkeys(row["interval_of"] for row in rows if row.get("interval_of"))
        typer.echo("; ".join([text, *(f"in brackets, nine times in ten, of {each}" for each in jobs)]))
    for (each, at), changes in slopes.items():
        typer.echo(f"{each.label} at load {at:.3g}: {'; '.join(changes.lines)}")
    for (each, at), drain in drains.items():
        told = drain if isinstance(drain, ModelError) else drain.sentence
        typer.echo(f"{each.label} at load {at:.3g}: {told}")
    if len(shown) < len(chosen) * len(loads):
        left = len(chosen) * len(loads) - len(shown)
        typer.echo(f"{left} more rows with --all; --policy NAME for all of one policy")


def _drains(
    found: Mapping[tuple[AbstractPolicy, float], Prediction],
    shown: Sequence[tuple[AbstractPolicy, float]],
    jobs: int,
) -> dict[tuple[AbstractPolicy, float], Backlog | ModelError]:
    """How a backlog drains, or why that is not known; ModelError where it is so of all that are shown."""
    drains: dict[tuple[AbstractPolicy, float], Backlog | ModelError] = {}
    for key in shown:
        if key in found:
            try:
                drains[key] = found[key].backlog(jobs)
            except ModelError as error:
                drains[key] = error
    failed = [drain for drain in drains.values() if isinstance(drain, ModelError)]
    if failed and len(failed) == len(drains):
        raise failed[0]
    return drains


def _storage_speeds(
    runs: Path, chosen: Sequence[AbstractPolicy], plan: Scenario
) -> dict[AbstractPolicy, SpeedTable]:
    """Speeds of running jobs on a measured storage, under the policies that it can stand under."""
    from qmodels.io.shared_runs import read_shared_runs
    from qmodels.policies.models.storage_speeds import storage_speeds
    from qmodels.storage import forecast_sharing

    table = read_shared_runs(runs)
    answers.remarks(table.doubts())
    forecast = forecast_sharing(table)
    speeds, left = {}, []
    for each in chosen:
        try:
            speeds[each] = storage_speeds(each, plan.system, plan.workload, forecast)
        except ModelError:
            left.append(each.label)
    if not speeds:
        raise ModelError("--storage: no policy here runs jobs that share all disks; list SP(k,1) or DP(1)")
    if left:
        answers.remark(
            f"Left out, for a measured storage is shared by all jobs that run: {first_names(left, 6)}"
        )
    return speeds


def _error(row: Mapping[str, Any]) -> str:
    """How a prediction was found, and how far it may be off."""
    if row["stated_error"] == 0.0:
        return str(row["method"])
    error = row["stated_error"]
    return f"{row['method']} ± {'?' if error is None else f'{error:.1%}'}"


def _doubts(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Labels of policies by what is to be known before their times are relied on."""
    labels: dict[str, list[str]] = {}
    for row in rows:
        if row.get("doubts"):
            known = labels.setdefault(row["doubts"], [])
            if row["policy"] not in known:
                known.append(row["policy"])
    return labels


def _best(
    found: dict[tuple[AbstractPolicy, float], Prediction],
    chosen: list[AbstractPolicy],
    loads: tuple[float, ...],
    count: int,
) -> list[tuple[AbstractPolicy, float]]:
    """So many stable policies with the least mean response time, load by load."""
    shown = []
    for at in loads:
        stable = [each for each in chosen if (each, at) in found]
        stable.sort(key=lambda each: found[each, at].mean_response)
        shown += [(each, at) for each in stable[:count]]
    return shown


def _ties(
    found: dict[tuple[AbstractPolicy, float], Prediction],
    chosen: list[AbstractPolicy],
    loads: tuple[float, ...],
    plan: Scenario,
) -> tuple[set[tuple[AbstractPolicy, float]], str]:
    """Policies that tie for the least time at a load, that with the least included, and why."""
    from qmodels.policies.choice.ranking import BEST, TIE
    from qmodels.policies.choice.recommendation import compared, within_what

    ties: set[tuple[AbstractPolicy, float]] = set()
    rows: list[RankedPolicy] = []
    for at in loads:
        here = {each: found[each, at] for each in chosen if (each, at) in found}
        if not here:
            continue
        some = next(iter(here.values()))
        ranked = compared(here, {}, plan.system, plan.workload, load=at, arrival_rate=some.arrival_rate)
        if ranked.ties:
            ties |= {(row.policy, at) for row in ranked.rows if row.status in (BEST, TIE)}
            rows += ranked.rows
    return ties, within_what(rows).removesuffix(",")


def _told_of_data(row: dict[str, Any]) -> str:
    """What the jobs of the data give, and the ends of it."""
    if row["mean_response_of_data"] is None:
        return "not known"
    low, high = row["mean_response_low"], row["mean_response_high"]
    ends = f"({low:.4g} or more)" if high is None else f"({low:.4g} to {high:.4g})"
    return f"{row['mean_response_of_data']:.4g} {ends}"
