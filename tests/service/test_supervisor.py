"""A supervisor and its workers, which need a process of their own because they fork."""

from __future__ import annotations

import subprocess
import sys

import pytest
from files import Files

PROGRAM = """
import asyncio, os, signal, sys, time
from dataclasses import replace
from pathlib import Path
from tornado_proxy.service.sockets import open_sockets
from tornado_proxy.service.snapshot import compile_snapshot, read_snapshot
from tornado_proxy.service import supervisor as module

class HangsOnce:
    # Rule files whose first reader takes long, or never ends.

    def __init__(self, rules, mark, seconds):
        self.rules, self.mark, self.seconds = rules, mark, seconds

    @property
    def files(self):
        try:
            with open(self.mark, "x") as mark:
                mark.write(str(os.getpid()))
            time.sleep(self.seconds)
        except FileExistsError:
            pass
        return self.rules.files

    @property
    def diagnostics(self):
        return ()

def hanging(seconds=3600):
    rules = HangsOnce(loaded.snapshot.rules, sys.argv[1] + ".read", seconds)
    return replace(loaded, snapshot=replace(loaded.snapshot, rules=rules))

async def pids():
    return [each["pid"] for each in supervisor.workers()]

async def until(number):
    while len(await pids()) != number:
        await asyncio.sleep(0.01)

async def kill_one():
    killed = (await pids())[0]
    os.kill(killed, signal.SIGKILL)
    while killed in await pids():
        await asyncio.sleep(0.01)
    return killed

async def main():
    await supervisor.start(open_sockets(loaded.settings.server))
{story}
    await supervisor.wind_down(0)

loaded = compile_snapshot(read_snapshot(Path(sys.argv[1]), {"ACCESS": "access"}))
supervisor = module.Supervisor(loaded, 2)
asyncio.run(main())
"""


@pytest.fixture
def run(tmp_path):
    """Runs a story; returns what it printed."""
    files = Files.create(tmp_path)

    def tell(story: str) -> str:
        program = PROGRAM.replace("{story}", "".join(f"    {line}\n" for line in story.strip().splitlines()))
        command = [sys.executable, "-c", program, str(files.configuration)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        return result.stdout

    return tell


def test_a_missing_worker_is_not_responsive(run):
    """The watchdog is not fed while a worker is missing; the others go on, and it is replaced."""
    told = run("""
module.RESTART_DELAYS = (5.0, 5.0)
print(supervisor.is_responsive())
killed = await kill_one()
print(supervisor.is_serving(), supervisor.is_responsive())
await until(2)
print(killed in await pids())
""")
    assert told == "True\nTrue False\nFalse\n"


def test_a_worker_that_does_not_last_is_replaced_later_each_time(run):
    """The first replacement comes at once; the next one waits as long as the table says."""
    told = run("""
module.RESTART_DELAYS = (0.0, 0.0, 3600.0)
await kill_one()
await until(2)
await kill_one()
await asyncio.sleep(2)
print(len(await pids()))
""")
    assert told == "1\n"


def test_a_worker_that_cannot_follow_is_replaced(run):
    """It would serve another generation than the others."""
    told = run("""
broken = replace(loaded.snapshot, configuration=replace(loaded.snapshot.configuration, settings=None))
before = (await pids())[0]
await supervisor._workers[0].call("activate", 2, broken)
while before in await pids():
    await asyncio.sleep(0.01)
while not supervisor.is_responsive():
    await asyncio.sleep(0.01)
print(before in await pids(), len(await pids()))
""")
    assert told == "False 2\n"


def test_gauges_of_a_worker_end_with_it(run):
    """The memory of a dead worker is not added to that of the living; what it counted stays."""
    told = run("""
await supervisor.report()
await kill_one()
await until(2)
print(sorted({each.type for each in supervisor._ended.counts}))
""")
    assert told == "['counter', 'histogram']\n"


def test_a_worker_whose_thread_hangs_does_not_hold_a_reload(run):
    """It is killed although its event loop turns, and the one in its place serves the new generation."""
    told = run("""
module.ACTIVATING = 2
before = await pids()
await asyncio.wait_for(supervisor.activate(2, hanging()), 30)
while not supervisor.is_responsive():
    await asyncio.sleep(0.01)
workers = supervisor.workers()
print(len({each["pid"] for each in workers} & {*before}), [each["generation"] for each in workers])
""")
    assert told == "1 [2, 2]\n"


def test_a_worker_that_is_slow_to_start_has_its_time(run):
    """The time for a new generation begins when it serves."""
    told = run("""
module.ACTIVATING = 2
supervisor._start = replace(supervisor._start, snapshot=hanging(4).snapshot)
before = await pids()
await kill_one()
await until(2)
(new,) = {*await pids()} - {*before}
await supervisor.activate(2, loaded)
print([each.get("generation") for each in supervisor.workers() if each["pid"] == new])
""")
    assert told == "[2]\n"


def test_a_worker_whose_thread_hangs_ends_when_it_is_asked_to(run):
    """SIGTERM lets it finish its requests, but not wait for the thread."""
    told = run("""
activating = asyncio.create_task(supervisor.activate(2, hanging()))
mark = Path(sys.argv[1] + ".read")
while not (mark.exists() and mark.read_text()):
    await asyncio.sleep(0.01)
hung = int(mark.read_text())
os.kill(hung, signal.SIGTERM)
async with asyncio.timeout(30):
    await activating
    while hung in await pids():
        await asyncio.sleep(0.01)
print("ended")
""")
    assert told == "ended\n"
