"""How far long work has come, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from qmodels.commands.durations import in_words

if TYPE_CHECKING:
    from qmodels.progress import Progress


#: Seconds between two lines of one stage where nobody watches a bar, as in a batch job's log.
EVERY: Final = 60.0


@contextmanager
def progress_shown() -> Iterator[Progress]:
    """A bar on standard error where that is a terminal; elsewhere a line a stage and a minute."""
    if not sys.stderr.isatty():
        stages: dict[str, _Stage] = {}

        def say(what: str, done: int, total: int) -> None:
            if not total:
                return  # nothing to do is nothing to say
            now = time.monotonic()
            stage = stages.get(what)
            if stage is None:
                stages[what] = _Stage(now, done, now)
                there = f", {done:,} of them done before" if done > 1 else ""
                print(f"{what}: {total} to do{there}", file=sys.stderr, flush=True)
            elif now - stage.said >= EVERY:
                stages[what] = replace(stage, said=now)
                left = stage.left(now, done, total)
                print(f"{what}: {done:,} of {total:,} done{left}", file=sys.stderr, flush=True)

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


@dataclass(frozen=True)
class _Stage:
    """A stage as it was when it was first heard of; what was done by then took no time."""

    began: float
    done: int
    said: float

    def left(self, now: float, done: int, total: int) -> str:
        """How long the rest may take, in words; nothing where there is no telling."""
        if done <= self.done:
            return ""
        return f", about {in_words((now - self.began) / (done - self.done) * (total - done))} left"
