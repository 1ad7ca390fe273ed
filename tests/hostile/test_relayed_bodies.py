"""Bodies that the kernel moves from S3's socket to the client's: they break off, stall, and are read slowly like others."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager

import pytest
import uvloop
from hostile_s3 import hostile_s3, wait_until
from http2_client import connect, tls_client, tls_setup
from ranged_s3 import RangedS3
from scripted_s3 import Then
from serving import head, serve
from stores import store_at

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.config.server import Compress, Server
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.wire import stream
from tornado_proxy.wire.splicing import splice

KIB, MIB = 1024, 1024**2
BODY = random.Random(5).randbytes(4 * MIB)
OTHER = random.Random(6).randbytes(4 * MIB)
NO_TYPE = {"Content-Type": "application/x-bytes"}


@pytest.fixture
def spliced(monkeypatch) -> list[int]:
    """How many bytes each call took from the socket of S3."""
    counts: list[int] = []

    def counted(*arguments):
        outcome = splice(*arguments)
        counts.append(outcome[0])
        return outcome

    monkeypatch.setattr(stream, "splice", counted)
    return counts


def first_only(after: int, then: Then):
    """Breaks the answer to the first request."""
    return lambda number: (after, then) if number == 0 else None


@asynccontextmanager
async def site_of(*, breaks=lambda _: None, wrapped=lambda store: store, limits=None, **parts):
    """Serves an S3 that breaks its answers; `limits` are those of the store."""
    ranged = RangedS3(BODY, breaks, added=NO_TYPE)
    async with (
        hostile_s3(ranged) as ranged.s3,
        store_at(ranged.s3.url, **{"max_attempts": 2, **(limits or {})}) as store,
        serve(wrapped(store), **parts) as site,
    ):
        yield site, ranged


def cached(size: int):
    """Puts a cache for objects of at most this size in front of a store."""
    return lambda store: CachingStore(store, ObjectCache(max_object_size=size), CacheCounts())


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_a_large_body_goes_past(new_loop, spliced):
    """On both loops it is whole, it is counted, and both connections take another request."""

    async def download_twice():
        async with site_of() as (site, ranged), site.connect() as client:
            answers = [await client.request("GET", "/a") for _ in range(2)]
            event = await site.last_event()
            return answers, event, ranged.s3.connections_made

    with asyncio.Runner(loop_factory=new_loop) as runner:
        answers, event, connections = runner.run(download_twice())
    assert [answer.body == BODY for answer in answers] == [True, True]
    assert (event.sent, event.complete, connections) == (len(BODY), True, 1)
    assert sum(spliced) > MIB


@pytest.mark.parametrize(("after", "then"), [(2 * MIB, Then.CLOSE), (2 * MIB, Then.SILENCE), (40 * KIB, Then.CLOSE)])
async def test_a_body_that_stops_goes_on(after, then, spliced):
    """The next call asks for what neither was read nor went past, and its bytes go past too."""
    async with site_of(breaks=first_only(after, then), limits={"read_timeout": 0.3, "timeout": 20}) as (site, ranged):
        answer = await site.get("/a", Range="bytes=1000-")
        event = await site.last_event()
    assert answer.body == BODY[1000:]
    assert ranged.gets() == ["bytes=1000-", f"bytes={1000 + after}-{len(BODY) - 1}"]
    assert event.sent == len(BODY) - 1000
    assert sum(spliced) > 40 * KIB


async def test_two_objects_are_never_joined(spliced):
    """An object that was replaced after some bytes went past is cut."""
    ranged_of = []

    def breaks(_number):
        ranged_of[0].replace(OTHER)
        return 2 * MIB, Then.CLOSE

    async with site_of(breaks=breaks) as (site, ranged):
        ranged_of.append(ranged)
        answer = await site.get("/a")
        event = await site.last_event()
    assert not answer.complete
    assert answer.body == BODY[: 2 * MIB]
    assert (event.complete, event.sent) == (False, 2 * MIB)
    assert sum(spliced) > 0


async def test_a_slow_client_lets_the_connection_to_s3_go(spliced):
    """A client that stops in the middle frees S3's connection, holds little memory, and gets the rest when it reads on."""
    async with site_of(limits={"release_after": 0.2}) as (site, ranged), site.connect(limit=1024) as client:
        await client.send(head("GET", "/a"))
        await client.receive_head()
        received = await client.reader.readexactly(MIB)
        await wait_until(lambda: not ranged.s3.open_connections)
        received += await client.reader.readexactly(len(BODY) - MIB)
    assert received == BODY
    assert len(ranged.gets()) > 1
    assert sum(spliced) > 0


async def test_a_client_that_leaves_ends_the_read(spliced):
    """In the middle of a body: S3's connection is closed, and the event has what was sent."""
    async with site_of() as (site, ranged):
        async with site.connect(limit=1024) as client:
            await client.send(head("GET", "/a"))
            await client.receive_head()
            await client.reader.readexactly(MIB)
            client.abort()
        event = await site.last_event()
        await wait_until(lambda: not ranged.s3.open_connections)
    assert not event.complete
    assert MIB <= event.sent < len(BODY)
    assert sum(spliced) > 0


async def test_an_object_that_is_too_large_for_the_cache_goes_past(spliced):
    """What the cache passes on is not copied."""
    async with site_of(wrapped=cached(MIB)) as (site, _):
        answer = await site.get("/a")
    assert (answer.body == BODY, answer.headers["x-cache"]) == (True, "miss")
    assert sum(spliced) > 0


async def test_an_object_that_is_cached_does_not(spliced):
    """The cache has all of it."""
    async with site_of(wrapped=cached(len(BODY))) as (site, _):
        answers = [await site.get("/a") for _ in range(2)]
    assert [answer.body == BODY for answer in answers] == [True, True]
    assert answers[1].headers["x-cache"] == "hit"
    assert spliced == []


async def test_a_compressed_body_does_not(spliced):
    """Its bytes are others."""
    server = Server(compress=Compress(types=("application/x-bytes",)))
    async with site_of(server=server) as (site, _):
        answer = await site.get("/a", Accept_Encoding="gzip")
    assert "content-encoding" in answer.headers
    assert spliced == []


async def test_tls_does_not(spliced):
    """The kernel has no keys of it."""
    async with site_of() as (site, _):
        site.server.setup = tls_setup()
        async with site.connect(ssl=tls_client("http/1.1")) as client:
            answer = await client.request("GET", "/a")
    assert answer.body == BODY
    assert spliced == []


async def test_http2_does_not(spliced):
    """Its bytes come in frames."""
    async with site_of() as (site, _), connect(site) as client:
        answer = await client.request("GET", "/a")
    assert answer.body == BODY
    assert spliced == []
