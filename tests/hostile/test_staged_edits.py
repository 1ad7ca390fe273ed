"""A staged edit beside the generation in force: it decides without an effect, and as a canary answers some clients."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from fakes import FailingStore
from http2_client import connect
from memory_store import MemoryStore
from serving import FORM_TYPE, form, generation, part, serve

from tornado_proxy.auth.authenticator import HeaderAuthenticator
from tornado_proxy.auth.fetching import Fetched
from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction, Webhook
from tornado_proxy.config.model import ArchiveOptions, ListingOptions, ObjectCache
from tornado_proxy.config.providers import HeaderProvider, OpaServer, Resource
from tornado_proxy.config.server import Server
from tornado_proxy.pages.custom import Recipe
from tornado_proxy.routing.compare import Kind
from tornado_proxy.service.run.shadow import Shadow
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.telemetry.events import ObjectUsed, Shadowed

HOOKS = (Webhook("http://127.0.0.1:1/"),)
ACTIONS = Actions(
    GetAction(index_document="index.html", redirect_with_trailing_slash_for_not_found_file=True, webhooks=HOOKS),
    put=PutAction(enabled=True, allow_override=True, raw_uploads=True, direct_uploads=True, webhooks=HOOKS),
    delete=DeleteAction(enabled=True, webhooks=HOOKS),
)
LISTING = ListingOptions(readme=True, archive=ArchiveOptions(enabled=True))
FRONT = {
    "authenticators": {"front": HeaderAuthenticator(HeaderProvider("front", "X-User", "X-Email"))},
    "server": Server(trusted_proxies=("127.0.0.0/8",)),
}
POLICED = [
    Resource("/**", ("GET", "HEAD", "PUT", "DELETE"), provider="front", opa=OpaServer("http://127.0.0.1:8181/v1/data"))
]
BOB = {"X-User": "bob", "X-Email": "bob@example.org"}
FILES = {"a": b"x", "d/x": b"x", "i/index.html": b"x", "README.md": b"x"}
MOVED = 'rewrite `^/(?P<rest>.*)$` -> "/moved/$rest"'


class _Closed(FailingStore):
    """A store that nobody may call."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def _check(self, operation):
        self.calls.append(operation)

    async def presign(self, *arguments):
        """Notes the call."""
        self._check("presign")
        return await super().presign(*arguments)

    async def presign_upload(self, *arguments):
        """Notes the call."""
        self._check("presign_upload")
        return await super().presign_upload(*arguments)

    async def begin_upload(self, *arguments):
        """Notes the call."""
        self._check("begin_upload")
        return await super().begin_upload(*arguments)


@asynccontextmanager
async def _shadowed(store, edit, in_force):
    """Serves a store, with an edit beside; yields the site and the store of the edit."""
    closed = _Closed()
    async with serve(store, **in_force) as site:
        staged = generation(closed, number=2, **edit)
        site.current[0].shadow = Shadow(staged, site.events.append, 0, lambda: 0.0)
        yield site, closed
        await staged.retire()


REQUESTS = [
    ("GET", "/a", {}, b"", Kind.KEY),
    ("HEAD", "/a", {}, b"", Kind.KEY),
    ("GET", "/a", {"Range": "bytes=0-0"}, b"", Kind.KEY),
    ("GET", "/", {}, b"", Kind.KEY),
    ("GET", "/?format=zip", {}, b"", Kind.KEY),
    ("GET", "/i/", {}, b"", Kind.KEY),
    ("GET", "/d", {}, b"", Kind.KEY),
    ("PUT", "/", FORM_TYPE, form(part("file", b"x", filename="b")), Kind.KEY),
    ("PUT", "/c", {}, b"x", Kind.KEY),
    ("PUT", "/c?upload=direct", {}, b"", Kind.KEY),
    ("PUT", "/c?upload=start&size=1", {}, b"", Kind.KEY),
    ("DELETE", "/a", {}, b"", Kind.KEY),
    ("DELETE", "/d/", {}, b"", Kind.SAME),
    ("PUT", "/c/?upload=direct", {}, b"", Kind.SAME),
]


@pytest.mark.parametrize(("method", "target", "headers", "body", "kind"), REQUESTS)
async def test_an_edit_decides_without_an_effect(method, target, headers, body, kind):
    """Each kind of request is compared once; the edit reads, writes and reports nothing, and asks no policy."""
    asked = []

    async def permit(wanted):
        asked.append(json.loads(wanted.body)["input"]["request"]["path"])
        return Fetched(200, b'{"result": true}')

    settings = {"actions": ACTIONS, "resources": POLICED, "listing": LISTING, **FRONT}
    store, alone = ({**FILES} for _ in range(2))
    async with serve(alone, fetch=permit, **settings) as site:
        expected = (await site.request(method, target, BOB | headers, body)).status
        await site.last_event()
        used = [event for event in site.events if isinstance(event, ObjectUsed)]
    asked_alone, asked = list(asked), asked[:0]
    async with _shadowed(store, {"rules": MOVED, **settings}, {"fetch": permit, **settings}) as (site, closed):
        status = (await site.request(method, target, BOB | headers, body)).status
        await site.last_event()
        shadowed = [event.difference for event in site.events if isinstance(event, Shadowed)]
    assert status == expected
    assert asked == asked_alone
    assert closed.calls == []
    assert [each.kind for each in shadowed] == [kind]
    assert len([event for event in site.events if isinstance(event, ObjectUsed)]) == len(used)


class _Away:
    """A provider that must not be asked."""

    asked = 0

    async def authenticate(self, _request, _guard):
        """Counts the question."""
        self.asked += 1


async def test_an_edit_asks_no_provider():
    """What another provider would say is not known; an open request without credentials would be asked for them."""
    away = _Away()
    edit = {"resources": [Resource("/**", provider="id")], "authenticators": {"id": away}}
    async with _shadowed({"a": b"x"}, edit, {}) as (site, closed):
        await site.get("/a")
        await site.get("/a", Cookie="session=1")
        await site.last_event()
        kinds = [event.difference.kind for event in site.events if isinstance(event, Shadowed)]
    assert kinds == [Kind.ANSWER, Kind.UNKNOWN]
    assert (away.asked, closed.calls) == (0, [])


@asynccontextmanager
async def _canary(store, edit, in_force):
    """Serves a store, with an edit that answers everyone."""
    async with serve(store, **in_force) as site:
        staged = generation(edit.pop("store", store), number=2, **edit)
        site.current[0].canary = lambda client: staged
        yield site
        await staged.retire()


async def test_an_edit_knows_the_proxies_that_it_trusts():
    """A client whom the edit answers comes from where the edit says, and is signed in by whom it trusts."""
    edit = {"resources": [Resource("/**", provider="front")], **FRONT}
    store = MemoryStore()
    store.add("a", b"x")
    async with _canary(store, edit, {}) as site:
        assert (await site.request("GET", "/a", BOB)).status == 200
    async with _canary(store, {**edit, "server": Server()}, {"server": FRONT["server"]}) as site:
        assert (await site.request("GET", "/a", BOB)).status == 401


async def test_an_upload_in_parts_is_lost_with_its_edit():
    """Its parts lie where the edit leads, and its client is now led elsewhere."""
    store = MemoryStore()
    edit = {"rules": MOVED, "actions": ACTIONS}
    async with _canary(store, edit, {"actions": ACTIONS}) as site:
        upload = json.loads((await site.request("PUT", "/c?upload=start&size=1")).body)["id"]
        await site.request("PUT", f"/c?upload=part&id={upload}&number=1", {}, b"x")
        site.current[0].canary = None
        lost = await site.request("PUT", f"/c?upload=complete&id={upload}&size=1")
    assert lost.status == 404
    assert store.keys() == ()


async def test_each_generation_has_the_cache_of_its_bucket():
    """An object of the old bucket is not served by an edit that names another."""
    behind, elsewhere = MemoryStore(), MemoryStore()
    behind.add("a", b"old")
    elsewhere.add("a", b"new")
    stores = [CachingStore(each, ObjectCache(), CacheCounts()) for each in (behind, elsewhere)]
    async with serve(stores[0]) as site:
        staged = generation(stores[1], number=2)
        answers = [(await site.get("/a")).body]
        site.current[0].canary = lambda client: staged
        answers += [(await site.get("/a")).body]
        site.current[0].canary = None
        answers += [(await site.get("/a")).body]
        await staged.retire()
    assert answers == [b"old", b"new", b"old"]


async def test_the_pages_of_an_edit_are_its_own():
    """A client whom the edit answers gets its pages, with the headers of its own CORS and compression."""
    custom = {"not_found_error": Recipe("not_found_error", "the page of the edit")}
    async with _canary(MemoryStore(), {"custom": custom}, {}) as site:
        assert (await site.get("/a")).text == "the page of the edit"
        site.current[0].canary = None
        assert (await site.get("/a")).text != "the page of the edit"


async def test_requests_of_one_connection_may_have_two_generations():
    """A client that was not answered by the edit may be at the next step, on the connection that it has."""
    store = MemoryStore()
    store.add("moved/a", b"new")
    store.add("a", b"old")
    async with serve(store) as site, connect(site) as client:
        staged = generation(store, number=2, rules=MOVED)
        bodies = [(await client.request("GET", "/a")).body]
        site.current[0].canary = lambda client: staged
        bodies += [(await client.request("GET", "/a")).body]
        await staged.retire()
    assert bodies == [b"old", b"new"]
