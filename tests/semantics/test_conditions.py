from datetime import UTC, datetime, timedelta
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.conditions import (
    ByteRange,
    Conditions,
    ContentRange,
    for_one_user,
    format_date,
    freshness,
    parse_date,
    parse_etags,
    strong_match,
    weak_match,
)

MODIFIED = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
MODIFIED_HEADER, BEFORE, AFTER = (
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:36 GMT",
    "Sun, 06 Nov 1994 08:49:38 GMT",
)
PROCEED, NOT_MODIFIED, PRECONDITION_FAILED = "proceed", "not modified", "precondition failed"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"If-Modified-Since": MODIFIED_HEADER}, Conditions(if_modified_since=MODIFIED)),
        ({"If-Unmodified-Since": MODIFIED_HEADER}, Conditions(if_unmodified_since=MODIFIED)),
        ({"If-Modified-Since": "yesterday"}, Conditions()),
        ({"If-Unmodified-Since": f"{MODIFIED_HEADER}, {MODIFIED_HEADER}"}, Conditions()),
        ({"If-None-Match": '"a"', "If-Modified-Since": MODIFIED_HEADER}, Conditions(if_none_match=('"a"',))),
        ({"If-Match": '"a"', "If-Unmodified-Since": MODIFIED_HEADER}, Conditions(if_match=('"a"',))),
        ({"If-Match": "", "If-Unmodified-Since": MODIFIED_HEADER}, Conditions(if_match=("",))),
        ({"If-None-Match": "", "If-Match": ","}, Conditions(if_match=("",))),
        ({"If-None-Match": "broken", "If-Modified-Since": MODIFIED_HEADER}, Conditions(if_none_match=("broken",))),
        ({"If-Range": '"a"'}, Conditions(if_range='"a"')),
        ({"If-Range": 'W/"a"'}, Conditions(if_range='W/"a"')),
        ({"If-Range": MODIFIED_HEADER}, Conditions(if_range=MODIFIED)),
        ({"If-Range": "yesterday"}, Conditions(if_range="yesterday")),
    ],
)
def test_headers_are_normalized(headers, expected):
    """A date that is invalid or overridden by an entity tag is dropped; an If-Range that cannot hold is kept."""
    assert Conditions.from_headers(headers) == expected


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({}, PROCEED),
        ({"If-Match": "*"}, PROCEED),
        ({"If-Match": '"a"'}, PROCEED),
        ({"If-Match": '"x", "a"'}, PROCEED),
        ({"If-Match": '"x"'}, PRECONDITION_FAILED),
        ({"If-Match": 'W/"a"'}, PRECONDITION_FAILED),
        ({"If-Match": "a"}, PRECONDITION_FAILED),
        ({"If-Unmodified-Since": MODIFIED_HEADER}, PROCEED),
        ({"If-Unmodified-Since": AFTER}, PROCEED),
        ({"If-Unmodified-Since": BEFORE}, PRECONDITION_FAILED),
        ({"If-Match": '"a"', "If-Unmodified-Since": BEFORE}, PROCEED),
        ({"If-None-Match": "*"}, NOT_MODIFIED),
        ({"If-None-Match": '"a"'}, NOT_MODIFIED),
        ({"If-None-Match": 'W/"a"'}, NOT_MODIFIED),
        ({"If-None-Match": '"x", "a"'}, NOT_MODIFIED),
        ({"If-None-Match": '"x"'}, PROCEED),
        ({"If-None-Match": "a"}, PROCEED),
        ({"If-Modified-Since": MODIFIED_HEADER}, NOT_MODIFIED),
        ({"If-Modified-Since": AFTER}, NOT_MODIFIED),
        ({"If-Modified-Since": BEFORE}, PROCEED),
        ({"If-None-Match": '"x"', "If-Modified-Since": AFTER}, PROCEED),
        ({"If-None-Match": '"a"', "If-Modified-Since": BEFORE}, NOT_MODIFIED),
        ({"If-Match": '"x"', "If-None-Match": '"a"'}, PRECONDITION_FAILED),
        ({"If-Match": '"a"', "If-None-Match": '"a"'}, NOT_MODIFIED),
        ({"If-Unmodified-Since": BEFORE, "If-Modified-Since": AFTER}, PRECONDITION_FAILED),
    ],
)
def test_conditions_are_decided_in_the_order_of_the_rfc(headers, outcome):
    """Conditions are decided in the order of RFC 9110 13.2.2, with three outcomes."""
    assert Conditions.from_headers(headers).decide('"a"', MODIFIED + timedelta(microseconds=5)) == outcome


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"If-Modified-Since": AFTER}, PROCEED),
        ({"If-Unmodified-Since": BEFORE}, PROCEED),
        ({"If-Match": '"a"'}, PRECONDITION_FAILED),
        ({"If-Match": "*"}, PROCEED),
        ({"If-None-Match": '"a"'}, PROCEED),
        ({"If-None-Match": "*"}, NOT_MODIFIED),
    ],
)
def test_conditions_on_a_representation_without_validators(headers, outcome):
    """A date has no effect on a representation without a date, and no entity tag matches one without an entity tag (RFC 9110 13.1)."""
    assert Conditions.from_headers(headers).decide(None, None) == outcome


@pytest.mark.parametrize(
    ("headers", "etag", "allowed"),
    [
        ({}, None, True),
        ({}, '"a"', True),
        ({"If-None-Match": "*"}, None, True),
        ({"If-None-Match": "*"}, '"a"', False),
        ({"If-None-Match": '"x"'}, '"a"', True),
        ({"If-None-Match": 'W/"a"'}, '"a"', False),
        ({"If-None-Match": '*, "x"'}, '"a"', False),
        ({"If-None-Match": "a"}, '"b"', False),
        ({"If-None-Match": '*, "x"'}, None, True),
        ({"If-Match": "*"}, None, False),
        ({"If-Match": "*"}, '"a"', True),
        ({"If-Match": '"a"'}, None, False),
        ({"If-Match": '"a"'}, '"a"', True),
        ({"If-Match": '"x"'}, '"a"', False),
        ({"If-Unmodified-Since": BEFORE}, '"a"', False),
        ({"If-Unmodified-Since": BEFORE}, None, True),
        ({"If-Modified-Since": AFTER}, '"a"', True),
    ],
)
def test_conditions_decide_about_a_write(headers, etag, allowed):
    """A write is allowed if its conditions hold; If-Modified-Since has no effect on a write (RFC 9110 13.1.3)."""
    exists = etag is not None
    conditions = Conditions.from_headers(headers)
    assert conditions.allow_write(etag, MODIFIED if exists else None, exists=exists) is allowed


@pytest.mark.parametrize(
    ("if_range", "holds"),
    [
        (None, True), ('"a"', True), ('"x"', False), ('W/"a"', False), (MODIFIED_HEADER, True), (BEFORE, False), (AFTER, False),
        ("a", False), ("yesterday", False), ('"a", "b"', False), ("", False), (" ", False),
    ],
)  # fmt: skip
def test_a_range_depends_on_if_range(if_range, holds):
    """A Range applies if If-Range is absent or matches this representation strongly (RFC 9110 13.1.5)."""
    conditions = Conditions.from_headers({} if if_range is None else {"If-Range": if_range})
    assert conditions.range_holds('"a"', MODIFIED + timedelta(microseconds=5)) is holds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("  ", ()),
        (",", ()),
        ("*", ("*",)),
        (" *\t", ("*",)),
        ('"a"', ('"a"',)),
        ('W/"a"', ('W/"a"',)),
        ('""', ('""',)),
        ('"a", W/"b","c"', ('"a"', 'W/"b"', '"c"')),
        (' , "a" ,, "b" , ', ('"a"', '"b"')),
        ('"a,b"', ('"a,b"',)),
        ('"ä"', ('"ä"',)),
    ],
)
def test_a_list_of_entity_tags_is_read(text, expected):
    """A list is read as its members, unchanged; empty members are ignored (RFC 9110 5.6.1)."""
    assert parse_etags(text) == expected


@pytest.mark.parametrize("text", ["abc", '"a', 'w/"a"', '"a" "b"', '"a", b', '"a b"', '*, "a"', '"a"b"', '"a\n"'])
def test_a_malformed_list_is_one_member(text):
    assert parse_etags(text) == (text,)
    assert not weak_match(text, '"a"')


@pytest.mark.parametrize(
    ("left", "right", "is_strong_match", "is_weak_match"),
    [
        ('W/"1"', 'W/"1"', False, True),
        ('W/"1"', 'W/"2"', False, False),
        ('W/"1"', '"1"', False, True),
        ('"1"', 'W/"1"', False, True),
        ('"1"', '"1"', True, True),
        ('"1"', '"2"', False, False),
        ("1", "1", False, False),
    ],
)
def test_two_entity_tags_are_compared(left, right, is_strong_match, is_weak_match):
    """Strong and weak comparison follow the table of RFC 9110 8.8.3.2; a text that is not an entity tag matches nothing."""
    assert (strong_match(left, right), weak_match(left, right)) == (is_strong_match, is_weak_match)


def test_a_two_digit_year_is_at_most_50_years_ahead():
    """A two-digit year that seems more than 50 years ahead belongs to the previous century (RFC 9110 5.6.7)."""
    years = [parse_date(f"Sunday, 06-Nov-{two_digits:02} 08:49:37 GMT").year for two_digits in range(100)]
    this_year = datetime.now(UTC).year
    assert [year % 100 for year in years] == list(range(100))
    assert this_year - 100 < min(years) <= this_year <= max(years) <= this_year + 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", MODIFIED),
        ("Sunday, 06-Nov-94 08:49:37 GMT", MODIFIED),
        ("Sun Nov  6 08:49:37 1994", MODIFIED),
        (" Sun, 06 Nov 1994 08:49:37 GMT\t", MODIFIED),
        ("Sun Nov 16 08:49:37 1994", datetime(1994, 11, 16, 8, 49, 37, tzinfo=UTC)),
        ("Sat, 31 Dec 2016 23:59:60 GMT", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("Mon, 06 Nov 1994 08:49:37 GMT", MODIFIED),
    ],
)
def test_the_three_date_formats_are_read(text, expected):
    """The examples of RFC 9110 5.6.7 name one moment; a day of two digits, a leap second and a wrong weekday are accepted."""
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
def test_a_text_that_is_not_a_date_gives_none(text):
    assert parse_date(text) is None


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants bounds without a zone
def test_a_written_date_is_read_back(moment):
    assert parse_date(format_date(moment)) == moment.replace(microsecond=0)


NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


@pytest.mark.parametrize(
    ("cache_control", "expires", "seconds"),
    [
        (None, None, inf),
        ("", None, inf),
        ("public", None, inf),
        ("max-age=60", None, 60),
        ("MAX-AGE=60", None, 60),
        ('max-age="60"', None, 60),
        ("public,max-age=60 , must-revalidate", None, 60),
        ("max-age=60, s-maxage=5", None, 5),
        ("max-age=0", None, 0),
        ("max-age=soon", None, 0),
        ("max-age=-1", None, 0),
        ("max-age=²", None, 0),
        ("max-age", None, 0),
        ("max-age=" + "9" * 5000, None, inf),
        ("no-cache", None, 0),
        ('no-cache="Set-Cookie"', None, 0),
        ("no-cache, max-age=60", None, 0),
        ("no-store", None, None),
        ("private", None, None),
        ('max-age=60, private="X-A, X-B"', None, None),
        ('extension="no-store"', None, inf),
        (None, "Tue, 14 Nov 2023 22:14:20 GMT", 60),
        (None, "Tue, 14 Nov 2023 22:12:20 GMT", 0),
        (None, "0", 0),
        ("max-age=5", "Tue, 14 Nov 2023 22:14:20 GMT", 5),
        ("no-store", "Tue, 14 Nov 2023 22:14:20 GMT", None),
    ],
)
def test_freshness_is_read_from_the_headers(cache_control, expires, seconds):
    """s-maxage comes before max-age, and max-age before Expires; None means that the response must not be stored."""
    assert freshness(cache_control, expires, NOW) == seconds


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("max-age=600", "private, max-age=600"),
        ("", "private"),
        ("no-cache", "private, no-cache"),
        ("must-revalidate, max-age=5", "private, must-revalidate, max-age=5"),
        ("max-age=600, Public", None),
        ("S-MaxAge=5", None),
        ("Private", None),
        ("private, max-age=5", None),
        ("no-store", None),
        ('private="set-cookie", max-age=5', 'private, private="set-cookie", max-age=5'),
        ('x="public, s-maxage=5"', 'private, x="public, s-maxage=5"'),
        ("publicly, max-age=5", "private, publicly, max-age=5"),
    ],
)
def test_an_answer_to_one_user_is_private(sent, expected):
    """Shared caches may keep an answer to one user only if it is `public` or has an `s-maxage`."""
    assert for_one_user(sent) == (sent if expected is None else expected)


def test_freshness_is_read_in_linear_time():
    assert freshness("a=" * 100_000 + '"' * 100_000, None, NOW) == inf


HUGE = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-9", ByteRange(0, 9)),
        ("bytes=5-", ByteRange(5, None)),
        ("bytes=-5", ByteRange(None, 5)),
        ("bytes=-0", ByteRange(None, 0)),
        ("bytes=0-0", ByteRange(0, 0)),
        ("BYTES=1-2", ByteRange(1, 2)),
        ("bytes= 1-2\t", ByteRange(1, 2)),
        ("bytes=00-" + "0" * 5000 + "9", ByteRange(0, 9)),
        ("bytes=0-" + "9" * 5000, ByteRange(0, HUGE)),
        ("bytes=" + "9" * 5000 + "-", ByteRange(HUGE, None)),
    ],
)
def test_a_range_is_read(text, expected):
    """The unit of a range may be in any case, and its numbers may have any length."""
    assert ByteRange.from_header(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None, "", "bytes", "bytes=", "bytes=-", "bytes=9-0", "bytes=a-b", "bytes=0-1,3-4", "bytes=0-1,", "items=0-9",
        "bytes=0--1", "bytes=0-1-2", "bytes=٠-٩", "bytes 0-9", "bytes=+1-2", "bytes=0 - 9", "bytes=0-9\n",
    ],
)  # fmt: skip
def test_a_header_without_exactly_one_range_gives_none(text):
    """An absent, malformed or multiple range gives None, so the whole representation is sent (RFC 9110 14.2)."""
    assert ByteRange.from_header(text) is None


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("bytes=0-9", 100, ContentRange(0, 9, 100)),
        ("bytes=0-", 100, ContentRange(0, 99, 100)),
        ("bytes=90-200", 100, ContentRange(90, 99, 100)),
        ("bytes=99-99", 100, ContentRange(99, 99, 100)),
        ("bytes=-1", 100, ContentRange(99, 99, 100)),
        ("bytes=-200", 100, ContentRange(0, 99, 100)),
        ("bytes=100-", 100, ContentRange(None, None, 100)),
        ("bytes=100-200", 100, ContentRange(None, None, 100)),
        ("bytes=-0", 100, ContentRange(None, None, 100)),
        ("bytes=-0", 0, ContentRange(None, None, 0)),
        ("bytes=0-", 0, ContentRange(None, None, 0)),
        ("bytes=0-0", 0, ContentRange(None, None, 0)),
        ("bytes=-5", 0, None),
        ("bytes=0-9", None, None),
    ],
)
def test_a_range_resolves_against_a_size(text, size, expected):
    """A range resolves to bytes, to no bytes (416), or to the whole of an empty representation (RFC 9110 14.1.2)."""
    assert ByteRange.from_header(text).resolve(size) == expected


@given(first=st.none() | st.integers(0, 200), length=st.integers(0, 200), size=st.integers(0, 200))
def test_a_resolved_range_lies_within_the_size(first, length, size):
    requested = ByteRange(first, length if first is None else first + length)
    resolved = requested.resolve(size)
    data = list(range(size))
    expected = data[size - min(length, size) :] if first is None else data[first : first + length + 1]
    actual = data if resolved is None else data[resolved.first or 0 : (resolved.first or 0) + resolved.length]
    assert actual == expected


@pytest.mark.parametrize(
    ("text", "content_range", "length"),
    [
        ("bytes 0-9/100", ContentRange(0, 9, 100), 10),
        ("bytes 42-42/*", ContentRange(42, 42, None), 1),
        ("bytes */100", ContentRange(None, None, 100), 0),
        ("bytes */0", ContentRange(None, None, 0), 0),
    ],
)
def test_a_content_range_is_read_and_written(text, content_range, length):
    expected = (content_range, text, length)
    assert (ContentRange.from_header(text), content_range.to_header(), content_range.length) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "bytes", "bytes 0-9", "bytes 0-9/5", "bytes 9-0/100", "bytes */*", "items 0-9/100", "bytes 0-9/1O0",
        "bytes=0-9/100",
    ],
)  # fmt: skip
def test_an_invalid_content_range_raises(text):
    """A Content-Range that RFC 9110 14.4 calls invalid raises ValueError."""
    with pytest.raises(ValueError, match="bytes"):
        ContentRange.from_header(text)


@given(first=st.integers(0, HUGE - 1), length=st.none() | st.integers(0, 1000))
def test_a_written_range_is_read_back(first, length):
    byte_range = ByteRange(first, None if length is None else min(first + length, HUGE - 1))
    assert ByteRange.from_header(byte_range.to_header()) == byte_range
