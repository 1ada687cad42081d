"""Locks on files that tell processes apart: held by one, and gone with it however it ends."""

from __future__ import annotations

import atexit
import fcntl
import os
from contextlib import suppress
from pathlib import Path


class FileLock:
    """A lock on a file, from `held_lock`.

    Parameters
    ----------
    file : Path
        The file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file.absolute()
        self.descriptor: int | None = None  # None while the file is being opened

    def give_up(self) -> None:
        """Take the file away, for others to make and lock; does nothing the second time."""
        if self in _ours:
            self.take_away()
            _ours.discard(self)
            if self.descriptor is not None:
                os.close(self.descriptor)

    def take_away(self) -> None:
        """Remove the file, unless another process holds it by now; whatever was interrupted."""
        with suppress(OSError):
            lock = self.descriptor
            if lock is None:
                lock = os.open(self.file, os.O_RDWR | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.stat(self.file)):
                os.unlink(self.file)


#: Locks of this process; each is entered before its file is made and leaves after it is removed,
#: so that a signal at any moment in between leaves one that `remove_lock_files` finds.
_ours: set[FileLock] = set()
os.register_at_fork(after_in_child=_ours.clear)


def held_lock(file: Path) -> FileLock | None:
    """Lock a file, which is made if it is not there.

    Parameters
    ----------
    file : Path
        The file.

    Returns
    -------
    FileLock or None
        To give up at the end; None where the file system has no locks.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """
    lock = FileLock(file)
    _ours.add(lock)
    while True:
        try:
            lock.descriptor = os.open(lock.file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError:
            _ours.discard(lock)
            raise
        try:
            fcntl.flock(lock.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _ours.discard(lock)
            os.close(lock.descriptor)
            raise
        except OSError:  # a file system without locks: the file would say nothing
            with suppress(OSError):
                os.unlink(lock.file)
            _ours.discard(lock)
            os.close(lock.descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock.descriptor), os.stat(lock.file)):
                return lock
        os.close(lock.descriptor)  # its owner took it away just now: lock the one that is there
        lock.descriptor = None


def remove_lock_files() -> None:
    """Remove the files of all locks of this process, which is about to end; may be any thread."""
    for lock in list(_ours):
        lock.take_away()


atexit.register(remove_lock_files)
