"""One request and its answer: access, events, and errors that reveal nothing to clients."""

import gc
import inspect
import re
from collections.abc import Iterator

import pytest
from collector import without_collector
from fakes import Answering, FailingStore, Staff
from memory_store import MemoryStore
from msgspec import structs
from serving import EVERYTHING, PAGES, part, serve
from tornado.httputil import HTTPConnection, HTTPServerRequest, RequestStartLine
from tornado.web import Application, RequestHandler

from tornado_proxy.auth.authenticator import AuthBusy, SignIn
from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import Cors, Log, Server
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.request import User
from tornado_proxy.storage.errors import AccessDenied, BucketMissing, Unreachable
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import Failed, RequestRecord, Served
from tornado_proxy.web import handler, handlers

STAFF = {
    "resources": [
        Resource("/public/**", white_list=True),
        Resource("/**", ("GET", "HEAD", "PUT"), provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),
    ],
    "authenticators": {"staff": Staff()},
}


class _Connection(HTTPConnection):
    def set_close_callback(self, _callback):
        """Nothing closes it."""


def _kinds(kind: type) -> Iterator[type]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)


def test_handlers_are_those_of_tornado_by_its_documented_names():
    """Tornado's constructor makes each, and none uses or replaces what Tornado keeps to itself."""
    line = RequestStartLine("GET", "/", "HTTP/1.0")
    made = RequestHandler(Application(), HTTPServerRequest(start_line=line, connection=_Connection()))
    names = {*dir(made), *RequestHandler.__annotations__}
    private = {each for each in names if re.match("_[^_]", each)}
    kinds = list(_kinds(handler.Handler))
    assert handlers.ObjectHandler in kinds
    assert all(each.__init__ is RequestHandler.__init__ for each in kinds)
    for module in handler, handlers:
        assert private.isdisjoint(re.findall(r"\w+", inspect.getsource(module)))


def _handlers() -> list[handler.Handler]:
    return [each for each in gc.get_objects() if isinstance(each, handler.Handler)]


async def test_an_answered_request_leaves_no_cycle():
    """Its memory is free at once, without the garbage collector."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        with without_collector():
            for path in ("/a", "/none"):
                await client.request("GET", path)
            assert _handlers() == []


class _KeepingStore(MemoryStore):
    """A store whose frame keeps the error that it raises, with a cause."""

    async def open(self, *_arguments):
        """Raises."""
        error = Unreachable("down")
        raise error from ValueError("why")


async def test_a_failure_leaves_no_cycle():
    """Its frames are let go of, whatever they keep: they hold the request and its generation."""
    async with serve(_KeepingStore()) as site, site.connect() as client:
        with without_collector():
            assert (await client.request("GET", "/a")).status == 502
            assert _handlers() == []


async def test_a_head_that_cannot_be_read_leaves_no_cycle():
    """Its error is that of the connection, and was raised in the handler."""
    async with serve({}) as site, site.connect() as client:
        with without_collector():
            await client.send(b"rubbish\r\n\r\n")
            assert (await client.receive()).status == 400
            assert _handlers() == []


async def test_a_served_request_is_reported_once():
    """The event has the client, the request, its target and key, and the number of bytes sent."""
    rules = 'rewrite moved `^/old/(?P<rest>.*)$` -> "/new/$rest"'
    bucket, mount = Bucket("b", prefix="p/"), Mount("", ("/m/",))
    async with serve({"p/new/a b": b"hello"}, rules=rules, bucket=bucket, mount=mount, number=3) as site:
        await site.get("/m/old/a%20b?X-Amz-Signature=abc")
        event = await site.last_event()
    request = event.request
    assert request == RequestRecord(
        request.request_id,
        request.at,
        "127.0.0.1",
        "GET",
        "files.test",
        "/m/old/a b",
        3,
        "site",
        "/new/a b",
        "moved",
        rewrite=request.rewrite,
        protocol=request.protocol,
        asked_key="/old/a b",
    )
    assert event == Served(request, 200, 5, 0, event.seconds, first_byte=event.first_byte)
    assert 0 < event.first_byte <= event.seconds
    assert len(site.events) == 1


async def test_a_refused_request_is_reported_with_its_reason():
    async with serve({}) as site:
        await site.get("/missing")
        event = await site.last_event()
    assert event.is_error
    assert (event.status, event.request.target, event.request.key, event.reason) == (
        404,
        "site",
        "/missing",
        "no object at this key",
    )


async def test_the_key_that_the_rules_saw_is_reported():
    """It has the name of an uploaded file, and is there even if a rule fails; without access there is none."""
    rules = 'rewrite `^/up/a.txt$` -> "/../x"'
    async with serve({}, rules=rules, **STAFF) as site:
        await site.upload("/up/", part("file", b"x", filename="a.txt"), Authorization="ann")
        await site.get("/up/a.txt")
        keys = [event.request.asked_key for event in site.events if isinstance(event, Served)]
    assert keys == ["/up/a.txt", None]


@pytest.mark.parametrize("target", ["/", "/a", "/missing"])
async def test_the_answer_to_a_head_has_sent_no_body(target):
    async with serve({"a": b"x"}) as site:
        await site.request("HEAD", target)
        assert (await site.last_event()).sent == 0


async def test_an_upload_is_reported_with_its_size():
    async with serve({}) as site:
        await site.upload("/", part("file", b"x" * 1000, filename="a.txt"))
        event = await site.last_event()
    assert (event.status, event.request.key) == (201, "/a.txt")
    assert event.received > 1000


@pytest.mark.parametrize(("target", "path"), [("/%zz?secret=1", "/%zz"), ("*", "*"), ("/a/%2e%2e/b", "/a/%2e%2e/b")])
async def test_an_invalid_path_is_reported_as_sent(target, path):
    async with serve({}) as site:
        answer = await site.get(target)
        event = await site.last_event()
    assert (answer.status, event.request.path, event.request.target) == (400, path, None)


async def test_missing_credentials_are_challenged():
    """Without credentials the answer is a 401 with a challenge; with them, the event names the user."""
    async with serve({"a": b"x"}, **STAFF) as site:
        refused = await site.get("/a")
        served = await site.get("/a", Authorization="ann")
        event = await site.last_event()
    assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Basic realm="Files"')
    assert (served.status, event.request.user) == (200, "ann")


async def test_a_line_end_in_a_header_is_a_defect():
    careless = Answering(Refuse(401, "nobody is signed in", challenge="Basic\r\nX-Evil: 1"))
    async with serve({"a": b"x"}, **(STAFF | {"authenticators": {"staff": careless}})) as site:
        answer = await site.get("/a")
    assert (answer.status, "x-evil" in answer.headers) == (500, False)
    assert isinstance(site.events[-2], Failed)


async def test_an_upload_sends_the_renewed_session_of_its_directory():
    """An upload signs in for its directory, then for its file; the answer has the cookies of both."""
    renewing = Answering(SignIn(User("ann"), ("session=new",)), SignIn(User("ann")))
    async with serve({}, **(STAFF | {"authenticators": {"staff": renewing}})) as site:
        answer = await site.upload("/d/", part("file", b"x", filename="a.txt"))
    assert (answer.status, answer.headers["set-cookie"]) == (201, "session=new")


async def test_a_busy_sign_in_is_a_503():
    busy = Answering(AuthBusy("too many credentials are being checked"))
    async with serve({"a": b"x"}, **(STAFF | {"authenticators": {"staff": busy}})) as site:
        answer = await site.get("/a")
        event = await site.last_event()
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert (event.request.target, event.request.user) == ("site", None)


async def test_a_template_reads_the_user():
    rules = 'rewrite own `^/public/me/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"\n'
    rules += 'rewrite `^/me/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"'
    async with serve({"users/ann/a": b"hers"}, rules=rules, **STAFF) as site:
        own = await site.get("/me/a", Authorization="ann")
        anonymous = await site.get("/public/me/a", Authorization="ann")
        event = await site.last_event()
    assert (own.body, anonymous.status) == (b"hers", 403)
    assert (event.request.rule, event.request.key) == ("own", None)
    assert "rewrite `own`" in event.reason


@pytest.mark.parametrize(
    ("error", "status"),
    [(AccessDenied("secret-key"), 403), (BucketMissing("secret-bucket"), 502), (Unreachable("x"), 502)],
)
async def test_no_page_shows_an_error_of_the_store(error, status):
    """The client gets a general message with an id; only the log has the reason."""
    async with serve(FailingStore(open=error)) as site:
        answer = await site.get("/a")
        event = await site.last_event()
    assert (answer.status, event.status) == (status, status)
    assert "secret" not in answer.text + str(answer.headers)
    assert type(error).__name__ not in answer.text
    assert str(error) in event.reason


async def test_a_defect_is_a_500_and_reported_with_its_traceback():
    async with serve(FailingStore(open=ZeroDivisionError("secret"))) as site:
        answer = await site.get("/a")
        failed, refused = site.events
    assert (answer.status, answer.headers["x-request-id"] in answer.text) == (500, True)
    assert "secret" not in answer.text
    assert "ZeroDivision" not in answer.text
    assert isinstance(failed, Failed)
    assert failed.error.__traceback__ is not None
    assert (refused.status, refused.reason) == (500, "`ZeroDivisionError` was raised")


@pytest.mark.parametrize(
    ("target", "accept", "content_type"),
    [
        ("/x", "text/html", "text/html; charset=utf-8"),
        ("/x", "application/json", "application/json"),
        ("/x?format=text", "text/html", "text/plain; charset=utf-8"),
        ("/%zz", "application/json", "application/json"),
    ],
)
async def test_an_error_has_the_requested_format(target, accept, content_type):
    async with serve({}) as site:
        answer = await site.get(target, Accept=accept)
    assert answer.headers["content-type"] == content_type
    assert answer.headers["cache-control"] == "no-store"


PROXIED = Server(trusted_proxies=("127.0.0.1/32",))
FORWARDED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Host": "Public.Test:8443", "X-Forwarded-Proto": "https"}


async def test_a_trusted_proxy_names_client_host_and_scheme():
    """Behind a trusted proxy, mounts, rules and events use the client's address, host and scheme."""
    rules = 'rewrite `.*` -> jinja "/{{ request.scheme }}/{{ request.host }}/{{ request.remote_address }}"'
    key = "https/public.test/203.0.113.9"
    async with serve({key: b"x"}, rules=rules, mount=Mount("public.test"), server=PROXIED) as site:
        answer = await site.request("GET", "/a", FORWARDED)
        event = await site.last_event()
    assert (answer.status, event.request.client, event.request.host) == (200, "203.0.113.9", "public.test")


async def test_an_invalid_request_is_reported_with_its_client():
    async with serve({}, server=PROXIED) as site:
        await site.request("GET", "/%zz", FORWARDED)
        event = await site.last_event()
    assert (event.status, event.request.client) == (400, "203.0.113.9")


async def test_assets_of_pages_are_public():
    """Style sheets and scripts need no sign-in and no target, and can be cached for ever."""
    name = next(iter(PAGES.assets))
    async with serve({"a": b"x"}, mount=Mount("files.test", ("/m/",)), **STAFF) as site:
        for target in (f"/m/.tornado-proxy/{name}", f"/.tornado-proxy/{name}", f"/m/a/.tornado-proxy/{name}?x"):
            answer = await site.get(target, Host="any")
            assert (answer.status, answer.body) == (200, PAGES.assets[name].body)
        assert "immutable" in answer.headers["cache-control"]
        head = await site.request("HEAD", target)
        assert (head.status, head.body, head.headers["content-length"]) == (200, b"", answer.headers["content-length"])
        event = await site.last_event()
    assert (event.request.path, event.request.target, event.status) == (f"/m/a/.tornado-proxy/{name}", None, 200)


@pytest.mark.parametrize("name", ["style.css", "style.0123456789abcdef.css", "", "../style.css"])
async def test_only_assets_of_pages_are_public(name):
    """Other names in the directory of assets are ordinary paths, which need a sign-in."""
    async with serve({".tornado-proxy/style.css": b"own"}, **STAFF) as site:
        answer = await site.get(f"/.tornado-proxy/{name}")
        put = await site.request("PUT", f"/.tornado-proxy/{next(iter(PAGES.assets))}")
    assert answer.status in (400, 401)
    assert put.status == 401


async def test_the_file_of_an_isolated_user_is_not_cached_publicly():
    """The answer is private, even if the object has a public Cache-Control."""
    store = MemoryStore()
    store.add("ann/a", b"hers", ObjectInfo(0, cache_control="public, max-age=600"))
    async with serve(store, get=GetAction(user_isolation=True), **STAFF) as site:
        answers = [await site.request(method, "/a", {"Authorization": "ann"}) for method in ("GET", "HEAD")]
    assert [answer.status for answer in answers] == [200, 200]
    assert {answer.headers["cache-control"] for answer in answers} == {"private, no-cache"}


async def test_nothing_is_stored_in_the_directory_of_assets():
    """An upload to this directory is a 403 with a message."""
    store, path = MemoryStore(), f"/d/.tornado-proxy/{next(iter(PAGES.assets))}"
    async with serve(store, actions=Actions(put=PutAction(enabled=True, raw_uploads=True))) as site:
        answer = await site.request("PUT", path, {"Content-Length": "0"})
    assert (answer.status, store.keys()) == (403, ())
    assert "This directory is for files of the service" in answer.text


CORS = Server(cors=Cors(enabled=True, allow_origins=("https://app.example",), allow_methods=("PUT", "DELETE")))
OTHER_ORIGIN = {"Origin": "https://evil.example"}


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "server", "refused"),
    [
        ({}, None, False),
        ({"Origin": "https://Files.test"}, None, False),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://public.example"}, None, False),
        ({"Sec-Fetch-Site": "none"}, None, False),
        (OTHER_ORIGIN, None, True),
        ({"Origin": "null"}, None, True),
        ({"Origin": "http://files.test:8080"}, None, True),
        ({"Sec-Fetch-Site": "cross-site"}, None, True),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://files.test"}, None, True),
        (OTHER_ORIGIN, CORS, True),
        ({"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}, CORS, False),
        ({"Origin": "https://public.example", "X-Forwarded-Host": "public.example"}, PROXIED, False),
        # Who can replace pages sent by HTTP cannot write by HTTPS with the password that the browser keeps.
        ({"Origin": "http://files.test", "X-Forwarded-Proto": "https"}, PROXIED, True),
    ],
)
async def test_a_change_from_another_origin_is_refused(method, headers, server, refused):
    """A PUT or DELETE from a page of another origin is a 403, unless CORS allows the origin."""
    put = structs.replace(EVERYTHING, put=PutAction(enabled=True, raw_uploads=True, allow_override=True))
    async with serve({"d/a": b"x"}, actions=put, server=server) as site:
        answer = await site.request(method, "/d/a", {"Authorization": "ann", **headers}, b"new")
        left = await site.get("/d/a", Authorization="ann")
    assert (answer.status == 403) == (left.body == b"x") == refused


async def test_a_theme_is_for_one_target():
    """A theme applies only to the listings and errors of its target."""
    themed = Pages("Our files", css=("a.css", b"a{}"))
    async with serve({"a": b"x"}, mount=Mount("files.test"), themed=themed) as site:
        listing, missing = await site.get("/", Accept="text/html"), await site.get("/b", Accept="text/html")
        outside = await site.get("/b", Accept="text/html", Host="other")
        (name,) = set(themed.assets) - set(PAGES.assets)
        sheet = await site.get(f"/.tornado-proxy/{name}")
    assert all(f"/.tornado-proxy/{name}" in page.text and "Our files" in page.text for page in (listing, missing))
    assert "Our files" not in outside.text
    assert (sheet.status, sheet.body) == (200, b"a{}")


@pytest.mark.parametrize(
    ("server", "sent", "is_kept"),
    [
        (PROXIED, "4f2a-9.b:1", True),
        *((PROXIED, sent, False) for sent in ("two words", "x" * 129, '"', "ä")),
        (None, "4f2a", False),
    ],
)
async def test_only_a_trusted_proxy_names_a_request(server, sent, is_kept):
    """By the ID under which it logs the request, unless that could break a line or fill the log."""
    async with serve({"a": b"x"}, server=server) as site:
        answer = await site.get("/a", X_Request_Id=sent)
        assert answer.headers["x-request-id"] == (await site.last_event()).request.request_id
    assert (answer.headers["x-request-id"] == sent) is is_kept


@pytest.mark.parametrize(
    ("get", "location"),
    [
        (GetAction(website_redirects=True), "https://example.org/new"),
        (GetAction(redirect_to_signed_url=True), "https://memory.invalid/a"),
        (GetAction(), None),
    ],
)
async def test_the_log_has_the_place_of_a_redirect(get, location):
    """Its query is left out, which may carry signatures and tokens."""
    store = MemoryStore()
    store.add("a", b"", ObjectInfo(0, redirect="https://example.org/new?token=1"))
    async with serve(store, log=Log(format="json"), get=get) as site:
        await site.get("/a")
        assert (await site.last_event()).request.facts.get("location") == location


async def test_a_referrer_has_no_query_and_no_password():
    """Signatures, tokens and passwords stay out of the log."""
    async with serve({"a": b"x"}, log=Log(format="json")) as site:
        await site.get("/a", User_Agent="a" * 600, Referer="http://ann:secret@x.test/p?token=1")
        facts = (await site.last_event()).request.facts
    assert (facts["userAgent"], facts["referrer"]) == ("a" * 512, "http://x.test/p")
