"""How far long work has come, on standard error."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

from qmodels.words import in_words

if TYPE_CHECKING:
    from qmodels.progress import Progress


#: Seconds between two lines of one stage where nobody watches a bar, as in a batch job's log.
EVERY: Final = 60.0
#: Seconds in which nobody need know how far work has come.
QUIET: Final = 2.0


@contextmanager
def progress_shown(*, after: float = 0.0) -> Iterator[Progress]:
    """A bar on standard error where that is a terminal; elsewhere a line a stage and a minute.

    Nothing is shown before `after` seconds, for work that is mostly done by then.
    """
    if after > 0.0:
        with ExitStack() as stack:
            due = time.monotonic() + after
            shown: list[Progress] = []

            def wait(what: str, done: int, total: int) -> None:
                if not shown and time.monotonic() >= due:
                    shown.append(stack.enter_context(progress_shown()))
                for report in shown:
                    report(what, done, total)

            yield wait
        return
    if not sys.stderr.isatty():
        with _lines() as say:
            yield say
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    with Bar(console=Console(file=cast("IO[str]", _Screen(sys.stderr))), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield show


@contextmanager
def _lines() -> Iterator[Progress]:
    """A line a stage and a minute, also while one piece of the work takes longer than that."""
    stages: dict[str, _Stage] = {}
    last = ("", 0, 0)
    guard, over = threading.Lock(), threading.Event()

    def say(what: str, done: int, total: int) -> None:
        nonlocal last
        if not total:
            return  # nothing to do is nothing to say
        with guard:
            now, last = time.monotonic(), (what, done, total)
            stage = stages.get(what)
            if stage is None:
                stages[what] = _Stage(now, done, now)
                there = f", {done:,} of them done already" if done > 1 else ""
                print(f"{what}: {total} to do{there}", file=sys.stderr, flush=True)
            elif now - stage.said >= EVERY:
                stages[what] = replace(stage, said=now)
                print(stage.told(what, now, done, total), file=sys.stderr, flush=True)

    def repeat() -> None:
        pause = EVERY
        while not over.wait(pause):
            with guard, suppress(OSError, ValueError):  # nobody may listen any more
                pause = EVERY
                what, done, total = last
                if done >= total:
                    continue
                now, stage = time.monotonic(), stages[what]
                pause = stage.said + EVERY - now
                if pause <= 0.0:
                    pause, stages[what] = EVERY, replace(stage, said=now)
                    print(stage.told(what, now, done, total), file=sys.stderr, flush=True)

    teller = threading.Thread(target=repeat, name="progress", daemon=True)
    teller.start()
    try:
        yield say
    finally:
        over.set()
        teller.join()


@contextmanager
def at_work(what: str) -> Iterator[None]:
    """Show that work goes on which cannot say how far it has come, from two seconds on.

    On a terminal something that turns, elsewhere a line a minute.
    """
    began, over = time.monotonic(), threading.Event()
    teller = threading.Thread(target=_tell, args=(what, began, over), daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell(what: str, began: float, over: threading.Event) -> None:
    if not sys.stderr.isatty():
        while not over.wait(EVERY):
            spent = in_words(time.monotonic() - began)
            print(f"{what}: at work for {spent}", file=sys.stderr, flush=True)
        return
    if not over.wait(QUIET):
        from rich.console import Console

        with Console(file=cast("IO[str]", _Screen(sys.stderr))).status(what):
            over.wait()


class _Screen:
    """A terminal that may go while work goes on: what can no longer be shown is left out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@dataclass(frozen=True)
class _Stage:
    """A stage as it was when it was first heard of; what was done by then took no time."""

    began: float
    done: int
    said: float

    def told(self, what: str, now: float, done: int, total: int) -> str:
        """A line on how far it has come, and how long the rest may take where there is telling."""
        line = f"{what}: {done:,} of {total:,} done, at work for {in_words(now - self.began)}"
        if done <= self.done:
            return line
        left = (now - self.began) / (done - self.done) * (total - done)
        return f"{line}, about {in_words(left)} left"
