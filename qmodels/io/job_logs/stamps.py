"""Times and durations as the accounting of batch systems writes them."""

from __future__ import annotations

import calendar
import datetime
import re
import zoneinfo
from functools import lru_cache

from qmodels.errors import ModelError

#: Words for a time that is not known.
NO_TIME = frozenset({"", "unknown", "none", "n/a", "na", "nan", "null", "nat", "-", "-1"})
#: Seconds from here on are beyond the year 5000: milliseconds, most likely.
LATEST = 1e11

#: What is said of other texts; 03/02/2026 is February to some and March to others.
NOT_A_TIME = "not a time; one such as 2026-02-03 08:00:00, or seconds since 1970, would do"

_MOST_HOURS = 100_000  # that are remembered: those of eleven years
_TWO = {f"{n:02d}": n for n in range(60)}
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?", re.ASCII)  # of a float all digits are written
_DURATION = re.compile(
    r"(?:([0-9]{1,6})[-:](?=[0-9]+:[0-9]+:))?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,2})"
    r"(?:\.([0-9]{1,9}))?",
    re.ASCII,
)


def zone_of(name: str | None) -> zoneinfo.ZoneInfo | None:
    """The time zone of a name such as Europe/Berlin; None for None.

    Raises
    ------
    ModelError
        If there is no such zone.
    """
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError):
        raise ModelError(
            f"timezone must be a name of the tz database such as 'Europe/Berlin', got {name!r:.60}"
        ) from None


class Clock:
    """Turns time stamps into seconds of the Unix epoch.

    Local times without a zone are taken on the clock of `zone`; where it is None, as if they were
    UTC, so that differences are wrong by an hour across a change of that clock.

    Parameters
    ----------
    zone : zoneinfo.ZoneInfo, optional
    zero : bool
        Whether the number 0 is a time, as where times count from the start of the log; else it
        stands for none.

    Attributes
    ----------
    local, absolute : bool
        Whether times without a zone, and times with one or seconds of the epoch, were met.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.seconds("1970-01-01T01:00:30"), clock.seconds("1700000000"), clock.seconds("Unknown")
    (3630.0, 1700000000.0, None)
    """

    def __init__(self, zone: zoneinfo.ZoneInfo | None = None, *, zero: bool = False) -> None:
        self.zone, self.zero, self.local, self.absolute = zone, zero, False, False
        self._hours: dict[str, tuple[float, float]] = {}

    def seconds(self, text: str, not_before: float | None = None) -> float | None:
        """Seconds of the epoch; None where the text says that the time is not known.

        Of an hour that the clock shows twice the earlier one is meant, unless the time would then
        lie before `not_before`.

        Raises
        ------
        ValueError
            If the text is no time.
        """
        if len(text) == 19 and (hour := self._hours.get(text[:13])) is not None:
            early, late = hour
            if text[13] == ":" == text[16]:
                try:
                    more = 60 * _TWO[text[14:16]] + _TWO[text[17:]]
                except KeyError:
                    raise ValueError(NOT_A_TIME) from None
                if late != early and not_before is not None and early + more < not_before:
                    return late + more
                return early + more
        if text.lower() in NO_TIME:
            return None
        if _NUMBER.fullmatch(text):
            value = float(text)
            if value >= LATEST:
                raise ValueError("is beyond the year 5000: milliseconds?")
            if not value and not self.zero:
                return None
            self.absolute = True
            return value
        try:
            return self._other(text, not_before)
        except OverflowError:
            raise ValueError(NOT_A_TIME) from None

    def _other(self, text: str, not_before: float | None) -> float:
        """A date and time: remembered by its hour where the clock runs evenly in it."""
        if not 16 <= len(text) <= 35 or not text.isascii() or text[4] not in "-/":
            raise ValueError(NOT_A_TIME)
        when = datetime.datetime.fromisoformat(text.replace("/", "-"))
        if when.tzinfo is not None:
            self.absolute = True
            return when.timestamp()
        self.local = True
        early, late = self._epoch(when)
        hour = when.replace(minute=0, second=0, microsecond=0)
        first = self._epoch(hour)
        after = (when - hour).total_seconds()
        evenly = (first[0] + after, first[1] + after) == (early, late) and self._even(hour)
        if evenly and text[4] == "-":
            if len(self._hours) >= _MOST_HOURS:
                self._hours.clear()
            self._hours[text[:13]] = first
        return late if late != early and not_before is not None and early < not_before else early

    def _epoch(self, when: datetime.datetime) -> tuple[float, float]:
        if self.zone is None:
            seconds = calendar.timegm(when.timetuple()) + when.microsecond * 1e-6
            return seconds, seconds
        return (
            when.replace(tzinfo=self.zone, fold=0).timestamp(),
            when.replace(tzinfo=self.zone, fold=1).timestamp(),
        )

    def _even(self, hour: datetime.datetime) -> bool:
        """Whether the clock does not change within the hour."""
        last = hour.replace(minute=59, second=59)
        pairs = zip(self._epoch(hour), self._epoch(last), strict=True)
        return all(b - a == 3599 for a, b in pairs)


@lru_cache(maxsize=4096)
def duration(text: str) -> float:
    """Seconds of ``D-HH:MM:SS``, ``HHH:MM:SS`` or ``MM:SS.mmm``.

    Raises
    ------
    ValueError
        If the text is none of these.

    Examples
    --------
    >>> duration("1-02:00:03"), duration("120:00:00"), duration("01:02.500")
    (93603.0, 432000.0, 62.5)
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a duration")
    days, hours, minutes, seconds, part = match.groups()
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole + (float(f"0.{part}") if part else 0.0)
