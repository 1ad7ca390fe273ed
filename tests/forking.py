"""Programs forked from a process that has imported the package, since that takes half a second of processor time.

`python forking.py DESCRIPTOR` is that process; it ends with the tests.
"""

import asyncio
import atexit
import fcntl
import gc
import io
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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import cache, partialmethod
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, TextIO

SERVE = "import sys; from tornado_proxy.cli.main import main; sys.exit(main())"
"""The command line of tornado-proxy."""


class ForkedProgram:
    """A program of Python, and what the tests use of `subprocess.Popen`; its standard error is a pipe."""

    def __init__(
        self,
        program: str,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] = os.environ,
        stdin: int | None = DEVNULL,
        stdout: int | None = DEVNULL,
        listeners: Sequence[int] = (),
    ) -> None:
        """Starts it; a stream of None is closed. Listeners become the descriptors from 3 on, as systemd gives them."""
        report, told = socket.socketpair()
        self._report, self.returncode = report.makefile("r"), None
        with report, told, ExitStack() as theirs:
            streams = [_stream(*each, theirs) for each in ((stdin, "w"), (stdout, "r"), (PIPE, "r"))]
            self.stdin, self.stdout, self.stderr = (ours for _, ours in streams)
            numbered = enumerate([*(its for its, _ in streams), *listeners])
            given, forker = {number: each for number, each in numbered if each is not None}, _forker()
            request = [program, [*arguments], dict(environment), str(Path.cwd()), [*given], False]
            descriptors = [told.fileno(), *given.values(), forker.fileno()]
            # Each request is one message.
            socket.send_fds(forker, [json.dumps(request).encode()], descriptors)
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

    terminate = partialmethod(send_signal, signal.SIGTERM)
    kill = partialmethod(send_signal, signal.SIGKILL)


class _ForkedWorker:
    """A worker that a forked supervisor starts, and what it uses of `asyncio.subprocess.Process`."""

    def __init__(self, forker: socket.socket, command: Sequence[str], descriptors: Sequence[int]) -> None:
        report, told = socket.socketpair()
        self._report = report.makefile("r")
        kept = [0, 1, 2, *descriptors]
        program = [*command[3:4], command[4:], dict(os.environ), str(Path.cwd()), kept, True]
        with report, told:
            socket.send_fds(forker, [json.dumps(program).encode()], [told.fileno(), *kept])
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


def run_forked(
    program: str, arguments: Sequence[str] = (), timeout: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; `options` are those of `ForkedProgram`, but standard output is a pipe too."""
    process = ForkedProgram(program, arguments, **{"stdout": PIPE, **options})
    with process.stdout, process.stderr, ThreadPoolExecutor() as readers:
        printed = readers.map(lambda stream: stream.read(), (process.stdout, process.stderr))
        try:
            return subprocess.CompletedProcess(program, process.wait(timeout), *printed)
        finally:
            process.kill()


def errors_of(program: str) -> str:
    """The standard error of a program, which must succeed."""
    ran = run_forked(program)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def _stream(stream: int | None, ours: str, theirs: ExitStack) -> tuple[int | None, TextIO]:
    """The descriptor of a program's stream, which is closed with `theirs`, and our end, empty unless it is a pipe."""
    if stream == DEVNULL:
        return theirs.enter_context(Path(os.devnull).open("r+b", 0)).fileno(), io.StringIO()
    if stream != PIPE:
        return stream, io.StringIO()
    its, end = os.pipe()[:: 1 if ours == "w" else -1]
    theirs.callback(os.close, its)
    return its, os.fdopen(end, ours)


@cache
def _forker() -> socket.socket:
    """The connection to a process that forks; each process of the tests has one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, __file__, str(theirs.fileno())]
    with theirs:
        forker = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=DEVNULL)
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
    _renumber(others, numbers)
    _make_streams(numbers)
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


def _make_streams(numbers: Sequence[int]) -> None:
    """Makes the streams as Python does when it starts; one that is not among the numbers is closed."""
    for number, (name, mode, buffering) in enumerate((("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1))):
        old, new = getattr(sys, name), None
        if number in numbers:
            new = open(number, mode, buffering, old.encoding, old.errors, "\n", closefd=False)  # noqa: SIM115
        else:
            os.close(number)
        setattr(sys, name, new)


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
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()
    os._exit(status)
