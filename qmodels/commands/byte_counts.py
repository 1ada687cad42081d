"""Sizes of text as people write them, and the option that limits how much of a file is read."""

from __future__ import annotations

import re
from typing import Annotated, Final

import typer

from qmodels.errors import ModelError

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(|[kMGT]|[kKMGT]i?)B?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_MOST: Final = 2**53


def byte_count(text: str) -> int:
    """Return the number of bytes of a size such as 4GB, 512 MiB or 2000000.

    Raises
    ------
    ModelError
        If the text is no size, or one below a byte or of 2^53 bytes and more.

    Examples
    --------
    >>> byte_count("4GB"), byte_count("1.5 GiB"), byte_count("2000000"), byte_count("3k")
    (4000000000, 1610612736, 2000000, 3000)
    """
    match = _SIZE.fullmatch(text.strip(" "))
    unit = match[2].lower() if match else ""
    base = 1024 if unit.endswith("i") else 1000
    count = float(match[1]) * base ** _POWERS[unit.rstrip("i")] if match else 0.0
    if not 1.0 <= count < _MOST:
        raise ModelError(
            f"{text[:40]!r} is no size of 1 byte to 9 PB; write it as 4GB, 512MiB or 2000000"
        )
    return int(count)


def _option(text: str) -> int:
    """`byte_count` with an error that every version of typer shows: older ones hide other kinds."""
    try:
        return byte_count(text)
    except ModelError as error:
        raise typer.BadParameter(str(error)) from None


MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        parser=_option,
        metavar="SIZE",
        help="Most text that is read of a log or trace, unpacked, such as 4GB. "
        "By default 2.1 GB of a job log, 500 MB of a trace or a table.",
    ),
]
