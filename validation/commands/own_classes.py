"""Classes of the user's own, named on the command line: found, and given so much time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qmodels.errors import ModelError

if TYPE_CHECKING:
    from types import FrameType


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
