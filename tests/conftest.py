"""Profiles of hypothesis, and fixtures of all tests."""

import faulthandler
import gc
import os
import socket
import time
from collections.abc import Iterator

import pytest
from coroutines import pytest_pyfunc_call, pytest_unconfigure
from hypothesis import settings

__all__ = ["pytest_pyfunc_call", "pytest_unconfigure"]

# The time of an example depends more on the machine than on the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("repeatable", deadline=None, max_examples=50, derandomize=True)  # in `make coverage`
settings.register_profile("thorough", deadline=None, max_examples=400)  # in `make integration`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Spares the garbage collector what is imported, and most of its looks at the young: a tenth of all tests' time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 100)
        gc.enable()


class _Watch:
    """Ends the process, with the stack of each thread, if a test hangs, or a thread that tests left behind."""

    # pytest's own option starts a thread for each test, which takes as long as many of them.
    def __init__(self) -> None:
        self._report = os.dup(2)  # of stderr, which is captured later
        self._begun = -60.0

    def pytest_runtest_setup(self) -> None:
        if (now := time.monotonic()) > self._begun + 60:
            self._begun = now
            faulthandler.dump_traceback_later(600, exit=True, file=self._report)  # the longest test takes some minutes

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        faulthandler.dump_traceback_later(60, exit=True, file=self._report)


def pytest_configure(config):
    config.pluginmanager.register(_Watch())


@pytest.fixture(scope="module")
def closed_port() -> Iterator[int]:
    """Reserves a port of 127.0.0.1, which refuses connections, so that no other process can listen on it."""
    with socket.socket() as bound:  # the socket never listens
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]
