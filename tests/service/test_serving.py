"""Serving in a single process."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys

import pytest
from serving import part, serve

from tornado_proxy.service.generations import Unbuildable
from tornado_proxy.service.runtime import run_event_loop
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.snapshot import SnapshotReader, compile_snapshot
from tornado_proxy.service.sockets import Sockets, named


@pytest.mark.parametrize("choice", ["uvloop", "asyncio"])
def test_both_event_loops_carry_the_gateway(choice):
    """Requests on one connection, an upload, and a body larger than every buffer, on real sockets."""
    large = bytes(8 << 20)

    async def main() -> None:
        async with serve({"a.txt": b"a", "large": large}) as site, site.connect() as client:
            assert (await client.request("GET", "/a.txt")).body == b"a"
            assert (await client.request("GET", "/large")).body == large
            uploaded = await site.upload("/", part("file", b"new", filename="b.txt"))
            assert uploaded.status == 201
            assert (await client.request("GET", "/b.txt")).body == b"new"

    run_event_loop(main(), choice)


def test_tracing_without_its_extra_is_refused(monkeypatch, tmp_path):
    """The message names the extra, and the help says what to install."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    text = "tracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\ntargets: {site: {bucket: {name: my-bucket}}}\n"
    (tmp_path / "config.yaml").write_text(text)
    loaded = compile_snapshot(SnapshotReader(tmp_path / "config.yaml", {})())
    with pytest.raises(Unbuildable, match="`tracing` needs the extra `otel`"):
        SingleProcess(loaded)


def _single(folder, text="targets: {site: {bucket: {name: my-bucket, region: eu-west-1}}}\n", **options):
    (folder / "config.yaml").write_text(text)
    return SingleProcess(compile_snapshot(SnapshotReader(folder / "config.yaml", {})()), **options)


async def test_a_process_that_winds_down_leaves_no_connection(tmp_path):
    """Its clients read the end, and nobody can connect after that."""
    serving = _single(tmp_path, "targets: {}\n")
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    address = listening.getsockname()
    await serving.start(named([listening]))
    reader, writer = await asyncio.open_connection(*address)
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 404 ")
    async with asyncio.timeout(10):
        await serving.wind_down(1.0)
        await reader.read()
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(*address)


@pytest.mark.parametrize("inherited", [True, False])
async def test_a_process_leaves_the_queue_of_sockets_that_it_inherited(tmp_path, inherited):
    """The service manager holds them, so the next process accepts what nobody has accepted; others are served now."""
    serving = _single(tmp_path, "targets: {}\n")
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    await serving.start(named([listening.dup()], inherited=inherited))
    with listening, socket.socket() as client:
        client.connect(listening.getsockname())
        await serving.wind_down(0.0)
        if inherited:
            listening.accept()[0].close()
        else:
            with pytest.raises(BlockingIOError):
                listening.accept()


async def test_a_process_that_serves_collects_garbage(tmp_path):
    """The collector is off while a command starts."""
    serving = _single(tmp_path, "targets: {}\n")
    gc.disable()
    try:
        await serving.start(Sockets((), ""))
        assert gc.isenabled()
    finally:
        gc.enable()
    await serving.wind_down(0.0)


async def test_a_process_shows_the_generation_that_it_serves(tmp_path):
    """The number that it was started with, and the next one once that is in force."""
    serving = _single(tmp_path, number=7)
    snapshot = SnapshotReader(tmp_path / "config.yaml", {})()
    assert serving.workers() == [{"pid": os.getpid(), "generation": 7, "inFlight": 0, "retiring": 0}]
    await serving.activate(8, compile_snapshot(snapshot))
    assert serving.workers()[0]["generation"] == 8
    await serving.wind_down(0.0)


async def test_new_limits_are_for_the_next_connection(tmp_path):
    """A head that is longer than the limit of the last edit is refused."""
    serving = _single(tmp_path, "targets: {}\n")
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    await serving.start(named([listening]))
    (tmp_path / "config.yaml").write_text("limits: {maxHeaderSize: 1KiB}\ntargets: {}\n")
    await serving.activate(2, compile_snapshot(SnapshotReader(tmp_path / "config.yaml", {})()))
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    writer.write(b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 2000 + b"\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 431 ")
    writer.close()
    await serving.wind_down(0.0)


async def test_a_process_that_winds_down_abandons_what_holds_a_generation(tmp_path, monkeypatch, caplog):
    """A call to a bucket may never return."""
    monkeypatch.setattr("tornado_proxy.service.serving._CLOSE_WITHIN", 0.01)
    serving = _single(tmp_path)
    with serving._generations.current:
        async with asyncio.timeout(10):
            await serving.wind_down(0.0)
    assert [record.getMessage() for record in caplog.records] == ["abandoned calls to buckets that do not end"]


class _Tracer:
    """A tracer that notes its end."""

    closed = False

    def __init__(self, _tracing) -> None:
        pass

    def listen(self, _bus) -> None:
        """Listen to nothing."""

    def close(self) -> None:
        """Note it."""
        _Tracer.closed = True


async def test_a_process_that_winds_down_sends_its_last_traces(tmp_path, monkeypatch):
    """The tracer is closed, which sends what waits."""
    monkeypatch.setattr("tornado_proxy.service.serving.RequestTracer", _Tracer)
    serving = _single(tmp_path, "tracing: {endpoint: 'http://127.0.0.1:4318/v1/traces'}\ntargets: {}\n")
    await serving.wind_down(0.0)
    assert _Tracer.closed
