"""Damaged copies of a file, read one after the other: what came of each, and how much memory."""

from __future__ import annotations

import contextlib
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from qmodels.errors import TraceFormatError

SECONDS = 20.0  #: of computing, after which a file of a kilobyte counts as never read to its end
MEMORY = 200_000  #: kB by which reading files of a kilobyte may raise the peak of the process

_STRANGE = (
    b"nan",
    b"\x00",
    b"1e999",
    b"_",
    b"\n",
    b" ",
    b";",
    b"\r",
    b"-",
    b"\xd9\xa3",
    b"9" * 99,
)


def mutated(text: bytes, rng: np.random.Generator) -> bytes:
    """`text` after one to three small accidents."""
    data = bytearray(text)
    for _ in range(rng.integers(1, 4)):
        at, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
        match rng.integers(5):
            case 0:
                data[at] = int(rng.integers(256))
            case 1:
                del data[at : at + length]
            case 2:
                data[at:at] = data[at // 2 : at // 2 + length]
            case 3:
                data[at:at] = _STRANGE[rng.integers(len(_STRANGE))]
            case _:
                del data[at:]
        data = data or bytearray(b"x")
    return bytes(data)


@contextlib.contextmanager
def processor_seconds(most: float) -> Iterator[None]:
    """Raise RuntimeError when the block has computed for so long, waiting not counted."""

    def give_up(number: int, frame: object) -> None:
        raise RuntimeError(f"not ended after {most:g} s of processor time")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def survived(
    file: Path,
    content: bytes,
    outcome: Callable[[Path], str],
    rounds: int,
    rng: np.random.Generator,
    note: str,
) -> Counter[str]:
    """Read damaged copies of `content`; count the outcomes and the kB of memory on top.

    `outcome` raises for whatever is neither a sound table nor a typed error; the number of the
    copy is then noted beside `note`, which must hold the seed.
    """
    seen: Counter[str] = Counter()
    before = _peak(anew=True)
    for number in range(rounds):
        file.write_bytes(mutated(content, rng))
        try:
            with processor_seconds(SECONDS):
                seen[outcome(file)] += 1
        except Exception as error:
            error.add_note(f"input {number} of {note}")
            raise
    grown = _peak() - before
    assert grown < MEMORY, f"{grown} kB for {note}"
    seen["kB"] = grown
    return seen


def refusal(error: TraceFormatError, *places: Path) -> str:
    """What to count of a typed error; it must begin with the file, or the folder, that it is of."""
    files = [str(place) for place in places]
    assert error.file in files, (error.file, files)
    assert str(error).startswith(error.file), str(error)
    return "refused" if error.line is None else "refused with its line"


def _peak(*, anew: bool = False) -> int:
    """Largest resident memory of this process so far, or from now on; kB."""
    if anew:
        with contextlib.suppress(OSError):  # only Linux can begin again
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
