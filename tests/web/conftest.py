"""The application is tested on the wire of the service, by HTTP/1.1 and HTTP/2, and on Tornado's own server."""

import http2_client
import pytest
import serving

_RESETS = "it closes at once, which resets the connection of a client that is sending"
DIFFERENCES = {
    "test_a_client_without_expect_gets_the_refusal": _RESETS,
    "test_a_head_that_cannot_be_read_leaves_no_cycle": "it answers such a head itself",
    "test_a_malformed_chunk_stores_nothing": "it tells the application no more than that the connection is closed",
    "test_expect_is_answered_with_100[tornado-100-Continue]": "it knows this expectation in lower case only",
}
"""The tests that hold on the service's own wire only, each with what Tornado's `HTTPServer` does instead."""

OF_HTTP1 = {"test_an_invalid_path_is_reported_as_sent[http2-*-*]": "only OPTIONS has `*` for a path (RFC 9113 8.3.1)"}
"""The tests that do not hold for HTTP/2, each with its reason."""


def pytest_generate_tests(metafunc):
    """Tests each function that serves on both servers, and by HTTP/2 unless it sends bytes of HTTP/1.1."""
    names = metafunc.function.__code__.co_names
    if "serve" in names:
        by_http2 = () if "connect" in names else ("http2",)
        metafunc.parametrize("http_server", ["wire", "tornado", *by_http2], indirect=True)


async def _request(site, method, target, headers=None, body=b""):
    async with http2_client.connect(site) as client:
        return await client.request(method, target, headers, body)


# Of each test, since pytest makes no fixture that a test is only parametrized with.
@pytest.fixture(autouse=True)
def http_server(request, monkeypatch):
    """The server under the application."""
    server = getattr(request, "param", "wire")
    if server == "tornado":
        reason = DIFFERENCES.get(request.function.__name__) or DIFFERENCES.get(request.node.name)
        if reason:
            pytest.skip(reason)
        monkeypatch.setattr(serving, "make_server", serving.tornado_server)
    elif server == "http2":
        if request.node.name in OF_HTTP1:
            pytest.skip(OF_HTTP1[request.node.name])
        monkeypatch.setattr(serving.Serving, "request", _request)
