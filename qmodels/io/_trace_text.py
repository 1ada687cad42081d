"""Text of a trace: plain or gzip, never more of it in memory than allowed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import IO

from qmodels.errors import TraceFormatError
from qmodels.io import files

MAX_BYTES = 500_000_000  #: of text, unpacked
MAX_LINE = 1_000_000  #: bytes

_BLOCK = 1 << 20


class Budget:
    """How many bytes of text may still be read of one trace, which may have several files."""

    def __init__(self, most: int | None = None) -> None:
        self.most = self.left = most or MAX_BYTES

    def take(self, file: str, count: int) -> None:
        """Count bytes that were read; TraceFormatError where they are too many."""
        self.left -= count
        if self.left < 0:
            raise _too_long(file, self.most)


def _budget(given: Budget | int | None) -> Budget:
    return given if isinstance(given, Budget) else Budget(given)


def opened(file: str, *, unpacked: bool = True) -> AbstractContextManager[IO[bytes]]:
    """Open a trace; see `files.opened`."""
    return files.opened(file, what="a trace", unpacked=unpacked)


def beginning(file: str, count: int, *, unpacked: bool = True) -> bytes:
    """Give the first bytes of a file."""
    with opened(file, unpacked=unpacked) as stream:
        return stream.read(count)


def lines(file: str, most: Budget | int | None = None) -> Iterator[tuple[int, str]]:
    """Give the lines that are not blank, without blanks around them, and their numbers."""
    budget = _budget(most)
    with opened(file) as stream:
        number = 0
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            budget.take(file, len(raw))
            if len(raw) > MAX_LINE:
                what = f"the line is longer than {MAX_LINE:,} bytes; this is no trace"
                raise TraceFormatError(file, what, line=number)
            if text := _decoded(file, raw, number).strip():
                yield number, text


def whole(file: str, most: Budget | int) -> str:
    """Give all text of a file that has at most so many bytes."""
    blocks, budget = [], _budget(most)
    with opened(file) as stream:
        while block := stream.read(_BLOCK):
            budget.take(file, len(block))
            blocks.append(block)
    return _decoded(file, b"".join(blocks), 1)


def _decoded(file: str, raw: bytes, line: int) -> str:
    try:
        return raw.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        at = line + raw.count(b"\n", 0, error.start)
        raise TraceFormatError(file, "is not UTF-8 text; save it as UTF-8", line=at) from None


def _too_long(file: str, most: int) -> TraceFormatError:
    return TraceFormatError(
        file,
        f"has more than max_bytes = {most:,} bytes of text; cut it into parts, or raise max_bytes "
        f"(--max-bytes of a command)",
    )
