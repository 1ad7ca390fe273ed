"""Bodies larger than memory: a transfer grows the server by less than 64 MiB, an aborted upload leaves no parts."""

import socket
import time
from contextlib import closing

import pytest
from administering import eventually
from endless_s3 import endless_s3
from running import BOUNDARY, start_proxy
from scripted_s3 import receive

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


@pytest.fixture
def s3():
    """An S3 server for bodies of any size: its endpoint and its traffic."""
    with endless_s3() as (endpoint, traffic):
        yield endpoint, traffic


@pytest.fixture
def proxy(s3, tmp_path):
    """A warm server in front of the S3 server: modules that the first requests load don't count as growth."""
    endpoint, _ = s3
    with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as started:
        started.request("GET", "/1048576.bin")
        started.upload("/", "warm.txt", b"warm")
        yield started


def _upload_head(size: int) -> bytes:
    part_head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n'.encode()
    part_tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    request = (
        f"PUT / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(part_head) + size + len(part_tail)}\r\n\r\n"
    )
    return request.encode() + part_head


def _download_slowly(proxy, mebibytes: int) -> tuple[int, int]:
    """Reads a mebibyte a second of a 1 GiB object; returns the bytes read and the greatest growth of the server."""
    before, growth, received = proxy.memory, 0, 0
    with socket.create_connection(proxy.address) as client:
        client.sendall(f"GET /{GIB}.bin HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        for _ in range(mebibytes):
            second = time.monotonic() + 1
            read = 0
            while read < 1 << 20:
                block = client.recv((1 << 20) - read)
                assert block
                read += len(block)
            received += read
            growth = max(growth, proxy.memory - before)
            time.sleep(max(0, second - time.monotonic()))
    return received, growth


def test_a_slow_reader_slows_the_reads_from_s3(proxy, s3):
    """A client that reads a mebibyte a second costs little memory, and the server reads no faster from S3."""
    received, growth = _download_slowly(proxy, mebibytes=3)
    assert received >= 3 << 20
    assert growth < GROWTH_LIMIT
    assert s3[1].sent < received + GROWTH_LIMIT


@pytest.mark.integration
def test_a_slow_reader_for_twenty_seconds(proxy):
    received, growth = _download_slowly(proxy, mebibytes=20)
    print(f"read {received >> 20} MiB, the server grew by {growth >> 20} MiB")
    assert growth < GROWTH_LIMIT


def _upload(proxy, size: int) -> tuple[bytes, int]:
    before, growth = proxy.memory, 0
    block = bytes(1 << 20)
    with socket.create_connection(proxy.address) as client:
        client.sendall(_upload_head(size))
        for number in range(size >> 20):
            client.sendall(block)
            if number % 16 == 0:
                growth = max(growth, proxy.memory - before)
        client.sendall(f"\r\n--{BOUNDARY}--\r\n".encode())
        return client.recv(65536), growth


def test_an_upload_passes_through(proxy, s3):
    """A form of 96 MiB is stored in parts, and the server grows by less than the limit."""
    answer, growth = _upload(proxy, 96 << 20)
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert s3[1].completed == 1
    assert growth < GROWTH_LIMIT


@pytest.mark.integration
def test_an_upload_of_a_gibibyte_passes_through(proxy, s3):
    """A form of 1 GiB is stored in parts, and the server grows by less than the limit."""
    answer, growth = _upload(proxy, GIB)
    print(f"{s3[1].parts} parts, the server grew by {growth >> 20} MiB")
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert growth < GROWTH_LIMIT


def test_an_aborted_upload_leaves_no_object_and_no_parts(proxy, s3):
    with closing(socket.create_connection(proxy.address)) as client:
        client.sendall(_upload_head(64 << 20))
        client.sendall(bytes(24 << 20))
        eventually(lambda: s3[1].parts > 0)
    eventually(lambda: s3[1].aborted == 1)
    assert s3[1].completed == 0


def _archive(proxy, size: int, archive_format: str) -> tuple[int, int, bytes, int]:
    """Reads the archive of two files; returns its announced and its real length, its tail, and the growth."""
    before, growth, received, tail = proxy.memory, 0, 0, b""
    with socket.create_connection(proxy.address) as client:
        target = f"/of-{size}/?format={archive_format}"
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = _receive_head(client)
        announced = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while body:
            received, tail = received + len(body), (tail + body)[-1000:]
            if received % (1 << 24) < len(body):
                growth = max(growth, proxy.memory - before)
            body = client.recv(1 << 20)
    return announced, received, tail, growth


def _receive_head(client: socket.socket) -> tuple[bytes, bytes, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        received += receive(client)
    return received.partition(b"\r\n\r\n")


@pytest.mark.parametrize("archive_format", ["zip", "tar"])
def test_an_archive_passes_through(proxy, archive_format):
    """An archive of 96 MiB has the announced length, and the server grows by less than the limit."""
    announced, received, _, growth = _archive(proxy, 96 << 20, archive_format)
    assert announced == received > 96 << 20
    assert growth < GROWTH_LIMIT


@pytest.mark.integration
@pytest.mark.parametrize(("archive_format", "ending"), [("zip", b"PK\x06\x06"), ("tar", bytes(512))])
def test_an_archive_of_two_gibibytes_passes_through(proxy, archive_format, ending):
    """An archive of 2 GiB has the announced length and, as ZIP, a ZIP64 end; the server grows by less than the limit."""
    announced, received, tail, growth = _archive(proxy, 2 * GIB, archive_format)
    print(f"{received >> 20} MiB came, the server grew by {growth >> 20} MiB")
    assert announced == received > 2 * GIB
    assert ending in tail
    assert growth < GROWTH_LIMIT
