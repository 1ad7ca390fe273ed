"""The end of a process that a hanging thread may not hold up."""

from __future__ import annotations

import subprocess
import sys
import threading

from tornado_proxy.service.ending import end_process, hanging_threads

HANGING = """
import sys, threading
from tornado_proxy.service.ending import end_process
threading.Thread(target=threading.Event().wait).start()
print("last words")
sys.exit(end_process(3))
"""


def test_without_hanging_threads_the_status_is_returned():
    """The interpreter ends as it always does."""
    assert end_process(3) == 3


def test_a_hanging_thread_is_named():
    """A thread that does not end in time is found, and one that does is not."""
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="hangs")
    thread.start()
    assert hanging_threads(0.01) == ["hangs"]
    release.set()
    thread.join()
    assert hanging_threads(0.01) == []


def test_a_hanging_thread_holds_nothing_up():
    """The process ends with its status, and what it printed is not lost."""
    result = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stdout) == (3, "last words\n")


LOOPING = """
import asyncio, sys, threading
from tornado_proxy.service.ending import Unawaited, end_process
async def main():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(Unawaited())
    loop.run_in_executor(None, threading.Event().wait)
asyncio.run(main())
sys.exit(end_process(3))
"""


def test_a_call_that_hangs_does_not_keep_an_event_loop():
    """A file system that never answers is no reason to go on for ever."""
    result = subprocess.run([sys.executable, "-c", LOOPING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stderr) == (3, "")
