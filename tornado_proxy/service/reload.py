"""Reload: a poke, a moment of quiet, the whole set read and compiled off the event loop, one swap; or nothing at all.

Whatever is wrong with an edit, the generation in force stays, the report says why, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tornado_proxy.gateway.generation import Parts
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.service.building import Workshop
from tornado_proxy.service.changes import Changes, changes, fixed_at_start
from tornado_proxy.service.live import Live
from tornado_proxy.service.loading import Loaded, compile_sources
from tornado_proxy.service.sources import Sources
from tornado_proxy.telemetry.events import Event, Reloaded, ReloadRefused


class Outcome(Enum):
    """What became of a reload."""

    LOADED = "loaded"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Report:
    """A reload as it is told to whoever asked for it; `generation` is the one in force afterwards."""

    outcome: Outcome
    generation: int
    digest: str
    at: float  # Unix time, seconds
    seconds: float = 0.0
    diagnostics: tuple[Diagnostic, ...] = ()
    changes: Changes = field(default_factory=Changes)
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes


@dataclass(frozen=True, slots=True)
class InForce:
    """What the current generation was made from."""

    loaded: Loaded
    at: float  # Unix time, seconds


class Reloader:
    """Makes new generations; one attempt at a time. `read` is called on a thread."""

    def __init__(
        self, live: Live, workshop: Workshop, first: Loaded, read: Callable[[], Sources], tell: Callable[[Event], None]
    ) -> None:
        self._live = live
        self._workshop = workshop
        self._read = read
        self._tell = tell
        self._turn = asyncio.Lock()
        self.in_force = InForce(first, time.time())
        self._places = first.places
        self.last: Report | None = None
        self.last_refused: Report | None = None
        # The digest of a set that was refused: the same mistake is told once.
        self._refused_digest = ""

    def places(self) -> tuple[Path, ...]:
        """Where a change would show: in what is in force, and in what was read last, if that was refused."""
        return tuple(dict.fromkeys((*self.in_force.loaded.places, *self._places)))

    async def reload(self) -> Report:
        """Read the set, and put it in force if it is new and good."""
        async with self._turn:
            began = time.perf_counter()
            sources = await asyncio.to_thread(self._read)
            self._places = sources.places
            report = await self._attempt(sources, began)
            self.last = report
            return report

    async def _attempt(self, sources: Sources, began: float) -> Report:
        if sources.digest == self.in_force.loaded.digest:
            # An edit taken back: what was wrong with it is history.
            self._refused_digest = ""
            self.last_refused = None
            return self._report(Outcome.UNCHANGED, sources.digest, began)
        if sources.digest == self._refused_digest and self.last_refused is not None:
            return self.last_refused
        loaded = await asyncio.to_thread(compile_sources, sources)
        if not loaded.usable or loaded.settings is None:
            return self._refuse(loaded.digest, loaded.diagnostics, began)
        before = self._live.current().parts
        settings, kept_back = fixed_at_start(loaded.settings, before.settings)
        parts = await asyncio.to_thread(self._workshop.build, settings, loaded.rule_sets, before)
        return self._swap(loaded, parts, began, kept_back)

    def _swap(self, loaded: Loaded, parts: Parts, began: float, kept_back: tuple[str, ...]) -> Report:
        before = self._live.current().parts
        self._live.swap(parts)
        self.in_force = InForce(loaded, time.time())
        self.last_refused, self._refused_digest = None, ""
        found = changes(before.mounts.sites, parts.mounts.sites)
        report = replace(
            self._report(Outcome.LOADED, loaded.digest, began),
            diagnostics=loaded.diagnostics,
            changes=found,
            kept_back=kept_back,
        )
        self._tell(Reloaded(report.generation, report.seconds, rewrite_count(parts), found.lines, kept_back))
        return report

    def _refuse(self, digest: str, diagnostics: tuple[Diagnostic, ...], began: float) -> Report:
        report = replace(self._report(Outcome.REFUSED, digest, began), diagnostics=diagnostics)
        self.last_refused, self._refused_digest = report, digest
        self._tell(ReloadRefused(report.generation, diagnostics))
        return report

    def _report(self, outcome: Outcome, digest: str, began: float) -> Report:
        number = self._live.current().number
        return Report(outcome, number, digest, time.time(), time.perf_counter() - began)


def rewrite_count(parts: Parts) -> int:
    """How many rewrites are in force, over all targets."""
    return sum(len(site.rules.rewrites) for site in parts.mounts.sites)
