"""What a user names as a file: its name, and opening it, or a word on why not; nothing is waited for."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from qmodels.errors import ModelError, TraceFormatError


def file_name(path: object) -> str:
    """Give the path as text."""
    if isinstance(path, str | bytes | os.PathLike) and (name := os.fsdecode(path)):
        return name
    shown = repr(path) if isinstance(path, str | bytes) else type(path).__name__
    raise ModelError(f"path must name a file, got {shown}")


def open_regular(file: str, *, what: str) -> IO[bytes]:
    """Open a regular file to read its bytes.

    Parameters
    ----------
    file : str
    what : str
        What it should be, such as "a job log"; used in the message.

    Raises
    ------
    TraceFormatError
        If there is no such file, it may not be read, or it is a folder, a pipe or a device: a
        pipe without a writer would be waited for without end.
    """
    try:
        stream = open(file, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller's to close
    except IsADirectoryError:
        raise TraceFormatError(file, f"is not a file but a folder; give the path of {what}") from None
    except (OSError, ValueError) as error:
        raise TraceFormatError.unreadable(file, error) from None
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise TraceFormatError(
            file, f"is not a file but a pipe or a device; save it and give the path of {what}"
        )
    return stream


@contextmanager
def opened(file: str, *, what: str, unpacked: bool = True) -> Iterator[IO[bytes]]:
    """Open a regular file; gzip is known by its content and unpacked on the way, unless that is not wanted.

    Parameters
    ----------
    file : str
    what : str
        As for `open_regular`.
    unpacked : bool

    Raises
    ------
    TraceFormatError
        As `open_regular`, or if what is read of it is damaged.
    """
    with open_regular(file, what=what) as stream:
        try:
            packed = unpacked and stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=stream)) if packed else stream
        except (OSError, EOFError, zlib.error) as error:
            raise TraceFormatError.unreadable(file, error) from None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
