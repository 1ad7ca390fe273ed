"""Objects in memory are answered as others are."""

import asyncio

import pytest
from memory_store import MemoryStore
from serving import PAGES, head, serve

from tornado_proxy.config.model import ObjectCache
from tornado_proxy.config.server import CacheHeaders, Compress, Cors, Server
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import Served

_OF_A_REQUEST = ("date", "x-request-id", "x-cache", "age")


def _cached(content: bytes = b"hello" * 100) -> CachingStore:
    store = MemoryStore()
    store.add("a.txt", content, ObjectInfo(len(content), '"e"', content_type="text/plain", cache_control="max-age=60"))
    return CachingStore(store, ObjectCache(), CacheCounts())


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"Accept-Encoding": "gzip"}),
        ("GET", {"Origin": "https://app.test"}),
        ("GET", {"Range": "bytes=1-2"}),
        ("GET", {"If-None-Match": '"e"'}),
        ("GET", {"If-Match": '"other"'}),
        ("HEAD", {}),
    ],
)
async def test_an_object_in_memory_has_the_answer_of_one_that_was_fetched(method, headers):
    """The second answer has the status, the headers and the body of the first one, but for the cache's."""
    settings = Server(compress=Compress(min_size=1), cors=Cors(enabled=True, allow_all=True))
    async with serve(_cached(), server=settings) as site:
        answers = [await site.request(method, "/a.txt", headers) for _ in range(2)]
        events = [event for event in site.events if isinstance(event, Served)]
    first, second = (
        (each.status, {name: value for name, value in each.headers.items() if name not in _OF_A_REQUEST}, each.body)
        for each in answers
    )
    assert first[:2] == second[:2]
    assert first[2] == second[2] or first[0] == 412  # whose page has the ID of the request
    assert [(event.status, event.sent) for event in events] == [(first[0], len(first[2]))] * 2


async def test_a_large_object_is_streamed():
    """An object in memory that is too large to be sent in one piece arrives whole."""
    content = bytes(range(256)) * 1024
    async with serve(_cached(content)) as site:
        assert [(await site.get("/a.txt")).body == content for _ in range(2)] == [True, True]


async def test_a_client_that_reads_nothing_is_sent_no_more():
    """Of 2,000 requests that a client sends without reading, those whose answers fit into buffers are answered."""
    content = b"x" * 16 * 1024
    async with serve(_cached(content)) as site, site.connect() as client:
        await client.request("GET", "/a.txt")
        await client.send(head("GET", "/a.txt") * 2000)
        answered = -1
        while answered != len(site.events):
            answered = len(site.events)
            await asyncio.sleep(0.1)
        assert answered < 2000
        bodies = [(await client.receive()).body for _ in range(2000)]
    assert set(bodies) == {content}


async def test_a_defect_in_an_answer_of_the_service_is_a_500():
    """An answer that cannot be sent, here with a line end in a header, becomes the page of an error."""
    broken = Server(cache=CacheHeaders(expires="a\nb"))
    async with serve({}, server=broken) as site:
        answers = [await site.get(f"/.tornado-proxy/{next(iter(PAGES.assets))}"), await site.get("/missing")]
    assert [each.status for each in answers] == [500, 404]
