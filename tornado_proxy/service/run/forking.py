"""The workers that a process forks.

A process with an event loop and threads cannot be forked safely. So before it starts either, it forks once: that child,
the fork server, has one thread and does nothing but fork workers when asked, and report how they end. It has imported
everything and run nothing: a worker's modules, and what boto3 knows of S3, are pages that it shares with all others.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from setproctitle import setproctitle

from tornado_proxy.service.limits import MOST_SOCKETS

_LOG = logging.getLogger("tornado_proxy")

_STARTED, _ENDED = b"s", b"e"
_REPORT = struct.Struct("!cii")  # kind, pid, status
_ORDER = struct.Struct("!i")  # the pid of a worker to kill; 0 starts one

# Variables of systemd that are for the supervisor only.
_MANAGER_ONLY = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")

Work = Callable[[Sequence[socket.socket]], None]  # what a worker does with its sockets, from its start to its end


class ForkedProcess(NamedTuple):
    """A worker's process, and its exit status to come, which is negative for a signal."""

    pid: int
    status: asyncio.Future[int]


class ForkServer:
    """The supervisor's side of the fork server. Make it before any thread and before the event loop."""

    def __init__(self, work: Work) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._living: dict[int, asyncio.Future[int]] = {}  # the statuses by pid
        self._starting: asyncio.Future[ForkedProcess] | None = None
        self._turn = asyncio.Lock()
        self._reads = False
        self.is_lost = False
        sys.stdout.flush()
        sys.stderr.flush()
        gc.freeze()  # a collection in a child would write to each object, and so copy shared memory
        self.pid = os.fork()
        if self.pid == 0:
            self._socket.close()
            _end(_serve_forks, theirs, work)
        theirs.close()
        self._socket.setblocking(False)

    async def fork(self, sockets: Sequence[socket.socket]) -> ForkedProcess:
        """Starts a worker with copies of sockets; raises OSError."""
        async with self._turn:
            loop = asyncio.get_running_loop()
            if not self._reads:
                loop.add_reader(self._socket, self._read)
                self._reads = True
            self._starting = loop.create_future()
            socket.send_fds(self._socket, [_ORDER.pack(0)], [each.fileno() for each in sockets])
            return await self._starting

    async def close(self) -> None:
        """Ends the fork server; workers go on."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        await asyncio.to_thread(os.waitpid, self.pid, 0)

    def kill(self, pid: int) -> None:
        """Kills a worker if it still runs."""
        # The fork server does it: only the parent knows whether the pid is still that of its child.
        if pid in self._living:
            with suppress(OSError):
                self._socket.send(_ORDER.pack(pid))

    def _read(self) -> None:
        try:
            data = self._socket.recv(_REPORT.size)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        if not data:
            self._lose()
            return
        kind, pid, status = _REPORT.unpack(data)
        if kind == _ENDED and pid in self._living:
            self._living.pop(pid).set_result(status)
        elif kind == _STARTED and self._starting is not None:
            if pid > 0:
                self._living[pid] = asyncio.get_running_loop().create_future()
                self._starting.set_result(ForkedProcess(pid, self._living[pid]))
            else:
                self._starting.set_exception(OSError(status, os.strerror(status)))

    def _lose(self) -> None:
        """Stops this process in good order: without the fork server, no worker can be replaced."""
        _LOG.error("the fork server ended: stopping, since no worker can be replaced")
        self.is_lost = True
        asyncio.get_running_loop().remove_reader(self._socket)
        while self._living:
            self._living.popitem()[1].set_result(1)
        signal.raise_signal(signal.SIGTERM)
        if self._starting is not None and not self._starting.done():
            self._starting.set_exception(ConnectionError("the fork server has ended"))


def _serve_forks(ours: socket.socket, work: Work) -> None:
    setproctitle("tornado-proxy: fork server")
    # They may be sent to all processes at once, as by a terminal or `timeout`; the supervisor handles them.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name in _MANAGER_ONLY:
        os.environ.pop(name, None)
    os.closerange(3, ours.fileno())
    os.closerange(ours.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([ours.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 512)
            for pid, status in _ended(children):
                ours.send(_REPORT.pack(_ENDED, pid, status))
        if ours.fileno() in ready and not _obey(ours, children, work, (woken, wakes)):
            return


def _obey(ours: socket.socket, children: set[int], work: Work, pipe: tuple[int, int]) -> bool:
    """Follows one order; returns false after the last one."""
    data, descriptors, _, _ = socket.recv_fds(ours, _ORDER.size, MOST_SOCKETS)
    if not data:
        return False
    (pid,) = _ORDER.unpack(data)
    if pid:
        if pid in children:
            os.kill(pid, signal.SIGKILL)
        return True
    sockets = [socket.socket(fileno=each) for each in descriptors]
    try:
        pid = os.fork()
    except OSError as error:
        ours.send(_REPORT.pack(_STARTED, 0, error.errno or 0))
    else:
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            for descriptor in pipe:
                os.close(descriptor)
            ours.close()
            _end(work, sockets)
        children.add(pid)
        ours.send(_REPORT.pack(_STARTED, pid, 0))
    for each in sockets:
        each.close()
    return True


def _ended(children: set[int]) -> list[tuple[int, int]]:
    """Returns the children that have ended since the last call, with their exit statuses."""
    ends = []
    for pid in list(children):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            children.discard(pid)
            ends.append((pid, os.waitstatus_to_exitcode(status)))
    return ends


def _end(work: Callable[..., None], *arguments: object) -> None:
    """Does the work of a forked process and ends it: it must never return into its parent's code."""
    status = 1
    try:
        work(*arguments)
        status = 0
    except BaseException:  # noqa: BLE001 - the process must not return into the code of its parent
        traceback.print_exc()
    finally:
        logging.shutdown()  # writes the last lines, as at the end of any other process
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
