"""The health path on the port of requests."""

import pytest
from serving import serve

from tornado_proxy.config.server import Server

HEALTH = Server(health_path="/-/healthz")


@pytest.mark.parametrize(("method", "body"), [("GET", b"healthy\n"), ("HEAD", b"")])
async def test_the_health_path_is_healthy(method, body):
    """A check is answered, and the connection goes on."""
    async with serve({}, server=HEALTH) as site, site.connect() as client:
        for _ in range(2):
            answer = await client.request(method, "/-/healthz")
            assert (answer.status, answer.body, answer.headers["content-length"]) == (200, body, "8")


async def test_a_check_needs_no_host():
    """HAProxy checks with HTTP/1.0 and without a Host."""
    async with serve({}, server=HEALTH) as site, site.connect() as client:
        await client.send(b"GET /-/healthz HTTP/1.0\r\n\r\n")
        assert (await client.reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_a_check_leaves_no_event():
    """Checks of balancers are neither logged nor counted."""
    async with serve({}, server=HEALTH) as site:
        await site.get("/-/healthz")
        assert site.events == []


@pytest.mark.parametrize("target", ["/-/healthz/", "/-/healthz?a=b", "/x/-/healthz"])
async def test_other_paths_are_those_of_objects(target):
    async with serve({}, server=HEALTH) as site:
        assert (await site.get(target)).status == 404


async def test_without_the_option_the_path_is_an_object():
    async with serve({"-/healthz": b"an object"}) as site:
        assert (await site.get("/-/healthz")).body == b"an object"


async def test_other_methods_are_those_of_objects():
    async with serve({"-/healthz": b"x"}, server=HEALTH) as site:
        assert (await site.request("DELETE", "/-/healthz")).status == 204
