"""What every store does alike: the one suite that the memory store, bare and measured, moto's S3 and Ceph's all pass."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from stores import async_chunks, read_object

from tornado_proxy.routing.uploads import Properties
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
from tornado_proxy.storage.store import Entry, IncomingPart, Write

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
}

# Everything that a client can name: no control characters, no dot segments.
KEYS = [
    "plain.txt", "a b", " a ", "a+b", "100%", "a%2Bb", "a%20b", "what?x=1", "a#b", "a//b", "/a", "//a", "a/", "/", "a/b/", "é/日本",
    "e\u0301", "a&b=c", "<a href='\"'>", "'(1)!*.txt", "a\\b", "~t", "a:b@c;d,e", "\u202ertl", "😀", "...", "a/...", ".a", "back`tick",
    "x" * 1024, "ä" * 512, "{}|^[]", "$1 ${name}", "a\u00a0b", "\u2028",
]  # fmt: skip


# Reading


async def test_an_object_is_opened(world):
    """An opened object has its body, and no part where none was asked for."""
    world.add("a/b.txt", DIGITS)
    opened = await world.store.open("a/b.txt", ANY)
    chunks = [chunk async for chunk in opened.chunks()]
    await opened.close()
    assert (b"".join(chunks), opened.info.size, opened.content_range) == (DIGITS, 10, None)


async def test_an_objects_info_says_all_that_was_stored(world):
    """HEAD and GET tell the headers that the object was stored with, as they were written."""
    world.add("a.txt", DIGITS, **HEADERS)
    info = await world.store.head("a.txt", ANY)
    opened = await world.store.open("a.txt", ANY)
    await opened.close()
    assert {name: getattr(info, name) for name in HEADERS} == HEADERS
    assert replace(opened.info, checksums=()) == replace(info, checksums=())


async def test_an_objects_info_has_validators(world):
    """Size, a strong ETag in quotes and a date in whole seconds of UTC are always told."""
    world.add("a.txt", DIGITS)
    info = await world.store.head("a.txt", ANY)
    assert (info.size, info.etag) == (10, '"781e5e245d69b566979b86e28d23f2c7"')
    assert (info.last_modified.tzinfo, info.last_modified.microsecond) == (UTC, 0)


async def test_an_object_without_a_type_is_binary(world):
    """An object that was stored without a type is S3's `binary/octet-stream`."""
    await world.store.put("a", async_chunks(DIGITS), Write())
    assert (await world.store.head("a", ANY)).content_type == "binary/octet-stream"


async def test_headers_that_were_not_stored_are_absent(world):
    """What an object was not given is none, not an empty text."""
    world.add("a.txt", DIGITS)
    info = await world.store.head("a.txt", ANY)
    assert {name: getattr(info, name) for name in HEADERS if name != "content_type"} == dict.fromkeys(
        name for name in HEADERS if name != "content_type"
    )


async def test_an_empty_object_has_no_chunks(world):
    """An empty object is opened, and ends at once."""
    world.add("empty", b"")
    opened = await world.store.open("empty", ANY)
    assert [chunk async for chunk in opened.chunks()] == []
    await opened.close()


async def test_a_large_object_comes_in_small_chunks(world):
    """No chunk is larger than 256 KiB."""
    body = DIGITS * 100_000
    world.add("large", body)
    opened = await world.store.open("large", ANY)
    chunks = [chunk async for chunk in opened.chunks()]
    await opened.close()
    assert b"".join(chunks) == body
    assert max(len(chunk) for chunk in chunks) <= 256 * 1024


async def test_a_compressed_object_comes_as_it_was_stored(world):
    """A body is never decoded: its Content-Encoding is the client's to undo."""
    body = gzip.compress(DIGITS)
    world.add("a.gz", body, content_encoding="gzip")
    assert await read_object(world.store, "a.gz") == body


async def test_a_body_may_be_left_unread(world):
    """An object that is closed early leaves the store as good as before, and may be closed twice."""
    world.add("large", DIGITS * 200_000)
    for _ in range(20):
        opened = await world.store.open("large", ANY)
        await anext(opened.chunks())
        await opened.close()
        await opened.close()
    assert await read_object(world.store, "large") == DIGITS * 200_000


@pytest.mark.parametrize("key", ["missing", "a", "a/", "a/b/c", ""])
async def test_a_missing_object_is_missing(world, key):
    """A key that names no object is missing, even if others begin with it."""
    world.add("a/b", DIGITS)
    with pytest.raises(ObjectMissing):
        await world.store.open(key, ANY)
    with pytest.raises(ObjectMissing):
        await world.store.head(key, ANY)


@pytest.mark.parametrize(
    "conditions", [Conditions(if_match=("*",)), Conditions(if_match=('"x"',)), Conditions(if_none_match=("*",))]
)
async def test_a_missing_object_is_missing_whatever_the_conditions(world, conditions):
    """Conditions are not decided where there is nothing to decide on (RFC 9110 13.2.1)."""
    with pytest.raises(ObjectMissing):
        await world.store.open("missing", conditions)
    with pytest.raises(ObjectMissing):
        await world.store.head("missing", conditions)


# Ranges


@pytest.mark.parametrize(
    ("asked", "told"),
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
async def test_a_part_is_opened(world, asked, told):
    """A satisfiable range is those bytes and says which; the info is still the whole object's."""
    world.add("a", DIGITS)
    opened = await world.store.open("a", ANY, ByteRange.from_header(asked))
    body = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    first, last = told
    assert (body, opened.content_range) == (DIGITS[first : last + 1], ContentRange(first, last, 10))
    assert opened.info.size == 10


@pytest.mark.parametrize(
    ("asked", "body"),
    [
        ("bytes=10-", DIGITS),
        ("bytes=20-30", DIGITS),
        ("bytes=-0", DIGITS),
        ("bytes=0-", b""),
        ("bytes=0-0", b""),
        ("bytes=-0", b""),
    ],
)
async def test_a_range_without_bytes_shows_the_size(world, asked, body):
    """A range that names no byte is unsatisfiable, and the error knows the object's size."""
    world.add("a", body)
    with pytest.raises(RangeUnsatisfiable) as caught:
        await world.store.open("a", ANY, ByteRange.from_header(asked))
    assert caught.value.size == len(body)


async def test_the_suffix_of_an_empty_object_is_the_whole(world):
    """The last bytes of an empty object are all there are: none, and no part (RFC 9110 14.1.2)."""
    world.add("empty", b"")
    opened = await world.store.open("empty", ANY, ByteRange(None, 5))
    assert ([chunk async for chunk in opened.chunks()], opened.content_range) == ([], None)
    await opened.close()


@pytest.mark.parametrize(
    ("if_range", "whole"),
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
async def test_if_range_decides_between_part_and_whole(world, if_range, whole):
    """A range is obeyed only if If-Range names this very representation (RFC 9110 13.1.5)."""
    conditions = await _conditions(world, {"If-Range": if_range})
    opened = await world.store.open("a", conditions, ByteRange(0, 3))
    body = b"".join([chunk async for chunk in opened.chunks()])
    await opened.close()
    assert (body, opened.content_range) == ((DIGITS, None) if whole else (DIGITS[:4], ContentRange(0, 3, 10)))


async def test_if_range_says_nothing_without_a_range(world):
    """Without a range, an If-Range is ignored (RFC 9110 13.1.5)."""
    conditions = await _conditions(world, {"If-Range": '"other"'})
    assert await read_object(world.store, "a", conditions) == DIGITS


async def test_conditions_come_before_ranges(world):
    """A condition that fails is told, even of a range that cannot be satisfied (RFC 9110 13.2.2)."""
    world.add("a", DIGITS)
    with pytest.raises(PreconditionFailed):
        await world.store.open("a", Conditions(if_match=('"other"',)), ByteRange(50, None))


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
async def test_a_conditional_get(world, headers, error):
    """A GET is answered, not modified or refused as RFC 9110 13.2.2 says."""
    conditions = await _conditions(world, headers)
    if error is None:
        assert await read_object(world.store, "a", conditions) == DIGITS
    else:
        with pytest.raises(error):
            await world.store.open("a", conditions)


@pytest.mark.parametrize(("headers", "error"), CONDITIONS)
async def test_a_conditional_head(world, headers, error):
    """A HEAD is answered as a GET is."""
    conditions = await _conditions(world, headers)
    if error is None:
        assert (await world.store.head("a", conditions)).size == 10
    else:
        with pytest.raises(error):
            await world.store.head("a", conditions)


@pytest.mark.parametrize("headers", [{"If-None-Match": "{etag}"}, {"If-Modified-Since": "{date}"}])
async def test_not_modified_shows_what_a_304_carries(world, headers):
    """The info of what is not modified has all that a 200 would say (RFC 9110 15.4.5)."""
    conditions = await _conditions(world, headers)
    with pytest.raises(NotModified) as caught:
        await world.store.open("a", conditions)
    info = caught.value.info
    assert (info.cache_control, info.expires) == (HEADERS["cache_control"], HEADERS["expires"])
    assert info == await world.store.head("a", ANY)


async def test_metadata_is_read_as_it_was_written(world):
    """Its names have no case."""
    write = Write("text/plain", properties=Properties({"Photo-Credit": "Ann", "x": "1, 2"}))
    await world.store.put("a", async_chunks(b"x"), write)
    opened = await world.store.open("a", ANY)
    await opened.close()
    assert dict(opened.info.metadata) == {"photo-credit": "Ann", "x": "1, 2"}
    assert await world.store.head("a", ANY) == opened.info


async def test_a_conditional_range(world):
    """Conditions that hold leave a range as it is."""
    conditions = await _conditions(world, {"If-None-Match": '"other"'})
    opened = await world.store.open("a", conditions, ByteRange(2, 3))
    assert [chunk async for chunk in opened.chunks()] == [b"23"]
    await opened.close()


# Listing


async def test_a_listing_has_what_lies_directly_below(world):
    """Files with size and date, and directories once each, in the order of their bytes."""
    for key in ("d/b", "d/a/1", "d/a/2", "d/a.txt", "d/é", "d/Z", "other", "d2/x"):
        world.add(key, DIGITS)
    page = await world.store.list("d/")
    assert [entry.name for entry in page.entries] == ["Z", "a.txt", "a/", "b", "é"]
    assert page.entries[2] == Entry("a/")
    assert (page.entries[3].size, page.entries[3].etag) == (10, '"781e5e245d69b566979b86e28d23f2c7"')
    assert page.entries[3].last_modified == (await world.store.head("d/b", ANY)).last_modified
    assert (page.next_token, page.exists) == (None, True)


async def test_the_root_is_listed(world):
    """The empty prefix lists the bucket."""
    world.add("a", b"")
    world.add("b/c", b"")
    assert [entry.name for entry in (await world.store.list("")).entries] == ["a", "b/"]


async def test_a_directorys_marker_is_not_listed(world):
    """The marker of a directory is left out, and others' markers are directories."""
    for key in ("d/", "d/a", "d/sub/"):
        world.add(key, b"")
    assert [entry.name for entry in (await world.store.list("d/")).entries] == ["a", "sub/"]


async def test_an_empty_directory_exists_by_its_marker(world):
    """A marker alone makes an empty page of a directory that exists."""
    world.add("d/", b"")
    page = await world.store.list("d/")
    assert (page.entries, page.next_token, page.exists) == ((), None, True)


@pytest.mark.parametrize("prefix", ["", "d/", "e/", "a/b/"])
async def test_nothing_does_not_exist(world, prefix):
    """A prefix below which nothing lies does not exist, even if keys begin with its name."""
    if prefix:
        world.add("d", b"")
        world.add("e-secret/x", b"")
    page = await world.store.list(prefix)
    assert (page.entries, page.exists) == ((), False)


@pytest.mark.parametrize(
    ("prefix", "names"),
    [("", ["/", "a/"]), ("/", ["/", "b"]), ("//", ["c"]), ("a/", ["/", "d"]), ("a//", ["e"])],
)
async def test_empty_segments_are_directories(world, prefix, names):
    """A leading slash and a double one are directories whose name is empty."""
    for key in ("/b", "//c", "a/d", "a//e"):
        world.add(key, b"")
    assert [entry.name for entry in (await world.store.list(prefix)).entries] == names


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 1000])
@pytest.mark.parametrize("marker", [True, False])
async def test_pages_add_up_to_the_whole(world, limit, marker):
    """Whatever the size of a page, each name comes once and in order, and no page is larger."""
    names = ["+ %", "/", "a", "b.txt", "b/", "c/", "é"]
    for name in ["", *names] if marker else names:
        for child in ("1", "2", "/3") if name.endswith("/") else ("",):
            world.add(f"d/{name}{child}", b"")
    seen, token, pages = [], None, 0
    while pages == 0 or token:
        page = await world.store.list("d/", token, limit)
        assert len(page.entries) <= limit
        seen, token, pages = [*seen, *(entry.name for entry in page.entries)], page.next_token, pages + 1
    assert (seen, pages) == (names, -(-len(names) // limit))


@pytest.mark.parametrize(
    "token", ["", "garbage", "%zz", "é", "a" * 5000, "Lw", "\x00", "\ud800", "<&>", "LwA", "L_____8"]
)
async def test_a_token_that_no_page_gave_leads_to_the_first(world, token):
    """A client may write what it likes where a token stands."""
    world.add("d/a", b"")
    assert [entry.name for entry in (await world.store.list("d/", token)).entries] == ["a"]


async def test_a_token_after_which_nothing_lies_leads_to_the_first(world):
    """A token outlives what it names: where nothing follows, the listing begins again."""
    for name in ("a", "b", "c"):
        world.add(f"d/{name}", b"")
    token = (await world.store.list("d/", None, 2)).next_token
    await world.store.remove("d/c")
    assert [entry.name for entry in (await world.store.list("d/", token)).entries] == ["a", "b"]


async def test_a_token_of_nothing_shows_that_it_does_not_exist(world):
    """With a token as without, a directory that does not exist does not."""
    for name in ("a", "b"):
        world.add(f"d/{name}", b"")
    token = (await world.store.list("d/", None, 1)).next_token
    assert not (await world.store.list("e/", token)).exists


async def test_a_token_goes_on_after_its_name_is_gone(world):
    """A page goes on where the last one ended, even if that entry has been removed."""
    for name in ("a", "b", "c"):
        world.add(f"d/{name}", b"")
    token = (await world.store.list("d/", None, 2)).next_token
    await world.store.remove("d/b")
    assert [entry.name for entry in (await world.store.list("d/", token)).entries] == ["c"]


async def test_a_token_does_not_show_the_prefix(world):
    """A token tells nothing of a prefix, which a rewrite may have made."""
    tokens = []
    for prefix in ("short/", "a-secret-that-nobody-may-see/"):
        for name in ("a", "b"):
            world.add(f"{prefix}{name}", b"")
        tokens.append((await world.store.list(prefix, None, 1)).next_token)
    assert tokens[0] == tokens[1]


# Writing


@pytest.mark.parametrize("key", KEYS)
async def test_every_key_is_reached(world, key):
    """A key is written, read, listed and removed exactly as it is."""
    body = key.encode()
    prefix, name = key[: key.rstrip("/").rfind("/") + 1], key[key.rstrip("/").rfind("/") + 1 :]
    await world.store.put(key, async_chunks(body), Write())
    assert await read_object(world.store, key) == body
    assert (await world.store.head(key, ANY)).size == len(body)
    assert name in [entry.name for entry in (await world.store.list(prefix)).entries] or not name.strip("/")
    await world.store.remove(key)
    with pytest.raises(ObjectMissing):
        await world.store.head(key, ANY)


@pytest.mark.parametrize(
    "sizes",
    [[], [0], [1], [10, 0, 10], [5 * MIB], [5 * MIB, 1], [3 * MIB] * 4, [16 * MIB], [65_536] * 81],
    ids=str,
)
async def test_chunks_become_an_object(writable, sizes):
    """An upload is stored whole and in order, however large it is and however it comes."""
    chunks = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    stored = await writable.store.put("a", async_chunks(*chunks), Write(content_type="text/x"))
    info = await writable.store.head("a", ANY)
    assert (info.size, info.content_type, info.etag) == (sum(sizes), "text/x", stored.etag)
    assert await read_object(writable.store, "a") == b"".join(chunks)


async def test_an_object_is_replaced(writable):
    """A write replaces what is there."""
    writable.add("a", b"old")
    await writable.store.put("a", async_chunks(b"new"), Write())
    assert await read_object(writable.store, "a") == b"new"


@pytest.mark.parametrize("size", [3, 6 * MIB])
async def test_an_object_in_the_way_stays(writable, size):
    """A write that may not replace finds out that it would, and leaves what is there."""
    writable.add("a", b"old")
    with pytest.raises(ObjectExists):
        await writable.store.put("a", async_chunks(b"n" * size), Write(replace=False))
    assert await read_object(writable.store, "a") == b"old"


@pytest.mark.parametrize("size", [3, 6 * MIB])
async def test_a_write_that_may_not_replace_stores_what_is_new(writable, size):
    """Where nothing is in the way, a write that may not replace is a write."""
    await writable.store.put("a", async_chunks(b"n" * size), Write(replace=False))
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
    """The client's conditions are decided; the target's rule is told apart from them."""
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
async def test_a_conditional_write_where_nothing_is(writable, conditions, allowed, replaces):
    """Where nothing is, no If-Match holds and every If-None-Match does (RFC 9110 13.1)."""
    write = writable.store.put("a", async_chunks(b"new"), Write(replace=replaces, conditions=conditions))
    if allowed:
        await write
        assert await read_object(writable.store, "a") == b"new"
    else:
        with pytest.raises(PreconditionFailed):
            await write
        assert not (await writable.store.list("")).exists


@pytest.mark.parametrize("headers", [{"If-Match": '"other"'}, {"If-None-Match": "*"}])
async def test_a_conditional_write_of_many_parts(writable, headers):
    """A condition that does not hold keeps a large upload from replacing anything, too."""
    if writable.name == "moto" and "If-Match" in headers:
        pytest.skip("moto's CompleteMultipartUpload does not look at If-Match")
    conditions = await _conditions(writable, headers)
    with pytest.raises(PreconditionFailed):
        await writable.store.put("a", async_chunks(b"n" * 6 * MIB), Write(conditions=conditions))
    assert await read_object(writable.store, "a") == DIGITS


async def test_of_many_writers_one_wins(writable):
    """Of writes at one time that may not replace, one stores and all others find it in the way."""
    if writable.name == "moto":
        pytest.skip("moto looks, then writes, in threads")
    writes = [writable.store.put("a", async_chunks(b"%d" % number), Write(replace=False)) for number in range(8)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["ObjectExists"] * 7 + ["Stored"]


@pytest.mark.parametrize("size", [0, 9, 10])
async def test_a_write_up_to_its_largest_size_is_stored(writable, size):
    """As many bytes as may be stored are stored."""
    await writable.store.put("a", async_chunks(b"n" * size), Write(max_size=10))
    assert (await writable.store.head("a", ANY)).size == size


@pytest.mark.parametrize("chunks", [[b"n" * 11], [b"n" * 10, b"n"], [b"n" * 5 * MIB, b"n" * 5 * MIB]])
async def test_a_write_past_its_largest_size_stores_nothing(writable, chunks):
    """One byte more is too large, and nothing of it is stored."""
    largest = 10 if len(chunks[0]) < MIB else 10 * MIB - 1
    with pytest.raises(TooLarge):
        await writable.store.put("a", async_chunks(*chunks), Write(max_size=largest))
    assert not (await writable.store.list("")).exists


@pytest.mark.parametrize("size", [0, 10, 6 * MIB, 12 * MIB])
async def test_a_write_that_breaks_off_stores_nothing(writable, size):
    """What the chunks raise is raised again as it is, and nothing is stored."""

    async def broken():
        yield b"n" * size
        raise ConnectionResetError("the client has left")

    with pytest.raises(ConnectionResetError, match="the client has left"):
        await writable.store.put("a", broken(), Write())
    assert not (await writable.store.list("")).exists


@pytest.mark.parametrize("size", [10, 12 * MIB])
async def test_a_write_that_is_cancelled_stores_nothing(writable, size):
    """A write whose task is cancelled while chunks are missing stores nothing."""
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
    assert not (await writable.store.list("")).exists


async def test_an_object_is_removed(writable):
    """A removed object is missing; others stay."""
    writable.add("d/a", b"")
    writable.add("d/b", b"")
    await writable.store.remove("d/a")
    assert [entry.name for entry in (await writable.store.list("d/")).entries] == ["b"]


async def test_a_missing_object_is_removed_without_a_word(writable):
    """Removing what is not there is no error, as in S3."""
    await writable.store.remove("missing")
    await writable.store.remove("d/")


async def test_a_signed_url_names_the_object_and_its_time(writable):
    """A signed URL has the key, percent-encoded, and says for how long it holds."""
    url = await writable.store.presign("a b/é.txt", 300)
    assert "/a%20b/%C3%A9.txt?" in url
    assert "X-Amz-Expires=300" in url


async def test_a_form_has_the_key_and_the_type(writable):
    """The fields stand before the file, and each is bound by the form's policy."""
    form = await writable.store.presign_upload("a b/é.txt", Write("text/plain", max_size=10), 300)
    assert form.url.startswith("http")
    assert (form.fields["key"], form.fields["Content-Type"]) == ("a b/é.txt", "text/plain")
    assert form.fields["policy"] not in repr(form)


# Uploads in parts


PART = bytes(5 * MIB)  # the smallest that is not the last


async def _send(writable, key, upload, number, body):
    await writable.store.put_part(key, upload, IncomingPart(number, len(body), async_chunks(body)))


async def test_parts_become_an_object(writable):
    """Parts arrive in any order, and one may be sent again."""
    key, properties = "d/ä b.txt", Properties({"by": "ann"}, cache_control="max-age=5")
    upload = await writable.store.begin_upload(key, Write("text/css", properties=properties))
    await _send(writable, key, upload, 2, b"wrong")
    await _send(writable, key, upload, 2, b"end")
    await _send(writable, key, upload, 1, PART)
    parts = await writable.store.list_parts(key, upload)
    assert [(each.number, each.size) for each in parts] == [(1, 5 * MIB), (2, 3)]
    stored = await writable.store.complete_upload(key, upload, parts, Write())
    assert await read_object(writable.store, key) == PART + b"end"
    info = await writable.store.head(key, ANY)
    assert (info.content_type, info.cache_control, info.metadata) == ("text/css", "max-age=5", (("by", "ann"),))
    assert info.etag == stored.etag


async def test_an_upload_in_parts_may_have_one(writable):
    """A part may be empty; until the end there is no object."""
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
async def test_an_upload_in_parts_is_not_begun_in_vain(writable, write, error):
    """An object in the way is noticed before any part is sent."""
    writable.add("a", DIGITS)
    with pytest.raises(error):
        await writable.store.begin_upload("a", write)


async def test_an_upload_in_parts_replaces_nothing_that_came_meanwhile(writable):
    """The conditions are checked again at the end, and the parts stay."""
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
    """Afterwards there is neither an upload nor an object."""
    upload = await writable.store.begin_upload("a", Write())
    await _send(writable, "a", upload, 1, b"x")
    await writable.store.abort_upload("a", upload)
    with pytest.raises(UploadMissing):
        await writable.store.list_parts("a", upload)
    with pytest.raises(ObjectMissing):
        await writable.store.head("a", ANY)


async def test_a_part_needs_its_upload(writable):
    """Nothing is stored for an ID that was invented."""
    if writable.name == "moto":
        pytest.skip("moto's UploadPart answers 500 to an unknown ID")
    with pytest.raises(UploadMissing):
        await _send(writable, "a", "invented", 1, b"x")


async def test_an_upload_belongs_to_its_key(writable):
    """An ID says nothing about another key, and an invented one nothing at all."""
    upload = await writable.store.begin_upload("a", Write())
    # moto has one list of uploads for all keys.
    for key, name in (("a", "invented"), *((("b", upload),) if writable.name != "moto" else ())):
        with pytest.raises(UploadMissing):
            await writable.store.list_parts(key, name)
    await writable.store.abort_upload("a", upload)


async def test_an_open_object_outlives_its_store(closable):
    """A store that is closed takes nothing from those who are reading."""
    closable.add("large", DIGITS * 100_000)
    opened = await closable.store.open("large", ANY)
    await closable.store.close()
    assert b"".join([chunk async for chunk in opened.chunks()]) == DIGITS * 100_000
    await opened.close()


async def test_a_store_is_closed_twice(closable):
    """A store that is closed may be closed again."""
    await closable.store.close()
    await closable.store.close()


async def _conditions(world, headers):
    """The conditions of headers, in which an object `a` of ten digits is named."""
    world.add("a", DIGITS, **HEADERS)
    info = await world.store.head("a", ANY)
    dates = {"date": 0, "before": -1, "after": 1}
    names = {name: format_date(info.last_modified + timedelta(seconds=shift)) for name, shift in dates.items()}
    return Conditions.from_headers({name: value.format(etag=info.etag, **names) for name, value in headers.items()})
