"""What the log shows of a request beside its path."""

from __future__ import annotations

import pytest
from serving import serve
from tornado.httputil import HTTPServerRequest, RequestStartLine

from tornado_proxy.config.server import Server
from tornado_proxy.storage.use import BucketUse
from tornado_proxy.web.asked import logged_facts
from tornado_proxy.wire.headers import Fields

PROXIED = Server(trusted_proxies=("127.0.0.1/32",))


async def test_the_id_of_a_trusted_proxy_is_kept():
    """Answer and log have the ID under which the proxy logs the request."""
    async with serve({"a": b"x"}, server=PROXIED) as site:
        answer = await site.get("/a", X_Request_Id="4f2a-9.b:1")
        assert (answer.headers["x-request-id"], (await site.last_event()).request.request_id) == ("4f2a-9.b:1",) * 2


@pytest.mark.parametrize("value", ["two words", "x" * 129, '"', "ä"])
async def test_other_ids_are_replaced(value):
    """An ID that could break a line or fill the log is not taken."""
    async with serve({"a": b"x"}, server=PROXIED) as site:
        assert (await site.get("/a", X_Request_Id=value)).headers["x-request-id"] != value


async def test_the_id_of_a_client_is_not_taken():
    """A client must not choose what the log finds it by."""
    async with serve({"a": b"x"}) as site:
        assert (await site.get("/a", X_Request_Id="4f2a")).headers["x-request-id"] != "4f2a"


def test_a_referrer_has_no_query_and_no_password():
    """Signatures, tokens and passwords stay out of the log."""
    fields = Fields((("Host", "h"), ("User-Agent", "a" * 600), ("Referer", "http://ann:secret@x.test/p?token=1")))
    request = HTTPServerRequest(start_line=RequestStartLine("GET", "/", "HTTP/1.1"), headers=fields)
    facts = logged_facts(request, BucketUse())
    assert (facts["userAgent"], facts["referrer"]) == ("a" * 512, "http://x.test/p")
