"""Each request goes to the generation in force, and stays with it."""

from __future__ import annotations

import asyncio

import pytest
from fakes import OneObject, ScriptedBody
from memory_store import MemoryStore
from serving import generation, serve

from tornado_proxy.config.actions import Actions
from tornado_proxy.config.server import Server
from tornado_proxy.gateway.application import Gateway
from tornado_proxy.gateway.server import HttpServer


async def test_every_answer_has_its_own_id():
    """A file, a listing and an error carry different ids, none of them the client's."""
    async with serve({"a": b"x"}) as site:
        targets = ("/a", "/", "/%zz", "/a")
        ids = [(await site.get(target, X_Request_Id="mine")).headers["x-request-id"] for target in targets]
        told = [event.request.request_id for event in site.events]
    assert len(set(ids)) == 4
    assert "mine" not in ids
    assert told == ids


async def test_the_generation_is_named():
    """Each answer, errors too, has its number and the beginning of its files' digest."""
    async with serve({}, number=7, digest="0123456789abcdef") as site:
        assert (await site.get("/")).headers["x-tornado-proxy-generation"] == "7-0123456789ab"
        assert (await site.get("/%zz")).headers["x-tornado-proxy-generation"] == "7-0123456789ab"


async def test_the_generation_may_stay_unnamed():
    """The configuration leaves the header out."""
    async with serve({}, digest="0123456789abcdef", server=Server(generation_header=False)) as site:
        assert "x-tornado-proxy-generation" not in (await site.get("/")).headers


def _store(content: bytes) -> MemoryStore:
    store = MemoryStore()
    store.add("a", content)
    return store


async def test_the_next_request_meets_the_next_generation():
    """A swap takes effect with the next request, on an open connection too."""
    async with serve(_store(b"old"), digest="a") as site, site.connect() as client:
        before = await client.request("GET", "/a")
        site.swap(generation(_store(b"new"), number=2, digest="b"))
        after = await client.request("GET", "/a")
    assert (before.body, before.headers["x-tornado-proxy-generation"]) == (b"old", "1-a")
    assert (after.body, after.headers["x-tornado-proxy-generation"]) == (b"new", "2-b")


async def test_a_request_stays_with_its_generation():
    """A swap in the middle of a request closes nothing that the request uses before it has left."""
    gate, closed = asyncio.Event(), asyncio.Event()

    class _Gated(ScriptedBody):
        async def chunks(self):
            yield b"one"
            await gate.wait()
            yield b"two"

    class _Closing(OneObject):
        async def close(self):
            closed.set()

    async with serve(_Closing(_Gated([], 6))) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        first = await client.reader.readexactly(3)
        old = site.swap(generation(_store(b"new"), number=2))
        async with asyncio.TaskGroup() as group:
            group.create_task(old.retire())
            assert (await site.get("/a")).body == b"new"
            during = closed.is_set()
            gate.set()
            rest = await client.reader.readexactly(3)
    assert (first + rest, during, closed.is_set()) == (b"onetwo", False, True)


async def test_a_gateway_counts_what_is_under_way():
    """Requests in flight are counted, and shown."""
    gate = asyncio.Event()

    class _Waiting(OneObject):
        async def open(self, *arguments):
            await gate.wait()
            return self.body

    async with serve(_Waiting(ScriptedBody([b"x"], 1))) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        while not site.gateway.in_flight:  # noqa: ASYNC110 - this is what is tested
            await asyncio.sleep(0)
        during = repr(site.gateway)
        gate.set()
        await client.receive()
        await site.told()
        assert (during, site.gateway.in_flight) == ("<Gateway, 1 requests>", 0)


async def test_two_servers_may_share_a_gateway():
    """A gateway keeps nothing of a connection."""
    made = generation(_store(b"x"))
    gateway = Gateway(lambda: made, lambda _event: None)
    servers = [HttpServer(gateway.begin, made.parts.settings.limits) for _ in range(2)]
    for server in servers:
        server.listen(0, "127.0.0.1")
    ports = {port for server in servers for port in server.ports}
    for server in servers:
        await server.shut_down(1)
    await made.retire()
    assert len(ports) == 2


@pytest.mark.parametrize("target", ["/", "/%zz", "/a", "/?format=json"])
async def test_tornado_says_nothing_of_itself(target):
    """No answer names its server, and none but a file's has an ETag."""
    async with serve({"a": b"x"}) as site:
        answer = await site.get(target)
    assert "server" not in answer.headers
    assert ("etag" in answer.headers) == (target == "/a")


async def test_head_has_the_objects_own_etag():
    """HEAD shows the stored ETag, not a hash of nothing."""
    async with serve({"a": b"x"}) as site:
        get, head = await site.get("/a"), await site.request("HEAD", "/a")
    assert head.headers["etag"] == get.headers["etag"] == '"9dd4e461268c8034f5c8564e155c67a6"'


async def test_a_page_is_never_a_304_of_tornados():
    """A condition on a listing's imagined ETag changes nothing."""
    async with serve({"a": b"x"}) as site:
        answer = await site.get("/", If_None_Match="*")
    assert answer.status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PROPFIND"])
async def test_a_body_is_announced_and_dropped(method):
    """A method that takes no body may have one; the answer does not wait for it."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"{method} /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".encode())
        status, headers = await client.receive_head()
    assert (status, headers["connection"]) == ({"POST": 405, "PROPFIND": 405}.get(method, 200), "close")


@pytest.mark.parametrize("body", [b"", b"x" * 100_000])
async def test_a_refused_upload_leaves_nothing_behind(body):
    """Once it is answered nobody waits for its body any more, whether some of it has come or none."""
    async with serve({}, actions=Actions()) as site:
        async with site.connect() as client:
            await client.send(b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + body)
            assert (await client.receive_head())[0] == 405
        await site.told()
        await asyncio.sleep(0.01)
        left = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in left if "until_wanted" in repr(task) or "_deliver_later" in repr(task)] == []


async def test_a_connection_is_kept():
    """After an answer without trouble the next request may follow."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        methods = ("GET", "HEAD", "POST", "DELETE", "GET", "OPTIONS")
        statuses = [(await client.request(method, "/a")).status for method in methods]
    assert statuses == [200, 200, 405, 204, 404, 405]
