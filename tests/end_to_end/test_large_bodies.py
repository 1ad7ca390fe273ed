"""Bodies larger than memory: a transfer grows the server by less than 64 MiB, an aborted upload leaves no parts."""

import socket
import time
import urllib.request
from contextlib import closing

import pytest
from administering import eventually
from endless_s3 import endless_s3
from running import BOUNDARY, start_proxy

GIB = 1 << 30
GROWTH_LIMIT = 64 << 20

CONFIGURATION = """
targets:
  big:
    mount: {{path: [/]}}
    bucket: {{name: big-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}}}
    listing: {{archive: {{enabled: true, maxSize: 8GiB}}}}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A server in front of an S3 server for bodies of any size, and the traffic of the latter.

    It is warm: modules that the first requests load don't count as growth.
    """
    folder = tmp_path_factory.mktemp("large")
    with endless_s3() as (endpoint, traffic), start_proxy(folder, CONFIGURATION.format(endpoint=endpoint)) as proxy:
        proxy.request("GET", "/1048576.bin")
        proxy.upload("/", "warm.txt", b"warm")
        yield proxy, traffic


@pytest.fixture
def proxy(service):
    return service[0]


@pytest.fixture
def traffic(service):
    """The traffic of the S3 server since the test began."""
    counted = service[1]
    counted.sent = counted.parts = counted.completed = counted.aborted = 0
    return counted


def _upload_head(size: int) -> bytes:
    part_head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n'.encode()
    part_tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    request = (
        f"PUT / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(part_head) + size + len(part_tail)}\r\n\r\n"
    )
    return request.encode() + part_head


@pytest.mark.parametrize("mebibytes", [3, pytest.param(20, marks=pytest.mark.integration)])
def test_a_slow_reader_slows_the_reads_from_s3(proxy, traffic, mebibytes):
    """A client that reads a mebibyte a second costs little memory, and the server reads no faster from S3."""
    before, growth = proxy.memory, 0
    with socket.create_connection(proxy.address) as client:
        client.sendall(f"GET /{GIB}.bin HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for _ in range(mebibytes):
            second = time.monotonic() + 1
            read = 0
            while read < 1 << 20:
                block = client.recv((1 << 20) - read)
                assert block
                read += len(block)
            growth = max(growth, proxy.memory - before)
            time.sleep(max(0, second - time.monotonic()))
    assert growth < GROWTH_LIMIT
    assert traffic.sent < (mebibytes << 20) + GROWTH_LIMIT


@pytest.mark.parametrize("size", [96 << 20, pytest.param(GIB, marks=pytest.mark.integration)])
def test_an_upload_passes_through(proxy, traffic, size):
    """A large form is stored in parts, and the server grows by less than the limit."""
    before, growth = proxy.memory, 0
    block = bytes(1 << 20)
    with socket.create_connection(proxy.address) as client:
        client.sendall(_upload_head(size))
        for number in range(size >> 20):
            client.sendall(block)
            if number % 16 == 0:
                growth = max(growth, proxy.memory - before)
        client.sendall(f"\r\n--{BOUNDARY}--\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 201 ")
    assert traffic.completed == 1
    assert growth < GROWTH_LIMIT


def test_an_aborted_upload_leaves_no_object_and_no_parts(proxy, traffic):
    with closing(socket.create_connection(proxy.address)) as client:
        client.sendall(_upload_head(64 << 20))
        client.sendall(bytes(24 << 20))
        eventually(lambda: traffic.parts > 0)
    eventually(lambda: traffic.aborted == 1)
    assert traffic.completed == 0


@pytest.mark.parametrize("size", [96 << 20, pytest.param(2 * GIB, marks=pytest.mark.integration)])
@pytest.mark.parametrize(("archive_format", "ending"), [("zip", b"PK\x05\x06"), ("tar", bytes(512))])
def test_an_archive_passes_through(proxy, size, archive_format, ending):
    """An archive has the announced length and, as ZIP of 2 GiB, a ZIP64 end; the server grows by less than the limit."""
    before, growth, received, tail = proxy.memory, 0, 0, b""
    with urllib.request.urlopen(f"{proxy.url}/of-{size}/?format={archive_format}", timeout=60) as response:
        while body := response.read1(1 << 20):
            received, tail = received + len(body), (tail + body)[-1000:]
            if received % (1 << 24) < len(body):
                growth = max(growth, proxy.memory - before)
    assert int(response.headers["Content-Length"]) == received > size
    assert ending in tail
    assert (b"PK\x06\x06" in tail) == (archive_format == "zip" and size > GIB)
    assert growth < GROWTH_LIMIT
