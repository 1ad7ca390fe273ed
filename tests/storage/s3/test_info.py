from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tornado_proxy.semantics.conditions import ContentRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.info import content_range, list_answer, object_info, page
from tornado_proxy.storage.store import Entry, ObjectInfo, Page, from_token


def test_an_answer_becomes_an_info():
    """Each header that S3 keeps has its place; the date is in UTC and whole seconds, `Expires` is the text."""
    moment = datetime(2026, 5, 1, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    answer = {
        "ETag": '"1"', "LastModified": moment, "ContentType": "t", "ContentDisposition": "d", "ContentEncoding": "e",
        "ContentLanguage": "l", "CacheControl": "c", "ExpiresString": "never", "Metadata": {"X": "y"}, "ChecksumType": "FULL_OBJECT",
        "ChecksumSHA256": "abc=", "ChecksumCRC64NVME": "def=",
    }  # fmt: skip
    checksums = (Checksum("SHA256", "abc=", "FULL_OBJECT"), Checksum("CRC64NVME", "def=", "FULL_OBJECT"))
    date = datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert object_info(answer, 7) == ObjectInfo(
        7, '"1"', date, "t", "d", "e", "l", "c", "never", checksums, (("x", "y"),)
    )


@pytest.mark.parametrize(
    ("header", "text"),
    [("plain", "plain"), ("é".encode().decode("latin-1"), "é"), ("é", "é"), ("日", "日")],
)
def test_a_header_is_the_text_that_was_stored(header, text):
    """UTF-8 that was read as Latin-1 is read again; what is not UTF-8 stays."""
    assert object_info({"ContentDisposition": header}, 7).content_disposition == text


def test_an_answer_that_says_nothing_is_an_info_too():
    """What S3 leaves out is none."""
    assert object_info({}, 7) == ObjectInfo(7)


@pytest.mark.parametrize("size", [None, -1])
def test_an_object_without_a_size_is_an_error(size):
    """An answer that does not give the size cannot be served."""
    with pytest.raises(UpstreamError, match="size"):
        object_info({}, size)


def test_a_date_out_of_range_is_left_out():
    """The last day of the year 9999 in a zone behind UTC is not a date in UTC."""
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-5)))
    assert object_info({"LastModified": last}, 7).last_modified is None


def test_a_part_is_told():
    """An answer says which part it is, or that it is none."""
    assert content_range({"ContentRange": "bytes 0-9/100"}) == ContentRange(0, 9, 100)
    assert content_range({}) is None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"ContentRange": "bytes */100"}, "names no bytes"),
        ({"ContentRange": "nonsense"}, "invalid Content-Range `nonsense`"),
        ({"ContentRange": "bytes 5-3/100"}, "invalid Content-Range"),
        ({"ContentRange": "bytes 0-3/100", "ContentLength": 10}, "10 bytes for the Content-Range"),
        ({"ResponseMetadata": {"HTTPStatusCode": 206}}, "206 without a Content-Range"),
    ],
)
def test_a_part_that_contradicts_itself_is_an_error(answer, message):
    """An answer that names no bytes, or others than it sends, cannot be served."""
    with pytest.raises(UpstreamError, match=message):
        content_range(answer)


def listing(*keys: str, directories: tuple[str, ...] = (), truncated: bool = False) -> dict:
    contents = [{"Key": key, "Size": 1, "ETag": '"1"'} for key in keys]
    return {
        "Contents": contents,
        "CommonPrefixes": [{"Prefix": each} for each in directories],
        "IsTruncated": truncated,
    }


@pytest.mark.parametrize(
    ("answer", "after", "limit", "names", "token", "exists"),
    [
        ({}, "", 5, [], None, False),
        (listing("d/b", directories=("d/a/",)), "", 5, ["a/", "b"], None, True),
        (listing("d/"), "", 5, [], None, True),
        (listing("d/", truncated=True), "", 5, [], None, True),
        (listing("d/", "d/a", "d/b"), "", 2, ["a", "b"], None, True),
        (listing("d/a", "d/b", "d/c"), "", 2, ["a", "b"], "b", True),
        (listing("d/a", "d/b", truncated=True), "", 5, ["a", "b"], "b", True),
        (listing("d/c", directories=("d/b/",)), "b/", 5, ["c"], None, True),
    ],
)
def test_an_answer_becomes_a_page(answer, after, limit, names, token, exists):
    """Files and directories are one list, without the marker and what was told before, and no longer than asked for."""
    found = page([list_answer(answer)], "d/", after, limit)
    assert ([entry.name for entry in found.entries], found.exists) == (names, exists)
    assert found.next_token is None if token is None else from_token(found.next_token) == token


def test_an_entry_has_what_s3_says_of_it():
    """A file has size, date and ETag; a directory has none of them."""
    answer = {"Contents": [{"Key": "d/a"}], "CommonPrefixes": [{"Prefix": "d/b/"}]}
    assert page([list_answer(answer)], "d/", "", 5) == Page((Entry("a"), Entry("b/")))


@pytest.mark.parametrize("answer", [{"Contents": [{"Size": 1}]}, {"CommonPrefixes": [{}]}])
def test_an_entry_without_a_name_is_an_error(answer):
    """A listing that does not name what it lists cannot be shown."""
    with pytest.raises(UpstreamError, match="without"):
        list_answer(answer)


def test_an_entry_outside_the_prefix_is_an_error():
    """A key that was not asked for is never shown."""
    with pytest.raises(UpstreamError, match="`e/a`, which is not below `d/`"):
        page([list_answer(listing("e/a"))], "d/", "", 5)


@pytest.mark.parametrize("size", [-3, 10**400])
def test_a_senseless_size_is_left_out(size):
    """A negative size is not shown, and the rest of the entry is."""
    assert list_answer({"Contents": [{"Key": "a", "Size": size}]}).entries == (Entry("a"),)
