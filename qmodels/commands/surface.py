"""Subcommand `qmodels surface`: how a program scales over processors and disks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json, with_changes
from qmodels.commands.options import MaxBytes, written_to
from qmodels.commands.set_option import SetOption, say_changes
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
    from qmodels.commands.surface_answer import Answer
    from qmodels.commands.surface_search import Wanted
    from qmodels.io.subjects import Subject, TraceChoices


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("surface")(_surface)


def _surface(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="INPUT",
            help="Scenario (TOML), measured runs (CSV, JSON lines), trace (Darshan, .pfw, CSV), "
            "folder of traces of several runs, or the name of a profile.",
        ),
    ] = None,
    profiles: Annotated[
        bool, typer.Option("--list", help="List the profiles, all synthetic, and stop.")
    ] = False,
    program: Annotated[str | None, typer.Option(help="Which one of several programs.")] = None,
    processors: Annotated[
        str | None, typer.Option(help="Numbers of processors, such as 1,2,4,8; or 1-128.")
    ] = None,
    disks: Annotated[
        str | None,
        typer.Option(help="Numbers of disks, such as 1,2,4; or 1-32; or the word that a table of runs has."),
    ] = None,
    disk_counts: DiskCounts = None,
    phases: Phases = None,
    budget: Annotated[float | None, typer.Option(help="What may be spent on an allotment.")] = None,
    processor_price: Annotated[float, typer.Option(help="Price of a processor.")] = 1.0,
    disk_price: Annotated[float, typer.Option(help="Price of a disk.")] = 1.0,
    target: Annotated[
        str | None,
        typer.Option(
            help="P,D: the allotment you ask about; for runs, also which run to make next. P alone where "
            "all runs had the same disks."
        ),
    ] = None,
    can_run: Annotated[
        str | None,
        typer.Option(help="Runs that you can make, such as 1-32,1-4: the next one is sought among them."),
    ] = None,
    run_budget: Annotated[
        float | None,
        typer.Option(help="Core-seconds that the next run may cost: processors times seconds."),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals, for measured runs.")] = 0.9,
    columns: Columns = None,
    cores_per_node: Annotated[
        float | None,
        typer.Option(help="Processors of one node, for measured runs without a column nodes."),
    ] = None,
    work: Annotated[
        float | None,
        typer.Option(help="Size of the problem, in the unit of the column work of measured runs."),
    ] = None,
    rivals: Annotated[
        bool,
        typer.Option(
            "--rivals", help="For measured runs: what simple forms through them say, such as a + b/p."
        ),
    ] = False,
    gap: Gap = None,
    on_disks: OnDisks = None,
    module: Module = None,
    event: Events = None,
    run_on: Annotated[str | None, typer.Option(help="P,D: processors and disks of the traced run.")] = None,
    io_law: Annotated[
        str | None, typer.Option(help="How the I/O of a trace is assumed to scale; by default d.")
    ] = None,
    cpu_law: Annotated[str | None, typer.Option(help="The same of its computation; by default p.")] = None,
    output: Annotated[Path | None, written_to("Folder for the figures and tables.")] = None,
    as_json: AsJson = False,
    max_bytes: MaxBytes = None,
    settings: SetOption = None,
) -> None:
    """Compute how a program speeds up over processors and disks, and the best allotment.

    For example: qmodels surface runs.csv --budget 64 --disk-price 4
    """
    if profiles:
        _list(as_json)
        return
    if source is None:
        raise ModelError("name a file or a profile; qmodels surface --list lists the profiles")
    from qmodels.commands.disk_words import run_words, said_disks
    from qmodels.commands.options import column_map, numbers, pair, ranges
    from qmodels.commands.progress import at_work, progress_shown
    from qmodels.commands.surface_answer import answer
    from qmodels.commands.surface_text import text
    from qmodels.io.outputs import claim_output
    from qmodels.io.settings import parse_settings
    from qmodels.io.subjects import read_subject

    # What the options say is checked before anything is read, which may take minutes.
    named = column_map("--columns", columns)
    said = said_disks(disks, target, disk_counts)
    given = numbers("--processors", processors), numbers("--disks", said.disks)
    alone = target is not None and said.target == target.strip() and target.strip().isdigit()
    choices = _choices(gap, run_on, on_disks, io_law, cpu_law, module, event)
    asked = _asked(
        budget=budget,
        processor_price=processor_price,
        disk_price=disk_price,
        target=None if alone else pair("--target", said.target),
        level=level,
        can_run=ranges("--can-run", can_run),
        run_budget=run_budget,
        work=work,
        rivals=rivals,
    )
    if output is not None:
        claim_output(output)
    with progress_shown() as progress:
        subject = read_subject(
            source,
            program=program,
            choices=choices,
            max_bytes=max_bytes,
            progress=progress,
            settings=parse_settings(settings),
            columns=named,
            cores_per_node=cores_per_node,
            work=work,
            words=run_words(phases, said),
        )
    if rivals and subject.fit is None:
        raise ModelError("--rivals puts simple forms through measured runs; give a table of runs (CSV)")
    answers.remarks(subject.remarks)
    if alone:
        asked["target"] = pair("--target", f"{said.target},{_only_disks(subject)}")
    wanted = _wanted(given, (subject.processors, subject.disks), asked)
    with at_work("comparing allotments"):
        found = answer(subject, wanted)
    if output is not None:
        _write(found, output)
    if as_json:
        print_json(with_changes(found.record(), subject.changes))
    else:
        say_changes(subject.changes)
        typer.echo(text(found))


def _list(as_json: bool) -> None:
    from qmodels.programs.profiles import PROFILES

    if as_json:
        print_json({"profiles": list(PROFILES.values())})
        return
    for each in PROFILES.values():
        typer.echo(f"{each.name:<14} {each.phases:>3} phases; {each.note}")


def _choices(
    gap: float | None,
    run_on: str | None,
    on_disks: int | None,
    io_law: str | None,
    cpu_law: str | None,
    module: str | None,
    event: list[str] | None,
) -> TraceChoices:
    from qmodels.commands.options import pair
    from qmodels.io.subjects import TraceChoices

    on = pair("--run-on", run_on) or (None, None)
    if on[1] is not None and on_disks is not None:
        raise ModelError("--run-on and --on-disks both say the disks; give one of them")
    disks = on[1] if on_disks is None else float(on_disks)
    return TraceChoices(gap, on[0], disks, io_law, cpu_law, module, event_choices(event))


def _only_disks(subject: Subject) -> int:
    """Return the disks of all measured runs; ModelError where they differ, or nothing was measured."""
    disks = set() if subject.fit is None else set(subject.fit.allotments[:, 1].tolist())
    if len(disks) != 1:
        raise ModelError("--target must be processors,disks such as 64,8 where runs differ in disks")
    return int(disks.pop())


def _asked(**asked: Any) -> dict[str, Any]:
    """Check what is asked for besides the numbers of processors and disks."""
    from phasefit.checks import share
    from qmodels.programs.quantities import positive

    for name in ("budget", "processor_price", "disk_price", "run_budget", "work"):
        if asked[name] is not None:
            most = 1e18 if name == "work" else 1e12
            positive(f"--{name.replace('_', '-')}", asked[name], least=1.0 / most, most=most)
    del asked["work"]
    share("--level", asked["level"], zero=False, one=False)
    return asked


def _wanted(given: tuple[Any, Any], largest: tuple[int, int], asked: dict[str, Any]) -> Wanted:
    from qmodels.commands.surface_search import Wanted

    processors, disks = (_powers(n) if own is None else own for own, n in zip(given, largest, strict=True))
    return Wanted(
        processors,
        disks,
        only_these_processors=given[0] is not None,
        only_these_disks=given[1] is not None,
        **asked,
    )


def _powers(most: int) -> Any:
    """Powers of two up to `most`, and `most`."""
    import numpy as np

    powers = [2.0**k for k in range(most.bit_length()) if 2**k < most]
    return np.array([*powers, float(most)])


def _write(found: Answer, output: Path) -> None:
    from qmodels.commands.surface_files import write_files
    from qmodels.io.outputs import output_folder

    with output_folder(output) as made:
        names, left_out = write_files(found, made)
    answers.remarks(left_out)
    for name in names:
        typer.echo(str(output / name), err=True)
