from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.conditions import (
    ByteRange,
    ConditionResult,
    Conditions,
    ContentRange,
    format_date,
    freshness,
    is_etag,
    is_weak,
    parse_date,
    parse_etags,
    strong_match,
    weak_match,
)

WHEN = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)
AT, BEFORE, AFTER = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"
GO, SAME, FAIL = ConditionResult.PROCEED, ConditionResult.NOT_MODIFIED, ConditionResult.PRECONDITION_FAILED


def test_no_headers_are_no_conditions():
    """A request without such headers has no conditions."""
    assert Conditions.from_headers({"Host": "example.org", "Accept": "*/*"}) == Conditions()


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"If-Modified-Since": AT}, Conditions(if_modified_since=WHEN)),
        ({"If-Unmodified-Since": AT}, Conditions(if_unmodified_since=WHEN)),
        ({"If-Modified-Since": "yesterday"}, Conditions()),
        ({"If-Unmodified-Since": f"{AT}, {AT}"}, Conditions()),
        ({"If-None-Match": '"a"', "If-Modified-Since": AT}, Conditions(if_none_match=('"a"',))),
        ({"If-Match": '"a"', "If-Unmodified-Since": AT}, Conditions(if_match=('"a"',))),
        ({"If-None-Match": "broken", "If-Modified-Since": AT}, Conditions(if_none_match=("broken",))),
        ({"If-Range": '"a"'}, Conditions(if_range='"a"')),
        ({"If-Range": 'W/"a"'}, Conditions(if_range='W/"a"')),
        ({"If-Range": AT}, Conditions(if_range=WHEN)),
        ({"If-Range": "yesterday"}, Conditions(if_range="yesterday")),
    ],
)
def test_headers_are_normalized(headers, expected):
    """A date that is invalid or overridden by an ETag is absent; an If-Range that cannot hold is not."""
    assert Conditions.from_headers(headers) == expected


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({}, GO),
        ({"If-Match": "*"}, GO),
        ({"If-Match": '"a"'}, GO),
        ({"If-Match": '"x", "a"'}, GO),
        ({"If-Match": '"x"'}, FAIL),
        ({"If-Match": 'W/"a"'}, FAIL),
        ({"If-Match": "a"}, FAIL),
        ({"If-Unmodified-Since": AT}, GO),
        ({"If-Unmodified-Since": AFTER}, GO),
        ({"If-Unmodified-Since": BEFORE}, FAIL),
        ({"If-Match": '"a"', "If-Unmodified-Since": BEFORE}, GO),
        ({"If-None-Match": "*"}, SAME),
        ({"If-None-Match": '"a"'}, SAME),
        ({"If-None-Match": 'W/"a"'}, SAME),
        ({"If-None-Match": '"x", "a"'}, SAME),
        ({"If-None-Match": '"x"'}, GO),
        ({"If-None-Match": "a"}, GO),
        ({"If-Modified-Since": AT}, SAME),
        ({"If-Modified-Since": AFTER}, SAME),
        ({"If-Modified-Since": BEFORE}, GO),
        ({"If-None-Match": '"x"', "If-Modified-Since": AFTER}, GO),
        ({"If-None-Match": '"a"', "If-Modified-Since": BEFORE}, SAME),
        ({"If-Match": '"x"', "If-None-Match": '"a"'}, FAIL),
        ({"If-Match": '"a"', "If-None-Match": '"a"'}, SAME),
        ({"If-Unmodified-Since": BEFORE, "If-Modified-Since": AFTER}, FAIL),
    ],
)
def test_the_decision_table(headers, outcome):
    """Conditions are decided in the order of RFC 9110 13.2.2, with three outcomes."""
    assert Conditions.from_headers(headers).decide('"a"', WHEN + timedelta(microseconds=5)) is outcome


@pytest.mark.parametrize(
    ("headers", "outcome"),
    [
        ({"If-Modified-Since": AFTER}, GO),
        ({"If-Unmodified-Since": BEFORE}, GO),
        ({"If-Match": '"a"'}, FAIL),
        ({"If-Match": "*"}, GO),
        ({"If-None-Match": '"a"'}, GO),
        ({"If-None-Match": "*"}, SAME),
    ],
)
def test_a_representation_without_validators(headers, outcome):
    """A date has no effect on a representation without one, and no entity tag matches one without any (RFC 9110 13.1)."""
    assert Conditions.from_headers(headers).decide(None, None) is outcome


@pytest.mark.parametrize(
    ("headers", "etag", "allowed"),
    [
        ({}, None, True),
        ({}, '"a"', True),
        ({"If-None-Match": "*"}, None, True),
        ({"If-None-Match": "*"}, '"a"', False),
        ({"If-None-Match": '"x"'}, '"a"', True),
        ({"If-None-Match": 'W/"a"'}, '"a"', False),
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
def test_conditions_of_a_write(headers, etag, allowed):
    """If-Modified-Since has no effect on a write (RFC 9110 13.1.3)."""
    exists = etag is not None
    conditions = Conditions.from_headers(headers)
    assert conditions.allow_write(etag, WHEN if exists else None, exists=exists) is allowed


@pytest.mark.parametrize(
    ("if_range", "holds"),
    [
        (None, True), ('"a"', True), ('"x"', False), ('W/"a"', False), (AT, True), (BEFORE, False), (AFTER, False),
        ("a", False), ("yesterday", False), ('"a", "b"', False), ("", False), (" ", False),
    ],
)  # fmt: skip
def test_a_range_depends_on_if_range(if_range, holds):
    """A Range applies if If-Range is absent or matches this representation strongly (RFC 9110 13.1.5)."""
    conditions = Conditions.from_headers({} if if_range is None else {"If-Range": if_range})
    assert conditions.range_holds('"a"', WHEN + timedelta(microseconds=5)) is holds


@pytest.mark.parametrize("if_range", ['"a"', AT])
def test_if_range_never_holds_without_a_validator(if_range):
    """No If-Range matches a representation without entity tag and date."""
    assert not Conditions.from_headers({"If-Range": if_range}).range_holds(None, None)


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
def test_a_list_is_read(text, expected):
    """A list is read as its members as they are written; empty members are ignored (RFC 9110 5.6.1)."""
    assert parse_etags(text) == expected


@pytest.mark.parametrize("text", ["abc", '"a', 'w/"a"', '"a" "b"', '"a", b', '"a b"', '*, "a"', '"a"b"', '"a\n"'])
def test_an_ill_formed_list_is_one_member(text):
    """A malformed list is kept as one member, which matches no entity tag."""
    assert parse_etags(text) == (text,)
    assert not weak_match(text, '"a"')


@pytest.mark.parametrize(
    ("one", "other", "strong", "weak"),
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
def test_two_entity_tags_are_compared(one, other, strong, weak):
    """This is the table of RFC 9110 8.8.3.2; a text that is not an entity tag matches none."""
    assert (strong_match(one, other), weak_match(one, other)) == (strong, weak)


def test_weakness_is_a_prefix():
    """A weak entity tag begins with `W/`."""
    assert (is_weak('W/"a"'), is_weak('"a"')) == (True, False)


@pytest.mark.parametrize(("text", "expected"), [('"a"', True), ('W/"a"', True), ("a", False), ('"a", "b"', False)])
def test_one_entity_tag_is_distinguished_from_other_texts(text, expected):
    """An entity tag is one opaque tag in quotes, weak or not."""
    assert is_etag(text) is expected


EXAMPLE = datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC)


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
    assert parse_date(text) == EXAMPLE


def test_a_year_of_two_digits_is_at_most_fifty_ahead():
    """A date that seems more than 50 years ahead is of the century before (RFC 9110 5.6.7)."""
    years = [parse_date(f"Sunday, 06-Nov-{short:02} 08:49:37 GMT").year for short in range(100)]
    this_year = datetime.now(UTC).year
    assert [year % 100 for year in years] == list(range(100))
    assert this_year - 100 < min(years) <= this_year <= max(years) <= this_year + 50


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
    """A text that is not an HTTP date, or is an impossible one, gives None."""
    assert parse_date(text) is None


def test_a_date_is_written_as_imf_fixdate():
    """A moment of any time zone is written in GMT."""
    assert format_date(EXAMPLE.astimezone(timezone(timedelta(hours=-5)))) == "Sun, 06 Nov 1994 08:49:37 GMT"


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001 - hypothesis wants bounds without a zone
def test_a_date_survives_its_header(moment):
    """A date that is written is read again as it was, to the second."""
    assert parse_date(format_date(moment)) == moment.replace(microsecond=0)


NOW_FRESHNESS = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


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
def test_the_headers_say_how_long(cache_control, expires, seconds):
    """s-maxage comes before max-age, and that before Expires; None means that nothing may be kept."""
    assert freshness(cache_control, expires, NOW_FRESHNESS) == seconds


def test_a_long_header_is_read_in_linear_time():
    """The cost of a header is linear in its length."""
    assert freshness("a=" * 100_000 + '"' * 100_000, None, NOW_FRESHNESS) == inf


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
def test_one_range_is_read(text, expected):
    """One range is read, with a unit in any case and numbers of any length."""
    assert ByteRange.from_header(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None, "", "bytes", "bytes=", "bytes=-", "bytes=9-0", "bytes=a-b", "bytes=0-1,3-4", "bytes=0-1,", "items=0-9",
        "bytes=0--1", "bytes=0-1-2", "bytes=٠-٩", "bytes 0-9", "bytes=+1-2", "bytes=0 - 9", "bytes=0-9\n",
    ],
)  # fmt: skip
def test_what_is_no_single_range_is_none(text):
    """An absent, malformed or multiple range gives None, so the whole is sent (RFC 9110 14.2)."""
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
    ],
)
def test_a_range_resolves_against_a_size(text, size, expected):
    """A range resolves to bytes, to none (416), or to the whole of an empty representation (RFC 9110 14.1.2)."""
    assert ByteRange.from_header(text).resolve(size) == expected


@given(first=st.none() | st.integers(0, 200), length=st.integers(0, 200), size=st.integers(0, 200))
def test_a_resolved_range_lies_within_the_size(first, length, size):
    """A range resolves to the requested bytes that exist."""
    asked = ByteRange(first, length if first is None else first + length)
    found = asked.resolve(size)
    data = list(range(size))
    wanted = data[size - min(length, size) :] if first is None else data[first : first + length + 1]
    named = data if found is None else data[found.first or 0 : (found.first or 0) + found.length]
    assert named == wanted


@given(first=st.integers(0, HUGE - 1), length=st.none() | st.integers(0, 1000))
def test_a_range_survives_its_header(first, length):
    """A range that is written is read again as it was."""
    value = ByteRange(first, None if length is None else min(first + length, HUGE - 1))
    assert ByteRange.from_header(value.to_header()) == value


@given(length=st.integers(0, HUGE - 1))
def test_a_suffix_survives_its_header(length):
    """A suffix that is written is read again as it was."""
    assert ByteRange.from_header(ByteRange(None, length).to_header()) == ByteRange(None, length)


@pytest.mark.parametrize(
    ("text", "value", "length"),
    [
        ("bytes 0-9/100", ContentRange(0, 9, 100), 10),
        ("bytes 42-42/*", ContentRange(42, 42, None), 1),
        ("bytes */100", ContentRange(None, None, 100), 0),
        ("bytes */0", ContentRange(None, None, 0), 0),
    ],
)
def test_a_content_range_is_read_and_written(text, value, length):
    """A Content-Range is read and written alike."""
    assert (ContentRange.from_header(text), value.to_header(), value.length) == (value, text, length)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bytes",
        "bytes 0-9",
        "bytes 0-9/5",
        "bytes 9-0/100",
        "bytes */*",
        "items 0-9/100",
        "bytes 0-9/1O0",
        "bytes=0-9/100",
    ],
)
def test_an_invalid_content_range_raises(text):
    """A Content-Range that RFC 9110 14.4 calls invalid is an error."""
    with pytest.raises(ValueError, match="bytes"):
        ContentRange.from_header(text)
