"""Programs forked from a process that has imported the package, since that takes half a second of processor time.

`python forking.py DESCRIPTOR` is that process; it ends with the tests.
"""

import asyncio
import atexit
import fcntl
import gc
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

SERVE = "import sys; from tornado_proxy.cli.main import main; sys.exit(main())"
"""The command line of tornado-proxy."""


class ForkedProgram:
    """A program of Python, and what the tests use of `subprocess.Popen`; its standard error is a pipe."""

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        stdout: int | None = None,
        listeners: Sequence[int] = (),
    ) -> None:
        """Starts it; the listeners become the descriptors from 3 on, as systemd gives them."""
        report, told = socket.socketpair()
        reading, writing = os.pipe()
        self._report, self.stderr = report.makefile("r"), os.fdopen(reading)
        self.returncode: int | None = None
        numbers = [*range(3, 3 + len(listeners))]
        request = json.dumps([program, [*arguments], dict(environment), str(Path.cwd()), numbers, False]).encode()
        with report, told, Path(os.devnull).open("wb") as null, os.fdopen(writing, "wb") as error:
            output, forker = null.fileno() if stdout is None else stdout, _forker()
            # Each request is one message.
            socket.send_fds(forker, [request], [told.fileno(), output, error.fileno(), *listeners, forker.fileno()])
            self.pid = int(self._report.readline())

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end; returns the exit status, negative for a signal."""
        if self.returncode is None:
            if not select.select([self._report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._report.readline())
            self._report.close()
        return self.returncode

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            # Its own parent waits for it, so it may end and be forgotten before this line.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        self.send_signal(signal.SIGKILL)


class _ForkedWorker:
    """A worker that a forked supervisor starts, and what it uses of `asyncio.subprocess.Process`."""

    def __init__(self, forker: socket.socket, command: Sequence[str], descriptors: Sequence[int]) -> None:
        report, told = socket.socketpair()
        self._report = report.makefile("r")
        program = [*command[3:4], command[4:], dict(os.environ), str(Path.cwd()), descriptors, True]
        with report, told:
            socket.send_fds(forker, [json.dumps(program).encode()], [told.fileno(), 1, 2, *descriptors])
            self.pid = int(self._report.readline())
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
        self._status: asyncio.Task[str] | None = None

    async def wait(self) -> int:
        """Waits for the end; returns the exit status, negative for a signal."""
        self._status = self._status or asyncio.ensure_future(asyncio.to_thread(self._report.readline))
        return int(await asyncio.shield(self._status))

    def kill(self) -> None:
        """Sends SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)


def errors_of(program: str) -> str:
    """Runs a program, which must succeed; returns its standard error."""
    process = ForkedProgram(program, [], os.environ)
    with process.stderr as stream:
        errors = stream.read()
    assert process.wait() == 0, errors
    return errors


@cache
def _forker() -> socket.socket:
    """The connection to a process that forks; each process of the tests has one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, __file__, str(theirs.fileno())]
    # Its streams become those of each program, which are pipes too: Python asks once whether they can be searched.
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with theirs:
        forker = subprocess.Popen(command, pass_fds=[theirs.fileno()], **streams)
    atexit.register(forker.wait)
    atexit.register(ours.close)
    return ours


def _fork_for(connection: socket.socket) -> str:
    """Forks for each request, and returns the program in the process that shall run it."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, 1 << 20, 20)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG if request else 0)[0]:
                pass
        if not request:
            os._exit(0)
        if os.fork() == 0:
            break
        for each in descriptors:
            os.close(each)
    connection.close()
    report, *others = descriptors
    if forked := os.fork():
        for each in (*others, 0, 1, 2):
            os.close(each)
        os.write(report, b"%d\n" % forked)
        os.write(report, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]))
        os._exit(0)
    os.close(report)
    program, arguments, environment, folder, numbers, is_worker = json.loads(request)
    if is_worker:
        os.setsid()
    else:
        forker = socket.socket(fileno=fcntl.fcntl(others[-1], fcntl.F_DUPFD_CLOEXEC, 400))
        os.close(others.pop())

        async def forked(*command: str, pass_fds: Sequence[int], **_: object) -> _ForkedWorker:
            return _ForkedWorker(forker, command, pass_fds)

        asyncio.create_subprocess_exec = forked
    _renumber(others, [1, 2, *numbers])
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = arguments
    return str(program)


def _renumber(descriptors: Sequence[int], numbers: Sequence[int]) -> None:
    moved = [fcntl.fcntl(each, fcntl.F_DUPFD, 500) for each in descriptors]  # none has the number of another one
    for each, number in zip(moved, numbers, strict=True):
        os.dup2(each, number)
    for each in (*moved, *({*descriptors} - {*numbers})):
        os.close(each)


if __name__ == "__main__":
    import uvloop  # noqa: F401

    import tornado_proxy.cli.serve
    import tornado_proxy.service.worker  # noqa: F401
    from tornado_proxy.admin.status import StatusPages
    from tornado_proxy.config.model import Bucket
    from tornado_proxy.pages.render import Pages
    from tornado_proxy.rules.reading import rules_parser
    from tornado_proxy.s3.client import make_client

    # Each keeps what it has compiled or read.
    StatusPages(), Pages(), rules_parser(), make_client(Bucket("bucket", region="us-east-1"))
    gc.freeze()
    status = 0
    program = _fork_for(socket.socket(fileno=int(sys.argv[1])))
    try:
        exec(program)
    except SystemExit as end:
        status = int(end.code or 0)
    # The interpreter would also take apart all that was imported, which takes longer than most programs.
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)
