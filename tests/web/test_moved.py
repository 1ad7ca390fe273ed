"""Answers of rules that redirect or call an address gone."""

import pytest
from fakes import FailingStore
from serving import part, serve

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.server import Log
from tornado_proxy.storage.errors import AccessDenied, Unreachable
from tornado_proxy.telemetry.events import Served

RULES = """
redirect 308 help `^/help/(?P<rest>.*)$` -> "/guides/$rest"
gone              `^/2009/`
redirect if missing 301 `^/old/(.*)$`    -> "https://example.org/$1"
"""
WRITABLE = Actions(
    get=GetAction(redirect_cache_control="max-age=60"),
    put=PutAction(enabled=True, raw_uploads=True),
    delete=DeleteAction(enabled=True),
)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_a_redirect_needs_no_store(method):
    async with serve(
        FailingStore(open=Unreachable("down"), head=Unreachable("down")), rules=RULES, actions=WRITABLE
    ) as site:
        answer = await site.request(method, "/help/a%20b?x=1")
    assert (answer.status, answer.headers["location"], answer.body) == (308, "/guides/a%20b?x=1", b"")
    assert (answer.headers["cache-control"], answer.headers["content-length"]) == ("max-age=60", "0")


async def test_the_log_says_where_a_client_was_led():
    """The record has the rule and the location, without the query."""
    async with serve({}, rules=RULES, log=Log(format="json")) as site:
        await site.request("GET", "/help/a?token=secret")
        await site.request("GET", "/help/a?token=secret", {"Accept": "x"})
    served = [each for each in site.events if isinstance(each, Served)]
    assert {(each.request.rule, each.request.facts["location"]) for each in served} == {("help", "/guides/a")}


async def test_what_is_gone_has_a_page():
    async with serve({"2009/x": b"x"}, rules=RULES) as site:
        answer = await site.request("GET", "/2009/x", {"Accept": "text/html"})
    assert (answer.status, "There is nothing at this address any more" in answer.text) == (410, True)


async def test_a_listing_does_not_show_what_is_gone():
    """An entry that would be a 410 is left out."""
    async with serve({"d/old": b"x", "d/new": b"x"}, rules="gone `^/d/old`") as site:
        assert [name in (await site.request("GET", "/d/")).text for name in ("new", "old")] == [True, False]


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/old/here", 200, None),
        ("/old/gone", 301, "https://example.org/gone"),
        ("/old/d/", 301, "https://example.org/d/"),
    ],
)
async def test_a_page_that_came_back_is_served(path, status, location):
    """A redirect for what is missing does not hide what is there."""
    async with serve({"old/here": b"x"}, rules=RULES, log=Log(format="json")) as site:
        answer = await site.request("GET", path)
        assert (answer.status, answer.headers.get("location")) == (status, location)
        served = [each for each in site.events if isinstance(each, Served)]
        assert [each.request.facts.get("location") for each in served] == [location]


@pytest.mark.parametrize(("error", "status"), [(AccessDenied, 301), (Unreachable, 502)])
async def test_an_error_of_the_store_may_hide_a_page(error, status):
    """A bucket that may not be listed says 403 for what is not there; the error of one that is down is the answer."""
    async with serve(FailingStore(open=error("no"), head=error("no")), rules=RULES) as site:
        assert (await site.request("GET", "/old/gone")).status == status


async def test_a_write_is_led_to_the_new_address():
    """A raw body and a removal keep their method; a form that was read is refused."""
    async with serve({}, rules=RULES, actions=WRITABLE) as site:
        raw, removal = [await site.request(method, "/help/a", body=b"") for method in ("PUT", "DELETE")]
        form = await site.upload("/help/", part("file", b"x", filename="f"))
        missing = await site.request("PUT", "/old/new", body=b"x")
    assert [(each.status, each.headers["location"]) for each in (raw, removal)] == [(308, "/guides/a")] * 2
    assert (form.status, missing.status) == (409, 201)
    assert "This address has moved" in form.text
