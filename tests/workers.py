"""What workers are asked to do by the tests of executors; importing it takes a worker no time."""

from __future__ import annotations

import os
import signal
import time


def rests(seconds: float) -> int:
    """Return the worker's number after so many seconds."""
    time.sleep(seconds)
    return os.getpid()


def killed_once(mark: str) -> int | None:
    """The first to come is killed as the system does when memory runs out."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return os.getpid()
    return os.kill(os.getpid(), signal.SIGKILL)


def killed_always(_: object) -> None:
    """Every worker that takes this on is killed."""
    os.kill(os.getpid(), signal.SIGKILL)
