"""The Python runtime of a server: event loop, descriptors, and threads that do not delay the end."""

import asyncio
import gc
import sys
import threading

import pytest
from forking import run_forked

from tornado_proxy.service import runtime
from tornado_proxy.service.runtime import CannotServe, connections_of, guarded, in_background, run_event_loop

RETURNING = """
from tornado_proxy.service.runtime import end_process
assert end_process(3) == 3
print("last line")
"""
HANGING_THREAD = """
import sys, threading
from tornado_proxy.service.runtime import end_process
threading.Thread(target=threading.Event().wait).start()
print("last line")
sys.exit(end_process(3))
"""
HANGING_CALL = """
import asyncio, sys, threading
from tornado_proxy.service.runtime import DetachedExecutor, end_process
async def main():
    loop = asyncio.get_running_loop()
    loop.set_default_executor(DetachedExecutor())
    loop.run_in_executor(None, threading.Event().wait)
asyncio.run(main())
print("last line")
sys.exit(end_process(3))
"""


@pytest.mark.parametrize(
    ("script", "status"),
    [(RETURNING, 0), (HANGING_THREAD, 3), (HANGING_CALL, 3)],
    ids=["nothing hangs", "a thread", "a call in the default executor"],
)
def test_nothing_that_hangs_delays_the_end(script, status):
    """The process ends with its status, and its output is complete; `end_process` returns where nothing hangs."""
    result = run_forked(script, timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (status, "last line\n", "")


def test_the_collector_does_not_look_at_what_a_start_has_made():
    """Requests would wait while it does, for nothing: modules and rules stay."""
    gc.disable()

    async def main() -> None:
        seen.append((gc.isenabled(), len(gc.get_objects())))

    seen = []
    try:
        before = len(gc.get_objects())
        run_event_loop(main(), "asyncio")
    finally:
        gc.enable()
        gc.unfreeze()
    [(is_enabled, count)] = seen
    assert is_enabled
    assert count < before / 10


def _loop_module(choice: str) -> str:
    modules = []

    async def main() -> None:
        modules.append(type(asyncio.get_running_loop()).__module__)

    run_event_loop(main(), choice)
    return modules[0].split(".")[0]


@pytest.mark.parametrize(("choice", "expected"), [("auto", "uvloop"), ("uvloop", "uvloop"), ("asyncio", "asyncio")])
def test_the_event_loop_is_configured(choice, expected):
    """`auto` is uvloop if it is installed."""
    assert _loop_module(choice) == expected


def test_uvloop_is_optional(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert _loop_module("auto") == "asyncio"
    with pytest.raises(CannotServe, match="not installed"):
        _loop_module("uvloop")


async def test_background_work_has_short_turns():
    """During the work, the switch interval of threads is short and the garbage collector is off."""
    default_interval = sys.getswitchinterval()
    assert await in_background(lambda: (sys.getswitchinterval() < default_interval, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_what_background_work_makes_is_never_looked_at():
    """A collection after it has no more to look at than before: it would stop all requests."""
    gc.collect()
    before, frozen = len(gc.get_objects()), gc.get_freeze_count()
    made = await in_background(lambda: [[] for _ in range(100_000)])
    assert len(gc.get_objects()) < before + 1000
    assert gc.get_freeze_count() > frozen + len(made)


async def test_a_collector_that_is_off_stays_off():
    """Background work leaves the collector as it found it."""
    gc.disable()
    try:
        await in_background(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


async def test_a_failure_restores_the_settings():
    default_interval = sys.getswitchinterval()
    with pytest.raises(ValueError, match="broken"):
        await in_background(int, "broken")
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_background_work_runs_one_at_a_time():
    """Two tasks never run at once, since each restores the settings that it found."""
    barrier = threading.Barrier(2)

    def wait_for_the_other() -> bool:
        try:
            barrier.wait(0.2)
        except threading.BrokenBarrierError:
            return False
        return True

    assert await asyncio.gather(in_background(wait_for_the_other), in_background(wait_for_the_other)) == [False, False]


async def test_work_with_a_defect_is_begun_again(monkeypatch, caplog):
    """Each defect is logged with its traceback and noted, and work that ends is done."""
    monkeypatch.setattr(runtime.limits, "FIRST_PAUSE", 0.001)
    begun, noted = [], []

    async def work():
        begun.append(1)
        if len(begun) < 3:
            raise ValueError(f"defect {len(begun)}")

    await guarded("a task", work, noted.append)
    assert [str(each) for each in noted] == ["defect 1", "defect 2"]
    assert caplog.text.count("Traceback") == 2


@pytest.mark.parametrize(
    ("descriptors", "buckets", "expected"), [(1024, 1, 204), (1024, 4, 51), (65536, 1, 512), (-1, 9, 512), (8, 100, 1)]
)
def test_the_descriptors_limit_the_connections(monkeypatch, descriptors, buckets, expected):
    """All buckets together have a fifth of the descriptors of the process, and none has more than is configured."""
    monkeypatch.setattr(runtime.resource, "getrlimit", lambda _: (descriptors, descriptors))
    assert connections_of(512, buckets) == expected
