"""Quantities as people write them: times such as 1h30min, sizes such as 4GB, rates of bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from qmodels.errors import ModelError

Read = TypeVar("Read")

_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?"
_TIME = re.compile(rf"{_NUMBER}([a-z]*)", re.IGNORECASE)
#: Several, such as 1h30min: each with its unit, so that none is taken for the end of a number.
_TIMES = re.compile(rf"(?:{_NUMBER}([a-z]+) ?)+", re.IGNORECASE)
_SECONDS: Final = {
    "": 1.0,  # of 0 alone
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "days": 86400.0,
    "y": 365.25 * 86400.0,
    "year": 365.25 * 86400.0,
    "years": 365.25 * 86400.0,
}
#: A number alone from which on seconds are likelier meant than hours.
_MANY_SECONDS: Final = 100.0
_SIZE: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(|[kMGT]|[kKMGT]i?)B?", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
#: Bytes of a size are below this: a float counts no further.
_MOST_BYTES: Final = 2**53
#: A number alone.
_BARE: Final = re.compile(r"([0-9]{1,15})(\.[0-9]+)?")
#: A number alone from which on bytes are likelier meant than GB.
_MANY_BYTES: Final = 1e6


def quantity(key: str, read: Callable[[str], Read], value: str | float) -> Read:
    """Read a quantity of a file or option; its key is said where it cannot be read.

    Parameters
    ----------
    key : str
        What the file or option calls it.
    read : callable
        `seconds`, `byte_count`, `bytes_per_second` or another function of a text.
    value : str or float
        As it was written; a number is already in the unit that `read` returns.

    Returns
    -------
    object
        What `read` makes of it.

    Raises
    ------
    ModelError
        If `read` refuses it.

    Examples
    --------
    >>> quantity("job.mtbf", seconds, 12)
    Traceback (most recent call last):
    phasefit.errors.ModelError: job.mtbf: 12 what? say 12h or 12min
    """
    try:
        return read(str(value))
    except ModelError as error:
        raise ModelError(f"{key}: {error}") from None


def require_unit(text: str, usual: tuple[str, str], small: tuple[str, str], many: float) -> None:
    """Raise ModelError for a number alone, but 0; it names units that would do.

    Parameters
    ----------
    text : str
        The quantity.
    usual : pair of str
        Units that are likely meant by a number that is not large.
    small : pair of str
        Those of a number of `many` or more.
    many : float
        Number from which on `small` units are meant.

    Raises
    ------
    ModelError
        If the text is a number other than 0, without a unit.

    Examples
    --------
    >>> require_unit("12", ("h", "min"), ("s", "min"), 100.0)
    Traceback (most recent call last):
    phasefit.errors.ModelError: 12 what? say 12h or 12min
    """
    bare = _BARE.fullmatch(text)
    if bare is None or float(text) == 0.0:
        return
    number = text if (bare[2] or "").strip(".0") else bare[1]
    one, other = usual if float(text) < many else small
    raise ModelError(f"{number} what? say {number}{one} or {number}{other}")


def seconds(text: str) -> float:
    """Return seconds of a time such as 24.7h, 90 min, 1h30min, 2 years or 600s.

    Parameters
    ----------
    text : str
        The time.

    Returns
    -------
    float
        Seconds, to the nanosecond.

    Raises
    ------
    ModelError
        If the text is no time, or a number other than 0 without a unit.

    Examples
    --------
    >>> seconds("24.7h"), seconds("1h 30min"), seconds("600s"), seconds("0")
    (88920.0, 5400.0, 600.0, 0.0)
    """
    stripped = text.strip()
    require_unit(stripped, ("h", "min"), ("s", "min"), _MANY_SECONDS)
    whole = _TIME.fullmatch(stripped) or _TIMES.fullmatch(stripped)
    parts = _TIME.findall(stripped) if whole else []
    units = [_SECONDS.get(unit.lower(), 0.0) for _, unit in parts]
    # Each unit less than the one before: 30min1h is a slip, and so is 1h 1h.
    if not units or 0.0 in units or units != sorted(set(units), reverse=True):
        raise ModelError(f"{text[:40]!r} is no time; write it as 24.7h, 1h30min, 600s or 2days")
    return round(sum(float(n) * unit for (n, _), unit in zip(parts, units, strict=True)), 9)


def byte_count(text: str) -> int:
    """Return the number of bytes of a size such as 4GB, 512 MiB or 700B.

    Parameters
    ----------
    text : str
        kB, MB, GB and TB are powers of 1,000, KiB to TiB of 1,024.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ModelError
        If the text is no size, has no unit, or is below a byte or of 2^53 bytes and more.

    Examples
    --------
    >>> byte_count("4GB"), byte_count("1.5 GiB"), byte_count("700B"), byte_count("3k")
    (4000000000, 1610612736, 700, 3000)
    """
    require_unit(text.strip(" "), ("GB", "GiB"), ("B", "kB"), _MANY_BYTES)
    match = _SIZE.fullmatch(text.strip(" "))
    unit = match[2].lower() if match else ""
    base = 1024 if unit.endswith("i") else 1000
    count = float(match[1]) * base ** _POWERS[unit.rstrip("i")] if match else 0.0
    if not 1.0 <= count < _MOST_BYTES:
        raise ModelError(f"{text[:40]!r} is no size of 1 byte to 9 PB; write it as 4GB, 512MiB or 700B")
    return int(count)


def bytes_per_second(text: str) -> float:
    """Return bytes per second of a rate such as 20GB/s or 160 GB/s.

    Parameters
    ----------
    text : str
        A size as `byte_count` reads it, by the second; "/s" may be left out.

    Returns
    -------
    float
        Bytes per second.

    Raises
    ------
    ModelError
        If the text is no rate, or has no unit. Bits are not guessed: a unit ends with B.

    Examples
    --------
    >>> bytes_per_second("20GB/s"), bytes_per_second("2 TiB/s"), bytes_per_second("500MB")
    (20000000000.0, 2199023255552.0, 500000000.0)
    """
    stripped = text.strip()
    require_unit(stripped, ("GB/s", "MB/s"), ("B/s", "kB/s"), _MANY_BYTES)
    bare, slash, per = stripped.rpartition("/")
    if slash and per.strip().lower() not in ("s", "sec", "second"):
        raise ModelError(f"{stripped[:40]!r} is no rate; write it as 20GB/s")
    number = bare if slash else stripped
    if re.search(r"[0-9.]\s*[kmgt]?i?bit|bps", number, re.IGNORECASE):
        raise ModelError(f"{stripped[:40]!r} is in bits; write bytes, such as 20GB/s")
    try:
        return float(byte_count(number))
    except ModelError:
        raise ModelError(f"{stripped[:40]!r} is no rate; write it as 20GB/s") from None
