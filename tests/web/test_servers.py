"""The servers under the application differ in what stands here, and in nothing else that is known."""

import asyncio
import logging

import pytest
import serving
from serving import serve

HOST = b"Host: files.test\r\n"
CHUNKED = b"GET /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"

DIFFERENCES = {
    "a head that cannot be read": (b"GARBAGE\r\n\r\n", ("400", True), ("400", False)),
    "a head that is too large": (
        b"GET /a HTTP/1.1\r\n%bX: %b\r\n\r\n" % (HOST, b"x" * 70_000),
        ("431", True),
        ("", False),
    ),
    "a client that ends its side after its request": (b"GET /a HTTP/1.1\r\n%b\r\n" % HOST, ("200", True), ("", False)),
    "chunk extensions": (CHUNKED + b"1;a=b\r\nx\r\n0\r\n\r\n", ("200", True), ("400", False)),
    "trailers": (CHUNKED + b"1\r\nx\r\n0\r\nA: b\r\n\r\n", ("200", True), ("400", False)),
}
"""Each request, with the status of its answer and whether the application made it: on our wire, and on Tornado's."""


@pytest.mark.parametrize("name", DIFFERENCES)
async def test_the_servers_differ_in(name, monkeypatch):
    """Each row of the table is true."""
    request, ours, tornados = DIFFERENCES[name]
    logging.getLogger("tornado").setLevel(logging.CRITICAL)
    ends = name.startswith("a client that ends")
    assert await _answer(request, ends=ends) == ours
    monkeypatch.setattr(serving, "make_server", serving.tornado_server)
    assert await _answer(request, ends=ends) == tornados


async def _answer(request: bytes, *, ends: bool) -> tuple[str, bool]:
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(request)
        if ends:
            client.writer.write_eof()
        try:
            async with asyncio.timeout(20):
                head = await client.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return "", False
        return head.split()[1].decode(), b"x-request-id" in head.lower()


@pytest.mark.parametrize(("make_server", "answers"), [(serving.make_server, 1), (serving.tornado_server, 2)])
async def test_what_follows_a_connect(make_server, answers, monkeypatch):
    """Others may have chosen it, for a tunnel; Tornado's server does not let the application close the connection."""
    monkeypatch.setattr(serving, "make_server", make_server)
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(b"CONNECT h:80 HTTP/1.1\r\n%b\r\nGET /a HTTP/1.1\r\n%b\r\n" % (HOST, HOST))
        assert (await client.receive()).status == 400
        assert answers == 1 + (not await client.is_closed())
