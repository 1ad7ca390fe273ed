"""A request of HTTP/2, or behind a proxy that takes a path off, is answered as the same one of HTTP/1.1, whatever it meets."""

import asyncio
import gzip
from datetime import UTC, datetime

import pytest
from front_proxy import BOB, FRONT, Policy
from http2_client import connect, connect_tls, head, tls_setup
from memory_store import MemoryStore
from serving import FORM_TYPE, form, part, serve

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction, Webhook
from tornado_proxy.config.model import ArchiveOptions, Bucket, ListingOptions, Mount, Target
from tornado_proxy.config.providers import OpaServer, Resource
from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.pages.custom import Recipe
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import ObjectUsed

HOOKS = (Webhook("http://127.0.0.1:1/"),)
PUT = PutAction(enabled=True, allow_override=True, raw_uploads=True, direct_uploads=True, max_size=100, webhooks=HOOKS)
ACTIONS = Actions(
    GetAction(
        index_document="index.html",
        redirect_with_trailing_slash_for_not_found_file=True,
        user_isolation=True,
        website_redirects=True,
        webhooks=HOOKS,
    ),
    put=PUT,
    delete=DeleteAction(enabled=True, webhooks=HOOKS),
)
OPA = OpaServer("http://127.0.0.1:1/v1/data")
RESOURCES = [
    Resource("/closed/**", ("GET", "PUT"), provider="front", white_list=False, opa=OPA),
    Resource("/**", ("GET", "HEAD", "PUT", "DELETE"), provider="front"),
]
RULES = r"""
rewrite `^/(?P<home>\w+)/mine/(?P<rest>.*)$` -> jinja "/{{ user.username }}/{{ groups.rest }}"
redirect 301 `^/(\w+)/left$` -> `/$1/d/`
gone `^/(\w+)/gone/`
"""
FILES = {
    "a": b"of the nested target", "bob/a": b"x" * 5000, "bob/d/x": b"x", "bob/i/index.html": b"<p>index",
    "bob/README.md": b"his text", "bob/closed/x": b"x",
}  # fmt: skip
ORIGIN = {"Origin": "https://a.test"}

REQUESTS = {
    "file": (200, "GET", "/a", {}, b""),
    "head": (200, "HEAD", "/a", {}, b""),
    "range": (206, "GET", "/a", {"Range": "bytes=10-19"}, b""),
    "ranges that do not exist": (416, "GET", "/a", {"Range": "bytes=9999-"}, b""),
    "unchanged": (304, "GET", "/a", {"If-None-Match": "*"}, b""),
    "compressed": (200, "GET", "/a", {"Accept-Encoding": "gzip"}, b""),
    "page": (200, "GET", "/", {"Accept": "text/html"}, b""),
    "listing": (200, "GET", "/?format=json", {}, b""),
    "archive": (200, "GET", "/d/?format=tar", {}, b""),
    "index": (200, "GET", "/i/", {}, b""),
    "moved": (301, "GET", "/moved", {"If-None-Match": "*"}, b""),
    "moved by a rule": (301, "GET", "/left?x=1", {}, b""),
    "an upload to what has moved": (308, "PUT", "/left", {}, b"x"),
    "gone": (410, "GET", "/gone/x", {}, b""),
    "slash": (302, "GET", "/d", {}, b""),
    "missing": (404, "GET", "/nothing", {}, b""),
    "rewritten": (200, "GET", "/mine/a", {}, b""),
    "nested": (200, "GET", "/inner/a", {}, b""),
    "policed": (403, "GET", "/closed/x", {}, b""),
    "not signed in": (401, "GET", "/a", {"X-User": ""}, b""),
    "preflight": (200, "OPTIONS", "/a", {"Access-Control-Request-Method": "PUT"}, b""),
    "form": (201, "PUT", "/", FORM_TYPE, form(part("file", b"x", filename="b"))),
    "raw": (201, "PUT", "/c", {}, b"x"),
    "too large": (413, "PUT", "/c", {}, b"x" * 101),
    "parts": (200, "PUT", "/c?upload=start&size=1", {}, b""),
    "a part of none": (404, "PUT", "/c?upload=part&id=1&number=1", {}, b"x"),
    "direct": (200, "PUT", "/c?upload=direct", {}, b""),
    "removal": (204, "DELETE", "/d/x", {"Origin": ""}, b""),
    "unknown method": (405, "PATCH", "/a", {"Origin": ""}, b"x"),
    "bad address": (400, "GET", "/%zz", {}, b""),
    "from elsewhere": (403, "PUT", "/c", {"Origin": "https://b.test"}, b"x"),
}
_OWN = {"date", "x-request-id", "connection", "transfer-encoding", "content-length"}


def _settings(policy):
    server = Server(
        trusted_proxies=("127.0.0.0/8",),
        cors=Cors(enabled=True, allow_origins=("https://a.test",), allow_methods=("GET", "PUT")),
        cache=CacheHeaders(cache_control="max-age=9"),
        compress=Compress(min_size=100),
    )
    nested = Target("nested", Mount("", ("/inner/",)), Bucket("b"))
    return {
        "actions": ACTIONS,
        "resources": RESOURCES,
        "rules": RULES,
        "listing": ListingOptions(readme=True, archive=ArchiveOptions(enabled=True)),
        **FRONT,
        "server": server,
        "custom": {"not_found_error": Recipe("not_found_error", "nothing at {{ .Request.URL.Path }}")},
        "others": [nested],
        "fetch": policy,
    }


def _store():
    store = MemoryStore(clock=lambda: datetime(2026, 5, 1, tzinfo=UTC))
    for key, body in FILES.items():
        store.add(key, body, ObjectInfo(len(body), content_type="text/plain"))
    store.add("bob/moved", b"x", ObjectInfo(1, redirect="/bob/a"))
    return store


async def _answered(ask, site):
    """Returns what is to be the same of an answer, and of the webhooks' events."""
    answer = await ask
    await site.last_event()
    body = gzip.decompress(answer.body) if answer.headers.get("content-encoding") == "gzip" else answer.body
    body = body.replace(answer.headers["x-request-id"].encode(), b"")
    headers = {name: value for name, value in answer.headers.items() if name not in _OWN}
    used = [each.body["outputMetadata"] for each in site.events if isinstance(each, ObjectUsed)]
    return answer.status, headers, body, used


@pytest.mark.parametrize("name", REQUESTS)
async def test_both_protocols_have_one_answer(name):
    """Status, headers, body and webhooks are the same."""
    policy = Policy("/closed/x")

    status, method, target, headers, body = REQUESTS[name]
    sent = {each: value for each, value in (BOB | ORIGIN | headers).items() if value}
    async with serve(_store(), **_settings(policy)) as site:
        old = await _answered(site.request(method, target, sent, body), site)
    async with serve(_store(), **_settings(policy)) as site, connect(site) as client:
        new = await _answered(client.request(method, target, sent, body), site)
    assert new == old
    assert old[0] == status
    assert policy.asked in ([], [("GET", "/closed/x")] * 2)


@pytest.mark.parametrize("name", REQUESTS)
async def test_a_path_that_a_proxy_takes_off_changes_addresses_only(name):
    """Addresses in headers and bodies begin with it; what is decided, done and reported is the same, by HTTP/2 too."""
    policy = Policy("/closed/x")

    def cut(answer):
        status, headers, body, used = answer
        bare = {each: value.replace("/files/", "/") for each, value in headers.items() if each != "etag"}
        return status, bare, body.replace(b"/files/", b"/").replace(b">/files<", b">/<"), used

    _, method, target, headers, body = REQUESTS[name]
    sent = {each: value for each, value in (BOB | ORIGIN | headers).items() if value}
    async with serve(_store(), **_settings(policy)) as site:
        old = await _answered(site.request(method, target, sent, body), site)
    async with serve(_store(), **_settings(policy)) as site, connect(site) as client:
        new = await _answered(client.request(method, target, sent | {"X-Forwarded-Prefix": "/files"}, body), site)
    assert cut(new) == cut(old)
    assert old[1].get("location", "/").startswith("/")
    assert new[1].get("location", "/files/").startswith("/files/")
    assert policy.asked in ([], [("GET", "/closed/x")] * 2)


async def test_an_upload_outlives_the_farewell():
    """A client that was told to connect anew sends the rest of its body, is answered, and its file is stored."""
    store = MemoryStore()
    async with serve(store, actions=Actions(put=PutAction(enabled=True, raw_uploads=True))) as site:
        site.server.setup = tls_setup()
        async with connect_tls(site) as client:
            number = await client.ask(head("PUT", "/a", {"Expect": "100-continue"}, 5), ends=False)
            while not client.answers[number].interim:
                assert await client.read()
            ending = asyncio.ensure_future(site.server.shut_down(30))
            await client.goodbye(2)
            await client.send_body(number, b"12345")
            answer = await client.receive(number)
            await client.close()
            await ending
    assert (answer.status, store.keys()) == (201, ("a",))


@pytest.mark.parametrize(("size", "status"), [(5, 201), (25, 413)])
async def test_trailers_end_an_upload(size, status):
    """Its length is known only then, so that what is too much is refused on the way; the connection goes on."""
    store = MemoryStore()
    upload = PutAction(enabled=True, raw_uploads=True, max_size=10)
    async with serve(store, actions=Actions(put=upload)) as site, connect(site) as client:
        number = await client.ask(head("PUT", "/a"), bytes(size), ends=False)
        client.h2.send_headers(number, [("x-check", "1")], end_stream=True)
        await client.flush()
        answer = await client.receive(number)
        after = await client.request("GET", "/")
    assert (answer.status, answer.ended, after.status) == (status, True, 200)
    assert len(store.keys()) == (status == 201)


async def test_a_tunnel_is_refused():
    """A CONNECT is a mistake of the client; its connection goes on (RFC 9113 8.5)."""
    async with serve({"a": b"x"}) as site, connect(site) as client:
        number = await client.ask([(":method", "CONNECT"), (":authority", "files.test:443")], ends=False)
        refused = await client.receive(number)
        after = await client.request("GET", "/a")
    assert (refused.status, after.body) == (400, b"x")
