"""Headers and compression that the configuration asks for."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from os import urandom

import pytest
from fakes import OneObject, ScriptedBody
from memory_store import MemoryStore
from serving import head, serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.gateway import filters
from tornado_proxy.pages.custom import Recipe
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.templates.template import User

ORIGIN = "https://app.test"
CORS = Server(cors=Cors(enabled=True, allow_origins=(ORIGIN,)))
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
CLOSED = (Resource("/**", provider="staff"),)


@pytest.mark.parametrize(("path", "status"), [("/a", 200), ("/missing", 404), ("/%zz", 400)])
async def test_every_answer_names_the_origin(path, status):
    """Errors have the CORS headers too, so that a page can read them."""
    async with serve({"a": b"x"}, server=CORS) as site:
        answer = await site.request("GET", path, {"Origin": ORIGIN})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, ORIGIN)
        assert "Origin" in answer.headers["vary"]
        assert (
            "access-control-allow-origin" not in (await site.request("GET", path, {"Origin": "https://b.test"})).headers
        )


async def test_a_preflight_is_answered_without_a_sign_in():
    """A preflight is answered before any sign-in."""
    async with serve({}, server=CORS, resources=CLOSED, authenticators={}) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
        assert (answer.status, answer.body, answer.headers["access-control-allow-methods"]) == (200, b"", "GET")
        assert (await site.told()).status == 200


async def test_a_preflight_may_be_passed_on():
    """With `optionsPassthrough`, a preflight is answered like any OPTIONS."""
    passing = Server(cors=Cors(enabled=True, options_passthrough=True, allow_all=True))
    async with serve({}, server=passing) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert (answer.status, answer.headers["access-control-allow-methods"]) == (405, "GET")


@pytest.mark.parametrize("server", [Server(), Server(cors=Cors(allow_all=True))])
async def test_cors_is_off_unless_it_is_enabled(server):
    """Without CORS there are neither headers nor answers to preflights."""
    async with serve({"a": b"x"}, server=server) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert answer.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


GIVEN = CacheHeaders(expires="expires", cache_control="max-age=0", pragma="pragma", x_accel_expires="x")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/a", "/"])
async def test_files_and_listings_carry_the_headers(method, path):
    """All configured cache headers are sent."""
    async with serve({"a": b"x"}, server=Server(cache=GIVEN)) as site:
        headers = (await site.request(method, path)).headers
    told = [headers[name] for name in ("expires", "cache-control", "pragma", "x-accel-expires")]
    assert told == ["expires", "max-age=0", "pragma", "x"]


async def test_a_file_keeps_what_it_says_of_caches_itself():
    """The object's own cache headers take precedence; missing ones are added."""
    store = MemoryStore()
    store.add("a", b"x", ObjectInfo(1, etag='"e"', cache_control="max-age=60"))
    async with serve(store, server=Server(cache=GIVEN)) as site:
        headers = (await site.get("/a")).headers
    assert (headers["cache-control"], headers["expires"]) == ("max-age=60", "expires")


async def test_nothing_is_cached_where_that_is_asked_for():
    """`noCacheEnabled` sends the headers of s3-proxy."""
    async with serve({"a": b"x"}, server=Server(cache=CacheHeaders(no_cache_enabled=True))) as site:
        headers = (await site.get("/a")).headers
    assert headers["cache-control"] == "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"
    assert (headers["pragma"], headers["x-accel-expires"]) == ("no-cache", "0")


async def test_an_error_keeps_its_own_header():
    """Errors do not get the configured cache headers."""
    async with serve({}, server=Server(cache=GIVEN)) as site:
        assert (await site.get("/missing")).headers["cache-control"] == "no-store"


async def test_an_error_without_a_header_of_its_own_gets_no_other():
    """A custom page may leave `Cache-Control` out; caches decide about such an error by themselves."""
    custom = {"not_found_error": Recipe("not_found_error", "gone", (("Cache-Control", ""),))}
    async with serve({}, server=Server(cache=GIVEN), custom=custom) as site:
        headers = (await site.get("/missing")).headers
    assert not {"cache-control", "expires", "pragma", "x-accel-expires"} & set(headers)


class _Ann:
    """An authenticator that takes everybody for ann."""

    async def authenticate(self, request, guard):
        return SignIn(User("ann"))


@pytest.mark.parametrize("path", ["/d/", "/d", "/d/a.txt"])
async def test_no_shared_cache_keeps_what_a_user_is_sent(path):
    """Listings, redirects and files alike: nginx would believe X-Accel-Expires before Cache-Control."""
    cache = CacheHeaders(cache_control="public, max-age=600", x_accel_expires="600", expires="0", pragma="x")
    resources = (Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),)
    actions = Actions(get=GetAction(redirect_with_trailing_slash_for_not_found_file=True))
    signing_in = {"resources": resources, "authenticators": {"staff": _Ann()}, "actions": actions}
    async with serve({"d/a.txt": b"x"}, server=Server(cache=cache), **signing_in) as site:
        headers = (await site.request("GET", path)).headers
    assert headers["cache-control"] == "private, no-cache"
    assert not {"x-accel-expires", "expires", "pragma"} & {name.lower() for name in headers}


TEXT = "".join(f"<p>{number}</p>\n" for number in range(30_000)).encode()
GZIP = {"Accept-Encoding": "gzip, deflate, br"}


def _store(content: bytes = TEXT, **info: str) -> MemoryStore:
    store = MemoryStore()
    store.add("a", content, ObjectInfo(len(content), **({"content_type": "text/html; charset=utf-8"} | info)))
    return store


@pytest.mark.parametrize(
    ("accepted", "coding", "plain"), [("gzip", "gzip", gzip.decompress), ("deflate", "deflate", zlib.decompress)]
)
async def test_a_file_is_compressed_in_the_coding_that_is_accepted(accepted, coding, plain):
    """A compressed file is sent in chunks, with Vary."""
    async with serve(_store()) as site:
        answer = await site.request("GET", "/a", {"Accept-Encoding": accepted})
    assert (answer.status, answer.headers["content-encoding"], plain(answer.body)) == (200, coding, TEXT)
    assert answer.headers["vary"] == "Accept-Encoding"
    assert len(answer.body) < len(TEXT) / 4
    assert "content-length" not in answer.headers


async def test_another_request_may_follow_on_the_connection():
    """The connection can be used again after a compressed answer."""
    async with serve(_store()) as site, site.connect() as client:
        answers = [await client.request("GET", "/a", GZIP) for _ in range(3)]
    assert [gzip.decompress(each.body) for each in answers] == [TEXT] * 3


async def test_who_does_not_ask_for_it_gets_the_file_as_it_is():
    """A client without Accept-Encoding gets the plain file with its strong ETag, and Vary."""
    async with serve(_store()) as site:
        answer = await site.request("GET", "/a")
    assert (answer.body, answer.headers["vary"]) == (TEXT, "Accept-Encoding")
    assert answer.headers["etag"].startswith('"')
    assert "content-encoding" not in answer.headers


async def test_the_compressed_form_has_an_etag_and_headers_of_its_own():
    """The compressed form has a weak ETag, and neither ranges nor digests."""
    async with serve(_store()) as site:
        plain, compressed = await site.request("GET", "/a"), await site.request("GET", "/a", GZIP)
    assert compressed.headers["etag"] == f"W/{plain.headers['etag']}"
    assert "accept-ranges" not in compressed.headers
    assert compressed.headers["last-modified"] == plain.headers["last-modified"]


async def test_the_weak_etag_finds_the_copy_current():
    """A 304 has the ETag of the form that the client has."""
    async with serve(_store()) as site:
        etag = (await site.request("GET", "/a", GZIP)).headers["etag"]
        current = await site.request("GET", "/a", {**GZIP, "If-None-Match": etag})
        plain = await site.request("GET", "/a", {"If-None-Match": etag.removeprefix("W/")})
    assert (current.status, current.headers["etag"], current.headers["vary"]) == (304, etag, "Accept-Encoding")
    assert (plain.status, plain.headers["etag"]) == (304, etag.removeprefix("W/"))


async def test_a_part_is_never_compressed():
    """A range is served from the plain file, even if the client accepts compression."""
    async with serve(_store()) as site:
        part = await site.request("GET", "/a", {**GZIP, "Range": "bytes=3-4"})
        etag = (await site.request("GET", "/a", GZIP)).headers["etag"]
        whole = await site.request("GET", "/a", {"Range": "bytes=3-4", "If-Range": etag})
    assert (part.status, part.body, "content-encoding" in part.headers) == (206, TEXT[3:5], False)
    assert (whole.status, whole.body) == (200, TEXT)


async def test_head_says_what_get_would():
    """HEAD has the headers of GET, without a length."""
    async with serve(_store()) as site:
        got, looked = await site.request("GET", "/a", GZIP), await site.request("HEAD", "/a", GZIP)
    names = ("content-encoding", "vary", "etag", "content-type", "last-modified")
    assert [looked.headers[name] for name in names] == [got.headers[name] for name in names]
    assert "content-length" not in looked.headers


@pytest.mark.parametrize(
    "info",
    [
        {"content_type": "image/png"},
        {"content_encoding": "br"},
        {"cache_control": "public, no-transform"},
    ],
)
async def test_what_would_not_get_smaller_or_may_not_change_is_left(info):
    """A file is not compressed because of its type, its coding or `no-transform`."""
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
    """The configuration decides about sizes, types, and compression itself."""
    async with serve(_store(content), server=Server(compress=options)) as site:
        answer = await site.request("GET", "/a", GZIP)
    assert ("content-encoding" in answer.headers) == is_compressed
    assert (gzip.decompress(answer.body) if is_compressed else answer.body) == content


async def test_a_level_that_tries_harder_makes_it_smaller():
    """A higher level makes a smaller answer."""
    sizes = []
    for level in (1, 9):
        async with serve(_store(), server=Server(compress=Compress(level=level))) as site:
            sizes.append(len((await site.request("GET", "/a", GZIP)).body))
    assert sizes[1] < sizes[0]


async def test_listings_are_compressed_whole():
    """A page of a thousand entries is compressed to less than 60 kB, with a length."""
    async with serve({f"photo-{number:04}.jpg": b"x" for number in range(1000)}) as site:
        answer = await site.request("GET", "/", GZIP)
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    assert int(answer.headers["content-length"]) == len(answer.body) < 60_000
    assert b"photo-0999.jpg" in gzip.decompress(answer.body)


async def test_the_cache_headers_of_the_configuration_do_not_keep_it_from_being_compressed():
    """Their `no-transform` is for those in between; that of an object is its owner's word about its bytes."""
    server = Server(cache=CacheHeaders(no_cache_enabled=True))
    async with serve(_store(), server=server) as site:
        answer = await site.request("GET", "/a", GZIP)
    assert (answer.headers["content-encoding"], "no-transform" in answer.headers["cache-control"]) == ("gzip", True)


async def test_a_client_of_http_1_0_gets_the_file_as_it_is():
    """A client of HTTP/1.0 gets the plain file, since it does not know chunks."""
    async with serve(_store()) as site, site.connect() as client:
        await client.send(b"GET /a HTTP/1.0\r\nHost: files.test\r\nAccept-Encoding: gzip\r\n\r\n")
        assert (await client.receive()).body == TEXT


async def test_a_failure_on_the_way_leaves_the_answer_without_its_last_chunk():
    """If the bucket fails, the connection is closed without a last chunk."""
    body = ScriptedBody([TEXT, Unreachable("the bucket is gone")], 2 * len(TEXT))
    async with serve(OneObject(body)) as site:
        answer = await site.request("GET", "/a", GZIP)
        event = await site.told()
    assert (answer.status, answer.complete, event.complete) == (200, False, False)
    assert body.closed.is_set()


async def test_more_objects_at_once_than_memory_allows_are_sent_as_they_are(monkeypatch):
    """The number of files that are compressed at once is limited."""
    monkeypatch.setattr(filters, "_MOST", 1)
    async with serve(_store(urandom(10_000_000))) as site, site.connect() as slow:
        await slow.send(head("GET", "/a", GZIP))
        await slow.receive_head()
        assert "content-encoding" not in (await site.request("GET", "/a", GZIP)).headers
        slow.abort()
        await site.told()
        assert "content-encoding" in (await site.request("GET", "/a", GZIP)).headers


async def test_others_have_their_turn_while_a_large_file_is_compressed():
    """A large chunk is compressed in pieces, so that others get a turn."""
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
