"""Custom pages whose headers a client writes, and those in a bucket that is away."""

import asyncio
import time

import pytest
from fakes import FailingStore
from memory_store import MemoryStore
from serving import part, serve

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.providers import Resource
from tornado_proxy.pages import custom
from tornado_proxy.pages.custom import FILE_HEADERS, BucketKey, Recipe
from tornado_proxy.storage.errors import Unreachable

# The text of a query in a header of each kind of page.
FROM_QUERY = (("X-Query", '{{ .Request.URL.Query.Get "q" }}'),)
CONTROLS = ["a%0Db", "a%0D%20b", "%1B", "%7F", "a%0Bb"]
KINDS = ["folder_list", "put", "delete", "not_found_error", "bad_request_error", FILE_HEADERS]


@pytest.mark.parametrize("control", CONTROLS)
async def test_a_control_character_for_a_header_is_a_mistake_of_the_client(control):
    """It is refused with 400 wherever a template writes a header, and nothing is stored or removed."""
    custom = {kind: Recipe(kind, None, FROM_QUERY) for kind in KINDS}
    get = GetAction(streamed_file_headers=FROM_QUERY)
    async with serve({"d/a": b"x"}, custom=custom, get=get) as site:
        answers = [
            await site.get(f"/d/?q={control}"),
            await site.get(f"/d/a?q={control}"),
            await site.request("HEAD", f"/d/a?q={control}"),
            await site.get(f"/missing?q={control}"),
            await site.get(f"/a%2F..?q={control}"),
            await site.upload(f"/d/?q={control}", part("file", b"hello", filename="b")),
            await site.request("DELETE", f"/d/a?q={control}"),
        ]
        assert [answer.status for answer in answers] == [400] * len(answers)
        assert not any({"x-query", "x-injected"} & answer.headers.keys() for answer in answers)
        assert [(await site.get(path)).status for path in ("/d/a", "/d/b")] == [200, 404]
        assert (await site.get("/d/a?q=plain")).headers["x-query"] == "plain"


async def test_a_control_character_for_s3_is_a_mistake_of_the_client():
    """The properties of an upload are headers for S3."""
    put = PutAction(enabled=True, metadata=(("a", '{{ .Input.RequestHeaders.Get "X-A" }}'),))
    store = MemoryStore()
    async with serve(store, actions=Actions(put=put)) as site:
        assert (await site.upload("/", part("file", b"x", filename="b"), X_A="a\tb")).status == 400
    assert store.keys() == ()


class _Away(MemoryStore):
    """A store that does not answer for templates while it is away."""

    is_away = True
    asked = 0

    async def open(self, key, *arguments):
        if key.startswith("pages/"):
            self.asked += 1
            if self.is_away:
                await asyncio.sleep(30)
                raise Unreachable("the bucket is away")
        return await super().open(key, *arguments)


IN_BUCKET = {
    kind: Recipe(kind, BucketKey(f"pages/{kind}"))
    for kind in ("not_found_error", "forbidden_error", "bad_request_error")
}


async def _timed(site, path):
    start = time.perf_counter()
    answer = await site.get(path)
    return answer, time.perf_counter() - start


async def test_an_error_does_not_wait_for_a_bucket_that_is_away(monkeypatch):
    """The first error waits for its page for a moment, the others not at all, and each keeps its status."""
    monkeypatch.setattr(custom.limits, "PAGE_WITHIN", 0.5)
    store = _Away()
    resources = (Resource("/closed", ("POST",)), Resource("/open/**", white_list=True))
    async with serve(store, custom=IN_BUCKET, resources=resources) as site:
        answer, seconds = await _timed(site, "/open/missing")
        assert (answer.status, 0.4 < seconds < 5) == (404, True)
        assert "There is nothing at this address" in answer.text
        for path, status in 3 * [("/open/missing", 404), ("/closed", 403), ("/open/../x", 400)]:
            answer, seconds = await _timed(site, path)
            assert (answer.status, seconds < 0.4) == (status, True)
    assert store.asked == len(IN_BUCKET) - 1  # an address that cannot be read has no target


async def test_a_bucket_that_is_back_is_noticed(monkeypatch):
    """A bucket that failed is asked again after a while, and errors do not wait for that either."""
    monkeypatch.setattr(custom.limits, "TEMPLATE_AGAIN_AFTER", 0.2)
    store = FailingStore(open=Unreachable("the bucket is away"))
    store.add("pages/forbidden_error", b"mine")
    async with serve(store, custom=IN_BUCKET, resources=(Resource("/closed", ("POST",)),)) as site:
        assert "You do not have access" in (await site.get("/closed")).text
        store.errors.clear()
        await asyncio.sleep(0.3)
        assert "You do not have access" in (await site.get("/closed")).text
        await asyncio.sleep(0.1)
        answer = await site.get("/closed")
    assert (answer.status, answer.text) == (403, "mine")


async def test_no_line_end_reaches_a_header():
    """Line ends of a template are left out, as those of its author are; so what follows one begins no header."""
    custom = {"folder_list": Recipe("folder_list", None, FROM_QUERY)}
    async with serve({"a": b""}, custom=custom) as site:
        answer = await site.get("/?q=a%0D%0AX-Injected:%20b%0Ac")
    assert (answer.status, answer.headers["x-query"]) == (200, "aX-Injected: bc")
    assert "x-injected" not in answer.headers


@pytest.mark.parametrize("content", [None, b"\xff", b"{{ x }}", b"x" * (custom.limits.LARGEST_BUCKET_TEMPLATE + 1)])
async def test_an_error_whose_page_is_not_usable_keeps_its_status(content):
    """A template that is missing, too large or wrong does not turn each 404 into a 500."""
    store = MemoryStore()
    if content is not None:
        store.add("pages/not_found_error", content)
    async with serve(store, custom=IN_BUCKET) as site:
        answer = await site.get("/missing")
    assert (answer.status, "There is nothing at this address" in answer.text) == (404, True)
