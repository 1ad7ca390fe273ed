from __future__ import annotations

from dataclasses import replace

import pytest
from serving import EVERYTHING, serve

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, HeadAction, PutAction, Webhook
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.telemetry.events import ObjectUsed

HOOKS = (Webhook("http://hooks.example/"),)
ACTIONS = Actions(
    GetAction(webhooks=HOOKS),
    HeadAction(webhooks=HOOKS),
    PutAction(enabled=True, raw_uploads=True, webhooks=HOOKS),
    DeleteAction(enabled=True, webhooks=HOOKS),
)
BUCKET = Bucket("files", prefix="p/", region="eu-west-1", s3_endpoint="http://s3.example")
OUTPUT = {"bucket": "files", "region": "eu-west-1", "s3Endpoint": "http://s3.example"}
NO_CONDITION = {"ifModifiedSince": "", "ifMatch": "", "ifNoneMatch": "", "ifUnmodifiedSince": ""}


async def _used(method, target, headers=None, body=b"", **options):
    """The events of a request that webhooks listen to."""
    given = {"actions": ACTIONS, "bucket": BUCKET, "mount": Mount("", ("/m/",)), **options}
    async with serve({"p/dir/a.txt": b"hello"}, **given) as site:
        await site.request(method, target, headers, body)
        await site.told()
    return [each for each in site.events if isinstance(each, ObjectUsed)]


def _body(action, path, key, **more):
    told = {"action": action, "requestPath": path, "outputMetadata": {**OUTPUT, "key": key}, "target": {"name": "site"}}
    return told | more


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "dir/a.txt", _body("GET", "dir/a.txt", "p/dir/a.txt", inputMetadata={**NO_CONDITION, "range": ""})),
        ("GET", "dir/", _body("GET", "dir/", "p/dir/", inputMetadata={**NO_CONDITION, "range": ""})),
        ("HEAD", "dir/a.txt", _body("HEAD", "dir/a.txt", "p/dir/a.txt", inputMetadata=NO_CONDITION)),
        ("DELETE", "dir/a.txt", _body("DELETE", "dir/a.txt", "p/dir/a.txt")),
    ],
)
async def test_a_request_that_succeeds_is_told(method, path, expected):
    """In the fields of s3-proxy's webhooks."""
    (event,) = await _used(method, f"/m/{path}")
    assert (event.webhooks, event.target, event.method, event.body) == (HOOKS, "site", method, expected)


async def test_an_upload_is_told_with_its_file():
    """Name, type and size."""
    (event,) = await _used("PUT", "/m/b.txt", {"Content-Type": "text/css"}, b"hello")
    file = {"filename": "b.txt", "contentType": "text/css", "contentSize": 5}
    assert event.body == _body("PUT", "b.txt", "p/b.txt", inputMetadata=file)


async def test_conditions_are_told():
    """Dates in RFC 3339, the rest as sent."""
    date = "Wed, 21 Oct 2065 07:28:00 GMT"
    (event,) = await _used(
        "GET", "/m/dir/a.txt", {"If-None-Match": '"x"', "If-Unmodified-Since": date, "Range": "bytes=0-1"}
    )
    told = {**NO_CONDITION, "ifNoneMatch": '"x"', "ifUnmodifiedSince": "2065-10-21T07:28:00Z", "range": "bytes=0-1"}
    assert event.body["inputMetadata"] == told


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "missing", {}),
        ("GET", "dir", {}),
        ("GET", "dir/a.txt", {"If-Match": '"x"'}),
        ("PUT", "dir/a.txt", {}),
        ("DELETE", "dir/", {}),
    ],
)
async def test_a_request_that_does_not_succeed_is_not_told(method, path, headers):
    """No webhook hears of a refusal or a redirect."""
    assert await _used(method, f"/m/{path}", headers) == []


async def test_without_webhooks_nothing_is_told():
    """Of the method of the request."""
    assert await _used("GET", "/m/dir/a.txt", actions=EVERYTHING) == []
    assert await _used("GET", "/m/dir/a.txt", actions=replace(ACTIONS, get=GetAction())) == []


async def test_without_an_endpoint_none_is_told():
    """As in s3-proxy."""
    (event,) = await _used("GET", "/m/dir/a.txt", bucket=Bucket("files", prefix="p/"))
    assert event.body["outputMetadata"] == {"bucket": "files", "region": "us-east-1", "key": "p/dir/a.txt"}
