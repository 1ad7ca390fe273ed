"""Follows edits: watches the places, lets an edit settle, has it loaded; and looks for itself now and then.

Notifications miss what happens on network file systems, in bind-mounted files and in the places of directories that
were moved. A slow look at the digest beside them does not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tornado_proxy.service.watch import Watch

_LOG = logging.getLogger("tornado_proxy")


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon an edit is taken up, in seconds."""

    quiet: float = 0.05  # without a further change, before an edit counts as done
    patience: float = 0.5  # at most, however long changes go on
    look: float = 10.0  # between looks that nothing asked for
    look_unwatched: float = 1.0  # the same, where the kernel does not notify


class Follower:
    """Calls `reload` after every edit around `places`, which may differ after each."""

    def __init__(
        self, places: Callable[[], tuple[Path, ...]], reload: Callable[[], Awaitable[object]], pace: Pace | None = None
    ) -> None:
        self._places = places
        self._reload = reload
        self._pace = pace or Pace()
        self._poked = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._told = ""  # the trouble that was logged last
        self.watch = Watch(self.poke)

    def poke(self) -> None:
        """Say that something may have changed; from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._poked.set)

    async def run(self) -> None:
        """Follow edits until cancelled."""
        try:
            while True:
                # Watched first, read then: what changes in between is seen by one or the other.
                await self._look()
                await self._reload()
                await self._next_poke()
        finally:
            await asyncio.to_thread(self.watch.close)

    async def _look(self) -> None:
        # Walking a large tree takes a while, and so does a network file system.
        await asyncio.to_thread(self.watch.look_at, self._places())
        if self.watch.trouble and self.watch.trouble != self._told:
            _LOG.warning(
                "changes are looked for every %g s, as the kernel does not notify: %s",
                self._pace.look_unwatched,
                self.watch.trouble,
            )
        self._told = self.watch.trouble

    async def _next_poke(self) -> None:
        """Wait for a change and for the quiet after it, or for the time of a look."""
        period = self._pace.look_unwatched if self.watch.trouble else self._pace.look
        if await self._poked_within(period):
            end = self._loop.time() + self._pace.patience
            while self._loop.time() < end and await self._poked_within(self._pace.quiet):
                pass

    async def _poked_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._poked.wait()
        except TimeoutError:
            return False
        self._poked.clear()
        return True
