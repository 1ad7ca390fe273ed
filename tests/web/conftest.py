"""The application is tested on two servers: on the wire of the service, and on Tornado's own."""

from __future__ import annotations

import pytest
import serving
from coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]

_RESETS = "it closes at once, which resets the connection of a client that is sending"
DIFFERENCES = {
    "test_the_body_of_a_get_ends_the_connection": _RESETS,
    "test_a_client_without_expect_gets_the_refusal": _RESETS,
    "test_a_malformed_chunk_stores_nothing": "it tells the application no more than that the connection is closed",
    "test_expect_is_answered_with_100[tornado-100-Continue]": "it knows this expectation in lower case only",
}
"""The tests that hold on the service's own wire only, each with what Tornado's `HTTPServer` does instead."""


def pytest_generate_tests(metafunc):
    """Tests each function that serves on both servers."""
    if "serve" in metafunc.function.__code__.co_names:
        metafunc.parametrize("http_server", ["wire", "tornado"], indirect=True)


# Of each test, since pytest makes no fixture that a test is only parametrized with.
@pytest.fixture(autouse=True)
def http_server(request, monkeypatch):
    """The server under the application."""
    if getattr(request, "param", "wire") == "tornado":
        reason = DIFFERENCES.get(request.function.__name__) or DIFFERENCES.get(request.node.name)
        if reason:
            pytest.skip(reason)
        monkeypatch.setattr(serving, "make_server", serving.tornado_server)
