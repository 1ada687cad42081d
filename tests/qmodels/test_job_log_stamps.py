"""Times and durations of batch systems: against the library's own calendar, and what is none."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qmodels.io.job_logs.stamps import Clock, duration, zone_of

ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC"]
TIMES = st.datetimes(datetime(1980, 1, 1), datetime(2037, 12, 31)).map(
    lambda when: when.replace(microsecond=0)
)


@given(st.lists(TIMES, min_size=1, max_size=20), st.sampled_from(ZONES))
def test_local_times_are_those_of_the_calendar(times, name):
    """The hours that are remembered give what each time gives by itself."""
    clock, zone = Clock(zone_of(name)), zoneinfo.ZoneInfo(name)
    for when in [*times, *times, *(t.replace(minute=59) for t in times)]:
        expected = when.replace(tzinfo=zone).timestamp()
        assert clock.seconds(when.strftime("%Y-%m-%dT%H:%M:%S")) == expected


@given(TIMES)
def test_times_without_a_zone_are_taken_as_they_stand(when):
    expected = when.replace(tzinfo=UTC).timestamp()
    for text in (f"{when:%Y-%m-%dT%H:%M:%S}", f"{when:%Y-%m-%d %H:%M:%S}", f"{when:%Y/%m/%d %T}"):
        assert Clock().seconds(text) == expected
    assert Clock().seconds(f"{when:%Y-%m-%dT%H:%M:%S}+02:00") == expected - 7200
    assert Clock().seconds(f"{when:%Y-%m-%dT%H:%M:%S}.250") == expected + 0.25


def test_an_hour_that_comes_twice_is_the_later_one_where_it_must_be():
    clock = Clock(zone_of("Europe/Berlin"))
    early = clock.seconds("2024-10-27T02:30:00")
    for _ in range(2):  # read, then remembered
        assert clock.seconds("2024-10-27T02:10:00") == early - 1200
        assert clock.seconds("2024-10-27T02:10:00", early) == early + 2400
        assert clock.seconds("2024-10-27T02:40:00", early) == early + 600


@pytest.mark.parametrize(
    "text",
    [
        "soon",
        "2024-13-01T00:00:00",
        "2024-02-30T00:00:00",
        "2024-03-01T24:00:01",
        "1e9",
        "-5",
        "2024-03-01",
        "2024-03-01T10",
        "٢٠٢٤-٠٣-٠١T٠٠:٠٠:٠٠",
        "1709280000000",
        "9" * 40,
        "2024-03-01T10:00:60",
        "2024-03-01T1O:00:00",
        "10/27/2024 10:00:00",
        "0x10",
    ],
)
def test_what_is_no_time_is_refused_also_where_its_hour_is_known(text):
    clock = Clock()
    clock.seconds("2024-03-01T10:00:00")
    with pytest.raises(ValueError, match=r"\w"):
        clock.seconds(text)


def test_zero_is_a_time_only_where_the_log_counts_from_its_start():
    assert Clock().seconds("0") is None
    assert Clock(zero=True).seconds("0") == 0.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:00:00", 0),
        ("1-00:00:00", 86400),
        ("365-23:59:59", 31622399),
        ("100:00:01", 360001),
        ("59:59.999", 3599.999),
        ("02:03", 123),
        ("1:02:03:04", 93784),
    ],
)
def test_durations_are_read_in_all_their_forms(text, seconds):
    assert duration(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize("text", ["", "5", "1-5", "1:2:3:4:5", "-1:00", "1:00x", "a:b", "1-02:03"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="not a duration"):
        duration(text)
