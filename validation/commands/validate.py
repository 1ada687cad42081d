"""Subcommand `qmodels validate`: published figures and tables, run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands.answers import AsJson, Seed, Workers, print_json
from validation.commands.kept_work import KeepJournal, Reuse, kept_work

if TYPE_CHECKING:
    from validation.papers import Experiment, Outcome

FAILED = 1  #: exit code when a finding fails; an undecided one does not


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("validate")(_validate)


def _validate(
    experiments: Annotated[
        list[str] | None, typer.Argument(help="Names of experiments; without any, all are listed.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the figures and the tables.")
    ] = Path("qmodels-validate"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer simulated points with wider intervals; seconds each."),
    ] = False,
    seed: Seed = 0,
    workers: Workers = None,
    reuse: Reuse = False,
    keep_journal: KeepJournal = False,
    record: Annotated[
        Path | None,
        typer.Option(help="Also write results, findings and provenance into this folder."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat published figures: predict, simulate, and say whether their claims hold.

    Each claim holds, fails, or is undecided where the runs are too few to tell. Exit code 1 if one
    fails.

    For example: qmodels validate rosti-fig6 --quick
    """
    from qmodels.commands.progress import progress_shown
    from qmodels.io.outputs import claim_output, output_folder
    from validation.papers import EXPERIMENTS, RunOptions, SharedRuns
    from validation.papers.record import Measured

    if not experiments and as_json:
        print_json(
            [{"name": each.name, "source": each.source, "claim": each.claim} for each in EXPERIMENTS.values()]
        )
        return
    if not experiments:
        width = max(map(len, EXPERIMENTS))
        for name, experiment in EXPERIMENTS.items():
            typer.echo(f"{name:<{width}} {experiment.source}: {experiment.claim}")
        return
    chosen = list(dict.fromkeys(_known(name, list(EXPERIMENTS)) for name in experiments))
    claim_output(output)
    failed = False
    found: list[dict[str, Any]] = []
    shared = SharedRuns()  # figures of one paper show the same simulations
    modules = {each.module for each in EXPERIMENTS.values() if each.module.startswith("validation.")}
    with kept_work(
        output,
        *modules,
        workers=1 if quick and workers is None else workers,
        reuse=reuse,
        keep=keep_journal,
    ) as working:
        for name in chosen:
            before = working.cpu_seconds
            with progress_shown() as progress, Measured() as measured:
                outcome = EXPERIMENTS[name].run(
                    RunOptions(
                        seed=seed,
                        quick=quick,
                        workers=workers,
                        progress=progress,
                        shared=shared,
                        threads=working.threads,
                        processes=working.processes,
                    )
                )
            with output_folder(output) as folder:
                from qmodels.plotting.fonts import save

                save(outcome.figure(), folder / f"{name}.png")
                outcome.table.to_csv(folder / f"{name}.csv", index=False)
            for line in (f"{output / name}.png", f"{output / name}.csv", *outcome.findings):
                typer.echo(f"{line}", err=as_json)
            found.append({"experiment": name, "findings": outcome.findings, "rows": outcome.table})
            failed |= any(finding.fails for finding in outcome.findings)
            if record is not None:
                spent = measured.cpu_seconds + working.cpu_seconds - before
                _record(record, EXPERIMENTS[name], outcome, spent, seed=seed, quick=quick, reuse=reuse)
    if as_json:
        print_json(found)
    if failed:
        raise typer.Exit(FAILED)


def _known(name: str, names: list[str]) -> str:
    """The name of an experiment; there are too many to list them in an error."""
    from phasefit.checks import nearest, spelled
    from qmodels.errors import ModelError

    known = spelled(name, names)
    if known is not None:
        return known
    near = nearest(name, names)
    hint = f"did you mean {near[0]}? " if near else ""
    raise ModelError(
        f"there is no experiment {name!r:.60}; {hint}`qmodels validate` lists them, the first is {names[0]}"
    )


def _record(
    folder: Path,
    experiment: Experiment,
    outcome: Outcome,
    cpu_seconds: float,
    *,
    seed: int,
    quick: bool,
    reuse: bool,
) -> None:
    """Write what was found and how; a quick run, another seed or other code is told there."""
    from qmodels.commands.shell import shell_line
    from validation.papers.record import write_record

    words = ["qmodels", "validate", experiment.name]
    words += ["--quick"] if quick else []
    words += ["--reuse"] if reuse else []
    words += ["--seed", str(seed)] if seed else []
    write_record(
        folder,
        experiment.name,
        outcome.table,
        command=shell_line(words),
        modules=[experiment.module],
        seed=seed,
        cpu_seconds=cpu_seconds,
        findings=outcome.findings,
    )
    typer.echo(f"{folder / experiment.name}.toml", err=True)
