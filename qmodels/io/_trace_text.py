"""Text of a trace: plain or gzip, never more of it in memory than allowed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from qmodels.errors import TraceFormatError
from qmodels.io.files import open_regular

MAX_BYTES = 500_000_000  #: of text, unpacked
MAX_LINE = 1_000_000  #: bytes

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 20


@contextmanager
def opened(file: str, *, unpacked: bool = True) -> Iterator[IO[bytes]]:
    """Open a regular file; gzip is known by its content and unpacked on the way."""
    with open_regular(file, what="a trace") as stream:
        try:
            packed = unpacked and stream.read(2) == _GZIP
            stream.seek(0)
            source: Any = gzip.GzipFile(fileobj=stream) if packed else stream
            yield source
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(file, error) from None


def beginning(file: str, count: int, *, unpacked: bool = True) -> bytes:
    """Give the first bytes of a file."""
    with opened(file, unpacked=unpacked) as stream:
        return stream.read(count)


def lines(file: str, most: int | None = None) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, without blanks around them, and their numbers."""
    most = most or MAX_BYTES
    left = most
    with opened(file) as stream:
        number = 0
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            left -= len(raw)
            if left < 0:
                raise _too_long(file, most)
            if len(raw) > MAX_LINE:
                what = f"the line is longer than {MAX_LINE:,} bytes; this is no trace"
                raise TraceFormatError(file, what, line=number)
            if text := _decoded(file, raw, number).strip():
                yield number, text


def whole(file: str, most: int) -> str:
    """Give all text of a file that has at most so many bytes."""
    blocks, left = [], most
    with opened(file) as stream:
        while block := stream.read(_BLOCK):
            left -= len(block)
            if left < 0:
                raise _too_long(file, most)
            blocks.append(block)
    return _decoded(file, b"".join(blocks), 1)


def _decoded(file: str, raw: bytes, line: int) -> str:
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        at = line + raw.count(b"\n", 0, error.start)
        raise TraceFormatError(file, "is not UTF-8 text; save it as UTF-8", line=at) from None


def _unreadable(file: str, error: Exception) -> TraceFormatError:
    return TraceFormatError(file, f"cannot be read: {getattr(error, 'strerror', None) or error}")


def _too_long(file: str, most: int) -> TraceFormatError:
    return TraceFormatError(
        file,
        f"has more than max_bytes = {most:,} bytes of text; cut it into parts, or raise max_bytes "
        f"(--max-bytes of a command)",
    )
