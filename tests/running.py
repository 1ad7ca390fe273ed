"""The installed program as a subprocess, and a bucket of the tests' S3."""

from __future__ import annotations

import atexit
import contextlib
import http.client
import itertools
import os
import queue
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import boto3
import botocore.config
from forking import SERVE, ForkedProgram, run_forked

START_LIMIT = 60  # seconds; a start takes two seconds of processor time, and the machine may be busy
_TENS = itertools.count(random.randrange(1276))
BOUNDARY = "form-boundary-7c1d"


@dataclass(frozen=True)
class Response:
    """An answer with its complete body."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    set_cookies: Sequence[str] = ()

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode()


def exchange(
    address: tuple[str, int],
    method: str,
    path: str,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> Response:
    """Sends a request, its path unchanged, on a connection of its own; `options` are http.client's: `context` is for TLS."""
    kind = http.client.HTTPSConnection if "context" in options else http.client.HTTPConnection
    with contextlib.closing(kind(*address, timeout=START_LIMIT, **options)) as connection:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Response(answer.status, named, answer.read(), answer.headers.get_all("Set-Cookie") or ())


def free_port(count: int = 1) -> int:
    """The first of `count` consecutive ports, at most 9, on which no process listens; it is a multiple of 10.

    The ports are below those that Linux gives to outgoing connections, which could take a port before it is used. This
    process listens on the last of the ten, so that tests that run beside these get others.
    """
    while True:
        first = 20000 + next(_TENS) % 1276 * 10
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            taken = stack.enter_context(socket.create_server(("127.0.0.1", first + 9)))
            for port in range(first, first + count):
                socket.create_server(("127.0.0.1", port)).close()
            stack.pop_all()
            atexit.register(taken.close)
            return first


def form(name: str, content: bytes, *, field_name: str = "file") -> tuple[dict[str, str], bytes]:
    """The headers and body of a multipart form with one file."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field_name}"; filename="{name}"\r\n'
    body = head.encode() + b"Content-Type: text/plain\r\n\r\n" + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    return {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}, body


def listens(port: int) -> bool:
    """Whether a program accepts connections at a port of this machine."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str) -> bool:
    """Whether a GET is answered with success; a certificate may be anybody's."""
    context = ssl._create_unverified_context() if url.startswith("https:") else None
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5, context=context) as answer:
        return answer.status == 200
    return False


@dataclass
class Proxy:
    """A running `tornado-proxy serve`."""

    process: ForkedProgram | subprocess.Popen[str]
    url: str
    lines: list[str] = field(default_factory=list)

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port of the listener."""
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname or "", parts.port or 0

    @property
    def memory(self) -> int:
        """Its resident memory, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

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
        """Sends a request with the path unchanged; `user` is `name:password`."""
        all_headers = dict(headers or {})
        if host:
            all_headers["Host"] = host
        if user:
            all_headers["Authorization"] = "Basic " + b64encode(user.encode()).decode()
        return exchange(self.address, method, path, body, all_headers)

    def upload(self, path: str, name: str, content: bytes, **options: Any) -> Response:
        """Sends PUT with a form of one file."""
        headers, body = form(name, content)
        extra = options.pop("headers", {})
        return self.request("PUT", path, headers={**headers, **extra}, body=body, **options)


class Bucket:
    """A bucket of the tests' S3, reached without the proxy."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.endpoint = endpoint
        self.name = name
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
        by_path = botocore.config.Config(s3={"addressing_style": "path"})
        self.client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=by_path, **keys)

    def put(self, key: str, content: bytes = b"", **parameters: object) -> None:
        """Stores an object; `parameters` are those of PutObject."""
        self.client.put_object(Bucket=self.name, Key=key, Body=content, **parameters)

    def get(self, key: str) -> bytes:
        """An object's content."""
        body = self.client.get_object(Bucket=self.name, Key=key)["Body"]
        with contextlib.closing(body):
            return body.read()

    def all_keys(self) -> list[str]:
        """All keys."""
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def uploads(self) -> list[str]:
        """The keys of multipart uploads that are neither completed nor aborted."""
        return [entry["Key"] for entry in self.client.list_multipart_uploads(Bucket=self.name).get("Uploads", [])]


@contextlib.contextmanager
def new_bucket(endpoint: str, name: str) -> Iterator[Bucket]:
    """Creates a bucket at an S3."""
    bucket = Bucket(endpoint, name)
    with contextlib.closing(bucket.client):
        bucket.client.create_bucket(Bucket=name)
        yield bucket


def _announced_url(process: ForkedProgram | subprocess.Popen[str], lines: list[str]) -> str:
    """The URL that the program announces; a thread reads all of its log into `lines`."""
    urls: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stderr:
            lines.append(line.rstrip("\n"))
            match = re.search(r"listening on (https?://\S+)", line)
            if match:
                urls.put(match[1])
        urls.put(None)

    threading.Thread(target=read, daemon=True).start()
    url = urls.get(timeout=START_LIMIT)
    assert url is not None, "\n".join(lines)
    return url


@contextlib.contextmanager
def start_proxy(
    folder: Path, configuration: str, *options: str, python: str = "", **rule_files: str
) -> Iterator[Proxy]:
    """Runs a server with a configuration and rule files; `site="…"` becomes `rules/site.rules`.

    Listeners that the configuration does not have get free ports. The environment has the keys of the tests' S3s.
    `python` is one with another installation.
    """
    (folder / "rules").mkdir(parents=True, exist_ok=True)
    text = dedent(configuration)
    listeners = [name for name in ("server", "internalServer") if not re.search(f"^{name}:", text, re.MULTILINE)]
    text = "".join(f"{name}: {{port: 0}}\n" for name in listeners) + text
    (folder / "proxy.yaml").write_text(text, encoding="utf-8")
    for name, text in rule_files.items():
        (folder / "rules" / f"{name}.rules").write_text(text, encoding="utf-8")
    arguments = ["serve", "--config", str(folder / "proxy.yaml"), *options]
    keys = dict.fromkeys(("ACCESS", "SECRET", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "test")
    environment = {**os.environ, **keys, "PYTHONUNBUFFERED": "1"}
    if python:
        command = [python, "-m", "tornado_proxy", *arguments]
        process = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
    else:
        process = ForkedProgram(SERVE, arguments, environment)
    proxy = Proxy(process, "")
    try:
        proxy.url = _announced_url(proxy.process, proxy.lines)
        yield proxy
    finally:
        proxy.process.terminate()
        proxy.process.wait(timeout=START_LIMIT)
        proxy.process.stderr.close()


def refused_start(folder: Path) -> tuple[int, str]:
    """Runs a server with the files of a folder until it ends by itself; returns its exit status and its log."""
    arguments = ["serve", "--config", str(folder / "proxy.yaml")]
    environment = {**os.environ, "ACCESS": "test", "SECRET": "test"}
    ran = run_forked(SERVE, arguments, timeout=START_LIMIT, environment=environment)
    return ran.returncode, ran.stderr


@contextlib.contextmanager
def start_demo(folder: Path) -> Iterator[str]:
    """Runs the demo and yields what it prints at its start; it must end without an error message."""
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
        _, error_output = process.communicate(timeout=START_LIMIT)
    assert (process.returncode, error_output) == (0, "")
