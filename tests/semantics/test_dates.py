from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.dates import format_date, parse_date

EXAMPLE = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        " Sun, 06 Nov 1994 08:49:37 GMT\t",
    ],
)
def test_the_three_forms_are_read(text):
    """The examples of RFC 9110 5.6.7 name one moment."""
    assert parse_date(text, NOW) == EXAMPLE


@pytest.mark.parametrize(("short", "year"), [("94", 1994), ("00", 2000), ("26", 2026), ("76", 2076), ("77", 1977)])
def test_a_year_of_two_digits_is_at_most_fifty_ahead(short, year):
    """A date that seems more than 50 years ahead is of the century before (RFC 9110 5.6.7)."""
    assert parse_date(f"Sunday, 06-Nov-{short} 08:49:37 GMT", NOW).year == year


def test_a_year_of_two_digits_is_placed_by_the_clock():
    """Without being told the time, the clock places a year of two digits."""
    this_year = datetime.now(UTC).year
    assert parse_date(f"Sunday, 06-Nov-{this_year % 100:02} 08:49:37 GMT").year == this_year


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sun Nov 16 08:49:37 1994", datetime(1994, 11, 16, 8, 49, 37, tzinfo=UTC)),
        ("Sat, 31 Dec 2016 23:59:60 GMT", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("Mon, 06 Nov 1994 08:49:37 GMT", EXAMPLE),
    ],
)
def test_dates_at_the_edge_of_the_grammar_are_read(text, expected):
    """A day of two digits, a leap second and a wrong weekday are all within the grammar."""
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "-1", "yesterday", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov ١٩٩٤ 08:49:37 GMT",
    ],
)  # fmt: skip
def test_what_is_no_date_is_none(text):
    """A text that is not an HTTP date, or names a moment that never was, is none."""
    assert parse_date(text) is None


def test_a_date_is_written_as_imf_fixdate():
    """A moment of any time zone is written in GMT."""
    assert format_date(EXAMPLE.astimezone(timezone(timedelta(hours=-5)))) == "Sun, 06 Nov 1994 08:49:37 GMT"


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants bounds without a zone
def test_a_date_survives_its_header(moment):
    """A date that is written is read again as it was, to the second."""
    assert parse_date(format_date(moment)) == moment.replace(microsecond=0)
