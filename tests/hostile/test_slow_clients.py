"""Clients that read or send slowly, so that others find nothing left: connections to S3, memory of uploads."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager

from endless_s3 import endless_s3
from hostile_s3 import wait_until
from memory_store import MemoryStore
from serving import head, serve
from stores import store_at

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.model import ArchiveOptions, ListingOptions
from tornado_proxy.wire import shares

MIB = 1024**2
NEXT = ("127.0.0.2", 0)  # the address of another client


@asynccontextmanager
async def site_at(url, **options):
    async with (
        store_at(url, **options) as store,
        serve(store, actions=Actions(put=PutAction(enabled=True, raw_uploads=True))) as site,
    ):
        yield site


async def test_slow_readers_leave_connections_for_others():
    """Where there are fewer connections than slow downloads, all are served, and so is the next client."""
    async with AsyncExitStack() as stack:
        url, _ = stack.enter_context(endless_s3())
        site = await stack.enter_async_context(site_at(url, connections=8))
        readers = [await stack.enter_async_context(site.connect(limit=1024)) for _ in range(8)]
        for reader in readers:
            await reader.send(head("GET", f"/{50 * MIB}.bin"))
        heads = [await reader.receive_head() for reader in readers]
        other = await stack.enter_async_context(site.connect(local_addr=NEXT))
        served = await other.request("GET", "/a.txt")
    assert [status for status, _ in heads] == [200] * 8
    assert (served.status, served.body) == (200, b"a.txt")


async def begin_part(stack, site, number: int, **options):
    """Announces a part of 64 MiB, and sends 70 kB of it."""
    client = await stack.enter_async_context(site.connect(**options))
    await client.send(head("PUT", f"/big?upload=part&id=1&number={number}", {}, 64 * MIB) + bytes(70_000))
    return client


async def test_announced_uploads_take_no_memory():
    """Sixteen parts of 64 MiB of which little arrives hinder neither another upload of their client nor one of the next."""
    async with AsyncExitStack() as stack:
        url, traffic = stack.enter_context(endless_s3())
        site = await stack.enter_async_context(site_at(url))
        for number in range(1, 17):
            await begin_part(stack, site, number)
        await asyncio.sleep(0.5)
        async with asyncio.timeout(20):
            mine = await site.request("PUT", "/a", body=bytes(MIB))
            other = await stack.enter_async_context(site.connect(local_addr=NEXT))
            others = await other.request("PUT", "/b", body=bytes(MIB))
    assert (mine.status, others.status, traffic.stored) == (201, 201, 2)


async def test_a_client_does_not_fill_the_memory_of_uploads():
    """A client whose unfinished files have more bytes than its share waits; the next client's upload is stored."""
    async with AsyncExitStack() as stack:
        url, traffic = stack.enter_context(endless_s3())
        site = await stack.enter_async_context(site_at(url, upload_memory=8 * MIB, part_size=2 * MIB))
        for number in range(8):
            client = await stack.enter_async_context(site.connect())
            await client.send(head("PUT", f"/{number}", {}, 2 * MIB))
            client.writer.write(bytes(2 * MIB - 1))
        await asyncio.sleep(0.5)
        other = await stack.enter_async_context(site.connect(local_addr=NEXT))
        async with asyncio.timeout(20):
            others = await other.request("PUT", "/b", body=bytes(MIB))
    assert (others.status, traffic.stored) == (201, 1)


class _Tree(MemoryStore):
    """A directory of 30 others, which are listed once the gate is open; `below` counts the attempts."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.below = asyncio.Event(), 0
        for number in range(30):
            self.add(f"d/{number}/a", b"x")

    async def list(self, prefix, after=None, limit=1000):
        if prefix != "d/":
            self.below += 1
            await self.gate.wait()
        return await super().list(prefix, after, limit)


ARCHIVES = ListingOptions(archive=ArchiveOptions(enabled=True))


async def test_head_of_an_archive_walks_nothing():
    """HEAD of an archive lists no directory below its own."""
    store = _Tree()
    async with serve(store, listing=ARCHIVES) as site:
        answer = await site.request("HEAD", "/d/?format=zip")
    assert (answer.status, store.below) == (200, 0)


async def test_archives_are_limited(monkeypatch):
    """A client that requests many archives has a share of the walks at once; the next client has one too."""
    monkeypatch.setattr(shares, "PLACE_WITHIN", 0.1)
    store = _Tree()
    async with serve(store, listing=ARCHIVES) as site, AsyncExitStack() as stack:
        crowd = [asyncio.ensure_future(site.get("/d/?format=zip")) for _ in range(10)]
        await wait_until(lambda: sum(each.done() for each in crowd) == 7)
        assert store.below == 3
        other = await stack.enter_async_context(site.connect(local_addr=NEXT))
        last = asyncio.ensure_future(other.request("GET", "/d/?format=tar"))
        await wait_until(lambda: store.below == 4)
        store.gate.set()
        statuses = [(await each).status for each in (*crowd, last)]
    assert sorted(statuses) == [200] * 4 + [503] * 7
