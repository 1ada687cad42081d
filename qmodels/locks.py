"""Locks on files that tell processes apart: held by one, and gone with it however it ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


def held_lock(file: Path) -> int | None:
    """Lock a file, which is made if it is not there.

    Returns
    -------
    int or None
        Descriptor to close when the lock is given up; None where the file system has no locks.

    Raises
    ------
    BlockingIOError
        If another process holds it.
    """
    while True:
        lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise
        except OSError:  # a file system without locks
            os.close(lock)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(lock), os.stat(file)):
                return lock
        os.close(lock)  # its owner took it away just now: lock the one that is there
