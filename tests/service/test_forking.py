"""Workers are forked from a process that does nothing else, and their ends are reported."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import asyncio, os, signal, socket, sys
from tornado_proxy.service.runtime import ForkServer

ready = object()

def work(sockets):
    channel, *_ = sockets
    match channel.recv(100):
        case b"defect":
            raise ValueError("a defect")
        case b"shared":
            channel.send(str(id(ready)).encode())
        case b"sockets":
            open_ones = [each for each in os.listdir("/proc/self/fd") if int(each) > 2]
            channel.send(str(len(open_ones)).encode())
        case b"manager":
            channel.send(os.environ.get("NOTIFY_SOCKET", "none").encode())

async def ask(server, *words):
    ours, theirs = socket.socketpair()
    with theirs:
        process = await server.fork([theirs])
    for word in words:
        ours.send(word)
    return process, ours

async def main(server):
{story}
    await server.close()

os.environ["NOTIFY_SOCKET"] = "/run/manager"
asyncio.run(main(ForkServer(work)))
"""


def _run(story: str) -> subprocess.CompletedProcess[str]:
    lines = "".join(f"    {line}\n" for line in story.strip().splitlines())
    command = [sys.executable, "-c", PROGRAM.replace("{story}", lines)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_a_worker_is_a_copy_that_reports_how_it_ended():
    """Objects of the parent are there at the same place; the end is a status, negative for a signal."""
    result = _run("""
process, channel = await ask(server, b"shared")
assert channel.recv(100) == str(id(ready)).encode()
assert await process.wait() == 0
process, channel = await ask(server, b"manager")
assert channel.recv(100) == b"none"
assert await process.wait() == 0
process, channel = await ask(server)
process.kill()
assert await process.wait() == -signal.SIGKILL
""")
    assert (result.returncode, result.stderr) == (0, "")


def test_a_worker_that_ends_badly_has_a_status_and_a_traceback():
    """Neither an exit nor a defect returns into the parent's code."""
    result = _run("""
process, _ = await ask(server, b"defect")
print(await process.wait())
""")
    assert (result.returncode, result.stdout) == (0, "1\n")
    assert "ValueError: a defect" in result.stderr


def test_a_worker_has_the_sockets_it_was_given_and_no_other():
    """Neither the fork server's channel nor another worker's is open in it."""
    result = _run("""
first, _ = await ask(server)
process, channel = await ask(server, b"sockets")
print(channel.recv(100))
first.kill()
""")
    # Its socket, and the folder that it lists.
    assert (result.returncode, result.stdout) == (0, "b'2'\n"), result.stderr


def test_signals_of_the_terminal_leave_the_fork_server_alone():
    """Ctrl-C and a hang-up reach every process of a terminal; the supervisor decides what they mean."""
    result = _run("""
first, _ = await ask(server, b"shared")  # it has begun its work
await first.wait()
os.kill(server.pid, signal.SIGINT)
os.kill(server.pid, signal.SIGHUP)
process, channel = await ask(server, b"shared")
assert channel.recv(100) == str(id(ready)).encode()
assert await process.wait() == 0
assert not server.is_lost
""")
    assert (result.returncode, result.stderr) == (0, "")


def test_the_end_of_the_fork_server_ends_the_process():
    """A supervisor that could replace no worker any more is told to stop, and says why."""
    result = _run("""
stopped = asyncio.Event()
asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
process, _ = await ask(server)
os.kill(server.pid, signal.SIGKILL)
await asyncio.wait_for(stopped.wait(), 10)
assert server.is_lost
assert await process.wait() == 1
""")
    assert result.returncode == 0, result.stderr
    assert "the fork server ended" in result.stderr
