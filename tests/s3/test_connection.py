import asyncio

import pytest
from hostile_s3 import hostile_s3, wait_until
from scripted_s3 import Reply, Then, object_reply

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.connection import Pool, S3Connection
from tornado_proxy.s3.limits import LARGEST_HEAD
from tornado_proxy.storage.errors import Unreachable, UpstreamError

REQUEST = b"GET /bucket/a HTTP/1.1\r\nhost: s3\r\n\r\n"
MIB = 1024**2


class Owner(Pool):
    """A counter of connections that were given back and lost."""

    def __init__(self) -> None:
        super().__init__("127.0.0.1", 1, None, Bucket("bucket", read_timeout=5.0), S3Pool())
        self.free = 0
        self.lost = 0

    def give_back(self, connection: S3Connection) -> None:
        """Counts a connection that can be used again."""
        self.free += 1

    def lose(self, connection: S3Connection) -> None:
        """Counts a connection that was closed."""
        self.lost += 1


async def connect(s3) -> tuple[S3Connection, Owner]:
    owner = Owner()
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: S3Connection(owner), "127.0.0.1", s3.port)
    return connection, owner


async def request(s3, *, is_head_only: bool = False):
    """Makes a request on a new connection; returns the answer, its body, the error, and the connection's owner."""
    connection, owner = await connect(s3)
    answer = connection.ask(REQUEST, is_head_only=is_head_only)
    body, error = b"", None
    try:
        async with asyncio.timeout(5):
            await answer.begin()
            body = await answer.read_all(8 * MIB)
    except (Unreachable, UpstreamError) as caught:
        error = caught
    answer.close()
    await wait_until(lambda: owner.free + owner.lost > 0)
    connection.abort()
    return answer, body, error, owner


def http(head: str, body: bytes = b"", then: Then = Then.KEEP_OPEN) -> Reply:
    return Reply(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body, then)


async def test_values_of_a_repeated_header_are_joined():
    """The values of a repeated header become one list (RFC 9110 5.3)."""
    async with hostile_s3(http("HTTP/1.1 200 OK\nX-A: 1\nContent-Length: 0\nx-a: 2")) as s3:
        answer, *_ = await request(s3)
    assert answer.headers[b"x-a"] == b"1, 2"


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (
            http("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX: y\r\n\r\n"),
            b"abcde",
        ),
        (
            http("HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Hints\nLink: a\n\nHTTP/1.1 200 OK\nContent-Length: 1", b"a"),
            b"a",
        ),
        (http("HTTP/1.0 200 OK\nConnection: keep-alive\nContent-Length: 1", b"a"), b"a"),
        (http("HTTP/1.1 204 No Content"), b""),
        (http("HTTP/1.1 304 Not Modified\nContent-Length: 5"), b""),
        (http(f"HTTP/1.1 200 OK\nContent-Length: {MIB}", bytes(MIB)), bytes(MIB)),
    ],
    ids=["chunked", "interim", "1.0 kept", "204", "304", "large"],
)
async def test_a_connection_can_be_used_after_a_complete_answer(reply, body):
    """After an answer whose end is known without closing, its connection takes another request."""
    async with hostile_s3(reply, object_reply(b"next")) as s3:
        connection, owner = await connect(s3)
        for expected in (body, b"next"):
            answer = connection.ask(REQUEST, is_head_only=False)
            await answer.begin()
            assert await answer.read_all(2 * MIB) == expected
        assert (owner.free, owner.lost) == (2, 0)
        connection.abort()


@pytest.mark.parametrize("length", ["5", "0"])
async def test_a_head_has_no_body(length):
    """The answer to a HEAD has no body for any Content-Length, and its connection takes another request."""
    async with hostile_s3(http(f"HTTP/1.1 200 OK\nContent-Length: {length}"), object_reply(b"next")) as s3:
        connection, owner = await connect(s3)
        answer = connection.ask(REQUEST, is_head_only=True)
        await answer.begin()
        assert await answer.read_all(1) == b""
        answer = connection.ask(REQUEST, is_head_only=False)
        await answer.begin()
        assert await answer.read_all(10) == b"next"
        connection.abort()
    assert owner.free == 2


@pytest.mark.parametrize(
    "reply",
    [
        http("HTTP/1.1 200 OK\nContent-Length: 3\nConnection: close", b"abc"),
        http("HTTP/1.0 200 OK\nContent-Length: 3", b"abc"),
        http("HTTP/1.1 200 OK\nContent-Length: 3", b"abcd"),
        http("HTTP/1.1 200 OK\nContent-Length: 3", b"abcHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
        http("HTTP/1.1 200 OK\nContent-Length: 3", b"abc", Then.CLOSE),
        http("HTTP/1.0 200 OK", b"abc", Then.CLOSE),
        http("HTTP/1.1 200 OK", b"abc", Then.CLOSE),
    ],
    ids=["close", "1.0", "long", "two answers", "hung up", "1.0 without length", "without length"],
)
async def test_a_connection_is_closed_after_its_last_answer(reply):
    """An answer with `Connection: close`, with surplus bytes, or that ends with its connection is complete and the last."""
    async with hostile_s3(reply) as s3:
        connection, owner = await connect(s3)
        answer = connection.ask(REQUEST, is_head_only=False)
        await answer.begin()
        assert await answer.read_all(10) == b"abc"
        await wait_until(lambda: owner.lost == 1)


async def test_a_body_in_the_answer_to_a_head_closes_the_connection():
    """A body after the answer to a HEAD closes the connection, because it would become the next answer."""
    async with hostile_s3(http("HTTP/1.1 200 OK\nContent-Length: 3", b"abc")) as s3:
        answer, body, error, owner = await request(s3, is_head_only=True)
    assert (answer.status, body, error, owner.lost) == (200, b"", None, 1)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"nonsense\r\n\r\n"),
        Reply(b"\0" * 100),
        http("HTTP/2 200 OK\nContent-Length: 0"),
        http("HTTP/1.1 20 OK\nContent-Length: 0"),
        http("HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: upgrade"),
        http("HTTP/1.1 200 OK\nContent-Length: 3\nContent-Length: 4", b"abcd"),
        http("HTTP/1.1 200 OK\nContent-Length: 3\nTransfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n"),
        http("HTTP/1.1 200 OK\nContent-Length: -3", b"abc"),
        http("HTTP/1.1 200 OK\nContent-Length: 99999999999999999999999", b"abc"),
        http("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"zz\r\nabc"),
        http("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked", b"3\r\nabc\r\n0\r\n\r\n"),
        http("HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked", b"3\r\nabc\r\n0\r\n\r\n"),
        http("HTTP/1.1 103 Hints\nContent-Length: 3", b"abcHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        http("HTTP/1.1 200 OK\nX y: z\nContent-Length: 0"),
        http(f"HTTP/1.1 200 OK\nX: {'y' * (LARGEST_HEAD + 1)}\nContent-Length: 0"),
        http("HTTP/1.1 200 OK" + f"\nX: {'y' * 1000}" * 70 + "\nContent-Length: 0"),
        Reply(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 400_000),
        Reply(b"HTTP/1.1 103 Hints\r\nLink: a\r\n\r\n" * 20_000),
    ],
    ids=[
        "garbage", "zeros", "2", "status", "upgrade", "two lengths", "two framings", "negative", "huge", "chunk", "chunked twice", "gzip",
        "hints with a body", "name",
        "one header", "many headers", "endless header", "endless hints",
    ],
)  # fmt: skip
async def test_invalid_http_is_an_error(reply):
    """An invalid, ambiguous or oversized answer raises `UpstreamError` and closes its connection."""
    async with hostile_s3(reply) as s3:
        *_, error, owner = await request(s3)
    assert (type(error), owner.free, owner.lost) == (UpstreamError, 0, 1)


COMPLETE = [
    object_reply(b"0123456789" * 20),
    http("HTTP/1.1 200 OK\nTransfer-Encoding: chunked", b"64\r\n" + b"x" * 100 + b"\r\n0\r\n\r\n"),
]


@pytest.mark.parametrize("then", [Then.CLOSE, Then.RESET])
@pytest.mark.parametrize("reply", COMPLETE, ids=["length", "chunked"])
async def test_an_answer_that_ends_early_is_an_error(reply, then):
    """An answer that ends before its last byte, at any offset, raises `Unreachable`."""
    data = reply.data
    async with hostile_s3(lambda number: Reply(data[:number], then)) as s3:
        for offset in range(len(data)):
            *_, error, owner = await request(s3)
            assert isinstance(error, Unreachable), offset
            assert (owner.free, owner.lost) == (0, 1), offset


async def test_an_answer_may_arrive_byte_by_byte():
    """An answer whose bytes arrive one by one is read."""
    data = object_reply(b"0123456789").data

    async def serve(_, writer):
        for byte in data:
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    connection, _ = await connect(type("S3", (), {"port": server.sockets[0].getsockname()[1]}))
    answer = connection.ask(REQUEST, is_head_only=False)
    await answer.begin()
    assert (answer.headers[b"content-length"], await answer.read_all(10)) == (b"10", b"0123456789")
    server.close()


async def test_bytes_without_a_request_close_the_connection():
    """Bytes on an idle connection close it, because they would become the next answer."""
    async with hostile_s3(object_reply(b"x")) as s3:
        connection, owner = await connect(s3)
        answer = connection.ask(REQUEST, is_head_only=False)
        await answer.begin()
        for writer in s3.open_connections:
            writer.write(object_reply(b"evil").data)
        await wait_until(lambda: owner.lost == 1)


async def test_a_body_without_a_reader_is_not_received():
    """Less than 1 MiB of a body is in memory while it is not read; the rest arrives when it is read."""
    size = 64 * MIB
    async with hostile_s3(http(f"HTTP/1.1 200 OK\nContent-Length: {size}", bytes(size))) as s3:
        connection, owner = await connect(s3)
        answer = connection.ask(REQUEST, is_head_only=False)
        await answer.begin()
        for _ in range(200):
            await asyncio.sleep(0)
        buffered = len(answer.peek())
        received = 0
        while chunk := await answer.read():
            received += len(chunk)
        assert (buffered < MIB, received, owner.free) == (True, size, 1)
        connection.abort()


async def test_a_cancelled_reader_closes_the_connection():
    """A task that is cancelled while it waits for an answer closes the connection."""
    async with hostile_s3(Reply(b"", Then.SILENCE)) as s3:
        connection, owner = await connect(s3)
        waiting = asyncio.ensure_future(connection.ask(REQUEST, is_head_only=False).begin())
        await wait_until(lambda: len(s3.requests) == 1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert owner.lost == 1
        await wait_until(lambda: not s3.open_connections)


async def test_a_body_that_is_too_large_is_dropped():
    """`read_all` raises and closes the connection if the body exceeds its limit."""
    async with hostile_s3(http(f"HTTP/1.1 200 OK\nContent-Length: {MIB}", bytes(MIB))) as s3:
        connection, owner = await connect(s3)
        answer = connection.ask(REQUEST, is_head_only=False)
        with pytest.raises(UpstreamError, match="more than 1000 bytes"):
            await answer.read_all(1000)
        assert owner.lost == 1
