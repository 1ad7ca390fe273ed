"""Requests that another parser could end elsewhere: none is smuggled in the body of another one, and no body is lost."""

import asyncio

import pytest
from framing import Read, conversations, disagreement, read_by_h11, reader
from hypothesis import HealthCheck, given, settings

HEAD = "{} /0 HTTP/1.1\r\nHost: h\r\n{}\r\n"
SMUGGLED = b"DELETE /b HTTP/1.1\r\nHost: h\r\n\r\n"
FRAMES = {
    "a length": (f"Content-Length: {len(SMUGGLED)}\r\n", SMUGGLED),
    "chunks": ("Transfer-Encoding: chunked\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED)),
}
OFFERS = (
    "Connection: upgrade\r\nUpgrade: websocket\r\n",
    "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    "Proxy-Connection: upgrade\r\nUpgrade: h2c\r\n",
)


@pytest.fixture(scope="module")
def runner():
    with asyncio.Runner() as running:
        yield running


@pytest.fixture(scope="module")
def service(runner):
    context = reader()
    yield runner.run(context.__aenter__())
    runner.run(context.__aexit__(None, None, None))


@pytest.mark.parametrize("offer", OFFERS, ids=["websocket", "h2c", "of a proxy"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "POST", "BREW"])
def test_an_upgrade_smuggles_nothing(runner, service, method, frame, offer):
    """The body behind an offer to change the protocol is a body, for every method, with a length and in chunks."""
    header, body = FRAMES[frame]
    ours = runner.run(service.read(HEAD.format(method, offer + header).encode() + body))
    assert ours == [Read(method, "/0", SMUGGLED if method == "PUT" else len(SMUGGLED))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=conversations())
def test_h11_reads_the_same_requests(runner, service, data):
    """Whatever this service accepts, h11 reads with the same body and the same next request."""
    assert disagreement(runner.run(service.read(data)), read_by_h11(data)) == ""
