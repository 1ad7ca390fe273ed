"""A client of HTTP/2 that sends any frame, and the application served to it: over TLS, or without for speed."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from certificates import pair
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, InformationalResponseReceived, ResponseReceived, StreamEnded
from hyperframe.frame import Frame, GoAwayFrame, RstStreamFrame
from serving import Received, Serving
from tornado.httputil import HTTPConnection, HTTPMessageDelegate, HTTPServerConnectionDelegate

from tornado_proxy.config.server import Limits, Ssl
from tornado_proxy.semantics.request import Origin
from tornado_proxy.wire.http2 import Http2Connection
from tornado_proxy.wire.server import ConnectionSetup
from tornado_proxy.wire.stream import ConnectionServer
from tornado_proxy.wire.tls import make_context


def tls_setup(**options: Any) -> ConnectionSetup:
    """Offers HTTP/2 over TLS."""
    tls = make_context(Ssl(certificates=(pair("files.test").certificate,), **options), http2=True)
    return ConnectionSetup(tls, http2=Http2Connection)


def tls_client(*protocols: str) -> ssl.SSLContext:
    """A client's context that accepts any certificate and offers these protocols."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(list(protocols))
    return context


@dataclass
class Answer:
    """An answer as far as it has arrived; `reset` is the code of the stream's end, if it was reset."""

    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    interim: list[str] = field(default_factory=list)
    ended: bool = False
    reset: ErrorCodes | None = None

    @property
    def status(self) -> int:
        """Its status; 0 before the head."""
        return int(self.headers.get(":status", 0))

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


class Http2Client:
    """A connection that sends requests, or any frames, and reads answers."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, takes: bool = True) -> None:
        self.reader = reader
        self.writer = writer
        self.takes = takes  # whether windows are opened by what has arrived
        self.answers: dict[int, Answer] = {}
        self.goodbyes: list[tuple[ErrorCodes, int]] = []  # codes and last streams of GOAWAY
        self._received = bytearray()
        as_given = {"validate_outbound_headers": False, "normalize_outbound_headers": False}
        self.h2 = H2Connection(H2Configuration(header_encoding="latin-1", **as_given))

    async def begin(self) -> None:
        """Sends the preface."""
        self.h2.initiate_connection()
        await self.flush()

    async def flush(self) -> None:
        """Sends what h2 has to send."""
        self.writer.write(self.h2.data_to_send())
        with suppress(ConnectionError):
            await self.writer.drain()

    async def send(self, *frames: Frame) -> None:
        """Sends frames that h2 would not."""
        self.writer.write(self.h2.data_to_send() + b"".join(frame.serialize() for frame in frames))
        await self.writer.drain()

    async def ask(self, fields: Any, body: bytes | None = None, *, ends: bool = True) -> int:
        """Sends a head and a body, and returns the number of the stream."""
        number = self.h2.get_next_available_stream_id()
        self.answers[number] = Answer()
        self.h2.send_headers(number, fields, end_stream=ends and body is None)
        if body is not None:
            await self.send_body(number, body, ends=ends)
        await self.flush()
        return number

    async def ask_until_body(self, fields: Any) -> int:
        """Sends a request, and returns its number when the answer's body has begun."""
        number = await self.ask(fields)
        while not self.answers[number].body:
            await self.read()
        return number

    async def send_body(self, number: int, body: bytes, *, ends: bool = True) -> None:
        """Sends a body as the server opens its windows; stops if the stream ends."""
        answer, view = self.answers[number], memoryview(body)
        while view:
            size = min(self.h2.local_flow_control_window(number), 16384, len(view))
            if size:
                self.h2.send_data(number, view[:size])
                view = view[size:]
            await self.flush()
            if not size and not await self.read():
                return
            if answer.ended or answer.reset is not None:
                return
        if ends:
            self.h2.end_stream(number)
        await self.flush()

    async def read(self) -> bool:
        """Reads what has arrived; returns whether the connection is still open."""
        try:
            data = await self.reader.read(65536)
        except ConnectionError:
            data = b""
        if not data:
            return False
        self._received += data
        while len(self._received) >= 9 and len(self._received) >= (
            size := 9 + int.from_bytes(self._received[:3], "big")
        ):
            frame = bytes(self._received[:size])
            del self._received[:size]
            if frame[3] == GoAwayFrame.type:  # after which h2 would read no more
                last, code = (int.from_bytes(part, "big") for part in (frame[9:13], frame[13:17]))
                self.goodbyes.append((ErrorCodes(code), last))
                continue
            if frame[3] == RstStreamFrame.type:  # which h2 does not tell of a stream that both sides have ended
                number, code = (int.from_bytes(part, "big") for part in (frame[5:9], frame[9:13]))
                self.answers[number].reset = self.answers[number].reset or ErrorCodes(code)
            for event in self.h2.receive_data(frame):
                self._note(event)
        await self.flush()
        return True

    def _note(self, event: Any) -> None:
        answer = self.answers.setdefault(getattr(event, "stream_id", 0), Answer())
        match event:
            case InformationalResponseReceived():
                answer.interim.append(dict(event.headers)[":status"])
            case ResponseReceived():
                for name, value in event.headers:
                    answer.headers[name] = ", ".join(filter(None, (answer.headers.get(name), value)))
            case DataReceived():
                answer.body += event.data
                if self.takes:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                answer.ended = True

    async def receive(self, number: int) -> Answer:
        """Reads until an answer has ended, or its stream or the connection has."""
        answer = self.answers[number]
        while not answer.ended and answer.reset is None and await self.read():
            pass
        return answer

    async def goodbye(self, count: int = 1) -> ErrorCodes:
        """Reads until the server has said that it ends the connection, as often as given; returns the code."""
        while len(self.goodbyes) < count:
            assert await self.read(), "the connection was closed without a word"
        return self.goodbyes[-1][0]

    async def until_closed(self) -> None:
        """Reads until the server closes the connection."""
        while await self.read():
            pass

    async def request(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> Received:
        """Sends a request and reads the answer, which is like one of HTTP/1.1."""
        answer = await self.receive(await self.ask(head(method, target, headers, len(body)), body or None))
        status, named = answer.status, {name: value for name, value in answer.headers.items() if name[0] != ":"}
        return Received(status, named, bytes(answer.body), complete=answer.ended)

    async def close(self) -> None:
        """Closes the connection."""
        self.writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()


def head(method: str, target: str, headers: Mapping[str, str] | None = None, length: int = 0) -> list[tuple[str, str]]:
    """The head of a request."""
    given = dict(headers or {})
    authority = given.pop("Host", "files.test")
    lengths = {"content-length": str(length)} if length else {}
    fields = {**lengths, **{name.lower(): value for name, value in given.items()}}
    pseudo = {":method": method, ":scheme": "https", ":authority": authority, ":path": target}
    return [*pseudo.items(), *fields.items()]


class _Server(ConnectionServer):
    """Passes requests on to an application, and says when a connection is closed."""

    def __init__(self, application: HTTPServerConnectionDelegate, closed: asyncio.Event) -> None:
        self.application, self.closed = application, closed

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Passes a request on."""
        return self.application.start_request(server_conn, request_conn)

    def on_close(self, server_conn: object) -> None:
        """Says so."""
        self.closed.set()


@asynccontextmanager
async def connect(site: Serving, limits: Limits | None = None, *, takes: bool = True) -> AsyncIterator[Http2Client]:
    """Connects to the application of a site by HTTP/2 without TLS, which the service itself does not speak."""
    limits = limits or site.generations.in_force.parts.settings.limits
    loop = asyncio.get_running_loop()
    peer, closed = Origin("127.0.0.1", "https"), asyncio.Event()
    listening = await loop.create_server(
        lambda: Http2Connection(_Server(site.application, closed), peer, limits), "127.0.0.1", 0
    )
    client = Http2Client(*await asyncio.open_connection(*listening.sockets[0].getsockname()), takes=takes)
    await client.begin()
    try:
        yield client
    finally:
        listening.close()
        await client.close()
        await closed.wait()


@asynccontextmanager
async def connect_tls(site: Serving, **options: Any) -> AsyncIterator[Http2Client]:
    """Connects to a site by HTTP/2 over TLS; `options` are asyncio's."""
    options.setdefault("ssl", tls_client("h2"))
    client = Http2Client(*await asyncio.open_connection("127.0.0.1", site.port, **options))
    await client.begin()
    try:
        yield client
    finally:
        await client.close()
