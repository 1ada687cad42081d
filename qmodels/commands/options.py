"""Options of several commands: loads, allotments and their ranges, how much of a file is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import typer

from qmodels.errors import ModelError
from qmodels.units import byte_count

_MOST_NUMBERS = 100_000  # of processors, or of disks, in a range


def check_load(load: float | Iterable[float] | None) -> None:
    """ModelError for a load that no policy can carry, before anything is read.

    Examples
    --------
    >>> check_load(80.0)
    Traceback (most recent call last):
    phasefit.errors.ModelError: --load must be in (0, 1), got 80; 80 % is 0.8
    """
    from phasefit.checks import share

    given = [load] if isinstance(load, (int, float)) else load
    for each in given or ():
        share("--load", each, zero=False, one=False)


def numbers(name: str, text: str | None) -> Any:
    """Read 1,2,4 or 1-128; None where nothing is given."""
    import numpy as np

    if text is None:
        return None
    if "-" in text and "," not in text:
        low, high = _ends(name, text, text)
        if high - low >= _MOST_NUMBERS:
            raise ModelError(f"{name} {text[:60]}: {high - low + 1} numbers are more than {_MOST_NUMBERS}")
        return np.arange(low, high + 1, dtype=float)
    return np.array(sorted({float(_whole(name, part)) for part in text.split(",")}))


def _ends(name: str, text: str, part: str) -> tuple[int, int]:
    """Read 1-32, or 1 for 1-1; it is a part of the text of an option."""
    first, dash, last = part.partition("-")
    low = _whole(name, first)
    high = _whole(name, last) if dash else low
    if high < low:
        raise ModelError(f"{name} {text[:60]}: ends below its start; write {high}-{low}")
    return low, high


def _whole(name: str, text: str) -> int:
    text = text.strip(" ")
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= 1):
        raise ModelError(
            f"{name}: {text[:40]!r} is no whole number from 1 to 999999999; write 1,2,4 or 1-128"
        )
    return int(text)


def pair(name: str, text: str | None) -> tuple[float, float] | None:
    """Read 64,8; None where nothing is given."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise ModelError(f"{name} must be processors,disks such as 64,8; got {text[:40]!r}")
    return float(_whole(name, parts[0])), float(_whole(name, parts[1]))


def column_map(name: str, text: str | None) -> dict[str, str] | None:
    """Read p=nprocs,seconds=walltime_s; None where nothing is given."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(key.strip() and column.strip() for key, _, column in pairs):
        raise ModelError(f"{name}: {text[:60]!r} is no map such as p=nprocs,seconds=walltime_s")
    return each_once(name, [(key.strip(), column.strip()) for key, _, column in pairs])


def each_once(name: str, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the map of these pairs, of which no two may have one key."""
    found: dict[str, str] = {}
    for key, value in pairs:
        if key in found:
            raise ModelError(f"{name}: {key[:40]!r} is there twice; give it once")
        found[key] = value
    return found


def ranges(name: str, text: str | None) -> tuple[tuple[float, float], ...] | None:
    """Read 1-32,1-4: least and most processors, then disks; None where nothing is given."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2:
        raise ModelError(
            f"{name} must be ranges of processors and of disks such as 1-32,1-4; got {text[:40]!r}"
        )
    return tuple((float(low), float(high)) for low, high in (_ends(name, text, part) for part in parts))


def _max_bytes(text: str) -> int:
    """`byte_count` with an error that every version of typer shows: older ones hide other kinds."""
    try:
        return byte_count(text)
    except ModelError as error:
        raise typer.BadParameter(str(error)) from None


def written_to(what: str) -> Any:
    """Return the option -o; `what` is its help."""
    return typer.Option("-o", "--output", help=what)


MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        parser=_max_bytes,
        metavar="SIZE",
        help="Most text that is read of a log or trace, unpacked, such as 4GB. "
        "By default 2.1 GB of a job log, 500 MB of a trace or a table.",
    ),
]
