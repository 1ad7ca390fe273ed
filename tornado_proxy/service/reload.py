"""Reload: a poke, a moment of quiet, the whole set read and compiled off the event loop, one swap; or nothing at all.

Whatever is wrong with an edit, the generation in force stays, the report says why, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.changes import changes, fixed_at_start
from tornado_proxy.service.loading import Loaded, compile_sources
from tornado_proxy.service.serving import Serving
from tornado_proxy.service.sources import Sources
from tornado_proxy.service.turns import in_short_turns
from tornado_proxy.telemetry.events import Event, Reloaded, ReloadFailed, ReloadRefused, Restored


class Outcome(Enum):
    """What became of a reload."""

    LOADED = "loaded"
    UNCHANGED = "unchanged"
    REFUSED = "refused"
    FAILED = "failed"  # a defect of ours


@dataclass(frozen=True, slots=True)
class Report:
    """A reload as it is told to whoever asked for it; `generation` is the one in force afterwards."""

    outcome: Outcome
    generation: int
    digest: str
    at: float  # Unix time, seconds
    seconds: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes

    @property
    def is_in_force(self) -> bool:
        """Whether the files on disk are what is in force."""
        return self.outcome in (Outcome.LOADED, Outcome.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is in force: its number, what it was made of, and since when (Unix time, seconds)."""

    number: int
    sources: Sources
    loaded: Loaded
    since: float


_UNSETTLED = Diagnostic(
    "unsettled", "the files change all the time: no two looks at them agree", help="let them be for a second"
)


READ_WITHIN = 10.0  # seconds after which a reload no longer waits for a file system

_HANGS = Diagnostic(
    "unreadable-file", "the files cannot be read: the file system does not answer", help="look for a mount that hangs"
)


class Reloader:
    """Makes new generations; one attempt at a time. `read` is called on a thread, by one at a time."""

    def __init__(
        self,
        first: tuple[Sources, Loaded],
        serving: Serving,
        read: Callable[[], Sources],
        tell: Callable[[Event], None],
        read_within: float = READ_WITHIN,
    ) -> None:
        self._serving = serving
        self._read_within = read_within
        self._reading: asyncio.Future[Sources] | None = None
        self._read = read
        self._tell = tell
        self._turn = asyncio.Lock()
        self.standing = Standing(1, *first, time.time())
        self._places = self.standing.loaded.places
        self._running = first[1].settings
        self._defect = ""
        self._refused_sources: Sources | None = None
        self.last: Report | None = None
        self.refused: Report | None = None  # the last attempt, if the set on disk is one that was refused

    def places(self) -> tuple[Path, ...]:
        """Where a change would show: in what is in force, and in what was read last, if that was refused."""
        return tuple(dict.fromkeys((*self.standing.loaded.places, *self._places)))

    async def reload(self) -> Report:
        """Read the set, and put it in force if it is new and good; raises nothing but cancellation."""
        async with self._turn:
            began = time.perf_counter()
            try:
                report = await self._attempt(began)
            except Exception as error:  # noqa: BLE001 - what serves goes on serving, whatever is wrong with us
                report = self._fail(error, began)
            # A look that finds nothing new does not hide what became of the last edit.
            if report.outcome is not Outcome.UNCHANGED or self.last is None or not self.last.is_in_force:
                self.last = report
            return report

    async def _attempt(self, began: float) -> Report:
        try:
            sources = await self._sources()
        except TimeoutError:
            return self._refuse_for(_HANGS, began)
        self._places = sources.places
        if sources.is_as(self.standing.sources):
            self._restore()
            return self._report(Outcome.UNCHANGED, sources.digest, began)
        if not sources.settled:
            return self._refuse_for(_UNSETTLED, began)
        if self.refused is not None and sources.is_as(self._refused_sources):
            return self.refused
        return await self._compile(sources, began)

    async def _compile(self, sources: Sources, began: float) -> Report:
        loaded = await asyncio.to_thread(in_short_turns, compile_sources, sources, self.standing.loaded)
        if not loaded.usable:
            return self._refuse(loaded, sources, began)
        try:
            return await self._put(loaded, sources, began)
        except Unbuildable as error:
            found = replace(loaded, diagnostics=(*loaded.diagnostics, *error.diagnostics))
            return self._refuse(found, sources, began)

    async def _sources(self) -> Sources:
        """What is read; raises `TimeoutError`. A reader that hangs is waited for again, and not joined by another."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        async with asyncio.timeout(self._read_within):
            return await asyncio.shield(self._reading)

    async def _put(self, loaded: Loaded, sources: Sources, began: float) -> Report:
        assert loaded.settings is not None
        assert self._running is not None
        settings, kept_back = fixed_at_start(loaded.settings, self._running)
        before, number = self.standing.loaded, self.standing.number + 1
        loaded, sources = replace(loaded, settings=settings), sources.with_settings(settings)
        await self._serving.put(number, loaded, sources)
        self.standing = Standing(number, sources, loaded, time.time())
        self.refused, self._defect = None, ""
        said = await asyncio.to_thread(in_short_turns, lambda: tuple(changes(before, loaded)))
        report = self._report(Outcome.LOADED, loaded.digest, began)
        self._tell(Reloaded(number, report.seconds, rewrite_count(loaded), report.at, said, kept_back))
        return replace(report, diagnostics=loaded.diagnostics, changes=said, kept_back=kept_back)

    def _restore(self) -> None:
        """Forget what was wrong with an edit that was taken back."""
        if self.refused is not None or self._defect:
            self._tell(Restored(self.standing.number))
        self.refused, self._defect = None, ""

    def _refuse_for(self, reason: Diagnostic, began: float) -> Report:
        """Refuse what could not be read, and tell it once."""
        if self.refused is not None and self.refused.diagnostics == (reason,):
            return self.refused
        return self._refuse(replace(self.standing.loaded, diagnostics=(reason,)), None, began)

    def _refuse(self, loaded: Loaded, sources: Sources | None, began: float) -> Report:
        self._refused_sources = sources
        report = self._report(Outcome.REFUSED, loaded.digest, began)
        self.refused = replace(report, diagnostics=loaded.diagnostics)
        self._tell(ReloadRefused(report.generation, loaded.diagnostics))
        return self.refused

    def _fail(self, error: Exception, began: float) -> Report:
        said = f"{type(error).__name__}: {error}"
        if said != self._defect:
            # Told once: the set is looked at every few seconds.
            self._defect = said
            self._tell(ReloadFailed(self.standing.number, error))
        diagnostic = Diagnostic("defect", f"the reload met a defect, which the log shows: {said}")
        return replace(self._report(Outcome.FAILED, "", began), diagnostics=(diagnostic,))

    def _report(self, outcome: Outcome, digest: str, began: float) -> Report:
        return Report(outcome, self.standing.number, digest, time.time(), time.perf_counter() - began)


def rewrite_count(loaded: Loaded) -> int:
    """How many rewrites a generation has, over all targets."""
    return sum(len(rules.rewrites) for rules in loaded.rule_sets.values())
