"""Subcommand `qmodels record`: when a program does I/O and computes, without changing it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qmodels.commands import answers
from qmodels.commands.answers import AsJson, print_json
from qmodels.commands.options import written_to
from qmodels.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qmodels.recording.timeline import Recording


def register(app: typer.Typer) -> None:
    """Add the subcommand."""
    app.command("record", context_settings={"ignore_unknown_options": True})(_record)


def _record(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The program and its arguments.")
    ],
    output: Annotated[
        Path,
        written_to("Timeline to write, such as solver.p8d4.r1.csv for a folder."),
    ] = Path("recorded.csv"),
    interval: Annotated[
        float, typer.Option(help="Seconds between two looks at the counters, 0.005 to 60.")
    ] = 0.05,
    storage: Annotated[
        bool,
        typer.Option(
            "--storage",
            help="Count bytes that reached storage, not all that calls moved (page cache, pipes).",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a command and write when its processes did I/O and computed, for `qmodels surface`.

    Needs Linux, and nothing of the program. The exit code is the command's, whose output comes
    before what --json prints.

    For example: qmodels record -o solver.p8d4.r1.csv -- ./solver input.dat
    """
    from qmodels.recording.sampling import sample_command
    from qmodels.whole_files import check_writable

    check_writable(output)
    sampled = sample_command(command, interval=interval, storage=storage)
    # What takes a while to load is loaded when the command has ended.
    from qmodels.recording.timeline import recording_of, write_timeline

    found = recording_of(sampled)
    write_timeline(found.trace, output)
    answers.remarks(_said(found, output, storage))
    if as_json:
        trace = found.trace
        print_json(
            {
                "file": str(output),
                "seconds": trace.duration,
                "processes": found.processes,
                "at_once": trace.processes,
                "bytes": found.bytes_moved,
                "exit_code": found.exit_code,
                "interval": found.interval,
            }
        )
    sys.stdout.flush()
    raise typer.Exit(found.exit_code)


def _said(found: Recording, output: Path, storage: bool) -> Iterator[str]:
    trace = found.trace
    seconds = trace.end - trace.start
    io = float(seconds[trace.is_io].sum())
    computed = float(seconds[~trace.is_io].sum())
    processes = f"{found.processes} {plural('process', found.processes)}"
    yield (
        f"{output}: {trace.duration:.4g} s, {processes}, of which at most "
        f"{trace.processes} worked at once; {io:.4g} s of I/O and {computed:.4g} s of computation "
        f"of all, {found.bytes_moved:,} bytes"
    )
    yield (
        f"Looked every {found.interval:.3g} s, which took {100 * found.overhead:.2g} % of one "
        f"processor; what is shorter is not seen."
    )
    if found.busiest > 1.5:
        yield (
            f"A process used up to {found.busiest:.3g} processors: its threads are one rank here. "
            f"Say what the run had by its name, such as solver.p{round(found.busiest)}d1.csv, or "
            f"by --run-on."
        )
    if storage and not found.bytes_moved:
        yield "No byte reached storage; without --storage all bytes that calls move are counted."
