"""The installed program as a subprocess, and an S3 for it to ask."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import os
import queue
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.parse
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

import boto3
import botocore.config

START_LIMIT = 60  # seconds; a start takes two of processor time, and the machine may be busy
_TENS = itertools.count(random.randrange(1276))
BOUNDARY = "form-boundary-7c1d"


@dataclass(frozen=True)
class Response:
    """An answer, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


def free_port(count: int = 1) -> int:
    """The first of some ports in a row that nobody listens on; it ends with 0.

    They are below those that Linux gives to outgoing connections, which may take any other before it is used.
    """
    while True:
        first = 20000 + next(_TENS) % 1276 * 10
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.create_server(("127.0.0.1", port)))
            return first


def form(name: str, content: bytes, *, field_name: str = "file") -> tuple[dict[str, str], bytes]:
    """The headers and body of a multipart form with one file."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field_name}"; filename="{name}"\r\n'
    body = head.encode() + b"Content-Type: text/plain\r\n\r\n" + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    return {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}, body


@dataclass
class Proxy:
    """A running `tornado-proxy serve`."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    def request(
        self,
        method: str,
        path: str,
        *,
        host: str | None = None,
        user: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Response:
        """One request, its path sent as it is; `user` is `name:password`."""
        sent = dict(headers or {})
        if host:
            sent["Host"] = host
        if user:
            sent["Authorization"] = "Basic " + b64encode(user.encode()).decode()
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())

    def upload(self, path: str, name: str, content: bytes, **more: object) -> Response:
        """PUT a form with one file."""
        headers, body = form(name, content)
        extra = more.pop("headers", {})
        return self.request("PUT", path, headers={**headers, **extra}, body=body, **more)


class Bucket:
    """A bucket in the tests' S3, seen past the proxy."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=botocore.config.Config(s3={"addressing_style": "path"}),
        )

    @classmethod
    def create(cls, endpoint: str, name: str) -> Bucket:
        """A new bucket."""
        made = cls(endpoint, name)
        made.client.create_bucket(Bucket=name)
        return made

    def put(self, key: str, content: bytes = b"", **more: object) -> None:
        """Store an object."""
        self.client.put_object(Bucket=self.name, Key=key, Body=content, **more)

    def get(self, key: str) -> bytes:
        """An object's content."""
        body = self.client.get_object(Bucket=self.name, Key=key)["Body"]
        with contextlib.closing(body):
            return body.read()

    def all_keys(self) -> list[str]:
        """All keys."""
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def uploads(self) -> list[str]:
        """The keys of multipart uploads that are not completed."""
        return [entry["Key"] for entry in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])]


def _announced(process: subprocess.Popen[str], lines: list[str]) -> str:
    """The URL that the program announces, read on a thread that keeps its output flowing."""
    found: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            match = re.search(r"listening on (https?://\S+)", line)
            if match:
                found.put(match[1])
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    url = found.get(timeout=START_LIMIT)
    assert url is not None, "\n".join(lines)
    return url


@contextlib.contextmanager
def start_proxy(folder: Path, configuration: str, *options: str, **rule_files: str) -> Iterator[Proxy]:
    """A running server for a configuration and rule files (`site="…"` becomes `rules/site.rules`)."""
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    (folder / "proxy.yaml").write_text(dedent(configuration), encoding="utf-8")
    for name, text in rule_files.items():
        (folder / "rules" / f"{name}.rules").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "tornado_proxy", "serve", "--config", str(folder / "proxy.yaml"), *options]
    environment = {**os.environ, "ACCESS": "test", "SECRET": "test", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    proxy = Proxy(process, "")
    try:
        proxy.url = _announced(process, proxy.lines)
        yield proxy
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=START_LIMIT)
        if process.stderr:
            process.stderr.close()


@contextlib.contextmanager
def start_demo(folder: Path) -> Iterator[str]:
    """A running demo, and what it printed, read from a pipe as it came; it must end without a word."""
    (folder / "README.md").write_text("to be uploaded\n")
    command = [sys.executable, "-m", "tornado_proxy", "demo", "--port", "0", "--quiet"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stderr
    try:
        lines: list[str] = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        yield "".join(lines)
    finally:
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=START_LIMIT)
    assert (process.returncode, complaints) == (0, "")
