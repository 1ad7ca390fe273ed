"""A worker serves, and ends alone or with all workers."""

import asyncio
import socket

import pytest
from files import Files
from msgspec.structs import replace
from tornado.netutil import bind_sockets

from tornado_proxy.service import worker
from tornado_proxy.service.runtime import close_logging, run_event_loop
from tornado_proxy.service.serving import SingleProcess
from tornado_proxy.service.worker import Channel, Result, Start, WorkerCall


@pytest.fixture(autouse=True)
def _closed_log():
    """Closes the log after each test, since a worker logs to standard error."""
    yield
    close_logging()


@pytest.fixture
def snapshot(tmp_path):
    """The snapshot that the worker serves."""
    return Files.create(tmp_path).read()


async def _started(snapshot, listening):
    """A task that works, and its supervisor's end of the channel, to which it has been told to start."""
    parent_end, worker_end = socket.socketpair()
    working = asyncio.get_running_loop().create_task(worker._work(worker_end, [listening]))
    channel = await Channel.over(parent_end)
    await channel.send(WorkerCall(1, "start", (Start(1, snapshot),)))
    return working, channel


@pytest.mark.parametrize("is_last", [False, True])
async def test_only_the_last_worker_serves_the_queue(snapshot, monkeypatch, is_last):
    """A worker that ends alone leaves queued connections to the others; when all stop, they are served."""
    (listening,) = bind_sockets(0, "127.0.0.1")
    wind_down, client = SingleProcess.wind_down, socket.socket()

    async def wind_down_late(serving, grace, **options):
        client.connect(listening.getsockname())
        await wind_down(serving, grace, **options)

    monkeypatch.setattr(SingleProcess, "wind_down", wind_down_late)
    working, channel = await _started(snapshot, listening.dup())
    while not isinstance(await channel.receive(), Result):
        pass
    broken = replace(snapshot, settings=None)
    await channel.send(WorkerCall(2, "stop", (0.0,)) if is_last else WorkerCall(2, "activate", (2, broken)))
    await working
    await channel.close()
    with listening, client:
        if is_last:
            with pytest.raises(BlockingIOError):
                listening.accept()
        else:
            listening.accept()[0].close()


async def test_a_stopping_worker_answers_calls(snapshot, monkeypatch):
    """A reload does not wait for the downloads of a worker that will be replaced."""
    wind_down, finished = SingleProcess.wind_down, asyncio.Event()

    async def wind_down_late(serving, grace, **options):
        await finished.wait()
        await wind_down(serving, grace, **options)

    monkeypatch.setattr(SingleProcess, "wind_down", wind_down_late)
    (listening,) = bind_sockets(0, "127.0.0.1")
    working, channel = await _started(snapshot, listening)
    broken = replace(snapshot, settings=None)
    await channel.send(WorkerCall(2, "activate", (2, broken)))
    await channel.send(WorkerCall(3, "activate", (3, snapshot)))
    await channel.send(WorkerCall(4, "stop", (0.0,)))
    answered: list[int] = []
    async with asyncio.timeout(20):
        while len(answered) < 4:
            message = await channel.receive()
            answered += [message.number] if isinstance(message, Result) else []
    assert answered == [1, 2, 3, 4]
    assert not working.done()
    finished.set()
    await working
    await channel.close()


@pytest.mark.parametrize("choice", ["asyncio", "uvloop"])
def test_messages_for_who_has_gone_are_dropped(choice):
    """A worker whose supervisor was killed ends its requests, and has nobody to report to."""

    async def main():
        ours, theirs = socket.socketpair()
        channel = await Channel.over(ours)
        theirs.close()
        while await channel.send(Result(1)):  # noqa: ASYNC110 - the transport tells nobody
            await asyncio.sleep(0)
        channel.post(Result(2))
        assert not await channel.send(Result(3))
        await channel.close()

    run_event_loop(main(), choice)
