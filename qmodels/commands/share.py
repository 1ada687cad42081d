"""Subcommand `qmodels share`: how long a program takes when others use the storage too."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json
from qmodels.commands.options import written_to
from qmodels.errors import ModelError


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("share")(_share)


def _share(
    runs: Annotated[
        Path,
        typer.Argument(
            metavar="RUNS", help="Timed runs alone and together (CSV): programs,stage,seconds or a row a run."
        ),
    ],
    together: Annotated[
        str | None, typer.Option(help="Numbers of programs that start together, such as 8,16,32.")
    ] = None,
    programs: Annotated[str | None, typer.Option(help="Column with the number of programs.")] = None,
    stages: Annotated[
        str | None, typer.Option(help="Columns of the stages, in order, such as read,compute,write.")
    ] = None,
    total: Annotated[str | None, typer.Option(help="Column of whole runs.")] = None,
    where: Annotated[
        str | None, typer.Option(help="Only these rows, such as storage=private,cores=1.")
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="Learn from these numbers of programs only; the others are compared.")
    ] = None,
    of: Annotated[
        int | None, typer.Option("--of", min=2, help="So many programs are to be done: in which turns?")
    ] = None,
    can_run: Annotated[
        int | None, typer.Option(min=2, help="The most programs that you can run together next.")
    ] = None,
    think: Annotated[
        float | None,
        typer.Option(help="The programs come and go: seconds from the end of one to the next in its place."),
    ] = None,
    rate: Annotated[
        float | None, typer.Option(help="An open stream: programs that begin per second, at random.")
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            help="RUNS are past jobs beside production, a row each in order of time; columns that say how "
            "busy the file system was, such as servers,others; or 'history' for none."
        ),
    ] = None,
    seconds: Annotated[str | None, typer.Option(help="With --beside: column of a job's I/O time.")] = None,
    group: Annotated[
        str | None, typer.Option(help="With --beside: columns of like jobs, such as program,ranks.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="With --beside: loads to forecast at, such as servers=40.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws of curves.")] = 0,
    output: Annotated[Path | None, written_to("Folder for the report.")] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast programs that share a storage, from runs alone and a few together.

    For example: qmodels share runs.csv --together 8,16,32 --of 32
    """
    from phasefit.checks import share
    from qmodels.commands.options import column_map, numbers
    from qmodels.commands.progress import at_work
    from qmodels.commands.share_answer import ShareAnswer
    from qmodels.commands.shell import shell_line
    from qmodels.io.outputs import claim_output
    from qmodels.io.shared_runs import read_shared_runs
    from qmodels.storage import batches, forecast_sharing, next_run
    from qmodels.storage.come_and_go import come_and_go

    share("--level", level, zero=False, one=False)
    if beside is not None:
        alone = {
            "--together": together,
            "--programs": programs,
            "--stages": stages,
            "--total": total,
            "--known": known,
            "--of": of,
            "--can-run": can_run,
            "--think": think,
            "--rate": rate,
            "--output": output,
        }
        given = [name for name, value in alone.items() if value is not None]
        if given:
            raise ModelError(f"{', '.join(given)} cannot go with --beside, which writes no report")
        _beside(runs, beside, seconds, group, at, column_map("--where", where), as_json=as_json)
        return
    if seconds or group or at:
        raise ModelError("--seconds, --group and --at go with --beside only")
    asked, learnt_from = numbers("--together", together), numbers("--known", known)
    chosen = column_map("--where", where)
    if output is not None:
        claim_output(output)
    table = read_shared_runs(
        runs,
        programs=programs,
        stages=None if stages is None else [name.strip() for name in stages.split(",")],
        total=total,
        where=chosen,
    )
    kept = (
        table if learnt_from is None else table.only(_known(learnt_from.astype(int).tolist(), table.numbers))
    )
    answers.remarks(kept.doubts())
    wanted = None if asked is None else {int(n) for n in asked}
    target = of or (max(wanted) if wanted else max(32, 2 * kept.numbers[-1]))
    if wanted is None:
        wanted = {2**k for k in range(target.bit_length())} | set(table.numbers)
    with at_work("weighing curves"):
        forecast = forecast_sharing(kept, sorted({1, *wanted, target}), level=level, seed=seed)
        steady = []
        if think is not None:
            steady.append(come_and_go(forecast, programs=target, think=think))
        if rate is not None:
            steady.append(come_and_go(forecast, rate=rate))
        answer = ShareAnswer(
            runs=table,
            forecast=forecast,
            target=target,
            turns=batches(forecast, target) if target > 1 else (),
            next_run=next_run(forecast, target, can_run) if target > 1 else None,
            steady=tuple(steady),
        )
    if output is not None:
        page = answer.write(output, shell_line(["qmodels", *sys.argv[1:]]))
        typer.echo(str(page), err=True)
    if as_json:
        print_json(answer.record())
        return
    for line in (*answer.lines(), *(f"- {sentence}" for sentence in answer.findings())):
        typer.echo(line)


def _beside(
    runs: Path,
    beside: str,
    seconds: str | None,
    group: str | None,
    at: str | None,
    where: dict[str, str] | None,
    *,
    as_json: bool,
) -> None:
    """Print the laws of jobs beside production."""
    from qmodels.commands.options import column_map
    from qmodels.commands.share_production import ProductionAnswer
    from qmodels.io.shared_runs import read_history
    from qmodels.storage import learn_production

    loads = [] if beside == "history" else [name.strip() for name in beside.split(",")]
    like = [] if group is None else [name.strip() for name in group.split(",")]
    asked = column_map("--at", at) or {}
    try:
        values = {name: float(text) for name, text in asked.items()}
    except ValueError as error:
        raise ModelError(f"--at: {error}; write numbers, such as servers=40") from None
    for name in values:
        if name not in loads:
            raise ModelError(f"--at {name}: no load of that name; --beside has {', '.join(loads) or 'none'}")
    past = read_history(runs, seconds=seconds, group=like, loads=loads, where=where)
    law = learn_production(past.seconds, past.groups, past.loads)
    few = len(set(past.groups)) - len(law.groups)
    if few:
        answers.remark(f"{few} groups with fewer than 20 runs are left out.")
    answer = ProductionAnswer(law, values)
    if as_json:
        print_json(answer.record())
        return
    for line in answer.lines():
        typer.echo(line)


def _known(asked: list[int], measured: tuple[int, ...]) -> list[int]:
    """Numbers to learn from, all of them measured."""
    for n in asked:
        if n not in measured:
            raise ModelError(
                f"--known {n}: the table has runs with {', '.join(map(str, measured))} programs together only"
            )
    return asked
