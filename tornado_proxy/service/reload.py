"""Reloads: read the whole set, compile it off the event loop, swap; and what operators see of that.

A bad edit leaves the generation in force, the report gives the reason, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic, errors
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.service.changes import changes, counted, fixed_at_start
from tornado_proxy.service.generations import Unbuildable
from tornado_proxy.service.rule_tests import run_rule_tests
from tornado_proxy.service.serving import Serving
from tornado_proxy.service.sources import CompiledSet, Sources, compile_sources
from tornado_proxy.service.threads import in_background
from tornado_proxy.telemetry.access_log import moment
from tornado_proxy.telemetry.events import Event, Reloaded, ReloadFailed, ReloadRefused, Restored
from tornado_proxy.telemetry.service_log import diagnostic_fields

READ_WITHIN = 10.0  # seconds after which a reload no longer waits for a file system

_UNSETTLED = Diagnostic(
    "unsettled", "the files keep changing: no two readings were the same", help="leave them alone for a second"
)
_HANGS = Diagnostic(
    "unreadable-file", "the files cannot be read: the file system does not answer", help="look for a mount that hangs"
)


class ReloadOutcome(Enum):
    """The result of a reload."""

    LOADED = "loaded"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"  # a defect of ours


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """The report of a reload; `generation` is the one in force afterwards."""

    outcome: ReloadOutcome
    generation: int
    digest: str
    at: float  # Unix time, seconds
    seconds: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes
    since: float = 0.0  # Unix time, seconds, at which the generation was put in force

    @property
    def is_in_force(self) -> bool:
        """Whether the files on disk are in force."""
        return self.outcome in (ReloadOutcome.LOADED, ReloadOutcome.UNCHANGED)


@dataclass(frozen=True, slots=True)
class InForce:
    """What is in force: its number, its files, since when (Unix time, seconds), and what waits for a restart."""

    number: int
    sources: Sources
    loaded: CompiledSet
    since: float
    kept_back: tuple[str, ...] = ()


class Reloader:
    """Makes new generations, one attempt at a time.

    `read` is called on a thread. `failure` is the report of the last attempt while the files on disk are not in force,
    and None otherwise: status page, status line, metrics and log all follow it.
    """

    def __init__(
        self,
        first: tuple[Sources, CompiledSet],
        serving: Serving,
        read: Callable[[], Sources],
        emit: Callable[[Event], None],
        read_within: float = READ_WITHIN,
    ) -> None:
        self._serving = serving
        self._read_within = read_within
        self._reading: asyncio.Future[Sources] | None = None
        self._read = read
        self._emit = emit
        self._lock = asyncio.Lock()
        self.in_force = InForce(1, *first, time.time())
        self._places = first[1].places
        self._running = first[1].settings
        self._refused_sources: Sources | None = None
        self.last: ReloadReport | None = None
        self.failure: ReloadReport | None = None

    def places(self) -> tuple[Path, ...]:
        """The places to watch: those of the set in force, and of the set read last."""
        return tuple(dict.fromkeys((*self.in_force.loaded.places, *self._places)))

    async def reload(self) -> ReloadReport:
        """Reads the set, and puts it in force if it is new and good; raises nothing but cancellation."""
        # Two attempts at once would number two generations alike, and the older set could win.
        async with self._lock:
            began = time.perf_counter()
            try:
                report = await self._attempt(began)
            except Exception as error:  # noqa: BLE001 - a defect of ours must not end the service
                report = self._fail(error, began)
            # A reading that finds nothing new does not hide the result of the last edit.
            if report.outcome is not ReloadOutcome.UNCHANGED or self.last is None or not self.last.is_in_force:
                self.last = report
            return report

    async def _attempt(self, began: float) -> ReloadReport:
        try:
            sources = await self._sources()
        except TimeoutError:
            return self._refuse_for(_HANGS, began)
        self._places = sources.places
        if sources.is_as(self.in_force.sources):
            self._restore()
            # The watcher may have been faster: who asks gets the warnings that it got.
            now = self.in_force
            report = self._report(ReloadOutcome.UNCHANGED, sources.digest, began)
            return replace(report, diagnostics=now.loaded.diagnostics, kept_back=now.kept_back)
        if not sources.settled:
            return self._refuse_for(_UNSETTLED, began)
        if self.failure is not None and sources.is_as(self._refused_sources):
            return self.failure
        return await self._compile(sources, began)

    async def _compile(self, sources: Sources, began: float) -> ReloadReport:
        before = self.in_force.loaded
        loaded = await asyncio.to_thread(in_background, compile_sources, sources, before)
        if loaded.has_tests:
            loaded = await asyncio.to_thread(in_background, run_rule_tests, loaded, before)
        if not loaded.usable:
            return self._refuse(loaded, sources, began)
        try:
            return await self._activate(loaded, sources, began)
        except Unbuildable as error:
            found = replace(loaded, diagnostics=(*loaded.diagnostics, *error.diagnostics))
            return self._refuse(found, sources, began)

    async def _sources(self) -> Sources:
        """Reads the set; raises `TimeoutError`. A reading that hangs is waited for again; no second one is started."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        async with asyncio.timeout(self._read_within):
            return await asyncio.shield(self._reading)

    async def _activate(self, loaded: CompiledSet, sources: Sources, began: float) -> ReloadReport:
        assert loaded.settings is not None
        assert self._running is not None
        settings, kept_back = fixed_at_start(loaded.settings, self._running)
        before, number = self.in_force.loaded, self.in_force.number + 1
        loaded, sources = replace(loaded, settings=settings), sources.with_settings(settings)
        await self._serving.activate(number, loaded, sources)
        self.in_force = InForce(number, sources, loaded, time.time(), kept_back)
        self.failure = None
        lines = await asyncio.to_thread(in_background, tuple, changes(before, loaded))
        report = self._report(ReloadOutcome.LOADED, loaded.digest, began)
        news = _news(before.diagnostics, loaded.diagnostics) if loaded.diagnostics else ()
        self._emit(
            Reloaded(number, report.seconds, rewrite_count(loaded), report.at, lines, kept_back, loaded.digest, news)
        )
        return replace(report, diagnostics=loaded.diagnostics, changes=lines, kept_back=kept_back)

    def _restore(self) -> None:
        """Forgets a failure after its edit was reverted."""
        if self.failure is not None:
            self._emit(Restored(self.in_force.number))
        self.failure = None

    def _refuse_for(self, reason: Diagnostic, began: float) -> ReloadReport:
        """Refuses files that could not be read; reports that once."""
        if self.failure is not None and self.failure.diagnostics == (reason,):
            return self.failure
        return self._refuse(replace(self.in_force.loaded, diagnostics=(reason,)), None, began)

    def _refuse(self, loaded: CompiledSet, sources: Sources | None, began: float) -> ReloadReport:
        report = self._report(ReloadOutcome.REFUSED, loaded.digest, began)
        self._refused_sources = sources
        self.failure = replace(report, diagnostics=_news(self.in_force.loaded.diagnostics, loaded.diagnostics))
        self._emit(ReloadRefused(report.generation, self.failure.diagnostics))
        return self.failure

    def _fail(self, error: Exception, began: float) -> ReloadReport:
        text = f"{type(error).__name__}: {error}"
        diagnostics = (Diagnostic("defect", f"the reload failed with `{text}`; the log has the traceback"),)
        if self.failure is None or self.failure.diagnostics != diagnostics:
            # Once: the files are looked at every few seconds.
            self._emit(ReloadFailed(self.in_force.number, error))
        self._refused_sources = None
        self.failure = replace(self._report(ReloadOutcome.FAILED, "", began), diagnostics=diagnostics)
        return self.failure

    def _report(self, outcome: ReloadOutcome, digest: str, began: float) -> ReloadReport:
        now = self.in_force
        return ReloadReport(outcome, now.number, digest, time.time(), time.perf_counter() - began, since=now.since)


def _news(before: Iterable[Diagnostic], now: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics that were not reported before; an edit may have moved their places."""
    known = {(each.severity, each.code, each.message) for each in before}
    return tuple(each for each in now if (each.severity, each.code, each.message) not in known)


def rewrite_count(loaded: CompiledSet) -> int:
    """The number of rewrites of a generation, over all targets."""
    return sum(len(rules.rewrites) for rules in loaded.rule_sets.values())


def report_view(report: ReloadReport) -> dict[str, object]:
    """A report as `POST /-/reload` answers it."""
    return {
        "outcome": report.outcome.value,
        "generation": report.generation,
        "loadedAt": moment(report.since),
        "digest": report.digest,
        "at": moment(report.at),
        "seconds": round(report.seconds, 6),
        "changes": list(report.changes),
        "restartNeededFor": list(report.kept_back),
        "diagnostics": [diagnostic_fields(each) for each in report.diagnostics],
    }


def reloader_view(reloader: Reloader, probe_of: Callable[[str], object]) -> dict[str, object]:
    """What is in force and the last attempts, as `GET /-/status` answers them; `probe_of` knows a target's probe."""
    now = reloader.in_force
    return {
        "generation": now.number,
        "digest": now.loaded.digest,
        "loadedAt": moment(now.since),
        "files": [str(Path(each).absolute()) for each in map(str, (*now.loaded.places[:1], *now.loaded.files))],
        "targets": _targets_view(now.loaded, probe_of),
        "lastAttempt": report_view(reloader.last) if reloader.last else None,
        "lastFailedAttempt": report_view(reloader.failure) if reloader.failure else None,
    }


def status_line(reloader: Reloader, *, from_last_good: bool) -> str:
    """What is in force, and the first mistake of a refused edit, for `systemctl status`."""
    now, failure = reloader.in_force, reloader.failure
    line = f"generation {now.number}, {counted(rewrite_count(now.loaded), 'rewrite')}"
    if from_last_good:
        line += ", started from the last good copy"
    if failure is None:
        return line
    first = errors(failure.diagnostics)[0]
    place = f"{first.place}: " if first.place else ""
    return f"{line}; an edit was refused: {place}{first.message}"


def _targets_view(loaded: CompiledSet, probe_of: Callable[[str], object]) -> Mapping[str, object]:
    targets = loaded.settings.targets if loaded.settings else ()
    return {
        target.name: {
            "host": target.mount.host,
            "paths": list(target.mount.paths),
            "methods": list(target.actions.methods),
            "rewrites": len(loaded.rule_sets.get(target.name, RuleSet(target.name)).rewrites),
            "probe": probe_of(target.name),
        }
        for target in targets
    }
