"""Classes of the user's own, named on the command line: found, and given so much time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qmodels.commands.answers import print_json
from qmodels.errors import ModelError

if TYPE_CHECKING:
    from types import FrameType

FAILED = 1  #: exit code when one breaks a promise

Check = Annotated[
    str | None, typer.Option(help="Only check that this one keeps the rules of its kind, and stop.")
]
CheckSeconds = Annotated[float, typer.Option(min=0.1, help="With --check: stop one that takes longer.")]


def find_own_modules() -> None:
    """Let a class of the user's in the current folder be imported, here and in workers."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


class _Late(BaseException):
    """The time is over; no error, so that nothing that catches errors takes it."""


@contextmanager
def within_seconds(seconds: float, who: str) -> Iterator[None]:
    """Give Python code so much time; ModelError with the line it was at when that was over."""
    at = ""

    def over(number: int, frame: FrameType | None) -> None:
        nonlocal at
        at = "" if frame is None else f" ({frame.f_code.co_filename}, line {frame.f_lineno})"
        raise _Late

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except _Late:
        raise ModelError(
            f"{who} was not done after {seconds:g} s{at}; if it has no endless loop, give it more "
            f"with --check-seconds"
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def answer_check(check: Callable[[Any], Any], one: Any, seconds: float, *, as_json: bool) -> None:
    """Print whether a strategy or a balancer keeps its promises; exit with `FAILED` if it does not.

    Parameters
    ----------
    check : callable
        Runs the contract; its result has `passed` and `table`.
    one : type
        What is checked.
    seconds : float
        Time that it is given.
    as_json : bool
        Whether to print JSON.
    """
    with within_seconds(seconds, f"{check.__name__.removeprefix('check_')} {one.name}"):
        found = check(one)
    print_json(found) if as_json else typer.echo(found.table())
    if not found.passed:
        raise typer.Exit(FAILED)
