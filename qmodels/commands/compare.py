"""Subcommand `qmodels compare`: did this release become slower; a gate for continuous testing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json
from qmodels.commands.options import MaxBytes, written_to
from qmodels.commands.trace_options import (
    Columns,
    DiskCounts,
    Events,
    Gap,
    Module,
    OnDisks,
    Phases,
    event_choices,
)
from qmodels.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmodels.programs.comparison import Comparison, Judged

LIMIT_BROKEN = 1


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("compare")(_compare)


def _compare(
    old: Annotated[
        Path,
        typer.Argument(help="Measured runs of the old release: CSV, JSON lines, or a folder of traces."),
    ],
    new: Annotated[Path, typer.Argument(help="The same of the new release.")],
    program: Annotated[
        str | None,
        typer.Option(help="Which one of several programs; OLD=NEW if it was renamed."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="P,D: compare there, not on the mean of all allotments.")
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            help='Limit such as "slowdown > 5% with 95%", "any phase slowdown > 10% with 99%" or '
            '"phase 2 io slowdown > 10% with 95%"; may be repeated.',
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    output: Annotated[Path | None, written_to("Folder for the figure and the table.")] = None,
    as_json: AsJson = False,
    columns: Columns = None,
    phases: Phases = None,
    disks: Annotated[
        str | None, typer.Option(help="The word for disks, where tables of runs have such, whose runs count.")
    ] = None,
    disk_counts: DiskCounts = None,
    gap: Gap = None,
    on_disks: OnDisks = None,
    module: Module = None,
    event: Events = None,
    max_bytes: MaxBytes = None,
) -> None:
    """Compare measured runs of two releases: what became slower, phase by phase, and how sure.

    Exit code 1 if a limit of --fail-if is broken.

    For example: qmodels compare old.csv new.csv --fail-if "slowdown > 5% with 95%"
    """
    from qmodels.commands.disk_words import run_words, said_disks
    from qmodels.commands.options import column_map, pair
    from qmodels.commands.progress import progress_shown
    from qmodels.io.outputs import claim_output
    from qmodels.io.subjects import TraceChoices, read_tables_of_runs
    from qmodels.programs.comparison import Limit, compare_runs

    # What the options say is checked before anything is read.
    limits = [Limit.parse(text) for text in fail_if or ()]
    said = said_disks(disks, target, disk_counts)
    if said.disks is not None:
        raise ModelError("--disks takes a word of the tables; runs on other numbers of disks are told apart")
    at = pair("--target", said.target)
    named = column_map("--columns", columns)
    if output is not None:
        claim_output(output)
    traced = None if on_disks is None else float(on_disks)
    choices = TraceChoices(gap, disks=traced, module=module, events=event_choices(event))
    with progress_shown() as progress:
        tables, remarks = read_tables_of_runs(
            old,
            new,
            choices=choices,
            max_bytes=max_bytes,
            progress=progress,
            columns=named,
            words=run_words(phases, said),
        )
    answers.remarks(remarks)
    found = compare_runs(*tables, program=program, target=at, level=level)
    judged = [each for limit in limits for each in found.judge(limit)]
    answers.remarks(found.remarks)
    if output is not None:
        _write(found, judged, output)
    if as_json:
        print_json(_record(found, judged))
    else:
        typer.echo("\n".join(_text(found, judged)))
    if any(each.verdict == "broken" for each in judged):
        raise typer.Exit(LIMIT_BROKEN)


def _text(found: Comparison, judged: Sequence[Judged]) -> list[str]:
    lines = []
    for one in found.changes:
        where = "" if one.processors is None else f" on {one.processors:g} x {one.disks:g}"
        lines.append(f"{one.program}, {one.part}{where}: {one.sentence()}")
    for each in judged:
        lines.append(
            f"{each.limit.text!r} of {each.change.program}, {each.change.part}: {each.verdict}, "
            f"probability {each.probability:.3g}; runs like these notice a "
            f"slowdown of {100 * each.noticeable:.3g} % four times in five"
        )
    return lines


def _record(found: Comparison, judged: Sequence[Judged]) -> dict[str, object]:
    return {
        "changes": [one.record() for one in found.changes],
        "limits": [
            {
                "limit": each.limit.text,
                "program": each.change.program,
                "part": each.change.part,
                "verdict": each.verdict,
                "probability": each.probability,
                "confidence": each.confidence,
                "noticeable": each.noticeable,
            }
            for each in judged
        ],
        "remarks": list(found.remarks),
    }


def _write(found: Comparison, judged: Sequence[Judged], output: Path) -> None:
    from qmodels import plotting
    from qmodels.io.outputs import output_folder
    from qmodels.plotting.fonts import save

    limit = judged[0].limit.slowdown if judged else None
    with output_folder(output) as made:
        found.to_frame().to_csv(made / "changes.csv", index=False, float_format="%.10g")
        figure: Any = plotting.changes(found, limit=limit).figure
        save(figure, made / "changes.png", bbox_inches="tight")
    for name in ("changes.csv", "changes.png"):
        typer.echo(str(output / name), err=True)
