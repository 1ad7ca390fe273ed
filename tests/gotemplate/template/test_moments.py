import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template.moments import (
    ZERO,
    Moment,
    date_of,
    days_since_epoch,
    format_moment,
    parse_moment,
)
from gotemplate.template.values import ExecutionError


@given(st.dates())
def test_days_are_counted_from_the_epoch(day):
    """The number of days of a date is that of Python, and gives the same date again."""
    days = (day - dt.date(1970, 1, 1)).days
    assert days_since_epoch(day.year, day.month, day.day) == days
    assert date_of(days) == (day.year, day.month, day.day)


@pytest.mark.parametrize(
    ("year", "leap"), [(2000, True), (1900, False), (2024, True), (2023, False), (0, True), (-4, True)]
)
def test_leap_years_are_gregorian(year, leap):
    """The rule of leap years also holds before the first year."""
    assert days_since_epoch(year, 3, 1) - days_since_epoch(year, 2, 1) == 28 + leap


def test_months_beyond_the_year_are_in_another_year():
    """A month above twelve is in a later year, and a month below one is in an earlier year."""
    assert days_since_epoch(2020, 14, 1) == days_since_epoch(2021, 2, 1)
    assert days_since_epoch(2020, 0, 1) == days_since_epoch(2019, 12, 1)


def test_a_moment_has_its_parts_in_its_zone():
    """The date and the time of day of a moment are those in its zone."""
    moment = Moment(0, 5, 3600, "CET")
    assert _numbers(moment) == [1970, 1, 1, 1, 0, 0]
    assert _numbers(Moment(0, offset=-3600)) == [1969, 12, 31, 23, 0, 0]
    assert moment.in_utc() == Moment(0, 5)


def _numbers(moment):
    return [moment.parts()[name] for name in ("year", "month", "day", "hour", "minute", "second")]


def test_a_moment_has_a_weekday_and_a_day_of_the_year():
    """The first day of 1970 was a Thursday, and the last day of a leap year is its 366th."""
    first = Moment(0).parts()
    assert (first["weekday"], first["year day"]) == (4, 1)
    assert Moment.of((2020, 12, 31)).parts()["year day"] == 366


def test_moments_are_added_to():
    """Nanoseconds or months are added to a moment, and a day beyond the end of a month is in the next one."""
    assert Moment(0).plus(1_500_000_000) == Moment(1, 500_000_000)
    assert Moment(0).plus(-1) == Moment(-1, 999_999_999)
    later = Moment.of((2020, 1, 31), (12, 0, 0)).plus_date(0, 1, 0)
    assert _numbers(later) == [2020, 3, 2, 12, 0, 0]


def test_go_s_zero_time_is_the_first_moment_of_the_first_year():
    """The zero time of Go is midnight of 1 January of year 1 in UTC."""
    assert _numbers(ZERO) == [1, 1, 1, 0, 0, 0]
    assert (ZERO.zone, ZERO.nanoseconds) == ("UTC", -62_135_596_800 * 10**9)


AFTERNOON = Moment.of((2020, 2, 9), (13, 4, 5), 120_000_000)
MORNING = Moment.of((2020, 2, 9), (0, 4, 5))


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02 15:04:05", "2020-02-09 13:04:05"),
        ("06/1/2 3:4:5", "20/2/9 1:4:5"),
        ("Monday Mon January Jan", "Sunday Sun February Feb"),
        ("_2|02|__2|002", " 9|09| 40|040"),
        ("03 PM pm", "01 PM pm"),
        ("05.000 05.999 05,9 05.0000000000", "05.120 05.12 05,1 05.1200000000"),
        ("MST -0700 Z07:00 Z0700", "UTC +0000 Z Z"),
        ("_2006", "_2020"),
        ("Janet Monkey", "Janet Monkey"),
        ("5.05", "5.05"),
        ("", ""),
        ("007 x", "007 x"),
    ],
)
def test_a_moment_is_written_in_a_layout(layout, text):
    """A part of the layout that isn't part of the reference time stands for itself."""
    assert format_moment(AFTERNOON, layout) == text


@pytest.mark.parametrize(("layout", "text"), [("3PM", "12AM"), ("3pm", "12am"), ("05.999", "05"), ("15.00", "00.00")])
def test_midnight_and_empty_fractions_are_written_as_in_go(layout, text):
    """Midnight is twelve on a clock of twelve hours, and an empty fraction is written only for zeros in the layout."""
    assert format_moment(MORNING, layout) == text


@pytest.mark.parametrize(
    ("offset", "zone", "layout", "text"),
    [
        (-12600, "", "-0700 -07:00 -07 MST", "-0330 -03:30 -03 -0330"),
        (3601, "X", "Z070000 Z07:00:00 Z07 MST", "+010001 +01:00:01 +01 X"),
        (-30, "", "-070000", "+000030"),
    ],
)
def test_zones_are_written_as_offsets_or_names(offset, zone, layout, text):
    """The offset stands for the name of a zone without a name."""
    assert format_moment(Moment(0, 0, offset, zone), layout) == text


def test_years_may_have_any_size_and_sign():
    """A year is written with at least four digits."""
    assert format_moment(Moment.of((-5, 1, 1)), "2006 06") == "-0005 05"
    assert format_moment(Moment.of((12345, 1, 1)), "2006") == "12345"


FULL_LAYOUT = "2006-01-02 15:04:05.999999999 -0700 MST"


@pytest.mark.parametrize(
    ("layout", "text", "full_text"),
    [
        ("2006-01-02", "2020-02-29", "2020-02-29 00:00:00 +0000 UTC"),
        ("06 1 2", "69 3 4", "1969-03-04 00:00:00 +0000 UTC"),
        ("06 Jan _2", "68 feb  1", "2068-02-01 00:00:00 +0000 UTC"),
        ("Monday, January 2", "sunday, MARCH 1", "0000-03-01 00:00:00 +0000 UTC"),
        ("Mon 15:4:5", "Tue 7:8:9", "0000-01-01 07:08:09 +0000 UTC"),
        ("03:04:05PM", "01:02:03PM", "0000-01-01 13:02:03 +0000 UTC"),
        ("3 PM pm", "1 PM am", "0000-01-01 13:00:00 +0000 UTC"),
        ("3pm", "12am", "0000-01-01 00:00:00 +0000 UTC"),
        ("3PM", "12PM", "0000-01-01 12:00:00 +0000 UTC"),
        ("05.000", "06.125", "0000-01-01 00:00:06.125 +0000 UTC"),
        ("05.999", "06", "0000-01-01 00:00:06 +0000 UTC"),
        ("05,999", "06,5", "0000-01-01 00:00:06.5 +0000 UTC"),
        ("05", "06.1234567891", "0000-01-01 00:00:06.123456789 +0000 UTC"),
        ("2006 002", "2020 060", "2020-02-29 00:00:00 +0000 UTC"),
        ("2006 __2", "2021  60", "2021-03-01 00:00:00 +0000 UTC"),
        ("2006 002 01 02", "2021 032 02 01", "2021-02-01 00:00:00 +0000 UTC"),
        ("2006Z07:00", "2020Z", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006Z07:00", "2020+02:30", "2020-01-01 00:00:00 +0230 +0230"),
        ("2006-0700", "2020-0130", "2020-01-01 00:00:00 -0130 -0130"),
        ("2006-07", "2020+05", "2020-01-01 00:00:00 +0500 +0500"),
        ("2006-07:00:00", "2020+00:00:30", "2020-01-01 00:00:00 +0000 +0000"),
        ("2006-0700", "2020+0000", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 MST", "2020 UTC", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 MST -07", "2020 UTC +14", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 Z07:00 -07:00", "2020 Z +02:00", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 -07:00:00", "2020 -00:00:01", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 MST", "2020 CEST", "2020-01-01 00:00:00 +0000 CEST"),
        ("2006 MST", "2020 GMT+3", "2020-01-01 03:00:00 +0300 GMT+3"),
        ("2006 MST", "2020 GMT", "2020-01-01 00:00:00 +0000 GMT"),
        ("2006 MST", "2020 GMT-08", "2019-12-31 16:00:00 -0800 GMT-08"),
        ("2006 -0700 MST", "2020 +0200 EET", "2020-01-01 00:00:00 +0200 EET"),
        ("2006 MST", "2020 WITA", "2020-01-01 00:00:00 +0000 WITA"),
        ("2006 MST", "2020 ChST", "2020-01-01 00:00:00 +0000 ChST"),
        ("2006 MST", "2020 AESST", "2020-01-01 00:00:00 +0000 AESST"),
        ("2006 MST", "2020 +03", "2020-01-01 00:00:00 +0000 +03"),
        ("2006  x", "2020 x", "2020-01-01 00:00:00 +0000 UTC"),
        ("2006 ", "2020", "2020-01-01 00:00:00 +0000 UTC"),
        ("", "", "0000-01-01 00:00:00 +0000 UTC"),
    ],
)
def test_a_moment_is_read_in_a_layout(layout, text, full_text):
    """A part that the layout lacks has its first value."""
    assert format_moment(parse_moment(layout, text), FULL_LAYOUT) == full_text


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02", "2021-02-29"),
        ("2006-01-02", "2020-13-01"),
        ("01 1", "00 12"),
        ("2006-01-02", "2020-00-01"),
        ("2006-01-02", "2020-1-01"),
        ("2006-01-02", "2020-01-01x"),
        ("2006", "20x0"),
        ("02", "x"),
        ("15", "24"),
        ("3", "13"),
        ("04", "60"),
        ("05", "60"),
        ("05.000", "06.12"),
        ("Jan", "Jax"),
        ("Mon", "Xyz"),
        ("Jan", "ſep"),
        ("PM", "pm"),
        ("2006 002", "2021 366"),
        ("2006 002", "2021 000"),
        ("2006 002 01", "2021 032 03"),
        ("2006 002 02", "2021 032 03"),
        ("-0700", "+2500"),
        ("-0700", "+0061"),
        ("-07:00:00", "+00:00:61"),
        ("-0700", "0200"),
        ("MST", "ab"),
        ("MST", "ABCD"),
        ("MST", "ABCDEF"),
        ("MST", "+99"),
        ("MST", "+1"),
        ("MST", "GMT+99"),
        ("2006 x", "2020x"),
        ("x", "y"),
    ],
)
def test_a_text_that_does_not_match_its_layout_is_refused(layout, text):
    """Parts out of range, invalid dates and remaining text are errors."""
    with pytest.raises(ExecutionError):
        parse_moment(layout, text)


def test_a_second_may_have_a_fraction_that_the_layout_lacks():
    """A fraction may follow a second, unless the layout has a fraction in another place."""
    assert parse_moment("05x", "06.5x") == Moment.of((0, 1, 1), (0, 0, 6), 500_000_000)
    with pytest.raises(ExecutionError):
        parse_moment("05x.000", "06.5x.250")
