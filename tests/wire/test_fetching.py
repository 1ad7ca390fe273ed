import asyncio
import socket

import pytest
from scripted_s3 import Reply, Then, reply, scripted_s3

from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.wire.dialing import Fetch, Fetched, HttpFetcher


def _fetch(request, timeout=5.0):
    return asyncio.run(HttpFetcher(timeout)(request))


def test_an_answer_of_any_status_is_returned():
    """An answer with an error or a redirect is returned as it is."""
    with scripted_s3(reply(200, b"a"), reply(302, Location="/"), reply(400, b"no")) as server:
        assert _fetch(Fetch(GuardedUrl(f"{server.url}/a"))) == Fetched(200, b"a")
        assert _fetch(Fetch(GuardedUrl(f"{server.url}/moved"))).status == 302
        assert _fetch(Fetch(GuardedUrl(f"{server.url}/"), {"X-A": "!"}, "form")) == Fetched(400, b"no")
    assert server.request_lines() == ["GET /a", "GET /moved", "POST /"]
    assert (server.header(2, "x-a"), server.bodies[2]) == ("!", b"form")


def test_an_answer_that_is_too_large_is_an_error():
    """An answer that is too large raises OSError, so a provider can't fill the memory."""
    with scripted_s3(reply(200, bytes(2 * 1024**2))) as server, pytest.raises(OSError, match="closed"):
        _fetch(Fetch(GuardedUrl(server.url)))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx",
        b"HTTP/1.1 abc\r\n\r\n",
        b"",
    ],
    ids=["large head", "no gzip", "chunk", "two lengths", "status", "nothing"],
)
def test_an_answer_that_is_not_http_is_an_error(answer):
    """Whatever a server sends, the caller gets an answer or OSError."""
    with scripted_s3(Reply(answer, Then.CLOSE)) as server, pytest.raises(OSError, match=r"closed|not found within"):
        _fetch(Fetch(GuardedUrl(server.url)))


def test_no_answer_in_time_is_an_error():
    """A server that doesn't answer in time raises OSError."""
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(OSError, match="imeout"):
        _fetch(Fetch(GuardedUrl(f"http://127.0.0.1:{silent.getsockname()[1]}/")), timeout=0.2)


def test_a_port_that_nobody_listens_on_is_an_error(closed_port):
    """A refused connection raises OSError."""
    with pytest.raises(OSError, match="refused"):
        _fetch(Fetch(GuardedUrl(f"http://127.0.0.1:{closed_port}/")))


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a": "\\ud800"}', b'{"\\udfff": 1}'])
def test_json_that_nothing_can_be_done_with_is_refused(text):
    """A document that is too deep, or has half a surrogate pair, is refused like any other text that is not JSON."""
    with pytest.raises(ValueError, match="is not JSON"):
        Fetched(200, text).document()


def test_a_server_that_hangs_delays_no_other():
    """However many requests wait for one server, those for another one are sent."""

    async def scenario(silent, url):
        fetch, hanging = HttpFetcher(), GuardedUrl(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        waiting = asyncio.gather(*(fetch(Fetch(hanging)) for _ in range(120)), return_exceptions=True)
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(5):
                return await fetch(Fetch(GuardedUrl(url)))
        finally:
            silent.close()  # resets the connections
            assert all(isinstance(each, OSError) for each in await waiting)

    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent, scripted_s3(reply(200, b"a")) as server:
        assert asyncio.run(scenario(silent, server.url)) == Fetched(200, b"a")
