"""The application is tested on two servers: on the wire of the service, and on Tornado's own."""

from __future__ import annotations

import pytest
import serving
from coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]

DIFFERENCES: dict[str, str] = {}
"""The tests that hold on the service's own wire only, each with what Tornado's `HTTPServer` does instead."""


def pytest_generate_tests(metafunc):
    """Tests each function that serves on both servers."""
    if "serve" in metafunc.function.__code__.co_names:
        metafunc.fixturenames.append("http_server")
        metafunc.parametrize("http_server", ["wire", "tornado"], indirect=True)


@pytest.fixture
def http_server(request, monkeypatch):
    """The server under the application."""
    if request.param == "tornado":
        if reason := DIFFERENCES.get(request.function.__name__):
            pytest.skip(reason)
        monkeypatch.setattr(serving, "make_server", serving.tornado_server)
