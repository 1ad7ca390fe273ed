"""Bodies larger than memory: what passes through grows the server by less than 64 MiB, and a cut upload leaves nothing."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from pathlib import Path

import pytest
from endless_s3 import endless_s3
from running import BOUNDARY, start_proxy

GIB = 1 << 30
ALLOWANCE = 64 << 20

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
targets:
  big:
    mount: {{path: [/]}}
    bucket: {{name: big-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
    actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}}}
    listing: {{archive: {{enabled: true, maxSize: 8GiB}}}}
"""


@pytest.fixture
def s3():
    """An S3 for bodies of any size."""
    with endless_s3() as (endpoint, traffic):
        yield endpoint, traffic


@pytest.fixture
def proxy(s3, tmp_path):
    """A server in front of it, warm: what it loads at its first requests is not the bodies' doing."""
    endpoint, _ = s3
    with start_proxy(tmp_path, CONFIGURATION.format(endpoint=endpoint)) as running:
        running.request("GET", "/1048576.bin")
        running.upload("/", "warm.txt", b"warm")
        yield running


def _memory(proxy) -> int:
    """The resident memory of the server, in bytes."""
    status = Path(f"/proc/{proxy.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _head(size: int) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n\r\n'.encode()
    tail = f"\r\n--{BOUNDARY}--\r\n".encode()
    request = (
        f"PUT / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
        f"Content-Length: {len(head) + size + len(tail)}\r\n\r\n"
    )
    return request.encode() + head


def _download_slowly(proxy, seconds: float) -> tuple[int, int]:
    """Read a mebibyte a second of a 1 GiB object; gives what came and the most that the server grew by."""
    before, most, taken = _memory(proxy), 0, 0
    with socket.create_connection(proxy.address) as client:
        client.sendall(f"GET /{GIB}.bin HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            second = time.monotonic() + 1
            read = 0
            while read < 1 << 20:
                read += len(client.recv((1 << 20) - read))
            taken += read
            most = max(most, _memory(proxy) - before)
            time.sleep(max(0, second - time.monotonic()))
    return taken, most


def test_a_slow_reader_holds_the_server_back(proxy, s3):
    """A client that reads a mebibyte a second of a 1 GiB object costs little memory, and S3 is read no faster."""
    taken, most = _download_slowly(proxy, seconds=3)
    assert taken >= 3 << 20
    assert most < ALLOWANCE
    assert s3[1].sent < taken + ALLOWANCE


@pytest.mark.integration
def test_a_slow_reader_for_twenty_seconds(proxy):
    """The same, watched for 20 seconds."""
    taken, most = _download_slowly(proxy, seconds=20)
    print(f"read {taken >> 20} MiB, the server grew by {most >> 20} MiB")
    assert most < ALLOWANCE


def _upload(proxy, size: int) -> tuple[bytes, int]:
    before, most = _memory(proxy), 0
    block = bytes(1 << 20)
    with socket.create_connection(proxy.address) as client:
        client.sendall(_head(size))
        for sent in range(size >> 20):
            client.sendall(block)
            if sent % 16 == 0:
                most = max(most, _memory(proxy) - before)
        client.sendall(f"\r\n--{BOUNDARY}--\r\n".encode())
        return client.recv(65536), most


def test_an_upload_passes_through(proxy, s3):
    """A form of 96 MiB goes to S3 in parts, and the server grows by less than the allowance."""
    answer, most = _upload(proxy, 96 << 20)
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert s3[1].completed == 1
    assert most < ALLOWANCE


@pytest.mark.integration
def test_an_upload_of_a_gibibyte_passes_through(proxy, s3):
    """A form of 1 GiB goes to S3 in parts, and the server grows by less than the allowance."""
    answer, most = _upload(proxy, GIB)
    print(f"{s3[1].parts} parts, the server grew by {most >> 20} MiB")
    assert answer.startswith(b"HTTP/1.1 201 ")
    assert most < ALLOWANCE


def _wait(condition, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def test_a_client_that_leaves_in_the_middle_leaves_nothing(proxy, s3):
    """An upload that breaks off is aborted in S3: no object, no parts."""
    with closing(socket.create_connection(proxy.address)) as client:
        client.sendall(_head(64 << 20))
        client.sendall(bytes(24 << 20))
        assert _wait(lambda: s3[1].parts > 0)
    assert _wait(lambda: s3[1].aborted == 1)
    assert s3[1].completed == 0


def _archive(proxy, size: int, form: str) -> tuple[int, int, bytes, int]:
    """Read the archive of a large and a small file; gives what was announced and came, the end, and the growth."""
    before, most, taken, end = _memory(proxy), 0, 0, b""
    with socket.create_connection(proxy.address) as client:
        client.sendall(f"GET /of-{size}/?format={form} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = _receive_head(client)
        announced = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while body:
            taken, end = taken + len(body), (end + body)[-1000:]
            if taken % (1 << 24) < len(body):
                most = max(most, _memory(proxy) - before)
            body = client.recv(1 << 20)
    return announced, taken, end, most


def _receive_head(client: socket.socket) -> tuple[bytes, bytes, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(65536)
    return received.partition(b"\r\n\r\n")


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_a_directory_passes_through(proxy, form):
    """96 MiB as one file: what was announced came, and the server grew by less than the allowance."""
    announced, taken, _, most = _archive(proxy, 96 << 20, form)
    assert announced == taken > 96 << 20
    assert most < ALLOWANCE


@pytest.mark.integration
@pytest.mark.parametrize(("form", "ending"), [("zip", b"PK\x06\x06"), ("tar", bytes(512))])
def test_a_directory_of_two_gibibytes_passes_through(proxy, form, ending):
    """The same for 2 GiB, whose ZIP file ends as large ones do."""
    announced, taken, end, most = _archive(proxy, 2 * GIB, form)
    print(f"{taken >> 20} MiB came, the server grew by {most >> 20} MiB")
    assert announced == taken > 2 * GIB
    assert ending in end
    assert most < ALLOWANCE
