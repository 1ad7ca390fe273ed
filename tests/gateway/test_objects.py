"""The handler adds nothing of Tornado's own to an answer."""

from __future__ import annotations

import pytest
from serving import serve

from tornado_proxy.gateway.objects import ObjectHandler


@pytest.mark.parametrize("target", ["/", "/%zz", "/a", "/?format=json"])
async def test_tornado_says_nothing_of_itself(target):
    """No answer names its server, and none but a file's has an ETag."""
    async with serve({"a": b"x"}) as site:
        answer = await site.get(target)
    assert "server" not in answer.headers
    assert ("etag" in answer.headers) == (target == "/a")


async def test_head_has_the_objects_own_etag():
    """HEAD shows the stored ETag, not a hash of nothing."""
    async with serve({"a": b"x"}) as site:
        get, head = await site.get("/a"), await site.request("HEAD", "/a")
    assert head.headers["etag"] == get.headers["etag"] == '"9dd4e461268c8034f5c8564e155c67a6"'


async def test_a_page_is_never_a_304_of_tornados():
    """A condition on a listing's imagined ETag changes nothing."""
    async with serve({"a": b"x"}) as site:
        answer = await site.get("/", If_None_Match="*")
    assert answer.status == 200


def test_no_etag_is_made_up():
    """Should Tornado ever ask for one, there is none but the object's."""
    assert ObjectHandler.compute_etag(None) is None


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST", "PROPFIND"])
async def test_a_body_is_announced_and_dropped(method):
    """A method that takes no body may have one; the answer does not wait for it."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        await client.send(f"{method} /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n".encode())
        status, headers = await client.receive_head()
    assert (status, headers["connection"]) == ({"DELETE": 204, "POST": 405, "PROPFIND": 405}.get(method, 200), "close")


async def test_a_connection_is_kept():
    """After an answer without trouble the next request may follow."""
    async with serve({"a": b"x"}) as site, site.connect() as client:
        methods = ("GET", "HEAD", "POST", "DELETE", "GET", "OPTIONS")
        statuses = [(await client.request(method, "/a")).status for method in methods]
    assert statuses == [200, 200, 405, 204, 404, 405]
