"""Custom pages over HTTP: the pages that they replace, and failing templates."""

import asyncio
import gzip
import json
from contextlib import suppress

import pytest
from fakes import Clock, FailingStore, OneObjectStore, ScriptedBody
from memory_store import MemoryStore
from serving import part, serve

from tornado_proxy.config.actions import GetAction
from tornado_proxy.config.model import Bucket
from tornado_proxy.pages.custom import (
    FILE_HEADERS,
    BucketKey,
    FolderEntry,
    FolderListData,
    PageFailed,
    PageRenderer,
    Recipe,
    read_text,
)
from tornado_proxy.pages.limits import LARGEST_BUCKET_TEMPLATE, TEMPLATE_AGAIN_AFTER, TEMPLATE_FRESH
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.request import Request
from tornado_proxy.storage.errors import Busy
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.tools.convert.settings import default_page


def _recipe(kind, body, headers=(), status=""):
    return {kind: Recipe(kind, body, tuple(headers), status)}


async def test_an_error_page_can_be_custom():
    """A custom error page has the status of the error, its own headers, and data of the request."""
    body = "{{ .Error }}: {{ .Request.URL.Path }}"
    async with serve({}, custom=_recipe("not_found_error", body, [("X-A", "1"), ("Cache-Control", "")])) as site:
        answer = await site.get("/a%26%3Cb%3E")
    assert (answer.status, answer.text) == (404, "There is nothing at this address: /a&amp;")
    assert (answer.headers["x-a"], answer.headers["content-type"]) == ("1", "text/html; charset=utf-8")
    assert "cache-control" not in answer.headers
    assert "content-security-policy" not in answer.headers


async def test_a_page_can_change_the_status():
    async with serve({}, custom=_recipe("not_found_error", "gone", status="410")) as site:
        answer = await site.get("/a")
        event = await site.last_event()
    assert (answer.status, event.status) == (410, 410)


async def test_a_head_has_the_headers_of_the_page():
    async with serve({}, custom=_recipe("not_found_error", "gone")) as site:
        answer = await site.request("HEAD", "/a")
    assert (answer.status, answer.headers["content-length"], answer.body) == (404, "4", b"")


async def test_a_listing_can_be_custom():
    """Entries have encoded links, plain names and keys of S3, and the next page is linked in a header."""
    body = (
        "{{ range .Entries }}{{ .Type }} {{ .Name }} {{ .Path }} {{ .Key }} {{ .Size }};{{ end }}{{ .Name }}{{ .Next }}"
    )
    async with serve({"d/<a>": b"x", "d/e/f": b"x", "d/g": b"x"}, custom=_recipe("folder_list", body)) as site:
        answer = await site.get("/d/?limit=2")
    assert answer.text.startswith("FOLDER e/ /d/e/ d/e/ 0;FILE <a> /d/%3Ca%3E d/<a> 1;site/d/?after=")
    assert 'rel="next"' in answer.headers["link"]


@pytest.mark.parametrize(("most", "expected"), [(1000, 1000), (2500, 2500), (10_000, 2601)])
async def test_a_custom_listing_has_as_many_entries_as_configured(most, expected):
    """The page gets the entries of several answers of S3, directories first; the rest is on the next page."""
    files = {f"{number:04}": b"" for number in range(2600)} | {"0500x/a": b""}
    custom = _recipe("folder_list", default_page("templates/folder-list.tpl"))
    async with serve(files, custom=custom, bucket=Bucket("b", list_max_keys=most)) as site:
        answer = await site.get("/", Accept="application/json")
    entries = json.loads(answer.text)
    assert len(entries) == len({each["name"] for each in entries}) == expected
    assert entries[0]["name"] == "0500x/"
    assert ("link" in answer.headers) == (expected < 2601)


def test_a_page_of_all_entries_is_rendered():
    """The default page of s3-proxy can show as many entries as the configuration allows."""
    page = Recipe("folder_list", default_page("templates/folder-list.tpl")).compiled()
    entries = tuple(FolderEntry(f"name{number}", "/d/name", "d/name", "FILE", 3) for number in range(10_000))
    body = page.render(FolderListData(Request(), None, entries, "bucket", "site", "")).body
    assert body.count(b"<a href=") == 10_001


async def test_a_page_of_the_service_has_a_thousand_entries():
    """Without a body of one's own, a page has at most 1,000 entries, whatever is configured; programs get all."""
    files = {f"{number:04}": b"" for number in range(1100)}
    custom = _recipe("folder_list", None, [("X-A", "{{ len .Entries }}")])
    async with serve(files, custom=custom, bucket=Bucket("b", list_max_keys=5000)) as site:
        page, whole = await site.get("/", Accept="text/html"), await site.get("/?format=json")
    assert (page.text.count('scope="row"'), page.headers["x-a"]) == (1000, "1000")
    assert (len(json.loads(whole.text)["entries"]), whole.headers["x-a"]) == (1100, "1000")


async def test_a_page_can_change_only_headers_and_status():
    """Without a custom body, the default body is sent."""
    async with serve({"a": b""}, custom=_recipe("folder_list", None, [("X-A", "b")], "203")) as site:
        answer = await site.get("/", Accept="application/json")
    assert (answer.status, answer.headers["x-a"]) == (203, "b")
    assert b'"entries"' in answer.body


async def test_answers_to_uploads_and_removals_can_be_custom():
    """The templates have data of the upload or the removal, and a 204 has no body."""
    custom = _recipe("put", "{{ .PutData.Key }} {{ .PutData.ContentSize }} {{ .PutData.Filename }}", status="200")
    custom |= _recipe("delete", "{{ .DeleteData.Key }}", [("X-Key", "{{ .DeleteData.Key }}")], "204")
    async with serve({}, custom=custom) as site:
        put = await site.upload("/d/", part("file", b"hello", filename="a.txt"))
        removed = await site.request("DELETE", "/d/a.txt")
    assert (put.status, put.text, put.headers["location"]) == (200, "d/a.txt 5 a.txt", "/d/a.txt")
    assert (removed.status, removed.body, removed.headers["x-key"]) == (204, b"", "d/a.txt")
    assert "content-type" not in removed.headers


async def test_headers_of_files_can_be_custom():
    """Headers from templates replace those of the object; an empty result changes nothing."""
    headers = (("X-Type", "{{ .StreamFile.ContentType }}"), ("Cache-Control", "no-store"), ("ETag", ""))
    custom = {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}
    async with serve({"a": b"x"}, custom=custom, get=GetAction(streamed_file_headers=headers)) as site:
        answers = [await site.get("/a"), await site.request("HEAD", "/a")]
    for answer in answers:
        assert (answer.headers["x-type"], answer.headers["cache-control"]) == ("binary/octet-stream", "no-store")
        assert "etag" in answer.headers


async def test_a_304_has_custom_headers_for_caches():
    headers = (("cache-control", "max-age=9"), ("X-Type", "{{ .StreamFile.ContentType }}"))
    custom = {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}
    async with serve({"a": b"x"}, custom=custom, get=GetAction(streamed_file_headers=headers)) as site:
        full = await site.get("/a")
        unchanged = await site.get("/a", If_None_Match=full.headers["etag"])
    assert (unchanged.status, unchanged.headers["cache-control"]) == (304, "max-age=9")
    assert unchanged.headers["etag"] == full.headers["etag"]
    assert {"x-type", "content-type", "accept-ranges"}.isdisjoint(unchanged.headers)


async def test_headers_of_files_can_use_metadata():
    """Names of metadata are spelt like headers, as in s3-proxy; a missing one adds no header."""
    headers = (
        ("X-Credit", '{{ index .StreamFile.Metadata "Photo-Credit" }}'),
        ("X-None", '{{ index .StreamFile.Metadata "Nobody" }}'),
    )
    custom = {FILE_HEADERS: Recipe(FILE_HEADERS, None, headers)}
    store = MemoryStore()
    store.add("a", b"x", ObjectInfo(1, metadata=(("photo-credit", "Ann Ü"),)))
    async with serve(store, custom=custom, get=GetAction(streamed_file_headers=headers)) as site:
        answer = await site.get("/a")
    assert answer.headers["x-credit"].encode("latin-1").decode() == "Ann Ü"
    assert "x-none" not in answer.headers


@pytest.mark.parametrize("body", ["{{ index .Request.Header.Nothing 1 }}", "{{ range 100000000 }}{{ end }}"])
async def test_a_failing_page_is_a_default_500(body, caplog):
    async with serve({"a": b""}, custom=_recipe("folder_list", body)) as site:
        answer = await site.get("/")
        event = await site.last_event()
    assert (answer.status, event.status) == (500, 500)
    assert b"Something went wrong" in answer.body
    assert "the page `folderList` failed" in caplog.text


async def test_a_failing_error_page_is_a_default_500(caplog):
    """The default page is sent even if the custom page of a 500 fails too."""
    failing = "{{ index .Request.Header.Nothing 1 }}"
    custom = _recipe("not_found_error", failing) | _recipe("internal_server_error", failing)
    async with serve({}, custom=custom) as site:
        answer = await site.get("/a")
    assert (answer.status, b"Something went wrong" in answer.body) == (500, True)
    assert "the page `notFoundError` failed" in caplog.text


async def test_a_failing_header_of_a_file_is_a_500():
    """If the template of a header fails, the object is closed."""
    custom = {FILE_HEADERS: Recipe(FILE_HEADERS, None, (("A", "{{ index .Request.Header.Nothing 1 }}"),))}
    body = ScriptedBody([b"x"], 1)
    async with serve(OneObjectStore(body), custom=custom, get=GetAction(streamed_file_headers=(("A", "x"),))) as site:
        assert (await site.get("/a")).status == 500
    assert body.closed.is_set()


@pytest.mark.parametrize(
    "body", [ScriptedBody([b"mine"], 4), ScriptedBody([], LARGEST_BUCKET_TEMPLATE + 1), ScriptedBody([Busy("x")], 4)]
)
async def test_the_object_of_a_template_is_closed(body):
    with suppress(PageFailed, Busy):
        await read_text(OneObjectStore(body), ObjectKey("t/nf"), LARGEST_BUCKET_TEMPLATE)
    assert body.closed.is_set()


async def test_a_template_can_be_in_a_bucket():
    """A template and its helpers are read from the bucket; if they are missing, the service's own page is sent."""
    recipe = Recipe("not_found_error", BucketKey("t/nf"), (), "", (BucketKey("t/h"),))
    store = {"t/nf": b'{{ template "a" }}', "t/h": b'{{ define "a" }}mine{{ end }}'}
    async with serve(store, custom={"not_found_error": recipe}) as site:
        assert ((await site.get("/x")).status, (await site.get("/x")).text) == (404, "mine")
    async with serve({}, custom={"not_found_error": recipe}) as site:
        answer = await site.get("/x")
    assert (answer.status, "There is nothing at this address" in answer.text) == (404, True)


class _CountingStore(MemoryStore):
    """A store that counts how often an object is opened."""

    opened = 0

    async def open(self, *arguments):
        self.opened += 1
        await asyncio.sleep(0)
        return await super().open(*arguments)


RECIPE = Recipe("put", BucketKey("t"))


async def test_concurrent_requests_share_one_read():
    """A template is read once for all requests, and again after a minute."""
    store, clock = _CountingStore(), Clock()
    store.add("t", b"one")
    pages = PageRenderer(clock=clock)
    await asyncio.gather(*(pages.page("site", RECIPE, store) for _ in range(5)))
    assert store.opened == 1
    store.add("t", b"two")
    clock.now += TEMPLATE_FRESH - 1
    assert (await pages.page("site", RECIPE, store)).body.text == "one"
    clock.now += 1
    assert (await pages.page("site", RECIPE, store)).body.text == "two"


async def test_a_page_after_a_failure_has_the_usual_lifetime():
    store, clock = _CountingStore(), Clock()
    pages = PageRenderer(clock=clock)
    with pytest.raises(PageFailed):
        await pages.page("site", RECIPE, store)
    store.add("t", b"one")
    for seconds in (TEMPLATE_AGAIN_AFTER, TEMPLATE_FRESH - 1):
        clock.now += seconds
        await pages.page("site", RECIPE, store)
    assert store.opened == 2


async def test_a_disconnect_does_not_cancel_a_shared_read():
    """The other requests that wait for the page get it."""
    gate = asyncio.Event()

    class _Gated(MemoryStore):
        async def open(self, *arguments):
            await gate.wait()
            return await super().open(*arguments)

    store = _Gated()
    store.add("t", b"one")
    pages = PageRenderer(clock=Clock())
    async with asyncio.TaskGroup() as group:
        cancelled = group.create_task(pages.page("site", RECIPE, store))
        waiting = group.create_task(pages.page("site", RECIPE, store))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.sleep(0)
        gate.set()
    assert waiting.result().body.text == "one"


async def test_a_failing_bucket_keeps_the_previous_page():
    store, clock = MemoryStore(), Clock()
    store.add("t", b"one")
    pages = PageRenderer(clock=clock)
    await pages.page("site", RECIPE, store)
    clock.now += TEMPLATE_FRESH
    assert (await pages.page("site", RECIPE, FailingStore())).body.text == "one"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{{ x }}", "unknown function `x`"),
        (b"\xff", "`t` is not UTF-8"),
        (b"x" * (LARGEST_BUCKET_TEMPLATE + 1), f"`t` is larger than {LARGEST_BUCKET_TEMPLATE} bytes"),
    ],
)
async def test_an_invalid_template_is_read_once(content, message):
    """The error names the defect, and the next request does not read the template again."""
    store = _CountingStore()
    store.add("t", content)
    pages = PageRenderer(clock=Clock())
    for _ in range(2):
        with pytest.raises(PageFailed, match=message):
            await pages.page("site", RECIPE, store)
    assert store.opened == 1


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (gzip.compress(b"text", mtime=0), None),
        (gzip.compress(b"x" * 200, mtime=0), "`t` is larger than 100 bytes"),
        (b"text", "`t` is not gzip"),
    ],
)
async def test_a_packed_text_is_read(stored, message):
    """A text that is stored with gzip is unpacked, within its limit."""
    store = MemoryStore()
    store.add("t", stored, ObjectInfo(len(stored), content_encoding="gzip"))
    if message is None:
        assert await read_text(store, ObjectKey("t"), 100) == "text"
        return
    with pytest.raises(PageFailed, match=message):
        await read_text(store, ObjectKey("t"), 100)


async def test_a_bad_request_page_sees_the_request():
    """The page of a request whose path cannot be read has its method, path as sent, query, headers and address."""
    body = '{{ with .Request }}{{ .Method }} {{ .URL.Path }} {{ .URL.RawQuery }} {{ .Header.Get "X-A" }}{{ end }}'
    async with serve({}, custom=_recipe("bad_request_error", body)) as site:
        answer = await site.get("/a/%2e%2e/b?c=d", **{"X-A": "1"})
    assert (answer.status, answer.text) == (400, "GET /a/%2e%2e/b c=d 1")
