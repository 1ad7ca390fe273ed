"""Threads beside the event loop: they leave requests their turn, and hold up no end of a process."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import pytest

from tornado_proxy.service.threads import background_work, hanging_threads, in_background

HANGING = """
import sys, threading
from tornado_proxy.service.threads import end_process
threading.Thread(target=threading.Event().wait).start()
print("last words")
sys.exit(end_process(3))
"""


NOTHING_HANGS = """
from tornado_proxy.service.threads import end_process
assert end_process(3) == 3
print("went on")
"""


def test_without_hanging_threads_the_status_is_returned():
    """The interpreter ends as it always does; in a process of its own, since that of the tests has threads."""
    result = subprocess.run(
        [sys.executable, "-c", NOTHING_HANGS], capture_output=True, text=True, timeout=20, check=False
    )
    assert (result.returncode, result.stdout) == (0, "went on\n")


def test_a_hanging_thread_is_named():
    """A thread that does not end in time is found, and one that does is not."""
    release, others = threading.Event(), set(hanging_threads(0.01))
    thread = threading.Thread(target=release.wait, name="hangs")
    thread.start()
    assert set(hanging_threads(0.01)) - others == {"hangs"}
    release.set()
    thread.join()
    assert set(hanging_threads(0.01)) <= others


def test_a_hanging_thread_holds_nothing_up():
    """The process ends with its status, and what it printed is not lost."""
    result = subprocess.run([sys.executable, "-c", HANGING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stdout) == (3, "last words\n")


LOOPING = """
import asyncio, sys, threading
from tornado_proxy.service.threads import DetachedExecutor, end_process
async def main():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(DetachedExecutor())
    loop.run_in_executor(None, threading.Event().wait)
asyncio.run(main())
sys.exit(end_process(3))
"""


def test_a_call_that_hangs_does_not_keep_an_event_loop():
    """A file system that never answers is not a reason to go on for ever."""
    result = subprocess.run([sys.executable, "-c", LOOPING], capture_output=True, text=True, timeout=20, check=False)
    assert (result.returncode, result.stderr) == (3, "")


def test_turns_are_short_while_it_works():
    """Threads take the lock from each other sooner, and nobody looks for garbage."""
    usual = sys.getswitchinterval()
    assert in_background(lambda: (sys.getswitchinterval() < usual, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (usual, True)


def test_turns_are_as_usual_after_a_failure():
    """Whatever becomes of the work, the interpreter is as it was."""
    usual = sys.getswitchinterval()
    with pytest.raises(ValueError, match="broken"), background_work():
        raise ValueError("broken")
    assert (sys.getswitchinterval(), gc.isenabled()) == (usual, True)
