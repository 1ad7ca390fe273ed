"""Reads from S3 that break off and go on, behind all that passes a body on to a client."""

import gzip
import io
import random
import ssl
import zipfile
from contextlib import asynccontextmanager
from types import MappingProxyType

import pytest
from certificates import pair
from hostile_s3 import hostile_s3, wait_until
from http2_client import connect
from memory_store import MemoryStore
from ranged_s3 import RangedS3
from scripted_s3 import Then
from serving import generation, head, serve
from stores import store_at

from tornado_proxy.config.actions import Actions, GetAction, Webhook
from tornado_proxy.config.model import ArchiveOptions, ListingOptions, ObjectCache
from tornado_proxy.config.server import Compress, Server
from tornado_proxy.pages.custom import BucketKey, Recipe
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.store import ForwardingStore
from tornado_proxy.telemetry.events import Served

KIB = 1024
BODY = random.Random(3).randbytes(600 * KIB)
OTHER = random.Random(4).randbytes(600 * KIB)


def _once(number, after=300 * KIB):
    """Breaks the first answer."""
    return (after, Then.CLOSE) if number == 0 else None


def _early(number):
    """Breaks the first answer after little."""
    return _once(number, 20 * KIB)


def _always(number):
    """Breaks the first answer, and each that continues it at once."""
    return (300 * KIB if number == 0 else 0, Then.CLOSE)


class _Listed(ForwardingStore):
    """The store of an S3 that lists nothing, with listings of its own."""

    def __init__(self, behind, *keys, body=BODY):
        super().__init__(behind)
        self._listings = MemoryStore(dict.fromkeys(keys, body))

    async def list(self, *arguments):
        """Lists the keys."""
        return await self._listings.list(*arguments)


@asynccontextmanager
async def _broken(
    *, reads="loop", body=BODY, breaks=_once, wrapped=lambda store: store, limits=MappingProxyType({}), **parts
):
    """Serves an S3 whose first answer breaks off; `limits` are those of the store."""
    ranged = RangedS3(body, breaks, added={"Content-Type": "text/plain"})
    async with (
        hostile_s3(ranged) as ranged.s3,
        store_at(ranged.s3.url, reads, **{"max_attempts": 2, "resumes": 1, **limits}) as store,
        serve(wrapped(store), **parts) as site,
    ):
        yield site, ranged


def _cached(store):
    return CachingStore(store, ObjectCache(), CacheCounts())


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_a_part_that_breaks_off_is_whole(reads):
    """A range, and the same by HTTP/2; HEAD has no body to resume."""
    async with _broken(reads=reads) as (site, ranged):
        answer = await site.get("/a", Range=f"bytes=100-{500 * KIB}")
        assert (await site.request("HEAD", "/a")).headers["content-length"] == str(len(BODY))
    assert (answer.status, answer.body) == (206, BODY[100 : 500 * KIB + 1])
    assert ranged.gets()[:2] == [f"bytes=100-{500 * KIB}", f"bytes={100 + 300 * KIB}-{500 * KIB}"]


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_a_read_goes_on_with_the_authority_of_its_bucket(tmp_path, reads):
    """The connection that continues it is verified as the first one was."""
    made = pair("localhost")
    (tmp_path / "both.pem").write_text(made.chain + made.key)
    (tmp_path / "bundle.pem").write_text(made.chain)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "both.pem")
    ranged = RangedS3(BODY, _once)
    async with hostile_s3(ranged, tls=tls) as ranged.s3:
        url, limits = f"https://localhost:{ranged.s3.port}", {"max_attempts": 2, "resumes": 1}
        async with store_at(url, reads, ca_path=tmp_path / "bundle.pem", **limits) as store, serve(store) as site:
            assert (await site.get("/a")).body == BODY
    assert len(ranged.gets()) == 2


async def test_a_body_that_breaks_off_is_whole_by_http2():
    """Its stream is not reset."""
    async with _broken() as (site, _), connect(site) as client:
        answer = await client.request("GET", "/a")
    assert (answer.body, answer.complete) == (BODY, True)


async def test_a_resumed_object_is_kept():
    """The cache has the whole of it."""
    async with _broken(wrapped=_cached) as (site, ranged):
        answers = [await site.get("/a") for _ in range(2)]
    assert [answer.body for answer in answers] == [BODY] * 2
    assert answers[1].headers["x-cache"] == "hit"
    assert len(ranged.s3.requests) == 2


async def test_an_object_that_changes_meanwhile_is_not_kept():
    """What would have been kept is not the object any more; the next answer has the new one."""
    ranged_of = []

    def breaks(number):
        if number == 0:
            ranged_of[0].replace(OTHER)
        return _once(number)

    async with _broken(wrapped=_cached, breaks=breaks) as (site, ranged):
        ranged_of.append(ranged)
        failed, whole = await site.get("/a"), await site.get("/a")
    assert failed.status == 502
    assert whole.body == OTHER


async def test_a_resumed_body_is_compressed_whole():
    """The stream of the compressor goes on."""
    async with _broken(server=Server(compress=Compress())) as (site, _):
        answer = await site.get("/a", Accept_Encoding="gzip")
    assert gzip.decompress(answer.body) == BODY


@pytest.mark.parametrize("breaks", [_once, _always])
async def test_a_resumed_file_of_an_archive_is_whole(breaks):
    """The archive goes on; one that cannot is cut."""
    listing = ListingOptions(archive=ArchiveOptions(enabled=True))
    async with _broken(listing=listing, wrapped=lambda store: _Listed(store, "d/a"), breaks=breaks) as (site, _):
        answer = await site.get("/d/?format=zip")
    assert answer.complete is (breaks is _once)
    if answer.complete:
        with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
            assert archive.read("d/a") == BODY


async def test_a_page_in_the_bucket_is_whole():
    """Its template is read to its end."""
    text = b"{{/* " + b"x" * (40 * KIB) + b" */}}the page"
    custom = {"folder_list": Recipe("folder_list", BucketKey("page.tpl"))}
    async with _broken(body=text, breaks=_early, custom=custom, wrapped=lambda store: _Listed(store, "a")) as (
        site,
        ranged,
    ):
        assert (await site.get("/")).text == "the page"
    assert len(ranged.s3.requests) == 2


async def test_a_readme_is_whole():
    """It is read for its page."""
    text = b"the beginning " + b"x" * (28 * KIB) + b" the end"
    listing = ListingOptions(readme=True)
    async with _broken(
        body=text, breaks=_early, listing=listing, wrapped=lambda store: _Listed(store, "README.txt", body=text)
    ) as (site, ranged):
        assert "the end" in (await site.get("/", Accept="text/html")).text
    assert len(ranged.s3.requests) == 2


@pytest.mark.parametrize("breaks", [_once, _always])
async def test_a_resumed_read_is_reported_once(breaks):
    """By a webhook, if it came to its end, and by one line of the log."""
    get = GetAction(webhooks=(Webhook("http://127.0.0.1:1/"),))
    async with _broken(actions=Actions(get), breaks=breaks) as (site, _):
        answer = await site.get("/a")
        used = await site.used()
        served = [event for event in site.events if isinstance(event, Served)]
    assert len(used) == answer.complete == (breaks is _once)
    assert [each.complete for each in served] == [answer.complete]


async def test_a_read_goes_on_in_its_generation():
    """A reload in between leads to another bucket; what was begun is continued from its own."""
    elsewhere = MemoryStore({"a": OTHER})

    def breaks(number):
        if number == 0:
            sites[0].swap(generation(elsewhere, number=2))
        return _once(number)

    sites = []
    async with _broken(breaks=breaks) as (site, _):
        sites.append(site)
        first = site.generations.in_force
        begun, next_one = await site.get("/a"), await site.get("/a")
        await first.retire()
    assert (begun.body, next_one.body) == (BODY, OTHER)


@pytest.mark.parametrize("reads", ["loop", "executor"])
@pytest.mark.parametrize("second", [(0, Then.CLOSE), (0, Then.SILENCE)])
async def test_a_client_that_leaves_frees_what_its_read_held(reads, second):
    """In a pause before the next try, and while S3 is silent: the only connection and the only place of the memory."""

    def breaks(number):
        return {0: (300 * KIB, Then.CLOSE), 1: second}.get(number)

    limits = {"resumes": 8, "connections": 1, "threads": 1, "read_memory": 128 * KIB}
    async with _broken(reads=reads, breaks=breaks, limits=limits) as (site, ranged):
        async with site.connect() as client:
            await client.send(head("GET", "/a"))
            await client.receive_head()
            await wait_until(lambda: len(ranged.s3.requests) > 1)
            client.abort()
        assert (await site.get("/a")).body == BODY
        await site.last_event()
