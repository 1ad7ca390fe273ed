import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.golang.moments import (
    ZERO,
    DurationError,
    Moment,
    date_of,
    days_in,
    days_since_epoch,
    format_duration,
    is_leap,
    parse_duration,
)


@given(st.dates())
def test_days_are_counted_as_by_the_calendar(day):
    """There and back."""
    days = (day - dt.date(1970, 1, 1)).days
    assert days_since_epoch(day.year, day.month, day.day) == days
    assert date_of(days) == (day.year, day.month, day.day)


@pytest.mark.parametrize(
    ("year", "leap"), [(2000, True), (1900, False), (2024, True), (2023, False), (0, True), (-4, True)]
)
def test_leap_years_follow_gregory(year, leap):
    """Before the first year as well."""
    assert is_leap(year) is leap
    assert days_in(2, year) == 28 + leap


def test_months_beyond_the_year_run_into_the_next():
    """And those before the first into the one before."""
    assert days_since_epoch(2020, 14, 1) == days_since_epoch(2021, 2, 1)
    assert days_since_epoch(2020, 0, 1) == days_since_epoch(2019, 12, 1)


def test_a_moment_tells_its_parts_in_its_zone():
    """Date and time of day are those of the zone."""
    moment = Moment(0, 5, 3600, "CET")
    assert (moment.date, moment.clock, moment.nanosecond) == ((1970, 1, 1), (1, 0, 0), 5)
    assert Moment(0, offset=-3600).date == (1969, 12, 31)
    assert moment.in_utc() == Moment(0, 5)


def test_a_moment_knows_its_day_of_week_and_year():
    """The first day of 1970 was a Thursday."""
    assert (Moment(0).weekday, Moment(0).year_day) == (4, 1)
    assert Moment.of((2020, 12, 31)).year_day == 366


def test_moments_move():
    """By nanoseconds, or by dates, where what is beyond a month's end runs into the next."""
    assert Moment(0).plus(1_500_000_000) == Moment(1, 500_000_000)
    assert Moment(0).plus(-1) == Moment(-1, 999_999_999)
    later = Moment.of((2020, 1, 31), (12, 0, 0)).plus_date(0, 1, 0)
    assert (later.date, later.clock) == ((2020, 3, 2), (12, 0, 0))


def test_go_s_zero_time_is_the_first_moment_of_the_first_year():
    """In UTC."""
    assert (ZERO.date, ZERO.zone, ZERO.nanoseconds) == ((1, 1, 1), "UTC", -62_135_596_800 * 10**9)


SECOND = 10**9


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("1h30m", 5400 * SECOND),
        ("-1.5s", -1_500_000_000),
        ("+1m", 60 * SECOND),
        (".5m", 30 * SECOND),
        ("1.s", SECOND),
        ("1h1h", 7200 * SECOND),
        ("3µs", 3000),
        ("3μs", 3000),
        ("2us1ns", 2001),
        ("0.000000000000000000001h", 0),
        ("1.99999999999999999999999s", 2 * SECOND),
        ("-9223372036854775808ns", -(2**63)),
    ],
)
def test_durations_are_read(text, nanoseconds):
    """Numbers with units, one after the other."""
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "1",
        "x",
        "1d",
        ".s",
        "1h-1m",
        "1 h",
        "9999999h",
        "9223372036854775808ns",
        "9" * 50 + "s",
        "9000000000s9000000000s",
    ],
)
def test_what_is_no_duration_is_refused(text):
    """Or too long a one."""
    with pytest.raises(DurationError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (1_500_000_000, "1.5s"),
        (60 * SECOND, "1m0s"),
        (3661 * SECOND + 1, "1h1m1.000000001s"),
        (-5400 * SECOND, "-1h30m0s"),
    ],
)
def test_durations_are_written(nanoseconds, text):
    """Below a second in a smaller unit."""
    assert format_duration(nanoseconds) == text


@given(st.integers(-(2**53), 2**53))
def test_what_is_written_is_read_again(nanoseconds):
    """Whatever it is."""
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
