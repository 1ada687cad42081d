"""Times in the unit that people use for them."""

from __future__ import annotations

from math import isfinite

#: From so many seconds on a unit is used, with its length in seconds. Two of a unit before it is
#: taken, so that 75 minutes are not 1.25 hours.
_UNITS = (
    (2 * 365.25 * 86400.0, 365.25 * 86400.0, "years"),
    (2 * 86400.0, 86400.0, "days"),
    (2 * 3600.0, 3600.0, "h"),
    (120.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
)


def in_words(seconds: float, *, like: float | None = None) -> str:
    """Return a time to three digits in the unit that people would use.

    A time that stands beside another is given in the unit of that one, `like`, unless that makes
    a thousand or more of them.

    Examples
    --------
    >>> [in_words(x) for x in (0.0042, 7.551, 1064.0, 20_000.0, 388_853.0)]
    ['4.2 ms', '7.55 s', '17.7 min', '5.56 h', '4.5 days']
    >>> in_words(7800.0), in_words(7800.0, like=5838.0)
    ('2.17 h', '130 min')
    >>> in_words(7_475_760.0, like=2556.0)
    '86.5 days'
    """
    if not isfinite(seconds):
        return "unknown" if seconds != seconds else "without end"
    size = abs(seconds if like is None else like)
    for least, unit, name in _UNITS:
        if size >= least:
            number = seconds / unit
            if like is not None and abs(number) >= 999.5:
                return in_words(seconds)
            return f"{number:,.0f} {name}" if abs(number) >= 999.5 else f"{number:.3g} {name}"
    return f"{seconds:.3g} s"
