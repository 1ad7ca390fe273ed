"""What other S3s than Amazon's answer, by both ways of reading."""

import gzip

import pytest
from hostile_s3 import hostile_s3
from scripted_s3 import MODIFIED, Reply, reply
from stores import read_object, store_at

from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.errors import NOT_S3, NotModified, UpstreamError

ANY = Conditions()
PACKED = gzip.compress(b"console.log(1)\n" * 9000, 0)
CHUNKED = b"ETag: abc\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=["loop", "executor"])
def store_of(request):
    """A function that opens a store of an S3, for each way of reading."""
    return lambda s3, **settings: store_at(s3.url, request.param, **{"max_attempts": 1, **settings})


def stored(body: bytes, **headers: str) -> Reply:
    return reply(200, body, Last_Modified=MODIFIED, **{"ETag": '"1"', **headers})


def in_chunks(body: bytes, status: str = "200 OK", more: str = "") -> Reply:
    """An answer without a length."""
    head = f"HTTP/1.1 {status}\r\n{more}".encode() + CHUNKED
    return Reply(head + (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n")


def unpacking(s3) -> list[str | None]:
    """What the requests of an S3 accepted."""
    lines = [line.lower() for request in s3.requests for line in request.splitlines()]
    return [line.partition(": ")[2] for line in lines if line.startswith("accept-encoding: ")]


def heads_only(answer: Reply) -> Reply:
    return Reply(answer.data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")


async def test_a_packed_object_is_read_as_it_is_stored(store_of):
    """An S3 that unpacks what it sends without a length (GCS, R2) is asked again for what is stored, and then at once."""
    as_stored = stored(PACKED, Content_Encoding="gzip")
    answers = [in_chunks(b"console.log(1)\n" * 9000), as_stored, as_stored, heads_only(as_stored)]
    async with hostile_s3(*answers) as s3, store_of(s3) as store:
        assert await read_object(store, "a.js") == PACKED
        assert await read_object(store, "a.js") == PACKED
        assert (await store.head("a.js", ANY)).size == len(PACKED)
    assert unpacking(s3) == ["identity", "gzip", "gzip", "gzip"]


async def test_a_range_of_a_packed_object_is_one_of_what_is_stored(store_of):
    """An S3 that unpacks ignores ranges meanwhile."""
    part = reply(206, PACKED[5:9], ETag='"1"', Content_Range=f"bytes 5-8/{len(PACKED)}", Content_Encoding="gzip")
    async with hostile_s3(in_chunks(b"x" * 100), part) as s3, store_of(s3) as store:
        assert await read_object(store, "a.js", part=ByteRange(5, 8)) == PACKED[5:9]


@pytest.mark.parametrize("body", [b"", b"short", b"long" * 200_000])
async def test_an_object_without_a_length_is_read_to_its_end(store_of, body):
    """What has no length in any way is read until its last chunk, and S3 is not asked twice again."""
    async with hostile_s3(in_chunks(body)) as s3, store_of(s3) as store:
        assert await read_object(store, "a") == body
        opened = await store.open("a", ANY)
        assert opened.info.size is None
        await opened.close()
    assert unpacking(s3) == ["identity", "gzip", "identity"]


async def test_an_object_without_a_length_that_is_cut_is_an_error(store_of):
    """The last chunk tells a whole body from a broken connection."""
    whole = in_chunks(b"x" * 400_000)
    async with hostile_s3(Reply(whole.data[:-9])) as s3, store_of(s3, read_timeout=0.5) as store:
        with pytest.raises(Exception, match=r"."):
            await read_object(store, "a")


async def test_a_part_without_a_length_is_as_long_as_it_says(store_of):
    """A 206 in chunks has the bytes that its Content-Range names."""
    part = in_chunks(b"2345", "206 Partial Content", "Content-Range: bytes 2-5/10\r\n")
    async with hostile_s3(part) as s3, store_of(s3) as store:
        assert await read_object(store, "a", part=ByteRange(2, 5)) == b"2345"


async def test_an_etag_without_quotes_is_compared_with_them(store_of):
    """A client that has what an S3 calls `abc` asks with `"abc"`, as does a listing's reader."""
    listed = b"<ListBucketResult><Name>b</Name><Contents><Key>a</Key><ETag>abc</ETag></Contents></ListBucketResult>"
    async with (
        hostile_s3(heads_only(stored(b"x", ETag="abc")), reply(200, listed), stored(b"x", ETag="abc")) as s3,
        store_of(s3) as store,
    ):
        with pytest.raises(NotModified):
            await store.head("a", Conditions(if_none_match=('"abc"',)))
        assert [each.etag for each in (await store.list("")).entries] == ['"abc"']
        assert await read_object(store, "a", Conditions(if_match=('"abc"',))) == b"x"


async def test_an_s3_may_compare_etags_as_it_writes_them(store_of):
    """What S3 refuses although the ETags are the same is asked for as S3 writes it, from then on at once."""
    found = stored(b"x", ETag="abc")
    async with hostile_s3(reply(412), heads_only(found), found, found) as s3, store_of(s3) as store:
        for _ in range(2):
            assert await read_object(store, "a", Conditions(if_match=('"abc"',))) == b"x"
    sent = [dict(line.lower().split(": ", 1) for line in each.splitlines()[1:] if line) for each in s3.requests]
    assert [each.get("if-match") for each in sent] == ['"abc"', None, "abc", "abc"]


@pytest.mark.parametrize("date", ["yesterday", "", "2026-05-01"])
async def test_a_date_that_is_none_is_left_out(store_of, date):
    """An object whose date cannot be read has none."""
    answer = reply(200, b"x", ETag='"1"', Last_Modified=date)
    async with hostile_s3(answer) as s3, store_of(s3) as store:
        assert await read_object(store, "a") == b"x"


PAGE = b"<!DOCTYPE html><html><head><meta charset=utf-8><title>Console</title></html>"


@pytest.mark.parametrize(
    "page",
    [
        reply(200, PAGE, Content_Type="text/html"),
        reply(200, b"<html><body>Sign in</body></html>", Content_Type="text/html", Last_Modified=MODIFIED),
        reply(200, b"<ok/>"),
    ],
    ids=["console", "portal", "other"],
)
async def test_what_is_no_s3_is_named(store_of, page):
    """A page instead of an object or a listing says that something else answers."""
    # The answer to a HEAD ends with its head.
    async with hostile_s3(page, page, heads_only(page)) as s3, store_of(s3) as store:
        for call in (store.list("d/"), store.open("a", ANY), store.head("a", ANY)):
            with pytest.raises(UpstreamError, match=NOT_S3.replace(".", r"\.")):
                await call


async def test_a_page_with_an_etag_is_none_where_no_listing_is_one(store_of):
    """What answers a listing with a page has no objects; the probe of each target lists it. Once S3 answers, it has."""
    listing = b"<ListBucketResult/>"
    page = reply(200, PAGE, Content_Type="text/html", ETag='"1"', Last_Modified=MODIFIED)
    async with hostile_s3(page, page, page, heads_only(page), reply(200, listing), page) as s3, store_of(s3) as store:
        assert await read_object(store, "a") == PAGE
        for call in (store.list(""), store.open("a", ANY), store.head("a", ANY)):
            with pytest.raises(UpstreamError, match=NOT_S3.replace(".", r"\.")):
                await call
        await store.list("")
        assert await read_object(store, "a") == PAGE


async def test_an_object_without_an_etag_is_one_if_the_answer_is_of_s3(store_of):
    """Not every S3 has an ETag for every object."""
    answer = reply(200, PAGE, Content_Type="text/html", x_amz_request_id="R")
    async with hostile_s3(answer) as s3, store_of(s3) as store:
        assert await read_object(store, "a") == PAGE
