from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from tornado_proxy.storage.s3.documents import ErrorDocument, read_error, read_listing
from tornado_proxy.storage.s3.info import ListAnswer
from tornado_proxy.storage.store import Entry

AMAZONS = "http://s3.amazonaws.com/doc/2006-03-01/"


def listing(content: str, namespace: str = AMAZONS) -> bytes:
    return f'<?xml version="1.0"?>\n<ListBucketResult xmlns="{namespace}">{content}</ListBucketResult>'.encode()


def test_a_listing_is_read():
    """Files have size, date and ETag; directories have a name; the listing says whether and where it goes on."""
    content = (
        "<Name>bucket</Name><IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>"
        "<Contents><Key>d/a</Key><LastModified>2026-05-01T10:00:00.123Z</LastModified><ETag>&quot;e&quot;</ETag>"
        "<Size>5</Size><Owner><ID>x</ID></Owner></Contents><CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes>"
    )
    file = Entry("d/a", 5, datetime(2026, 5, 1, 10, tzinfo=UTC), '"e"')
    assert read_listing(listing(content)) == ListAnswer((file, Entry("d/b/")), truncated=True, continuation="on")


@pytest.mark.parametrize("root", [listing(""), listing("", "urn:other"), b"<ListBucketResult/>"])
def test_an_empty_listing_is_read_in_any_namespace(root):
    """S3s differ in the namespace, and a bucket may be empty."""
    assert read_listing(root) == ListAnswer(())


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("<EncodingType>url</EncodingType><Contents><Key>a+b%2Bc%0A%C3%A9</Key></Contents>", "a b+c\né"),
        ("<Contents><Key>a+b%2Bc</Key></Contents>", "a+b%2Bc"),
        ("<EncodingType>url</EncodingType><CommonPrefixes><Prefix>a%20b/</Prefix></CommonPrefixes>", "a b/"),
        ("<Contents><Key> a&amp;b </Key></Contents>", " a&b "),
    ],
)
def test_names_are_decoded_where_they_are_encoded(content, name):
    """A percent in a name is one of the encoding only where S3 says that it encodes."""
    assert [entry.name for entry in read_listing(listing(content)).entries] == [name]


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2026-05-01T10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T12:00:00.5+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("9999-12-31T23:59:59-05:00", None),
    ],
)
def test_dates_are_in_utc_and_whole_seconds(date, moment):
    """A date of another zone, or of none, becomes one of UTC; one that has no UTC is left out."""
    content = f"<Contents><Key>a</Key><LastModified>{date}</LastModified><Size>-1</Size></Contents>"
    assert read_listing(listing(content)).entries == (Entry("a", None, moment),)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"nonsense",
        b"<ListBucketResult>",
        b"<Error><Code>SlowDown</Code></Error>",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><ListBucketResult/>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><ListBucketResult/>".encode("utf-16"),
        "<!DOCTYPE a [<!ENTITY b 'c'>]><ListBucketResult/>".encode("utf-16-le"),
        b"<?xml version='1.0' encoding='cp037'?>" + "<ListBucketResult/>".encode("cp037"),
        listing("<Contents/>"),
        listing("<Contents><Key>a</Key><Size>many</Size></Contents>"),
        listing("<Contents><Key>a</Key><LastModified>soon</LastModified></Contents>"),
        listing("<CommonPrefixes><Prefix/></CommonPrefixes>"),
    ],
)
def test_what_is_no_listing_is_refused(document):
    """A document that is not whole, not a listing, or lists what has no name raises ValueError."""
    with pytest.raises(ValueError, match=r"."):
        read_listing(document)


def test_a_size_that_no_object_has_is_left_out():
    """Nobody could read it on a page."""
    content = f"<Contents><Key>a</Key><Size>{'9' * 400}</Size></Contents>"
    assert read_listing(listing(content)).entries == (Entry("a"),)


def test_a_small_document_stays_small():
    """Entities in an encoding in which the document type is not seen at once do not expand."""
    bomb = f"<!DOCTYPE a [<!ENTITY a '{'x' * 1000}'><!ENTITY b '{'&a;' * 200}'>]><Error><Code>&b;</Code></Error>"
    assert read_error(bomb.encode("utf-16")) == ErrorDocument()


def test_an_error_is_read():
    """Code, message, region and request id of an error are told."""
    document = b"<Error><Code>C</Code><Message>M</Message><Region>r</Region><RequestId>1</RequestId><X/></Error>"
    assert read_error(document) == ErrorDocument("C", "M", "r", "1")


@pytest.mark.parametrize("document", [b"", b"Bad Gateway", b"<html/>", b"<Error>", b"<Error/>"])
def test_what_is_no_error_document_says_nothing(document):
    """A proxy between here and S3 answers in its own words."""
    assert read_error(document) == ErrorDocument()


def test_a_thousand_entries_are_read_in_a_few_milliseconds():
    """A page of a listing does not hold up the loop."""
    entry = (
        "<Contents><Key>prefix/file.txt</Key><LastModified>2026-05-01T10:00:00.000Z</LastModified>"
        "<ETag>&quot;781e5e245d69b566979b86e28d23f2c7&quot;</ETag><Size>10</Size>"
        "<StorageClass>STANDARD</StorageClass></Contents>"
    )
    document = listing(entry * 1000)
    spent = []
    for _ in range(5):
        began = time.thread_time()
        read_listing(document)
        spent.append(time.thread_time() - began)
    assert min(spent) < 0.05
