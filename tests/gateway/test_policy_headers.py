"""Headers that the configuration gives to every answer."""

from __future__ import annotations

import pytest
from memory_store import MemoryStore
from serving import serve

from tornado_proxy.auth.authenticator import SignIn
from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.model import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.server import CacheHeaders, Cors, Server
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.templates.template import User

ORIGIN = "https://app.test"
CORS = Server(cors=Cors(enabled=True, allow_origins=(ORIGIN,)))
PREFLIGHT = {"Origin": ORIGIN, "Access-Control-Request-Method": "GET"}
CLOSED = (Resource("/**", provider="staff"),)


@pytest.mark.parametrize(("path", "status"), [("/a", 200), ("/missing", 404), ("/%zz", 400)])
async def test_every_answer_names_the_origin(path, status):
    """Errors too: a page must be able to read why."""
    async with serve({"a": b"x"}, server=CORS) as site:
        answer = await site.request("GET", path, {"Origin": ORIGIN})
        assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, ORIGIN)
        assert "Origin" in answer.headers["vary"]
        assert (
            "access-control-allow-origin" not in (await site.request("GET", path, {"Origin": "https://b.test"})).headers
        )


async def test_a_preflight_is_answered_without_a_sign_in():
    """Browsers send it without credentials, and it reads nothing."""
    async with serve({}, server=CORS, resources=CLOSED, authenticators={}) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
        assert (answer.status, answer.body, answer.headers["access-control-allow-methods"]) == (200, b"", "GET")
        assert (await site.told()).status == 200


async def test_a_preflight_may_be_passed_on():
    """Its answer is that of any OPTIONS, with the same headers."""
    passing = Server(cors=Cors(enabled=True, options_passthrough=True, allow_all=True))
    async with serve({}, server=passing) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert (answer.status, answer.headers["access-control-allow-methods"]) == (405, "GET")


@pytest.mark.parametrize("server", [Server(), Server(cors=Cors(allow_all=True))])
async def test_cors_is_off_unless_it_is_enabled(server):
    """No header, and no answer to a preflight."""
    async with serve({"a": b"x"}, server=server) as site:
        answer = await site.request("OPTIONS", "/a", PREFLIGHT)
    assert answer.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


GIVEN = CacheHeaders(expires="expires", cache_control="max-age=0", pragma="pragma", x_accel_expires="x")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("path", ["/a", "/"])
async def test_files_and_listings_carry_the_headers(method, path):
    """All that are given."""
    async with serve({"a": b"x"}, server=Server(cache=GIVEN)) as site:
        headers = (await site.request(method, path)).headers
    told = [headers[name] for name in ("expires", "cache-control", "pragma", "x-accel-expires")]
    assert told == ["expires", "max-age=0", "pragma", "x"]


async def test_a_file_keeps_what_it_says_of_caches_itself():
    """What an upload or another tool stored with the object is known better there; what it leaves out is added."""
    store = MemoryStore()
    store.add("a", b"x", ObjectInfo(1, etag='"e"', cache_control="max-age=60"))
    async with serve(store, server=Server(cache=GIVEN)) as site:
        headers = (await site.get("/a")).headers
    assert (headers["cache-control"], headers["expires"]) == ("max-age=60", "expires")


async def test_nothing_is_cached_where_that_is_asked_for():
    """The headers of s3-proxy."""
    async with serve({"a": b"x"}, server=Server(cache=CacheHeaders(no_cache_enabled=True))) as site:
        headers = (await site.get("/a")).headers
    assert headers["cache-control"] == "no-cache, no-store, no-transform, must-revalidate, private, max-age=0"
    assert (headers["pragma"], headers["x-accel-expires"]) == ("no-cache", "0")


async def test_an_error_keeps_its_own_header():
    """A cache that held a 404 for an hour would hide the file that comes meanwhile."""
    async with serve({}, server=Server(cache=GIVEN)) as site:
        assert (await site.get("/missing")).headers["cache-control"] == "no-store"


class _Ann:
    """An authenticator that everybody is ann for."""

    async def authenticate(self, request, guard):
        return SignIn(User("ann"))


@pytest.mark.parametrize("path", ["/d/", "/d", "/d/a.txt"])
async def test_no_shared_cache_keeps_what_a_user_is_sent(path):
    """Listings, redirects and files alike: nginx would believe X-Accel-Expires before Cache-Control."""
    cache = CacheHeaders(cache_control="public, max-age=600", x_accel_expires="600", expires="0", pragma="x")
    resources = (Resource("/**", provider="staff", users=(BasicUser("ann", Secret("test", "x")),)),)
    actions = Actions(get=GetAction(redirect_with_trailing_slash_for_not_found_file=True))
    signing_in = {"resources": resources, "authenticators": {"staff": _Ann()}, "actions": actions}
    async with serve({"d/a.txt": b"x"}, server=Server(cache=cache), **signing_in) as site:
        headers = (await site.request("GET", path)).headers
    assert headers["cache-control"] == "private, no-cache"
    assert not {"x-accel-expires", "expires", "pragma"} & {name.lower() for name in headers}
