"""The command `demo`: serves the gallery's configuration, on an S3 with sample objects in this process."""

from __future__ import annotations

import argparse
import gzip
import logging
import shlex
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from tornado_proxy.admin.application import admin_listener
from tornado_proxy.cli.output import CommandError, ExitStatus, show
from tornado_proxy.config.server import Listener, Log
from tornado_proxy.semantics.fields import type_of_name, with_charset
from tornado_proxy.service import runtime
from tornado_proxy.service.process import CannotListen, Launch, Process, Sockets, open_sockets
from tornado_proxy.service.runtime import configure_logging
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import Snapshot, compile_snapshot, read_snapshot
from tornado_proxy.telemetry.log import EVENTS

_LOG = logging.getLogger("tornado_proxy")

S3_PORT = 9000  # the port of the S3 that a newcomer's first configuration names
PASSWORD = "demo"  # noqa: S105 - the demo's, printed on the screen

_PACKAGE = Path(__file__).parent.parent
_GALLERIES = (_PACKAGE / "gallery", _PACKAGE.parent / "rules")
S3_KEY = "demo"  # the access key and the secret key of the S3, which checks neither
_SECRETS = {"DEMO_ACCESS_KEY": S3_KEY, "DEMO_SECRET_KEY": S3_KEY, "DEMO_PASSWORD": PASSWORD}


def run_demo(arguments: argparse.Namespace) -> int:
    """Serves the demo until it is stopped."""
    try:
        with sample_s3(S3_PORT if arguments.port is None else 0) as endpoint:
            read = partial(read_demo, endpoint)
            configuration = compile_snapshot(read())
            show(configuration.diagnostics)
            if not configuration.usable:
                return ExitStatus.FINDINGS
            try:
                listener, port = configuration.settings.server, arguments.port
                sockets = open_demo_sockets(listener) if port is None else open_sockets(replace(listener, port=port))
                admin = open_demo_sockets(configuration.settings.internal_server)
            except CannotListen as error:
                raise CommandError(str(error)) from error
            configure_logging(Log(level="warning" if arguments.quiet else "info"))
            # Only a newcomer's requests and edits are logged; the text below announces the addresses.
            _LOG.setLevel(logging.WARNING)
            logging.getLogger(EVENTS).setLevel(logging.INFO)
            logging.getLogger("tornado_proxy.access").setLevel(logging.WARNING if arguments.quiet else logging.INFO)
            administer = partial(admin_listener, sockets=admin.sockets)
            launch = Launch(sockets, read, administer, partial(_welcome, sockets.url, admin.url, endpoint))
            runtime.run_event_loop(Process(launch, SingleProcess(configuration)).run(), listener.event_loop)
            return runtime.end_process(ExitStatus.CLEAN)
    except ModuleNotFoundError as error:
        advice = "install it with `pip install '.[demo]'` in a checkout"
        raise CommandError(f"the extra `demo` is missing ({error.name}); {advice}") from error


def _welcome(url: str, admin: str, s3: str) -> None:
    # The program may not be on the PATH.
    command = "tornado-proxy" if shutil.which("tornado-proxy") else f"{shlex.quote(sys.executable)} -m tornado_proxy"
    text = Path(__file__).with_name("welcome.txt").read_text(encoding="utf-8")
    places = {"url": url, "admin": admin, "s3": s3, "gallery": gallery(), "bucket": BUCKET}
    print(text.format(**places, command=command, password=PASSWORD, key=S3_KEY), flush=True)


def gallery() -> Path:
    """Returns the gallery of rules: in the installed package, or beside it in a checkout."""
    return next(place for place in _GALLERIES if (place / "demo.yaml").is_file())


def read_demo(endpoint: str) -> Snapshot:
    """Reads the gallery's configuration and rules, with the buckets at an endpoint."""
    snapshot = read_snapshot(gallery() / "demo.yaml", _SECRETS)
    settings = snapshot.settings
    if settings is None:
        return snapshot
    targets = (replace(each, bucket=replace(each.bucket, s3_endpoint=endpoint)) for each in settings.targets)
    return replace(snapshot, settings=replace(settings, targets=tuple(targets)))


def open_demo_sockets(listener: Listener) -> Sockets:
    """Listens on the configured port, or on any free one if it is taken."""
    try:
        return open_sockets(listener)
    except CannotListen:
        return open_sockets(replace(listener, port=0))


BUCKET = "demo-bucket"

_FOLDER = Path(__file__).with_name("sample_objects")


class SampleObject(msgspec.Struct, frozen=True):
    """An object of the demo's bucket."""

    key: str
    content: bytes
    content_type: str
    cache_control: str = "max-age=60"


@contextmanager
def sample_s3(port: int = 0) -> Iterator[str]:
    """Runs an S3 with the sample objects, on a port if it is free; yields its endpoint. Raises ImportError."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - the extra `demo`, and slow to import

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        port = 0
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        _fill(host, port)
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def sample_objects() -> Iterator[SampleObject]:
    """Yields the sample objects: a site, files of a team, and downloads with odd names and long listings."""
    for path in sorted(_FOLDER.rglob("*")):
        if path.is_file():
            key = path.relative_to(_FOLDER).as_posix()
            yield SampleObject(key, path.read_bytes(), with_charset(type_of_name(path.name), "utf-8"))
    yield SampleObject("releases/.index.json", b"{}", "application/json")
    for version in ("2.0.3", "2.1.0"):
        archive = gzip.compress(f"tool {version}\n".encode() * 4000, mtime=0)
        yield SampleObject(f"releases/{version}/tool.tar.gz", archive, "application/gzip", "max-age=86400, immutable")
        yield SampleObject(f"releases/{version}/notes.txt", f"Tool {version}\n".encode(), "text/plain; charset=utf-8")
    for name in ("100% sure.txt", "a+b.txt", "C#.txt", "what?.txt", "Änderungen.txt", "日本語.txt"):
        yield SampleObject(f"releases/odd names/{name}", f"{name}\n".encode(), "text/plain; charset=utf-8")
    for build_number in range(1, 241):
        build = f"releases/nightly/build-{build_number:04}.log"
        yield SampleObject(build, f"build {build_number}\n".encode() * build_number, "text/plain; charset=utf-8")


def _fill(host: str, port: int) -> None:
    # Plain HTTP: this S3 checks no signature, and only `s3` knows boto3.
    uploads: list[tuple[str, bytes, dict[str, str]]] = [(f"/{BUCKET}", b"", {})]
    for each in sample_objects():
        headers = {"Content-Type": each.content_type, "Cache-Control": each.cache_control}
        uploads.append((f"/{BUCKET}/{quote(each.key)}", each.content, headers))
    with closing(HTTPConnection(host, port, timeout=10)) as connection:
        for path, body, headers in uploads:
            connection.request("PUT", path, body, {**headers, "x-amz-sdk-checksum-algorithm": "SHA256"})
            with connection.getresponse() as answer:
                assert answer.status == HTTPStatus.OK, f"the sample S3 answered {answer.status} to `PUT {path}`"
