from datetime import UTC, datetime
from xml.etree.ElementTree import ParseError, fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.s3.answers import (
    ErrorDocument,
    ListAnswer,
    content_range,
    object_head,
    object_info,
    read_error,
    read_listing,
)
from tornado_proxy.semantics.conditions import ByteRange
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.store import Entry, ObjectInfo

FIRST_FOUR = ByteRange(0, 3)


def test_headers_become_an_info():
    """Each header of an object sets its field of the info, unchanged."""
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
    """All checksums of an object have the type in `x-amz-checksum-type`."""
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
def test_headers_are_decoded_as_utf_8_or_latin_1(value, text):
    """A header that is not UTF-8 is decoded as Latin-1, in which each byte is a character."""
    assert object_info({b"content-disposition": value}, 0).content_disposition == text


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (b"Fri, 01 May 2026 10:00:00 +0000", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (b"Fri, 01 May 2026 10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        (b"Fri, 31 Dec 9999 23:59:59 -0500", None),
        (b"yesterday", None),
    ],
)
def test_dates_in_other_forms_are_read(value, moment):
    """A date that is not in HTTP's form is read; one that is out of range in UTC, or none, becomes None."""
    assert object_info({b"last-modified": value}, 0).last_modified == moment


@pytest.mark.parametrize("headers", [{}, {b"content-length": b"-5"}, {b"content-length": b"five"}])
def test_an_invalid_length_is_refused(headers):
    """A missing or invalid Content-Length raises `ValueError`: nothing would tell a broken connection."""
    with pytest.raises(ValueError, match="Content-Length"):
        object_head(200, {b"etag": b'"1"', **headers})


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (b"aws-chunked", None),
        (b"AWS-Chunked", None),
        (b"aws-chunked,gzip", "gzip"),
        (b"gzip, aws-chunked", "gzip"),
        (b" br ,aws-chunked , , zstd", "br, zstd"),
        (b"gzip", "gzip"),
    ],
)
def test_the_framing_of_an_upload_is_no_encoding(stored, sent):
    """`aws-chunked` in a stored Content-Encoding is left out."""
    assert object_info({b"content-encoding": stored}, 0).content_encoding == sent


@pytest.mark.parametrize(
    ("sent", "etag"), [(b"abc", '"abc"'), (b'"abc"', '"abc"'), (b'W/"abc"', 'W/"abc"'), (b"", None)]
)
def test_an_etag_has_quotes(sent, etag):
    """An ETag gets the quotes that some S3s leave out."""
    assert object_info({b"etag": sent}, 0).etag == etag


@pytest.mark.parametrize(
    ("status", "requested", "header", "length"),
    [
        (206, FIRST_FOUR, b"bytes 0-3/10", b"5"),
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
def test_a_contradictory_range_is_refused(status, requested, header, length):
    """A Content-Range that contradicts the status, the length or the requested range raises `ValueError`."""
    headers = {b"content-range": header, b"content-length": length}
    with pytest.raises(ValueError, match=r"."):
        content_range(status, {name: value for name, value in headers.items() if value is not None}, requested)


AMAZON_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


def listing(content: str, namespace: str = AMAZON_NAMESPACE) -> bytes:
    return f'<?xml version="1.0"?>\n<ListBucketResult xmlns="{namespace}">{content}</ListBucketResult>'.encode()


def test_a_listing_is_read():
    """A listing has files with size, date and ETag, directories with a name, and a continuation token if it is truncated."""
    content = (
        "<Name>bucket</Name><IsTruncated>true</IsTruncated><NextContinuationToken>on</NextContinuationToken>"
        "<Contents><Key>d/a</Key><LastModified>2026-05-01T10:00:00.123Z</LastModified><ETag>&quot;e&quot;</ETag>"
        "<Size>5</Size><Owner><ID>x</ID></Owner></Contents><CommonPrefixes><Prefix>d/b/</Prefix></CommonPrefixes>"
    )
    file = Entry("d/a", 5, datetime(2026, 5, 1, 10, tzinfo=UTC), '"e"')
    assert read_listing(listing(content)) == ListAnswer((file, Entry("d/b/")), truncated=True, continuation="on")


@pytest.mark.parametrize("root", [listing(""), listing("", "urn:other"), b"<ListBucketResult/>"])
def test_an_empty_listing_is_read_in_any_namespace(root):
    """An empty listing is read in the namespace of Amazon, in another, and without one."""
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
def test_keys_are_decoded_if_they_are_encoded(content, name):
    """A key is percent-decoded only if the listing has the EncodingType `url`."""
    assert [entry.name for entry in read_listing(listing(content)).entries] == [name]


@pytest.mark.parametrize("key", ["a%FFb", "%C3", "%FF"])
def test_a_name_that_is_not_utf_8_is_refused(key):
    """S3 has no such keys, and no path could name one."""
    entry = f"<Contents><Key>{key}</Key></Contents>"
    with pytest.raises(ValueError, match=r"UTF-8|utf-8"):
        read_listing(f"<ListBucketResult><EncodingType>url</EncodingType>{entry}</ListBucketResult>".encode())


@pytest.mark.parametrize(
    ("date", "moment"),
    [
        ("2026-05-01T10:00:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("2026-05-01T12:00:00.5+02:00", datetime(2026, 5, 1, 10, tzinfo=UTC)),
        ("9999-12-31T23:59:59-05:00", None),
    ],
)
def test_dates_are_in_utc_without_fractions(date, moment):
    """A date in any time zone, or without one, becomes UTC; a date that is out of range in UTC becomes None."""
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
        listing("<Contents>text</Contents>"),
        listing("<Contents><Key><Key>a</Key></Key></Contents>"),
        listing("<Contents><Key>a</Key><Size>many</Size></Contents>"),
        listing("<CommonPrefixes><Prefix/></CommonPrefixes>"),
    ],
)
def test_an_invalid_listing_is_refused(document):
    """A document that is incomplete, is not a listing, or has an invalid entry raises `ValueError`."""
    with pytest.raises(ValueError, match=r"."):
        read_listing(document)


@pytest.mark.parametrize(
    "repeated", ["a\uffff/", "\ufffe", "\x01", "&#x1;", "&#x0fFfE;", "&#00031;", "&#65535;", "&#0;"]
)
def test_what_xml_cannot_express_hides_no_entry(repeated):
    """S3s repeat a prefix, or the last name in a token, as it is; one file of such a name must not hide all others."""
    content = (
        f"<EncodingType>url</EncodingType><Prefix>{repeated}</Prefix>"
        f"<Contents><Key>a%EF%BF%BFb</Key><ETag>&#34;1&#x22;</ETag></Contents>"
        f"<IsTruncated>true</IsTruncated><NextContinuationToken>{repeated}</NextContinuationToken>"
    )
    answer = read_listing(listing(content))
    assert answer.entries == (Entry("a\uffffb", etag='"1"'),)
    assert answer.truncated


def _as_expat_reads(text: str) -> str:
    """A text of XML; one character that stands for it, if expat refuses it."""
    try:
        return fromstring(f"<a>{text}</a>").text or ""
    except ParseError:
        return "\N{REPLACEMENT CHARACTER}"


CODE_POINTS = st.integers(0, 0x10FFFF) | st.sampled_from(
    (0x1F, 0x20, 0x7F, 0x85, 0xD7FF, 0xD83D, 0xDFFF, 0xE000, 0xFFFD, 0xFFFE, 0x1FFFE)
)


@given(
    st.lists(
        st.tuples(CODE_POINTS, st.sampled_from(("&#{};", "&#x{:x};", "&#x{:X};", "&#00{};", "&#x000{:x};", "{:c}")))
    )
)
def test_what_xml_cannot_express_is_what_expat_refuses(characters):
    """Each other character stays, however it is written."""
    texts = [form.format(code) for code, form in characters]
    # Raw, these two are markup, and no UTF-8 has a surrogate; a NUL is refused.
    texts = [text for text in texts if text not in ("&", "<", "\r", "\0") and not "\ud800" <= text <= "\udfff"]
    answer = read_listing(listing(f"<NextContinuationToken>{''.join(texts)}</NextContinuationToken>"))
    assert answer.continuation == "".join(map(_as_expat_reads, texts))


def test_an_impossible_size_is_ignored():
    """An entry has no size if the size in the listing is too large for an object."""
    content = f"<Contents><Key>a</Key><Size>{'9' * 400}</Size></Contents>"
    assert read_listing(listing(content)).entries == (Entry("a"),)


BOMB = f"<!DOCTYPE a [<!ENTITY a '{'x' * 1000}'><!ENTITY b '{'&a;' * 200}'>]><Error><Code>&b;</Code></Error>"
ERROR = b"<Error><Code>C</Code><Message>M</Message><Region>r</Region><RequestId>1</RequestId><X/></Error>"


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        (ERROR, ("C", "M", "r", "1")),
        *((document, ()) for document in (b"", b"Bad Gateway", b"<html/>", b"<Error>", b"<Error/>")),
        (BOMB.encode("utf-16"), ()),
    ],
)
def test_an_error_is_read(document, parts):
    """What is no error document, such as a page of a proxy, is an empty one; entities are expanded in no encoding."""
    assert read_error(document) == ErrorDocument(*parts)
