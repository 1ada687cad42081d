"""Numbers and times as people say them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def cut(text: str, most: int) -> str:
    """Return a text, cut at so many characters; three dots say so.

    Parameters
    ----------
    text : str
        The text.
    most : int
        Largest number of characters, the dots included.

    Examples
    --------
    >>> cut("processors", 10), cut("processors and disks", 10)
    ('processors', 'process...')
    """
    return text if len(text) <= most else text[: most - 3] + "..."


def named_values(
    values: Mapping[str, object], units: Mapping[str, str], *, width: int, digits: int = 6
) -> str:
    """Return name, value and unit as text, one to a line.

    Parameters
    ----------
    values : mapping of str to object
        By their names.
    units : mapping of str to str
        Of those that have one.
    width : int
        Characters of the column of names.
    digits : int
        Significant digits of a float.

    Examples
    --------
    >>> print(named_values({"mean": 1.5, "states": 7}, {"mean": "s"}, width=6))
    mean   1.5 s
    states 7
    """
    lines = []
    for name, value in values.items():
        shown = f"{value:.{digits}g}" if isinstance(value, float) else str(value)
        lines.append(f"{name:<{width}} {shown} {units.get(name, '')}".rstrip())
    return "\n".join(lines)


def unit_of(seconds: float) -> tuple[float, str]:
    """Return the unit that people use for such a time: its seconds and its name.

    Parameters
    ----------
    seconds : float
        The time.

    Returns
    -------
    tuple of (float, str)
        Length of the unit in seconds, and "years", "days", "h", "min", "s" or "ms".

    Examples
    --------
    >>> unit_of(2556.0), unit_of(0.0)
    ((60.0, 'min'), (1.0, 's'))
    """
    return next(((unit, name) for least, unit, name in _UNITS if seconds >= least), (1.0, "s"))


def in_words(seconds: float, *, like: float | None = None) -> str:
    """Return a time to three digits in the unit that people would use.

    A time that stands beside another is given in the unit of that one, `like`, unless that makes
    a thousand or more of them, or less than a hundredth of one.

    Parameters
    ----------
    seconds : float
        The time.
    like : float, optional
        Seconds of the time beside which this one stands.

    Returns
    -------
    str
        "unknown" of NaN, "without end" of what is infinite.

    Examples
    --------
    >>> [in_words(x) for x in (0.0042, 7.551, 1064.0, 20_000.0, 388_853.0)]
    ['4.2 ms', '7.55 s', '17.7 min', '5.56 h', '4.5 days']
    >>> in_words(7800.0), in_words(7800.0, like=5838.0)
    ('2.17 h', '130 min')
    >>> in_words(7_475_760.0, like=2556.0), in_words(0.25, like=2556.0)
    ('86.5 days', '250 ms')
    """
    if not isfinite(seconds):
        return "unknown" if seconds != seconds else "without end"
    size = abs(seconds if like is None else like)
    for least, unit, name in _UNITS:
        if size >= least:
            number = seconds / unit
            if like is not None and (abs(number) >= 999.5 or 0.0 < abs(number) < 0.01):
                return in_words(seconds)
            return f"{number:,.0f} {name}" if abs(number) >= 999.5 else f"{number:.3g} {name}"
    return f"{seconds:.3g} s"


def plain_number(x: float, digits: int = 4) -> str:
    """Return a number to so many digits, without an exponent where that can be.

    Parameters
    ----------
    x : float
        The number.
    digits : int
        How many are kept, by rounding.

    Returns
    -------
    str
        The number.

    Examples
    --------
    >>> [plain_number(x) for x in (12671.3, 0.0049437, 0.0, 1.0, 2.5e-9)]
    ['12,670', '0.004944', '0', '1', '2.5e-09']
    """
    short = float(f"{x:.{digits - 1}e}")
    if short == 0.0 or 1e-4 <= abs(short) < 1e9:
        return f"{short:,.12f}".rstrip("0").rstrip(".")
    return f"{short:.{digits}g}"


def allotment_in_words(base: tuple[float, float]) -> str:
    """Return processors and disks as people say them.

    Parameters
    ----------
    base : (float, float)
        The allotment.

    Examples
    --------
    >>> allotment_in_words((1.0, 1.0)), allotment_in_words((128.0, 1.0))
    ('one processor and one disk', '128 processors and 1 disk')
    """
    if base == (1.0, 1.0):
        return "one processor and one disk"
    return allotment_counted(*base)


def allotment_counted(processors: float, disks: float) -> str:
    """Return "128 processors and 1 disk", also of one processor and one disk.

    Parameters
    ----------
    processors, disks : float
        The allotment.
    """
    return f"{counted(processors, 'processor')} and {counted(disks, 'disk')}"


def counted(number: float, noun: str) -> str:
    """Return "1 disk", "2 disks".

    Parameters
    ----------
    number : float
        How many.
    noun : str
        Of one of them.
    """
    return f"{number:g} {plural(noun, number)}"


def plural(noun: str, number: float) -> str:
    """Return a noun as it stands behind a number.

    Parameters
    ----------
    noun : str
        Of one.
    number : float
        How many.

    Examples
    --------
    >>> plural("disk", 1), plural("process", 2)
    ('disk', 'processes')
    """
    if number == 1:
        return noun
    return f"{noun}{'es' if noun.endswith('s') else 's'}"


def label_width(labels: Iterable[str]) -> int:
    """Return how wide the column of a table is that has policies by their labels.

    Parameters
    ----------
    labels : iterable of str
        Of its rows.
    """
    return max([14, *map(len, labels)])


def of_base(base: tuple[float, float]) -> str:
    """Return what to say behind "speedup": nothing where it stands over one processor and one disk.

    Parameters
    ----------
    base : (float, float)
        Processors and disks over whose time it stands.

    Examples
    --------
    >>> of_base((1.0, 1.0)), of_base((128.0, 1.0))
    ('', ' over 128 processors and 1 disk')
    """
    return "" if base == (1.0, 1.0) else f" over {allotment_in_words(base)}"


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first of some names, and how many there are besides.

    Parameters
    ----------
    names : sequence of str
        Any number.
    most : int
        Names that are said at the most.

    Examples
    --------
    >>> first_names(["SP(1,1)", "DP(1)"], 2), first_names(["SP(1,1)", "DP(1)", "DP(2)"], 2)
    ('SP(1,1), DP(1)', 'SP(1,1), DP(1) and 1 more')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
