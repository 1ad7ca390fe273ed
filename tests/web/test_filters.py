"""Headers and compression that the configuration adds to answers."""

import asyncio
import gzip
import zlib
from os import urandom

import pytest
from fakes import OneObjectStore, ScriptedBody, Staff
from memory_store import MemoryStore
from serving import head, serve
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.pages.custom import FILE_HEADERS, Recipe
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.web import filters
from tornado_proxy.web.answer import Streamed

ORIGIN = "https://app.test"
CORS = Server(cors=Cors(enabled=True, allow_origins=(ORIGIN,)))
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
CLOSED = (Resource("/**", provider="staff"),)


@pytest.mark.parametrize(("path", "status"), [("/a", 200), ("/missing", 404), ("/%zz", 400)])
async def test_every_answer_has_the_cors_headers(path, status):
    """Errors have the CORS headers too, so that a page can read them."""
    async with serve({"a": b"x"}, server=CORS) as site:
        answer = await site.request("GET", path, {"Origin": ORIGIN})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, ORIGIN)
        assert "Origin" in answer.headers["vary"]
        other = await site.get(path, Origin="https://b.test")
    assert "access-control-allow-origin" not in other.headers


async def test_a_preflight_is_answered_without_a_sign_in():
    async with serve({}, server=CORS, resources=CLOSED, authenticators={}) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
        assert (answer.status, answer.body, answer.headers["access-control-allow-methods"]) == (200, b"", "GET")
        assert (await site.last_event()).status == 200


async def test_a_preflight_can_be_passed_through():
    passthrough = Server(cors=Cors(enabled=True, options_passthrough=True, allow_all=True))
    async with serve({}, server=passthrough) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert (answer.status, answer.headers["access-control-allow-methods"]) == (405, "GET")


@pytest.mark.parametrize("server", [Server(), Server(cors=Cors(allow_all=True))])
async def test_cors_is_off_unless_it_is_enabled(server):
    async with serve({"a": b"x"}, server=server) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert answer.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


NO_CACHE = CacheHeaders(no_cache_enabled=True)
FORBIDDEN = "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"
CACHE_HEADERS = CacheHeaders(expires="expires", cache_control="max-age=0", pragma="pragma", x_accel_expires="x")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/a", "/"])
async def test_files_and_listings_have_the_cache_headers(method, path):
    async with serve({"a": b"x"}, server=Server(cache=CACHE_HEADERS)) as site:
        headers = (await site.request(method, path)).headers
    values = [headers[name] for name in ("expires", "cache-control", "pragma", "x-accel-expires")]
    assert values == ["expires", "max-age=0", "pragma", "x"]


async def test_an_objects_own_cache_headers_take_precedence():
    """The cache headers of the object replace configured ones, and missing ones are added."""
    store = MemoryStore()
    store.add("a", b"x", ObjectInfo(1, etag='"e"', cache_control="max-age=60"))
    async with serve(store, server=Server(cache=CACHE_HEADERS)) as site:
        headers = (await site.get("/a")).headers
    assert (headers["cache-control"], headers["expires"]) == ("max-age=60", "expires")


async def test_a_redirect_says_itself_how_long_it_holds():
    """A configured Cache-Control is for files and pages; that of redirects is the target's or the object's."""
    store, rules = MemoryStore(), "redirect 301 `^/old` -> `/new`"
    store.add("moved", b"", ObjectInfo(0, redirect="/new", cache_control="max-age=60"))
    get = GetAction(website_redirects=True, redirect_cache_control="max-age=30")
    async with serve(store, server=Server(cache=CACHE_HEADERS), get=get, rules=rules) as site:
        answers = await site.get("/moved"), await site.get("/old")
    assert [(each.status, each.headers["cache-control"]) for each in answers] == [
        (301, "max-age=60"),
        (301, "max-age=30"),
    ]


async def test_disabled_caching_overrides_what_an_object_says():
    """With `noCacheEnabled`, neither an object's own headers nor the answer to a user can be cached, by browsers either."""
    store, server, expires = MemoryStore(), Server(cache=NO_CACHE), "Thu, 01 Jan 2099 00:00:00 GMT"
    store.add("a", b"x", ObjectInfo(1, etag='"e"', cache_control="public, max-age=600", expires=expires))
    resources = (Resource("/signed/**", provider="staff"), Resource("/**", white_list=True))
    rules = 'rewrite `^/signed/a` -> "/a"'
    async with serve(store, server=server, resources=resources, authenticators={"staff": Staff()}, rules=rules) as site:
        signed = await site.get("/signed/a", Authorization="ann")
        answers = [await site.get("/a"), signed, await site.get("/a", If_None_Match='"e"')]
    assert [answer.status for answer in answers] == [200, 200, 304]
    for answer in answers:
        assert answer.headers["cache-control"] == FORBIDDEN
        assert answer.headers["expires"] == "Thu, 01 Jan 1970 00:00:00 GMT"


@pytest.mark.parametrize("cache", [CACHE_HEADERS, NO_CACHE])
@pytest.mark.parametrize(("path", "kind"), [("/a", FILE_HEADERS), ("/", "folder_list"), ("/none", "not_found_error")])
async def test_what_a_template_writes_takes_precedence(cache, path, kind):
    """The cache headers of pages and of `streamedFileHeaders` count, also if caching is forbidden otherwise."""
    written = (("cache-control", "max-age=5"),)
    custom, get = {kind: Recipe(kind, None, written)}, GetAction(streamed_file_headers=written)
    async with serve(_store(), server=Server(cache=cache), custom=custom, get=get) as site:
        answers = [await site.get(path), await site.request("GET", path, GZIP), await site.request("HEAD", path)]
    assert [answer.headers["cache-control"] for answer in answers] == ["max-age=5"] * 3


WITHOUT = {"not_found_error": Recipe("not_found_error", "gone", (("Cache-Control", ""),))}


@pytest.mark.parametrize(
    ("cache", "custom", "expected"),
    [
        (NO_CACHE, {}, ["Thu, 01 Jan 1970 00:00:00 GMT", FORBIDDEN, "no-cache", "0"]),
        (NO_CACHE, WITHOUT, ["Thu, 01 Jan 1970 00:00:00 GMT", FORBIDDEN, "no-cache", "0"]),
        (CACHE_HEADERS, {}, [None, "no-store", None, None]),
        (CACHE_HEADERS, WITHOUT, [None] * 4),
    ],
)
async def test_an_error_is_cached_only_as_its_page_says(cache, custom, expected):
    """Errors do not get the configured cache headers but those of `noCacheEnabled`, which an empty template does not undo."""
    async with serve({}, server=Server(cache=cache), custom=custom) as site:
        headers = (await site.get("/missing")).headers
    assert [headers.get(name) for name in ("expires", "cache-control", "pragma", "x-accel-expires")] == expected


@pytest.mark.parametrize("path", ["/d/", "/d", "/d/a.txt"])
async def test_the_answer_to_a_user_is_not_cached_publicly(path):
    """Cache headers are private, and X-Accel-Expires, which nginx prefers, is removed."""
    cache = CacheHeaders(cache_control="public, max-age=600", x_accel_expires="600", expires="0", pragma="x")
    resources = (Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),)
    actions = Actions(get=GetAction(redirect_with_trailing_slash_for_not_found_file=True))
    options = {"resources": resources, "authenticators": {"staff": Staff()}, "actions": actions}
    async with serve({"d/a.txt": b"x"}, server=Server(cache=cache), **options) as site:
        headers = (await site.get(path, Authorization="ann")).headers
    assert headers["cache-control"] == "private, no-cache"
    assert not {"x-accel-expires", "expires", "pragma"} & {name.lower() for name in headers}


TEXT = "".join(f"<p>{number}</p>\n" for number in range(30_000)).encode()
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def _store(content: bytes = TEXT, **info: str) -> MemoryStore:
    store = MemoryStore()
    store.add("a", content, ObjectInfo(len(content), **({"content_type": "text/html; charset=utf-8"} | info)))
    return store


@pytest.mark.parametrize(
    ("accepted", "coding", "decompress"), [("gzip", "gzip", gzip.decompress), ("deflate", "deflate", zlib.decompress)]
)
async def test_a_file_is_compressed_in_the_accepted_coding(accepted, coding, decompress):
    """A compressed file is sent in chunks, with Vary."""
    async with serve(_store()) as site:
        answer = await site.request("GET", "/a", {"Accept-Encoding": accepted})
    assert (answer.status, answer.headers["content-encoding"], decompress(answer.body)) == (200, coding, TEXT)
    assert answer.headers["vary"] == "Accept-Encoding"
    assert len(answer.body) < len(TEXT) / 4
    assert "content-length" not in answer.headers


async def test_without_accept_encoding_a_file_is_not_compressed():
    async with serve(_store()) as site:
        answer = await site.request("GET", "/a")
    assert (answer.body, answer.headers["vary"]) == (TEXT, "Accept-Encoding")
    assert answer.headers["etag"].startswith('"')
    assert "content-encoding" not in answer.headers


async def test_a_compressed_file_has_its_own_etag_and_headers():
    """A compressed file has a weak ETag, and neither ranges nor digests."""
    async with serve(_store()) as site:
        plain, compressed = await site.request("GET", "/a"), await site.request("GET", "/a", GZIP)
    assert compressed.headers["etag"] == f"W/{plain.headers['etag']}"
    assert "accept-ranges" not in compressed.headers
    assert compressed.headers["last-modified"] == plain.headers["last-modified"]


async def test_a_304_repeats_the_etag_of_the_client():
    """The ETags of the plain and of the compressed file both match, and a 304 repeats the one that was sent."""
    async with serve(_store()) as site:
        etag = (await site.request("GET", "/a", GZIP)).headers["etag"]
        current = await site.request("GET", "/a", {**GZIP, "If-None-Match": etag})
        plain = await site.request("GET", "/a", {"If-None-Match": etag.removeprefix("W/")})
    assert (current.status, current.headers["etag"], current.headers["vary"]) == (304, etag, "Accept-Encoding")
    assert (plain.status, plain.headers["etag"]) == (304, etag.removeprefix("W/"))


@pytest.mark.parametrize("condition", ["If-None-Match", "If-Modified-Since"])
@pytest.mark.parametrize("coding", [{}, GZIP])
async def test_a_304_varies_as_the_file(condition, coding):
    """A cache that replaces what it stored by the headers of a 304 still knows that the file has two forms."""
    async with serve(_store(), server=Server(cors=Cors(enabled=True, allow_origins=("https://a.test",)))) as site:
        file = await site.request("GET", "/a", coding)
        value = file.headers["etag" if condition == "If-None-Match" else "last-modified"]
        current = await site.request("GET", "/a", {**coding, condition: value})
    assert current.status == 304
    assert [current.headers[name] for name in ("etag", "vary")] == [file.headers[name] for name in ("etag", "vary")]


async def test_the_304_of_a_small_file_does_not_vary():
    """A file that is never compressed has one form, and one ETag."""
    async with serve({"a": b"small"}) as site:
        etag = (await site.request("GET", "/a", GZIP)).headers["etag"]
        current = await site.request("GET", "/a", {**GZIP, "If-None-Match": f"W/{etag}"})
    assert (current.status, current.headers["etag"], "vary" in current.headers) == (304, etag, False)


async def test_a_range_is_never_compressed():
    async with serve(_store()) as site:
        part = await site.request("GET", "/a", {**GZIP, "Range": "bytes=3-4"})
        etag = (await site.request("GET", "/a", GZIP)).headers["etag"]
        full = await site.request("GET", "/a", {"Range": "bytes=3-4", "If-Range": etag})
    assert (part.status, part.body, "content-encoding" in part.headers) == (206, TEXT[3:5], False)
    assert (full.status, full.body) == (200, TEXT)


async def test_head_has_the_headers_of_get():
    async with serve(_store()) as site:
        get, head = await site.request("GET", "/a", GZIP), await site.request("HEAD", "/a", GZIP)
    names = ("content-encoding", "vary", "etag", "content-type", "last-modified")
    assert [head.headers[name] for name in names] == [get.headers[name] for name in names]
    assert "content-length" not in head.headers


@pytest.mark.parametrize(
    "info", [{"content_type": "image/png"}, {"content_encoding": "br"}, {"cache_control": "public, no-transform"}]
)
async def test_some_files_are_not_compressed(info):
    async with serve(_store(**info)) as site:
        answer = await site.request("GET", "/a", GZIP)
    assert answer.body == TEXT
    assert "vary" not in answer.headers


@pytest.mark.parametrize(
    ("options", "content", "is_compressed"),
    [
        (Compress(), b"x" * 1023, False),
        (Compress(), b"x" * 1024, True),
        (Compress(min_size=0), b"x", True),
        (Compress(min_size=0), b"", False),
        (Compress(enabled=False), TEXT, False),
        (Compress(types=("text/*",)), TEXT, True),
        (Compress(types=("text/css",)), TEXT, False),
    ],
)
async def test_the_options_decide_what_is_compressed(options, content, is_compressed):
    async with serve(_store(content), server=Server(compress=options)) as site:
        answer = await site.request("GET", "/a", GZIP)
    assert ("content-encoding" in answer.headers) == is_compressed
    assert (gzip.decompress(answer.body) if is_compressed else answer.body) == content


async def test_a_higher_level_compresses_more():
    sizes = []
    for level in (1, 9):
        async with serve(_store(), server=Server(compress=Compress(level=level))) as site:
            sizes.append(len((await site.request("GET", "/a", GZIP)).body))
    assert sizes[1] < sizes[0]


async def test_listings_are_compressed_in_one_piece():
    async with serve({f"photo-{number:04}.jpg": b"x" for number in range(1000)}) as site:
        answer = await site.request("GET", "/", GZIP)
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert int(answer.headers["content-length"]) == len(answer.body) < 60_000
    assert b"photo-0999.jpg" in gzip.decompress(answer.body)


async def test_configured_cache_headers_do_not_prevent_compression():
    """The `no-transform` of `noCacheEnabled` is for caches; only that of an object prevents compression."""
    async with serve(_store(), server=Server(cache=NO_CACHE)) as site:
        answer = await site.request("GET", "/a", GZIP)
    assert (answer.headers["content-encoding"], "no-transform" in answer.headers["cache-control"]) == ("gzip", True)


async def test_http_1_0_gets_no_compression():
    async with serve(_store()) as site, site.connect() as client:
        await client.send(b"GET /a HTTP/1.0\r\nHost: files.test\r\nAccept-Encoding: gzip\r\n\r\n")
        assert (await client.receive()).body == TEXT


async def test_an_interrupted_body_has_no_last_chunk():
    body = ScriptedBody([TEXT, Unreachable("the bucket is gone")], 2 * len(TEXT))
    async with serve(OneObjectStore(body)) as site:
        answer = await site.request("GET", "/a", GZIP)
        event = await site.last_event()
    assert (answer.status, answer.complete, event.complete) == (200, False, False)
    assert body.closed.is_set()


async def test_the_number_of_concurrent_compressions_is_limited(monkeypatch):
    monkeypatch.setattr(filters, "COMPRESSED_AT_ONCE", 1)
    async with serve(_store(urandom(10_000_000))) as site, site.connect() as slow:
        await slow.send(head("GET", "/a", GZIP))
        await slow.receive_head()
        assert "content-encoding" not in (await site.request("GET", "/a", GZIP)).headers
        slow.abort()
        await site.last_event()
        assert "content-encoding" in (await site.request("GET", "/a", GZIP)).headers


async def test_generations_share_the_limit_of_compressions(monkeypatch):
    """Objects that an earlier generation compresses count, whatever its options were."""
    monkeypatch.setattr(filters, "COMPRESSED_AT_ONCE", 1)
    headers = HTTPHeaders({"Host": "h", "Accept-Encoding": "gzip"})
    head_of_get = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.1"), headers=headers)
    before, after = (filters.Compressor(Compress(level=level)) for level in (1, 9))
    opened = await _store().open("a", UNCONDITIONAL)
    answer = Streamed(200, (("Content-Type", "text/plain"), ("Content-Length", "5000")), opened.chunks(), opened.close)
    compressed = before.applied(answer, head_of_get)
    assert after.applied(answer, head_of_get).chunks is answer.chunks
    await compressed.close()
    compressed = after.applied(answer, head_of_get)
    assert compressed.chunks is not answer.chunks
    await compressed.close()


async def test_compression_does_not_block_the_event_loop():
    """A large chunk is compressed in pieces, and other tasks run in between."""
    async with serve(_store(TEXT * 20)) as site:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        await site.request("GET", "/a", GZIP)
        counting.cancel()
    assert turns > len(TEXT) * 20 / (64 * 1024)
