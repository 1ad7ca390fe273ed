"""A server accepts connections, serves requests with the current generation, and shuts down without losing requests."""

import asyncio
import errno
import os
import socket
from contextlib import AsyncExitStack, closing, suppress

import pytest
from fakes import OneObjectStore, PausedBody
from memory_store import MemoryStore
from serving import Client, generation, serve
from tornado.netutil import bind_sockets

from tornado_proxy.auth.authenticator import HeaderAuthenticator
from tornado_proxy.config.actions import Actions
from tornado_proxy.config.providers import HeaderProvider, Resource
from tornado_proxy.config.server import Limits, Server
from tornado_proxy.semantics.request import PROXY_SIGNATURE, TrustedProxies
from tornado_proxy.wire.server import ConnectionSetup, HttpServer


async def test_a_shutdown_closes_idle_connections():
    """A shutdown does not wait for connections without a request."""
    async with serve({"a": b"x"}) as site, site.connect() as client, site.connect() as silent:
        await client.request("GET", "/a")
        await site.server.shut_down(60)
        assert await client.is_closed()
        assert await silent.is_closed()


async def test_a_request_during_a_shutdown_is_answered():
    """A request on an idle connection just after the start of a shutdown is the last of its connection."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.request("GET", "/a")
        async with asyncio.TaskGroup() as group:
            group.create_task(site.server.shut_down(60))
            await asyncio.sleep(0)
            answer = await client.request("GET", "/a")
        assert (answer.body, answer.headers["connection"], await client.is_closed()) == (b"x", "close", True)


async def test_a_shutdown_completes_running_requests():
    """An answer that has started is completed, and its connection is closed after it."""
    body = PausedBody()
    async with serve(OneObjectStore(body)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        status, headers = await client.receive_head()
        async with asyncio.TaskGroup() as group:
            group.create_task(site.server.shut_down(60))
            await asyncio.sleep(0)
            body.go_on.set()
            content = await client.reader.read(-1)
    assert (status, headers["content-length"], content) == (200, "10", b"helloworld")


async def test_an_answer_during_a_shutdown_has_connection_close():
    """An answer that starts during a shutdown has `Connection: close`."""
    body = PausedBody()

    class _Slow(OneObjectStore):
        async def open(self, *arguments):
            await body.go_on.wait()
            return body

    async with serve(_Slow(body)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        while not site.application.in_flight:  # noqa: ASYNC110 - the product has no event for it
            await asyncio.sleep(0)
        async with asyncio.TaskGroup() as group:
            group.create_task(site.server.shut_down(60))
            await asyncio.sleep(0)
            body.go_on.set()
            answer = await client.receive()
        assert (answer.body, answer.headers["connection"], await client.is_closed()) == (b"helloworld", "close", True)


async def test_the_grace_period_ends_running_requests():
    """After the grace period, the connection and the body are closed."""
    body = PausedBody()
    async with serve(OneObjectStore(body)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        await site.server.shut_down(0.01)
        body_part = await client.reader.read(-1)
        body.go_on.set()
        await body.closed.wait()
        event = await site.last_event()
    assert (body_part, event.complete) == (b"hello", False)


async def test_a_stopped_server_refuses_connections():
    """A new connection is refused after the shutdown."""
    async with serve({}) as site:
        await site.server.shut_down(1)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", site.port)


async def test_a_socket_for_both_families_names_clients_of_ipv4_plainly():
    """A client of IPv4 has its own address, not the one of IPv6 that the kernel maps it to."""
    async with serve({"a": b"x"}) as site:
        both = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        both.setblocking(False)
        site.server.add_sockets([both])
        async with AsyncExitStack() as stack:
            client = Client(*await asyncio.open_connection("127.0.0.1", both.getsockname()[1]))
            stack.push_async_callback(client.close)
            await client.request("GET", "/a")
            assert (await site.last_event()).request.client == "127.0.0.1"


async def test_a_queued_connection_is_served():
    """A connection in the kernel's queue at the start of a shutdown is accepted and answered."""
    async with serve({"a": b"x"}) as site:
        with socket.create_connection(("127.0.0.1", site.port)) as queued:
            queued.sendall(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            # The event loop has not run since, so the connection is not accepted yet.
            await site.server.shut_down(60)
            answer = queued.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"Connection: close" in answer


async def test_the_queue_of_a_shared_socket_is_left():
    """If another process shares the socket, that process serves the queued connections."""
    async with serve({"a": b"x"}) as site, serve({"a": b"y"}) as next_site:
        with socket.create_server(("127.0.0.1", 0)) as shared, closing(shared.dup()) as copy:
            shared.setblocking(False)
            site.server.add_sockets([shared])
            with socket.create_connection(copy.getsockname()) as queued:
                queued.sendall(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                await site.server.shut_down(60, leave_queue=True)
                copy.setblocking(False)
                next_site.server.add_sockets([copy])
                answer = await asyncio.to_thread(queued.makefile("rb").read)
    assert answer.endswith(b"y")


class _Exhausted(socket.socket):
    """A listening socket whose first calls of `accept` fail for lack of descriptors."""

    failures = 2

    def accept(self):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return super().accept()


@pytest.fixture
def exhausted():
    """A listening socket for which there is no descriptor at first."""
    with _Exhausted() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.setblocking(False)
        yield listening


async def test_too_many_open_files_pause_accepting(exhausted, caplog):
    """Without a free descriptor, the server logs a warning, waits, and then accepts connections again."""
    async with serve({"a": b"x"}) as site:
        site.server.acceptor.pause = 0.001
        site.server.add_sockets([exhausted])
        client = Client(*await asyncio.open_connection(*exhausted.getsockname()))
        answer = await client.request("GET", "/a")
        await client.close()
    assert (answer.status, len(caplog.messages)) == (200, 2)
    assert caplog.messages[0] == "connections cannot be accepted: Too many open files"


async def test_accepting_resumes_only_after_the_pause(exhausted, caplog):
    """Without a free descriptor, the server does not try again in each turn of its event loop."""
    exhausted.failures = 100
    async with serve({}) as site:
        site.server.acceptor.pause = 60
        site.server.add_sockets([exhausted])
        with socket.create_connection(exhausted.getsockname()):
            for _ in range(20):
                await asyncio.sleep(0)
            await site.server.shut_down(0)
    assert len(caplog.messages) == 1


async def test_a_defect_in_a_connection_is_logged(caplog):
    """An unexpected exception in a connection is logged."""

    def begin(*_):
        raise RuntimeError("broken")

    server = HttpServer(begin, Limits())
    (listening,) = bind_sockets(0, "127.0.0.1")
    port = listening.getsockname()[1]
    server.add_sockets([listening])
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    while not caplog.messages:  # noqa: ASYNC110 - the product has no event for it
        await asyncio.sleep(0)
    writer.close()
    await server.shut_down(1)
    assert caplog.messages == ["unexpected exception in a connection"]


PROXIED = ConnectionSetup(proxied=TrustedProxies(("127.0.0.0/8",)))
PROXY_V2 = PROXY_SIGNATURE + b"\x21\x11\x00\x0c" + bytes([192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80])


@pytest.mark.parametrize(
    ("header", "address"),
    [
        (b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n", "192.0.2.1"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        (PROXY_V2, "192.0.2.1"),
        (PROXY_SIGNATURE + b"\x20\x00\x00\x00", "127.0.0.1"),
    ],
)
async def test_the_proxy_protocol_names_the_client(header, address):
    """A header of the PROXY protocol may arrive byte by byte, and HTTP follows it."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = PROXIED
        async with site.connect() as client:
            for byte in header:
                await client.send(bytes([byte]))
            assert (await client.request("GET", "/a")).body == b"x"
        assert (await site.last_event()).request.client == address


@pytest.mark.parametrize("header", [b"PROXY UNKNOWN\r\n", PROXY_SIGNATURE + b"\x20\x00\x00\x00", PROXY_V2])
async def test_a_client_without_an_address_names_no_user(header):
    """A client that reaches a trusted proxy in a way that the proxy cannot name is not believed, as no client is."""
    front = HeaderAuthenticator(HeaderProvider("front", "X-User", "X-Email"))
    settings = Server(trusted_proxies=("127.0.0.0/8",))
    resources = [Resource("/**", provider="front")]
    async with serve({"a": b"x"}, server=settings, authenticators={"front": front}, resources=resources) as site:
        forged = {"X-User": "root", "X-Email": "r@h", "X-Forwarded-For": "192.0.2.9"}
        assert (await site.request("GET", "/a", forged)).status == 200  # without the PROXY protocol
        site.server.setup = PROXIED
        async with site.connect() as client:
            await client.send(header)
            assert (await client.request("GET", "/a", forged)).status == 401
        assert (await site.last_event()).request.client != "192.0.2.9"


@pytest.mark.parametrize(
    "data", [b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n", b"PROXY " + b"x" * 200, b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\0"]
)
async def test_a_proxy_without_a_header_is_not_served(data):
    """A connection of a trusted proxy without a valid header is closed without an answer."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = PROXIED
        async with site.connect() as client:
            await client.send(data)
            with suppress(ConnectionResetError):
                assert await client.is_closed()
        assert site.events == []


async def test_an_interrupted_proxy_header_is_harmless():
    """After a proxy disconnects within its header, the server serves the next connection."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = PROXIED
        async with site.connect() as client:
            await client.send(b"PROXY TCP4 1")
        async with site.connect() as client:
            await client.send(b"PROXY UNKNOWN\r\n")
            assert (await client.request("GET", "/a")).status == 200


async def test_an_incomplete_proxy_header_times_out(monkeypatch):
    """A header that is incomplete after the time limit closes the connection."""
    monkeypatch.setattr("tornado_proxy.wire.limits.OPEN_WITHIN", 0.05)
    async with serve({"a": b"x"}) as site:
        site.server.setup = PROXIED
        async with site.connect() as client:
            await client.send(b"PROXY TCP4 1")
            assert await client.is_closed()


async def test_the_proxy_protocol_is_for_trusted_proxies():
    """Another client needs no header, and its header is a malformed request."""
    async with serve({"a": b"x"}) as site:
        site.server.setup = ConnectionSetup(proxied=TrustedProxies(("10.0.0.0/8",)))
        assert (await site.get("/a")).status == 200
        async with site.connect() as client:
            await client.send(b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n")
            assert (await client.request("GET", "/a")).status == 400


@pytest.fixture
def few_descriptors(monkeypatch):
    """The number of clients that a server may have that is made now; an idle one gives way at once."""
    monkeypatch.setattr("tornado_proxy.wire.server.most_connections", lambda: 50)
    monkeypatch.setattr("tornado_proxy.wire.limits.YOUNG_FOR", 0.0)
    return 50


async def test_the_longest_idle_connection_gives_way(few_descriptors):
    """With all connections taken, a new client is served, and the one that has waited longest is disconnected."""
    async with asyncio.timeout(30), serve({"a": b"x"}) as site, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(site.connect()) for _ in range(few_descriptors)]
        for oldest in clients[:2]:
            assert (await oldest.request("GET", "/a")).status == 200  # so they are the newest now
        await clients[3].send(b"GET /a HTTP/1.1\r\n")  # a head that does not end counts as idle
        assert (await site.get("/a")).status == 200
        assert await clients[2].is_closed()
        assert (await site.get("/a")).status == 200  # in place of the last one, which has ended
        newest = [await stack.enter_async_context(site.connect()) for _ in range(2)]
        assert await clients[3].is_closed()
        for kept in (*clients[:2], *newest):
            assert (await kept.request("GET", "/a")).status == 200


async def test_no_running_request_gives_way(few_descriptors):
    """With a request on each connection, which may need another to S3, a new client waits until one has its answer."""
    body = PausedBody()
    async with asyncio.timeout(30), serve(OneObjectStore(body)) as site, AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(site.connect()) for _ in range(few_descriptors)]
        for client in clients:
            await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        for client in clients:
            await client.receive_head()
        async with site.connect() as late:
            answer = asyncio.ensure_future(late.request("GET", "/x"))
            await asyncio.sleep(0.05)
            assert (len(site.server._connections), answer.done()) == (len(clients), False)
            body.go_on.set()
            assert (await answer).body == b"helloworld"
        assert {await client.reader.readexactly(10) for client in clients} == {b"helloworld"}


async def test_every_answer_has_its_own_id():
    """Every answer has a unique request id, which its event repeats; the client's id is ignored."""
    async with serve({"a": b"x"}) as site:
        targets = ("/a", "/", "/%zz", "/a")
        ids = [(await site.get(target, X_Request_Id="mine")).headers["x-request-id"] for target in targets]
        reported = [event.request.request_id for event in site.events]
    assert len(set(ids)) == 4
    assert "mine" not in ids
    assert reported == ids


async def test_an_answer_has_the_generation():
    """Every answer, errors too, has the number of the generation and the first digits of its digest."""
    async with serve({}, number=7, digest="0123456789abcdef") as site:
        assert (await site.get("/")).headers["x-tornado-proxy-generation"] == "7-0123456789ab"
        assert (await site.get("/%zz")).headers["x-tornado-proxy-generation"] == "7-0123456789ab"


async def test_the_generation_header_can_be_disabled():
    """With `generationHeader: false`, no answer has the generation."""
    async with serve({}, digest="0123456789abcdef", server=Server(generation_header=False)) as site:
        assert "x-tornado-proxy-generation" not in (await site.get("/")).headers


async def test_a_new_generation_serves_the_next_request():
    """A swap takes effect with the next request, on an open connection too."""
    async with serve({"a": b"old"}, digest="a") as site, site.connect() as client:
        before = await client.request("GET", "/a")
        site.swap(generation(MemoryStore({"a": b"new"}), number=2, digest="b"))
        after = await client.request("GET", "/a")
    assert (before.body, before.headers["x-tornado-proxy-generation"]) == (b"old", "1-a")
    assert (after.body, after.headers["x-tornado-proxy-generation"]) == (b"new", "2-b")


async def test_a_request_keeps_its_generation():
    """The store of an old generation stays open until its last request is answered."""
    body, closed = PausedBody(), asyncio.Event()

    class _Closing(OneObjectStore):
        async def close(self):
            closed.set()

    async with serve(_Closing(body)) as site, site.connect() as client:
        await client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
        await client.receive_head()
        first = await client.reader.readexactly(5)
        old = site.swap(generation(MemoryStore({"a": b"new"}), number=2))
        async with asyncio.TaskGroup() as group:
            group.create_task(old.retire())
            assert (await site.get("/a")).body == b"new"
            during = closed.is_set()
            body.go_on.set()
            rest = await client.reader.readexactly(5)
    assert (first + rest, during, closed.is_set()) == (b"helloworld", False, True)


async def test_a_listing_is_never_a_304():
    """A listing has no ETag, so `If-None-Match` has no effect."""
    async with serve({"a": b"x"}) as site:
        answer = await site.get("/", If_None_Match="*")
    assert answer.status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PROPFIND"])
async def test_an_unused_body_is_dropped(method):
    """The answer to a method without a body does not wait for the announced body, and ends the connection."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"{method} /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".encode())
        status, headers = await client.receive_head()
    assert (status, headers["connection"]) == ({"POST": 405, "PROPFIND": 405}.get(method, 200), "close")


@pytest.mark.parametrize("body", [b"", b"x" * 100_000])
async def test_a_refused_upload_leaves_no_task(body):
    """After the answer, no task waits for the body, whether a part of it has arrived or not."""
    async with serve({}, actions=Actions()) as site:
        async with site.connect() as client:
            await client.send(b"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n" + body)
            assert (await client.receive_head())[0] == 405
        await site.last_event()
        await asyncio.sleep(0.01)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert [task for task in tasks if "until_wanted" in repr(task) or "_deliver_later" in repr(task)] == []


async def test_a_connection_serves_several_requests():
    """After an answer without an error of the connection, the next request is served."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        methods = ("GET", "HEAD", "POST", "DELETE", "GET", "OPTIONS")
        statuses = [(await client.request(method, "/a")).status for method in methods]
    assert statuses == [200, 200, 405, 204, 404, 405]
