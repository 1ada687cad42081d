"""How far long work has come, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmodels.progress import Progress


@contextmanager
def progress_shown() -> Iterator[Progress]:
    """A bar on standard error where that is a terminal, a line for each stage elsewhere."""
    if not sys.stderr.isatty():
        said: set[str] = set()

        def say(what: str, done: int, total: int) -> None:
            if what not in said:
                said.add(what)
                print(f"{what}: {total} to do", file=sys.stderr, flush=True)

        yield say
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    with Bar(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield show
