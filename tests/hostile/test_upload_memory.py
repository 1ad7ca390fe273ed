"""Memory of uploads: aborted uploads free it, and many transfers at once need little."""

import socket
import threading
import time
from contextlib import closing, suppress

import pytest
from administering import eventually
from endless_s3 import endless_s3
from running import start_proxy

pytestmark = pytest.mark.integration

MIB = 1024**2
CONFIGURATION = """\
    targets:
      site:
        bucket: {{name: bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
        actions: {{PUT: {{enabled: true, config: {{allowOverride: true}}}}}}
        resources: [{{path: /**, methods: [GET, PUT], whiteList: true}}]
"""
FORM = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
HEAD = "PUT /d/ HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n"


def abort_upload(proxy, size: int) -> None:
    """Sends the beginning of an upload and disconnects."""
    with closing(socket.create_connection(proxy.address, timeout=60)) as client, suppress(OSError):
        client.sendall(HEAD.format(100 * MIB).encode() + FORM + bytes(size))


def run_in_threads(count: int, function, *arguments) -> None:
    threads = [threading.Thread(target=function, args=arguments, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)


def test_aborted_uploads_free_their_memory(tmp_path):
    """After twelve more rounds of twenty aborted uploads, the server has grown by less than a fifth."""
    with endless_s3() as (url, _), start_proxy(tmp_path, CONFIGURATION.format(endpoint=url)) as proxy:
        for _ in range(8):  # until it has had as many threads and buffers at once as it will have
            run_in_threads(20, abort_upload, proxy, 12 * MIB)
        time.sleep(2)
        before = proxy.memory
        for _ in range(12):
            run_in_threads(20, abort_upload, proxy, 12 * MIB)
        eventually(lambda: proxy.memory < 1.2 * before)
        after = proxy.memory
    print(f"{before // MIB} MiB, {after // MIB} MiB after twelve rounds")


def test_many_transfers_need_little_memory(tmp_path):
    """64 slow downloads and 64 slow uploads of 100 MiB take less than 300 MiB."""
    stop, peak = threading.Event(), 0

    def upload(proxy) -> None:
        with closing(socket.create_connection(proxy.address, timeout=60)) as client, suppress(OSError):
            client.sendall(HEAD.format(100 * MIB + len(FORM) + 9).encode() + FORM)
            while not stop.is_set():
                client.sendall(bytes(256 * 1024))
                time.sleep(0.1)

    def download(proxy) -> None:
        with closing(socket.create_connection(proxy.address, timeout=60)) as client, suppress(OSError):
            client.sendall(f"GET /{100 * MIB}.bin HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            while not stop.is_set() and client.recv(64 * 1024):
                time.sleep(0.1)

    with endless_s3() as (url, _), start_proxy(tmp_path, CONFIGURATION.format(endpoint=url)) as proxy:
        threads = [
            threading.Thread(target=function, args=(proxy,), daemon=True)
            for function in (upload, download)
            for _ in range(64)
        ]
        for thread in threads:
            thread.start()
        for _ in range(40):
            time.sleep(0.5)
            peak = max(peak, proxy.memory)
        stop.set()
        for thread in threads:
            thread.join(60)
    print(f"at peak {peak // MIB} MiB")
    assert peak < 300 * MIB
