"""Python set up for a server: event loop, descriptors, and threads that do not delay the end."""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys

import pytest

from tornado_proxy.service.runtime import (
    CannotServe,
    raise_descriptor_limit,
    run_event_loop,
)

HANGING = """
import sys, threading
from tornado_proxy.service.runtime import end_process
threading.Thread(target=threading.Event().wait).start()
print("last words")
sys.exit(end_process(3))
"""


NOTHING_HANGS = """
from tornado_proxy.service.runtime import end_process
assert end_process(3) == 3
print("went on")
"""


def test_without_hanging_threads_the_status_is_returned():
    """The interpreter ends as it always does; in a process of its own, since that of the tests has threads."""
    result = subprocess.run(
        [sys.executable, "-c", NOTHING_HANGS], capture_output=True, text=True, timeout=20, check=False
    )
    assert (result.returncode, result.stdout) == (0, "went on\n")


def test_a_hanging_thread_holds_nothing_up():
    """The process ends with its status, and what it printed is not lost."""
    result = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stdout) == (3, "last words\n")


LOOPING = """
import asyncio, sys, threading
from tornado_proxy.service.runtime import DetachedExecutor, end_process
async def main():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(DetachedExecutor())
    loop.run_in_executor(None, threading.Event().wait)
asyncio.run(main())
sys.exit(end_process(3))
"""


def test_a_call_that_hangs_does_not_keep_an_event_loop():
    """A file system that never answers does not keep the process alive."""
    result = subprocess.run([sys.executable, "-c", LOOPING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stderr) == (3, "")


def _loop(choice: str) -> str:
    found = []

    async def main() -> None:
        found.append(type(asyncio.get_running_loop()).__module__)

    run_event_loop(main(), choice)
    return found[0].split(".")[0]


@pytest.mark.parametrize(("choice", "loop"), [("auto", "uvloop"), ("uvloop", "uvloop"), ("asyncio", "asyncio")])
def test_the_event_loop_is_the_one_that_was_chosen(choice, loop):
    """The default is uvloop if it is installed."""
    assert _loop(choice) == loop


def test_without_uvloop_the_loop_is_that_of_python(monkeypatch):
    """A configured uvloop that is not installed is an error."""
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _loop("auto") == "asyncio"
    with pytest.raises(CannotServe, match="not installed"):
        _loop("uvloop")


def test_the_soft_limit_of_descriptors_becomes_the_hard_one():
    """The soft limit becomes the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard - 1, hard))
    try:
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
