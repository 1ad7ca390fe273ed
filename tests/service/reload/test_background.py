"""Work in the background of requests."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading

import pytest

from tornado_proxy.service.reload import background
from tornado_proxy.service.reload.background import guarded, in_background


async def test_background_work_has_short_turns():
    """During the work, the switch interval of threads is short and the garbage collector is off."""
    default_interval = sys.getswitchinterval()
    assert await in_background(lambda: (sys.getswitchinterval() < default_interval, gc.isenabled())) == (True, False)
    assert (sys.getswitchinterval(), gc.isenabled()) == (default_interval, True)


async def test_a_collector_that_is_off_stays_off():
    """Background work leaves the collector as it found it."""
    gc.disable()
    try:
        await in_background(int)
        assert not gc.isenabled()
    finally:
        gc.enable()


async def test_a_failure_restores_the_settings():
    """After an exception, the switch interval and the garbage collector are as before."""
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
    monkeypatch.setattr(background, "FIRST_PAUSE", 0.001)
    begun, noted = [], []

    async def work():
        begun.append(1)
        if len(begun) < 3:
            raise ValueError(f"defect {len(begun)}")

    await guarded("a task", work, noted.append)
    assert [str(each) for each in noted] == ["defect 1", "defect 2"]
    assert caplog.text.count("Traceback") == 2
