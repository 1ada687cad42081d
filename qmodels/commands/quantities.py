"""Times and rates as people write them: 24.7h, 1h30min, 20GB/s."""

from __future__ import annotations

import re
from typing import Final

from qmodels.commands.byte_counts import byte_count
from qmodels.errors import ModelError

_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?"
_TIME = re.compile(rf"{_NUMBER}([a-z]*)", re.IGNORECASE)
#: Several, such as 1h30min: each with its unit, so that none is taken for the end of a number.
_TIMES = re.compile(rf"(?:{_NUMBER}([a-z]+) ?)+", re.IGNORECASE)
_UNITS: Final = {
    "": 1.0, "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0,
    "day": 86400.0, "days": 86400.0, "y": 365.25 * 86400.0, "year": 365.25 * 86400.0,
    "years": 365.25 * 86400.0,
}  # fmt: skip


def seconds(text: str | float) -> float:
    """Return seconds of a time such as 24.7h, 90 min, 1h30min, 2 years or 600.

    Raises
    ------
    ModelError
        If the text is no time.

    Examples
    --------
    >>> seconds("24.7h"), seconds("1h 30min"), seconds("600"), seconds(5)
    (88920.0, 5400.0, 600.0, 5.0)
    """
    given = str(text).strip()
    whole = _TIME.fullmatch(given) or _TIMES.fullmatch(given)
    parts = _TIME.findall(given) if whole else []
    units = [_UNITS.get(unit.lower(), 0.0) for _, unit in parts]
    # Each unit less than the one before: 30min1h is a slip, and so is 1h 1h.
    if not units or 0.0 in units or units != sorted(set(units), reverse=True):
        raise ModelError(
            f"{str(text)[:40]!r} is no time; write it as 24.7h, 1h30min, 600s or 2days"
        )
    return round(sum(float(n) * unit for (n, _), unit in zip(parts, units, strict=True)), 9)


def bytes_per_second(text: str | float) -> float:
    """Return bytes per second of a rate such as 20GB/s or 160 GB/s.

    Raises
    ------
    ModelError
        If the text is no rate. Bits are not guessed: a unit ends with B.

    Examples
    --------
    >>> bytes_per_second("20GB/s"), bytes_per_second("2 TiB/s"), bytes_per_second(5e9)
    (20000000000.0, 2199023255552.0, 5000000000.0)
    """
    given = str(int(text)) if isinstance(text, (int, float)) else text.strip()
    bare, slash, per = given.rpartition("/")
    if slash and per.strip().lower() not in ("s", "sec", "second"):
        raise ModelError(f"{given[:40]!r} is no rate; write it as 20GB/s")
    number = bare if slash else given
    if re.search(r"[0-9.]\s*[kmgt]?i?bit|bps", number, re.IGNORECASE):
        raise ModelError(f"{given[:40]!r} is in bits; write bytes, such as 20GB/s")
    try:
        return float(byte_count(number))
    except ModelError:
        raise ModelError(f"{given[:40]!r} is no rate; write it as 20GB/s") from None
