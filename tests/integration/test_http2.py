"""HTTP/2 as other programs speak it: h2spec, which tries what the standard demands, curl, Go's http.Client and h2load."""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from http2_client import tls_setup
from programs import part, program
from real_go import build
from serving import serve

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.web.handlers import ProxyApplication

pytestmark = pytest.mark.integration

UPLOADS = Actions(put=PutAction(enabled=True, allow_override=True, raw_uploads=True))
LARGE = 100 * 1024**2


@asynccontextmanager
async def _site() -> AsyncIterator[tuple[ProxyApplication, int]]:
    async with serve({"index.html": b"<p>hello", "small": b"x" * 1024}, actions=UPLOADS) as site:
        site.server.setup = tls_setup()
        yield site, site.port


async def _output(*command: str | Path) -> str:
    together = {"stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.STDOUT}
    process = await asyncio.create_subprocess_exec(*command, **together)
    output, _ = await process.communicate()
    return output.decode()


def test_h2spec_passes():
    """All that h2spec tries holds."""
    h2spec = part("h2spec/h2spec", "http2")

    async def tried():
        async with _site() as (_, port):
            return await _output(h2spec, "-h", "127.0.0.1", "-p", str(port), "-t", "-k", "-o", "5")

    output = asyncio.run(tried())
    assert re.search(r"\n145 tests, 145 passed, 0 skipped, 0 failed\n", output), output[-3000:]


@pytest.mark.parametrize("options", [(), ("-H", "Expect: 100-continue"), ("-H", "Transfer-Encoding: chunked")])
def test_curl_sends_and_gets_a_large_file(tmp_path, options):
    """100 MiB go up and come down whole."""
    curl, sent, received = program("curl", "http2"), tmp_path / "sent", tmp_path / "received"
    sent.write_bytes(os.urandom(LARGE))

    async def exchanged():
        async with _site() as (_, port):
            url, written = f"https://127.0.0.1:{port}/large", "%{http_version} %{http_code}\\n"
            up = await _output(curl, "-sk", "--http2", *options, "-w", written, "-o", "/dev/null", "-T", sent, url)
            return up + await _output(curl, "-sk", "--http2", "-w", written, "-o", received, url)

    assert asyncio.run(exchanged()) == "2 201\n2 200\n"
    assert hashlib.sha256(received.read_bytes()).digest() == hashlib.sha256(sent.read_bytes()).digest()


def test_curl_reads_a_refusal_while_it_sends(tmp_path):
    """The answer to a large upload that nobody wants arrives."""
    curl, sent = program("curl", "http2"), tmp_path / "sent"
    sent.write_bytes(bytes(LARGE))

    async def refused():
        async with _site() as (_, port):
            url, written = f"https://127.0.0.1:{port}/a%00b", "%{http_version} %{http_code}"
            return await _output(curl, "-sk", "--http2", "-w", written, "-o", "/dev/null", "-T", sent, url)

    assert asyncio.run(refused()) == "2 400"


def test_go_sends_and_gets_many_files_side_by_side(tmp_path):
    """300 uploads and downloads on one connection, three times the streams that it may have at once, are right."""
    go = build("http2", tmp_path)

    async def asked():
        async with _site() as (_, port):
            question = {"url": f"https://127.0.0.1:{port}/many", "many": 300, "size": 200_000}
            return await asyncio.to_thread(lambda: list(go.ask([question])))

    assert asyncio.run(asked()) == [{"protocol": "HTTP/2.0", "mistakes": []}]


@pytest.mark.parametrize("options", [(), ("-w", "10", "-W", "14"), ("--header-table-size=64K",), ("-H", "Cookie: a=b")])
def test_h2load_fails_no_request(options):
    """Ten connections with a hundred requests each at once, with large and small windows."""
    h2load = program("h2load", "http2")

    async def loaded():
        async with _site() as (_, port):
            url = f"https://127.0.0.1:{port}/small"
            return await _output(h2load, "-n", "3000", "-c", "10", "-m", "100", *options, url)

    output = asyncio.run(loaded())
    assert "3000 succeeded, 0 failed, 0 errored" in output, output
