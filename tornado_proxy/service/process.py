"""The service as one process: its start, signals, edits, probes, service manager and end."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import signal
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tornado_proxy.config.server import Listener
from tornado_proxy.service import limits
from tornado_proxy.service.building import probe_stores
from tornado_proxy.service.last_good import LastGood, keep_each
from tornado_proxy.service.reloading import Reloader
from tornado_proxy.service.runtime import DetachedExecutor, comes_within, guarded
from tornado_proxy.service.snapshot import Snapshot
from tornado_proxy.service.watching import follow
from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Bus, Event, Probed, ReloadReport
from tornado_proxy.telemetry.log import log_service_events

if TYPE_CHECKING:
    from tornado_proxy.service.serving import SingleProcess
    from tornado_proxy.service.supervisor import Supervisor

_LOG = logging.getLogger("tornado_proxy")

_FIRST_DESCRIPTOR = 3  # SD_LISTEN_FDS_START


class CannotListen(Exception):
    """An address on which the process cannot listen; the text gives the reason."""


class Sockets(msgspec.Struct, frozen=True):
    """Listening sockets, and the URL that people can use."""

    sockets: tuple[socket.socket, ...]
    url: str
    inherited: bool = False  # from the service manager: the next process accepts what waits in their queue


def open_sockets(listener: Listener) -> Sockets:
    """Listens on an address; raises `CannotListen`."""
    try:
        return named(_bound(listener), is_tls=listener.speaks_tls)
    except OSError as error:
        # Python adds the address to the system's text, and a name that is not found has a negative number.
        number = error.errno or 0
        reason = os.strerror(number) if number > 0 else error.strerror or error
        raise CannotListen(f"cannot listen on {listener.address}:{listener.port}: {reason}") from error


def local_socket(path: Path) -> socket.socket:
    """Listens on a Unix socket for the same user, in place of one that was left; raises `CannotListen`."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listening.fileno(), 0o600)  # before it has a name, so that nobody else can ever connect
        if path.is_socket():
            with socket.socket(socket.AF_UNIX) as client:
                is_alive = client.connect_ex(os.fspath(path)) == 0
            if not is_alive:
                path.unlink()
        listening.bind(os.fspath(path))
        listening.listen(limits.BACKLOG)
    except OSError as error:
        listening.close()
        raise CannotListen(f"cannot listen on `{path}`: {error.strerror or error}") from error
    listening.setblocking(False)
    return listening


def _bound(listener: Listener) -> list[socket.socket]:
    """Opens a socket for each address of a name, all on one port; if one fails, closes the others."""
    kind, passive = socket.SOCK_STREAM, socket.AI_PASSIVE
    addresses = socket.getaddrinfo(listener.address or None, listener.port, type=kind, flags=passive)
    port = listener.port
    with ExitStack() as undo:
        sockets: list[socket.socket] = []
        for family, address in dict.fromkeys((family, address) for family, *_, address in addresses):
            bound = undo.enter_context(
                socket.create_server((address[0], port, *address[2:]), family=family, backlog=limits.BACKLOG)
            )
            bound.setblocking(False)
            # Port 0 chooses a free port, which the other addresses then use too.
            port = bound.getsockname()[1]
            sockets.append(bound)
        undo.pop_all()
    return sockets


def named(sockets: Sequence[socket.socket], *, inherited: bool = False, is_tls: bool = False) -> Sockets:
    """Wraps listening sockets, with the URL of the first."""
    address = sockets[0].getsockname()
    if not isinstance(address, tuple):
        return Sockets(tuple(sockets), f"unix:{address}", inherited)
    host, port = address[:2]
    shown = f"[{host}]" if ":" in host else host
    return Sockets(tuple(sockets), f"{'https' if is_tls else 'http'}://{shown}:{port}", inherited)


def inherited_sockets(environment: Mapping[str, str], pid: int) -> dict[str, list[socket.socket]]:
    """Takes over the sockets that systemd opened for this process (sd_listen_fds(3)); returns them by name."""
    count = environment.get("LISTEN_FDS", "")
    if environment.get("LISTEN_PID") != str(pid) or not count.isdecimal():
        return {}
    names = environment.get("LISTEN_FDNAMES", "").split(":")
    sockets: dict[str, list[socket.socket]] = {}
    for index in range(int(count)):
        descriptor = _FIRST_DESCRIPTOR + index
        os.set_inheritable(descriptor, False)
        taken = socket.socket(fileno=descriptor)
        taken.setblocking(False)
        name = names[index] if index < len(names) and names[index] else "unknown"
        sockets.setdefault(name, []).append(taken)
    return sockets


class Notifier(msgspec.Struct, frozen=True):
    """Tells the service manager of the service (sd_notify(3)); `address` is NOTIFY_SOCKET, empty without a manager."""

    address: str = ""

    def tell(self, *states: str, status: str = "") -> None:
        """Sends states, and the line that `systemctl status` shows; the service goes on if it cannot."""
        if not self.address:
            return
        line = " ".join(status.split())
        if len(line) > limits.LONGEST_STATUS:
            line = line[: limits.LONGEST_STATUS - 1] + "…"
        text = "\n".join((*states, f"STATUS={line}") if line else states)
        # A leading `@` stands for the NUL of Linux's abstract namespace.
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as link:
            link.setblocking(False)  # the event loop must not wait for systemd
            link.sendto(text.encode(), address)


def watchdog_period(environment: Mapping[str, str], pid: int) -> float | None:
    """Returns the seconds after which systemd restarts a silent service; None if it does not watch this process."""
    period = environment.get("WATCHDOG_USEC", "")
    if not period.isdecimal() or int(period) == 0:
        return None
    if environment.get("WATCHDOG_PID", str(pid)) != str(pid):
        return None
    return int(period) / 1_000_000


class Launch(msgspec.Struct, frozen=True):
    """The arguments of a process."""

    sockets: Sockets
    read: Callable[[], Snapshot]  # reads the snapshot again
    administer: Callable[[Process], AbstractAsyncContextManager[None]]  # answers operators from its start to its end
    announce: Callable[[], None]  # called when requests are answered
    notifier: Notifier = msgspec.field(default_factory=Notifier)
    last_good: LastGood | None = None  # keeps each snapshot that is put in force
    from_last_good: bool = False  # whether the first one came from there
    renew: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot  # with the secrets that there are now


class Defect(NamedTuple):
    """An exception that ended a task, which was begun again."""

    at: float  # Unix time, seconds
    task: str
    error: str


class Process:
    """The service from its start to its end."""

    def __init__(self, launch: Launch, serving: SingleProcess | Supervisor) -> None:
        self._launch = launch
        self.serving = serving
        self.last_good = launch.last_good
        self.bus = bus = Bus()
        log_service_events(bus)
        settings = serving.configuration.settings
        self._needs_bucket = settings.s3.ready_needs_bucket
        self._targets = settings.targets  # whose buckets are probed
        self._prober = Prober(lambda: probe_stores(serving.generation), settings.s3.probe_interval, bus.emit)
        self.probes, self.probed = self._prober.results, self._prober.settled
        self.reloader = Reloader(
            serving, launch.read, bus.emit, renew=launch.renew, from_last_good=launch.from_last_good
        )
        bus.add(self._follow_up, ReloadReport)
        self.defects: deque[Defect] = deque(maxlen=limits.SHOWN_DEFECTS)
        self._stop = asyncio.Event()
        self._hang_up = asyncio.Event()
        self._set_changed = asyncio.Event()
        self._begun = False

    def is_ready(self) -> bool:
        """Whether requests are answered and, if `readyNeedsBucket` is set, a bucket can be used."""
        return self._begun and any(self.serving.responsive()) and (not self._needs_bucket or self._prober.finds_bucket)

    async def run(self) -> None:
        """Serves until SIGTERM or SIGINT, then finishes requests within the grace period; raises `CannotServe`."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(DetachedExecutor(thread_name_prefix="service"))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up.set)
        sockets = self._launch.sockets
        starting = loop.create_task(self.serving.start(sockets.sockets, inherited=sockets.inherited))
        await asyncio.sleep(0)  # a single process answers requests from here on
        async with self._launch.administer(self):
            try:
                if await self._started(starting):
                    self._begun = True
                    self._launch.announce()
                    self._launch.notifier.tell("READY=1", status=self.reloader.status_line())
                    await self._until_stopped()
            finally:
                self._begun = False
                grace = self.serving.configuration.settings.server.grace_period
                # So many seconds, even if the unit allows less.
                extended = f"EXTEND_TIMEOUT_USEC={round((grace + limits.GRACE_TO_SPARE) * 1_000_000)}"
                self._launch.notifier.tell("STOPPING=1", extended, status="finishing running requests")
                _LOG.info("stopping: running requests have %g s to finish", grace)
                await self.serving.wind_down(grace)

    async def _started(self, starting: asyncio.Task[None]) -> bool:
        """Waits until requests are answered; false if the process is stopped before that."""
        stopped = asyncio.get_running_loop().create_task(self._stop.wait())
        await asyncio.wait({starting, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not starting.done():
            starting.cancel()
            return False
        starting.result()
        return True

    async def _until_stopped(self) -> None:
        tasks = [
            self.start_task("following edits", partial(follow, self.reloader)),
            self.start_task("probing buckets", self._prober.run),
            self.start_task("heeding SIGHUP", self._heed_hang_ups),
            self.start_task("feeding the watchdog", self._feed_watchdog),
        ]
        if (last_good := self.last_good) is not None:
            keep = partial(keep_each, last_good, lambda: self.serving.configuration.snapshot, self._set_changed)
            tasks.append(self.start_task("keeping the last good copy", keep))
        await self._stop.wait()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)

    def start_task(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        """Starts what runs beside requests; after a defect, which log and status page show, it is begun again."""

        def note(error: Exception) -> None:
            self.defects.append(Defect(time.time(), name, f"{type(error).__name__}: {error}"))

        return asyncio.get_running_loop().create_task(guarded(name, work, note))

    def _follow_up(self, _report: ReloadReport) -> None:
        self._set_changed.set()
        if self._targets != (targets := self.serving.configuration.settings.targets):
            self._targets = targets
            self._prober.poke()
        self._launch.notifier.tell(status=self.reloader.status_line())

    async def _heed_hang_ups(self) -> None:
        """Reloads on SIGHUP, and reports the end to systemd, for which `systemctl reload` waits."""
        while True:
            await comes_within(self._hang_up, None)
            # Without the time, `Type=notify-reload` would wait for ever.
            self._launch.notifier.tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                await self.reloader.reload()
            finally:
                self._launch.notifier.tell("READY=1", status=self.reloader.status_line())

    async def _feed_watchdog(self) -> None:
        period = watchdog_period(os.environ, os.getpid())
        while period is not None:
            if all(self.serving.responsive()):
                self._launch.notifier.tell("WATCHDOG=1")
            await asyncio.sleep(period / limits.FEEDS_A_PERIOD)


class Prober:
    """Calls `probe` every `interval` seconds; an interval of 0 turns it off."""

    def __init__(
        self, probe: Callable[[], Awaitable[Sequence[ProbeResult]]], interval: float, emit: Callable[[Event], None]
    ) -> None:
        self._probe = probe
        self._interval = interval
        self._emit = emit
        self._poked = asyncio.Event()
        self._settled = asyncio.Event()
        self.results: dict[str, ProbeResult] = {}  # the last one of each target in force

    @property
    def finds_bucket(self) -> bool:
        """Whether the last probe could use any bucket; true if probes are off."""
        return not self._interval or any(result.is_up for result in self.results.values())

    def poke(self) -> None:
        """Probes again at once, because other buckets may be in force."""
        self._poked.set()
        self._settled.clear()

    async def settled(self, within: float) -> None:
        """Waits until the results are those of what is in force, for some seconds at most."""
        if self._interval:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._settled.wait(), within)

    async def run(self) -> None:
        """Probes until cancelled."""
        while self._interval:
            self._poked.clear()
            results = await self._probe()
            if self._poked.is_set():
                continue  # what was probed is not in force any more
            problems = {target: result.problem for target, result in self.results.items()}
            # In place: the status page looks at the same dictionary.
            self.results.clear()
            self.results.update((result.target, result) for result in results)
            self._settled.set()
            for result in results:
                self._emit(Probed(result, is_news=result.problem != problems.get(result.target)))
            jitter = random.uniform(1 - limits.PROBE_JITTER, 1 + limits.PROBE_JITTER)  # noqa: S311 - no secret
            await comes_within(self._poked, self._interval * jitter)
