"""Subcommand `qmodels recommend`: which policy to run under a load, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json, with_changes
from qmodels.commands.choices import SCHEDULERS, Model, choice
from qmodels.commands.effort import Long, check_predictions
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
from qmodels.commands.options import MaxBytes, check_load, column_map, pair, written_to
from qmodels.commands.set_option import SetOption, say_changes
from qmodels.commands.trace_options import Columns
from qmodels.errors import ModelError
from qmodels.words import first_names

if TYPE_CHECKING:
    from qmodels.errors import UnstableError
    from qmodels.io.scenario import Scenario
    from qmodels.policies import AbstractPolicy, Workload
    from qmodels.policies.choice.overload import Overload
    from qmodels.policies.choice.policy_map import PolicyMap
    from qmodels.policies.choice.recommendation import Recommendation
    from qmodels.progress import Progress

CHECK_FAILED = 1


#: Makes the executor that works on the cells of a map; it may remember them.
MapWorkers = Callable[[Path | None, bool], AbstractContextManager[Executor | None]]


#: Says what policies would buy that a site cannot run: of a scenario and an arrival rate, beside the
#: label and the mean response of the best that it can.
Unrunnable = Callable[["Scenario", float, str, float], tuple[list[str], list[dict[str, Any]]]]


class Extras(NamedTuple):
    """What a package above this one lends the command."""

    map_workers: MapWorkers
    unrunnable: Unrunnable | None = None


def _this_thread(output: Path | None, reuse: bool) -> AbstractContextManager[Executor | None]:
    return nullcontext(None)


def register(
    app: typer.Typer, *, map_workers: MapWorkers = _this_thread, unrunnable: Unrunnable | None = None
) -> None:
    """Add the subcommand.

    Parameters
    ----------
    app : typer.Typer
    map_workers : callable
        Called as ``map_workers(output, reuse)``; gives a block with an executor for the cells of a
        map. A package above this one can so have cells remembered from a run that was broken off.
    unrunnable : callable, optional
        Called as ``unrunnable(scenario, load, label, value)`` with the best policy and its mean
        response; returns sentences and records of policies that would need more than a site has.
    """
    app.command("recommend", context_settings={"obj": Extras(map_workers, unrunnable)})(_recommend)


def _recommend(
    context: typer.Context,
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO|LOG",
            help="TOML file, see docs/reference/scenario.md; or a job log, with --machine and --program.",
        ),
    ],
    load: Annotated[
        list[float] | None,
        typer.Option(help="Load, between 0 and 1; may be repeated. By default the scenario's or the log's."),
    ] = None,
    arrival_rate: Annotated[float | None, typer.Option(help="Jobs per second, instead of a load.")] = None,
    objective: Annotated[
        str, typer.Option(help="What to minimise, such as mean, wait, p95, p99.9, wait_p95.")
    ] = "mean",
    constraint: Annotated[
        list[str] | None,
        typer.Option(help='Limit such as "p95_s < 600"; may be repeated.'),
    ] = None,
    listed: Annotated[bool, typer.Option("--listed", help="Only the policies of the scenario.")] = False,
    multiprogramming: Annotated[
        str, typer.Option(help="Levels M of time sharing to consider, such as 2,3,4.")
    ] = "2",
    model: Model = None,
    with_map: Annotated[
        bool,
        typer.Option(
            "--map",
            help="Also map the best policy over load and scv (variance / mean^2) of the demand.",
        ),
    ] = False,
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Compute percentiles of every candidate, also of those that cannot be among the best.",
        ),
    ] = False,
    also_unrunnable: Annotated[
        bool,
        typer.Option(
            "--also-unrunnable",
            help="Also simulate what policies would buy that need preemption or known sizes.",
        ),
    ] = False,
    output: Annotated[Path | None, written_to("Folder for the tables and the map.")] = None,
    scheduler: Annotated[
        str | None,
        choice(SCHEDULERS, "--as", help="Also print the lines of configuration that run the best policy."),
    ] = None,
    as_json: AsJson = False,
    machine: Annotated[
        str | None,
        typer.Option(help="With a job log: processors and disks, such as 128,32."),
    ] = None,
    program: Annotated[
        str | None,
        typer.Option(help="With a job log: how jobs scale; measured runs, a trace, a scenario or a profile."),
    ] = None,
    columns: Columns = None,
    min_processors: Annotated[
        int | None,
        typer.Option(min=1, help="With a job log: least processors of a job; 1 by default."),
    ] = None,
    log_machine: Annotated[
        str | None,
        typer.Option(
            help="With a job log: processors and disks of the machine that wrote it, if --machine is another."
        ),
    ] = None,
    log_format: LogFormat = None,
    unit: LogUnit = None,
    log_columns: LogColumns = None,
    timezone: LogZone = None,
    status: LogStatus = None,
    partition: LogPartition = None,
    max_bytes: MaxBytes = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="Go on with a map of another version of the code.")
    ] = False,
    long: Long = False,
    settings: SetOption = None,
) -> None:
    """Recommend a policy for a machine and its jobs; nothing is simulated.

    Exit code 1 if no policy keeps the constraints, or none can carry the load: then it is said what
    limits and what would do, and policies are ranked at a load that the best can carry.

    For example: qmodels recommend site.toml --load 0.7 --constraint "p95_s < 600"
    """
    from phasefit.checks import one_of
    from qmodels.commands.progress import progress_shown
    from qmodels.errors import UnstableError
    from qmodels.exports.slurm import configured
    from qmodels.io.outputs import claim_output
    from qmodels.io.settings import parse_settings
    from qmodels.policies.choice.candidates import default_candidates, runs_few, too_many_jobs
    from qmodels.policies.choice.overload import overload
    from qmodels.policies.choice.recommendation import recommend

    if load and arrival_rate is not None:
        raise ModelError("give either --load or --arrival-rate, not both")
    check_load(load)
    if scheduler is not None:
        one_of("--as", scheduler, SCHEDULERS)
    if output is not None:
        claim_output(output)
    choices = log_choices(log_format, unit, log_columns, timezone, status=status, partition=partition or None)
    changed = parse_settings(settings)
    of_log = {
        "machine": machine,
        "program": program,
        "columns": column_map("--columns", columns),
        "min_processors": min_processors,
        "log_machine": log_machine,
    }
    plan = _plan(scenario, of_log, listed, choices, max_bytes, changed)
    if plan.log is not None:
        say_of_log(plan.log.warnings)
    plan = plan.with_model(model)
    workload = plan.workload
    if plan.mix_note:
        answers.remark(plan.mix_note, mark="")
    levels = _levels(multiprogramming)
    candidates = plan.policies
    if not listed:
        few = default_candidates(plan.system, multiprogramming=levels)
        many = too_many_jobs(plan.system, multiprogramming=levels)
        # Policies of the file are candidates as well: not all are powers of two.
        own = {policy: runs_few(policy, plan.system) for policy in plan.policies}
        few = tuple(dict.fromkeys((*few, *(policy for policy in own if own[policy]))))
        many = tuple(dict.fromkeys((*many, *(policy for policy in own if not own[policy]))))
        candidates = _followed(few, plan)
        _say_left_out(many)
    asked: list[tuple[float | None, float | None]] = (
        [(each, None) for each in load or plan.loads] if arrival_rate is None else [(None, arrival_rate)]
    )
    check_predictions(plan, candidates, [at for at, _ in asked if at is not None], long=long)
    found: list[Recommendation] = []
    refused: list[UnstableError] = []
    too_much: Overload | None = None
    extras: Extras = context.obj
    if also_unrunnable and extras.unrunnable is None:
        raise ModelError("--also-unrunnable needs the simulators, which are not installed")
    if also_unrunnable and objective != "mean":
        raise ModelError("--also-unrunnable compares mean responses; leave --objective out")
    # Entered before the work: what is refused, such as cells of another version, is so at once.
    with extras.map_workers(output, reuse) if with_map else nullcontext(None) as executor:
        with progress_shown() as progress:

            def answer(place: int, at_load: float | None, at_rate: float | None) -> Recommendation:
                return recommend(
                    plan.system,
                    workload,
                    load=at_load,
                    arrival_rate=at_rate,
                    objective=objective,
                    constraint=constraint,
                    candidates=candidates,
                    model=plan.model,
                    every=every,
                    progress=_one_of(progress, place, len(asked)),
                )

            for place, (at_load, at_rate) in enumerate(asked):
                try:
                    found.append(answer(place, at_load, at_rate))
                except UnstableError as error:
                    refused.append(error)
            if not found:  # so the least that was asked for is too much
                least = min(refused, key=lambda error: error.rate)
                refused.remove(least)
                too_much = overload(
                    plan.system,
                    workload,
                    arrival_rate=least.rate,
                    policies=candidates,
                    model=plan.model,
                )
                found.append(answer(len(asked) - 1, too_much.possible_load, None))
        answers.remarks(str(each) for each in refused)
        drawn = None
        if with_map:
            drawn = _map(plan, workload, objective, constraint, candidates, executor)
        if output is not None:
            _write(found, drawn, output)
    beyond: list[tuple[list[str], list[dict[str, Any]]]] = []
    if also_unrunnable and extras.unrunnable is not None:
        for each in found:
            if each.best is not None:
                beyond.append(extras.unrunnable(plan, each.arrival_rate, each.best.label, each.value))
    if as_json:
        record: dict[str, Any] = {
            "recommendations": [each.record() for each in found],
            "map": None if drawn is None else drawn.records(),
            "overload": None if too_much is None else too_much.record(),
        }
        if scheduler is not None:
            record["slurm"] = [[part.record() for part in configured(each, plan.system)] for each in found]
        if also_unrunnable:
            record["unrunnable"] = [row for _, rows in beyond for row in rows]
        print_json(with_changes(record, plan.changes))
    else:
        say_changes(plan.changes)
        texts = [each.table() for each in found] if len(found) == 1 else [_summary(found)]
        if too_much is not None:
            texts.insert(0, _of_overload(too_much, plan))
        if beyond:
            lines = [line for sentences, _ in beyond for line in sentences]
            texts.append("\n".join(["not to be had today, simulated:", *lines]))
        texts += [] if drawn is None else [drawn.table()]
        if scheduler is not None:
            parts = (part for each in found for part in configured(each, plan.system))
            texts += dict.fromkeys(str(part) for part in parts)  # loads may have the same policy
        typer.echo("\n\n".join(texts))
    if too_much is not None or all(each.best is None for each in found):
        raise typer.Exit(CHECK_FAILED)


def _plan(
    source: Path,
    of_log: Mapping[str, Any],
    listed: bool,
    choices: dict[str, Any],
    max_bytes: int | None,
    settings: Mapping[str, Any],
) -> Scenario:
    """The scenario of a file, or that of a job log on a machine."""
    from qmodels.io.scenario import load_scenario

    if source.suffix.lower() == ".toml":
        if choices or any(of_log.values()):
            raise ModelError(
                f"{source} is a scenario, which names machine, program and [log] itself; "
                f"--machine, --program and what is said of a job log go with a job log alone"
            )
        return load_scenario(source, max_bytes=max_bytes, settings=settings)
    if settings:
        raise ModelError(f"{source} is no scenario: there are no keys to set in it")
    from qmodels.io.job_logs import read_jobs
    from qmodels.io.log_scenario import scenario_of_log
    from qmodels.io.subjects import read_subject
    from qmodels.policies import System

    if listed:
        raise ModelError("--listed keeps to the policies of a scenario; a job log has none")
    log = read_jobs(source, max_bytes=max_bytes, keep=("user",), **choices)
    sides, program = pair("--machine", of_log["machine"]), of_log["program"]
    if sides is None or program is None:
        missing = "--machine PROCESSORS,DISKS" if sides is None else "--program FILE"
        raise ModelError(
            f"a job log says neither how large the machine is nor how its jobs scale: give "
            f"{missing} (--program takes measured runs, a trace, a scenario or a profile)"
        )
    found = read_subject(program, mixed=True, columns=of_log["columns"])
    if found.program is None:
        raise ModelError(f"{program}: {' '.join(found.remarks)}")
    say_of_log(found.remarks)
    least = of_log["min_processors"] or 1
    system = System(processors=int(sides[0]), disks=int(sides[1]), min_processors=least)
    wrote = pair("--log-machine", of_log["log_machine"])
    written_on = None if wrote is None else System(int(wrote[0]), int(wrote[1]))
    larger = int((log.sizes > system.processors).sum())
    if larger:
        say_of_log(
            [
                f"Jobs larger than the machine's {system.processors:,} processors: {larger:,} of "
                f"{log.sizes.size:,}; do both count the same ({log.header.get('Unit', 'cores')})?"
            ]
        )
    return scenario_of_log(log, system, found.program, written_on=written_on)


def _followed(candidates: tuple[AbstractPolicy, ...], plan: Scenario) -> tuple[AbstractPolicy, ...]:
    """Those candidates that the model can follow; says which kinds it cannot."""
    followed = tuple(filter(plan.follows, candidates))
    if left_out := dict.fromkeys(p.name for p in candidates if p not in followed):
        answers.remark(f"{', '.join(left_out)} left out: no {plan.model} model")
    return followed


def _say_left_out(policies: tuple[AbstractPolicy, ...]) -> None:
    """Say which policies are not compared, though one of them may be the best."""
    if not policies:
        return
    names = first_names([policy.label for policy in policies], 3)
    answers.remark(
        f"left out, though one of them may be the best: {names}, which run more than 200 "
        f"jobs at a time and take long; name them in the scenario and use --listed, or "
        f"give the machine larger min_processors"
    )


def _one_of(progress: Progress, place: int, count: int) -> Progress:
    """Report one of several equal pieces of work as its part of all of them."""
    return lambda what, done, total: progress(what, place * total + done, count * total)


def _levels(text: str) -> list[int]:
    parts = [part.strip(" ") for part in text.split(",")]
    if len(parts) > 20 or not all(p.isascii() and p.isdigit() and len(p) <= 4 for p in parts):
        raise ModelError(
            f"--multiprogramming: {text[:40]!r} are no levels; write whole numbers such as 2,3,4"
        )
    return sorted({int(part) for part in parts})


def _of_overload(found: Overload, plan: Scenario) -> str:
    """What stands in the way, what would do and how to ask for it, and what is ranked instead."""
    said = [found.sentence]
    if plan.log is not None and plan.path == plan.log.path:
        said.append("The machine that wrote the log did carry them: are --machine and --program its own?")
        if found.enough is not None:
            here, more = found.machine, found.enough
            said.append(
                f"For a larger one give --machine {more['processors']},{more['disks']} "
                f"--log-machine {here['processors']},{here['disks']}."
            )
    possible = f"Ranked at load {found.possible_load:g} instead"
    said.append(f"{possible}, three quarters of what the best can carry:")
    return "\n".join(said)


def _summary(found: list[Recommendation]) -> str:
    """One sentence for each load."""
    return "\n".join(each.reason for each in found)


def _map(
    plan: Scenario,
    workload: Workload,
    objective: str,
    constraint: list[str] | None,
    candidates: tuple[AbstractPolicy, ...],
    executor: Executor | None,
) -> PolicyMap:
    from qmodels.commands.progress import progress_shown
    from qmodels.policies.choice.policy_map import SCVS, best_policies

    with progress_shown() as progress:
        progress("map", 0, len(set(plan.loads)) * len(SCVS))  # the first cell may take long
        return best_policies(
            plan.system,
            workload,
            loads=plan.loads,
            scvs=SCVS,
            objective=objective,
            constraint=constraint,
            candidates=candidates,
            model=plan.model,
            executor=executor,
            progress=progress,
        )


def _write(found: list[Recommendation], drawn: PolicyMap | None, output: Path) -> None:
    import pandas as pd

    from qmodels.io.outputs import output_folder
    from qmodels.plotting.fonts import save

    names = ["candidates.csv"]
    with output_folder(output) as made:
        tables = [each.to_frame().assign(load=each.load) for each in found]
        pd.concat(tables).to_csv(made / "candidates.csv", index=False)
        if drawn is not None:
            drawn.to_frame().to_csv(made / "map.csv", index=False)
            save(drawn.plot().figure, made / "map.png")
            names += ["map.csv", "map.png"]
    for name in names:
        typer.echo(str(output / name), err=True)
