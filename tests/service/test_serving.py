"""Serving in a single process."""

import asyncio
import socket
import sys
import threading
import weakref
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest
from hostile_s3 import wait_until
from tornado.netutil import bind_sockets

from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot
from tornado_proxy.telemetry.events import RequestRecord, Served

TARGETS = "targets: {site: {bucket: {name: my-bucket}}}\n"
README = "targets: {site: {bucket: {name: my-bucket}, listing: {readme: true}}}\n"
TRACING = TARGETS + "tracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\n"
HTTP2 = TARGETS + "server: {ssl: {selfSignedHostnames: [localhost]}}\n"


@pytest.mark.parametrize(
    ("module", "section", "message"),
    [
        ("telemetry.tracing", TRACING, "`tracing` needs the extra `otel`"),
        ("pages.readme", README, "`listing.readme` needs the extra `readme`"),
        ("wire.http2", HTTP2, "`server.http2` with TLS needs the extra `http2`"),
    ],
)
def test_a_configuration_that_needs_a_missing_extra_is_refused(monkeypatch, tmp_path, module, section, message):
    monkeypatch.setitem(sys.modules, f"tornado_proxy.{module}", None)
    with pytest.raises(Unbuildable, match=message):
        _single_process(tmp_path, section)


def _configuration(folder, text):
    (folder / "config.yaml").write_text(text)
    return compile_snapshot(SnapshotReader(folder / "config.yaml", {})())


def _single_process(folder, text="targets: {site: {bucket: {name: my-bucket, region: eu-west-1}}}\n"):
    return SingleProcess(_configuration(folder, text))


@asynccontextmanager
async def _asked(address, request):
    """A client that has sent the head of a request; the status of its answer."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request + b"\r\n\r\n")
    status = int((await reader.readline()).split()[1])
    yield status, reader
    writer.close()


async def _started(serving):
    """Starts it on a free port, and returns the address."""
    (listening,) = bind_sockets(0, "127.0.0.1")
    address = listening.getsockname()
    await serving.start([listening], inherited=False)
    return address


async def test_winding_down_closes_connections(tmp_path):
    serving = _single_process(tmp_path, "targets: {}\n")
    address = await _started(serving)
    async with _asked(address, b"GET / HTTP/1.1\r\nHost: h") as (status, reader), asyncio.timeout(10):
        assert status == 404
        await serving.wind_down(1.0)
        await reader.read()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)


@pytest.mark.parametrize("inherited", [True, False])
async def test_the_queue_of_an_inherited_socket_is_left(tmp_path, inherited):
    """Queued connections of an inherited socket are for the next process; others are accepted."""
    serving = _single_process(tmp_path, "targets: {}\n")
    (listening,) = bind_sockets(0, "127.0.0.1")
    await serving.start([listening.dup()], inherited=inherited)
    with listening, socket.socket() as client:
        client.connect(listening.getsockname())
        await serving.wind_down(0.0)
        if inherited:
            listening.accept()[0].close()
        else:
            with pytest.raises(BlockingIOError):
                listening.accept()


async def test_what_an_edit_replaces_is_freed_beside_the_requests(tmp_path):
    """Python frees all that an object held at once, and thousands of rewrites would hold up the event loop."""
    text = "rules: [site.rules]\ntargets: {site: {bucket: {name: my-bucket, region: eu-west-1}}}\n"
    (tmp_path / "site.rules").write_text("target site {" + "gone `^/a`\n" * 300 + "}")
    serving, freed = _single_process(tmp_path, text), list[str]()
    of_rules = serving.configuration.rule_sets["site"].first_match
    weakref.finalize(of_rules, lambda: freed.append(threading.current_thread().name))
    (tmp_path / "site.rules").write_text("target site {" + "gone `^/b`\n" * 300 + "}")
    await serving.activate(2, _configuration(tmp_path, text))
    del of_rules
    await wait_until(lambda: freed)
    assert freed == ["free"]
    await serving.wind_down(0.0)


CLOSED = "targets: {%s: {bucket: {name: my-bucket}, actions: {GET: {enabled: false}, HEAD: {enabled: false}}}}\n"


async def test_what_has_gone_is_not_counted_any_more(tmp_path):
    """The series of a target end with it, and requests that began before do not bring them back."""
    serving = _single_process(tmp_path, CLOSED % "old")
    address = await _started(serving)

    async def targets():
        report = await serving.report()
        samples = [sample for metric in report.counts for sample in metric.samples]
        return {each.labels["target"] for each in samples if "target" in each.labels} | {*report.activity.targets}

    async def ask(during):
        async with _asked(address, b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1") as (status, _):
            assert status == 405
            await during

    await ask(asyncio.sleep(0))
    assert await targets() == {"old"}
    await ask(serving.activate(2, _configuration(tmp_path, CLOSED % "new")))
    await wait_until(lambda: not serving.workers()[0]["retiring"])
    assert await targets() == set()
    await ask(asyncio.sleep(0))
    assert await targets() == {"new"}
    await serving.wind_down(0.0)


async def test_requests_are_kept_as_the_configuration_says(tmp_path):
    """Those that the rules saw; an edit changes how many."""
    (tmp_path / "a.rules").write_text('target site { rewrite `^/a` -> "/../b" }\n')
    text = "rules: [a.rules]\ntargets: {site: {mount: {path: [/m]}, bucket: {name: my-bucket, region: eu-west-1}}}\n"
    serving = _single_process(tmp_path, text)
    address = await _started(serving)
    for target in (b"/m/a?token=1", b"/m/a2", b"/elsewhere"):
        async with _asked(address, b"GET %s HTTP/1.1\r\nHost: h\r\nConnection: close" % target) as (_, reader):
            await reader.read()
    kept = await serving.requests()
    assert [(each.target, each.host, each.path, each.key) for each in kept] == [
        ("site", "h", "/m/a", "/a"),
        ("site", "h", "/m/a2", "/a2"),
    ]
    await serving.activate(2, _configuration(tmp_path, f"internalServer: {{keptRequests: 1}}\n{text}"))
    assert await serving.requests() == kept[1:]
    await serving.wind_down(0.0)


async def test_new_limits_apply_to_new_connections(tmp_path):
    serving = _single_process(tmp_path, "targets: {}\n")
    address = await _started(serving)
    await serving.activate(2, _configuration(tmp_path, "limits: {maxHeaderSize: 1KiB}\ntargets: {}\n"))
    async with _asked(address, b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 2000) as (status, _):
        assert status == 431
    await serving.wind_down(0.0)


async def test_winding_down_abandons_hanging_calls(tmp_path, monkeypatch, caplog):
    """A request that holds its generation delays the end only for a limited time."""
    monkeypatch.setattr("tornado_proxy.service.serving.STORES_CLOSE_WITHIN", 0.01)
    serving = _single_process(tmp_path)
    with serving.generation:
        async with asyncio.timeout(10):
            await serving.wind_down(0.0)
    assert [record.getMessage() for record in caplog.records] == [
        "abandoned calls to buckets that did not end within 0.01 s"
    ]


class _FakeTracer:
    """A tracer that records its closing."""

    closed = False

    def __init__(self, _tracing) -> None:
        pass

    def listen(self, _bus) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Record the closing."""
        _FakeTracer.closed = True


async def test_the_tracer_hears_of_a_request_in_its_context(tmp_path, monkeypatch):
    """The calls of a request are noted there, and those of another one of the same turn elsewhere."""
    name: ContextVar[str] = ContextVar("name", default="")
    names: list[str] = []
    monkeypatch.setattr("tornado_proxy.telemetry.tracing.RequestTracer", _FakeTracer)
    monkeypatch.setattr(_FakeTracer, "listen", lambda _, bus: bus.add(lambda _: names.append(name.get()), Served))
    serving = _single_process(tmp_path, TRACING)
    served = Served(RequestRecord("r1", 0.0, "::1", "GET", "h", "/a", 1), 200, 3, 0, 0.1)

    async def end_request(own: str) -> None:
        name.set(own)
        serving.application.emit(served)

    await asyncio.gather(end_request("first"), end_request("second"))
    await serving.wind_down(0.0)
    assert names == ["first", "second"]


async def test_winding_down_closes_the_tracer(tmp_path, monkeypatch):
    monkeypatch.setattr("tornado_proxy.telemetry.tracing.RequestTracer", _FakeTracer)
    serving = _single_process(tmp_path, TRACING)
    await serving.wind_down(0.0)
    assert _FakeTracer.closed
