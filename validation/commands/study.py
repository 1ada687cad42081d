"""Subcommands `qmodels study` and `qmodels demo`: from a scenario to a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from qmodels.commands.answers import print_json, with_changes
from qmodels.commands.choices import Model
from qmodels.commands.effort import Long, check_predictions, check_runs
from qmodels.commands.options import MaxBytes
from qmodels.commands.set_option import say_changes
from validation.commands.comparing import Call, add_comparison, over

Interactive = Annotated[
    bool,
    typer.Option("--interactive", help="Add a speedup surface that can be turned, cut and read off."),
]
_SEED: Final = {"seed": over("seed", int, min=0, help="Instead of the scenario's seed.")}

#: What simulates the mesh: other processes import it while this one reads the scenario.
_MESH: Final = "validation.trial.chain"


def register(app: typer.Typer) -> None:
    """Add both."""
    file = "TOML file; see docs/reference/scenario.md."
    add_comparison(app, "study", _study, file, _SEED, required=True, output=Path("qmodels-study"))
    add_comparison(app, "demo", _demo, None, _SEED, output=Path("qmodels-demo"))


def _study(
    call: Call,
    interactive: Interactive = False,
    model: Model = None,
    max_bytes: MaxBytes = None,
    long: Long = False,
) -> None:
    """Predict every policy from a job log and programs, check by simulation, write a report.

    The same command goes on where it was broken off: simulations are kept beside the report until
    that is written.

    For example: qmodels study site.toml -o site-report
    """
    assert call.source is not None
    _run(
        call,
        call.source,
        ["study", call.source],
        interactive=interactive,
        model=model,
        max_bytes=max_bytes,
        long=long,
    )


def _demo(
    call: Call,
    save_inputs: Annotated[
        Path | None,
        typer.Option("--save-inputs", help="Copy the demo's scenario and log there and stop."),
    ] = None,
    interactive: Interactive = False,
) -> None:
    """Run the study shipped with the package: the reference workload on 128 processors.

    For example: qmodels demo -o qmodels-demo
    """
    # Beside the package that runs it, which is not imported yet: it takes a second.
    shipped = Path(__file__).parents[1] / "study" / "demo"
    if save_inputs is not None:
        _save_inputs(shipped, save_inputs)
        typer.echo(f"{save_inputs / 'scenario.toml'}")
        return
    _run(call, shipped / "scenario.toml", ["demo"], interactive=interactive)


def _save_inputs(shipped: Path, folder: Path) -> None:
    """Copy the demo's inputs; ModelError where one of them is there and differs."""
    from qmodels.errors import ModelError
    from qmodels.whole_files import write_whole

    names = ("scenario.toml", "jobs.swf.gz")
    for name in names:
        file = folder / name
        if os.path.lexists(file) and not (
            file.is_file() and file.read_bytes() == (shipped / name).read_bytes()
        ):
            raise ModelError(f"{file}: is there already and differs; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        write_whole(folder / name, (shipped / name).read_bytes())


def _has_trial(scenario: Path) -> bool:
    """Whether a scenario seems to ask for a trial, before it is read and checked as a whole."""
    from qmodels.errors import ScenarioError
    from qmodels.io.toml_text import MAX_BYTES, tables_of_text

    if not scenario.is_file():  # a pipe can be read once only
        return False
    try:
        with open(scenario, "rb") as file:
            return "trial" in tables_of_text(scenario, file.read(MAX_BYTES))
    except (OSError, ScenarioError):
        return False  # whoever reads it as a whole will say what is wrong


def _run(
    call: Call,
    scenario: Path,
    command: list[object],
    *,
    interactive: bool,
    model: str | None = None,
    max_bytes: int | None = None,
    long: bool = False,
) -> None:
    """Study a scenario, write the report and answer; `command` begins what is typed to get it again."""
    from dataclasses import replace

    from qmodels.io.outputs import claim_output

    assert call.output is not None
    claim_output(call.output)
    command += ["-o", call.output]
    if max_bytes is not None:
        command += ["--max-bytes", f"{max_bytes}B"]
    command += ["--long"] * long
    for word in call.settings or ():
        command += ["--set", word]
    command += ["--interactive"] * interactive
    seed: int | None = call.options.get("seed")
    begin = _MESH if _has_trial(scenario) else None
    with call.working("validation.study.run", begin=begin) as working:
        from qmodels.io.scenario import load_scenario
        from qmodels.io.settings import parse_settings
        from validation.study.run import Study, run_study

        plan = load_scenario(scenario, max_bytes=max_bytes, settings=parse_settings(call.settings))
        if seed is not None:
            plan = replace(plan, seed=seed)
            command += ["--seed", seed]
        if model is not None:
            plan = plan.with_model(model)
            command += ["--model", model]
        check_predictions(plan, plan.policies, plan.loads, long=long)
        check_runs(plan, long=long)
        made: dict[str, Any] = {}

        def draw(predicted: Study) -> None:
            from validation.study.panels import PREDICTED, pictures  # draws, and takes a while

            made.update(pictures(predicted, PREDICTED))

        study = run_study(
            plan,
            workers=call.workers,
            executor=working.threads,
            processes=working.processes,
            progress=working.progress,
            meanwhile=draw,
        )
        if working.processes is not None:
            working.processes.shutdown()  # what they spent is known when they have ended
        from validation.study.findings import findings
        from validation.study.report import study_report

        call.write(study_report(study, interactive=interactive, made_before=made), command)
    say_changes(plan.changes, err=True)
    found, report = findings(study), str(call.output / "report.html")
    for finding in found:
        print(f"- {finding}", file=sys.stderr)
    if call.as_json:
        print_json(with_changes(study.record() | {"report": report, "findings": found}, plan.changes))
    else:
        typer.echo(report)
