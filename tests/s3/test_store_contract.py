"""The contract of stores, which stores in memory, caches, and stores of moto's and Ceph's S3 fulfil."""

import asyncio
import gzip
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from stores import async_chunks, read_object

from tornado_proxy.routing.upload_steps import Properties
from tornado_proxy.semantics.conditions import ByteRange, Conditions, ContentRange, format_date
from tornado_proxy.storage.errors import (
    NotModified,
    ObjectExists,
    ObjectMissing,
    PreconditionFailed,
    RangeUnsatisfiable,
    TooLarge,
    UploadMissing,
)
from tornado_proxy.storage.store import Entry, IncomingPart, Page, Write

ANY = Conditions()
DIGITS = b"0123456789"
MIB = 1024**2
HEADERS = {
    "cache_control": "max-age=5",
    "content_disposition": 'attachment; filename="a.txt"',
    "content_encoding": "br",
    "content_language": "de",
    "content_type": "text/plain; charset=utf-8",
    "expires": "Wed, 21 Oct 2065 07:28:00 GMT",
    "redirect": "https://example.org/new",
}

# All kinds of keys that a client can name, which have no control characters and no dot segments.
KEYS = [
    "plain.txt", "a b", " a ", "a+b", "100%", "a%2Bb", "a%20b", "what?x=1", "a#b", "a//b", "/a", "//a", "a/", "/", "a/b/", "é/日本",
    "e\u0301", "a&b=c", "<a href='\"'>", "'(1)!*.txt", "a\\b", "~t", "a:b@c;d,e", "\u202ertl", "😀", "...", "a/...", ".a", "back`tick",
    "x" * 1024, "ä" * 512, "{}|^[]", "$1 ${name}", "a\u00a0b", "\u2028",
]  # fmt: skip


# Reading


async def test_an_object_is_opened(under_test):
    """An object that is opened without a range has its body and no `content_range`."""
    under_test.add("a/b.txt", DIGITS)
    opened = await under_test.store.open("a/b.txt", ANY)
    chunks = [chunk async for chunk in opened.chunks()]
    await opened.close()
    assert (b"".join(chunks), opened.info.size, opened.content_range) == (DIGITS, 10, None)


async def test_the_info_has_all_stored_headers(under_test):
    """`head` and `open` return the headers with which the object was stored, unchanged."""
    under_test.add("a.txt", DIGITS, **HEADERS)
    info = await under_test.store.head("a.txt", ANY)
    opened = await under_test.store.open("a.txt", ANY)
    await opened.close()
    assert {name: getattr(info, name) for name in HEADERS} == HEADERS
    assert replace(opened.info, checksums=()) == replace(info, checksums=())


async def test_the_info_has_validators(under_test):
    """The info always has the size, a strong quoted ETag, and a date in UTC without fractions of a second."""
    under_test.add("a.txt", DIGITS)
    info = await under_test.store.head("a.txt", ANY)
    assert (info.size, info.etag) == (10, '"781e5e245d69b566979b86e28d23f2c7"')
    assert (info.last_modified.tzinfo, info.last_modified.microsecond) == (UTC, 0)


async def test_an_object_without_a_type_is_binary(under_test):
    """An object that was stored without a type has S3's `binary/octet-stream`."""
    await under_test.store.put("a", async_chunks(DIGITS), Write())
    assert (await under_test.store.head("a", ANY)).content_type == "binary/octet-stream"


async def test_headers_that_were_not_stored_are_absent(under_test):
    """A header that was not stored is None, not an empty text."""
    under_test.add("a.txt", DIGITS)
    info = await under_test.store.head("a.txt", ANY)
    assert {name: getattr(info, name) for name in HEADERS if name != "content_type"} == dict.fromkeys(
        name for name in HEADERS if name != "content_type"
    )


async def test_a_large_object_comes_in_small_chunks(under_test):
    """The chunks of a large object have at most 512 KiB."""
    body = DIGITS * 100_000
    under_test.add("large", body)
    opened = await under_test.store.open("large", ANY)
    chunks = [chunk async for chunk in opened.chunks()]
    await opened.close()
    assert b"".join(chunks) == body
    assert max(len(chunk) for chunk in chunks) <= 512 * 1024


async def test_a_compressed_object_is_not_decoded(under_test):
    """A body is read as it was stored, because the client decodes its Content-Encoding."""
    body = gzip.compress(DIGITS)
    under_test.add("a.gz", body, content_encoding="gzip")
    assert await read_object(under_test.store, "a.gz") == body


async def test_a_body_may_be_closed_early(under_test):
    """After bodies were closed before their end, also twice, the store still reads objects."""
    under_test.add("large", DIGITS * 200_000)
    for _ in range(20):
        opened = await under_test.store.open("large", ANY)
        await anext(opened.chunks())
        await opened.close()
        await opened.close()
    assert await read_object(under_test.store, "large") == DIGITS * 200_000


@pytest.mark.parametrize(
    ("key", "conditions"),
    [
        *((key, ANY) for key in ("missing", "a", "a/", "a/b/c", "")),
        ("missing", Conditions(if_match=("*",))),
        ("missing", Conditions(if_match=('"x"',))),
        ("missing", Conditions(if_none_match=("*",))),
    ],
)
async def test_a_missing_object_is_missing(under_test, key, conditions):
    """A key without an object is missing, even if other keys begin with it, under any conditions (RFC 9110 13.2.1)."""
    under_test.add("a/b", DIGITS)
    with pytest.raises(ObjectMissing):
        await under_test.store.open(key, conditions)
    with pytest.raises(ObjectMissing):
        await under_test.store.head(key, conditions)


# Ranges


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("bytes=0-3", (0, 3)),
        ("bytes=5-", (5, 9)),
        ("bytes=5-500", (5, 9)),
        ("bytes=9-9", (9, 9)),
        ("bytes=0-", (0, 9)),
        ("bytes=-3", (7, 9)),
        ("bytes=-100", (0, 9)),
    ],
)
async def test_a_range_is_opened(under_test, header, expected):
    """An object that is opened with a satisfiable range has its bytes and `content_range`; the info is the complete object's."""
    under_test.add("a", DIGITS)
    opened = await under_test.store.open("a", ANY, ByteRange.from_header(header))
    body = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    first, last = expected
    assert (body, opened.content_range) == (DIGITS[first : last + 1], ContentRange(first, last, 10))
    assert opened.info.size == 10


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("bytes=10-", DIGITS),
        ("bytes=20-30", DIGITS),
        ("bytes=-0", DIGITS),
        ("bytes=0-", b""),
        ("bytes=0-0", b""),
        ("bytes=-0", b""),
    ],
)
async def test_a_range_without_bytes_is_unsatisfiable(under_test, header, body):
    """A range outside of the object is unsatisfiable, and the error has the object's size."""
    under_test.add("a", body)
    with pytest.raises(RangeUnsatisfiable) as caught:
        await under_test.store.open("a", ANY, ByteRange.from_header(header))
    assert caught.value.size == len(body)


async def test_the_suffix_of_an_empty_object_is_the_complete_object(under_test):
    """An empty object that is opened with a suffix range has no chunks and no `content_range` (RFC 9110 14.1.2)."""
    under_test.add("empty", b"")
    opened = await under_test.store.open("empty", ANY, ByteRange(None, 5))
    assert ([chunk async for chunk in opened.chunks()], opened.content_range) == ([], None)
    await opened.close()


@pytest.mark.parametrize(
    ("if_range", "is_complete"),
    [
        ("{etag}", False),
        ('"other"', True),
        ("W/{etag}", True),
        ("{date}", False),
        ("{before}", True),
        ("{after}", True),
        ("nonsense", True),
    ],
)
async def test_if_range_decides_between_range_and_complete_object(under_test, if_range, is_complete):
    """A range is used only if If-Range has the strong validator of the object (RFC 9110 13.1.5)."""
    conditions = await _conditions(under_test, {"If-Range": if_range})
    opened = await under_test.store.open("a", conditions, ByteRange(0, 3))
    body = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    assert (body, opened.content_range) == ((DIGITS, None) if is_complete else (DIGITS[:4], ContentRange(0, 3, 10)))


@pytest.mark.parametrize(
    ("headers", "part", "body"),
    [({"If-Range": '"other"'}, None, DIGITS), ({"If-None-Match": '"other"'}, ByteRange(2, 3), b"23")],
)
async def test_a_condition_that_does_not_fail_changes_nothing(under_test, headers, part, body):
    """If-Range is ignored if there is no range (RFC 9110 13.1.5); a range is used if the conditions hold."""
    conditions = await _conditions(under_test, headers)
    assert await read_object(under_test.store, "a", conditions, part) == body


async def test_conditions_come_before_ranges(under_test):
    """A failed condition is reported even if the range is unsatisfiable (RFC 9110 13.2.2)."""
    under_test.add("a", DIGITS)
    with pytest.raises(PreconditionFailed):
        await under_test.store.open("a", Conditions(if_match=('"other"',)), ByteRange(50, None))


# Conditions

CONDITIONS = [
    ({"If-Match": "*"}, None),
    ({"If-Match": "{etag}"}, None),
    ({"If-Match": '"other", {etag}'}, None),
    ({"If-Match": '"other"'}, PreconditionFailed),
    ({"If-Match": "W/{etag}"}, PreconditionFailed),
    ({"If-Match": "nonsense"}, PreconditionFailed),
    ({"If-Unmodified-Since": "{date}"}, None),
    ({"If-Unmodified-Since": "{after}"}, None),
    ({"If-Unmodified-Since": "{before}"}, PreconditionFailed),
    ({"If-Match": "{etag}", "If-Unmodified-Since": "{before}"}, None),
    ({"If-None-Match": "*"}, NotModified),
    ({"If-None-Match": "{etag}"}, NotModified),
    ({"If-None-Match": "W/{etag}"}, NotModified),
    ({"If-None-Match": '"other", W/"another", {etag}'}, NotModified),
    ({"If-None-Match": '"other"'}, None),
    ({"If-None-Match": "nonsense"}, None),
    ({"If-Modified-Since": "{date}"}, NotModified),
    ({"If-Modified-Since": "{after}"}, NotModified),
    ({"If-Modified-Since": "{before}"}, None),
    ({"If-None-Match": '"other"', "If-Modified-Since": "{after}"}, None),
    ({"If-None-Match": "{etag}", "If-Modified-Since": "{before}"}, NotModified),
    ({"If-Match": "{etag}", "If-None-Match": "{etag}"}, NotModified),
    ({"If-Match": '"other"', "If-None-Match": "{etag}"}, PreconditionFailed),
]


@pytest.mark.parametrize(("headers", "error"), CONDITIONS)
async def test_a_conditional_read(under_test, headers, error):
    """`open` and `head` return the object, and its info, or raise as RFC 9110 13.2.2 demands."""
    conditions = await _conditions(under_test, headers)
    if error is None:
        assert await read_object(under_test.store, "a", conditions) == DIGITS
        assert (await under_test.store.head("a", conditions)).size == 10
    else:
        with pytest.raises(error):
            await under_test.store.open("a", conditions)
        with pytest.raises(error):
            await under_test.store.head("a", conditions)


@pytest.mark.parametrize("headers", [{"If-None-Match": "{etag}"}, {"If-Modified-Since": "{date}"}])
async def test_not_modified_has_the_headers_of_a_304(under_test, headers):
    """`NotModified` has the same info as `head`, for the headers of a 304 (RFC 9110 15.4.5)."""
    conditions = await _conditions(under_test, headers)
    with pytest.raises(NotModified) as caught:
        await under_test.store.open("a", conditions)
    info = caught.value.info
    assert (info.cache_control, info.expires) == (HEADERS["cache_control"], HEADERS["expires"])
    assert info == await under_test.store.head("a", ANY)


async def test_metadata_is_stored(under_test):
    """`open` and `head` return the stored metadata, with names in lower case, and when the object expires."""
    moment = datetime(2065, 10, 21, 7, 28, tzinfo=UTC)
    write = Write("text/plain", properties=Properties({"Photo-Credit": "Ann", "x": "1, 2"}, expires=moment))
    await under_test.store.put("a", async_chunks(b"x"), write)
    opened = await under_test.store.open("a", ANY)
    await opened.close()
    assert dict(opened.info.metadata) == {"photo-credit": "Ann", "x": "1, 2"}
    assert opened.info.expires == format_date(moment)
    assert (await under_test.store.head("a", ANY)).metadata == opened.info.metadata


# Listing


async def test_a_listing_has_the_entries_directly_below(under_test):
    """A listing has files with size, ETag and date, and each directory once, in the order of their bytes."""
    for key in ("d/b", "d/a/1", "d/a/2", "d/a.txt", "d/é", "d/Z", "other", "d2/x"):
        under_test.add(key, DIGITS)
    page = await under_test.store.list("d/")
    assert [entry.name for entry in page.entries] == ["Z", "a.txt", "a/", "b", "é"]
    assert page.entries[2] == Entry("a/")
    assert (page.entries[3].size, page.entries[3].etag) == (10, '"781e5e245d69b566979b86e28d23f2c7"')
    assert page.entries[3].last_modified == (await under_test.store.head("d/b", ANY)).last_modified
    assert (page.next_after, page.is_marked) == (None, False)


async def test_an_empty_directory_exists_by_its_marker(under_test):
    """A directory that has only a marker exists and is empty."""
    under_test.add("d/", b"")
    page = await under_test.store.list("d/")
    assert (page.entries, page.next_after, page.is_marked) == ((), None, True)


@pytest.mark.parametrize("prefix", ["", "d/", "e/", "a/b/"])
async def test_an_empty_prefix_does_not_exist(under_test, prefix):
    """A directory without keys does not exist, even if other keys begin with its name."""
    if prefix:
        under_test.add("d", b"")
        under_test.add("e-secret/x", b"")
    page = await under_test.store.list(prefix)
    assert (page.entries, page.is_marked) == ((), False)


SLASHES = ("/b", "//c", "a/d", "a//e")


@pytest.mark.parametrize(
    ("keys", "prefix", "names"),
    [
        (("a", "b/c"), "", ["a", "b/"]),
        (("d/", "d/a", "d/sub/"), "d/", ["a", "sub/"]),
        *((SLASHES, "", ["/", "a/"]), (SLASHES, "/", ["/", "b"]), (SLASHES, "//", ["c"])),
        *((SLASHES, "a/", ["/", "d"]), (SLASHES, "a//", ["e"])),
    ],
)
async def test_a_listing_has_files_and_directories(under_test, keys, prefix, names):
    """Of the bucket for an empty prefix; a marker shows in the directory above only, and `//` has an empty name in it."""
    for key in keys:
        under_test.add(key, b"")
    assert [entry.name for entry in (await under_test.store.list(prefix)).entries] == names


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize("with_marker", [True, False])
async def test_pages_have_all_entries(under_test, limit, with_marker):
    """Pages of any size have each entry once, in order, and at most `limit` entries each."""
    names = ["+ %", "/", "a", "b.txt", "b/", "c/", "é"]
    for name in ["", *names] if with_marker else names:
        for child in ("1", "2", "/3") if name.endswith("/") else ("",):
            under_test.add(f"d/{name}{child}", b"")
    listed, after, pages = [], None, 0
    while pages == 0 or after:
        page = await under_test.store.list("d/", after, limit)
        assert len(page.entries) <= limit
        listed, after, pages = [*listed, *(entry.name for entry in page.entries)], page.next_after, pages + 1
    assert (listed, pages) == (names, -(-len(names) // limit))


@pytest.mark.parametrize("prefix", ["d/", "e/"])
async def test_a_page_after_the_last_name_is_empty(under_test, prefix):
    """No entry follows the last name of a directory, and none any name of a missing one."""
    for name in ("", "a", "b"):
        under_test.add(f"d/{name}", b"")
    assert await under_test.store.list(prefix, "b") == Page(())


async def test_a_listing_continues_after_a_removed_entry(under_test):
    """A page begins after the last entry of the previous page, even if that entry was removed."""
    for name in ("a", "b", "c"):
        under_test.add(f"d/{name}", b"")
    after = (await under_test.store.list("d/", None, 2)).next_after
    await under_test.store.remove("d/b")
    assert [entry.name for entry in (await under_test.store.list("d/", after)).entries] == ["c"]


# Writing


@pytest.mark.parametrize("key", KEYS)
async def test_every_key_is_used_unchanged(under_test, key):
    """A key is written, read, listed and removed unchanged."""
    body = key.encode()
    prefix, name = key[: key.rstrip("/").rfind("/") + 1], key[key.rstrip("/").rfind("/") + 1 :]
    await under_test.store.put(key, async_chunks(body), Write())
    assert await read_object(under_test.store, key) == body
    assert (await under_test.store.head(key, ANY)).size == len(body)
    assert name in [entry.name for entry in (await under_test.store.list(prefix)).entries] or not name.strip("/")
    await under_test.store.remove(key)
    with pytest.raises(ObjectMissing):
        await under_test.store.head(key, ANY)


@pytest.mark.parametrize(
    "sizes", [[], [0], [1], [10, 0, 10], [5 * MIB], [5 * MIB, 1], [3 * MIB] * 4, [16 * MIB], [65_536] * 81], ids=str
)
async def test_chunks_become_an_object(writable, sizes):
    """The chunks of an upload become one object, for any number and size of chunks."""
    chunks = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    stored = await writable.store.put("a", async_chunks(*chunks), Write(content_type="text/x"))
    info = await writable.store.head("a", ANY)
    assert (info.size, info.content_type, info.etag) == (sum(sizes), "text/x", stored.etag)
    assert await read_object(writable.store, "a") == b"".join(chunks)


@pytest.mark.parametrize("size", [3, 6 * MIB])
async def test_a_write_without_replace_keeps_an_object(writable, size):
    """A write with `replace=False` raises if the object exists, and does not change it."""
    writable.add("a", b"old")
    with pytest.raises(ObjectExists):
        await writable.store.put("a", async_chunks(b"n" * size), Write(replace=False))
    assert await read_object(writable.store, "a") == b"old"


@pytest.mark.parametrize(
    ("write", "size"),
    [
        *((Write(replace=False), 3), (Write(replace=False), 6 * MIB)),
        *((Write(max_size=10), size) for size in (0, 9, 10)),
    ],
)
async def test_a_write_that_is_allowed_stores_a_new_object(writable, write, size):
    """With `replace=False` if there is no object, and with at most `max_size` bytes."""
    await writable.store.put("a", async_chunks(b"n" * size), write)
    assert (await writable.store.head("a", ANY)).size == size


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"If-Match": "*"}, True),
        ({"If-Match": "{etag}"}, True),
        ({"If-Match": '"other", {etag}'}, True),
        ({"If-Match": '"other"'}, False),
        ({"If-Match": "W/{etag}"}, False),
        ({"If-None-Match": "*"}, False),
        ({"If-None-Match": "{etag}"}, False),
        ({"If-None-Match": '"other"'}, True),
        ({"If-Unmodified-Since": "{date}"}, True),
        ({"If-Unmodified-Since": "{before}"}, False),
        ({"If-Modified-Since": "{after}"}, True),
    ],
)
async def test_a_conditional_write_onto_an_object(writable, headers, allowed, replaces):
    """A failed condition of the client raises `PreconditionFailed`, and `replace=False` raises `ObjectExists`."""
    conditions = await _conditions(writable, headers)
    error = None if allowed else PreconditionFailed
    if not replaces and headers != {"If-None-Match": "*"}:
        error = ObjectExists
    write = writable.store.put("a", async_chunks(b"new"), Write(replace=replaces, conditions=conditions))
    if error is None:
        await write
    else:
        with pytest.raises(error):
            await write
    assert await read_object(writable.store, "a") == (b"new" if error is None else DIGITS)


@pytest.mark.parametrize("replaces", [True, False])
@pytest.mark.parametrize(
    ("conditions", "allowed"),
    [
        (Conditions(if_match=("*",)), False),
        (Conditions(if_match=('"other"',)), False),
        (Conditions(if_match=('"other"', '"another"')), False),
        (Conditions(if_none_match=("*",)), True),
        (Conditions(if_none_match=('"other"',)), True),
        (Conditions(if_unmodified_since=datetime(2000, 1, 1, tzinfo=UTC)), True),
    ],
)
async def test_a_conditional_write_of_a_new_object(writable, conditions, allowed, replaces):
    """If there is no object, no If-Match holds, and every If-None-Match does (RFC 9110 13.1)."""
    write = writable.store.put("a", async_chunks(b"new"), Write(replace=replaces, conditions=conditions))
    if allowed:
        await write
        assert await read_object(writable.store, "a") == b"new"
    else:
        with pytest.raises(PreconditionFailed):
            await write
        assert not (await writable.store.list("")).entries


@pytest.mark.parametrize("headers", [{"If-Match": '"other"'}, {"If-None-Match": "*"}])
async def test_a_conditional_write_of_many_parts(writable, headers):
    """A failed condition also refuses an upload in several parts."""
    if writable.name == "moto" and "If-Match" in headers:
        pytest.skip("moto's CompleteMultipartUpload ignores If-Match")
    conditions = await _conditions(writable, headers)
    with pytest.raises(PreconditionFailed):
        await writable.store.put("a", async_chunks(b"n" * 6 * MIB), Write(conditions=conditions))
    assert await read_object(writable.store, "a") == DIGITS


async def test_one_of_many_concurrent_writes_wins(writable):
    """One of several concurrent writes with `replace=False` stores its object, and the others raise `ObjectExists`."""
    if writable.name == "moto":
        pytest.skip("moto checks and writes without a lock, in threads")
    writes = [writable.store.put("a", async_chunks(b"%d" % number), Write(replace=False)) for number in range(8)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["ObjectExists"] * 7 + ["Stored"]


@pytest.mark.parametrize("chunks", [[b"n" * 11], [b"n" * 10, b"n"], [b"n" * 5 * MIB, b"n" * 5 * MIB]])
async def test_a_write_above_the_maximum_size_stores_nothing(writable, chunks):
    """A write with one byte more than `max_size` raises `TooLarge` and stores nothing."""
    max_size = 10 if len(chunks[0]) < MIB else 10 * MIB - 1
    with pytest.raises(TooLarge):
        await writable.store.put("a", async_chunks(*chunks), Write(max_size=max_size))
    assert not (await writable.store.list("")).entries


@pytest.mark.parametrize("size", [0, 10, 6 * MIB, 12 * MIB])
async def test_an_interrupted_write_stores_nothing(writable, size):
    """`put` lets an exception of the chunks through, and stores nothing."""

    async def broken():
        yield b"n" * size
        raise ConnectionResetError("the client has left")

    with pytest.raises(ConnectionResetError, match="the client has left"):
        await writable.store.put("a", broken(), Write())
    assert not (await writable.store.list("")).entries


@pytest.mark.parametrize("size", [10, 12 * MIB])
async def test_a_cancelled_write_stores_nothing(writable, size):
    """A write stores nothing if its task is cancelled while it waits for chunks."""
    waiting = asyncio.Event()

    async def endless():
        yield b"n" * size
        waiting.set()
        await asyncio.Event().wait()

    write = asyncio.ensure_future(writable.store.put("a", endless(), Write()))
    await waiting.wait()
    write.cancel()
    with pytest.raises(asyncio.CancelledError):
        await write
    assert not (await writable.store.list("")).entries


async def test_an_object_is_removed(writable):
    """`remove` removes one object and no other."""
    writable.add("d/a", b"")
    writable.add("d/b", b"")
    await writable.store.remove("d/a")
    assert [entry.name for entry in (await writable.store.list("d/")).entries] == ["b"]


async def test_the_removal_of_a_missing_object_is_not_an_error(writable):
    """`remove` of a missing object returns, as in S3."""
    await writable.store.remove("missing")
    await writable.store.remove("d/")


async def test_a_signed_url_has_the_key_and_the_time(writable):
    """A signed URL has the percent-encoded key and the time for which the URL is valid."""
    url = await writable.store.presign("a b/é.txt", 300)
    assert "/a%20b/%C3%A9.txt?" in url
    assert "X-Amz-Expires=300" in url


async def test_a_form_has_the_key_and_the_type(writable):
    """A form for S3 has the fields `key` and `Content-Type`, and its representation does not show the policy."""
    form = await writable.store.presign_upload("a b/é.txt", Write("text/plain", max_size=10), 300)
    assert form.url.startswith("http")
    assert (form.fields["key"], form.fields["Content-Type"]) == ("a b/é.txt", "text/plain")
    assert form.fields["policy"] not in repr(form)


# Uploads in parts


PART = bytes(5 * MIB)  # the minimum size of a part that is not the last


async def _send(writable, key, upload, number, body):
    await writable.store.put_part(key, upload, IncomingPart(number, len(body), async_chunks(body)))


async def test_parts_become_an_object(writable):
    """Parts that arrive in any order, one of them twice, become one object."""
    key, properties = "d/ä b.txt", Properties({"by": "ann"}, cache_control="max-age=5")
    upload = await writable.store.begin_upload(key, Write("text/css", properties=properties))
    await _send(writable, key, upload, 2, b"wrong")
    await _send(writable, key, upload, 2, b"end")
    await _send(writable, key, upload, 1, PART)
    parts = await writable.store.list_parts(key, upload)
    assert [(part.number, part.size) for part in parts] == [(1, 5 * MIB), (2, 3)]
    stored = await writable.store.complete_upload(key, upload, parts, Write())
    assert await read_object(writable.store, key) == PART + b"end"
    info = await writable.store.head(key, ANY)
    assert (info.content_type, info.cache_control, info.metadata) == ("text/css", "max-age=5", (("by", "ann"),))
    assert info.etag == stored.etag


async def test_an_upload_in_parts_may_have_one_empty_part(writable):
    """An upload of one empty part becomes an object when it is completed, and not before."""
    upload = await writable.store.begin_upload("a", Write())
    assert await writable.store.list_parts("a", upload) == ()
    await _send(writable, "a", upload, 1, b"")
    with pytest.raises(ObjectMissing):
        await writable.store.head("a", ANY)
    await writable.store.complete_upload("a", upload, await writable.store.list_parts("a", upload), Write())
    assert (await writable.store.head("a", ANY)).size == 0


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (Write(replace=False), ObjectExists),
        (Write(conditions=Conditions(if_none_match=("*",))), PreconditionFailed),
        (Write(conditions=Conditions(if_match=('"another"',))), PreconditionFailed),
    ],
)
async def test_an_upload_in_parts_is_refused_at_its_beginning(writable, write, error):
    """`begin_upload` raises if the object exists and the write may not replace it."""
    writable.add("a", DIGITS)
    with pytest.raises(error):
        await writable.store.begin_upload("a", write)


async def test_an_upload_in_parts_does_not_replace_a_newer_object(writable):
    """`complete_upload` checks the conditions again; if it raises, the parts are kept."""
    upload = await writable.store.begin_upload("a", Write(replace=False))
    await _send(writable, "a", upload, 1, b"new")
    writable.add("a", DIGITS)
    parts = await writable.store.list_parts("a", upload)
    with pytest.raises(ObjectExists):
        await writable.store.complete_upload("a", upload, parts, Write(replace=False))
    assert await read_object(writable.store, "a") == DIGITS
    await writable.store.complete_upload("a", upload, parts, Write())
    assert await read_object(writable.store, "a") == b"new"


async def test_an_upload_in_parts_is_aborted(writable):
    """After `abort_upload` there is neither an upload nor an object."""
    upload = await writable.store.begin_upload("a", Write())
    await _send(writable, "a", upload, 1, b"x")
    await writable.store.abort_upload("a", upload)
    with pytest.raises(UploadMissing):
        await writable.store.list_parts("a", upload)
    with pytest.raises(ObjectMissing):
        await writable.store.head("a", ANY)


async def test_a_part_needs_its_upload(writable):
    """`put_part` raises `UploadMissing` for an unknown ID."""
    if writable.name == "moto":
        pytest.skip("moto's UploadPart answers 500 to an unknown ID")
    with pytest.raises(UploadMissing):
        await _send(writable, "a", "invented", 1, b"x")


async def test_an_upload_belongs_to_its_key(writable):
    """`list_parts` raises `UploadMissing` for an unknown ID, and for the ID of an upload to another key."""
    upload = await writable.store.begin_upload("a", Write())
    # moto has one list of uploads for all keys.
    for key, name in (("a", "invented"), *((("b", upload),) if writable.name != "moto" else ())):
        with pytest.raises(UploadMissing):
            await writable.store.list_parts(key, name)
    await writable.store.abort_upload("a", upload)


async def test_an_open_object_can_be_read_after_the_store_is_closed(closable):
    """An object that was opened before the store was closed can be read to its end."""
    closable.add("large", DIGITS * 100_000)
    opened = await closable.store.open("large", ANY)
    await closable.store.close()
    assert b"".join([chunk async for chunk in opened.chunks()]) == DIGITS * 100_000
    await opened.close()


async def test_a_store_can_be_closed_twice(closable):
    """A closed store can be closed again."""
    await closable.store.close()
    await closable.store.close()


async def _conditions(under_test, headers):
    """Adds an object `a`, and returns the conditions of headers in which its ETag and dates were filled in."""
    under_test.add("a", DIGITS, **HEADERS)
    info = await under_test.store.head("a", ANY)
    dates = {"date": 0, "before": -1, "after": 1}
    names = {name: format_date(info.last_modified + timedelta(seconds=shift)) for name, shift in dates.items()}
    return Conditions.from_headers({name: value.format(etag=info.etag, **names) for name, value in headers.items()})
