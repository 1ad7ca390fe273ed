"""Workers are forked by a fork server, and their exit statuses are reported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, logging, os, signal, socket, sys
from tornado_proxy.config.server import Log
from tornado_proxy.service.run.forking import ForkServer
from tornado_proxy.service.run.logs import configure_logging

ready = object()

def work(sockets):
    channel, *_ = sockets
    match channel.recv(100):
        case b"defect":
            raise ValueError("a defect")
        case b"shared":
            channel.send(str(id(ready)).encode())
        case b"sockets":
            descriptors = [name for name in os.listdir("/proc/self/fd") if int(name) > 2]
            channel.send(str(len(descriptors)).encode())
        case b"log":
            configure_logging(Log())
            for number in range(100):
                logging.getLogger("tornado_proxy").info("line %d", number)
        case b"manager":
            channel.send(os.environ.get("NOTIFY_SOCKET", "unset").encode())

async def start_worker(server, *words):
    parent_end, worker_end = socket.socketpair()
    with worker_end:
        process = await server.fork([worker_end])
    for word in words:
        parent_end.send(word)
    return process, parent_end

async def main(server):
{statements}
    await server.close()

os.environ["NOTIFY_SOCKET"] = "/run/manager"
asyncio.run(main(ForkServer(work)))
"""


def _run(statements: str) -> subprocess.CompletedProcess[str]:
    lines = "".join(f"    {line}\n" for line in statements.strip().splitlines())
    command = [sys.executable, "-c", PROGRAM.replace("{statements}", lines)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_a_worker_is_a_copy_with_an_exit_status():
    """A worker shares the objects of its parent, and its status is negative after a signal."""
    result = _run("""
process, channel = await start_worker(server, b"shared")
assert channel.recv(100) == str(id(ready)).encode()
assert await process.status == 0
process, channel = await start_worker(server, b"manager")
assert channel.recv(100) == b"unset"
assert await process.status == 0
process, channel = await start_worker(server)
server.kill(process.pid)
assert await process.status == -signal.SIGKILL
""")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_defect_ends_a_worker_with_a_traceback():
    """After an unexpected exception, a worker ends with status 1 instead of running the parent's code."""
    result = _run("""
process, _ = await start_worker(server, b"defect")
print(await process.status)
""")
    assert (result.returncode, result.stdout) == (0, "1\n")
    assert "ValueError: a defect" in result.stderr


def test_a_worker_writes_its_last_lines():
    """What waits to be written at the end of a worker is not lost."""
    result = _run("""
process, channel = await start_worker(server, b"log")
assert await process.status == 0
channel.close()
""")
    assert "line 99" in result.stderr


def test_a_worker_has_only_its_own_sockets():
    """Neither the channel of the fork server nor that of another worker is open."""
    result = _run("""
first, _ = await start_worker(server)
process, channel = await start_worker(server, b"sockets")
print(channel.recv(100))
server.kill(first.pid)
""")
    # The descriptors are its socket and the directory that it lists.
    assert (result.returncode, result.stdout) == (0, "b'2'\n"), result.stderr


def test_the_fork_server_ignores_signals_for_all_processes():
    """A terminal sends SIGINT and SIGHUP to every process, others send SIGTERM so; the supervisor handles them."""
    result = _run("""
first, _ = await start_worker(server, b"shared")  # the worker has started
await first.status
os.kill(server.pid, signal.SIGINT)
os.kill(server.pid, signal.SIGHUP)
os.kill(server.pid, signal.SIGTERM)
process, channel = await start_worker(server, b"shared")
assert channel.recv(100) == str(id(ready)).encode()
assert await process.status == 0
assert not server.is_lost
""")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_end_of_the_fork_server_ends_the_process():
    """A supervisor without a fork server cannot replace workers, so it gets SIGTERM and logs the reason."""
    result = _run("""
stopped = asyncio.Event()
asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
process, _ = await start_worker(server)
os.kill(server.pid, signal.SIGKILL)
await asyncio.wait_for(stopped.wait(), 10)
assert server.is_lost
assert await process.status == 1
""")
    assert result.returncode == 0, result.stderr
    assert "the fork server ended" in result.stderr
