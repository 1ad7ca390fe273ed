from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.ranges import ByteRange, ContentRange

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
    """A header with one range is that range, whatever the case of its unit and the length of its numbers."""
    assert ByteRange.from_header(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None, "", "bytes", "bytes=", "bytes=-", "bytes=9-0", "bytes=a-b", "bytes=0-1,3-4", "bytes=0-1,", "items=0-9",
        "bytes=0--1", "bytes=0-1-2", "bytes=٠-٩", "bytes 0-9", "bytes=+1-2", "bytes=0 - 9", "bytes=0-9\n",
    ],
)  # fmt: skip
def test_what_is_no_single_range_is_none(text):
    """An absent, ill-formed or multiple range is none, so that the whole is sent (RFC 9110 14.2)."""
    assert ByteRange.from_header(text) is None


@pytest.mark.parametrize(("first", "last"), [(None, None), (2, 1)])
def test_an_impossible_range_cannot_be_made(first, last):
    """A range without ends, or one that ends before it begins, is not a value."""
    with pytest.raises(ValueError, match="range"):
        ByteRange(first, last)


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
    """A range of a representation is its bytes, none of them (416), or the whole of an empty one (RFC 9110 14.1.2)."""
    assert ByteRange.from_header(text).resolve(size) == expected


@given(first=st.none() | st.integers(0, 200), length=st.integers(0, 200), size=st.integers(0, 200))
def test_a_resolved_range_lies_within_the_size(first, length, size):
    """What a range resolves to names the very bytes that it asks for, of those that there are."""
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
    """A Content-Range and its text are one."""
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
