"""Work of a command that is kept beside its output until that is there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from validation.sweeps.keeping import Keepers

Reuse = Annotated[
    bool, typer.Option("--reuse", help="Go on with runs of another version of the code.")
]
KeepJournal = Annotated[
    bool, typer.Option("--keep-journal", help="Leave the journal of the runs beside OUTPUT.")
]


@contextmanager
def kept_work(
    output: Path | None,
    *modules: str,
    workers: int | None = None,
    reuse: bool = False,
    keep: bool = False,
    begin: str | None = None,
) -> Iterator[Keepers]:
    """Executors whose work the same command finds done; see `validation.sweeps.keeping.keepers`.

    Without an output folder nothing is kept. What was done before is said on standard error: the
    stages of the work count anew, and would look as if it were lost.
    """
    from qmodels.commands.shell import shell_line
    from validation.sweeps.keeping import journal_beside, keepers

    file = None if output is None else journal_beside(output)
    command = shell_line(["qmodels", *sys.argv[1:]])
    with keepers(
        file, *modules, workers=workers, reuse=reuse, keep=keep, command=command, begin=begin
    ) as working:
        if working.before:
            print(f"{file}: finished runs to go on with: {working.before:,}", file=sys.stderr)
        yield working
