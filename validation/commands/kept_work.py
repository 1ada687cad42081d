"""Work of a command that is kept beside its output until that is there."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
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


def kept_work(
    output: Path | None,
    *modules: str,
    workers: int | None = None,
    reuse: bool = False,
    keep: bool = False,
) -> AbstractContextManager[Keepers]:
    """Executors whose work the same command finds done; see `validation.sweeps.keeping.keepers`.

    Without an output folder nothing is kept.
    """
    from qmodels.commands.shell import shell_line
    from validation.sweeps.keeping import journal_beside, keepers

    return keepers(
        None if output is None else journal_beside(output), *modules, workers=workers,
        reuse=reuse, keep=keep, command=shell_line(["qmodels", *sys.argv[1:]]),
    )  # fmt: skip
