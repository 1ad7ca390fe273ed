from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tornado_proxy.semantics.conditions import ByteRange, ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.s3.answers import content_length, content_range, object_info
from tornado_proxy.storage.store import ObjectInfo

FIRST_FOUR = ByteRange(0, 3)


def test_headers_become_an_info():
    """Each header has its place, as it was written."""
    headers = {
        b"etag": b'"e"',
        b"last-modified": b"Fri, 01 May 2026 10:00:00 GMT",
        b"content-type": b"text/plain",
        b"content-disposition": b"inline",
        b"content-encoding": b"br",
        b"content-language": b"de",
        b"cache-control": b"no-store",
        b"expires": b"-1",
        b"x-amz-meta-x": b"y",
    }
    modified = datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert object_info(headers, 7) == ObjectInfo(
        7, '"e"', modified, "text/plain", "inline", "br", "de", "no-store", "-1", metadata=(("x", "y"),)
    )


def test_checksums_have_their_type():
    """The type stands beside the checksums and is that of each."""
    headers = {
        b"x-amz-checksum-sha256": b"YQ==",
        b"x-amz-checksum-type": b"COMPOSITE",
        b"x-amz-checksum-crc32": b"Yg==",
    }
    assert object_info(headers, 1).checksums == (
        Checksum("SHA256", "YQ==", "COMPOSITE"),
        Checksum("CRC32", "Yg==", "COMPOSITE"),
    )


@pytest.mark.parametrize(("value", "text"), [("é日".encode(), "é日"), ("é".encode("latin-1"), "é"), (b"", "")])
def test_headers_are_read_as_utf_8_where_they_are(value, text):
    """What is not UTF-8 is Latin-1, in which every byte has a meaning."""
    assert object_info({b"content-disposition": value}, 0).content_disposition == text


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (b"Fri, 01 May 2026 10:00:00 +0000", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (b"Fri, 01 May 2026 10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (b"Fri, 31 Dec 9999 23:59:59 -0500", None),
    ],
)
def test_other_dates_are_understood(value, moment):
    """S3s that do not write HTTP's own form of a date are read all the same."""
    assert object_info({b"last-modified": value}, 0).last_modified == moment


def test_a_date_that_is_none_is_refused():
    """A Last-Modified that says nothing is an answer that makes no sense."""
    with pytest.raises(ValueError, match=r"."):
        object_info({b"last-modified": b"yesterday"}, 0)


def test_a_missing_length_is_refused():
    """An object of unknown size cannot be served."""
    with pytest.raises(ValueError, match="length"):
        content_length({})


def test_an_answer_may_be_the_whole():
    """A 200 is not a part, whatever was asked for."""
    assert content_range(200, {b"content-length": b"10"}, FIRST_FOUR) is None


@pytest.mark.parametrize(
    ("asked", "told", "length"),
    [
        (FIRST_FOUR, b"bytes 0-3/10", 4),
        (ByteRange(None, 4), b"bytes 6-9/10", 4),
        (ByteRange(5, None), b"bytes 5-9/10", 5),
        (ByteRange(5, 500), b"bytes 5-9/10", 5),
    ],
)
def test_a_part_is_the_one_that_was_asked_for(asked, told, length):
    """A 206 has the bytes that the range names in an object of that size."""
    headers = {b"content-range": told, b"content-length": str(length).encode()}
    assert content_range(206, headers, asked) == ContentRange.from_header(told.decode())


@pytest.mark.parametrize(
    ("status", "asked", "told", "length"),
    [
        (206, FIRST_FOUR, b"bytes 0-3/10", b"5"),
        (206, FIRST_FOUR, b"bytes 0-3/10", None),
        (206, FIRST_FOUR, b"bytes 1-4/10", b"4"),
        (206, FIRST_FOUR, b"bytes 0-2/10", b"3"),
        (206, FIRST_FOUR, b"bytes 0-3/*", b"4"),
        (206, FIRST_FOUR, b"bytes */10", b"4"),
        (206, FIRST_FOUR, b"nonsense", b"4"),
        (206, FIRST_FOUR, b"bytes 0-3/10, bytes 0-3/11", b"4"),
        (206, FIRST_FOUR, None, b"4"),
        (206, None, b"bytes 0-3/10", b"4"),
        (200, FIRST_FOUR, b"bytes 0-3/10", b"4"),
    ],
)
def test_a_part_that_contradicts_itself_is_refused(status, asked, told, length):
    """Status, range and length have to say the same, and what was asked for."""
    headers = {b"content-range": told, b"content-length": length}
    with pytest.raises(ValueError, match=r"."):
        content_range(status, {name: value for name, value in headers.items() if value is not None}, asked)
