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
from tornado_proxy.service.changes import changes, fixed_at_start
from tornado_proxy.service.loading import Loaded, compile_sources
from tornado_proxy.service.serving import Serving
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
    changes: tuple[str, ...] = ()
    kept_back: tuple[str, ...] = ()  # settings that only a restart changes


@dataclass(frozen=True, slots=True)
class Standing:
    """What is in force: its number, what it was made of, and since when (Unix time, seconds)."""

    number: int
    loaded: Loaded
    since: float


class Reloader:
    """Makes new generations; one attempt at a time. `read` is called on a thread."""

    def __init__(
        self, first: Loaded, serving: Serving, read: Callable[[], Sources], tell: Callable[[Event], None]
    ) -> None:
        self._serving = serving
        self._read = read
        self._tell = tell
        self._turn = asyncio.Lock()
        self._places = first.places
        self._first = first
        self.standing = Standing(1, first, time.time())
        self.last: Report | None = None
        self.refused: Report | None = None  # the last attempt, if the set on disk is one that was refused

    def places(self) -> tuple[Path, ...]:
        """Where a change would show: in what is in force, and in what was read last, if that was refused."""
        return tuple(dict.fromkeys((*self.standing.loaded.places, *self._places)))

    async def reload(self) -> Report:
        """Read the set, and put it in force if it is new and good."""
        async with self._turn:
            began = time.perf_counter()
            sources = await asyncio.to_thread(self._read)
            self._places = sources.places
            self.last = await self._attempt(sources, began)
            return self.last

    async def _attempt(self, sources: Sources, began: float) -> Report:
        if sources.digest == self.standing.loaded.digest:
            # An edit taken back: what was wrong with it is history.
            self.refused = None
            return self._report(Outcome.UNCHANGED, sources.digest, began)
        if self.refused is not None and sources.digest == self.refused.digest:
            return self.refused
        loaded = await asyncio.to_thread(compile_sources, sources)
        if not loaded.usable:
            return self._refuse(loaded, began)
        return await self._put(loaded, sources, began)

    async def _put(self, loaded: Loaded, sources: Sources, began: float) -> Report:
        assert loaded.settings is not None
        assert self._first.settings is not None
        settings, kept_back = fixed_at_start(loaded.settings, self._first.settings)
        before, after = self.standing, replace(loaded, settings=settings)
        await self._serving.put(before.number + 1, after, sources)
        self.standing = Standing(before.number + 1, after, time.time())
        self.refused = None
        said = tuple(changes(before.loaded, after))
        report = self._report(Outcome.LOADED, loaded.digest, began)
        self._tell(Reloaded(report.generation, report.seconds, rewrite_count(after), report.at, said, kept_back))
        return replace(report, diagnostics=loaded.diagnostics, changes=said, kept_back=kept_back)

    def _refuse(self, loaded: Loaded, began: float) -> Report:
        report = self._report(Outcome.REFUSED, loaded.digest, began)
        self.refused = replace(report, diagnostics=loaded.diagnostics)
        self._tell(ReloadRefused(report.generation, loaded.diagnostics))
        return self.refused

    def _report(self, outcome: Outcome, digest: str, began: float) -> Report:
        return Report(outcome, self.standing.number, digest, time.time(), time.perf_counter() - began)


def rewrite_count(loaded: Loaded) -> int:
    """How many rewrites a generation has, over all targets."""
    return sum(len(rules.rewrites) for rules in loaded.rule_sets.values())
