"""The process itself: how it begins, how it ends when told to, soon and saying what is kept."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

#: What may tell a command to stop, and what to call it.
SIGNALS: Final = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "told to stop (TERM)",
    signal.SIGHUP: "the terminal has gone (HUP)",
}
#: Seconds in which a command is to stop by itself, before it is stopped where it is.
GRACE: Final = 1.2
#: Objects that may be made between two looks for garbage in cycles; Python's own number is 700 or
#: 2,000.
_OBJECTS_BETWEEN: Final = 100_000

#: Who can say what is kept of work that is stopped, such as a journal.
_keepers: list[Callable[[], str]] = []


@contextmanager
def kept(sentence: Callable[[], str]) -> Iterator[None]:
    """Have a command that is stopped within the block say what is kept of its work.

    Parameters
    ----------
    sentence : callable
        Returns what is kept, in words.

    Yields
    ------
    None
        The block runs once.
    """
    _keepers.append(sentence)
    try:
        yield
    except Stopped:
        raise  # it is said at the very end
    except BaseException:
        _keepers.remove(sentence)
        raise
    else:
        _keepers.remove(sentence)


def all_kept() -> list[str]:
    """Return what is kept, a clause each; may be asked at any moment, from any thread."""
    return [sentence() for sentence in _keepers]


class Stopped(BaseException):
    """A signal told the command to stop; no error, so that no handler of errors takes it.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(SIGNALS[signal.Signals(number)])

    @property
    def exit_code(self) -> int:
        """128 and the number of the signal, as shells have it."""
        return 128 + self.number


@contextmanager
def stoppable(farewell: Callable[[int], None]) -> Iterator[None]:
    """Let signals end the block by `Stopped`, or where that takes too long, the process.

    Parameters
    ----------
    farewell : callable
        Called as ``farewell(number)`` before the process is ended from outside the block; it
        tidies up and says what is kept.

    Notes
    -----
    Python calls its signal handlers between two instructions of the main thread, which may be
    far apart while compiled code runs. The number of the signal is therefore also written into
    a pipe, at once, that a second thread reads: if the process is still there after `GRACE`
    seconds, that thread ends it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    closed = threading.Event()

    def watch() -> None:
        told = os.read(reader, 1)  # nothing, once the writing end is closed
        os.close(reader)
        if told and told[0] in SIGNALS and not closed.wait(GRACE):
            farewell(told[0])
            os._exit(128 + told[0])

    def stop(number: int, frame: object) -> None:
        for each in SIGNALS:  # one is enough: a second must not cut the tidying short
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    threading.Thread(target=watch, name="stopping", daemon=True).start()
    for number in SIGNALS:
        if before[number] is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, stop)
    try:
        yield
    finally:
        closed.set()
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        with suppress(OSError):
            os.close(writer)


def open_standard_streams() -> None:
    """Give a process that was started without them standard streams that lead nowhere.

    Otherwise the next file it opens would become its standard output or standard error.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - for the life of the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def collect_seldom() -> None:
    """Make the collector look for garbage in cycles seldom, in a process of this project.

    Importing this project's packages makes some million objects, none of which is garbage; to look
    through them again and again took a sixth of that time, and of laying out a sweep's points more.
    What no longer is pointed at goes at once all the same.

    Examples
    --------
    >>> collect_seldom()
    >>> import gc
    >>> gc.isenabled(), gc.get_threshold()[0] >= 100_000
    (True, True)
    """
    gc.set_threshold(_OBJECTS_BETWEEN, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
