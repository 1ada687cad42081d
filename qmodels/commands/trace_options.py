"""Options of commands that read measured runs: what no trace or table tells."""

from __future__ import annotations

from typing import Annotated

import typer

from qmodels.commands.choices import MODULES, choice

Gap = Annotated[
    float | None,
    typer.Option("--gap", help="Pause in seconds that separates two bursts of a trace."),
]
OnDisks = Annotated[
    int | None,
    typer.Option(
        "--on-disks",
        min=1,
        help="Disks that traced runs had, where neither a name like solver.p8d4.r1 nor a log of "
        "Lustre says it.",
    ),
]
Module = Annotated[str | None, choice(MODULES, "--module", help="Layer of Darshan logs; POSIX by default.")]
Events = Annotated[
    list[str] | None,
    typer.Option(
        "--event",
        metavar="PATTERN=KIND",
        help="What trace events of a category or CATEGORY:NAME count as: read, write, io, compute "
        "or none, such as 'train:step*=compute'; may be repeated.",
    ),
]

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="KEY=NAME,...",
        help="Of a table of runs with other columns, such as p=nprocs,seconds=walltime_s.",
    ),
]

DiskCounts = Annotated[
    str | None,
    typer.Option(
        "--disk-counts",
        metavar="WORD=N,...",
        help="Disks that the words of a table of runs stand for: striped=48,unstriped=1.",
    ),
]
Phases = Annotated[
    str | None,
    typer.Option("--phases", help="Of measured runs with phases by name: which are added up, as io,comm."),
]


def event_choices(options: list[str] | None) -> tuple[tuple[str, str], ...]:
    """Check the options `--event` and give them as pairs."""
    from qmodels.io.event_kinds import event_rules

    return tuple(event_rules(options or ()).items())
