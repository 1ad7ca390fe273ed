"""An upload in parts is begun, its parts are sent in any order, and it is completed when all parts are there."""

import asyncio
import json

import pytest
from memory_store import MemoryStore
from serving import head, serve

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.providers import Resource
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage.store import UploadedPart, Write
from tornado_proxy.web.perform import UploadIncomplete, check_parts

MIB = 1024**2
FIRST_PART = bytes(5 * MIB)


def _put_actions(**options) -> Actions:
    return Actions(put=PutAction(enabled=True, **options))


async def _begin(site, path="/a.bin", size=5 * MIB + 3, **headers):
    answer = await site.request("PUT", f"{path}?upload=start&size={size}", headers)
    assert answer.status == 200, answer.text
    return json.loads(answer.body)["id"]


async def _send(site, upload, number, body, path="/a.bin", **headers):
    return await site.request("PUT", f"{path}?upload=part&id={upload}&number={number}", headers, body)


async def _complete(site, upload, size, path="/a.bin", **headers):
    return await site.request("PUT", f"{path}?upload=complete&id={upload}&size={size}", headers)


async def test_a_file_is_uploaded_in_parts():
    store = MemoryStore()
    async with serve(store, actions=_put_actions(), rules="rewrite `^/in/(.+)$` -> `/archive/$1`") as site:
        answer = await site.request("PUT", "/in/a.bin?upload=start&size=5242883", {"Content-Type": "video/mp4"})
        started = json.loads(answer.body)
        part_answers = [
            await _send(site, started["id"], n, body, "/in/a.bin") for n, body in ((2, b"end"), (1, FIRST_PART))
        ]
        parts = await site.request("PUT", f"/in/a.bin?upload=parts&id={started['id']}")
        completed = await _complete(site, started["id"], 5242883, "/in/a.bin")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    limits = {"minPartSize": 5 * MIB, "maxPartSize": 64 * MIB, "maxParts": 10_000}
    assert started == {"id": started["id"], "location": "/in/a.bin", **limits}
    assert [part.status for part in part_answers] == [204, 204]
    assert json.loads(parts.body) == {"parts": [{"number": 1, "size": 5 * MIB}, {"number": 2, "size": 3}]}
    info = await store.head("archive/a.bin", UNCONDITIONAL)
    assert (completed.status, completed.headers["location"]) == (201, "/in/a.bin")
    assert json.loads(completed.body) == {"location": "/in/a.bin", "size": 5242883, "etag": info.etag}
    assert (info.size, info.content_type) == (5242883, "video/mp4")


async def test_an_upload_in_parts_is_aborted():
    store = MemoryStore()
    async with serve(store, actions=_put_actions()) as site:
        upload = await _begin(site)
        first = await site.request("PUT", f"/a.bin?upload=abort&id={upload}")
        second = await site.request("PUT", f"/a.bin?upload=abort&id={upload}")
    assert (first.status, second.status, store.uploads) == (204, 404, {})
    assert "There is no such upload" in second.text


@pytest.mark.parametrize(
    ("options", "headers", "size", "status"),
    [
        ({"max_size": 10}, {}, 11, 413),
        ({}, {}, 64 * MIB * 10_000 + 1, 413),
        ({"allowed_types": ("image/*",)}, {"Content-Type": "text/css"}, 1, 415),
        ({"metadata": (("size", "{{ .Input.ContentSize }}"),)}, {}, 1, 411),
        ({}, {"Content-Type": "multipart/form-data; boundary=x"}, 1, 415),
        ({}, {"If-None-Match": "*"}, 1, 412),
        ({}, {}, 1, 409),
    ],
)
async def test_an_upload_that_could_not_be_stored_is_not_begun(options, headers, size, status):
    """Limits, types and an existing object are checked before any part is sent."""
    store = MemoryStore({"a.bin": b"old"})
    async with serve(store, actions=_put_actions(**options)) as site:
        answer = await site.request("PUT", f"/a.bin?upload=start&size={size}", headers)
    assert (answer.status, store.uploads) == (status, {})


async def test_a_file_that_was_created_meanwhile_is_not_replaced():
    """Whether a file may be replaced is checked again at the end; an error keeps the parts."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions()) as site:
        upload = await _begin(site, size=1)
        await _send(site, upload, 1, b"x")
        store.add("a.bin", b"old")
        refused = await _complete(site, upload, 1)
        conditional = await _complete(site, upload, 1, **{"If-None-Match": "*"})
    assert (refused.status, conditional.status) == (409, 412)
    assert len(store.uploads) == 1


PARTS = {
    "no parts": ([], 0),
    "without the first part": ([(2, 3)], 3),
    "a gap": ([(1, 5 * MIB), (3, 3)], 5 * MIB + 3),
    "a small part that is not the last": ([(1, 5 * MIB - 1), (2, 3)], 5 * MIB + 2),
    "too few bytes": ([(1, 3)], 4),
    "too many bytes": ([(1, 5 * MIB), (2, 3)], 5 * MIB),
}


@pytest.mark.parametrize(("parts", "size"), PARTS.values(), ids=PARTS)
def test_an_upload_with_missing_parts_is_incomplete(parts, size):
    """Parts that are missing, too small, or of another total size do not make a file."""
    with pytest.raises(UploadIncomplete):
        check_parts([UploadedPart(number, length, "e") for number, length in parts], size)


async def test_a_file_is_complete_only_with_all_its_parts():
    store = MemoryStore()
    async with serve(store, actions=_put_actions()) as site:
        upload = await _begin(site)
        await _send(site, upload, 1, FIRST_PART)
        answer = await _complete(site, upload, 5 * MIB + 3)
    assert (answer.status, store.keys()) == (400, ())
    assert "The parts of the upload are not the whole file" in answer.text


async def test_a_limit_is_checked_at_the_end_too():
    """The size limit applies to the parts that were sent, not only to the announced size."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions(max_size=10)) as site:
        upload = await _begin(site, size=1)
        await _send(site, upload, 1, b"x" * 11)
        too_large = await _complete(site, upload, 11)
        incomplete = await _complete(site, upload, 1)
    assert (too_large.status, incomplete.status, store.keys()) == (413, 400, ())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Length": str(64 * MIB + 1)}, 413),
        ({"Transfer-Encoding": "chunked"}, 411),
        ({}, 411),
        ({"Content-Encoding": "gzip", "Content-Length": "1"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "1"}, 415),
        ({"Content-Range": "bytes 0-0/9", "Content-Length": "1"}, 400),
    ],
)
async def test_a_part_is_refused_before_it_is_sent(headers, status):
    async with serve({}, actions=_put_actions()) as site, site.connect() as client:
        upload = await _begin(site)
        await client.send(head("PUT", f"/a.bin?upload=part&id={upload}&number=1", headers))
        answer = await client.receive()
    assert answer.status == status


async def test_a_part_must_match_its_digest():
    store = MemoryStore()
    async with serve(store, actions=_put_actions()) as site:
        upload = await _begin(site)
        answer = await _send(site, upload, 1, b"x", **{"Content-MD5": "rL0Y20zC+Fzt72VPzMSk2A=="})
        parts = await site.request("PUT", f"/a.bin?upload=parts&id={upload}")
    assert (answer.status, json.loads(parts.body)) == (400, {"parts": []})


async def test_an_interrupted_part_is_not_stored():
    """A part whose client disconnects can be sent again."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions()) as site:
        upload = await _begin(site)
        async with site.connect() as client:
            await client.send(head("PUT", f"/a.bin?upload=part&id={upload}&number=1", {}, 10) + b"x")
        while len(site.events) < 2:  # noqa: ASYNC110 - the server may not have read the request yet
            await asyncio.sleep(0)
        event = await site.last_event()
        repeated = await _send(site, upload, 1, b"whole")
        completed = await _complete(site, upload, 5)
    assert (event.status, repeated.status, completed.status) == (499, 204, 201)


@pytest.mark.parametrize(
    "step", ["start&size=1", "part&id=upload-1&number=1", "parts&id=upload-1", "abort&id=upload-1"]
)
async def test_each_step_needs_access(step):
    """Every step of an upload is refused without access to the path."""
    store = MemoryStore()
    await store.begin_upload("a.bin", Write())
    refusing = [Resource("/**", ("GET",), white_list=True)]
    async with serve(store, actions=_put_actions(), resources=refusing) as site:
        answer = await site.request("PUT", f"/a.bin?upload={step}", {}, b"x")
    assert (answer.status, list(store.uploads)) == (403, ["upload-1"])


async def test_the_limit_of_a_file_holds_for_each_part():
    store = MemoryStore()
    async with serve(store, actions=_put_actions(max_size=MIB)) as site, site.connect() as client:
        upload = await _begin(site, size=MIB)
        await client.send(head("PUT", f"/a.bin?upload=part&id={upload}&number=1", length=MIB + 1))
        assert (await client.receive()).status == 413
        assert (await _send(site, upload, 1, bytes(MIB))).status == 204


async def test_the_limit_of_a_file_holds_for_all_its_parts():
    """An upload whose parts are larger than the file may be is removed, with all that was stored of it."""
    store = MemoryStore()
    async with serve(store, actions=_put_actions(max_size=2 * MIB)) as site:
        upload = await _begin(site, size=2 * MIB)
        sent = [await _send(site, upload, 7, bytes(MIB)) for _ in range(3)]
        sent += [await _send(site, upload, number, bytes(MIB)) for number in (8, 9, 10)]
    assert [answer.status for answer in sent] == [204, 204, 204, 204, 413, 404]
    assert store.uploads == {}


async def test_no_order_of_parts_evades_the_limit_of_a_file(monkeypatch):
    """Parts of low numbers that come last, which are not counted as they arrive, are removed at the last step."""
    monkeypatch.setattr("tornado_proxy.routing.upload_steps.LARGEST_PART", MIB)
    store = MemoryStore()
    async with serve(store, actions=_put_actions(max_size=MIB)) as site:
        upload = await _begin(site, size=MIB)
        sent = [await _send(site, upload, number, bytes(MIB)) for number in (2, 1)]
        completed = await _complete(site, upload, 2 * MIB)
    assert [answer.status for answer in (*sent, completed)] == [204, 204, 413]
    assert store.uploads == {}
