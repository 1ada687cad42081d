"""Counters of a process and all its descendants, as Linux keeps them in /proc."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from qmodels.errors import ModelError

PROC: Final = "/proc"
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, from linux/prctl.h

Process = tuple[int, int]  #: number and when it began, for numbers are given out again


class Counters(NamedTuple):
    """Time and bytes that a process and its children that it has waited for have used so far.

    Seconds of processor time in its own code and in the system's, and bytes read and written.
    """

    user: float  #: seconds in its own code
    system: float  #: seconds in the system's code
    read: int  #: bytes
    written: int  #: bytes

    def minus(self, other: Counters) -> Counters:
        """Return the difference; where a counter went back, nothing.

        Parameters
        ----------
        other : Counters
            The earlier ones.
        """
        return Counters(
            max(self.user - other.user, 0.0),
            max(self.system - other.system, 0.0),
            max(self.read - other.read, 0),
            max(self.written - other.written, 0),
        )

    def plus(self, other: Counters) -> Counters:
        """Return the sum.

        Parameters
        ----------
        other : Counters
            Of another process.
        """
        return Counters(
            self.user + other.user,
            self.system + other.system,
            self.read + other.read,
            self.written + other.written,
        )


NOTHING: Final = Counters(0.0, 0.0, 0, 0)


@dataclass(frozen=True)
class Sample:
    """One look at a process.

    Parameters
    ----------
    parent : int
        Number of the parent process.
    state : str
        A letter: R runs, S sleeps, D waits for a disk, Z has ended.
    counters : Counters
        Used so far.
    on_queue : float
        Seconds that its first thread ran or was ready to run, children left out.
    """

    parent: int
    state: str
    counters: Counters
    on_queue: float = 0.0


class ProcessTree:
    """The descendants of this process, looked at again and again.

    Parameters
    ----------
    storage : bool
        Whether to count bytes that reached storage, or else those of all calls to read and write.

    Raises
    ------
    ModelError
        If this system does not keep such counters.

    Notes
    -----
    The system adds what a child used to its parent's counters when the parent waits for it, so
    processes that came and went between two looks are not lost. One whose parent has ended
    becomes a child of this process, which makes itself their heir.

    Descendants that are there when the tree is made are no part of it, nor what they start: a
    pool of the caller's own, or a daemon that a command recorded before has left behind.
    """

    def __init__(self, *, storage: bool = False) -> None:
        names = ("read_bytes", "write_bytes") if storage else ("rchar", "wchar")
        self._fields = tuple(f"{name}:".encode() for name in names)
        self._tick = 1.0
        self._children_listed = True
        self.hidden: set[int] = set()  # of other users: no counters of bytes
        try:
            self._tick = 1.0 / os.sysconf("SC_CLK_TCK")
            self._counters_of(os.getpid())
        except (OSError, ValueError, AttributeError, LookupError) as error:
            raise ModelError(
                f"recording needs the counters of Linux in {PROC}/PID/io and {PROC}/PID/stat, "
                f"which this system does not have ({error})"
            ) from None
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self._children_listed = os.path.exists(self._list_of(os.getpid(), os.getpid()))
        self._others: frozenset[Process] = frozenset()
        self._others = frozenset(self.look())

    def look(self) -> dict[Process, Sample]:
        """Return all descendants there are now."""
        samples: dict[Process, Sample] = {}
        left = self._children(os.getpid()) if self._children_listed else self._all_processes()
        while left:
            pid = left.pop()
            with suppress(OSError, ValueError, LookupError):  # it has ended meanwhile
                state, parent, began, user, system, threads = self._stat(pid)
                if self._children_listed and (pid, began) in self._others:
                    continue
                read, written = self._moved_bytes(pid)
                counters = Counters(user, system, read, written)
                samples[pid, began] = Sample(parent, state, counters, self._time_on_queue(pid))
                if self._children_listed and threads:
                    left += self._children(pid)
        return samples if self._children_listed else self._descendants(samples)

    def waits_for_disk(self, pid: int) -> bool:
        """Return whether a thread of a process waits for storage at this moment.

        Parameters
        ----------
        pid : int
            Number of the process.
        """
        with suppress(OSError, ValueError, LookupError):
            for thread in os.listdir(f"{PROC}/{pid}/task"):
                with open(f"{PROC}/{pid}/task/{thread}/stat", "rb", buffering=0) as stream:
                    if stream.read(1000).rpartition(b")")[2].split(maxsplit=1)[0] == b"D":
                        return True
        return False

    def name(self, pid: int) -> str:
        """Return the name of a process, or nothing if it has ended.

        Parameters
        ----------
        pid : int
            Number of the process.
        """
        with suppress(OSError), open(f"{PROC}/{pid}/comm", "rb") as stream:
            return stream.read(64).decode(errors="replace").strip()
        return ""

    def _stat(self, pid: int) -> tuple[str, int, int, float, float, int]:
        with open(f"{PROC}/{pid}/stat", "rb", buffering=0) as stream:
            # The name comes in brackets and may hold anything, brackets too.
            fields = stream.read(4096).rpartition(b")")[2].split()
        user, system, of_children_user, of_children_system = map(int, fields[11:15])
        return (
            fields[0].decode(),
            int(fields[1]),
            int(fields[19]),
            (user + of_children_user) * self._tick,
            (system + of_children_system) * self._tick,
            int(fields[17]),
        )

    def _moved_bytes(self, pid: int) -> tuple[int, int]:
        try:
            return self._counters_of(pid)
        except PermissionError:
            self.hidden.add(pid)
            return 0, 0

    def _counters_of(self, pid: int) -> tuple[int, int]:
        with open(f"{PROC}/{pid}/io", "rb", buffering=0) as stream:
            words = stream.read(4096).split()
        read, written = (int(words[words.index(field) + 1]) for field in self._fields)
        return read, written

    @staticmethod
    def _time_on_queue(pid: int) -> float:
        """Nanoseconds that it ran and that it waited for a processor; not every Linux tells."""
        with suppress(OSError, ValueError):
            with open(f"{PROC}/{pid}/schedstat", "rb", buffering=0) as stream:
                ran, waited, _ = map(int, stream.read(200).split())
            return 1e-9 * (ran + waited)
        return 0.0

    @staticmethod
    def _list_of(pid: int, thread: int | str) -> str:
        return f"{PROC}/{pid}/task/{thread}/children"

    def _children(self, pid: int) -> list[int]:
        numbers: list[int] = []
        for thread in os.listdir(f"{PROC}/{pid}/task"):
            with suppress(OSError), open(self._list_of(pid, thread), "rb", buffering=0) as stream:
                numbers += map(int, stream.read(1 << 16).split())
        return numbers

    @staticmethod
    def _all_processes() -> list[int]:
        return [int(name) for name in os.listdir(PROC) if name.isdigit()]

    def _descendants(self, samples: dict[Process, Sample]) -> dict[Process, Sample]:
        """Of all processes, those below this one."""
        parents = {
            process[0]: sample.parent for process, sample in samples.items() if process not in self._others
        }
        this_process = os.getpid()

        def below(pid: int) -> bool:
            seen = set()
            while pid in parents and pid not in seen:
                seen.add(pid)
                pid = parents[pid]
                if pid == this_process:
                    return True
            return False

        return {process: sample for process, sample in samples.items() if below(process[0])}
