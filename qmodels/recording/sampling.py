"""Looking at a running command's counters again and again; light, so that it starts at once."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from phasefit.checks import real_number
from qmodels.errors import ModelError, reason_of
from qmodels.recording.process_tree import NOTHING, Counters, Process, ProcessTree, Sample

INTERVAL = 0.05  #: seconds between two looks
LEAST_RATE = 1e6  #: bytes per second below which a process does no I/O to speak of

_INTERVALS = 0.005, 60.0
_SHARE = 0.005  # of half of all processors that looking may take; else the interval is longer
_NEARLY = 0.85  # of an interval
_MANY = 200_000  # entries, after which the interval doubles whenever their number has doubled
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_FROM_KEYBOARD = ("SIGINT", "SIGQUIT")


@dataclass(frozen=True)
class Sampled:
    """A run of a command, and what was seen of it.

    Parameters
    ----------
    command : str
        With its arguments.
    log : Log
        Activity of each process.
    exit_code : int
        Of the command; 128 and the number of the signal that ended it.
    began : float
        When it was started, by the clock of `time.monotonic`.
    seconds : float
        That it took.
    looking : float
        Processor seconds that looking took.
    pace : float
        Seconds between the last two looks.
    """

    command: str
    log: Log
    exit_code: int
    began: float
    seconds: float
    looking: float
    pace: float


def sample_command(command: Sequence[str], *, interval: float = INTERVAL, storage: bool = False) -> Sampled:
    """Run a command and look at its processes; see `record_command`.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    interval : float
        Seconds between two looks.
    storage : bool
        Whether to count bytes that reached storage only.

    Returns
    -------
    Sampled
        The run, and what was seen of it.

    Raises
    ------
    ModelError
        If the system is not Linux, an argument is out of range or the command cannot be started.
    """
    if not sys.platform.startswith("linux"):
        raise ModelError(f"recording reads the counters of Linux in /proc; this system is {sys.platform}")
    words = [os.fspath(word) for word in command]
    if not words:
        raise ModelError("give the command to record, behind two dashes: record -- ./solver in.toml")
    interval = real_number("interval", interval, least=_INTERVALS[0])
    if interval > _INTERVALS[1]:
        raise ModelError(f"interval must be at most {_INTERVALS[1]:g} s, got {interval:g}")
    log = Log(ProcessTree(storage=storage))
    with _passing_on() as started:
        began = time.monotonic()
        try:
            process = subprocess.Popen(words)
        except (OSError, ValueError) as error:
            raise ModelError(f"{words[0]} cannot be started: {reason_of(error)}") from None
        started(process.pid)
        looking = time.process_time()
        share = _SHARE * max(1.0, (os.cpu_count() or 1) / 2)
        pace, there = interval, True
        with _waiter(process) as ended:
            while there:
                there = not ended(began + log.last + pace - time.monotonic())
                # A command that has ended is looked at once more before it is waited for, after
                # which its counters are gone.
                now = time.monotonic() - began
                samples = log.tree.look()
                log.look(now, samples)
                each = (time.process_time() - looking) / max(log.looks, 1)
                many = (len(log.rows[0]) // _MANY).bit_length()
                pace = max(interval, each / share) * 2**many
                if there:
                    _reap_orphans(process.pid, samples)
        seconds = time.monotonic() - began
        looking = time.process_time() - looking
        status = process.wait()
    code = status if status >= 0 else 128 - status
    return Sampled(" ".join(words)[:200], log, code, began, seconds, looking, pace)


@contextmanager
def _waiter(process: subprocess.Popen[bytes]) -> Iterator[Callable[[float], bool]]:
    """Give a function that waits for so many seconds, or until the process has ended."""
    try:
        watch = os.pidfd_open(process.pid)
    except (OSError, AttributeError):  # Linux before 5.3
        just_asked = os.WEXITED | os.WNOHANG | os.WNOWAIT

        def ended(seconds: float) -> bool:
            time.sleep(max(seconds, 0.0))
            return os.waitid(os.P_PID, process.pid, just_asked) is not None

        yield ended
        return
    try:
        yield lambda seconds: bool(select.select([watch], [], [], max(seconds, 0.0))[0])
    finally:
        os.close(watch)


def _reap_orphans(command: int, samples: dict[Process, Sample]) -> None:
    """Wait for descendants that have ended after their parents, but leave the command itself."""
    for (pid, _), sample in samples.items():
        if sample.state == "Z" and sample.parent == os.getpid() and pid != command:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


@contextmanager
def _passing_on() -> Iterator[Callable[[int], None]]:
    """Give a function that names the process to which signals are passed on from then."""
    child: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield child.append  # signals go to the main thread, whose business they are
        return
    early: list[int] = []

    def started(pid: int) -> None:
        child.append(pid)
        while early:
            pass_on(early.pop(0), None)

    def pass_on(number: int, frame: FrameType | None) -> None:
        if not child:
            early.append(number)
            return
        # What the keyboard sends goes to all processes in the foreground, the command too.
        if signal.Signals(number).name in _FROM_KEYBOARD and _in_foreground():
            return
        try:
            os.kill(child[0], number)
        except ProcessLookupError:
            return

    before: dict[int, Any] = {}
    # Whoever watches the signals of this process must not end it while the command still runs.
    wakeup = signal.set_wakeup_fd(-1)
    try:
        for name in _PASSED_ON:
            number = getattr(signal, name)
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, pass_on)
        yield started
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        for number in early:
            signal.raise_signal(number)


def _in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


class Log:
    """Activity of each process between two looks, where it did something.

    Parameters
    ----------
    tree : ProcessTree
        Processes to look at.

    Attributes
    ----------
    rows : list of array
        Eight columns: process, from, to; seconds that it ran or was ready to, of its own code and
        in all; bytes read, bytes written; whether a thread waits for storage.
    """

    def __init__(self, tree: ProcessTree) -> None:
        self.tree = tree
        self.last, self.looks = 0.0, 0
        self.seen: dict[Process, int] = {}
        self.before: dict[Process, Sample] = {}
        self.moved, self.busiest = 0, 0.0
        self.rows = [array("d") for _ in range(8)]

    def look(self, now: float, samples: dict[Process, Sample]) -> None:
        """Take in one look at all processes.

        Parameters
        ----------
        now : float
            Seconds.
        samples : dict
            Process to sample.
        """
        length = now - self.last
        if length <= 0:
            return
        gone: dict[int, Counters] = {}
        for process, sample in self.before.items():
            if process not in samples:
                gone[sample.parent] = gone.get(sample.parent, NOTHING).plus(sample.counters)
        kept: dict[Process, Sample] = {}
        for process, sample in samples.items():
            number = self.seen.setdefault(process, len(self.seen))
            old = self.before.get(process)
            kept[process] = sample
            # What a child that has ended used is its parent's now, and was noted as the child's.
            before = NOTHING if old is None else old.counters
            done = sample.counters.minus(before.plus(gone.get(process[0], NOTHING)))
            ready = sample.on_queue - (0.0 if old is None else old.on_queue)
            self._note((number, process[0], sample.state), now, done, ready)
        self.before = kept
        self.last = now
        self.looks += 1

    def _note(self, whose: tuple[int, int, str], now: float, done: Counters, ready: float) -> None:
        number, pid, state = whose
        length = now - self.last
        moved = done.read + done.written
        self.moved += moved
        busy = done.user + done.system
        self.busiest = max(self.busiest, busy / max(length, 0.05))
        waits = False
        if moved < LEAST_RATE * length and busy < 0.5 * length and state not in "ZX":
            waits = state == "D" or self.tree.waits_for_disk(pid)
        if busy > 0 or waits or moved >= LEAST_RATE * length:
            # Computing takes as long as it has to wait for a processor, too. A look takes a while,
            # so what is nearly all of an interval is all of it.
            ready = max(ready, busy) if ready < _NEARLY * length else length
            user_time = ready * done.user / busy if busy > 0 else 0.0
            row = (number, self.last, now, user_time, ready, done.read, done.written, waits)
            for column, value in zip(self.rows, row, strict=True):
                column.append(value)
