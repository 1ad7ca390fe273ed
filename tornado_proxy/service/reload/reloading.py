"""Reloads: read the whole snapshot, compile and test it off the event loop, swap, and report what changed.

A bad edit leaves the generation in force, the report gives the reason, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from socket import socket
from typing import Protocol

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.rules.diagnostic import Diagnostic, counted, errors
from tornado_proxy.service.reload.background import in_background
from tornado_proxy.service.reload.changes import changes, fixed_at_start
from tornado_proxy.service.reload.probing import may_pass, probed
from tornado_proxy.service.reload.rule_tests import run_rule_tests
from tornado_proxy.service.reload.snapshot import Configuration, Snapshot, compile_snapshot, tolerant_of_dates
from tornado_proxy.service.reload.stores import Unbuildable
from tornado_proxy.telemetry.events import Event, ReloadOutcome, ReloadReport
from tornado_proxy.telemetry.metrics import ProcessReport
from tornado_proxy.web.generation import Generation

_LOG = logging.getLogger("tornado_proxy")

READ_WITHIN = 10.0  # seconds after which a reload no longer waits for a file system

_UNSETTLED = Diagnostic(
    "unsettled", "the files keep changing: no two readings were the same", help="leave them alone for a second"
)
_HANGS = Diagnostic(
    "unreadable-file", "the files cannot be read: the file system does not answer", help="look for a mount that hangs"
)


class Serving(Protocol):
    """Answers requests: `SingleProcess` or `Supervisor`. It has the configuration and the generation in force."""

    configuration: Configuration
    worker_ends: int  # of workers that ended by themselves

    @property
    def generation(self) -> Generation:
        """The generation in force, made from the configuration."""

    async def start(self, sockets: Sequence[socket], *, inherited: bool) -> None:
        """Takes over listening sockets, and returns when requests are answered.

        Inherited ones belong to the service manager: the next process accepts what waits in their queue.
        """

    async def activate(self, number: int, configuration: Configuration) -> None:
        """Puts a configuration in force, and returns when all new requests get it; raises `Unbuildable` before."""

    def responsive(self) -> Sequence[bool]:
        """Returns of each process that should answer requests whether it does, and its event loop ran recently."""

    def workers(self) -> Sequence[dict[str, object]]:
        """Returns the state of each process that answers requests, as JSON."""

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """Returns all counts since the start, including those of processes that have ended; metrics if wanted."""

    async def requests(self) -> Sequence[KeptRequest]:
        """Returns the last requests that are kept in memory, over all processes, the oldest first."""

    async def purge(self, target: str | None, prefix: str) -> int:
        """Purges keys with a prefix from the caches of a target, or all; returns their number over all processes."""

    def set_log_level(self, level: str) -> None:
        """Sets the log level of all processes."""

    async def wind_down(self, grace: float) -> None:
        """Accepts no more, and finishes running requests within `grace` seconds."""


class Reloader:
    """Makes new generations, one attempt at a time; `read` is called on a thread."""

    def __init__(
        self,
        serving: Serving,
        read: Callable[[], Snapshot],
        emit: Callable[[Event], None],
        *,
        from_last_good: bool = False,
        read_within: float = READ_WITHIN,
    ) -> None:
        self.from_last_good = from_last_good  # while the copy from which the service started is in force
        self._serving = serving
        self._at_start = serving.configuration.settings
        self._read_within = read_within
        self._reading: asyncio.Future[Snapshot] | None = None
        self._read = read
        self._emit = emit
        self._lock = asyncio.Lock()
        self._watched = serving.configuration.snapshot.watched
        self._refused: Snapshot | None = None
        self.last: ReloadReport | None = None
        # While the files on disk are not in force; status page, status line, metrics and log follow it.
        self.failure: ReloadReport | None = None

    def watched(self) -> tuple[Path, ...]:
        """Returns the paths to watch: of the snapshot in force, and of the one that was read last."""
        return tuple(dict.fromkeys((*self._serving.configuration.snapshot.watched, *self._watched)))

    @property
    def is_current(self) -> bool:
        """Whether the files on disk are in force."""
        return self.failure is None

    def status_line(self) -> str:
        """Returns the line of `systemctl status`: the generation, and the first mistake of a refused edit."""
        failure, rewrites = self.failure, self._serving.configuration.rewrite_count
        line = f"generation {self._serving.generation.number}, {counted(rewrites, 'rewrite')}"
        if self.from_last_good:
            line += ", started from the last good copy"
        if failure is None:
            return line
        first = errors(failure.diagnostics)[0]
        place = f"{first.place}: " if first.place else ""
        return f"{line}; an edit was refused: {place}{first.message}"

    async def reload(self) -> ReloadReport:
        """Reads the snapshot, and puts it in force if it is new and good; raises nothing but cancellation."""
        # Two attempts at once would give two generations one number, and the older snapshot could win.
        async with self._lock:
            began = time.perf_counter()
            try:
                report = await self._attempt()
            except Exception as error:  # noqa: BLE001 - a defect of ours must not end the service
                text = f"the reload failed with `{type(error).__name__}: {error}`; the log has the traceback"
                report = replace(self._report(ReloadOutcome.FAILED, "", (Diagnostic("defect", text),)), error=error)
            if report == self.failure:
                return report  # reported once: the files are looked at every few seconds
            return self._told(replace(report, seconds=time.perf_counter() - began))

    def _told(self, report: ReloadReport) -> ReloadReport:
        self.failure = report if report.is_failure else None
        self.from_last_good = self.from_last_good and not report.is_in_force
        # A reading that finds nothing new does not hide the result of the last edit.
        if report.outcome is not ReloadOutcome.UNCHANGED:
            self._emit(report)
        if report.outcome is not ReloadOutcome.UNCHANGED or self.last is None:
            self.last = report
        return report

    async def _attempt(self) -> ReloadReport:
        refused, self._refused = self._refused, None
        in_force = self._serving.configuration
        try:
            snapshot = await self._snapshot()
        except TimeoutError:
            return self._report(ReloadOutcome.REFUSED, in_force.snapshot.digest, (_HANGS,))
        self._watched = snapshot.watched
        if snapshot.is_as(in_force.snapshot):
            outcome = ReloadOutcome.REVERTED if self.failure is not None else ReloadOutcome.UNCHANGED
            # The watcher may have loaded the edit already: repeat its warnings.
            report = self._report(outcome, snapshot.digest, in_force.diagnostics)
            return replace(report, news=(), kept_back=in_force.kept_back)
        if not snapshot.settled:
            return self._report(ReloadOutcome.REFUSED, in_force.snapshot.digest, (_UNSETTLED,))
        if self.failure is not None and snapshot.is_as(refused):
            self._refused = refused
            return self.failure
        return await self._tried(snapshot, in_force)

    async def _tried(self, snapshot: Snapshot, in_force: Configuration) -> ReloadReport:
        configuration = await in_background(compile_snapshot, snapshot, in_force)
        configuration = tolerant_of_dates(configuration, in_force.settings, time.time())
        if any(rules.tests for rules in configuration.rule_sets.values()):
            configuration = await in_background(run_rule_tests, configuration, in_force)
        if configuration.usable:
            configuration = await probed(configuration, in_force)
        diagnostics = configuration.diagnostics
        if configuration.usable:
            try:
                return await self._activate(fixed_at_start(configuration, self._at_start))
            except Unbuildable as error:
                diagnostics = (*diagnostics, *error.diagnostics)
        self._refused = None if may_pass(diagnostics) else snapshot
        return self._report(ReloadOutcome.REFUSED, snapshot.digest, _news(in_force.diagnostics, diagnostics))

    async def _snapshot(self) -> Snapshot:
        """Reads the snapshot; raises `TimeoutError`. A reading that hangs is waited for again, not doubled."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        async with asyncio.timeout(self._read_within):
            return await asyncio.shield(self._reading)

    async def _activate(self, configuration: Configuration) -> ReloadReport:
        in_force = self._serving.configuration
        lines = await in_background(tuple, changes(in_force, configuration))
        await self._serving.activate(self._serving.generation.number + 1, configuration)
        return replace(self._loaded(configuration, in_force.diagnostics), changes=lines)

    def _loaded(self, configuration: Configuration, old: tuple[Diagnostic, ...]) -> ReloadReport:
        # Nothing is awaited before this: the status would contradict itself meanwhile.
        diagnostics = configuration.diagnostics
        return replace(
            self._report(ReloadOutcome.LOADED, configuration.snapshot.digest, diagnostics),
            news=_news(old, diagnostics) if diagnostics else (),
            kept_back=configuration.kept_back,
            rewrites=configuration.rewrite_count,
        )

    def _report(self, outcome: ReloadOutcome, digest: str, diagnostics: tuple[Diagnostic, ...]) -> ReloadReport:
        generation, at = self._serving.generation, time.time()
        return ReloadReport(outcome, generation.number, digest, generation.since, diagnostics, diagnostics, at=at)


def _news(in_force: Iterable[Diagnostic], diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that are new; places are ignored, since an edit moves them."""
    old = {(each.severity, each.code, each.message) for each in in_force}
    return tuple(each for each in diagnostics if (each.severity, each.code, each.message) not in old)
