"""Clients that read or send slowly, so that others find nothing left: connections to S3, memory of uploads."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from endless_s3 import endless_s3
from serving import head, serve
from stores import store_at

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.storage import shares

MIB = 1024**2
NEXT = ("127.0.0.2", 0)  # the address of another client


@asynccontextmanager
async def site_at(url, **options):
    async with (
        store_at(url, **options) as store,
        serve(store, actions=Actions(put=PutAction(enabled=True, raw_uploads=True))) as site,
    ):
        yield site


async def test_slow_readers_leave_connections_for_others(monkeypatch):
    """A client that keeps too many downloads waiting is refused some; the next client gets its file."""
    monkeypatch.setattr(shares, "PATIENCE", 0.1)
    async with AsyncExitStack() as stack:
        url, _ = stack.enter_context(endless_s3())
        site = await stack.enter_async_context(site_at(url, connections=8))
        readers = [await stack.enter_async_context(site.connect(limit=1024)) for _ in range(8)]
        for reader in readers:
            await reader.send(head("GET", f"/{50 * MIB}.bin"))
        heads = [await reader.receive_head() for reader in readers]
        other = await stack.enter_async_context(site.connect(local_addr=NEXT))
        served = await other.request("GET", "/a.txt")
    assert sorted(status for status, _ in heads) == [200] * 6 + [503] * 2
    assert [headers["retry-after"] for status, headers in heads if status == 503] == ["2", "2"]
    assert (served.status, served.body) == (200, b"a.txt")
