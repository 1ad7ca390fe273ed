import asyncio
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.wire.dialing import Fetch, Fetched, HttpFetcher


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("Location", "/")
        self.end_headers()
        self.wfile.write(b"x" * (2 * 1024 * 1024) if self.path == "/large" else self.path.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(400)
        self.end_headers()
        self.wfile.write(body + self.headers["X-A"].encode())

    def log_message(self, *_arguments):
        pass


@pytest.fixture(scope="module")
def url():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _fetch(request, timeout=5.0):
    return asyncio.run(HttpFetcher(timeout)(request))


def test_an_answer_of_any_status_is_returned(url):
    """An answer with an error or a redirect is returned as it is."""
    assert _fetch(Fetch(GuardedUrl(f"{url}/a"))) == Fetched(200, b"/a")
    assert _fetch(Fetch(GuardedUrl(f"{url}/moved"))).status == 302
    assert _fetch(Fetch(GuardedUrl(f"{url}/"), {"X-A": "!"}, "form")) == Fetched(400, b"form!")


def test_an_answer_that_is_too_large_is_an_error(url):
    """An answer that is too large raises OSError, so a provider can't fill the memory."""
    with pytest.raises(OSError, match="closed"):
        _fetch(Fetch(GuardedUrl(f"{url}/large")))


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

    async def scenario():
        async def send(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        async with await asyncio.start_server(send, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await HttpFetcher(5.0)(Fetch(GuardedUrl(f"http://127.0.0.1:{port}/")))

    with pytest.raises(OSError, match=r"closed|not found within"):
        asyncio.run(scenario())


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


def test_a_server_that_hangs_delays_no_other(url):
    """However many requests wait for one server, those for another one are sent."""

    async def scenario(silent):
        fetch, hanging = HttpFetcher(), GuardedUrl(f"http://127.0.0.1:{silent.getsockname()[1]}/")
        waiting = asyncio.gather(*(fetch(Fetch(hanging)) for _ in range(120)), return_exceptions=True)
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(5):
                return await fetch(Fetch(GuardedUrl(f"{url}/a")))
        finally:
            silent.close()  # resets the connections
            assert all(isinstance(each, OSError) for each in await waiting)

    with socket.create_server(("127.0.0.1", 0), backlog=200) as silent:
        assert asyncio.run(scenario(silent)) == Fetched(200, b"/a")
