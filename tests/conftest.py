"""Profiles of hypothesis, and fixtures of all tests."""

import faulthandler
import gc
import os
import socket
from collections.abc import Iterator

import pytest
from coroutines import pytest_pyfunc_call
from hypothesis import settings

__all__ = ["pytest_pyfunc_call"]

# The time of an example depends more on the machine than on the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("repeatable", deadline=None, max_examples=50, derandomize=True)  # in `make coverage`
settings.register_profile("thorough", deadline=None, max_examples=400)  # in `make integration`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Spares the garbage collector what is imported, which it would look through again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure():
    """Ends the process, with the stack of each thread, if a thread that a test left behind holds it."""
    faulthandler.dump_traceback_later(60, exit=True)


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """Reserves a port of 127.0.0.1, which refuses connections, so that no other process can listen on it."""
    with socket.socket() as bound:  # the socket never listens
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
