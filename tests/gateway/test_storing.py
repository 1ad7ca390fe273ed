"""Uploads in parts: begun, sent in any order, resumed, and completed when all parts are there."""

from __future__ import annotations

import json

import pytest
from memory_store import MemoryStore
from serving import head, serve

from tornado_proxy.config.actions import Actions, PutAction
from tornado_proxy.config.providers import Resource
from tornado_proxy.gateway.storing import UploadIncomplete, check_parts
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage.store import UploadedPart, Write

MIB = 1024**2
FIRST = bytes(5 * MIB)


def _putting(**options) -> Actions:
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
    """Each part is a request; the last request answers as an upload in one piece."""
    store = MemoryStore()
    async with serve(store, actions=_putting(), rules="rewrite `^/in/(.+)$` -> `/archive/$1`") as site:
        answer = await site.request("PUT", "/in/a.bin?upload=start&size=5242883", {"Content-Type": "video/mp4"})
        said = json.loads(answer.body)
        sent = [await _send(site, said["id"], n, body, "/in/a.bin") for n, body in ((2, b"end"), (1, FIRST))]
        parts = await site.request("PUT", f"/in/a.bin?upload=parts&id={said['id']}")
        done = await _complete(site, said["id"], 5242883, "/in/a.bin")
    assert (answer.status, answer.headers["cache-control"]) == (200, "no-store")
    limits = {"minPartSize": 5 * MIB, "maxPartSize": 64 * MIB, "maxParts": 10_000}
    assert said == {"id": said["id"], "location": "/in/a.bin", **limits}
    assert [each.status for each in sent] == [204, 204]
    assert json.loads(parts.body) == {"parts": [{"number": 1, "size": 5 * MIB}, {"number": 2, "size": 3}]}
    info = await store.head("archive/a.bin", UNCONDITIONAL)
    assert (done.status, done.headers["location"]) == (201, "/in/a.bin")
    assert json.loads(done.body) == {"location": "/in/a.bin", "size": 5242883, "etag": info.etag}
    assert (info.size, info.content_type) == (5242883, "video/mp4")


async def test_an_upload_in_parts_is_aborted():
    """Nothing of it stays, and a second time there is nothing to abort."""
    store = MemoryStore()
    async with serve(store, actions=_putting()) as site:
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
    """Limits, types and an object in the way are looked at before any part is sent."""
    store = MemoryStore()
    store.add("a.bin", b"old")
    async with serve(store, actions=_putting(**options)) as site:
        answer = await site.request("PUT", f"/a.bin?upload=start&size={size}", headers)
    assert (answer.status, store.uploads) == (status, {})


async def test_a_file_that_came_meanwhile_is_not_replaced():
    """Whether the file may be replaced is decided again at the end; the parts stay for another try."""
    store = MemoryStore()
    async with serve(store, actions=_putting()) as site:
        upload = await _begin(site, size=1)
        await _send(site, upload, 1, b"x")
        store.add("a.bin", b"old")
        refused = await _complete(site, upload, 1)
        conditional = await _complete(site, upload, 1, **{"If-None-Match": "*"})
    assert (refused.status, conditional.status) == (409, 412)
    assert len(store.uploads) == 1


PARTS = {
    "none": ([], 0),
    "not the first": ([(2, 3)], 3),
    "a gap": ([(1, 5 * MIB), (3, 3)], 5 * MIB + 3),
    "a small one that is not the last": ([(1, 5 * MIB - 1), (2, 3)], 5 * MIB + 2),
    "too few bytes": ([(1, 3)], 4),
    "too many bytes": ([(1, 5 * MIB), (2, 3)], 5 * MIB),
}


@pytest.mark.parametrize(("parts", "size"), PARTS.values(), ids=PARTS)
def test_parts_that_are_not_the_whole_are_no_file(parts, size):
    """An upload without all of its parts is not completed."""
    with pytest.raises(UploadIncomplete):
        check_parts([UploadedPart(number, length, "e") for number, length in parts], size)


async def test_a_file_is_complete_only_with_all_its_parts():
    """Nothing is stored before."""
    store = MemoryStore()
    async with serve(store, actions=_putting()) as site:
        upload = await _begin(site)
        await _send(site, upload, 1, FIRST)
        answer = await _complete(site, upload, 5 * MIB + 3)
    assert (answer.status, store.keys()) == (400, ())
    assert "The parts of the upload are not the whole file" in answer.text


async def test_a_limit_is_checked_at_the_end_too():
    """What the start announces binds nobody."""
    store = MemoryStore()
    async with serve(store, actions=_putting(max_size=10)) as site:
        upload = await _begin(site, size=1)
        await _send(site, upload, 1, b"x" * 11)
        answer = await _complete(site, upload, 11)
        small = await _complete(site, upload, 1)
    assert (answer.status, small.status, store.keys()) == (413, 400, ())


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
    """One that is too large, of unknown length, a form or encoded."""
    async with serve({}, actions=_putting()) as site, site.connect() as client:
        upload = await _begin(site)
        await client.send(head("PUT", f"/a.bin?upload=part&id={upload}&number=1", headers))
        answer = await client.receive()
    assert answer.status == status


async def test_a_part_has_the_digest_that_it_announces():
    """A part that was damaged on its way is not stored."""
    store = MemoryStore()
    async with serve(store, actions=_putting()) as site:
        upload = await _begin(site)
        answer = await _send(site, upload, 1, b"x", **{"Content-MD5": "rL0Y20zC+Fzt72VPzMSk2A=="})
        parts = await site.request("PUT", f"/a.bin?upload=parts&id={upload}")
    assert (answer.status, json.loads(parts.body)) == (400, {"parts": []})


async def test_a_part_that_is_cut_off_is_not_stored():
    """The client sends it again."""
    store = MemoryStore()
    async with serve(store, actions=_putting()) as site:
        upload = await _begin(site)
        async with site.connect() as client:
            await client.send(head("PUT", f"/a.bin?upload=part&id={upload}&number=1", {}, 10) + b"x")
        event = await site.told()
        again = await _send(site, upload, 1, b"whole")
        done = await _complete(site, upload, 5)
    assert (event.status, again.status, done.status) == (499, 204, 201)


@pytest.mark.parametrize(
    "step", ["start&size=1", "part&id=upload-1&number=1", "parts&id=upload-1", "abort&id=upload-1"]
)
async def test_each_step_needs_access(step):
    """Each step of an upload needs access to the path."""
    store = MemoryStore()
    await store.begin_upload("a.bin", Write())
    refusing = [Resource("/**", ("GET",), white_list=True)]
    async with serve(store, actions=_putting(), resources=refusing) as site:
        answer = await site.request("PUT", f"/a.bin?upload={step}", {}, b"x")
    assert (answer.status, list(store.uploads)) == (403, ["upload-1"])
