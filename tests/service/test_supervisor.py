"""A supervisor and its workers, each test in a process of its own."""

import asyncio
import socket
from contextlib import asynccontextmanager
from pickle import UnpicklingError
from types import SimpleNamespace

import pytest
from files import Files
from forking import run_forked

from tornado_proxy.config.server import InternalServer
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.service.supervisor import Supervisor, WorkerHandle
from tornado_proxy.service.worker import VERSION, Channel, Hello

PROGRAM = """
import asyncio, os, signal, sys, time, msgspec
from msgspec.structs import replace
from pathlib import Path
from tornado_proxy.service.process import open_sockets
from tornado_proxy.service.snapshot import compile_snapshot, read_snapshot
from tornado_proxy.service import supervisor as module
from hanging_rules import HangsOnce

def hanging(seconds=3600):
    rules = HangsOnce(configuration.snapshot.rules, sys.argv[1] + ".read", seconds)
    return replace(configuration, snapshot=replace(configuration.snapshot, rules=rules))

async def pids():
    return [worker["pid"] for worker in supervisor.workers()]

async def all_are_there():
    while len(await pids()) != workers:
        await asyncio.sleep(0.01)

async def kill_one():
    killed = (await pids())[0]
    os.kill(killed, signal.SIGKILL)
    while killed in await pids():
        await asyncio.sleep(0.01)
    return killed

async def main():
    await supervisor.start(open_sockets(configuration.settings.server).sockets, inherited=False)
{statements}
    await supervisor.wind_down(0)

configuration = compile_snapshot(read_snapshot(Path(sys.argv[1]), {"ACCESS": "access"}))
workers = int(sys.argv[2])
supervisor = module.Supervisor(configuration, workers)
asyncio.run(asyncio.wait_for(main(), 60))
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs statements with a supervisor of one worker or more and returns their output."""
    files = Files.create(tmp_path)

    def run_statements(statements: str, workers: int = 1) -> str:
        program = PROGRAM.replace("{statements}", "".join(f"    {line}\n" for line in statements.strip().splitlines()))
        ran = run_forked(program, [str(files.configuration), str(workers)])
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run_statements


def test_a_failing_worker_is_replaced_with_a_delay(run):
    """The first replacement starts at once, later ones after the delays of the table; meanwhile one serves alone."""
    printed = run(
        """
module.RESTART_DELAYS = (0.0, 0.0, 3600.0)
print(all(supervisor.responsive()))
killed = await kill_one()
print(any(supervisor.responsive()), all(supervisor.responsive()))
await all_are_there()
print(killed in await pids())
await kill_one()
await asyncio.sleep(2)
print(len(await pids()))
""",
        workers=2,
    )
    assert printed == "True\nTrue False\nFalse\n1\n"


def test_a_worker_that_cannot_activate_is_replaced(run):
    """A worker that cannot build a generation is replaced, since it would serve the previous one."""
    printed = run("""
broken = replace(configuration.snapshot, settings=None)
before = (await pids())[0]
await supervisor._workers[0].call("activate", 2, broken)
while before in await pids():
    await asyncio.sleep(0.01)
while not all(supervisor.responsive()):
    await asyncio.sleep(0.01)
print(before in await pids(), len(await pids()))
""")
    assert printed == "False 1\n"


def test_what_has_gone_is_in_no_report(run):
    """Of a dead worker, counters and histograms are reported, no gauges; of a target that has gone, nothing is."""
    printed = run("""
async def ask():
    port = supervisor._sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"BREW / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n")
    await reader.readline()
    writer.close()
for _ in range(20):
    await ask()
def targets(report):
    samples = [sample for metric in report.counts for sample in metric.samples]
    return sorted({sample.labels.get("target", "-") for sample in samples} - {"-"}), sorted(report.activity.targets)
print(targets(await supervisor.report()))
await kill_one()
await all_are_there()
print(sorted({metric.type for metric in supervisor._ended.counts}))
text = Path(sys.argv[1]).read_text()
Path(sys.argv[1]).write_text(text.replace("site:", "other:"))
for each in Path(sys.argv[1]).parent.rglob("*.rules"):
    each.write_text("")
await supervisor.activate(2, compile_snapshot(read_snapshot(Path(sys.argv[1]), {"ACCESS": "access"})))
print(targets(await supervisor.report()), targets(supervisor._ended))
""")
    assert printed == "(['site'], ['site'])\n['counter', 'histogram']\n([], []) ([], [])\n"


def test_a_defect_does_not_end_the_keeping_of_a_worker(run):
    """It is logged with its traceback, and the worker is replaced a moment later."""
    printed = run("""
import logging
logging.basicConfig(stream=sys.stdout, format="%(message)s")
spawn = supervisor._spawn
async def broken():
    supervisor._spawn = spawn
    raise ValueError("a defect")
supervisor._spawn = broken
await kill_one()
await all_are_there()
""")
    assert "Traceback" in printed
    assert "ValueError: a defect\n" in printed


@asynccontextmanager
async def _worker():
    """The supervisor's end and the worker's end of a worker that never ran."""
    ours, theirs = socket.socketpair()
    program = await asyncio.create_subprocess_exec("sleep", "60")
    handle, channel = WorkerHandle(program, await Channel.over(ours), None), await Channel.over(theirs)
    try:
        yield handle, channel
    finally:
        await handle.close()
        await channel.close()


async def test_a_worker_of_another_version_is_told_of(caplog):
    """It was installed since the supervisor's start; one of the same version says nothing new."""
    async with _worker() as (handle, channel):
        for each in (VERSION, "0.0.1"):
            await channel.send(Hello(each))
        await channel.close()
        await handle._listening
    (told,) = [record.getMessage() for record in caplog.records]
    assert "runs version 0.0.1" in told
    assert told.endswith("restart the service")


async def test_calls_of_a_worker_that_cannot_be_understood_end():
    """As of one that has ended: its supervisor replaces it, and a reload goes on."""
    async with _worker() as (handle, channel):
        asked = asyncio.get_running_loop().create_task(handle.call("report"))
        await channel.receive()
        channel._writer.write((1).to_bytes(8) + b"?")
        assert await asked is None
        with pytest.raises(UnpicklingError):
            await handle.ended()


async def test_the_last_requests_of_all_workers_are_put_together():
    """As many as one process keeps, in order of time; a worker that does not answer has none."""

    class Worker:
        def __init__(self, *times):
            self.rows = tuple(KeptRequest(at, "site", "GET", "", "/a", "/a", signed_in=False) for at in times) or None

        async def call(self, method, *, within):
            return self.rows

    settings = SimpleNamespace(internal_server=InternalServer(kept_requests=3))
    supervisor = SimpleNamespace(
        _workers={1: Worker(1, 4), 2: Worker(2, 3), 3: Worker()}, configuration=SimpleNamespace(settings=settings)
    )
    assert [each.at for each in await Supervisor.requests(supervisor)] == [2, 3, 4]


def test_a_hanging_worker_does_not_block_a_reload(run):
    """A worker that does not activate a generation in time is replaced, and both serve the new one."""
    printed = run(
        """
module.limits.WORKER_ACTIVATING = 2
before = await pids()
await asyncio.wait_for(supervisor.activate(2, hanging()), 30)
while not all(supervisor.responsive()):
    await asyncio.sleep(0.01)
workers = supervisor.workers()
print(len({worker["pid"] for worker in workers} & {*before}), [worker["generation"] for worker in workers])
""",
        workers=2,
    )
    assert printed == "1 [2, 2]\n"


def test_a_slow_start_does_not_count_as_hanging(run):
    """The time limit of a reload starts when the worker serves."""
    printed = run(
        """
module.limits.WORKER_ACTIVATING = 2
supervisor._start = msgspec.structs.replace(supervisor._start, snapshot=hanging(4).snapshot)
before = await pids()
await kill_one()
await all_are_there()
(new,) = {*await pids()} - {*before}
await supervisor.activate(2, configuration)
print([worker.get("generation") for worker in supervisor.workers() if worker["pid"] == new])
""",
        workers=2,
    )
    assert printed == "[2]\n"


def test_a_hanging_worker_obeys_sigterm(run):
    printed = run("""
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
    assert printed == "ended\n"
