"""Plans for files, directories and removals are performed over HTTP."""

import asyncio
import json
import re
from datetime import UTC, datetime
from html import unescape
from urllib.parse import urljoin

import pytest
from fakes import FailingStore, OneObjectStore, ScriptedBody
from memory_store import MemoryStore
from msgspec import structs
from serving import EVERYTHING, head, serve

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, HeadAction, PutAction, Webhook
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.pages.custom import FILE_HEADERS, Recipe
from tornado_proxy.semantics.fields import Checksum
from tornado_proxy.storage.errors import AccessDenied, Busy, Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import ObjectUsed

CHANGED = datetime(2026, 5, 1, 12, 34, 56, tzinfo=UTC)
HOOKS = (Webhook(GuardedUrl("http://hooks.example/")),)
ACTIONS = Actions(
    GetAction(webhooks=HOOKS),
    HeadAction(webhooks=HOOKS),
    PutAction(enabled=True, raw_uploads=True, webhooks=HOOKS),
    DeleteAction(enabled=True, webhooks=HOOKS),
)
SHA256 = Checksum("SHA256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=", "FULL_OBJECT")
STORED = ObjectInfo(5, '"e"', CHANGED, "text/plain", cache_control="max-age=60", checksums=(SHA256,))


def _store() -> MemoryStore:
    store = MemoryStore()
    store.add("a.txt", b"hello", STORED)
    return store


async def test_a_file_is_served_with_its_headers():
    async with serve(_store()) as site:
        answer = await site.get("/a.txt")
    assert (answer.status, answer.body) == (200, b"hello")
    assert {name: answer.headers[name] for name in ("content-type", "content-length", "etag", "last-modified")} == {
        "content-type": "text/plain",
        "content-length": "5",
        "etag": '"e"',
        "last-modified": "Fri, 01 May 2026 12:34:56 GMT",
    }
    assert answer.headers["content-digest"].startswith("sha-256=:")
    assert (answer.headers["cache-control"], answer.headers["accept-ranges"]) == ("max-age=60", "bytes")
    assert not [name for name in answer.headers if name.startswith("x-amz") or name == "server"]


# Headers that differ from one answer to the next.
VARYING = {"x-request-id", "date"}


def _without_varying(headers):
    return {name: value for name, value in headers.items() if name not in VARYING}


@pytest.mark.parametrize("target", ["/a.txt", "/missing.txt", "/", "/?format=json", "/missing/", "/%zz", "/empty"])
async def test_head_is_get_without_a_body(target):
    """HEAD of a file, a listing or an error has the status and the headers of GET."""
    store = _store()
    store.add("empty", b"")
    async with serve(store) as site:
        get, head = await site.get(target), await site.request("HEAD", target)
    assert (head.status, _without_varying(head.headers), head.body) == (get.status, _without_varying(get.headers), b"")


@pytest.mark.parametrize(
    ("range_header", "status", "content_range", "body"),
    [
        ("bytes=0-", 206, "bytes 0-4/5", b"hello"),
        ("bytes=1-2", 206, "bytes 1-2/5", b"el"),
        ("bytes=-2", 206, "bytes 3-4/5", b"lo"),
        ("bytes=3-99", 206, "bytes 3-4/5", b"lo"),
        ("bytes=5-", 416, "bytes */5", None),
        ("bytes=0-1,3-4", 200, None, b"hello"),
        ("bytes=2-1", 200, None, b"hello"),
        ("lines=1-2", 200, None, b"hello"),
    ],
)
async def test_a_range_decides_the_status_and_the_body(range_header, status, content_range, body):
    async with serve(_store()) as site:
        answer = await site.get("/a.txt", Range=range_header)
    assert (answer.status, answer.headers.get("content-range")) == (status, content_range)
    assert body is None or answer.body == body


async def test_head_ignores_a_range():
    async with serve(_store()) as site:
        answer = await site.request("HEAD", "/a.txt", {"Range": "bytes=1-2"})
    assert (answer.status, answer.headers["content-length"]) == (200, "5")


MOVES = GetAction(website_redirects=True)


def _moved_store(redirect: str, **info: str) -> MemoryStore:
    store = MemoryStore()
    store.add("old.html", b"", ObjectInfo(0, '"e"', CHANGED, redirect=redirect, **info))
    return store


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    "headers",
    [{}, {"If-None-Match": '"e"'}, {"If-Match": '"x"'}, {"If-Unmodified-Since": "Thu, 30 Apr 2026 00:00:00 GMT"}, {"Range": "bytes=0-9"}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("get", [MOVES, structs.replace(MOVES, redirect_to_signed_url=True)], ids=["served", "signed"])
async def test_an_object_can_redirect(method, headers, get):
    """An object with a redirect is a 301 without a body, whatever the request's conditions and range."""
    async with serve(_moved_store("/new%20page?x#y"), get=get) as site:
        answer = await site.request(method, "/old.html?a=b", headers)
    assert (answer.status, answer.headers["location"], answer.body) == (301, "/new%20page?x#y", b"")
    assert (answer.headers["cache-control"], answer.headers["content-length"]) == ("no-cache", "0")
    assert {"etag", "last-modified"} & {*answer.headers} == set()


async def test_an_object_redirects_only_where_the_target_says_so():
    """Without `websiteRedirects` the object is a file like others, and so is one with an empty text."""
    async with serve(_moved_store("/new")) as off, serve(_moved_store(""), get=MOVES) as empty:
        answers = [
            await off.get("/old.html"),
            await off.get("/old.html", If_None_Match='"e"'),
            await empty.get("/old.html"),
        ]
    assert [answer.status for answer in answers] == [200, 304, 200]


async def test_a_redirect_is_cached_as_its_object_says():
    async with serve(_moved_store("/new", cache_control="max-age=60"), get=MOVES) as site:
        assert (await site.get("/old.html")).headers["cache-control"] == "max-age=60"


async def test_an_index_document_can_redirect():
    store = _moved_store("https://example.org/")
    get = structs.replace(MOVES, index_document="old.html", try_files=("$path", "$path.html"))
    async with serve(store, get=get) as site:
        answers = await site.get("/"), await site.get("/old")
    assert [answer.headers["location"] for answer in answers] == ["https://example.org/"] * 2


@pytest.mark.parametrize("redirect", ["javascript:alert(1)", "/elsewhere/x", "/folder1/\x00"])
async def test_an_object_that_redirects_nowhere_is_missing(redirect):
    """An object whose redirect leads to no address is a 404, and the log has the reason; no connection stays open."""
    store = MemoryStore()
    store.add("folder1/old.html", b"x", ObjectInfo(1, redirect=redirect))
    async with serve(store, get=MOVES, bucket=Bucket("bucket", prefix="folder1/")) as site:
        answer, event = await site.get("/old.html"), await site.last_event()
    assert (answer.status, "x-amz-website-redirect-location" in event.reason) == (404, True)


EARLIER, LATER = "Thu, 30 Apr 2026 00:00:00 GMT", "Sat, 02 May 2026 00:00:00 GMT"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"If-None-Match": '"e"'}, 304),
        ({"If-None-Match": 'W/"e", "x"'}, 304),
        ({"If-None-Match": '"x"'}, 200),
        ({"If-None-Match": '"x"', "If-Modified-Since": LATER}, 200),
        ({"If-Modified-Since": LATER}, 304),
        ({"If-Modified-Since": EARLIER}, 200),
        ({"If-Modified-Since": "yesterday"}, 200),
        ({"If-Match": '"x"'}, 412),
        ({"If-Match": "*"}, 200),
        ({"If-Unmodified-Since": EARLIER}, 412),
    ],
)
async def test_conditions_decide(method, headers, status):
    async with serve(_store()) as site:
        answer = await site.request(method, "/a.txt", headers)
    assert answer.status == status


async def test_an_unchanged_file_is_a_304():
    async with serve(_store()) as site, site.connect() as client:
        answer = await client.request("GET", "/a.txt", {"If-None-Match": '"e"'})
        unconditional = await client.request("GET", "/a.txt")
    assert (answer.headers["etag"], answer.headers["cache-control"]) == ('"e"', "max-age=60")
    assert not {"content-type", "content-length", "transfer-encoding"} & set(answer.headers)
    assert unconditional.body == b"hello"


@pytest.mark.parametrize(
    ("condition", "status"), [('"e"', 206), ('"x"', 200), ('W/"e"', 200), ("Fri, 01 May 2026 12:34:56 GMT", 206)]
)
async def test_if_range_needs_the_same_file(condition, status):
    """A Range applies only if If-Range names the current ETag or date; a weak ETag never matches."""
    async with serve(_store()) as site:
        answer = await site.get("/a.txt", Range="bytes=1-2", If_Range=condition)
    assert answer.status == status


async def test_a_file_ignores_the_query():
    async with serve(_store()) as site:
        answer = await site.get("/a.txt?asdf&format=json&after=%zz")
    assert answer.body == b"hello"


async def test_a_listing_ignores_unknown_parameters():
    async with serve({"a": b"", "d/x": b""}) as site:
        plain, with_query = await site.get("/"), await site.get("/?asdf&=&%ff=%zz")
    assert with_query.body == plain.body


async def test_a_missing_file_or_directory_is_not_found():
    async with serve(_store()) as site:
        statuses = [(await site.get(target)).status for target in ("/b.txt", "/b/", "/a.txt/")]
    assert statuses == [404, 404, 404]


SLASH_REDIRECT = GetAction(redirect_with_trailing_slash_for_not_found_file=True)


async def test_a_path_with_nothing_below_does_not_redirect():
    """The path of a missing directory is a 404, and so is every path without a slash if the option is off."""
    async with serve({"docs/x": b""}, get=SLASH_REDIRECT) as site:
        assert (await site.get("/doc")).status == 404
    async with serve({"docs/x": b""}) as site:
        assert (await site.get("/docs")).status == 404


SIGNED_URLS = GetAction(redirect_to_signed_url=True, signed_url_expiration=60)


async def test_get_can_redirect_to_a_signed_url():
    """With `redirectToSignedUrl`, GET is a redirect that is not cached, and a missing file is a 404."""
    async with serve(_store(), get=SIGNED_URLS) as site:
        answer, missing = await site.get("/a.txt"), await site.get("/b.txt")
    assert answer.status == 302
    assert answer.headers["location"] == "https://memory.invalid/a.txt?X-Amz-Expires=60"
    assert "no-store" in answer.headers["cache-control"]
    assert missing.status == 404


TRYING = GetAction(index_document="index.html", try_files=("$path", "$path.html", "$path/", "/index.html"))
SITE = {
    "index.html": b"home", "docs/index.html": b"docs", "docs/intro.html": b"intro", "docs/v1.2.html": b"v1.2",
    "both.html": b"page", "both/x": b"x", "app.js": b"js", "feed/index.html": b"feed", "assets/x.css": b"css",
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *(("/", "home"), ("/docs", "docs"), ("/docs/", "docs"), ("/docs/intro", "intro"), ("/docs/intro/", "intro")),
        *(("/docs/v1.2", "v1.2"), ("/both", "page"), ("/both/", "page"), ("/app.js", "js"), ("/index.html", "home")),
        *(("/user/john.doe", "home"), ("/user/7/", "home"), ("/feed?x=1", "feed"), ("/assets", "home")),
    ],
)
async def test_a_site_has_addresses_without_endings(path, text):
    """GET and HEAD have the same file; an address that is nothing has the page of an app."""
    async with serve(SITE, get=TRYING) as site:
        answer, head = await site.get(path), await site.request("HEAD", path)
    assert (answer.status, answer.text) == (200, text)
    assert (head.status, head.headers["content-length"]) == (200, str(len(text)))


async def test_each_address_that_is_tried_has_the_query_of_the_request():
    """A rewrite may read it, of an address after the first and of an index document alike."""
    rules = """rewrite `^/(?P<rest>.*)$` -> jinja "/{{ request.query['d'] }}/{{ groups.rest }}" """
    async with serve({"docs/intro.html": b"intro", "docs/index.html": b"home"}, rules=rules, get=TRYING) as site:
        assert [(await site.get(path)).text for path in ("/intro?d=docs", "/?d=docs")] == ["intro", "home"]


async def test_a_directory_that_is_tried_is_still_listed():
    """A listing comes before the page of an app, and has links only at its own address."""
    async with serve(SITE, get=TRYING) as site:
        assert (await site.get("/assets/?format=text")).text.startswith("x.css\t")


async def test_ranges_and_conditions_count_for_the_file_that_is_found():
    """A range is one of that file; a condition is compared with its ETag."""
    store = MemoryStore()
    store.add("a.html", b"hello", STORED)
    async with serve(store, get=TRYING) as site:
        part = await site.get("/a", Range="bytes=1-2")
        unchanged = await site.get("/a", If_None_Match='"e"')
        changed = await site.get("/a", If_Match='"other"')
        beyond = await site.get("/a", Range="bytes=9-")
    assert (part.status, part.body, part.headers["content-range"]) == (206, b"el", "bytes 1-2/5")
    assert [each.status for each in (unchanged, changed, beyond)] == [304, 412, 416]


async def test_nothing_is_tried_after_a_failure_of_the_store():
    """A store that does not answer is not asked for the other addresses, and no other page hides that."""
    store = FailingStore(open=Unreachable())
    async with serve(store, get=TRYING) as site:
        answer = await site.get("/docs")
    assert (answer.status, store.opened) == (502, ["docs"])


async def test_an_address_that_is_not_found_asks_for_each_file_once():
    """Without a page for unknown addresses the answer is a 404."""
    store, trying = FailingStore(), GetAction(try_files=("$path", "$path.html"))
    async with serve(store, get=trying) as site:
        assert (await site.get("/docs")).status == 404
    assert store.opened == ["docs", "docs.html"]


class _UnlistableStore(MemoryStore):
    """A store that says of a missing object no more than of one that is closed."""

    async def open(self, key, *arguments):
        if key not in self.keys():
            raise AccessDenied("Access Denied")
        return await super().open(key, *arguments)

    async def list(self, *arguments):
        raise AccessDenied("Access Denied")


@pytest.mark.parametrize(
    ("path", "status"), [("/docs/intro", 200), ("/user/7", 200), ("/user/7/", 403), ("/index.html", 200)]
)
async def test_a_bucket_that_may_not_be_listed_has_addresses_without_endings(path, status):
    """What S3 denies may be missing: the next address is tried, and the denial is the answer after the last."""
    store, trying = _UnlistableStore(), structs.replace(TRYING, try_files=("$path", "$path.html", "/index.html"))
    for key in ("index.html", "docs/intro.html"):
        store.add(key, b"text")
    async with serve(store, get=trying if status == 200 else structs.replace(trying, try_files=("$path",))) as site:
        assert (await site.get(path)).status == status


async def test_listings_can_be_disabled():
    closed = GetAction(index_document="index.html", disable_listing=True)
    async with serve({"a/index.html": b"index", "b/x": b""}, get=closed) as site:
        assert [(await site.get(target)).status for target in ("/a/", "/b/", "/none/")] == [200, 403, 403]


async def test_an_empty_root_is_an_empty_listing():
    """The root of a mount always exists; any other directory must contain something."""
    async with serve({}, mount=Mount("", ("/files/",))) as site:
        assert (await site.get("/files/?format=text")).text == ""
        assert (await site.get("/files/x/")).status == 404


def _links(html: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'<a href="(/[^"]*)"', html)]


async def test_a_name_that_begins_with_a_slash_has_a_link_that_works():
    """The link to a directory with an empty name does not lead to another host."""
    async with serve({"/evil.test": b"x"}) as site:
        (link,) = _links((await site.get("/")).text)
        listing = await site.get(link)
        (file_link,) = [href for href in _links(listing.text) if "evil" in href]
        assert (await site.get(file_link)).body == b"x"
    assert (link, file_link) == ("/%2F", "/%2Fevil.test")


async def test_a_file_is_removed():
    """DELETE removes the object and is a 204 without a body; a second DELETE is a 204 too."""
    store = _store()
    async with serve(store) as site, site.connect() as client:
        answers = [await client.request("DELETE", "/a.txt") for _ in range(2)]
    assert [(answer.status, "content-length" in answer.headers) for answer in answers] == [(204, False)] * 2
    assert store.keys() == ()


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/a.txt", {"If-Match": '"x"'}, 412),
        ("/a.txt", {"If-Match": '"e"'}, 204),
        ("/a.txt", {"If-Unmodified-Since": EARLIER}, 412),
        ("/missing", {"If-Match": "*"}, 412),
        ("/missing", {"If-None-Match": "*"}, 204),
    ],
)
async def test_a_removal_depends_on_its_conditions(target, headers, status):
    store = _store()
    async with serve(store) as site:
        answer = await site.request("DELETE", target, headers)
    remaining = () if status == 204 and target == "/a.txt" else ("a.txt",)
    assert (answer.status, store.keys()) == (status, remaining)


@pytest.mark.parametrize(
    ("actions", "method", "allow"),
    [
        (Actions(), "PUT", "GET, HEAD"),
        (Actions(), "DELETE", "GET, HEAD"),
        (Actions(head=HeadAction(enabled=False)), "HEAD", "GET"),
        (Actions(get=GetAction(enabled=False), head=HeadAction(enabled=False)), "GET", ""),
        *[(Actions(), method, "GET, HEAD") for method in ("POST", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "PREPARE")],
    ],
)
async def test_a_method_that_is_not_enabled_is_refused(actions, method, allow):
    async with serve(_store(), actions=actions) as site:
        answer = await site.request(method, "/a.txt")
    assert (answer.status, answer.headers["allow"]) == (405, allow)


@pytest.mark.parametrize(
    ("operation", "method", "target"),
    [
        *(("open", "GET", "/a.txt"), ("head", "HEAD", "/a.txt"), ("list", "GET", "/")),
        *(("put", "PUT", "/a.txt"), ("remove", "DELETE", "/a.txt")),
    ],
)
async def test_an_error_of_the_store_decides_the_status(operation, method, target):
    async with serve(FailingStore(**{operation: Busy("SlowDown")}), actions=ACTIONS) as site:
        answer = await site.request(method, target, body=b"x" if method == "PUT" else b"")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")


@pytest.mark.parametrize(
    ("limit", "entries"),
    [
        *[("1", 1), ("2", 2), ("3", 3), ("4", 3)],
        *[(text, 5) for text in ("0", "-1", "x", "", "%D9%A3", "9" * 5000, "2.0", "%2B2", "%202")],
    ],
)
async def test_the_limit_of_a_listing_has_a_maximum(limit, entries):
    """A limit up to the target's is used, a larger one means the target's; what is no number asks for no page."""
    async with serve(dict.fromkeys("abcde", b""), bucket=Bucket("b", list_max_keys=3)) as site:
        answer = await site.get(f"/?format=json&limit={limit}")
    assert len(json.loads(answer.body)["entries"]) == entries


async def test_the_next_page_keeps_limit_and_format():
    async with serve(dict.fromkeys("abc", b"")) as site:
        first = await site.get("/?format=json&limit=2&other=x&after=")
        more = urljoin("/", json.loads(first.body)["next"])
        last = await site.get(more)
    assert re.fullmatch(r"/\?after=[^&]+&limit=2&format=json", more)
    assert json.loads(last.body)["next"] is None


BUCKET = Bucket("files", prefix="p/", region="eu-west-1", s3_endpoint="http://s3.example")
OUTPUT = {"bucket": "files", "region": "eu-west-1", "s3Endpoint": "http://s3.example"}
NO_CONDITION = {"ifModifiedSince": "", "ifMatch": "", "ifNoneMatch": "", "ifUnmodifiedSince": ""}


async def _reported_events(method, target, headers=None, body=b"", **options):
    """Events of a request for webhooks."""
    settings = {"actions": ACTIONS, "bucket": BUCKET, "mount": Mount("", ("/m/",)), **options}
    async with serve({"p/dir/a.txt": b"hello"}, **settings) as site:
        await site.request(method, target, headers, body)
        await site.last_event()
    return [event for event in site.events if isinstance(event, ObjectUsed)]


def _webhook_body(action, path, key, **more):
    body = {"action": action, "requestPath": path, "outputMetadata": {**OUTPUT, "key": key}, "target": {"name": "site"}}
    return body | more


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        (
            "GET",
            "dir/a.txt",
            _webhook_body("GET", "dir/a.txt", "p/dir/a.txt", inputMetadata={**NO_CONDITION, "range": ""}),
        ),
        ("GET", "dir/", _webhook_body("GET", "dir/", "p/dir/", inputMetadata={**NO_CONDITION, "range": ""})),
        ("HEAD", "dir/a.txt", _webhook_body("HEAD", "dir/a.txt", "p/dir/a.txt", inputMetadata=NO_CONDITION)),
        ("DELETE", "dir/a.txt", _webhook_body("DELETE", "dir/a.txt", "p/dir/a.txt")),
    ],
)
async def test_a_request_that_succeeds_is_reported(method, path, expected):
    """The body of a webhook has the fields of s3-proxy."""
    (event,) = await _reported_events(method, f"/m/{path}")
    assert (event.webhooks, event.target, event.method, event.body) == (HOOKS, "site", method, expected)


async def test_an_upload_is_reported_with_its_file():
    (event,) = await _reported_events("PUT", "/m/b.txt", {"Content-Type": "text/css"}, b"hello")
    file = {"filename": "b.txt", "contentType": "text/css", "contentSize": 5}
    assert event.body == _webhook_body("PUT", "b.txt", "p/b.txt", inputMetadata=file)


async def test_an_upload_in_parts_is_reported_once():
    async with serve({}, actions=ACTIONS, bucket=BUCKET, mount=Mount("", ("/m/",))) as site:
        await site.request("PUT", "/m/b.txt?upload=start&size=5")
        await site.request("PUT", "/m/b.txt?upload=part&id=upload-1&number=1", {}, b"hello")
        await site.request("PUT", "/m/b.txt?upload=complete&id=upload-1&size=5", {"Content-Type": "text/css"})
        await site.last_event()
    (event,) = (event for event in site.events if isinstance(event, ObjectUsed))
    file = {"filename": "b.txt", "contentType": "text/css", "contentSize": 5}
    assert event.body == _webhook_body("PUT", "b.txt", "p/b.txt", inputMetadata=file)


async def test_conditions_are_reported():
    date = "Wed, 21 Oct 2065 07:28:00 GMT"
    (event,) = await _reported_events(
        "GET", "/m/dir/a.txt", {"If-None-Match": '"x"', "If-Unmodified-Since": date, "Range": "bytes=0-1"}
    )
    expected = {**NO_CONDITION, "ifNoneMatch": '"x"', "ifUnmodifiedSince": "2065-10-21T07:28:00Z", "range": "bytes=0-1"}
    assert event.body["inputMetadata"] == expected


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "missing", {}),
        ("GET", "dir", {}),
        ("GET", "dir/a.txt", {"If-Match": '"x"'}),
        ("GET", "dir/a.txt", {"If-None-Match": "*"}),
        ("PUT", "dir/a.txt", {}),
        ("DELETE", "dir/", {}),
    ],
)
async def test_a_request_that_does_not_succeed_is_not_reported(method, path, headers):
    """Webhooks are not called for errors, redirects and files that have not changed."""
    assert await _reported_events(method, f"/m/{path}", headers) == []


async def test_an_interrupted_file_is_not_reported():
    async with serve(OneObjectStore(ScriptedBody([b"hello", Unreachable("reset")], 100)), actions=ACTIONS) as site:
        await site.get("/a")
        await site.last_event()
    assert not any(isinstance(event, ObjectUsed) for event in site.events)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_change_whose_client_left_is_reported(method):
    """Webhooks are called for each file that is stored or removed, even if the client disconnected before the answer."""
    begun, gate = asyncio.Event(), asyncio.Event()

    class _Slow(MemoryStore):
        async def put(self, *arguments):
            info = await super().put(*arguments)
            await self._wait()
            return info

        async def remove(self, *arguments):
            await self._wait()
            await super().remove(*arguments)

        async def _wait(self):
            begun.set()
            await gate.wait()

    async with serve(_Slow(), actions=ACTIONS) as site:
        async with site.connect() as client:
            await client.send(head(method, "/b.txt", length=5) + b"hello")
            await begun.wait()
            client.abort()
        while site.server._connections:  # noqa: ASYNC110 - neither server has an event for it
            await asyncio.sleep(0)
        gate.set()
        served = await site.last_event()
    assert not served.complete
    assert [event.method for event in site.events if isinstance(event, ObjectUsed)] == [method]


async def test_without_webhooks_nothing_is_reported():
    assert await _reported_events("GET", "/m/dir/a.txt", actions=EVERYTHING) == []
    assert await _reported_events("GET", "/m/dir/a.txt", actions=structs.replace(ACTIONS, get=GetAction())) == []


async def test_the_default_endpoint_is_not_reported():
    """Without a configured endpoint, the body has no `s3Endpoint`, as in s3-proxy."""
    (event,) = await _reported_events("GET", "/m/dir/a.txt", bucket=Bucket("files", prefix="p/"))
    assert event.body["outputMetadata"] == {"bucket": "files", "region": "us-east-1", "key": "p/dir/a.txt"}


@pytest.mark.parametrize("stored", ["attachment; filename*=UTF-8''Gr%C3%BC%C3%9Fe", 'attachment; filename="Grüße"'])
async def test_a_name_in_a_header_of_a_file_is_encoded(stored):
    """A template may write a name of any characters, that of the object too."""
    headers = (("Content-Disposition", "{{ .StreamFile.ContentDisposition }}"),)
    custom, store = {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}, MemoryStore()
    store.add("a", b"x", ObjectInfo(1, content_disposition=stored))
    async with serve(store, get=GetAction(streamed_file_headers=headers), custom=custom) as site:
        sent = (await site.get("/a")).headers["content-disposition"]
    assert sent == "attachment; filename=\"Gru_e\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe"


async def test_headers_of_files_do_not_undo_an_attachment():
    """`.StreamFile.ContentDisposition` is the disposition that protects readers of uploaded files."""
    headers = (("Content-Disposition", "{{ .StreamFile.ContentDisposition }}"),)
    actions = Actions(get=GetAction(streamed_file_headers=headers), put=PutAction(enabled=True))
    custom = {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}
    store = MemoryStore()
    store.add("a", b"x", ObjectInfo(1, content_type="text/html", content_disposition="inline"))
    async with serve(store, actions=actions, custom=custom) as site:
        assert (await site.get("/a")).headers["content-disposition"] == "attachment"
