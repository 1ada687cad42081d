"""Subcommands of `qmodels` that simulate: study and demo."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validation import allocate_command, mesh_command, validate_command

if TYPE_CHECKING:
    from validation.study import Progress

Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for the report.")]
Workers = Annotated[
    int | None, typer.Option("-j", "--workers", min=1, help="Threads; by default one per core.")
]

Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive", help="With the speedup surface to turn; needs plotly, adds 5 MB."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the subcommands this package owns."""
    app.command("study")(_study)
    app.command("demo")(_demo)
    mesh_command.register(app)
    allocate_command.register(app)
    validate_command.register(app)


def _study(
    scenario: Annotated[Path, typer.Argument(help="TOML file; see docs/reference/scenario.md.")],
    output: Output = Path("qmodels-study"),
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's seed.")] = None,
    workers: Workers = None,
    interactive: Interactive = False,
) -> None:
    """From a job log and a measured program to a validated prediction, as one report."""
    command = f"qmodels study {scenario} -o {output}"
    _run(scenario, output, seed, workers, interactive, command=command)


def _demo(
    output: Output = Path("qmodels-demo"),
    seed: Annotated[int | None, typer.Option(min=0, help="Instead of the scenario's seed.")] = None,
    workers: Workers = None,
    scenario: Annotated[
        Path | None,
        typer.Option("--save-inputs", help="Copy the demo's scenario and log there and stop."),
    ] = None,
    interactive: Interactive = False,
) -> None:
    """Run the study shipped with the package: the reference workload on 128 processors."""
    shipped = Path(__file__).parent / "demo"
    if scenario is not None:
        scenario.mkdir(parents=True, exist_ok=True)
        for file in ("scenario.toml", "jobs.swf.gz"):
            shutil.copyfile(shipped / file, scenario / file)
        typer.echo(f"{scenario / 'scenario.toml'}")
        return
    command = f"qmodels demo -o {output}"
    _run(shipped / "scenario.toml", output, seed, workers, interactive, command=command)


def _run(
    scenario: Path,
    output: Path,
    seed: int | None,
    workers: int | None,
    interactive: bool,
    *,
    command: str,
) -> None:
    from dataclasses import replace

    from qmodels.io.outputs import check_output
    from qmodels.io.scenario import load_scenario
    from validation.findings import findings
    from validation.report import write_report
    from validation.study import run_study

    check_output(output)
    if interactive:
        from qmodels.interactive import check_installed

        check_installed()  # before the work of minutes
        command += " --interactive"
    with _progress() as progress:
        plan = load_scenario(scenario)
        if seed is not None:
            plan = replace(plan, seed=seed)
            command += f" --seed {seed}"
        study = run_study(plan, workers=workers, progress=progress)
        report = write_report(study, output, command=command, interactive=interactive)
    for finding in findings(study):
        print(f"- {finding}", file=sys.stderr)
    typer.echo(str(report))


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on standard error where that is a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, object] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total)
            bar.update(tasks[stage], completed=done)  # type: ignore[arg-type]

        yield show
