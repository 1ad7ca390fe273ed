"""Malformed requests, large and slow heads, and broken connections."""

import asyncio
import errno
import logging
from contextlib import suppress

import pytest
from fakes import NotingStore, OneObjectStore, ScriptedBody
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import Client, serve
from tornado.httputil import HTTPMessageDelegate, ResponseStartLine

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.server import Limits
from tornado_proxy.semantics.request import Origin
from tornado_proxy.telemetry.events import Failed
from tornado_proxy.wire.connection import Connection, Http1Stream
from tornado_proxy.wire.incoming import ClientDisconnected, Fields
from tornado_proxy.wire.stream import ConnectionServer

HOST = "Host: files.test\r\n"
UPLOADS = Actions(put=PutAction(enabled=True, allow_override=True, raw_uploads=True))

MALFORMED = {
    "malformed request line": {
        "no request line": "GARBAGE\r\n\r\n",
        "no version": "GET /\r\n\r\n",
        "another version": f"GET / HTTP/2.0\r\n{HOST}\r\n",
        "two spaces": f"GET  / HTTP/1.1\r\n{HOST}\r\n",
        "a method that is not a token": f"G(T / HTTP/1.1\r\n{HOST}\r\n",
        "a control character": f"GET /\x01 HTTP/1.1\r\n{HOST}\r\n",
        "a TLS handshake": "\x16\x03\x01\x02\x00\x01",
        "lines without a carriage return": "GET / HTTP/1.1\nHost: files.test\n\n",
    },
    "the Host header is missing": {"no host": "GET / HTTP/1.1\r\n\r\n"},
    "the Host header is invalid, or there are several": {
        "two hosts": f"GET / HTTP/1.1\r\n{HOST}Host: other.test\r\n\r\n",
        "a broken host": "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
    },
    "a header has an invalid name": {
        "a header without a colon": f"GET / HTTP/1.1\r\n{HOST}nonsense\r\n\r\n",
        "a header with a space in its name": f"GET / HTTP/1.1\r\n{HOST}a b: c\r\n\r\n",
    },
    "a header is folded, or has no name": {"a folded header": f"GET / HTTP/1.1\r\n{HOST}a: b\r\n c\r\n\r\n"},
    "a header has an invalid value": {"a null": f"GET / HTTP/1.1\r\n{HOST}a: \x00\r\n\r\n"},
    "the Content-Length is invalid, or there are several": {
        "a length that is not a number": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: five\r\n\r\n",
        "a negative length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: -5\r\n\r\n",
        "an immense length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: {'9' * 5000}\r\n\r\n",
        "a length twice": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
        "a length twice in one line": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5, 5\r\n\r\n",
        "two lengths": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    },
    "both Content-Length and Transfer-Encoding": {
        "a length and chunks": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    },
    "Transfer-Encoding in HTTP/1.0": {
        "chunks in HTTP/1.0": f"PUT / HTTP/1.0\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"
    },
    "unsupported Transfer-Encoding": {
        "two codings": f"PUT / HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip, chunked\r\n\r\n",
        "an unknown coding": f"PUT / HTTP/1.1\r\n{HOST}Transfer-Encoding: gzip\r\n\r\n",
    },
}
"""Heads by the reason that operators are told, which quotes nothing of them."""


@pytest.mark.parametrize(
    ("head", "reason"),
    [(head, reason) for reason, heads in MALFORMED.items() for head in heads.values()],
    ids=[name for heads in MALFORMED.values() for name in heads],
)
async def test_a_malformed_head_is_answered(head, reason, caplog):
    """A malformed request is a 400 with a page and a request id, and ends the connection with one event."""
    caplog.set_level(logging.WARNING)
    async with serve({}) as site, site.connect() as client:
        await client.send(head.encode("latin-1"))
        answer = await client.receive()
        closed, event = await client.is_closed(), await site.last_event()
    assert (answer.status, closed, answer.headers["connection"]) == (400, True, "close")
    assert answer.headers["x-request-id"] in answer.text
    assert event.is_error
    assert (event.status, event.request.method, event.request.path, event.reason) == (400, "", "", reason)
    assert caplog.records == []


SECRET = {
    "a header's value": f"GET / HTTP/1.1\r\n{HOST}Authorization: Basic pASSw\x01\r\n\r\n",
    "a cookie": f"GET / HTTP/1.1\r\n{HOST}Cookie: session=pASSw\x7f\r\n\r\n",
    "a header's name": f"GET / HTTP/1.1\r\n{HOST}Basic pASSw: x\r\n\r\n",
    "a header without a colon": f"GET / HTTP/1.1\r\n{HOST}Authorization Basic pASSw\r\n\r\n",
    "a coding": f"PUT / HTTP/1.1\r\n{HOST}Transfer-Encoding: pASSw\r\n\r\n",
    "a length": f"PUT / HTTP/1.1\r\n{HOST}Content-Length: pASSw\r\n\r\n",
    "a Host with user information": "GET / HTTP/1.1\r\nHost: ann:pASSw@h\r\n\r\n",
    "several hosts": "GET / HTTP/1.1\r\nHost: a,pASSw\r\n\r\n",
    "an address with user information": f"GET http://ann:pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address with a slash in a password": f"GET http://ann:a/pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address of another scheme": f"GET ftp://ann:pASSw@h/x HTTP/1.1\r\n{HOST}\r\n",
    "an address to connect to": f"CONNECT ann:pASSw@h:443 HTTP/1.1\r\n{HOST}\r\n",
    "a query": f"GET /%zz?X-Amz-Signature=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "a query of too many parameters": f"GET /?{'a&' * 1500}token=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "a fragment": f"GET http:#access_token=pASSw HTTP/1.1\r\n{HOST}\r\n",
    "an invalid request line": f"GET http://ann:pASSw@h/x\r\n{HOST}\r\n",
}


@pytest.mark.parametrize("head", SECRET.values(), ids=SECRET)
async def test_no_secret_of_a_malformed_head_is_reported(head):
    """Neither the event nor the answer quotes the request."""
    async with serve({}) as site, site.connect() as client:
        await client.send(head.encode("latin-1"))
        answer = await client.receive()
        event = await site.last_event()
    assert answer.status == event.status == 400
    assert event.reason
    assert "pASSw" not in f"{event} {answer}"


async def test_a_query_of_too_many_parameters_is_refused_alone():
    """The event has the path, and the next request is answered: Tornado's class for requests raises, not the service."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"GET /a?{'a&' * 1000} HTTP/1.1\r\n{HOST}\r\n".encode() * 2)
        assert [(await client.receive()).status for _ in range(2)] == [400, 400]
        event = await site.last_event()
    assert (event.request.method, event.request.path) == ("GET", "/a")
    assert event.reason == "the query has more than 1000 parameters"


async def test_the_size_limit_of_a_head_is_exact():
    """A head of exactly `maxHeaderSize` is accepted; one more byte is a 431."""
    head = f"GET / HTTP/1.1\r\n{HOST}X: "
    async with serve({}, limits=Limits(max_header_size=1000)) as site, site.connect() as client:
        for length, status in ((1000, 200), (1001, 431)):
            await client.send(head.encode() + b"x" * (length - len(head) - 4) + b"\r\n\r\n")
            assert (await client.receive()).status == status


@pytest.mark.parametrize("limit", [1024, 3 << 20])
async def test_an_endless_head_is_a_431(limit, caplog):
    """An endless head is refused at the limit, whatever it is, without a warning."""
    async with serve({"a": b"x"}, limits=Limits(max_header_size=limit)) as site:
        async with site.connect() as client:
            client.writer.write(f"GET / HTTP/1.1\r\n{HOST}X: ".encode() + b"x" * limit)
            assert (await client.receive()).status == 431
            await client.send(b"x" * (1 << 20))
            assert await client.is_closed()
        assert (await site.get("/a")).body == b"x"
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("sent", [b"", b"GET / HT"])
async def test_an_idle_connection_is_closed(sent):
    """A connection without a request, or with a part of a head, is closed after the idle timeout."""
    async with serve({}, limits=Limits(idle_timeout=0.05)) as site, site.connect() as client:
        await client.send(sent)
        assert await client.is_closed()


async def test_a_connection_is_closed_if_it_is_idle_after_an_answer():
    """The idle timeout starts again after each answer."""
    async with serve({"a": b"x"}, limits=Limits(idle_timeout=1)) as site, site.connect() as client:
        assert (await client.request("GET", "/a")).body == b"x"
        assert await client.is_closed()


@pytest.mark.parametrize("tail", [1, 2, 3])
async def test_a_head_may_end_in_two_pieces(tail):
    """The end of a head is recognised if it is split between two packets."""
    request = f"GET /a HTTP/1.1\r\n{HOST}\r\n".encode()
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(request[:-tail])
        await asyncio.sleep(0.02)
        await client.send(request[-tail:])
        assert (await client.receive()).body == b"x"


async def test_a_client_that_continues_to_send_is_disconnected(monkeypatch):
    """The rest of an unused body is read only for a limited time."""
    monkeypatch.setattr("tornado_proxy.wire.limits.LINGER_IDLE", 0.1)
    monkeypatch.setattr("tornado_proxy.wire.limits.LINGER_TOTAL", 0.2)
    async with serve({}) as site, site.connect() as client:
        await client.send(f"POST / HTTP/1.1\r\n{HOST}Content-Length: 1000000\r\n\r\n".encode())
        assert (await client.receive()).status == 405
        with suppress(ConnectionError):
            while not client.reader.at_eof():
                await client.send(b"x")
                await asyncio.sleep(0.01)


CHUNKED = f"HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n"


async def test_a_removal_waits_for_its_body():
    """A DELETE is performed only after its body has arrived."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"DELETE /a HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\nab".encode())
        status_before = (await site.get("/a")).status
        await client.send(b"c")
        assert (status_before, (await client.receive()).status, (await site.get("/a")).status) == (200, 204, 404)


async def test_an_error_does_not_interrupt_an_answer():
    """Invalid chunks that arrive while a file is sent close the connection after the file."""
    body = b"y" * 3_000_000
    async with serve({"a": body}) as site, site.connect() as client:
        await client.send(f"GET /a {CHUNKED}".encode())
        status, _ = await client.receive_head()
        await client.send(b"xyz\r\n")
        assert (status, await client.reader.readexactly(len(body)), await client.is_closed()) == (200, body, True)


@pytest.mark.parametrize("last", ["", "GET /b HTT", f"DELETE /b HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\nx"])
async def test_a_half_closed_client_gets_all_answers(last):
    """All complete requests before the end are answered, and then the connection ends; an incomplete one does nothing."""
    async with serve({"a": b"x", "b": b"y"}) as site, site.connect() as client:
        requests = (f"GET /a HTTP/1.1\r\n{HOST}\r\n", f"DELETE /a {CHUNKED}1\r\nx\r\n0\r\n\r\n")
        await client.send("".join((*requests, requests[0], last)).encode())
        client.writer.write_eof()
        answers = [await client.receive(method) for method in ("GET", "DELETE", "GET")]
        assert ([each.status for each in answers], await client.is_closed()) == ([200, 204, 404], True)
        assert last or answers[-1].headers["connection"] == "close"
        assert (await site.get("/b")).body == b"y"


class _WaitingStore(OneObjectStore):
    """A store that waits for a gate, and records whether a call was cancelled."""

    def __init__(self) -> None:
        super().__init__(ScriptedBody([b"x"], 1))
        self.gate, self.called, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def open(self, *arguments):
        self.called.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.body


async def test_a_half_closed_client_can_wait():
    """A half-closed client gets its answer even if the store is slow."""
    store = _WaitingStore()
    async with serve(store) as site, site.connect() as client:
        await client.send(f"GET /a HTTP/1.1\r\n{HOST}\r\n".encode())
        client.writer.write_eof()
        await asyncio.sleep(0.8)
        store.gate.set()
        answer = await client.receive()
    assert (answer.status, answer.body, store.cancelled.is_set()) == (200, b"x", False)


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("ending", ["close", "reset"])
async def test_a_disconnect_cancels_the_call_to_the_store(version, ending):
    """A call to the store is cancelled when its client closes or resets the connection."""
    store = _WaitingStore()
    async with serve(store) as site:
        async with site.connect() as client:
            await client.send(f"GET /a HTTP/{version}\r\n{HOST}\r\n".encode())
            await store.called.wait()
            if ending == "reset":
                client.abort()
        await asyncio.wait_for(store.cancelled.wait(), 10)
        event = await site.last_event()
    assert (event.status, event.reason) == (499, "the client closed the connection")


async def _send_ahead(store: _WaitingStore, client: Client, data: bytes) -> None:
    """Send a request that waits for the store, then more data until the server stops reading."""
    client.writer.write(f"GET /a HTTP/1.1\r\n{HOST}\r\n".encode())
    await store.called.wait()
    client.writer.write(data)
    for _ in range(3000):
        await asyncio.sleep(0)


async def test_little_is_read_ahead():
    """While a request waits for its answer, the server reads little of the data that follows."""
    store = _WaitingStore()
    async with serve(store) as site, site.connect() as client:
        await _send_ahead(store, client, b"x" * (32 << 20))
        unread = client.writer.transport.get_write_buffer_size()
        client.abort()
        store.gate.set()
    assert unread > 16 << 20


async def test_all_pipelined_requests_are_answered():
    """Reading resumes after the answer for which it was paused."""
    store, request = _WaitingStore(), f"GET /a HTTP/1.1\r\n{HOST}X: {'x' * 5000}\r\n\r\n".encode()
    async with serve(store) as site, site.connect() as client:
        await _send_ahead(store, client, request * 50)
        store.gate.set()
        answers = [await client.receive() for _ in range(51)]
    assert {answer.body for answer in answers} == {b"x"}


async def test_a_pipelined_request_has_a_context_of_its_own():
    """What a request notes in its context, such as its calls to S3 for a trace, the next one does not find there."""
    store = NotingStore()
    for name in "abc":
        store.add(name, b"x")
    async with serve(store) as site, site.connect() as client:
        await client.send(b"".join(f"GET /{name} HTTP/1.1\r\n{HOST}\r\n".encode() for name in "abc"))
        assert [(await client.receive()).status for _ in range(3)] == [200] * 3
    assert store.found == [()] * 3


async def test_an_immediate_disconnect_is_reported():
    """A request whose client disconnects at once emits its event and leaves no task."""
    async with serve({"a": b"x"}) as site:
        async with site.connect() as client:
            await client.send(f"DELETE /a HTTP/1.1\r\n{HOST}Content-Length: 5\r\n\r\n".encode())
            client.abort()
        while not site.events:  # noqa: ASYNC110 - the product has no event for it
            await asyncio.sleep(0)
        event = await site.last_event()
        await asyncio.sleep(0)
        assert event.status == 499
        assert "until_wanted" not in {task.get_coro().__name__ for task in asyncio.all_tasks()}


PIECES = st.one_of(
    st.sampled_from([b"GET", b"PUT", b" ", b"/", b"HTTP/1.1", b"\r\n", b"Host: h\r\n", b"\r\n\r\n", b"%", b":", b"?"]),
    st.sampled_from([b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n"]),
    st.sampled_from([b"Range: bytes=0-\r\n", b"Content-Type: multipart/form-data; boundary=b\r\n", b"--b\r\n"]),
    st.binary(max_size=6),
)


@given(pieces=st.lists(PIECES, min_size=1, max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_bytes_do_not_break_the_server(pieces, caplog):
    """Arbitrary bytes neither disturb the next client nor log a warning."""

    async def scenario():
        async with serve({"a": b"x"}) as site:
            async with site.connect() as client:
                client.writer.write(b"GET /a HTTP/1.1\r\n" * (pieces[0] == b"Host: h\r\n") + b"".join(pieces))
                client.writer.write_eof()
                await client.reader.read(-1)
            assert (await site.get("/a")).body == b"x"
            return [event for event in site.events if isinstance(event, Failed)]

    caplog.clear()
    assert asyncio.run(scenario()) == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_slow_head_closes_the_connection():
    """The time limit of a head starts with its first byte."""
    async with serve({}, limits=Limits(header_timeout=0.2, idle_timeout=60)) as site, site.connect() as client:
        with suppress(ConnectionError):
            while not client.reader.at_eof():
                await client.send(b"G")
                await asyncio.sleep(0.05)
        assert site.events == []


class _Silent(ConnectionServer):
    """An application that keeps its requests, and does nothing about them."""

    def __init__(self) -> None:
        self.streams: list[Http1Stream] = []

    def start_request(self, server_conn, request_conn):
        self.streams.append(request_conn)
        return HTTPMessageDelegate()


def _connected(transport: asyncio.Transport, limits: Limits | None = None) -> tuple[Connection, _Silent]:
    """A connection of a client, and its application."""
    silent = _Silent()
    connection = Connection(silent, Origin("192.0.2.7"), limits or Limits())
    connection.connection_made(transport)
    return connection, silent


def _receive(connection: Connection, data: bytes) -> None:
    connection.get_buffer(-1)[: len(data)] = data
    connection.buffer_updated(len(data))


class _Trickling(asyncio.Transport):
    """A transport whose client takes a byte whenever somebody looks."""

    def __init__(self) -> None:
        super().__init__()
        self.unsent = 100_000
        self.most_unsent: int | None = None
        self.aborted = asyncio.Event()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.most_unsent = high

    def get_write_buffer_size(self) -> int:
        self.unsent -= 1
        return self.unsent

    def abort(self) -> None:
        self.aborted.set()


async def test_little_is_buffered_for_a_slow_client():
    """Writers wait from 32 KiB on, so that thousands of slow clients take little memory; TLS would take 512 KiB."""
    transport = _Trickling()
    connection, _ = _connected(transport)
    assert transport.most_unsent == 32 * 1024
    connection.connection_lost(None)


async def test_a_client_that_reads_a_trickle_is_disconnected():
    """A client that reads some bytes at all times, but too few, keeps no connection."""
    transport = _Trickling()
    connection, silent = _connected(transport, Limits(send_timeout=0.1))
    _receive(connection, f"GET /a HTTP/1.1\r\n{HOST}\r\n".encode())
    connection.pause_writing()
    async with asyncio.timeout(20):
        await transport.aborted.wait()
    assert str(silent.streams[0].mistake) == "the client read less than 1024 bytes a second"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
async def test_a_client_that_ends_its_side_within_a_body_is_let_go(method, caplog):
    """The rest of the request will not arrive: the connection is closed, and the request is reported once."""
    async with serve({"a": b"x"}, actions=UPLOADS) as site, site.connect() as client:
        await client.send(f"{method} /a HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nhalf".encode())
        client.writer.write_eof()
        with suppress(ConnectionError):
            await client.reader.read()
        await site.last_event()
    assert len(site.events) == 1
    assert caplog.records == []


async def test_much_is_read_at_once_while_a_body_arrives():
    """A body is read in pieces of up to 256 KiB; what waits for a request, or for its end, takes less."""
    connection, silent = _connected(_Closing())
    sizes = [len(connection.get_buffer(-1))]
    _receive(connection, f"PUT /a HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nhalf".encode())
    sizes.append(len(connection.get_buffer(-1)))
    _receive(connection, b" and ")
    (stream,) = silent.streams
    stream.write_headers(ResponseStartLine("", 204, "No Content"), Fields())
    stream.finish()
    assert [*sizes, len(connection.get_buffer(-1))] == [64 * 1024, 256 * 1024, 64 * 1024]
    connection.connection_lost(None)


class _Closing(asyncio.Transport):
    """A transport that takes what is written until it is closed; or one whose client has left."""

    def __init__(self, *, has_left: bool = False) -> None:
        super().__init__()
        self.has_left = has_left
        self.closed = self.aborted = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: bytes) -> None:
        pass

    def write_eof(self) -> None:
        if self.has_left:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    def abort(self) -> None:
        self.closed = self.aborted = True

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


async def test_an_answer_may_end_after_its_client_ended_within_the_body():
    """The connection is closing already, which the answer notices without an error."""
    transport = _Closing()
    connection, silent = _connected(transport)
    _receive(connection, f"GET /a HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nhalf".encode())
    connection.eof_received()
    (stream,) = silent.streams
    answer = stream.write_headers(ResponseStartLine("", 204, "No Content"), Fields())
    stream.finish()
    assert transport.closed
    assert isinstance(answer.exception(), ClientDisconnected)
    connection.connection_lost(None)


async def test_an_answer_to_a_client_that_has_left_ends_the_connection():
    """The end of writing fails before the transport reports that its client has left; that is no defect."""
    transport = _Closing(has_left=True)
    connection, silent = _connected(transport)
    _receive(connection, f"GET /a HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n".encode())
    (stream,) = silent.streams
    stream.write_headers(ResponseStartLine("", 204, "No Content"), Fields())
    stream.finish()
    assert transport.aborted
    connection.connection_lost(None)
