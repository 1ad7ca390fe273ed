"""Request heads are parsed, and bodies are delivered as fast as they are read."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.gateway.incoming import (
    NO_BODY,
    Body,
    BodyTimeout,
    ClientDisconnected,
    HeadTooLarge,
    MalformedMessage,
    RequestParser,
)

CHUNKED = b"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"


def _parser(head: bytes) -> RequestParser:
    """A parser that has read a head, to which a Host is added."""
    parser = RequestParser()
    parser.read_head(head.replace(b"\r\n", b"\r\nHost: h\r\n", 1), 1000)
    return parser


def test_a_head_is_read():
    """Request line and headers are as sent; values are stripped, and repeated headers are joined."""
    parser = RequestParser()
    data = b"BREW /gr\xc3\xb6?a=b HTTP/1.1\r\nHost: h\r\nx-one:\t 1 \r\nX-ONE: 2\r\n\r\n"
    fields = (("Host", "h"), ("X-One", "1"), ("X-One", "2"))
    head = ("BREW", "/gr\xc3\xb6?a=b", "HTTP/1.1", {"Host": "h", "X-One": "1,2"}, fields, False)
    assert (parser.read_head(data, 1000), parser.complete) == (head, True)


def test_a_long_header_name_has_the_usual_spelling():
    """A header name that is too long to be cached is spelt like any other."""
    parser = _parser(b"GET / HTTP/1.1\r\nx-%s: 1\r\n\r\n" % (b"y" * 100))
    assert list(parser.headers) == ["Host", f"X-Y{'y' * 99}"]


@pytest.mark.parametrize(("version", "expected"), [("1.0", "HTTP/1.0"), ("1.1", "HTTP/1.1"), ("1.7", "HTTP/1.1")])
def test_a_later_minor_version_counts_as_1_1(version, expected):
    """An unknown minor version is treated as the latest known one (RFC 9110 2.5)."""
    assert _parser(f"GET / HTTP/{version}\r\n\r\n".encode()).version == expected


@given(
    body=st.binary(min_size=1, max_size=50), after=st.binary(max_size=10), cuts=st.lists(st.integers(0, 60), max_size=4)
)
def test_content_length_delimits_the_body(body, after, cuts):
    """The body has the announced bytes, however they are split, and the bytes after it are left."""
    parser, received, body_read = _parser(b"PUT / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)), bytearray(), b""
    positions = [0, *sorted(cuts), len(body + after)]
    for start, end in pairwise(positions):
        received += (body + after)[start:end]
        if not parser.complete:
            body_read += parser.read_body(received)
    assert (body_read, bytes(received), parser.complete) == (body, after, True)


def _read_in_parts(parser: RequestParser, parts: list[bytes]) -> tuple[bytes, bytes]:
    """The body, of which these parts arrive one after the other, and the bytes behind it."""
    received, body = bytearray(), b""
    for part in parts:
        received += part
        if not parser.complete:
            body += parser.read_body(received)
    return body, bytes(received)


@given(pieces=st.lists(st.binary(min_size=1, max_size=20), max_size=5), cuts=st.lists(st.integers(0, 99), max_size=4))
def test_chunks_are_joined(pieces, cuts):
    """A chunked body is the bytes of its chunks, however they are split, and the bytes after it are left."""
    data = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    data += b"0\r\nTrailer: x\r\n\r\nGET /"
    parser = _parser(CHUNKED)
    parts = [data[start:end] for start, end in pairwise([0, *sorted(cuts), len(data)])]
    assert (_read_in_parts(parser, parts), parser.complete) == ((b"".join(pieces), b"GET /"), True)


def test_a_chunked_body_may_arrive_byte_by_byte():
    """Each line of a chunk, with a quoted extension, and each line of the trailers may be cut anywhere."""
    data = b'3;a="\\";b";c\r\nabc\r\n00a\r\n0123456789\r\n0;d=e\r\nX: y\r\nZ:\r\n\r\n\r\n'
    parser = _parser(CHUNKED)
    assert _read_in_parts(parser, [bytes([each]) for each in data]) == (b"abc0123456789", b"\r\n")


@pytest.mark.parametrize("line", [b"1 ;a=b", b"1; a=b", b"1;a =b", b"1;a= b", b"1;a=b ", b"1\t"])
def test_blanks_in_the_line_of_a_chunk_are_refused(line):
    """Spaces in the line of a chunk's size are refused, since other servers may read them differently."""
    with pytest.raises(MalformedMessage):
        _parser(CHUNKED).read_body(bytearray(line + b"\r\nx\r\n0\r\n\r\n"))


def test_trailers_are_not_headers():
    """Trailers are not added to the headers."""
    parser = _parser(CHUNKED)
    parser.read_body(bytearray(b"0\r\nHost: other\r\nX: y\r\n\r\n"))
    assert list(parser.headers) == ["Host", "Transfer-Encoding"]


@pytest.mark.parametrize(("begin", "more"), [(b"1;", b"x"), (b"0\r\n", b"a: b\r\n")], ids=["an extension", "trailers"])
def test_framing_without_a_body_is_limited(begin, more):
    """Endless chunk extensions and trailers are refused."""
    with pytest.raises(MalformedMessage, match="too long"):
        _read_in_parts(_parser(CHUNKED), [begin, *[more] * 200_000])


def test_the_number_of_headers_is_limited():
    """A head with more than 500 headers is refused."""
    with pytest.raises(HeadTooLarge, match="more than 500 headers"):
        RequestParser().read_head(b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 501 + b"\r\n", 1 << 20)


@pytest.mark.parametrize(
    ("version", "header", "expected"),
    [
        ("1.1", "X: y", True),
        ("1.1", "Connection: TE, Close", False),
        ("1.0", "X: y", False),
        ("1.0", "Connection: Keep-Alive", True),
    ],
)
def test_connection_options_decide_about_keep_alive(version, header, expected):
    """`close` and `keep-alive` can be among other options, in any case."""
    assert _parser(f"GET / HTTP/{version}\r\n{header}\r\n\r\n".encode()).keeps_alive == expected


@pytest.mark.parametrize(("version", "expected"), [("1.0", False), ("1.1", True)])
def test_expect_is_for_http_1_1(version, expected):
    """`Expect: 100-continue` has no effect in HTTP/1.0, which has no 100."""
    head = f"PUT / HTTP/{version}\r\nContent-Length: 1\r\nExpect: 100-Continue\r\n\r\n"
    assert _parser(head.encode()).expects_continue == expected


def test_the_method_of_a_large_head_is_known():
    """The method is read before a head is refused, so that the answer to a HEAD has no body."""
    parser = RequestParser()
    with pytest.raises(HeadTooLarge, match="longer than 20 bytes"):
        parser.read_head(b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", 20)
    assert parser.method == "HEAD"


async def _deliver(body: Body, *chunks: bytes) -> None:
    for chunk in chunks:
        await _room(body.deliver(chunk))
    body.end()


async def _room(waiting) -> None:
    """Wait until the next chunk may be delivered."""
    if waiting is not None:
        await waiting


async def _settle() -> None:
    """Let every task run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_chunks_are_read_in_order():
    """The reader gets the chunks in the order of their delivery, then the end."""

    async def scenario():
        body = Body(60)
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a", b"b", b"c"))
            return [chunk async for chunk in body], body.received

    assert asyncio.run(scenario()) == ([b"a", b"b", b"c"], 3)


def test_a_slow_reader_slows_down_the_sender():
    """At most one chunk is buffered: the next delivery waits until this chunk is read."""

    async def scenario():
        body = Body(60)
        body.deliver(b"a")
        async with asyncio.TaskGroup() as group:
            second = group.create_task(_room(body.deliver(b"b")))
            await _settle()
            waiting = not second.done()
            first = await anext(body)
            await _settle()
            return waiting, first, second.done()

    assert asyncio.run(scenario()) == (True, b"a", True)


def test_a_body_is_wanted_once_it_is_read():
    """`is_wanted` is false until the first read of the body."""

    async def scenario():
        body = Body(60)
        before = body.is_wanted
        async with asyncio.TaskGroup() as group:
            group.create_task(_deliver(body, b"a"))
            await anext(body)
        return before, body.is_wanted

    assert asyncio.run(scenario()) == (False, True)


def test_a_request_without_a_body_has_ended():
    """`NO_BODY` has ended and contains no chunk."""

    async def scenario():
        return NO_BODY.ended, [chunk async for chunk in NO_BODY]

    assert asyncio.run(scenario()) == (True, [])


def test_a_disconnect_ends_the_body_with_an_error():
    """The reader gets the chunks before the disconnect, then the error on every read."""

    async def scenario():
        body = Body(60)
        body.deliver(b"a")
        body.break_off(ClientDisconnected("gone"))
        first = await anext(body)
        for _ in range(2):
            with pytest.raises(ClientDisconnected):
                await anext(body)
        return first

    assert asyncio.run(scenario()) == b"a"


def test_a_disconnect_after_the_body_is_no_error():
    """A complete body stays complete if its client disconnects."""

    async def scenario():
        body = Body(60)
        body.end()
        body.break_off(ClientDisconnected("gone"))
        return [chunk async for chunk in body]

    assert asyncio.run(scenario()) == []


async def test_a_stalled_body_times_out():
    """The reader gets an error if no byte arrives within the idle time."""
    with pytest.raises(BodyTimeout, match=r"0 bytes of the body arrived in 0\.01 seconds"):
        await anext(Body(0.01))


async def test_a_trickling_body_times_out():
    """The reader gets an error if bytes arrive at all times, but too few within the time."""
    body = Body(0.2)

    async def trickle():
        while not body.ended:
            body.deliver(b"x")
            await asyncio.sleep(0.01)

    sending = asyncio.ensure_future(trickle())
    with pytest.raises(BodyTimeout, match=r"\d+ bytes of the body arrived in 0\.2 seconds"):
        assert [chunk async for chunk in body] == []
    body.end()
    await sending


async def test_a_body_of_the_least_rate_may_take_long():
    """The time begins again whenever enough bytes have arrived, and the time of its reader does not count."""
    body, received = Body(1), 0

    async def send():
        for _ in range(4):
            await asyncio.sleep(0.3)
            await (body.deliver(bytes(1024)) or asyncio.sleep(0))
        body.end()

    sending = asyncio.ensure_future(send())
    async for chunk in body:
        received += len(chunk)
        if received == 1024:
            await asyncio.sleep(1.1)
    await sending
    assert received == 4096


@pytest.mark.parametrize("wait", [Body.until_wanted, lambda body: body.deliver(b"b")], ids=["a reader", "room"])
async def test_discarding_a_body_ends_waiting(wait):
    """A discarded body releases the tasks that wait for a reader or for room."""
    body = Body(60)
    body.deliver(b"a")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(wait(body))
        await _settle()
        before = waiting.done()
        body.discard()
    assert not before


def test_a_discarded_body_does_not_wait():
    """After `discard`, a delivery returns at once and its bytes are only counted."""

    async def scenario():
        body = Body(60)
        body.deliver(b"a")
        body.discard()
        body.deliver(b"b")
        body.deliver(b"c")
        return body.received, body.is_wanted

    assert asyncio.run(scenario()) == (3, True)
