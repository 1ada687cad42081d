"""Subcommands `qmodels study` and `qmodels demo`: from a scenario to a report."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from qmodels.commands.answers import AsJson, Workers, print_json, with_changes
from qmodels.commands.choices import Model
from qmodels.commands.effort import Long, check_predictions, check_runs
from qmodels.commands.options import MaxBytes
from qmodels.commands.set_option import SetOption, say_changes
from validation.commands.kept_work import KeepJournal, Reuse, kept_work

Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the report.")]

Interactive = Annotated[
    bool,
    typer.Option("--interactive", help="Add a speedup surface that can be turned, cut and read off."),
]


#: What plays the mesh: other processes import it while this one reads the scenario.
_MESH = "validation.trial.chain"


def register(app: typer.Typer) -> None:
    """Add both."""
    app.command("study")(_study)
    app.command("demo")(_demo)


def _study(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    output: Output = Path("qmodels-study"),
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's seed.")] = None,
    workers: Workers = None,
    interactive: Interactive = False,
    model: Model = None,
    max_bytes: MaxBytes = None,
    reuse: Reuse = False,
    keep_journal: KeepJournal = False,
    long: Long = False,
    settings: SetOption = None,
    as_json: AsJson = False,
) -> None:
    """Predict every policy from a job log and programs, check by simulation, write a report.

    The same command goes on where it was broken off: simulations are kept beside the report until
    that is written.

    For example: qmodels study site.toml -o site-report
    """
    command: list[object] = ["study", scenario, "-o", output]
    if max_bytes is not None:
        command += ["--max-bytes", f"{max_bytes}B"]
    command += ["--long"] * long
    for word in settings or ():
        command += ["--set", word]
    _run(
        scenario,
        output,
        seed,
        workers,
        interactive,
        command=command,
        model=model,
        max_bytes=max_bytes,
        reuse=reuse,
        keep=keep_journal,
        settings=settings,
        as_json=as_json,
        long=long,
    )


def _demo(
    output: Output = Path("qmodels-demo"),
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's seed.")] = None,
    workers: Workers = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--save-inputs", help="Copy the demo's scenario and log there and stop."),
    ] = None,
    interactive: Interactive = False,
    reuse: Reuse = False,
    as_json: AsJson = False,
) -> None:
    """Run the study shipped with the package: the reference workload on 128 processors.

    For example: qmodels demo -o qmodels-demo
    """
    # Beside the package that runs it, which is not imported yet: it takes a second.
    shipped = Path(__file__).parents[1] / "study" / "demo"
    if scenario is not None:
        _save_inputs(shipped, scenario)
        typer.echo(f"{scenario / 'scenario.toml'}")
        return
    source = shipped / "scenario.toml"
    command: list[object] = ["demo", "-o", output]
    _run(source, output, seed, workers, interactive, command=command, reuse=reuse, as_json=as_json)


def _save_inputs(shipped: Path, folder: Path) -> None:
    """Copy the demo's inputs; ModelError where one of them is there and differs."""
    from qmodels.errors import ModelError

    names = ("scenario.toml", "jobs.swf.gz")
    for name in names:
        file = folder / name
        if os.path.lexists(file) and not (
            file.is_file() and file.read_bytes() == (shipped / name).read_bytes()
        ):
            raise ModelError(f"{file}: is there already and differs; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copyfile(shipped / name, folder / name)


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
    scenario: Path,
    output: Path,
    seed: int | None,
    workers: int | None,
    interactive: bool,
    *,
    command: list[object],
    model: str | None = None,
    max_bytes: int | None = None,
    reuse: bool = False,
    keep: bool = False,
    settings: list[str] | None = None,
    as_json: bool = False,
    long: bool = False,
) -> None:
    from dataclasses import replace

    from qmodels.commands.progress import progress_shown
    from qmodels.commands.shell import shell_line
    from qmodels.io.outputs import claim_output

    claim_output(output)
    if interactive:
        command.append("--interactive")
    with (
        progress_shown() as progress,
        kept_work(
            output,
            "validation.study.run",
            workers=workers,
            reuse=reuse,
            keep=keep,
            begin=_MESH if _has_trial(scenario) else None,
        ) as working,
    ):
        from qmodels.io.scenario import load_scenario
        from qmodels.io.settings import parse_settings
        from validation.study.run import Study, run_study

        plan = load_scenario(scenario, max_bytes=max_bytes, settings=parse_settings(settings))
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
            workers=workers,
            executor=working.threads,
            processes=working.processes,
            progress=progress,
            meanwhile=draw,
        )
        if working.processes is not None:
            working.processes.shutdown()  # what they spent is known when they have ended
        from validation.study.findings import findings
        from validation.study.report import write_report

        again = shell_line(["qmodels", *command])
        report = write_report(study, output, command=again, interactive=interactive, made_before=made)
    say_changes(plan.changes, err=True)
    found = findings(study)
    for finding in found:
        print(f"- {finding}", file=sys.stderr)
    if as_json:
        answer = study.record() | {"report": str(report), "findings": found}
        print_json(with_changes(answer, plan.changes))
    else:
        typer.echo(str(report))
